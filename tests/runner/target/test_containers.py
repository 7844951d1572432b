"""Containers: the argument list, what is read back, and that only our own are ended."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from kbtool.runner.plan.target import Container
from kbtool.runner.target import procfs
from kbtool.runner.target.container import Labels, run_arguments
from kbtool.runner.target.errors import EngineDiedError, StartError
from kbtool.runner.target.leftovers import end_leftovers, find_leftovers
from kbtool.runner.target.owner import Owner
from kbtool.runner.target.ports import listeners
from kbtool.runner.target.procfs import ProcessId
from kbtool.runner.target.ready import ready
from kbtool.runner.target.running import FaultKind, Running
from kbtool.runner.target.start import start
from tests.runner.target.launching import (
    SERVER,
    SOON,
    ask,
    environment,
    free_port,
    install_runtime,
    one_token,
    plan,
    until,
)

DIGEST = "sha256:" + "a" * 64
IMAGE = f"registry.test:5000/team/engine@{DIGEST}"
TOKEN = "hf_" + "0123456789abcdefghij"
OWNER = Owner(ProcessId(100, 200), "boot", "300")


def arguments_of(container: dict[str, Any], **more: Any) -> tuple[str, ...]:
    """Return the argument list for a container."""
    given: dict[str, Any] = {
        "arguments": (),
        "public": {},
        "secret_names": (),
        "accelerators": (),
        "program": "docker",
        "cid_file": Path("/run/server.cid"),
        "labels": Labels("run-1", "run-1.abc", OWNER),
    }
    return run_arguments(
        Container.model_validate({"runtime": "docker", "image": IMAGE, **container}), **{**given, **more}
    )


START = (
    "docker", "run", "--cidfile", "/run/server.cid", "--pull", "never", "--network", "host",
    "--label", "kbtool.run=run-1", "--label", "kbtool.start=run-1.abc", "--label", "kbtool.owner=100.200.300.boot",
)  # fmt: skip


def test_argument_list_is_exactly_this() -> None:
    """Every part of a container has its place, in a list, and never a restart policy."""
    found = arguments_of(
        {
            "mounts": [
                {"source": "/models", "target": "/m"},
                {"source": "/cache", "target": "/c", "read_only": False},
            ],
            "shm_gib": 16,
            "entrypoint": "/usr/bin/serve",
        },
        arguments=("--model", "m", "--port", "8000"),
        public={"B": "two words", "A": "1"},
        secret_names=("HF_TOKEN",),
        accelerators=(0, 3),
    )
    assert found == (
        *START, "--pid", "host", "--shm-size", "17179869184", "--gpus", '"device=0,3"',
        "--env", "A=1", "--env", "B=two words", "--env", "HF_TOKEN",
        "--mount", "type=bind,source=/models,target=/m,readonly", "--mount", "type=bind,source=/cache,target=/c",
        "--entrypoint", "/usr/bin/serve", IMAGE, "--model", "m", "--port", "8000",
    )  # fmt: skip
    assert not [each for each in found if "restart" in each]


def test_argument_list_for_podman() -> None:
    """Podman names each accelerator as a device, and shares what is asked for."""
    found = arguments_of(
        {"runtime": "podman", "host_ipc": True, "pid_host": False}, program="podman", accelerators=(0, 1)
    )
    assert found == (
        "podman", *START[1:], "--ipc", "host", "--device", "nvidia.com/gpu=0", "--device", "nvidia.com/gpu=1", IMAGE,
    )  # fmt: skip


@pytest.mark.parametrize(
    "hostile",
    [
        ("--model", "m; touch PWNED_P01 #", "$(touch PWNED_P01)", "`id`"),
        ("--privileged", "-v", "/:/host", "--restart=always", "--network=none"),
        ("--", "--privileged"),
        ("a\nb", "", " "),
    ],
)
def test_arguments_stay_behind_the_image(hostile: tuple[str, ...]) -> None:
    """P01, P02: shell characters and options of the runtime are single elements after the image, as they are."""
    assert arguments_of({"pid_host": False}, arguments=hostile) == (*START, IMAGE, *hostile)


@pytest.mark.parametrize(
    "broken",
    [
        {"image": "--privileged -v /:/host alpine"},
        {"image": "--privileged"},
        {"image": "a b"},
        {"image": "UPPER/case"},
        {"image": "alpine@sha256:short"},
        {"runtime": "/bin/sh"},
        {"mounts": [{"source": "/a,readonly=false", "target": "/b"}]},
        {"mounts": [{"source": "relative", "target": "/b"}]},
        {"mounts": [{"source": "/a", "target": "/b:rw"}]},
        {"arguments": ["a\0b"]},
        {"restart": "always"},
        {"options": ["--privileged"]},
    ],
)
def test_unsafe_container_is_refused(broken: dict[str, Any]) -> None:
    """P03: an image, mount or key that a runtime could read as an option does not get into a plan."""
    with pytest.raises(ValidationError):
        Container.model_validate({"runtime": "docker", "image": "alpine", **broken})


@pytest.mark.parametrize(
    "broken",
    [
        {"environment": {"LD_PRELOAD": "x.so"}},
        {"environment": {"PYTHONPATH": "/modules"}},
        {"environment": {"BASH_ENV": "x"}},
        {"env_from": ["PYTHONSTARTUP"]},
        {"environment": {"HF_TOKEN": "hf_abc"}},
        {"environment": {"A=B": "c"}},
        {"port": 22},
        {"port": 70_000},
        {"arguments": "vllm serve m; rm -rf /"},
        {"accelerators": [-1]},
        {"name": "../../x"},
    ],
)
def test_unsafe_instance_is_refused(broken: dict[str, Any]) -> None:
    """P04, P05, P08, P11: loader variables, secrets, system ports, shell lines and paths do not get into a plan."""
    with pytest.raises(ValidationError):
        plan({"port": 8000, "arguments": ["x", "{model_name}"], **broken})


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/v1",
        "http://example.org/v1",
        "ftp://127.0.0.1/",
        "http://user:pw@127.0.0.1/",
        "http://127.0.0.1/?key=x",
        "file:///etc/passwd",
    ],
)
def test_unsafe_endpoint_is_refused(url: str) -> None:
    """P06, P07: load goes to this machine, or to hosts that the plan lists by name."""
    with pytest.raises(ValidationError):
        plan(endpoints=[{"url": url}])


def test_unbounded_work_is_refused() -> None:
    """P09, P10: no plan asks for endless work or endless time."""
    whole = plan(endpoints=[{"url": "http://127.0.0.1:8000"}]).model_dump()
    for broken in (
        {"workloads": [{"id": "a", "kind": "single_stream", "requests": 10**12}]},
        {"workloads": [{"id": "a", "kind": "concurrency", "levels": [100_000]}]},
        {"deadlines": {"cell_s": "1e12"}},
        {"deadlines": {"ready_s": 0}},
    ):
        with pytest.raises(ValidationError):
            type(plan(endpoints=[{"url": "http://127.0.0.1:8000"}])).model_validate({**whole, **broken})


class Box:
    """A fake container runtime, and a target in it."""

    def __init__(
        self, folder: Path, *, digests: tuple[str, ...] = (f"registry.test:5000/team/engine@{DIGEST}",)
    ) -> None:
        self.folder = folder
        self.port = free_port()
        self.own = environment(**install_runtime(folder, IMAGE, digests=digests), HF_TOKEN=TOKEN)
        self.containers = folder / "state" / "containers"

    def begin(self, *arguments: str, image: str = IMAGE) -> Running:
        """Start a target in a container."""
        engine = ["--port", "{port}", "--served-model-name", "{model_name}", *arguments]
        container = {"runtime": "docker", "image": image, "arguments": engine}
        planned = plan({"port": self.port, "container": container, "env_from": ["HF_TOKEN"]})
        return start(planned, run_id="run-1", log_dir=self.folder / "logs", own=self.own)

    def edit(self, change: Any) -> None:
        """Change what the runtime says of its only container."""
        (file,) = self.containers.glob("*.json")
        facts = json.loads(file.read_text())
        change(facts)
        file.write_text(json.dumps(facts))

    def calls(self) -> list[list[str]]:
        """Return the argument lists of all calls so far."""
        return [json.loads(line) for line in (self.folder / "state" / "calls.jsonl").read_text().splitlines()]


def test_container_is_started_watched_and_removed(tmp_path: Path) -> None:
    """A container runs with our labels, is described by the runtime, and is gone at the end; its log has no secret."""
    box = Box(tmp_path)
    with box.begin("--leak", "HF_TOKEN") as running:
        ready(running, SOON, one_token, ask=ask)
        assert running.alive(ask) == ()
        facts = running.processes()[0].container
        assert facts is not None
        assert facts.image_digests == (f"registry.test:5000/team/engine@{DIGEST}",)
        assert facts.restart_count == 0
        (file,) = box.containers.glob("*.json")
        assert file.stem == facts.id
    assert list(box.containers.glob("*.json")) == []
    assert listeners(box.port) == ()
    (ran,) = [call for call in box.calls() if call[0] == "run"]
    assert ran[ran.index("HF_TOKEN") - 1 :][:2] == ["--env", "HF_TOKEN"]
    ended = [call[-1] for call in box.calls() if call[0] in {"stop", "rm"}]
    assert set(ended) == {facts.id}, "by its own id, and by nothing else"
    assert "HF_TOKEN=[secret]" in (tmp_path / "logs" / "server.log").read_text()
    written = "".join(each.read_text() for each in (tmp_path / "logs").iterdir())
    assert TOKEN not in written + json.dumps(box.calls())


def test_container_that_was_restarted_is_a_fault(tmp_path: Path) -> None:
    """F10: a restart shows in the runtime's count or start time, whatever the port says."""
    box = Box(tmp_path)
    with box.begin() as running:
        ready(running, SOON, one_token)
        box.edit(lambda facts: facts.update(RestartCount=1))
        assert [fault.kind for fault in running.alive()] == [FaultKind.RESTARTED]
        box.edit(lambda facts: facts.update(RestartCount=0))
        assert running.alive() == ()
        box.edit(lambda facts: facts["State"].update(StartedAt="later"))
        assert [fault.kind for fault in running.alive()] == [FaultKind.RESTARTED]


def test_container_that_was_killed_for_memory_is_a_fault(tmp_path: Path) -> None:
    """F09: the exit code and the reason are those of the runtime."""
    box = Box(tmp_path)
    with box.begin() as running:
        ready(running, SOON, one_token)
        pid = json.loads(next(box.containers.glob("*.json")).read_text())["State"]["Pid"]
        os.kill(pid, signal.SIGKILL)
        until(lambda: json.loads(next(box.containers.glob("*.json")).read_text())["State"]["ExitCode"])
        box.edit(lambda facts: facts["State"].update(OOMKilled=True))
        (fault,) = running.alive()
        assert (fault.kind, fault.exit_code) == (FaultKind.DIED, 137)
        assert "killed for want of memory" in fault.detail


def test_container_that_ends_at_once_says_why(tmp_path: Path) -> None:
    """An engine that cannot start in its container: the end of its log is in the error."""
    box = Box(tmp_path)
    with (
        box.begin("--exit-at-once", "3") as running,
        pytest.raises(EngineDiedError, match=r"(?s)code 3.*out of memory"),
    ):
        ready(running, SOON, one_token)
    assert list(box.containers.glob("*.json")) == []


def test_image_that_is_missing_or_moved_is_refused(tmp_path: Path) -> None:
    """F20: an image that is not here, or is here with another digest, ends the run before it begins."""
    box = Box(tmp_path, digests=("registry.test:5000/team/engine@sha256:" + "b" * 64,))
    with pytest.raises(StartError, match="expected the digest of the plan"):
        box.begin()
    with pytest.raises(StartError, match="docker pull other:latest"):
        box.begin(image="other:latest")
    assert [call for call in box.calls() if call[0] == "run"] == []


def test_runtime_that_does_not_answer_is_said(tmp_path: Path) -> None:
    """A runtime whose service is down hides its containers: that is said, and does not stop a run without any."""
    box = Box(tmp_path)
    for name, text in (("docker", "Cannot connect to the Docker daemon"), ("podman", "permission denied")):
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\necho '{text}' >&2\nexit 1\n", encoding="utf-8")
    said: list[str] = []
    assert [
        each for each in find_leftovers(box.own, unanswered=said.append) if each.kind == "container"
    ] == []
    assert "the service does not run" in said[0]
    assert "permission denied" in said[1]
    with pytest.raises(StartError, match="the service does not run"):
        box.begin()


def leave_container(box: Box, owner: Owner, run_id: str) -> tuple[str, subprocess.Popen[bytes]]:
    """Leave a container behind, as a runner that was killed would."""
    started = subprocess.Popen(
        [sys.executable, str(SERVER), "--port", str(free_port())], stdout=subprocess.DEVNULL
    )
    container = os.urandom(32).hex()
    facts = {
        "Id": container, "Image": "sha256:1", "RestartCount": 0, "Path": "serve", "Args": [],
        "State": {"StartedAt": "1", "Pid": started.pid, "ExitCode": 0, "OOMKilled": False},
        "Config": {"Image": IMAGE, "Env": [], "Labels": {"kbtool.run": run_id, "kbtool.owner": owner.text}},
        "HostConfig": {},
    }  # fmt: skip
    (box.containers / f"{container}.json").write_text(json.dumps(facts))
    return container, started


def test_only_containers_of_dead_runs_are_removed(tmp_path: Path) -> None:
    """F13: a dead run's container is stated, then removed; one of a living run, and a stranger's, stay."""
    box = Box(tmp_path)
    me = Owner.of_this_process()
    parent = procfs.identify(os.getppid())
    assert parent is not None
    dead, first = leave_container(
        box, Owner(ProcessId(me.process.pid, 1), me.boot_id, me.pid_space), "old-run"
    )
    alive, second = leave_container(box, Owner(parent, me.boot_id, me.pid_space), "live-run")
    distant, third = leave_container(box, Owner(parent, me.boot_id, "1"), "far-run")
    foreign, fourth = leave_container(box, me, "x")
    file = box.containers / f"{foreign}.json"
    file.write_text(file.read_text().replace("kbtool.run", "somebody.run"))
    said: list[str] = []
    found = [
        each for each in find_leftovers(box.own) if each.kind == "container" and each.runtime is not None
    ]
    found = [each for each in found if each.runtime is not None and each.runtime.program.endswith("docker")]
    gone = end_leftovers(found, state=said.append, grace_s=1)
    assert [each.container for each in gone] == [dead]
    assert {each.container for each in found} == {dead, alive, distant}
    text = "\n".join(said)
    assert "left over from run 'old-run', whose runner is gone" in text
    assert "another kbtool run (live-run, container " in text
    assert "is active on this machine: it was left alone; it may disturb this one" in text
    assert "it cannot be told whether its runner still runs" in text
    assert [each.poll() is None for each in (first, second, third, fourth)] == [False, True, True, True]
    for each in (first, second, third, fourth):
        each.kill()
        each.wait()


def test_only_processes_of_dead_runs_are_ended(tmp_path: Path) -> None:
    """F13: a process whose runner is dead is ended; one whose runner lives, or without our marks, is not."""
    me = Owner.of_this_process()
    parent = procfs.identify(os.getppid())
    assert parent is not None
    owners = {
        "dead": Owner(ProcessId(me.process.pid, 1), me.boot_id, me.pid_space).text,
        "alive": Owner(parent, me.boot_id, me.pid_space).text,
        "hostile": "1.2.3",
    }
    started = {}
    for name, owner in owners.items():
        started[name] = subprocess.Popen(
            [sys.executable, str(SERVER), "--port", str(free_port())],
            stdout=subprocess.DEVNULL,
            env={"KBTOOL_RUN": f"{tmp_path.name}-{name}.1", "KBTOOL_OWNER": owner},
        )
    until(
        lambda: len([each for each in find_leftovers({"PATH": "/none"}) if tmp_path.name in each.run_id]) == 2
    )
    found = [each for each in find_leftovers({"PATH": "/none"}) if tmp_path.name in each.run_id]
    gone = end_leftovers(found, state=lambda _: None, grace_s=1)
    assert [each.process.pid for each in gone if each.process is not None] == [started["dead"].pid]
    assert [started[name].poll() is None for name in owners] == [False, True, True]
    for each in started.values():
        each.kill()
        each.wait()
