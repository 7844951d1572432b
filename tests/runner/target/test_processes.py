"""Processes that are started and ended: what is ours, all of it, and nothing else."""

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kbtool.runner.target import procfs
from kbtool.runner.target.errors import StartError
from kbtool.runner.target.keeper import end_all
from kbtool.runner.target.owner import Owner
from kbtool.runner.target.ports import Ownership, listeners, who_listens
from kbtool.runner.target.process import Kept, StartOrder
from kbtool.runner.target.procfs import ProcessId
from kbtool.runner.target.secrets import Secrets
from tests.runner.target.launching import SERVER, environment, free_port, until


def order(folder: Path, *options: str, port: int, secrets: Secrets | None = None, **given: str) -> StartOrder:
    """Return an order that starts the launchable server."""
    return StartOrder(
        name="server",
        arguments=(sys.executable, str(SERVER), "--port", str(port), *options),
        environment=environment(**given),
        log=folder / "server.log",
        marker=f"test.{os.urandom(8).hex()}",
        secrets=secrets if secrets is not None else Secrets(),
        folder=folder,
    )


@pytest.fixture
def foreign() -> Iterator[subprocess.Popen[bytes]]:
    """Start a server of the same program that is nobody's business."""
    port = free_port()
    with subprocess.Popen(
        [sys.executable, str(SERVER), "--port", str(port)], stdout=subprocess.DEVNULL
    ) as started:
        yield started
        started.kill()


def listening(kept: Kept, port: int) -> bool:
    """Return whether a port is held by a program's own processes."""
    return who_listens(port, kept.processes())[0] is Ownership.OURS


def test_program_is_ended_with_its_port(tmp_path: Path) -> None:
    """A server that ends when asked leaves no process and no port, and nobody has to be killed."""
    port = free_port()
    kept = Kept.start(order(tmp_path, port=port))
    until(lambda: listening(kept, port))
    ended = kept.stop(10)
    assert ended.killed == ()
    assert not ended.keeper_died
    assert kept.processes() == ()
    assert listeners(port) == ()
    assert kept.stop(10) is ended


def test_program_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    """A server that does not end when asked is killed after the grace."""
    port = free_port()
    kept = Kept.start(order(tmp_path, "--ignore-term", port=port))
    until(lambda: listening(kept, port))
    assert kept.id in kept.stop(0.1).killed
    assert procfs.identify(kept.id.pid) != kept.id
    assert listeners(port) == ()


@pytest.mark.parametrize("forgetful", [False, True])
def test_children_that_left_the_group_are_found(tmp_path: Path, *, forgetful: bool) -> None:
    """Daemons of the engine's are ended too, even those that dropped the environment with our mark in it."""
    port, children = free_port(), tmp_path / "children"
    children.mkdir()
    options = ["--children", "2", "--children-folder", str(children), *["--forgetful-children"] * forgetful]
    kept = Kept.start(order(tmp_path, *options, port=port))
    until(lambda: listening(kept, port))
    left = [int(each.name) for each in children.iterdir()]
    assert len(left) == 2
    assert {os.getsid(pid) for pid in left} == set(left), "each has a session of its own"
    kept.stop(0.2)
    assert [pid for pid in left if procfs.identify(pid) is not None] == []


def test_children_are_ended_after_the_engine_died(tmp_path: Path) -> None:
    """An engine that dies and leaves workers behind: they are ended at the stop, and its exit code is kept."""
    port, children = free_port(), tmp_path / "children"
    children.mkdir()
    kept = Kept.start(order(tmp_path, "--children", "1", "--children-folder", str(children), port=port))
    until(lambda: listening(kept, port))
    os.kill(kept.id.pid, signal.SIGKILL)
    ended = kept.wait(30)
    assert ended is not None
    assert ended.text == "was ended by SIGKILL"
    (survivor,) = [int(each.name) for each in children.iterdir()]
    assert procfs.identify(survivor) is not None
    assert kept.stop(0.1).exit_code == -signal.SIGKILL
    assert procfs.identify(survivor) is None


def test_foreign_process_is_left_alone(tmp_path: Path, foreign: subprocess.Popen[bytes]) -> None:
    """Another user's server of the same program, with the same name, is not touched."""
    port = free_port()
    kept = Kept.start(order(tmp_path, port=port))
    until(lambda: listening(kept, port))
    kept.stop(5)
    assert foreign.poll() is None


RUNNER = """
import json, os, signal, sys
from pathlib import Path
from kbtool.runner.target.process import Kept, StartOrder
for each in (signal.SIGHUP, signal.SIGINT):  # a job in the background of a shell, as tests may be, ignores them
    signal.signal(each, signal.SIG_DFL)
given = json.loads(sys.argv[1])
kept = Kept.start(StartOrder("server", tuple(given["arguments"]), given["environment"], Path(given["log"]),
                             given["marker"], folder=Path(given["folder"])))
print(kept.keeper_pid, kept.id.pid, flush=True)
sys.stdin.read()
"""


def start_runner(given: StartOrder) -> subprocess.Popen[str]:
    """Start a runner in a process of its own, which starts the server."""
    text = json.dumps(
        {
            "arguments": given.arguments,
            "environment": dict(given.environment),
            "log": str(given.log),
            "marker": given.marker,
            "folder": str(given.folder),
        }
    )
    root = str(SERVER.parents[2])
    return subprocess.Popen(
        [sys.executable, "-c", RUNNER, text],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=root,
        env={**os.environ, "PYTHONPATH": root},
    )


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_nothing_outlives_a_killed_runner(tmp_path: Path, number: signal.Signals) -> None:
    """Kill -9 of the runner: its stubborn engine, the engine's daemons and the port are gone within 10 s."""
    port, children = free_port(), tmp_path / "children"
    children.mkdir()
    options = ["--ignore-term", "--children", "1", "--children-folder", str(children), "--forgetful-children"]
    given = order(tmp_path, *options, port=port)
    with start_runner(given) as runner:
        assert runner.stdout is not None
        keeper, engine = (int(each) for each in runner.stdout.readline().split())
        until(lambda: listeners(port))
        everyone = [keeper, engine, *(int(each.name) for each in children.iterdir())]
        assert len(everyone) == 3
        runner.send_signal(number)
        runner.wait()
        until(lambda: not [pid for pid in everyone if procfs.identify(pid) is not None])
    assert listeners(port) == ()
    assert procfs.marked(given.marker) == ()


def test_no_file_left_to_open_leaves_nothing_running(tmp_path: Path) -> None:
    """F18: a runner that may open no more files says so, and what it could not hand over is not left behind."""
    given = order(tmp_path, port=free_port())
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.open("/dev/null", os.O_RDONLY)
    os.close(lowest)
    for room in range(6):
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + room, before[1]))
        try:
            with pytest.raises(OSError, match="Too many open files"):
                Kept.start(given)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert procfs.marked(given.marker) == ()


def test_dead_keeper_is_noticed_and_replaced(tmp_path: Path) -> None:
    """Kill -9 of the keeper: the kernel ends the engine, and its daemons are found by their mark."""
    port, children = free_port(), tmp_path / "children"
    children.mkdir()
    kept = Kept.start(order(tmp_path, "--children", "1", "--children-folder", str(children), port=port))
    until(lambda: listening(kept, port))
    (daemon,) = [int(each.name) for each in children.iterdir()]
    os.kill(kept.keeper_pid, signal.SIGKILL)
    assert kept.wait(30) is not None
    assert kept.keeper_is_gone
    until(lambda: procfs.identify(kept.id.pid) is None)
    assert procfs.identify(daemon) is not None
    ended = kept.stop(0.1)
    assert ended.keeper_died
    assert [each.pid for each in ended.killed] == [daemon]


def test_program_that_is_missing_is_named(tmp_path: Path) -> None:
    """A program that cannot be started is an error with its name and the remedy."""
    given = order(tmp_path, port=free_port())
    missing = StartOrder("server", ("/no/such/program",), given.environment, given.log, given.marker)
    with pytest.raises(StartError, match=r"/no/such/program.*correct the program's path"):
        Kept.start(missing)
    assert procfs.marked(given.marker) == ()


def test_exit_code_and_end_of_the_log_are_kept(tmp_path: Path) -> None:
    """An engine that ends by itself leaves its code and its last words."""
    kept = Kept.start(order(tmp_path, "--exit-at-once", "137", port=free_port()))
    ended = kept.wait(30)
    kept.stop(1)
    assert ended is not None
    assert ended.text == "ended with exit code 137 (killed, often for want of memory)"
    assert "out of memory, as a test asked" in ended.log_tail
    assert "out of memory" in kept.log_tail()


def test_signal_does_not_reach_whoever_has_the_pid_now() -> None:
    """A process is its pid and its start time: the same pid with another start is somebody else."""
    me = procfs.identify(os.getpid())
    assert me is not None
    assert not procfs.send(ProcessId(me.pid, me.start_ticks + 1), signal.SIGKILL)
    assert procfs.send(me, signal.Signals.SIGCONT)


def test_what_cannot_be_killed_is_reported() -> None:
    """A process that outlives every blow, as one that hangs in a driver does, is named and not waited for for ever."""
    clock = iter(range(1000))
    stuck = ProcessId(2**22 + 1, 1)
    killed, left = end_all(
        lambda: [stuck], ask=lambda: None, grace_s=3, wait=lambda _: None, now_s=lambda: float(next(clock))
    )
    assert (killed, left) == ([], [stuck])


def test_owner_knows_the_dead_from_the_living(tmp_path: Path) -> None:
    """A runner is alive only with its pid, its start time and this boot; in another pid namespace nobody can tell."""
    me = Owner.of_this_process()
    assert Owner.parse(me.text) == me
    assert me.lives() is True
    assert Owner(ProcessId(me.process.pid, 1), me.boot_id, me.pid_space).lives() is False
    assert Owner(me.process, "another-boot", me.pid_space).lives() is False
    assert Owner(me.process, me.boot_id, "1").lives() is None
    for hostile in ("", "a.b.c.d", "1.2.3", "١.٢.٣.x", f"{'9' * 41}.1.1.x", str(tmp_path)):
        assert Owner.parse(hostile) is None
