"""Plans around the scripted engine, runs of them in this process, and what came out."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from kbtool.runner.folder import FolderOptions, Mode, OnDamage, RunFolder
from kbtool.runner.plan import Plan
from kbtool.runner.prompts import PROMPT_CLASSES, LengthModel
from kbtool.runner.results import CellResult, Run, load_run
from kbtool.runner.session import Given, Interrupts, Session, box, open_session, resume_session, run
from kbtool.runner.session.events import Event
from kbtool.runner.session.single import Lengths
from kbtool.runner.telemetry.backend import Missing, Reason
from tests.fakes.nvml import FakeBackend, FakeClock

__all__ = [
    "CONCURRENCY",
    "VERSION",
    "Driven",
    "alone",
    "attached",
    "cell",
    "fixed",
    "given",
    "loaded",
    "measured",
    "no_driver",
    "plan_of",
    "resumed",
    "session_of",
]

VERSION: Final = "kbtool bench 0"
CONCURRENCY: Final[Mapping[str, Any]] = {
    "id": "load", "kind": "concurrency", "levels": [2], "input_tok": 200, "output_tok": 8, "requests_per_stream": 2,
    "find_cliff": False,
}  # fmt: skip
"""A cell that takes some milliseconds."""


def fixed(rounds: int = 1, *, warm_up: int = 1, **more: Any) -> dict[str, Any]:
    """Return repeats of a fixed number, in the order of the plan."""
    return {
        "rounds": rounds, "max_rounds": rounds, "interval_ratio": None, "warm_up_rounds": warm_up, "order": "as_given",
        **more,
    }  # fmt: skip


def plan_of(target: Mapping[str, Any], *workloads: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Return a plan as its file has it: short, without telemetry of cards."""
    return {
        "plan_version": 1,
        "id": "short",
        "title": "A plan of the tests",
        "subject": {"engine": "engines/vllm", "model": "models/scripted", "accelerator": "accelerators/a"},
        "target": dict(target),
        "workloads": [dict(each) for each in workloads or (CONCURRENCY,)],
        "repeats": fixed(),
        "sanity": {"greedy_repeats": 0},
        "telemetry": {"accelerators": False, "interval_ms": 1000},
        "deadlines": {"ready_s": 30, "first_token_s": 10, "progress_s": 5, "request_s": 20, "stop_s": 5},
        **more,
    }


def attached(url: str, **more: Any) -> dict[str, Any]:
    """Return a target that runs already."""
    return {"endpoints": [{"url": url}], **more}


@dataclass(slots=True)
class Driven:
    """What a run was made of, and what it told."""

    root: Path
    events: list[Event] = field(default_factory=list)
    interrupts: Interrupts = field(default_factory=Interrupts)
    on_event: Callable[[Event], None] = lambda _: None

    def tell(self, event: Event) -> None:
        """Keep an event, and let the test act on it."""
        self.events.append(event)
        self.on_event(event)

    def of(self, *kinds: type) -> list[Any]:
        """Return the events of some kinds, in order."""
        return [each for each in self.events if isinstance(each, kinds)]


def given(**more: Any) -> Given:
    """Return what a run is given from outside: no driver, no calibration."""
    return Given(VERSION, "kbtool bench run", no_driver(), **more)


@contextmanager
def session_of(
    plan: Mapping[str, Any], driven: Driven, *, options: FolderOptions | None = None
) -> Iterator[Session]:
    """Open the session of a plan; closed when the block is left."""
    data = json.dumps(plan).encode()
    session = open_session(
        Plan.model_validate_json(data),
        data,
        driven.root,
        plan_folder=driven.root.parent,
        given=given(options=options),
        interrupts=driven.interrupts,
        tell=driven.tell,
    )
    try:
        yield session
    finally:
        session.close()


def resumed(driven: Driven, *, on_damage: OnDamage = OnDamage.REFUSE) -> bool:
    """Go on with a run; return whether it is complete."""
    session = resume_session(
        driven.root,
        plan_folder=driven.root.parent,
        given=given(),
        interrupts=driven.interrupts,
        tell=driven.tell,
        on_damage=on_damage,
    )
    return session.run()


def loaded(root: Path) -> Run:
    """Read a run back."""
    return load_run(RunFolder.open(root, Mode.READ))


def cell(run: Run, name: str) -> CellResult:
    """Return one cell of a run."""
    return next(each for each in run.cells if each.name == name)


def no_driver() -> FakeBackend:
    """Return a driver that is not there."""
    return FakeBackend(FakeClock(), [], refuses=Missing(Reason.NO_DRIVER))


@contextmanager
def _unwatched(*_: object, **__: object) -> Iterator[None]:
    yield None


def _known_lengths(*_: object, **__: object) -> Lengths:
    """Return lengths as the scripted engine counts: measuring them takes longer than the cells of these tests."""
    return Lengths(dict.fromkeys(PROMPT_CLASSES, LengthModel(1.23, 21.0)), 0)


def alone(patch: pytest.MonkeyPatch) -> None:
    """Leave out what takes long or looks at the whole machine: telemetry, dead runs' leftovers, probes of lengths."""
    patch.setattr(run, "calibrated_lengths", _known_lengths)
    patch.setattr(run, "watching", _unwatched)
    patch.setattr(box, "find_leftovers", lambda: ())


def measured(
    plan: Mapping[str, Any],
    root: Path,
    *,
    on_event: Callable[[Event], None] = lambda _: None,
) -> Driven:
    """Carry a plan out to its end."""
    driven = Driven(root, on_event=on_event)
    with session_of(plan, driven) as session:
        assert session.run()
    return driven
