"""Runs beside one another: taking turns, and being kept apart."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import orjson
import pytest

from kbtool.runner.folder import LockedError
from kbtool.runner.plan import Plan
from kbtool.runner.plan.cells import Visit
from kbtool.runner.session import Session, open_session
from kbtool.runner.session.alternate import run_alternating
from kbtool.runner.session.events import VisitSealed
from tests.fakes.engine import running
from tests.runner.session.driving import (
    CONCURRENCY,
    Driven,
    attached,
    given,
    loaded,
    plan_of,
    session_of,
)

ONE = {**CONCURRENCY, "levels": [1], "requests_per_stream": 1}


@dataclass
class Numbered:
    """What is known of a visit here."""

    session: int


@dataclass
class Turn:
    """A session that notes when it has its turn."""

    name: str
    told: list[str]
    sessions: int = 4
    stops_at: int | None = None
    visits: list[Numbered] = field(init=False)

    def __post_init__(self) -> None:
        self.visits = [Numbered(number) for number in range(self.sessions)]

    def run_session(self, number: int) -> bool:
        """Note the turn."""
        self.told.append(f"{self.name}{number}")
        return number != self.stops_at

    def finish(self) -> None:
        """Note the end."""
        self.told.append(f"{self.name} done")

    def close(self) -> None:
        """Note that it was closed."""
        self.told.append(f"{self.name} closed")


def test_sessions_of_two_plans_alternate_a_b_b_a() -> None:
    """A drift of the machine weighs on both alike: every second turn runs backwards."""
    told: list[str] = []
    turns = (Turn("A", told), Turn("B", told))
    assert run_alternating(cast("tuple[Session, ...]", turns))
    assert told[:8] == ["A0", "B0", "B1", "A1", "A2", "B2", "B3", "A3"]
    assert told[8:] == ["A done", "B done", "A closed", "B closed"]


def test_an_end_that_was_asked_for_ends_all_and_closes_all() -> None:
    """No further session begins, none is called finished, and every folder is given back."""
    told: list[str] = []
    turns = (Turn("A", told), Turn("B", told, stops_at=1))
    assert not run_alternating(cast("tuple[Session, ...]", turns))
    assert told == ["A0", "B0", "B1", "A closed", "B closed"]


def _session(url: str, driven: Driven, name: str, beside: tuple[Session, ...] = ()) -> Session:
    data = orjson.dumps({**plan_of(attached(url), ONE), "id": name})
    return open_session(
        Plan.model_validate_json(data),
        data,
        driven.root.parent / name,
        plan_folder=driven.root,
        given=given(),
        interrupts=driven.interrupts,
        tell=driven.tell,
        beside=beside,
    )


def test_plans_of_one_process_may_share_a_server(tmp_path: Path) -> None:
    """Two plans over one server take turns in one process; each has a run of its own."""
    driven = Driven(tmp_path / "run")
    with running() as engine:
        first = _session(engine.url, driven, "one")
        second = _session(engine.url, driven, "two", (first,))
        assert run_alternating((first, second))
    assert len(driven.of(VisitSealed)) == 2
    assert [len(loaded(tmp_path / name).cells) for name in ("one", "two")] == [1, 1]


@pytest.mark.parametrize(
    "spelling", ["http://localhost:{}", "http://127.0.0.1:{}/v1", "http://127.0.0.1:{}/"]
)
def test_a_second_run_of_the_same_server_is_refused_however_it_is_written(
    tmp_path: Path, spelling: str
) -> None:
    """Whoever holds the server is named; the second run leaves no folder behind."""
    with running() as engine, session_of(plan_of(attached(engine.url), ONE), Driven(tmp_path / "a")):
        other = Driven(tmp_path / "b")
        plan = plan_of(attached(spelling.format(engine.port)), ONE)
        with pytest.raises(LockedError, match="kbtool bench run"), session_of(plan, other):
            pass
        assert not other.root.exists()


def test_the_lock_is_free_once_a_run_is_closed(tmp_path: Path) -> None:
    """The next run of the same server begins."""
    with running() as engine:
        for name in ("a", "b"):
            with session_of(plan_of(attached(engine.url), ONE), Driven(tmp_path / name)) as session:
                assert isinstance(session.visits[0], Visit)
