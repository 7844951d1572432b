"""Axes: where a value lies on the drawing, and which round values are written at it."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

__all__ = ["Scale", "fitted", "linear", "logarithmic", "share_scale", "spread_ticks", "tick_text"]


@dataclass(frozen=True, slots=True)
class Scale:
    """One axis. A value outside of it is drawn at its end."""

    low: float
    high: float
    start: float
    """Place of `low` on the drawing."""
    end: float
    ticks: tuple[tuple[float, str], ...]
    """Values that are written at the axis, with their texts."""
    is_log: bool = False

    def __call__(self, value: float) -> float:
        """Return the place of a value."""
        kept = min(max(value, self.low), self.high)
        share = (
            log10(kept / self.low) / log10(self.high / self.low)
            if self.is_log
            else (kept - self.low) / (self.high - self.low)
        )
        return self.start + (self.end - self.start) * share

    def holds(self, value: float) -> bool:
        """Return whether a value lies on the axis."""
        return self.low <= value <= self.high


def tick_text(value: float) -> str:
    """Return a round value for an axis: `25`, `0.5`, `12k`, `1.5M`."""
    size = abs(value)
    for least, divisor, suffix in ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if size >= least:
            return f"{value / divisor:g}{suffix}"
    return f"{value:.6f}".rstrip("0").rstrip(".") if size < 1000 else f"{value:,.0f}"


def linear(low: float, high: float, start: float, end: float, *, about: int = 4) -> Scale:
    """Return an axis from a round value at or below `low` to one at or above `high`."""
    if high <= low:
        low, high = low - (abs(low) * 0.1 or 1.0), high + (abs(high) * 0.1 or 1.0)
    step = _step((high - low) / about)
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    ticks = tuple((number * step, tick_text(number * step)) for number in range(first, last + 1))
    return Scale(ticks[0][0], ticks[-1][0], start, end, ticks)


def _step(rough: float) -> float:
    power: float = 10.0 ** floor(log10(rough))
    return next(each * power for each in (1, 2, 2.5, 5, 10) if each * power >= rough * (1 - 1e-9))


def logarithmic(low: float, high: float, start: float, end: float) -> Scale:
    """Return a logarithmic axis around two values above 0, of half a decade at least."""
    if high / low < 3:
        middle = (low * high) ** 0.5
        low, high = middle / 1.8, middle * 1.8
    steps = (1.0, 2.0, 5.0) if log10(high / low) < 3 else (1.0,)
    powers = range(floor(log10(low)) - 1, ceil(log10(high)) + 1)
    marks = [each * 10.0**power for power in powers for each in steps]
    first = max((each for each in marks if each <= low * (1 + 1e-9)), default=low)
    last = min((each for each in marks if each >= high * (1 - 1e-9)), default=high)
    ticks = tuple((each, tick_text(each)) for each in marks if first <= each <= last)
    every = ceil(len(ticks) / 7)
    return Scale(first, last, start, end, ticks[::every], is_log=True)


def fitted(
    values: Sequence[float], start: float, end: float, *, log: bool = False, from_zero: bool = True
) -> Scale:
    """Return the axis for values: logarithmic where asked for and all are above 0, else linear, from 0 unless told not to."""
    above = [each for each in values if each > 0]
    if log and above:
        return logarithmic(min(above), max(above), start, end)
    low = min(values, default=0.0)
    return linear(min(0.0, low) if from_zero else low, max(values, default=1.0), start, end)


def spread_ticks(xs: Sequence[float], start: float, end: float) -> Scale:
    """Return an axis for a sweep: ticks at the swept values, logarithmic where the largest is 8 times the smallest."""
    low, high = min(xs), max(xs)
    is_log = low > 0 and high / low >= 8
    if low == high:
        low, high, is_log = low - 1, high + 1, False
    bare = Scale(low, high, start, end, (), is_log)
    ticks: list[float] = []
    for x in sorted(set(xs)):
        if not ticks or bare(x) - bare(ticks[-1]) >= 26:
            ticks.append(x)
    return Scale(low, high, start, end, tuple((x, tick_text(x)) for x in ticks), is_log)


_SHARES = (
    (0.0, "0"),
    (0.5, "50"),
    (0.9, "90"),
    (0.99, "99"),
    (0.999, "99.9"),
    (0.9999, "99.99"),
    (0.99999, "99.999"),
)


def share_scale(most: float, start: float, end: float) -> Scale:
    """Return an axis for shares up to `most` on which each further nine takes the same room.

    Its values are -log10(1 - share); its texts are per cent.
    """
    ticks = tuple((-log10(1 - share), text) for share, text in _SHARES if -log10(1 - share) <= most + 1e-9)
    return Scale(0.0, most, start, end, ticks)
