"""Legs: what a sweep changes, what a leg must show before it is measured, and servers that die in one."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from kbtool.errors import KbtoolError
from kbtool.runner.folder import Mode, RunFolder
from kbtool.runner.plan.cells import Leg
from kbtool.runner.plan.model import Sweep
from kbtool.runner.session.events import Event, LegBegan, VisitFailed, VisitSealed
from kbtool.runner.session.leg import leg_settings
from kbtool.runner.target import TargetError
from kbtool.vocab.warnings import WarningCode
from tests.fakes.engine import running
from tests.runner.session.driving import (
    CONCURRENCY,
    Driven,
    attached,
    cell,
    loaded,
    measured,
    plan_of,
    session_of,
)
from tests.runner.session.launching import launched

ONE = {**CONCURRENCY, "levels": [1], "requests_per_stream": 1}
LIMIT: dict[str, Any] = {
    "id": "limit",
    "setting": "serving.max_running_requests",
    "values": [{"value": 64}, {"value": 7}],
    "base": 64,
    "order": "as_given",
}


def sweep(**more: Any) -> Sweep:
    """Return a sweep over two values."""
    return Sweep.model_validate({**LIMIT, **more})


def test_a_leg_changes_an_argument_a_variable_or_what_its_value_names() -> None:
    """Each way of a sweep becomes what whoever starts the servers is told."""
    assert leg_settings(Leg("base", "base")).arguments == {}
    by_argument = leg_settings(Leg("x", "value", sweep(argument="--max-num-seqs"), 1))
    assert by_argument.arguments == {"--max-num-seqs": "7"}
    by_variable = leg_settings(Leg("x", "value", sweep(environment="VLLM_LIMIT"), 1))
    assert by_variable.environment == {"VLLM_LIMIT": "7"}
    listed = sweep(values=[{"value": 64, "arguments": ["--a"]}, {"value": 7, "arguments": ["--b", "7"]}])
    assert leg_settings(Leg("x", "value", listed, 1)).extra == ("--b", "7")
    by_command = leg_settings(Leg("x", "value", sweep(command=["tool", "{value}"]), 1))
    assert (by_command.arguments, by_command.environment, by_command.extra) == ({}, {}, ())


@pytest.mark.parametrize(("value", "arguments"), [(True, {"--flag": None}), (False, {})])
def test_a_flag_is_given_or_left_out(value: bool, arguments: dict[str, None]) -> None:
    """A switch that its presence turns on has no value of its own."""
    flag = sweep(
        setting="serving.prefix_caching",
        values=[{"value": True}, {"value": False}],
        base=True,
        argument="--flag",
    )
    at = [each.value for each in flag.values].index(value)
    assert leg_settings(Leg("x", "value", flag, at)).arguments == arguments


def test_a_sweep_measures_base_value_base_and_says_what_each_result_changes(tmp_path: Path) -> None:
    """The swept value is read back from the engine; the base is measured before and after it as one cell."""
    plan = plan_of(launched(), ONE, sweeps=[{**LIMIT, "argument": "--max-num-seqs"}])
    driven = measured(plan, tmp_path / "run")
    assert [each.name for each in driven.of(LegBegan)] == ["base", "limit-7", "base"]
    run = loaded(tmp_path / "run")
    assert [(each.name, each.value, len(each.visits)) for each in run.cells] == [
        ("load-c1", None, 2),
        ("limit-7-load-c1", 7, 1),
    ]
    in_force = {
        facts["leg"]: next(
            each["value"] for each in facts["settings"] if each["field"] == "serving.max_running_requests"
        )
        for facts in run.environments.values()
        if "leg" in facts
    }
    assert in_force == {"base": 64, "limit-7": 7}
    sessions = {each.note.context.session for each in cell(run, "load-c1").rounds}
    assert sessions == {"start-0", "start-2"}


def test_a_leg_whose_server_does_not_report_its_value_is_refused_and_the_others_stand(tmp_path: Path) -> None:
    """An engine that ignores the argument is not measured under it; the run says why and goes on."""
    plan = plan_of(launched("--ignores"), ONE, sweeps=[{**LIMIT, "argument": "--max-num-seqs"}])
    driven = measured(plan, tmp_path / "run")
    (failed,) = driven.of(VisitFailed)
    assert (failed.reason, failed.visit.leg.name) == ("refused", "limit-7")
    assert "serving.max_running_requests '64'; expected 7" in failed.detail
    run = loaded(tmp_path / "run")
    assert [each.name for each in run.cells] == ["load-c1"]
    assert "expected 7" in run.failed[0][1]


def test_a_value_under_which_the_server_does_not_start_fails_its_own_leg_alone(tmp_path: Path) -> None:
    """An engine that ends at once for one value costs that value's cells."""
    bad = {
        **LIMIT,
        "values": [{"value": 64, "arguments": ["--ignores"]}, {"value": 7, "arguments": ["--no-such-flag"]}],
    }
    driven = measured(plan_of(launched(), ONE, sweeps=[bad]), tmp_path / "run")
    (failed,) = driven.of(VisitFailed)
    assert "no-such-flag" in failed.detail
    assert len(driven.of(VisitSealed)) == 2


def test_a_command_brings_a_value_about_and_puts_the_base_back(tmp_path: Path) -> None:
    """The commands run in order, and two visits to the base of a server that was never restarted are one cell."""
    said = tmp_path / "said"
    command = [
        sys.executable,
        "-c",
        f"import sys; open({str(said)!r}, 'a').write(sys.argv[1] + ' ')",
        "{value}",
    ]
    with running() as engine:

        def obey(event: Event) -> None:
            if isinstance(event, LegBegan):
                engine.script = replace(
                    engine.script,
                    settings={"scheduler_config.max_num_seqs": 64 if event.name == "base" else 7},
                )

        plan = plan_of(attached(engine.url), ONE, sweeps=[{**LIMIT, "command": command}])
        measured(plan, tmp_path / "run", on_event=obey)
    assert said.read_text().split() == ["7", "64"]
    base = cell(loaded(tmp_path / "run"), "load-c1")
    assert (len(base.visits), base.summary.n_rounds, base.summary.n_sessions) == (2, 2, 1)


def test_a_server_that_is_another_one_at_the_second_start_of_a_leg_ends_the_run(tmp_path: Path) -> None:
    """One run holds one environment: the version that changed is named with both values."""
    with running() as engine:

        def swap(event: Event) -> None:
            if isinstance(event, LegBegan) and event.number == 1:
                engine.script = replace(engine.script, settings={"scheduler_config.max_num_seqs": 7})
            if isinstance(event, LegBegan) and event.number == 2:
                engine.script = replace(engine.script, version="0.33.0", settings={})

        plan = plan_of(attached(engine.url), ONE, sweeps=[{**LIMIT, "command": ["/bin/true", "{value}"]}])
        driven = Driven(tmp_path / "run", on_event=swap)
        with session_of(plan, driven) as session, pytest.raises(KbtoolError) as raised:
            session.run()
    assert "0.32.0" in str(raised.value)
    assert "0.33.0" in str(raised.value)
    assert "start a new run" in str(raised.value)


def test_a_launched_engine_that_dies_is_started_again_and_what_follows_is_marked(tmp_path: Path) -> None:
    """The cell in which it died fails with the end of its log; the next one is measured after the restart, and says so."""
    works = [{**ONE, "id": name} for name in ("a", "b", "c")]
    # Each cell has a request to warm up and one that counts: the second cell's first one kills it.
    target = launched("--exits-at", "3", str(tmp_path / "died"))
    driven = measured(plan_of(target, *works), tmp_path / "run")
    (failed,) = driven.of(VisitFailed)
    assert (failed.visit.cell.workload, failed.reason) == ("b", "target_lost")
    run = loaded(tmp_path / "run")
    assert "exit" in run.failed[0][1]
    assert "out of memory, as a test asked" in run.failed[0][1]
    marked = {each.cell.workload: WarningCode.AFTER_RESTART in each.summary.warnings for each in run.cells}
    assert marked == {"a": False, "c": True}
    assert (tmp_path / "run" / "logs" / "leg-00" / "server.log").exists()
    assert (tmp_path / "run" / "logs" / "leg-00-2" / "server.log").exists()


def test_a_launched_engine_that_keeps_dying_is_started_three_times_and_no_more(tmp_path: Path) -> None:
    """After two relaunches the run is given up with the place of the logs, and nothing is left running."""
    works = [{**ONE, "id": name} for name in ("a", "b", "c", "d", "e")]
    target = launched("--exits-at", "1", "/nowhere/never")
    driven = Driven(tmp_path / "run")
    with (
        session_of(plan_of(target, *works), driven) as session,
        pytest.raises(TargetError, match=r"lost 3 times.*logs"),
    ):
        session.run()
    assert len(driven.of(LegBegan)) == 3
    folder = RunFolder.open(tmp_path / "run", Mode.READ)
    assert folder.lines[-1].kind == "aborted"
    assert not [
        each
        for each in psutil.process_iter(["cmdline"])
        if str(tmp_path) in " ".join(each.info["cmdline"] or ())
    ]
