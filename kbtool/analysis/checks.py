"""Every result held against what its hardware allows, in short: which bound it is nearest to, and what was not checked.

The short form is for pages over all results; `kbtool.analysis.limits` has the long one, with formula and inputs.
"""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any, NamedTuple, Self

from kbtool.analysis.limits import Bound, Find, NotChecked, binding, hard_limits
from kbtool.schema import Benchmark

__all__ = ["Check", "checks_of", "unchecked_reasons"]


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


def unchecked_reasons(checks: Iterable[Check]) -> dict[tuple[str, str], int]:
    """Return how many results were not held against a hard bound, by bound and reason, the most first."""
    counts: dict[tuple[str, str], int] = {}
    for check in checks:
        for code, reason in check.unchecked:
            key = (code, _general(reason))
            counts[key] = counts.get(key, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _short(bound: Bound | None) -> str:
    return "" if bound is None else f"{Decimal(f'{bound.share:.4g}'):f}"


def _general(reason: str) -> str:
    """Return a reason without the record that it names: `accelerators/x does not give y` is of the accelerator."""
    head, _, rest = reason.partition(" ")
    folder, slash, _ = head.partition("/")
    return f"the {folder.removesuffix('s')}'s record {rest}" if slash and folder.endswith("s") else reason
