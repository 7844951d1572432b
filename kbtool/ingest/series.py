"""Statistics that are computed from the figures of single requests, for files that hold no summary."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from kbtool.ingest.draft import Draft
from kbtool.schema.benchmark import At
from kbtool.vocab.terms import Statistic

__all__ = ["add_series", "percentile"]

_PERCENTILES: Final[tuple[tuple[Statistic, Decimal, int], ...]] = (
    ("p50", Decimal("0.50"), 20),
    ("p90", Decimal("0.90"), 100),
    ("p95", Decimal("0.95"), 200),
    ("p99", Decimal("0.99"), 1000),
)
"""Statistic, share, and samples from which ten lie beyond it."""


def percentile(ordered: Sequence[Decimal], share: Decimal) -> Decimal:
    """Return a percentile of sorted values by linear interpolation between the two nearest."""
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def add_series(
    draft: Draft, metric: str, values: Sequence[Decimal], *, word: str, at: At, notes: tuple[str, ...] = ()
) -> None:
    """Add mean, extremes and those percentiles that ten samples lie beyond.

    Args:
        draft: Takes the figures.
        metric: The metric.
        values: One value a request or a gap, in the metric's unit.
        word: Path of the values in each record of the file.
        at: Conditions.
        notes: What travels with each figure.
    """
    if not values:
        return
    ordered = sorted(values)
    count = len(ordered)
    figures: list[tuple[Statistic, Decimal]] = [("mean", sum(ordered, Decimal(0)) / count)]
    figures += [(name, percentile(ordered, part)) for name, part, needed in _PERCENTILES if count >= needed]
    figures += [("min", ordered[0]), ("max", ordered[-1])]
    for statistic, value in figures:
        exact = Decimal(f"{value:.8g}")
        draft.derived(
            metric, statistic, exact, formula=f"{statistic} of {word} over {count} values", inputs=(word,), at=at, n=count, notes=notes
        )  # fmt: skip
