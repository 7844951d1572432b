"""Bringing up the system under test: ready means a token from a server that is ours, and every change shows."""

import itertools
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kbtool.errors import UsageError
from kbtool.runner.client.outgoing import Endpoint
from kbtool.runner.plan.model import Deadlines
from kbtool.runner.target import procfs
from kbtool.runner.target.errors import EngineDiedError, NotOursError, NotReadyError, PortTakenError
from kbtool.runner.target.launch import OWNER_VARIABLE
from kbtool.runner.target.leg import LegSettings, with_arguments
from kbtool.runner.target.owner import Owner
from kbtool.runner.target.ports import listeners
from kbtool.runner.target.ready import ready
from kbtool.runner.target.running import FaultKind, Running
from kbtool.runner.target.start import start
from tests.runner.target.launching import (
    SERVER,
    SOON,
    ask,
    environment,
    free_port,
    get,
    instance,
    log_of,
    one_token,
    plan,
    post,
    serving,
    until,
)


def begin(folder: Path, *instances: dict[str, Any], leg: LegSettings | None = None, **target: Any) -> Running:
    """Start a plan's target."""
    return start(plan(*instances, **target), leg, run_id="run-1", log_dir=folder, own=environment())


def test_ready_is_a_token_from_the_model_with_our_name(tmp_path: Path) -> None:
    """A launched server serves a name that was made up for it, and is ready when it generates."""
    port = free_port()
    with begin(tmp_path, instance(port)) as running:
        assert running.model is not None
        assert running.model.startswith("kb-")
        assert ready(running, SOON, one_token, ask=ask) > 0
        assert get(running.measured, "/v1/models")["data"][0]["id"] == running.model
        assert running.measured == running.endpoints[0] == Endpoint("server", "127.0.0.1", port)
        assert running.alive(ask) == ()
        (facts,) = running.processes()
        assert facts.arguments[:3] == (sys.executable, str(SERVER), "--port")
        assert "KBTOOL_RUN" in facts.environment_names
        assert "UNRELATED" not in facts.environment_names
    assert listeners(port) == ()


def test_server_that_is_late_is_waited_for(tmp_path: Path) -> None:
    """A server that answers 503 while it loads is asked again until it generates."""
    gate = tmp_path / "gate"
    refused: list[str] = []

    def send(endpoint: Endpoint, model: str | None, timeout_s: float) -> str | None:
        answer = one_token(endpoint, model, timeout_s)
        if answer is not None:
            refused.append(answer)
            gate.touch()
        return answer

    with begin(tmp_path, instance(free_port(), "--ready-when", str(gate))) as running:
        ready(running, SOON, send)
    assert refused == ["status 503"]


def test_stale_server_is_refused_before_anything_starts(tmp_path: Path) -> None:
    """F12: a server that holds the port is named, and gets no request."""
    port = free_port()
    with subprocess.Popen(serving(port, model="kb-old"), stdout=subprocess.DEVNULL) as stale:
        until(lambda: listeners(port))
        with pytest.raises(
            PortTakenError, match=rf"port {port} is held by 'python[^']*' \(pid {stale.pid}\)"
        ):
            begin(tmp_path, instance(port))
        assert get(Endpoint("stale", "127.0.0.1", port), "/fake/counts")["requests"] == 0
        assert stale.poll() is None
        stale.kill()


def test_server_that_takes_the_port_first_is_refused_before_the_first_request(tmp_path: Path) -> None:
    """A foreign server that grabs the port while ours loads is found by its process, and gets no request."""
    port, gate = free_port(), tmp_path / "gate"
    with (
        begin(tmp_path, instance(port, "--listen-when", str(gate))) as running,
        subprocess.Popen(serving(port, model="other"), stdout=subprocess.DEVNULL) as foreign,
    ):
        until(lambda: listeners(port))
        with pytest.raises(NotOursError, match=rf"held by .*pid {foreign.pid}.*not started here"):
            ready(running, SOON, one_token)
        assert get(Endpoint("f", "127.0.0.1", port), "/fake/counts")["requests"] == 0
        foreign.kill()


def test_server_on_another_port_is_told(tmp_path: Path) -> None:
    """An engine that ignores the port it was given: the message says where it listens instead."""
    port, other = free_port(), free_port()
    times_s = itertools.chain([0.0, 0.0], itertools.repeat(60.0))
    with begin(tmp_path, instance(port, "--listen-on", str(other))) as running:
        until(lambda: listeners(other))
        with pytest.raises(NotReadyError, match=rf"on port {port}, but on \[{other}\]"):
            ready(running, SOON, one_token, now_s=lambda: next(times_s))


def test_server_with_another_model_is_not_ready(tmp_path: Path) -> None:
    """An engine that ignores the name it was given never proves that it is ours."""
    refused: list[str | None] = []

    def send(endpoint: Endpoint, model: str | None, timeout_s: float) -> str | None:
        refused.append(one_token(endpoint, model, timeout_s))
        return refused[-1]

    arguments = serving(free_port(), model="")
    planned = {"port": int(arguments[3]), "arguments": [*arguments, "--key-header={model_name}"]}
    with begin(tmp_path, planned) as running, pytest.raises(NotReadyError, match="the model fake answered"):
        ready(running, SOON, send, now_s=lambda: 60.0 * len(refused))


def test_model_that_is_not_listed_is_refused(tmp_path: Path) -> None:
    """A server that answers to any name but lists another is not ours."""
    arguments = serving(free_port(), model="")
    planned = {"port": int(arguments[3]), "arguments": [*arguments, "--key-header={model_name}"]}
    with (
        begin(tmp_path, planned) as running,
        pytest.raises(NotOursError, match="it serves 'fake'; expected 'kb-"),
    ):
        ready(running, SOON, lambda *_: None, ask=ask)


def test_engine_that_dies_before_it_answers_says_why(tmp_path: Path) -> None:
    """F09: the error has the exit code and the end of the log, at once and not after the deadline."""
    with (
        begin(tmp_path, instance(free_port(), "--exit-at-once", "137")) as running,
        pytest.raises(EngineDiedError, match=r"(?s)exit code 137.*before it answered.*\| out of memory"),
    ):
        ready(running, Deadlines.model_validate({"ready_s": 3600}), one_token)


def test_engine_that_dies_mid_way_is_a_fault(tmp_path: Path) -> None:
    """F09: an engine that ends in the middle is found, with its exit code."""
    with begin(tmp_path, instance(free_port())) as running:
        ready(running, SOON, one_token)
        post(running.measured, "/fake/exit?code=137")
        until(running.alive)
        (fault,) = running.alive()
        assert (fault.kind, fault.exit_code) == (FaultKind.DIED, 137)
        assert "listening" in fault.log_tail


def test_swapped_model_is_a_fault(tmp_path: Path) -> None:
    """Another model under the same address is found by asking."""
    with begin(tmp_path, instance(free_port())) as running:
        ready(running, SOON, one_token, ask=ask)
        post(running.measured, "/fake/rename?name=something-else")
        assert running.alive() == ()
        (fault,) = running.alive(ask)
        assert fault.kind is FaultKind.SWAPPED
        assert "serves 'something-else'" in fault.detail


def test_engine_that_restarts_itself_is_a_fault(tmp_path: Path) -> None:
    """F10: a server that came back under the same port is not the one that was measured."""
    with begin(tmp_path, instance(free_port(), "--restarts-itself")) as running:
        ready(running, SOON, one_token, ask=ask)
        before = running.processes()[0].process
        os.kill(before.pid, signal.SIGKILL)
        until(lambda: listeners(running.measured.port) and procfs.identify(before.pid) != before)
        until(lambda: [fault for fault in running.alive() if fault.kind is FaultKind.RESTARTED])
        until(lambda: one_token(running.measured, running.model, 5) is None)
        assert [fault.kind for fault in running.alive()] == [FaultKind.RESTARTED]


def test_port_that_moved_to_a_stranger_is_a_fault(tmp_path: Path) -> None:
    """A foreign server that took over the port is found by its process."""
    port = free_port()
    with begin(tmp_path, instance(port, "--restarts-itself"), stop_s=1) as running:
        ready(running, SOON, one_token)
        server, supervisor = (facts.process for facts in running.processes())
        os.kill(supervisor.pid, signal.SIGSTOP)
        os.kill(server.pid, signal.SIGKILL)
        until(lambda: not listeners(port))
        with subprocess.Popen(serving(port, model="other"), stdout=subprocess.DEVNULL) as foreign:
            until(lambda: listeners(port))
            (fault,) = running.alive()
            assert fault.kind is FaultKind.PORT_MOVED
            assert f"pid {foreign.pid}" in fault.detail
            foreign.kill()


def test_second_engine_that_fails_takes_the_first_with_it(tmp_path: Path) -> None:
    """Where one engine cannot be started, those before it are ended."""
    port = free_port()
    broken = {"name": "broken", "port": free_port(), "arguments": ["/no/such/engine", "{model_name}"]}
    with pytest.raises(Exception, match="broken: /no/such/engine cannot be started"):
        begin(tmp_path, instance(port), broken, router={"kind": "nginx", "port": free_port()})
    assert listeners(port) == ()
    ours = Owner.of_this_process().text
    owners = [(procfs.environment_of(each.id.pid) or {}).get(OWNER_VARIABLE) for each in procfs.processes()]
    assert ours not in owners


def test_leg_changes_arguments_and_environment(tmp_path: Path) -> None:
    """A leg replaces an argument where it stands, appends what is new, and sets variables."""
    leg = LegSettings({"--chunked-prefill-size": "4096"}, ("--leak", "LEVEL"), {"LEVEL": "seven"})
    planned = instance(free_port(), "--chunked-prefill-size", "2048")
    with begin(tmp_path, planned, leg=leg) as running:
        ready(running, SOON, one_token)
        (facts,) = running.processes()
    assert facts.arguments[-4:] == ("--chunked-prefill-size", "4096", "--leak", "LEVEL")
    assert "LEVEL=seven" in (tmp_path / "server.log").read_text()


@pytest.mark.parametrize(
    ("before", "change", "after"),
    [
        (("e", "--x", "1", "--y"), {"--x": "2"}, ("e", "--x", "2", "--y")),
        (("e", "--x=1", "--y"), {"--x": "2"}, ("e", "--x=2", "--y")),
        (("e", "--x", "-1"), {"--x": "0"}, ("e", "--x", "0")),
        (("e", "--x", "--y"), {"--x": "2"}, ("e", "--x", "2", "--y")),
        (("e", "--x-long", "1"), {"--x": "2"}, ("e", "--x-long", "1", "--x", "2")),
        (("e", "--x", "1"), {"--x": None}, ("e", "--x")),
        (("e",), {"--flag": None}, ("e", "--flag")),
        (("e",), {"--x": "a b; rm"}, ("e", "--x", "a b; rm")),
    ],
)
def test_argument_is_replaced_or_appended(
    before: tuple[str, ...], change: dict[str, str | None], after: tuple[str, ...]
) -> None:
    """`--x v` and `--x=v` are replaced in place, everything else is left as it is."""
    assert with_arguments(before, LegSettings(change)) == after


def test_argument_that_stands_twice_is_refused() -> None:
    """Which of two would be in force is the engine's secret: a sweep must not guess."""
    with pytest.raises(UsageError, match="--x stands 2 times"):
        with_arguments(("e", "--x", "1", "--x=2"), LegSettings({"--x": "3"}))


def test_nonce_needs_a_place(tmp_path: Path) -> None:
    """A plan that wants the proof and gives the engine no way to learn the name is refused."""
    with pytest.raises(UsageError, match=r"no argument holds \{model_name\}"):
        begin(tmp_path, instance(free_port(), model="fixed"))
    with begin(
        tmp_path, instance(free_port(), model="fixed"), launch={"nonce": False}, model="fixed"
    ) as running:
        ready(running, SOON, one_token, ask=ask)
        assert running.model == "fixed"


def test_attached_server_is_never_ended(tmp_path: Path) -> None:
    """A server that runs already is used and left running, and its restart is found by its process."""
    port = free_port()
    with subprocess.Popen(serving(port, model="m"), stdout=subprocess.DEVNULL) as theirs:
        until(lambda: listeners(port))
        with begin(tmp_path, endpoints=[{"url": f"http://127.0.0.1:{port}/v1"}], model="m") as running:
            ready(running, SOON, one_token, ask=ask)
            assert running.alive(ask) == ()
            assert [each.process.pid for each in running.processes()] == [theirs.pid]
        assert theirs.poll() is None
        theirs.kill()
        theirs.wait()
        assert [fault.kind for fault in running.alive()] == [FaultKind.PORT_MOVED]
        assert [fault.kind for fault in running.alive(ask)] == [FaultKind.PORT_MOVED]
        with subprocess.Popen(serving(port, model="m"), stdout=subprocess.DEVNULL) as again:
            until(lambda: listeners(port))
            assert [fault.kind for fault in running.alive()] == [FaultKind.RESTARTED]
            again.kill()


def test_several_servers_need_a_router(tmp_path: Path) -> None:
    """Two servers without a router are no one system."""
    endpoints = [{"name": name, "url": f"http://127.0.0.1:{free_port()}"} for name in ("one", "two")]
    with pytest.raises(UsageError, match="2 servers and no router"):
        begin(tmp_path, endpoints=endpoints)


def test_missing_variable_is_named(tmp_path: Path) -> None:
    """A key or variable that is not set is named, with what to do."""
    with pytest.raises(UsageError, match=r"TEST_API_KEY is not set.*export it"):
        begin(tmp_path, instance(free_port()), api_key_env="TEST_API_KEY")
    with pytest.raises(UsageError, match=r"MY_TOKEN is not set.*export it"):
        begin(tmp_path, instance(free_port(), env_from=["MY_TOKEN"]))


def test_no_secret_is_written_anywhere(tmp_path: Path) -> None:
    """F17: neither the log, nor facts, nor messages hold a secret, though the engine prints and is given it."""
    key, token = "sesame-open-4711", "hf_abcdefghijklmnopqrstuvwxyz"
    own = environment(TEST_API_KEY=key, HF_TOKEN=token)
    planned = plan(
        instance(
            free_port(),
            "--leak",
            "HF_TOKEN",
            "--leak",
            "TEST_API_KEY",
            env_from=["HF_TOKEN", "TEST_API_KEY"],
        ),
        api_key_env="TEST_API_KEY",
    )
    leg = LegSettings(extra=("--api-key", key))  # a plan may not hold it
    with start(planned, leg, run_id="run-1", log_dir=tmp_path, own=own) as running:
        assert dict(running.measured.headers) == {"Authorization": f"Bearer {key}"}
        ready(running, SOON, one_token)
        shown = f"{running.processes()!r} {running!r} {running.secrets!r}"
        post(running.measured, "/fake/exit?code=1")
        until(running.alive)
        shown += repr(running.alive())
    written = log_of(running, tmp_path)
    assert "HF_TOKEN=[secret]" in written
    for secret in (key, token):
        assert secret not in written
        assert secret not in shown
        assert secret not in Path("/proc/self/cmdline").read_text()


def test_attached_server_of_another_model_is_refused_at_once(tmp_path: Path) -> None:
    """It runs already: waiting half an hour for its first token would bring no other model."""
    port = free_port()
    with subprocess.Popen(serving(port, model="tiny"), stdout=subprocess.DEVNULL) as server:
        until(lambda: listeners(port))
        target: dict[str, Any] = {"endpoints": [{"url": f"http://127.0.0.1:{port}/v1"}], "model": "other"}
        with (
            begin(tmp_path, **target) as running,
            pytest.raises(NotOursError, match=r"serves 'tiny'; expected 'other'.*correct `target.model`"),
        ):
            ready(running, SOON, one_token, ask=ask)
        assert get(Endpoint("s", "127.0.0.1", port), "/fake/counts")["requests"] == 0
        server.kill()
