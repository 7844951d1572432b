"""The whole program and everything that can end it: kills, signals, a dying engine, a full disk, a second runner."""

import json
import os
import random
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kbtool.errors import ExitCode
from kbtool.runner.folder import Mode, RunFolder, verify
from tests.fakes.engine import Engine, Script, running
from tests.runner.session.driving import attached
from tests.runner.session.launching import launched
from tests.runner.whole.program import (
    Program,
    cells,
    make_project,
    ours,
    plan_text,
    run_folder,
    sealed,
    until,
)

NAMES = ("a", "b", "c")
KILLS = 3
"""Kills of one run at most; it may be complete before."""
RUNS = 34 if os.environ.get("KBTOOL_TEST_THOROUGH") == "1" else 1
KEY = "kb-4711-very-secret-key-0815"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a knowledge base."""
    return make_project(tmp_path)


@pytest.fixture
def engine() -> Iterator[Engine]:
    """Run a scripted engine."""
    with running(Script(ttft_ms=5, step_ms=2)) as found:
        yield found


def begin(project: Path, text: str, **environment: str) -> Program:
    """Write a plan and run it."""
    (project / "plan.yaml").write_text(text, encoding="utf-8")
    return Program.start(project, "bench", "run", "plan.yaml", environment=environment)


def check_record(project: Path, root: Path) -> Path:
    """Publish a run, and return its record, which lint accepts as it is."""
    done = Program.start(project, "bench", "record", str(root)).end()
    assert done.code == ExitCode.CLEAN, done.err + done.out
    (found,) = (project / "records" / "benchmarks").glob("ev-*.yaml")
    lint = Program.start(project, "lint").end()
    assert lint.code == ExitCode.CLEAN, lint.out + lint.err
    return found


@pytest.mark.parametrize("seed", range(RUNS))
def test_a_killed_runner_loses_the_open_cell_alone(project: Path, engine: Engine, seed: int) -> None:
    """Killed at random instants and resumed each time, a run completes; sealed cells stay as they were to the byte.

    One run is killed three times; with `KBTOOL_TEST_THOROUGH=1` there are 34 of them, a hundred kills.
    """
    chance = random.Random(seed)
    program = begin(project, plan_text(attached(engine.url), *NAMES))
    program.wait_for(" warm_up ")
    root = run_folder(project)
    kept: dict[str, bytes] = {}
    for _ in range(KILLS):
        # The instant is random over the messages of a run: each is another place in the program.
        messages = chance.randrange(1, 8)
        have = program.said().count("\n")
        until(lambda: program.said().count("\n") >= have + messages or program.process.poll() is not None)  # noqa: B023 - called at once
        program.send(signal.SIGKILL)
        program.end()
        now = sealed(root)
        assert {path: now.get(path) for path in kept} == kept
        kept = now
        if RunFolder.open(root, Mode.READ).finished:
            break
        program = Program.start(project, "bench", "resume", str(root))
        program.wait_for("\n", 2)
    finished = program.end()
    if not RunFolder.open(root, Mode.READ).finished:
        finished = Program.start(project, "bench", "resume", str(root)).end()
    assert finished.code in {ExitCode.CLEAN, -signal.SIGKILL}, finished.err
    assert cells(root) == list(NAMES)
    assert verify(root) == ()
    after = sealed(root)
    assert {path: after[path] for path in kept} == kept
    until(lambda: not ours(str(root)))
    check_record(project, root)


def test_ctrl_c_drains_says_how_to_go_on_and_leaves_nothing_running(project: Path, engine: Engine) -> None:
    """One SIGINT: exit code 130, what to type next, and a run that is then completed."""
    program = begin(project, plan_text(attached(engine.url), *NAMES))
    program.wait_for("b-c2 ...")
    program.send(signal.SIGINT)
    done = program.end()
    root = run_folder(project)
    assert done.code == ExitCode.INTERRUPTED
    assert "Traceback" not in done.err
    assert f"kbtool bench resume {root.relative_to(project)}" in done.err
    assert not ours(str(root.name))
    assert Program.start(project, "bench", "resume", str(root)).end().code == ExitCode.CLEAN
    assert cells(root) == list(NAMES)


@pytest.mark.parametrize("signals", [(signal.SIGINT, signal.SIGINT), (signal.SIGTERM,), (signal.SIGHUP,)])
def test_signals_end_a_launched_engine_too(project: Path, signals: tuple[signal.Signals, ...]) -> None:
    """Whatever the signal, the engine that was started is ended, and the run can be resumed."""
    program = begin(project, plan_text(launched(ttft_ms=300), *NAMES))
    program.wait_for("a-c2 ...")
    for each in signals:
        program.send(each)
    done = program.end()
    assert done.code == ExitCode.INTERRUPTED, done.err
    assert f"stopped by {signals[0].name}" in done.err
    assert not ours("served_engine.py") or not ours(str(project))
    assert RunFolder.open(run_folder(project), Mode.READ).lines[-1].kind == "interrupted"


def test_a_killed_runner_leaves_no_engine(project: Path) -> None:
    """The keeper of a launched engine ends it when the runner is gone, and the next command can use the port."""
    program = begin(project, plan_text(launched(), *NAMES))
    program.wait_for("a-c2: ")
    plan = json.loads((project / "plan.yaml").read_text())
    port = f" {plan['target']['launch']['instances'][0]['port']} kb-"
    assert ours(port)
    program.send(signal.SIGKILL)
    program.end()
    until(lambda: not ours(port))
    root = run_folder(project)
    done = Program.start(project, "bench", "resume", str(root)).end()
    assert done.code == ExitCode.CLEAN, done.err
    assert cells(root) == list(NAMES)
    assert not ours(port)


def test_a_killed_engine_costs_its_cell_and_what_follows_is_marked(project: Path) -> None:
    """Kill -9 of the engine in mid-cell: started again, the cell named as lost, the record still passes."""
    program = begin(project, plan_text(launched(ttft_ms=30, step_ms=2), *NAMES))
    program.wait_for("b-c2 warm_up")
    root = run_folder(project)
    leg = json.loads((root / "environment" / "leg-00-base.json").read_text())
    os.kill(leg["processes"][0]["process"]["pid"], signal.SIGKILL)
    done = program.end()
    assert done.code == ExitCode.CLEAN, done.err
    assert cells(root) == ["a", "c"]
    text = check_record(project, root).read_text()
    assert "after_restart" in text
    source = next((project / "records" / "sources").glob("run-*.yaml")).read_text()
    assert "target_lost" in source


def test_a_second_runner_is_refused_and_told_who_has_the_server(project: Path, engine: Engine) -> None:
    """Two runs of one server would slow each other down: the second ends at once, the first is undisturbed."""
    first = begin(project, plan_text(attached(engine.url), *NAMES))
    first.wait_for("a-c2 ...")
    second = Program.start(project, "bench", "run", "plan.yaml", "--out", "others").end()
    assert second.code == ExitCode.FINDINGS
    assert f"process {first.process.pid}" in second.err
    assert "Traceback" not in second.err
    assert not list((project / "others").iterdir())
    assert first.end().code == ExitCode.CLEAN


def test_a_server_that_is_not_there_is_named_before_a_run_is_made(project: Path) -> None:
    """Nothing answers: the message has the address, and no folder is left."""
    done = begin(project, plan_text(attached("http://127.0.0.1:9/v1"), *NAMES)).end()
    assert done.code in {ExitCode.FINDINGS, ExitCode.USAGE}
    assert "127.0.0.1:9" in done.err
    assert "Traceback" not in done.err


def test_a_folder_that_cannot_be_written_ends_the_run_with_the_reason(project: Path, engine: Engine) -> None:
    """The run folder vanishes in mid-run: exit code and reason, no traceback, nothing left running."""
    program = begin(project, plan_text(attached(engine.url), *NAMES))
    program.wait_for("a-c2: ")
    root = run_folder(project)
    root.rename(project / "moved")
    done = program.end()
    assert done.code not in {ExitCode.CLEAN, ExitCode.BUG}
    assert "Traceback" not in done.err
    assert cells(project / "moved")[:1] == ["a"]
    until(lambda: not ours(root.name))


def test_a_full_disk_ends_the_run_and_with_room_again_it_goes_on(project: Path, engine: Engine) -> None:
    """A small file system fills up: the reason is said, sealed cells are whole, and resuming completes the run."""
    disk = project / "runs"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=66m", "tmpfs", str(disk)], check=False, capture_output=True
    )
    try:
        program = begin(project, plan_text(attached(engine.url), *NAMES))
        if mounted.returncode == 0:
            program.wait_for("a-c2: ")
            before = sealed(run_folder(project))
            with (disk / "ballast").open("wb") as ballast:
                _fill(ballast.fileno())
            done = program.end()
            assert done.code == 74, done.err
            assert "Make room on this disk, then resume the run" in done.err
            assert "Traceback" not in done.err
            (disk / "ballast").unlink()
            root = run_folder(project)
            after = sealed(root)
            assert {path: after[path] for path in before} == before
            done = Program.start(project, "bench", "resume", str(root)).end()
            assert done.code == ExitCode.CLEAN, done.err
        else:
            # Without the right to mount, the disk that fails is the seam of the folder: see the session's tests.
            assert program.end().code == ExitCode.CLEAN
        assert cells(run_folder(project)) == list(NAMES)
    finally:
        if mounted.returncode == 0:
            subprocess.run(["umount", "-l", str(disk)], check=True)


def _fill(descriptor: int) -> None:
    block = b"\0" * 65_536
    try:
        while True:
            os.write(descriptor, block)
    except OSError:
        return


def test_no_secret_is_anywhere_in_what_is_left(project: Path) -> None:
    """The server's key and another secret of the environment are in no file, whether sealed, logged, printed or published."""
    other = "hf_0815secretsecretsecretsecretsecret"
    script = Script(api_key=KEY, ttft_ms=5, step_ms=2)
    with running(script) as engine:
        text = plan_text(attached(engine.url, api_key_env="SERVER_API_KEY"), "a")
        done = begin(project, text, SERVER_API_KEY=KEY, HF_TOKEN=other).end()
    assert done.code == ExitCode.CLEAN, done.err
    root = run_folder(project)
    report = Program.start(project, "bench", "report", str(root), environment={"SERVER_API_KEY": KEY}).end()
    assert report.code == ExitCode.CLEAN, report.err
    check_record(project, root)
    holding = [
        str(path)
        for path in project.rglob("*")
        if path.is_file() and any(each.encode() in path.read_bytes() for each in (KEY, other))
    ]
    assert holding == []
    assert KEY not in done.out + report.out


def test_a_flipped_bit_is_found_and_nothing_is_published(project: Path, engine: Engine) -> None:
    """`verify` names the file; report and record refuse to use it."""
    assert begin(project, plan_text(attached(engine.url), "a")).end().code == ExitCode.CLEAN
    root = run_folder(project)
    assert Program.start(project, "bench", "verify", str(root)).end().code == ExitCode.CLEAN
    (table,) = sorted(root.glob("cells/*/round-02.events.parquet"))
    data = bytearray(table.read_bytes())
    data[len(data) // 2] ^= 1
    table.write_bytes(data)
    for verb in ("verify", "report", "record"):
        done = Program.start(project, "bench", verb, str(root)).end()
        assert done.code == ExitCode.FINDINGS, verb
        assert table.name in done.err, verb
        assert "Traceback" not in done.err
    assert not list((project / "records" / "benchmarks").glob("ev-*"))


def test_emitting_twice_gives_the_same_bytes(project: Path, engine: Engine) -> None:
    """A record is a pure function of the run: written again elsewhere it is the same, to the byte."""
    assert begin(project, plan_text(attached(engine.url), "a", rounds=3)).end().code == ExitCode.CLEAN
    root = run_folder(project)
    first = check_record(project, root)
    kept = {path: path.read_bytes() for path in (*project.glob("records/*/*.yaml"), *project.glob("raw/*/*"))}
    shutil.rmtree(project / "raw")
    first.unlink()
    check_record(project, root)
    assert {path: path.read_bytes() for path in kept} == kept
