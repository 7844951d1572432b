"""Runs that were stopped, killed or lost their server, and gone on with; what they must not lose, and not invent."""

import os
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kbtool.errors import KbtoolError
from kbtool.runner import client
from kbtool.runner.folder import FolderOptions, Mode, RunFolder, StorageError, verify
from kbtool.runner.results import RoundResult, load
from kbtool.runner.session import cliffs
from kbtool.runner.session import rounds as rounds_module
from kbtool.runner.session.events import (
    Event,
    LegBegan,
    Remark,
    RoundDone,
    VisitBegan,
    VisitFailed,
    VisitSealed,
)
from kbtool.vocab.warnings import WarningCode
from tests.fakes.engine import Script, running
from tests.runner.folder.disks import FullDisk
from tests.runner.session.driving import (
    CONCURRENCY,
    Driven,
    attached,
    cell,
    fixed,
    loaded,
    measured,
    plan_of,
    resumed,
    session_of,
)
from tests.runner.session.launching import launched

ONE = {**CONCURRENCY, "levels": [1], "requests_per_stream": 1}
WORKS = [{**ONE, "id": name} for name in ("a", "b", "c")]


def sealed_bytes(root: Path) -> dict[str, bytes]:
    """Return every byte of the sealed cells, by path."""
    folder = RunFolder.open(root, Mode.READ)
    return {
        str(path.relative_to(root)): path.read_bytes()
        for key in folder.sealed
        for path in sorted((root / "cells" / key).iterdir())
    }


def names(root: Path) -> list[str]:
    """Return the cells of a run, in order."""
    return [each.cell.workload for each in loaded(root).cells]


@pytest.mark.parametrize("times", [1, 2])
def test_an_interrupt_keeps_what_is_sealed_and_resuming_measures_the_rest(tmp_path: Path, times: int) -> None:
    """Whether asked once or twice: the open cell is measured again as a whole, the sealed one is left as it is."""
    driven = Driven(tmp_path / "run")
    with running() as engine:

        def interrupt(event: Event) -> None:
            if isinstance(event, RoundDone) and event.visit.cell.workload == "b":
                for _ in range(times):
                    driven.interrupts.ask("SIGINT")

        driven.on_event = interrupt
        with session_of(plan_of(attached(engine.url), *WORKS, repeats=fixed(2)), driven) as session:
            assert not session.run()
        before = sealed_bytes(tmp_path / "run")
        assert [each.partition("/")[2][:11] for each in before][:1] == ["0000-base-a"]
        assert not loaded(tmp_path / "run").finished
        again = Driven(tmp_path / "run")
        assert resumed(again)
    assert names(tmp_path / "run") == ["a", "b", "c"]
    assert [each.visit.cell.workload for each in again.of(VisitBegan)] == ["b", "c"]
    after = sealed_bytes(tmp_path / "run")
    assert {path: after[path] for path in before} == before
    assert verify(tmp_path / "run") == ()


def test_an_interrupt_ends_the_wait_for_a_server(tmp_path: Path) -> None:
    """A server that is not ready yet does not keep the operator waiting."""
    driven = Driven(tmp_path / "run")
    with running(Script(ready_after=10_000)) as engine:

        def interrupt(event: Event) -> None:
            if isinstance(event, Remark) and "waiting for a token" in event.text:
                driven.interrupts.ask("SIGTERM")

        driven.on_event = interrupt
        with session_of(plan_of(attached(engine.url)), driven) as session:
            assert not session.run()
    assert driven.events[-1].why.startswith("stopped by SIGTERM")  # type: ignore[union-attr]  # the last event ends a run


def test_a_cell_that_failed_is_tried_again_when_the_run_is_resumed(tmp_path: Path) -> None:
    """What failed before the interrupt may work after it: then it is measured, and no longer named as failed."""
    driven = Driven(tmp_path / "run")
    with running() as engine:

        def spoil(event: Event) -> None:
            if isinstance(event, VisitBegan):
                mode = "server_error" if event.visit.cell.workload == "a" else "honest"
                engine.script = replace(engine.script, mode=mode)
            if isinstance(event, VisitFailed):
                driven.interrupts.ask("SIGINT")

        driven.on_event = spoil
        with session_of(plan_of(attached(engine.url), *WORKS), driven) as session:
            assert not session.run()
        assert "http_error" in loaded(tmp_path / "run").failed[0][1]
        engine.script = replace(engine.script, mode="honest")
        assert resumed(Driven(tmp_path / "run"))
    run = loaded(tmp_path / "run")
    assert [each.cell.workload for each in run.cells] == ["a", "b", "c"]
    assert run.failed == ()


def test_an_attached_server_that_was_lost_is_waited_for_by_the_next_command(tmp_path: Path) -> None:
    """The run is aborted with what to do; with the server back it goes on, and the lost cell is measured again."""
    driven = Driven(tmp_path / "run")
    with running() as engine:

        def lose(event: Event) -> None:
            if isinstance(event, RoundDone) and event.visit.cell.workload == "b":
                engine.stop()

        driven.on_event = lose
        with (
            session_of(plan_of(attached(engine.url), *WORKS), driven) as session,
            pytest.raises(KbtoolError, match=r"the server was lost.*bench resume"),
        ):
            session.run()
        assert names(tmp_path / "run") == ["a"]
        engine.restart()
        assert resumed(Driven(tmp_path / "run"))
    assert names(tmp_path / "run") == ["a", "b", "c"]
    assert loaded(tmp_path / "run").failed == ()


def test_a_run_that_is_resumed_with_another_server_is_refused(tmp_path: Path) -> None:
    """One run never mixes two environments: the version that differs is named."""
    driven = Driven(tmp_path / "run")
    with running() as engine:

        def interrupt(event: Event) -> None:
            if isinstance(event, VisitSealed):
                driven.interrupts.ask("SIGINT")

        driven.on_event = interrupt
        with session_of(plan_of(attached(engine.url), *WORKS), driven) as session:
            assert not session.run()
        engine.script = replace(engine.script, version="0.33.0")
        with pytest.raises(KbtoolError, match=r"0\.32\.0.*0\.33\.0"):
            resumed(Driven(tmp_path / "run"))
    assert names(tmp_path / "run") == ["a"]


def _scripted(rounds: Sequence[RoundResult]) -> list[float]:
    """Return throughputs with a cliff above 4 users."""
    return [400.0 if users <= 4 else 40.0 for each in rounds if (users := each.note.context.concurrency)]


def test_a_bisection_that_was_interrupted_is_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The levels that were added are the same ones, found again from what is sealed, and none is measured twice."""
    monkeypatch.setattr(cliffs, "throughputs_of", _scripted)
    monkeypatch.setattr(load, "throughputs_of", _scripted)
    work = {**CONCURRENCY, "levels": [2, 8], "find_cliff": True, "requests_per_stream": 1}
    driven = Driven(tmp_path / "run")
    with running() as engine:

        def interrupt(event: Event) -> None:
            if isinstance(event, VisitSealed) and event.visit.number == 2:
                driven.interrupts.ask("SIGINT")

        driven.on_event = interrupt
        with session_of(plan_of(attached(engine.url), work, repeats=fixed(3)), driven) as session:
            assert not session.run()
        again = Driven(tmp_path / "run")
        assert resumed(again)
    run = loaded(tmp_path / "run")
    levels = [each.cell.streams for each in run.cells]
    assert levels[:3] == [2, 8, 5]
    assert len(levels) == len(set(levels))
    assert all(len(each.visits) == 1 for each in run.cells)
    assert again.of(VisitBegan)
    (found,) = run.cliffs
    assert (found.cliff.last_good, found.cliff.first_bad) == (4, 5)


def test_a_server_that_dies_between_two_cells_costs_neither(tmp_path: Path) -> None:
    """The cell that had not begun is measured after the next start, marked, and not left out."""
    driven = Driven(tmp_path / "run")

    def kill(event: Event) -> None:
        if isinstance(event, VisitSealed) and event.visit.cell.workload == "a":
            found = RunFolder.open(tmp_path / "run", Mode.READ).read_environment()["leg-00-base"]
            os.kill(found["processes"][0]["process"]["pid"], signal.SIGKILL)

    driven.on_event = kill
    with session_of(plan_of(launched(), *WORKS), driven) as session:
        assert session.run()
    run = loaded(tmp_path / "run")
    marked = {each.cell.workload: WarningCode.AFTER_RESTART in each.summary.warnings for each in run.cells}
    assert marked == {"a": False, "b": True, "c": True}
    assert run.failed == ()
    assert len(driven.of(LegBegan)) == 2


def test_a_full_disk_ends_the_run_with_the_reason_and_keeps_what_is_sealed(tmp_path: Path) -> None:
    """Nothing that was sealed is lost, nothing half-written counts, and with room again the run goes on."""
    plan: dict[str, Any] = plan_of({}, *WORKS)
    disk = FullDisk(10**9)
    driven = Driven(tmp_path / "run")
    with running() as engine:
        plan["target"] = attached(engine.url)

        def fill(event: Event) -> None:
            if isinstance(event, VisitSealed):
                disk.deadly_call = 0

        driven.on_event = fill
        with (
            session_of(plan, driven, options=FolderOptions(fs=disk)) as session,
            pytest.raises(StorageError, match="No space left"),
        ):
            session.run()
        assert names(tmp_path / "run") == ["a"]
        before = sealed_bytes(tmp_path / "run")
        assert resumed(Driven(tmp_path / "run"))
    after = sealed_bytes(tmp_path / "run")
    assert {path: after[path] for path in before} == before
    assert names(tmp_path / "run") == ["a", "b", "c"]


def test_a_folder_that_vanishes_ends_the_run_and_says_so(tmp_path: Path) -> None:
    """Moved away in mid-run: the run ends with the place that is gone, and makes no new one there."""
    driven = Driven(tmp_path / "run")
    with running() as engine:

        def move(event: Event) -> None:
            if isinstance(event, VisitSealed):
                (tmp_path / "run").rename(tmp_path / "elsewhere")

        driven.on_event = move
        session = session_of(plan_of(attached(engine.url), *WORKS), driven)
        with pytest.raises(StorageError, match="run"), session as opened:
            opened.run()
    assert not (tmp_path / "run").exists()
    assert names(tmp_path / "elsewhere") == ["a"]


def test_a_clock_that_was_set_marks_the_round_and_changes_no_duration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step of the wall clock stands beside the figures, which are made of another clock."""
    exchange = client.exchange

    def stepped(*arguments: Any, **named: Any) -> Any:
        done = exchange(*arguments, **named)
        return replace(done, health=replace(done.health, clock_steps=1))

    with running(Script(ttft_ms=5)) as engine:
        measured(plan_of(attached(engine.url), ONE), tmp_path / "calm")
        monkeypatch.setattr(rounds_module, "exchange", stepped)
        measured(plan_of(attached(engine.url), ONE), tmp_path / "run")
    found, calm = cell(loaded(tmp_path / "run"), "load-c1"), cell(loaded(tmp_path / "calm"), "load-c1")
    assert WarningCode.CLOCK_STEP in found.summary.warnings
    assert WarningCode.CLOCK_STEP not in calm.summary.warnings
