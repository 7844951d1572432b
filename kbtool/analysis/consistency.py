"""Arithmetic that the figures of one run must obey: formulas, tolerances, and where they hold.

These checks hold figures against one another and need no hardware; what hardware allows is another subject.
A function that lacks an input returns None or nothing: a check that could not be made is not a check passed.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import pairwise
from operator import attrgetter
from typing import Final

from kbtool.schema.benchmark import At, Result, Serving, Speculation
from kbtool.vocab.terms import CENTRES

__all__ = [
    "PERCENTILES",
    "SHARED_SPEED_SLACK",
    "Group",
    "acceptance_length_from_ratio",
    "conditions",
    "expected_acceptance_length",
    "falling_percentiles",
    "figures_by_conditions",
    "graph_rows",
    "longest_acceptance",
    "relative_difference",
    "verify_rows",
]

PERCENTILES: Final = ("min", "p50", "p90", "p95", "p99", "max")
"""Statistics over requests whose values can only rise in this order, whatever the metric."""
SHARED_SPEED_SLACK: Final = Decimal("1.1")
"""A batch gives each user at most the speed of a lone user; 10 % is left for the spread between runs."""

Group = Mapping[tuple[str, str | None], int]
"""Metric and statistic -> index of the result, for results under equal conditions."""

_AT: Final = attrgetter(*At.model_fields)
_LOAD: Final = frozenset({"concurrency", "request_rate_req_s", "queued"})
_AT_WITHOUT_LOAD: Final = attrgetter(*(name for name in At.model_fields if name not in _LOAD))


def conditions(result: Result, *, load: bool = True) -> Hashable:
    """Return a key that is equal for results under the same stated conditions and settings.

    Args:
        result: The result.
        load: Whether concurrency and request rate are among the conditions.
    """
    read = _AT if load else _AT_WITHOUT_LOAD
    settings = tuple((each.field, each.value) for each in result.with_)
    return (read(result.at), settings)


def figures_by_conditions(results: Sequence[Result], *, load: bool = True) -> tuple[Group, ...]:
    """Return for each set of equal conditions which result gives which figure; only what stands and has a value.

    Where a figure occurs twice, as for a repeat, the first counts.
    """
    groups: dict[Hashable, dict[tuple[str, str | None], int]] = {}
    for index, result in enumerate(results):
        if result.value is not None and result.standing == "stands":
            group = groups.setdefault(conditions(result, load=load), {})
            group.setdefault((result.metric, result.statistic), index)
    return tuple(groups.values())


def falling_percentiles(results: Sequence[Result]) -> Iterator[tuple[int, int]]:
    """Yield pairs of results, lower statistic first, whose values fall where they can only rise.

    min <= p50 <= p90 <= p95 <= p99 <= max for any distribution; a mean lies between minimum and maximum. A peak is the
    largest of several intervals of one run, so that neither mean nor median of that run is above it.
    """
    for group in figures_by_conditions(results):
        for metric in dict.fromkeys(metric for metric, _ in group):
            ordered = [group[metric, each] for each in PERCENTILES if (metric, each) in group]
            pairs = list(pairwise(ordered))
            mean = group.get((metric, "mean"))
            if mean is not None:
                pairs += [(group[metric, "min"], mean)] if (metric, "min") in group else []
                pairs += [(mean, group[metric, "max"])] if (metric, "max") in group else []
            if (metric, "peak") in group:
                centres = [group[metric, each] for each in CENTRES if (metric, each) in group]
                pairs += [(centre, group[metric, "peak"]) for centre in centres]
            yield from ((low, high) for low, high in pairs if _value(results[low]) > _value(results[high]))


def relative_difference(one: Decimal, other: Decimal) -> Decimal:
    """Return how far `one` is from `other`, as a share of `other`: (one - other) / other.

    Raises:
        ZeroDivisionError: `other` is 0.
    """
    if not other:
        raise ZeroDivisionError("no share of 0 can be taken")
    return (one - other) / other


def longest_acceptance(speculation: Speculation) -> int | None:
    """Return the most tokens that one verify step can give: draft tokens + 1, the bonus token.

    A block drafter's block may or may not count the bonus token, so that a block of n allows n + 1.

    Source: Leviathan et al., arXiv 2211.17192, section 2.
    """
    if speculation.method == "none":
        return 1
    drafted = speculation.draft_tok or speculation.block_size
    return None if drafted is None else drafted + 1


def expected_acceptance_length(acceptance: Decimal, draft_tok: int) -> Decimal:
    """Return the mean tokens per verify step when each draft token is accepted with the same chance.

    E = (1 - a^(k + 1)) / (1 - a), where a is the chance of one token and k the draft tokens.

    Source: Leviathan et al., arXiv 2211.17192, equation 1.
    """
    if acceptance >= 1:
        return Decimal(draft_tok + 1)
    return (1 - acceptance ** (draft_tok + 1)) / (1 - acceptance)


def acceptance_length_from_ratio(acceptance_ratio: Decimal, draft_tok: int) -> Decimal:
    """Return the mean tokens per verify step from the share of drafted tokens that were accepted: 1 + ratio x k.

    Follows from the definitions of the two metrics; every step drafts k tokens and adds the bonus token.
    """
    return 1 + acceptance_ratio * draft_tok


def verify_rows(speculation: Speculation) -> int | None:
    """Return the rows that one request takes in a decoding batch: as stated, else draft tokens + 1."""
    if speculation.method == "none":
        return 1
    return speculation.verify_rows or (speculation.draft_tok + 1 if speculation.draft_tok else None)


def graph_rows(serving: Serving, speculation: Speculation) -> int | None:
    """Return the largest decoding batch in rows: running requests x rows each.

    Above the largest captured batch the engine decodes without graphs, and throughput collapses.
    """
    rows = verify_rows(speculation)
    if serving.max_running_requests is None or rows is None:
        return None
    return serving.max_running_requests * rows


def _value(result: Result) -> Decimal:
    assert result.value is not None, "only figures with a value are grouped"
    return result.value
