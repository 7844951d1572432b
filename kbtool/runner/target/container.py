"""Containers by argument list: what is started, what runs, and what is removed, each by an id of our own.

Works with docker and podman.  A container is started in the foreground under a keeper, carries three labels (the
run, this one start, the runner that owns it), and is never told to restart: a silent restart in the middle of a
measurement is one of the ways to a wrong number.
"""

import json
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from kbtool.runner.plan.target import Container
from kbtool.runner.target.errors import StartError
from kbtool.runner.target.owner import Owner

__all__ = [
    "LABEL_OWNER",
    "LABEL_RUN",
    "LABEL_START",
    "ContainerFacts",
    "ImageFacts",
    "Labels",
    "Runtime",
    "run_arguments",
]

LABEL_RUN: Final = "kbtool.run"
LABEL_START: Final = "kbtool.start"
LABEL_OWNER: Final = "kbtool.owner"
ANSWER_S: Final = 60.0
"""Longest that a runtime may take to answer a question."""
_MAX_ANSWER_BYTES: Final = 8 * 1024 * 1024
_ID: Final = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Labels:
    """What a container of ours carries."""

    run_id: str
    start: str
    """Marker of this one start."""
    owner: Owner

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Return the labels with their names."""
        return ((LABEL_RUN, self.run_id), (LABEL_START, self.start), (LABEL_OWNER, self.owner.text))


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """An image that the runtime has."""

    id: str
    digests: tuple[str, ...]
    """`name@sha256:...` of each registry that it came from; empty for one that was built here."""


@dataclass(frozen=True, slots=True)
class ContainerFacts:
    """A container as the runtime describes it."""

    id: str
    image: str
    """Name as it was asked for."""
    image_id: str
    started_at: str
    restart_count: int
    restart_policy: str
    is_running: bool
    exit_code: int
    out_of_memory: bool
    root_pid: int
    """Pid of its first process as the host counts; 0 where it does not run."""
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    labels: Mapping[str, str] = field(default_factory=dict)


def run_arguments(
    container: Container,
    *,
    program: str,
    cid_file: Path,
    labels: Labels,
    arguments: tuple[str, ...],
    public: Mapping[str, str],
    secret_names: tuple[str, ...],
    accelerators: tuple[int, ...],
) -> tuple[str, ...]:
    """Return the argument list that starts a container: options of ours, the image, the engine's arguments.

    Whatever stands in `arguments` comes after the image, where no runtime looks for its own options.  Values of
    secrets are named only, and reach the container through the runtime's environment.
    """
    options = ["run", "--cidfile", str(cid_file), "--pull", "never", "--network", "host"]
    for name, value in labels.pairs():
        options += ["--label", f"{name}={value}"]
    if container.pid_host:
        options += ["--pid", "host"]
    if container.host_ipc:
        options += ["--ipc", "host"]
    elif container.shm_gib is not None:
        options += ["--shm-size", str(int(container.shm_gib * 2**30))]
    options += _accelerator_options(container.runtime, accelerators)
    for name, value in sorted(public.items()):
        options += ["--env", f"{name}={value}"]
    for name in sorted(secret_names):
        options += ["--env", name]
    for mount in container.mounts:
        ending = ",readonly" if mount.read_only else ""
        options += ["--mount", f"type=bind,source={mount.source},target={mount.target}{ending}"]
    if container.entrypoint is not None:
        options += ["--entrypoint", container.entrypoint]
    return (program, *options, container.image, *arguments)


def _accelerator_options(runtime: str, accelerators: tuple[int, ...]) -> list[str]:
    """Return what shows these accelerators to a container, and no others."""
    if not accelerators:
        return []
    if runtime == "docker":
        # The value is a line of CSV, in which the list needs quotes of its own.
        return ["--gpus", f'"device={",".join(str(each) for each in accelerators)}"']
    return [part for each in accelerators for part in ("--device", f"nvidia.com/gpu={each}")]


class Runtime:
    """Questions to one container runtime. It changes nothing but the containers whose ids it is given."""

    def __init__(self, program: str, environment: Mapping[str, str]) -> None:
        self.program = program
        self._environment = dict(environment)

    def image(self, name: str) -> ImageFacts:
        """Return what image a name stands for.

        Raises:
            StartError: There is none, or it is not the one of the digest in the name.
        """
        found = self._json("image", "inspect", name)
        if found is None:
            raise StartError(
                f"image {name} is not on this machine; expected it before the run, as pulling would be timed as "
                f"starting: run `{Path(self.program).name} pull {name}` first"
            )
        facts = ImageFacts(_text(found, "Id"), tuple(str(each) for each in found.get("RepoDigests") or ()))
        _, at, digest = name.partition("@")
        if at and facts.digests and not any(each.endswith(f"@{digest}") for each in facts.digests):
            raise StartError(
                f"image {name} is here as {', '.join(facts.digests)[:300]}; expected the digest of the plan: pull it"
            )
        return facts

    def inspect(self, container: str) -> ContainerFacts | None:
        """Return what runs under an id; None where there is no such container."""
        found = self._json("container", "inspect", container)
        return None if found is None else _facts(found)

    def with_label(self, label: str) -> tuple[str, ...]:
        """Return the ids of all containers, running or not, that carry a label (`name` or `name=value`)."""
        done = self._run("ps", "--all", "--quiet", "--no-trunc", "--filter", f"label={label}")
        if done.returncode != 0:
            raise StartError(
                f"{self.program} cannot list containers: {done.stderr[:300]!a}: correct what it names"
            )
        return tuple(line for line in done.stdout.split() if _ID.fullmatch(line))

    def logs(self, container: str, lines: int = 100) -> str:
        """Return the last lines of a container's output, secrets included: redact before writing."""
        done = self._run("logs", "--tail", str(lines), container)
        return (done.stdout + done.stderr)[-_MAX_ANSWER_BYTES:]

    def remove(self, container: str, grace_s: float) -> bool:
        """Stop and remove a container; return whether it is gone."""
        seconds = max(1, round(grace_s))
        self._run("stop", "--time", str(seconds), container, timeout_s=ANSWER_S + seconds)
        self._run("rm", "--force", "--volumes", container)
        return self.inspect(container) is None

    def _json(self, *arguments: str) -> dict[str, Any] | None:
        done = self._run(*arguments)
        if done.returncode != 0:
            return None
        try:
            answer = json.loads(done.stdout)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, list) or not answer or not isinstance(answer[0], dict):
            raise StartError(
                f"{self.program} {' '.join(arguments[:2])}: expected a JSON list of one object; found "
                f"{done.stdout[:80]!r}: check the container runtime"
            )
        return answer[0]

    def _run(self, *arguments: str, timeout_s: float = ANSWER_S) -> subprocess.CompletedProcess[str]:
        try:
            done = subprocess.run(
                [self.program, *arguments],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
                timeout=timeout_s,
                env=self._environment,
            )
        except OSError as error:
            raise StartError(
                f"{self.program} cannot be run ({error.strerror}): install the container runtime that the plan names"
            ) from None
        except subprocess.TimeoutExpired:
            raise StartError(
                f"{self.program} {arguments[0]} has not answered within {timeout_s:.0f} s: restart its service"
            ) from None
        if "annot connect to the Docker daemon" in done.stderr:
            raise StartError(
                f"{self.program}: the service does not run: start it, or give the user access to it"
            )
        if len(done.stdout) > _MAX_ANSWER_BYTES:
            raise StartError(f"{self.program} {arguments[0]} answered more than 8 MiB: check the runtime")
        return done


def _facts(found: Mapping[str, Any]) -> ContainerFacts:
    """Read the description; both runtimes write these fields alike."""
    state = _part(found, "State")
    config = _part(found, "Config")
    policy = _part(_part(found, "HostConfig"), "RestartPolicy")
    pairs = (str(each).partition("=") for each in config.get("Env") or ())
    arguments = found.get("Args") or ()
    return ContainerFacts(
        id=_text(found, "Id"),
        image=_text(config, "Image"),
        image_id=_text(found, "Image"),
        started_at=_text(state, "StartedAt"),
        restart_count=_number(found, "RestartCount"),
        restart_policy=_text(policy, "Name"),
        is_running=state.get("Running") is True,
        exit_code=_number(state, "ExitCode"),
        out_of_memory=state.get("OOMKilled") is True,
        root_pid=_number(state, "Pid"),
        arguments=tuple(str(each) for each in (found.get("Path") or "", *arguments)),
        environment={name: value for name, _, value in pairs},
        labels={str(name): str(value) for name, value in _part(config, "Labels").items()},
    )


def _part(found: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = found.get(name)
    return part if isinstance(part, dict) else {}


def _text(found: Mapping[str, Any], name: str) -> str:
    return str(found.get(name) or "")


def _number(found: Mapping[str, Any], name: str) -> int:
    value = found.get(name)
    return value if isinstance(value, int) else 0
