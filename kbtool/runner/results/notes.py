"""What stands beside the raw data of a round and of a cell: the conditions that no trace can show.

These are written once, when the round is over, and read back to compute every figure anew.
"""

from dataclasses import dataclass
from typing import Any, Literal

from kbtool.runner.client.recorded import ClientHealth
from kbtool.runner.engines.base import Counters
from kbtool.runner.metrics.figures import RoundContext
from kbtool.runner.plan.cells import Cell, Visit
from kbtool.schema.base import Scalar

__all__ = ["CellNote", "ClockMark", "EndpointCounters", "Energy", "Phase", "RoundNote", "VisitNote"]

Phase = Literal["warm_up", "measured", "sanity"]
"""A warm-up round is kept and in no figure; a sanity round repeats one greedy prompt."""


@dataclass(frozen=True, slots=True)
class ClockMark:
    """All clocks at one moment: a difference of their differences is a step or a sleep of the machine."""

    monotonic_ns: int
    wall_ns: int
    boot_ns: int


@dataclass(frozen=True, slots=True)
class EndpointCounters:
    """The totals of one server before and after a round; None where they could not be read."""

    endpoint: str
    before: Counters | None
    after: Counters | None


@dataclass(frozen=True, slots=True)
class Energy:
    """What the accelerators drew and did over a round; None where it could not be read."""

    energy_j: float | None = None
    mean_power_w: float | None = None
    """Mean of one accelerator."""
    peak_power_w: float | None = None
    utilization_ratio: float | None = None
    min_sm_clock_mhz: float | None = None
    max_temperature_c: float | None = None
    peak_memory_gib: float | None = None
    """Of the fullest accelerator."""
    throttle_ratio: float | None = None
    """Share of the time below the wanted clocks for heat or a power brake."""
    power_cap_ratio: float | None = None
    """Share of the time at the power limit."""
    host_cpu_ratio: float | None = None
    remarks: tuple[str, ...] = ()
    """Gaps, foreign processes and faults, in words."""


@dataclass(frozen=True, slots=True)
class RoundNote:
    """One round."""

    number: int
    """Within its cell, from 1 and over all phases."""
    phase: Phase
    context: RoundContext
    health: ClientHealth | None
    """How well the client did; None for single requests outside the load."""
    start: ClockMark
    end: ClockMark
    counters: tuple[EndpointCounters, ...] = ()
    energy: Energy | None = None
    speculates: bool | None = None
    """What the server says of its settings."""
    remarks: tuple[str, ...] = ()
    """What happened meanwhile, in words: faults of the target, clocks, traffic of others."""


@dataclass(frozen=True, slots=True)
class VisitNote:
    """Which cell, in which leg of which session; what `Visit` says, as plain data."""

    number: int
    session: int
    leg: str
    leg_number: int
    is_base: bool
    sweep: str | None
    setting: str | None
    value: Scalar
    cell: Cell

    @classmethod
    def of(cls, visit: Visit) -> "VisitNote":
        """Return the note of a visit."""
        sweep = visit.leg.sweep
        return cls(
            number=visit.number,
            session=visit.session,
            leg=visit.leg.name,
            leg_number=visit.leg_number,
            is_base=visit.leg.role == "base",
            sweep=sweep.id if sweep else None,
            setting=sweep.setting if sweep else None,
            value=sweep.values[visit.leg.value_index].value if sweep else None,
            cell=visit.cell,
        )


@dataclass(frozen=True, slots=True)
class CellNote:
    """What is known of a cell when its last round is over."""

    visit: VisitNote
    model: str
    """Served model name that was asked."""
    ended_because: Literal["interval_reached", "rounds_done", "most_rounds", "deadline"]
    environment: str
    """Name of the environment file that holds for it."""
    shares: tuple[tuple[str, int], ...] = ()
    """What each instance served in all measured rounds together: requests, or generated tokens where not all count
    requests; none where there is one instance, or one does not count."""
    affinity_ratio: float | None = None
    """Share of later turns that found their conversation's cache."""
    details: tuple[tuple[str, Any], ...] = ()
