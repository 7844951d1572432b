"""The accelerators while a run goes on: heat to wait for, cards that are lost, and no telemetry at all."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import psutil
import pytest

from kbtool.errors import KbtoolError
from kbtool.runner.results.notes import Energy
from kbtool.runner.session import run as run_module
from kbtool.runner.session.events import Remark, VisitBegan
from kbtool.runner.session.watch import Watch, Watched, watching
from kbtool.runner.telemetry import SamplerProcess
from kbtool.vocab.warnings import WarningCode
from tests.fakes.engine import running
from tests.runner.emit.emitting import record_of, result
from tests.runner.session.driving import (
    CONCURRENCY,
    Driven,
    attached,
    cell,
    fixed,
    loaded,
    measured,
    plan_of,
    session_of,
)

ONE = {**CONCURRENCY, "levels": [1], "requests_per_stream": 1}


@dataclass(slots=True)
class Told(Watch):
    """A watch that says what the test tells it to."""

    temperatures: list[int | None] = field(default_factory=list)
    windows: list[Watched] = field(default_factory=list)
    asked: int = 0

    def settle(self, end_ns: int) -> None:
        """Nothing is waited for."""

    def hottest_c(self) -> int | None:
        """Return the next temperature."""
        self.asked += 1
        return self.temperatures.pop(0) if self.temperatures else 40

    def window(self, start_ns: int, end_ns: int, owned_pids: Any) -> Watched:
        """Return the next window."""
        del start_ns, end_ns, owned_pids
        return self.windows.pop(0) if self.windows else Watched(None, (), "")


def told(patch: pytest.MonkeyPatch, **more: Any) -> Told:
    """Have a run watched by what the test says."""
    watch = Told(cast("SamplerProcess", None), (0,), pids_comparable=True, **more)

    @contextmanager
    def watched(*_: object, **__: object) -> Iterator[Watch]:
        yield watch

    patch.setattr(run_module, "watching", watched)
    return watch


class Sleeping:
    """The clock of a test: sleeping is what moves it."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic(self) -> float:
        """Return the time."""
        return self.now_s

    def sleep(self, seconds: float) -> None:
        """Go on."""
        self.now_s += seconds


def test_a_cell_waits_until_the_cards_are_cool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three readings above the limit are waited out, one below it is enough."""
    watch, clock = told(monkeypatch, temperatures=[80, 70, 61, 60]), Sleeping()
    monkeypatch.setattr(run_module, "time", clock)
    with running() as engine:
        plan = plan_of(attached(engine.url), ONE)
        plan["telemetry"]["cool_to_c"] = 60
        measured(plan, tmp_path / "run")
    assert (watch.asked, clock.now_s) == (4, 1.5)


def test_cards_that_stay_hot_are_measured_after_ten_minutes_and_it_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Waiting has an end; the run's remarks say that it was not cool."""
    told(monkeypatch, temperatures=[90] * 5000)
    monkeypatch.setattr(run_module, "time", Sleeping())
    with running() as engine:
        plan = plan_of(attached(engine.url), ONE)
        plan["telemetry"]["cool_to_c"] = 60
        driven = measured(plan, tmp_path / "run")
    assert [code for code, _ in loaded(tmp_path / "run").remarks] == ["not_cooled"]
    assert any("90 C" in each.text for each in driven.of(Remark))


def test_an_accelerator_that_is_lost_stops_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing measured from then on stands: the run ends with the card's name, and the cell is no result."""
    calm, lost = Watched(None, (), ""), Watched(None, (), "Xid 79 on 0000:01:00")
    told(monkeypatch, windows=[calm, lost])
    driven = Driven(tmp_path / "run")
    with (
        running() as engine,
        session_of(plan_of(attached(engine.url), ONE, {**ONE, "id": "b"}), driven) as session,
        pytest.raises(KbtoolError, match=r"Xid 79.*nothing was reset.*bench resume"),
    ):
        session.run()
    assert len(driven.of(VisitBegan)) == 1
    assert loaded(tmp_path / "run").cells == ()


def test_throttled_rounds_and_their_power_are_published_with_the_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Power and load of the cards stand in the record, and every figure says that clocks were held down."""
    energy = Energy(energy_j=12.0, mean_power_w=300.0, utilization_ratio=0.9, throttle_ratio=0.2)
    hot = Watched(energy, (WarningCode.THROTTLED,), "")
    told(monkeypatch, windows=[hot] * 4)
    with running() as engine:
        measured(plan_of(attached(engine.url), ONE, repeats=fixed(3)), tmp_path / "run")
    record = record_of(tmp_path / "run")
    power = result(record, "power_w")
    assert power is not None
    assert power.value == 300
    assert power.at.interval is not None
    assert all("throttled" in each.warnings for each in record.results)
    energy_each = result(record, "energy_j_per_tok")
    assert energy_each is not None
    assert energy_each.value == 12 / 8


def test_without_telemetry_there_is_no_power_and_no_zero(tmp_path: Path) -> None:
    """What was not sampled is left out of the record, never 0."""
    with running() as engine:
        measured(plan_of(attached(engine.url), ONE), tmp_path / "run")
    record = record_of(tmp_path / "run")
    assert not [
        each for each in record.results if each.metric in {"power_w", "energy_j_per_tok", "utilization_ratio"}
    ]
    assert cell(loaded(tmp_path / "run"), "load-c1").rounds[0].note.energy is None


def test_the_host_is_sampled_beside_the_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the real sampler a cell has its table of samples, and the sampler ends with the run."""
    monkeypatch.setattr(run_module, "watching", watching)
    samplers: list[SamplerProcess] = []
    start = SamplerProcess.start

    def started(self: SamplerProcess) -> None:
        samplers.append(self)
        start(self)

    monkeypatch.setattr(SamplerProcess, "start", started)
    with running() as engine:
        measured(plan_of(attached(engine.url), ONE), tmp_path / "run")
    (sampler,) = samplers
    stream = str(sampler.file)
    assert not [each for each in psutil.process_iter(["cmdline"]) if stream in (each.info["cmdline"] or ())]
    (visit,) = cell(loaded(tmp_path / "run"), "load-c1").visits
    assert (tmp_path / "run" / "cells" / visit.key / "telemetry.parquet").exists()
