"""Mean, spread and percentiles of plain lists of numbers."""

import math
from collections.abc import Sequence
from typing import Final

__all__ = ["BEYOND", "mean", "median", "percentile", "percentile_of_sorted", "stdev", "variation_ratio"]

BEYOND: Final = 10
"""Samples that must lie beyond a percentile for it to be given: p99 takes 1,000, p50 takes 20."""


def mean(values: Sequence[float]) -> float:
    """Return the arithmetic mean; the same for every order of the values.

    Raises:
        ValueError: there are none.
    """
    if not values:
        raise ValueError("mean of no values; expected at least one")
    return math.fsum(values) / len(values)


def median(values: Sequence[float]) -> float:
    """Return the middle value, or the mean of the two middle ones.

    Raises:
        ValueError: there are none.
    """
    if not values:
        raise ValueError("median of no values; expected at least one")
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2


def stdev(values: Sequence[float]) -> float | None:
    """Return the sample standard deviation (divisor n - 1), or None below 2 values."""
    if len(values) < 2:
        return None
    centre = mean(values)
    return math.sqrt(math.fsum([(each - centre) ** 2 for each in values]) / (len(values) - 1))


def variation_ratio(values: Sequence[float]) -> float | None:
    """Return standard deviation / mean, or None below 2 values or for a mean of 0."""
    deviation, centre = stdev(values), mean(values)
    return None if deviation is None or centre == 0 else deviation / abs(centre)


def percentile(values: Sequence[float], percent: int) -> float | None:
    """Return a percentile of unordered values; see `percentile_of_sorted`."""
    return percentile_of_sorted(sorted(values), percent)


def percentile_of_sorted(ordered: Sequence[float], percent: int) -> float | None:
    """Return a percentile, interpolated linearly between neighbours (the default of NumPy).

    Args:
        ordered: Values, ascending.
        percent: 1 to 99.

    Returns:
        None where fewer than `BEYOND` samples lie beyond it: such a percentile is little but its largest
        sample, and moves by much from run to run.
    """
    if not 1 <= percent <= 99:
        raise ValueError(f"percentile {percent}; expected 1 to 99")
    if len(ordered) * min(percent, 100 - percent) < BEYOND * 100:
        return None
    whole, part = divmod((len(ordered) - 1) * percent, 100)
    if part == 0:
        return ordered[whole]
    return ordered[whole] + (ordered[whole + 1] - ordered[whole]) * (part / 100)
