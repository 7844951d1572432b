"""What a display is told while a run goes on: plain data, nothing to draw with."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kbtool.runner.client.recorded import Progress
from kbtool.runner.plan.cells import Visit
from kbtool.runner.results import RoundResult, VisitResult
from kbtool.runner.results.notes import Phase

__all__ = [
    "Event",
    "LegBegan",
    "LegEnded",
    "Remark",
    "RoundDone",
    "RoundRunning",
    "RunBegan",
    "RunEnded",
    "Tell",
    "VisitBegan",
    "VisitFailed",
    "VisitSealed",
]


@dataclass(frozen=True, slots=True)
class RunBegan:
    """A run starts or goes on."""

    run_id: str
    root: Path
    visits: int
    """Visits of the schedule."""
    sealed: int
    """Of these, done before."""


@dataclass(frozen=True, slots=True)
class LegBegan:
    """Servers are started, or found."""

    name: str
    number: int
    what: str
    """In words."""


@dataclass(frozen=True, slots=True)
class LegEnded:
    """Servers are ended, where we started them."""

    name: str
    number: int


@dataclass(frozen=True, slots=True)
class VisitBegan:
    """A cell starts."""

    visit: Visit
    total: int


@dataclass(frozen=True, slots=True)
class RoundRunning:
    """A glance into a running round."""

    visit: Visit
    phase: Phase
    number: int
    progress: Progress


@dataclass(frozen=True, slots=True)
class RoundDone:
    """A round is over and on the disk."""

    visit: Visit
    phase: Phase
    number: int
    result: RoundResult


@dataclass(frozen=True, slots=True)
class VisitSealed:
    """A cell is complete."""

    visit: Visit
    result: VisitResult


@dataclass(frozen=True, slots=True)
class VisitFailed:
    """A cell came to nothing."""

    visit: Visit
    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class Remark:
    """Something that whoever watches should know now."""

    text: str


@dataclass(frozen=True, slots=True)
class RunEnded:
    """The run is complete, or stopped."""

    root: Path
    finished: bool
    why: str


Event = (
    RunBegan
    | LegBegan
    | LegEnded
    | VisitBegan
    | RoundRunning
    | RoundDone
    | VisitSealed
    | VisitFailed
    | Remark
    | RunEnded
)
Tell = Callable[[Event], None]
