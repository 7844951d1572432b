"""Every result held against what its hardware allows, in short: which bound it is nearest to, and what was not checked.

The short form is for pages over all results; `kbtool.analysis.limits` has the long one, with formula and inputs.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any, NamedTuple, Self

from kbtool.analysis.limits import Bound, Find, NotChecked, binding, hard_limits
from kbtool.schema import Benchmark

__all__ = ["Check", "Unchecked", "checks_of", "unchecked_reasons"]


class Check(NamedTuple):
    """One result that a bound applies to."""

    result: str
    metric: str
    code: str
    """The hard bound of which the largest share is reached; empty where none could be worked out."""
    share: str
    """That share, with four significant digits; empty where there is none."""
    unchecked: tuple[tuple[str, str], ...]
    """Hard bound and the reason why it was not worked out."""

    @classmethod
    def of_plain(cls, plain: Sequence[Any]) -> Self:
        """Return the check that JSON made a list of."""
        result, metric, code, share, unchecked = plain
        return cls(result, metric, code, share, tuple([(bound, reason) for bound, reason in unchecked]))


def checks_of(record: Benchmark, find: Find) -> Iterator[Check]:
    """Yield a check of each result that a bound applies to and that stands."""
    for result in record.results:
        found = hard_limits(record, result, find) if result.standing == "stands" else ()
        if not found:
            continue
        best = binding(found)
        unchecked = [(each.code, each.reason) for each in found if isinstance(each, NotChecked)]
        yield Check(result.id, result.metric, best.code if best else "", _short(best), tuple(unchecked))


class Unchecked(NamedTuple):
    """Why a hard bound was not worked out, and of how many results."""

    code: str
    reason: str
    """A clause that follows "because", without the record that it names."""
    results: int
    records: tuple[str, ...]
    """The benchmarks that these results are of, those with most of them first."""
    lacking: tuple[str, ...]
    """The accelerators or models whose records lack something, those that most results miss first."""


def unchecked_reasons(checks: Iterable[tuple[str, Check]]) -> tuple[Unchecked, ...]:
    """Return why results were not held against a hard bound, by bound and reason, the most first.

    Args:
        checks: Each with the benchmark that it is of.
    """
    records: dict[tuple[str, str], Counter[str]] = {}
    lacking: dict[tuple[str, str], Counter[str]] = {}
    for ref, check in checks:
        for code, reason in check.unchecked:
            general, subject = _general(reason)
            records.setdefault((code, general), Counter())[ref] += 1
            lacking.setdefault((code, general), Counter())[subject] += 1
    found = [
        Unchecked(
            *key, refs.total(), tuple(_most_first(refs)), tuple(filter(None, _most_first(lacking[key])))
        )
        for key, refs in records.items()
    ]
    return tuple(sorted(found, key=lambda each: (-each.results, each.code, each.reason)))


def _most_first(counts: Counter[str]) -> list[str]:
    return sorted(counts, key=lambda each: (-counts[each], each))


def _short(bound: Bound | None) -> str:
    return "" if bound is None else f"{Decimal(f'{bound.share:.4g}'):f}"


def _general(reason: str) -> tuple[str, str]:
    """Return a reason without the record that it names, and that: `accelerators/x does not give y` is of the accelerator."""
    head, _, rest = reason.partition(" ")
    folder, slash, _ = head.partition("/")
    return (
        (f"the {folder.removesuffix('s')}'s record {rest}", head)
        if slash and folder.endswith("s")
        else (reason, "")
    )
