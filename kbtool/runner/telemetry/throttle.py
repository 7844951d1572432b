"""How long a card's clocks were held down, and by what.

A sample's reasons hold until the next sample.  Shares are of the time that samples cover; a hole longer than a
second is covered by nobody.  Heat and the power brake are faults of the box; the power cap is a setting of it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from kbtool.runner.telemetry.backend import ClockReason
from kbtool.runner.telemetry.energy import GAP_NS
from kbtool.runner.telemetry.sample import TelemetrySample

__all__ = ["FLAG_RATIO", "Throttle", "window_throttle"]

FLAG_RATIO: Final = 0.01
"""More of the time than this and a cell is marked."""
_THERMAL: Final = ClockReason.SW_THERMAL | ClockReason.HW_THERMAL
_UNDER_ROOF: Final = ClockReason.HW_THERMAL | ClockReason.HW_POWER_BRAKE


@dataclass(frozen=True, slots=True)
class Throttle:
    """Shares of the time in a window, 0 to 1. None where the card does not tell its reasons."""

    covered_ratio: float
    """Part of the window that samples cover."""
    shares: tuple[tuple[str, float], ...] | None
    """Each reason that was seen, in NVML's order."""
    thermal_ratio: float | None
    """Too hot, by software or by hardware."""
    power_brake_ratio: float | None
    """The power supply or the board asked the card to slow down."""
    hardware_ratio: float | None
    """Slowed by hardware for neither of the two: a fast power trigger."""
    power_cap_ratio: float | None
    """At the power limit."""
    thermal_violation_ratio: float | None
    """The driver's own count of time lost to heat, which also sees what falls between samples."""
    power_violation_ratio: float | None
    throttled: bool | None
    """Heat, power brake or hardware slowdown for more than 1 % of the time."""
    power_capped: bool | None


def window_throttle(samples: Sequence[TelemetrySample], start_ns: int, end_ns: int) -> Throttle:
    """Return what held down one card's clocks between two times.

    Args:
        samples: The card's samples in order of time.
        start_ns: Begin of the window.
        end_ns: End of it.
    """
    spans = list(_spans(samples, start_ns, end_ns))
    covered_ns = sum(length for _, length in spans)
    window_ns = max(1, end_ns - start_ns)
    thermal_counted = _violation(samples, "thermal_violation_ns", start_ns, end_ns)
    power_counted = _violation(samples, "power_violation_ns", start_ns, end_ns)
    if not covered_ns:
        return Throttle(0.0, None, None, None, None, None, thermal_counted, power_counted, None, None)

    def share(wanted: int, without: int = 0) -> float:
        return sum(length for bits, length in spans if bits & wanted and not bits & without) / covered_ns

    thermal, brake = share(_THERMAL), share(ClockReason.HW_POWER_BRAKE)
    hardware = share(ClockReason.HW_SLOWDOWN, _UNDER_ROOF)
    cap = share(ClockReason.SW_POWER_CAP)
    shares = tuple((_name(reason), share(reason)) for reason in ClockReason if share(reason))
    return Throttle(
        covered_ratio=covered_ns / window_ns,
        shares=shares,
        thermal_ratio=thermal,
        power_brake_ratio=brake,
        hardware_ratio=hardware,
        power_cap_ratio=cap,
        thermal_violation_ratio=thermal_counted,
        power_violation_ratio=power_counted,
        throttled=max(thermal, brake, hardware, thermal_counted or 0) > FLAG_RATIO,
        power_capped=max(cap, power_counted or 0) > FLAG_RATIO,
    )


def _spans(samples: Sequence[TelemetrySample], start_ns: int, end_ns: int) -> Iterator[tuple[int, int]]:
    """Yield the reasons of each sample and how long they held inside the window."""
    known = [(row.t_ns, row.clock_reasons) for row in samples if row.clock_reasons is not None]
    for (t_ns, bits), (next_ns, _) in pairwise(known):
        length = min(next_ns, end_ns) - max(t_ns, start_ns)
        if next_ns - t_ns <= GAP_NS and length > 0:
            yield bits, length


def _violation(samples: Sequence[TelemetrySample], name: str, start_ns: int, end_ns: int) -> float | None:
    """Return the driver's count as a share; None where it cannot be one, for its unit differs between drivers."""
    inside = [
        (row.t_ns, value)
        for row in samples
        if start_ns <= row.t_ns <= end_ns and (value := getattr(row, name)) is not None
    ]
    if len(inside) < 2:
        return None
    (first_ns, first), (last_ns, last) = inside[0], inside[-1]
    ratio = (last - first) / (last_ns - first_ns)
    return ratio if 0 <= ratio <= 1 else None


def _name(reason: ClockReason) -> str:
    return (reason.name or "").lower()
