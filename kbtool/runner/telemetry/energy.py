"""Energy of a card over a window, from its counter, with its power as the witness.

The counter is exact and moves about ten times a second; at the ends of the window it is interpolated.  The power
readings, integrated by the trapezoid rule, must agree within 5 %: where they do not, neither is believed.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Final

from kbtool.runner.telemetry.sample import TelemetrySample

__all__ = ["AGREE_RATIO", "GAP_NS", "Energy", "Series", "coverage_gap", "value_at", "window_energy"]

GAP_NS: Final = 1_000_000_000
"""Samples farther apart than this leave a hole that nothing may be integrated over."""
AGREE_RATIO: Final = 0.05

Series = Sequence[tuple[int, float]]
"""Times (ns, rising) and values."""


@dataclass(frozen=True, slots=True)
class Energy:
    """Energy over a window, J."""

    energy_j: float | None
    """None where it is not known to 5 %; `reasons` says why."""
    source: str | None
    """`counter`, or `trapezoid` where the card has no usable counter."""
    counter_j: float | None
    trapezoid_j: float | None
    uncertainty_j: float | None
    """What one step of the counter may hide at the ends: its period times the highest power."""
    reasons: tuple[str, ...]


def window_energy(samples: Sequence[TelemetrySample], start_ns: int, end_ns: int) -> Energy:
    """Return the energy of one card between two times.

    Args:
        samples: The card's samples in order of time, some before and after the window among them.
        start_ns: Begin of the window.
        end_ns: End of it.
    """
    counter = [(row.t_ns, float(row.energy_mj)) for row in samples if row.energy_mj is not None]
    power = [(row.t_ns, row.power_instant_mw / 1000) for row in samples if row.power_instant_mw is not None]
    if not power:
        power = [
            (row.t_ns, row.power_average_mw / 1000) for row in samples if row.power_average_mw is not None
        ]
    counter_j, why_not = _counted(counter, start_ns, end_ns)
    trapezoid_j, no_power = _integrated(power, start_ns, end_ns)
    reasons = tuple(reason for reason in (why_not, no_power) if reason is not None)
    uncertainty_j = _uncertainty(counter, power)
    if counter_j is None:
        source = None if trapezoid_j is None else "trapezoid"
        return Energy(trapezoid_j, source, None, trapezoid_j, None, reasons)
    if trapezoid_j is None:
        return Energy(counter_j, "counter", counter_j, None, uncertainty_j, reasons)
    # What a step of the counter may hide is no disagreement: it decides in a short window.
    apart = abs(counter_j - trapezoid_j)
    if apart > AGREE_RATIO * max(counter_j, trapezoid_j) + (uncertainty_j or 0):
        reasons = (*reasons, f"the counter says {counter_j:.1f} J, the power readings {trapezoid_j:.1f} J")
        return Energy(None, None, counter_j, trapezoid_j, uncertainty_j, reasons)
    return Energy(counter_j, "counter", counter_j, trapezoid_j, uncertainty_j, reasons)


def coverage_gap(times_ns: Sequence[int], start_ns: int, end_ns: int) -> str | None:
    """Return where samples fail to cover a window, or None.

    Covered means: a sample at or before the start and one at or after the end, and none farther than `GAP_NS`
    from its neighbour.
    """
    first = bisect_right(times_ns, start_ns) - 1
    last = bisect_left(times_ns, end_ns)
    if first < 0:
        return "no sample before the window"
    if last >= len(times_ns):
        return "no sample after the window"
    for before, after in pairwise(times_ns[first : last + 1]):
        if after - before > GAP_NS:
            return f"no sample for {(after - before) / 1e9:.2f} s"
    return None


def value_at(series: Series, t_ns: int) -> float:
    """Return the value of a series at a time inside it, interpolated linearly."""
    after = bisect_left(series, (t_ns, float("-inf")))
    t_after, v_after = series[after]
    if t_after == t_ns or after == 0:
        return v_after
    t_before, v_before = series[after - 1]
    return v_before + (v_after - v_before) * (t_ns - t_before) / (t_after - t_before)


def _counted(counter: Series, start_ns: int, end_ns: int) -> tuple[float | None, str | None]:
    """Return the counter's difference in J, or why there is none."""
    if not counter:
        return None, "the card has no energy counter"
    gap = coverage_gap([t_ns for t_ns, _ in counter], start_ns, end_ns)
    if gap is not None:
        return None, f"energy counter: {gap}"
    inside = [value for t_ns, value in counter if start_ns - GAP_NS <= t_ns <= end_ns + GAP_NS]
    if any(later < earlier for earlier, later in pairwise(inside)):
        return None, "the energy counter went back: the driver was loaded anew"
    return (value_at(counter, end_ns) - value_at(counter, start_ns)) / 1000, None


def _integrated(power: Series, start_ns: int, end_ns: int) -> tuple[float | None, str | None]:
    """Return the integral of the power in J, or why there is none."""
    if not power:
        return None, "the card has no power reading"
    gap = coverage_gap([t_ns for t_ns, _ in power], start_ns, end_ns)
    if gap is not None:
        return None, f"power: {gap}"
    inside = [(t_ns, value) for t_ns, value in power if start_ns < t_ns < end_ns]
    points = [(start_ns, value_at(power, start_ns)), *inside, (end_ns, value_at(power, end_ns))]
    return sum((b - a) / 1e9 * (p + q) / 2 for (a, p), (b, q) in pairwise(points)), None


def _uncertainty(counter: Series, power: Series) -> float | None:
    """Return the energy that one step of the counter is worth at the highest power, J."""
    moved = [later[0] for earlier, later in pairwise(counter) if later[1] != earlier[1]]
    steps = [later - earlier for earlier, later in pairwise(moved)]
    if not steps or not power:
        return None
    return median(steps) / 1e9 * max(value for _, value in power)
