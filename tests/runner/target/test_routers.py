"""Routers: exact configurations, no way to inject, and the real programs where they are installed."""

import http.client
import itertools
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest

from kbtool.errors import UsageError
from kbtool.runner.client.outgoing import Endpoint
from kbtool.runner.plan.target import Affinity, RouterKind
from kbtool.runner.target.errors import NotOursError, PortTakenError, StartError
from kbtool.runner.target.instances import Launched
from kbtool.runner.target.ports import listeners
from kbtool.runner.target.ready import ready
from kbtool.runner.target.router import policy_in_force
from kbtool.runner.target.routers import RouterRequest, configure
from kbtool.runner.target.running import FaultKind, Running
from kbtool.runner.target.start import start
from tests.runner.target.launching import (
    ROOT,
    SERVER,
    SOON,
    environment,
    free_port,
    generate,
    instance,
    one_token,
    plan,
    post,
    until,
)

GOLDEN: Final = ROOT / "tests" / "golden" / "runner" / "routers"
WORKERS: Final = (Endpoint("engine-a", "127.0.0.1", 8001), Endpoint("engine-b", "127.0.0.1", 8002))
HEADERS: Final[dict[RouterKind, str]] = {
    "sglang_router": "X-SMG-Routing-Key",
    "vllm_router": "X-Session-ID",
    "haproxy": "X-Session-ID",
    "caddy": "X-Session-ID",
    "nginx": "X-Session-ID",
}
PROGRAMS: Final = {
    "sglang_router": "sglang-router",
    "vllm_router": "vllm-router",
    "haproxy": "haproxy",
    "caddy": "caddy",
    "nginx": "nginx",
}
PATH: Final = f"{os.environ['PATH']}:/usr/sbin:/sbin"


def header(name: str) -> Affinity:
    """Return affinity by a header."""
    return Affinity.model_validate({"header": name})


def request(**more: Any) -> RouterRequest:
    """Return a request for two engines."""
    return RouterRequest(**{"port": 8000, "workers": WORKERS, "answer_s": 3600, "ready_s": 600, **more})


@pytest.mark.parametrize("sticky", [False, True], ids=["plain", "sticky"])
@pytest.mark.parametrize("kind", HEADERS)
def test_setup_is_exactly_this(kind: RouterKind, *, sticky: bool, update_golden: bool) -> None:
    """Arguments and configuration of each router, with and without affinity, equal the golden file."""
    setup = configure(
        kind, request(affinity=header(HEADERS[kind]) if sticky else None, arguments=("--more", "a b"))
    )
    file = f"\n--- {setup.file[0]}\n{setup.file[1]}" if setup.file is not None else ""
    text = (
        f"{setup.name}: {' or '.join(setup.programs)}\npolicy: {setup.policy}\naffinity: {setup.affinity}\n"
        f"arguments: {json.dumps(setup.arguments, indent=1)}\n{file}"
    )
    golden = GOLDEN / f"{kind}-{'sticky' if sticky else 'plain'}.txt"
    if update_golden:
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


HOSTILE: Final = (
    "127.0.0.1; include /etc/passwd",
    "a b",
    "a\nb",
    "a;b",
    "a{b}",
    'a"b',
    "a#b",
    "$host",
    "-x",
    "a/b",
    "a%b",
    "",
)


@pytest.mark.parametrize("kind", HEADERS)
@pytest.mark.parametrize("text", HOSTILE)
def test_no_name_gets_into_a_configuration(kind: RouterKind, text: str) -> None:
    """Hosts, names, headers and policies that end a word or a statement are refused, by whichever check is first."""
    with pytest.raises(UsageError):
        configure(kind, request(workers=(Endpoint("engine-a", text, 8001), WORKERS[1])))
    with pytest.raises(UsageError):
        configure(kind, request(workers=(Endpoint(text, "127.0.0.1", 8001), WORKERS[1])))
    with pytest.raises(UsageError):
        configure(kind, request(affinity=Affinity.model_construct(header=text, field=None)))
    with pytest.raises(UsageError):
        configure(kind, request(policy=text))
    with pytest.raises(UsageError):
        configure(kind, request(user=text))


@pytest.mark.parametrize("kind", HEADERS)
def test_engines_behind_tls_or_a_path_are_refused(kind: RouterKind) -> None:
    """What the configuration does not carry is refused, not dropped."""
    for worker in (
        Endpoint("engine-a", "127.0.0.1", 8001, tls=True),
        Endpoint("engine-a", "127.0.0.1", 8001, base_path="/x"),
    ):
        with pytest.raises(UsageError, match="behind TLS or a base path"):
            configure(kind, request(workers=(worker,)))


def test_affinity_that_a_router_cannot_see_is_refused() -> None:
    """A session key that a router does not look at would be a label without effect."""
    field = Affinity.model_validate({"field": "user"})
    for kind in ("sglang_router", "haproxy", "caddy", "nginx"):
        with pytest.raises(UsageError, match=r"target\.affinity"):
            configure(kind, request(affinity=field))
    assert configure("vllm_router", request(affinity=field)).affinity == "user"
    with pytest.raises(UsageError, match="X-SMG-Routing-Key alone"):
        configure("sglang_router", request(affinity=header("X-Session-ID")))
    with pytest.raises(UsageError, match="does not look at 'X-Mine'"):
        configure("vllm_router", request(affinity=header("X-Mine")))


@pytest.mark.parametrize("kind", HEADERS)
def test_policy_that_knows_no_sessions_is_refused_with_affinity(kind: RouterKind) -> None:
    """Affinity and a policy that ignores it contradict each other."""
    plain = {"haproxy": "roundrobin", "sglang_router": "random", "vllm_router": "random"}.get(
        kind, "round_robin"
    )
    assert configure(kind, request(policy=plain)).affinity is None
    with pytest.raises(UsageError, match="no policy"):
        configure(kind, request(policy=plain, affinity=header(HEADERS[kind])))


def installed(kind: str) -> bool:
    """Return whether the router's program is on this machine."""
    return shutil.which(PROGRAMS[kind], path=PATH) is not None


CHECKS: Final[dict[str, tuple[str, ...]]] = {
    "nginx": ("nginx", "-t", "-e", "stderr", "-p", ".", "-c", "nginx.conf"),
    "haproxy": ("haproxy", "-c", "-f", "haproxy.cfg"),
    "caddy": ("caddy", "validate", "--config", "caddy.json"),
}


@pytest.mark.parametrize("sticky", [False, True])
@pytest.mark.parametrize("kind", CHECKS)
def test_program_itself_accepts_the_configuration(kind: RouterKind, tmp_path: Path, *, sticky: bool) -> None:
    """The program's own check finds nothing wrong; where it is not installed, the golden file is all there is."""
    user = "root" if os.geteuid() == 0 else None
    setup = configure(
        kind, request(port=free_port(), affinity=header("X-Session-ID") if sticky else None, user=user)
    )
    assert setup.file is not None
    (tmp_path / setup.file[0]).write_text(setup.file[1], encoding="utf-8")
    (tmp_path / "temp").mkdir()
    if not installed(kind):
        return
    done = subprocess.run(
        CHECKS[kind],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": PATH, "HOME": str(tmp_path), **setup.environment},
    )
    assert done.returncode == 0, done.stderr
    intended = "automatic https is completely disabled"
    said = [line for line in done.stderr.lower().splitlines() if "warn" in line and intended not in line]
    assert said == []


def begin(kind: str, folder: Path, *options: str, **router: Any) -> Running:
    """Start two engines behind a real router that keeps sessions together."""
    key = HEADERS[kind]  # type: ignore[index]
    instances = [
        instance(free_port(), "--key-header", key, *options, name=name) for name in ("engine-a", "engine-b")
    ]
    planned = plan(
        *instances, router={"kind": kind, "port": free_port(), **router}, affinity={"header": key}, stop_s=3
    )
    return start(planned, run_id="run-1", log_dir=folder, own={**environment(), "PATH": PATH})


def is_named_where_missing(kind: str, folder: Path) -> bool:
    """Return whether the router is not installed here, having seen that the error says so."""
    if installed(kind):
        return False
    with pytest.raises(StartError, match=r"is not installed.*install"):
        begin(kind, folder)
    return True


@pytest.mark.parametrize("kind", HEADERS)
def test_real_router_keeps_sessions_and_streams(kind: str, tmp_path: Path) -> None:
    """A session always reaches one engine, sessions are spread over both, and chunks pass one by one."""
    if is_named_where_missing(kind, tmp_path):
        return
    with begin(kind, tmp_path, "--held") as running:
        ready(running, SOON, one_token)
        assert running.router is not None
        assert running.router.affinity == HEADERS[kind]  # type: ignore[index]
        assert running.measured.name == "router"
        placed: dict[str, set[str]] = {}
        for key, _ in itertools.product([f"session-{number}" for number in range(24)], range(2)):
            status, port, _ = generate(running.measured, running.model, **{HEADERS[kind]: key})  # type: ignore[index]
            assert status == 200
            placed.setdefault(key, set()).add(port)
        assert {len(ports) for ports in placed.values()} == {1}
        assert len(set.union(*placed.values())) == 2
        assert_streams_one_by_one(running)
        assert running.alive() == ()
        held = running.measured.port
    assert listeners(held) == ()
    written = {each.name for each in (tmp_path / "router").rglob("*") if each.is_file()}
    assert "access.log" not in written


def assert_streams_one_by_one(running: Running) -> None:
    """Read each chunk through the router before the engine is allowed to send the next."""
    connection = http.client.HTTPConnection("127.0.0.1", running.measured.port, timeout=30)
    body = json.dumps(
        {"model": running.model, "stream": True, "messages": [{"role": "user", "content": "a"}]}
    )
    connection.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
    for endpoint in running.endpoints:
        post(endpoint, "/fake/release")
    answer = connection.getresponse()
    for number in range(3):
        line = answer.readline()
        assert f'"t{number}"'.encode() in line
        assert answer.readline() == b"\n"
        for endpoint in running.endpoints:
            post(endpoint, "/fake/release")
    assert answer.readline() == b"data: [DONE]\n"
    connection.close()


@pytest.mark.parametrize("kind", HEADERS)
def test_router_that_is_killed_is_a_fault(kind: str, tmp_path: Path) -> None:
    """Kill -9 of the router is found, and its own children are ended with the rest."""
    if is_named_where_missing(kind, tmp_path):
        return
    with begin(kind, tmp_path) as running:
        ready(running, SOON, one_token)
        assert isinstance(running.router_part, Launched)
        os.kill(running.router_part.kept.id.pid, 9)
        until(running.alive)
        assert [(fault.kind, fault.instance) for fault in running.alive()] == [(FaultKind.DIED, "router")]
        held = running.measured.port
    assert listeners(held) == ()


def test_router_that_is_missing_is_named(tmp_path: Path) -> None:
    """A router that is not installed is named with how to install it, and the engines are ended."""
    with pytest.raises(StartError, match=r"no-such-router is not installed.*apt-get install haproxy"):
        begin("haproxy", tmp_path, program="no-such-router")


def test_port_of_the_router_must_be_free(tmp_path: Path) -> None:
    """A server on the router's port would be measured in its place."""
    port = free_port()
    with subprocess.Popen(["python3", str(SERVER), "--port", str(port)], stdout=subprocess.DEVNULL) as stale:
        until(lambda: listeners(port))
        with pytest.raises(PortTakenError, match=r"target\.router: port"):
            begin("haproxy", tmp_path, port=port)
        stale.kill()


def test_policy_is_read_back_from_what_runs(tmp_path: Path) -> None:
    """A router that runs with other arguments, or whose file was changed, is not taken for the plan's."""
    sleeper = tmp_path / "sleeper"
    sleeper.write_text("#!/usr/bin/env python3\nimport signal\nsignal.pause()\n", encoding="utf-8")
    sleeper.chmod(0o755)
    with begin("haproxy", tmp_path / "run", program=str(sleeper)) as running:
        part = running.router_part
        assert isinstance(part, Launched)
        setup = configure(
            "haproxy",
            RouterRequest(running.measured.port, running.endpoints, affinity=header("X-Session-ID")),
        )
        with pytest.raises(NotOursError, match=r"haproxy\.cfg was changed"):
            policy_in_force(part, setup, tmp_path / "run")
        other = configure("nginx", request())
        with pytest.raises(NotOursError, match="expected the arguments that it was given"):
            policy_in_force(part, other, tmp_path / "run")
