"""What an earlier run of ours left behind: found by its marks, named, and ended where its runner is dead."""

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from kbtool.runner.target import procfs
from kbtool.runner.target.container import LABEL_OWNER, LABEL_RUN, Runtime
from kbtool.runner.target.environment import engine_environment
from kbtool.runner.target.errors import StartError
from kbtool.runner.target.keeper import end_all
from kbtool.runner.target.launch import OWNER_VARIABLE
from kbtool.runner.target.owner import Owner
from kbtool.runner.target.ports import describe
from kbtool.runner.target.procfs import MARKER, ProcessId

__all__ = ["Leftover", "end_leftovers", "find_leftovers"]

RUNTIMES: Final = ("docker", "podman")


@dataclass(frozen=True, slots=True)
class Leftover:
    """A process or container with our marks."""

    kind: Literal["process", "container"]
    run_id: str
    what: str
    """In words, without arguments, which may hold a key."""
    owner_lives: bool | None
    """Whether its runner still runs; None where that cannot be told, as it is on another machine or in a container."""
    process: ProcessId | None = None
    container: str | None = None
    runtime: Runtime | None = None

    @property
    def may_be_ended(self) -> bool:
        """Whether it is nobody's any more."""
        return self.owner_lives is False

    @property
    def statement(self) -> str:
        """What is found, and what becomes of it."""
        if self.may_be_ended:
            return f"left over from run {self.run_id!a}, whose runner is gone: {self.what}; it is ended"
        if self.owner_lives:
            where = f"pid {self.process.pid}" if self.process is not None else self.what
            return (
                f"another kbtool run ({ascii(self.run_id)[1:-1]}, {where}) is active on this machine: it was left alone; "
                "it may disturb this one"
            )
        return f"of run {self.run_id!a}: {self.what}; it was left alone, as it cannot be told whether its runner still runs"


def find_leftovers(
    own: Mapping[str, str] | None = None, *, unanswered: Callable[[str], None] = lambda _: None
) -> tuple[Leftover, ...]:
    """Return what carries our marks on this machine, apart from what this process itself started.

    Args:
        own: Environment to take from; None for ours.
        unanswered: Told of a container runtime that is installed and does not answer, such as one whose service
            does not run: its containers are not known.
    """
    environment = engine_environment(os.environ if own is None else own, {}, ())
    me = Owner.of_this_process()
    found = [*_processes(me)]
    for name in RUNTIMES:
        program = shutil.which(name, path=environment["PATH"])
        if program is not None:
            try:
                found += _containers(Runtime(program, environment), me)
            except StartError as error:
                unanswered(str(error))
    return tuple(found)


def end_leftovers(
    leftovers: Iterable[Leftover], *, state: Callable[[str], None], grace_s: float = 10.0
) -> tuple[Leftover, ...]:
    """State each leftover, and end those whose runner is dead; return those that are gone now.

    Args:
        leftovers: What `find_leftovers` found.
        state: Told in words what was found, before anything is done.
        grace_s: Time to end by itself, seconds.
    """
    gone = []
    for each in leftovers:
        state(each.statement)
        if each.may_be_ended and _end(each, grace_s):
            gone.append(each)
    return tuple(gone)


def _end(leftover: Leftover, grace_s: float) -> bool:
    if leftover.container is not None and leftover.runtime is not None:
        return leftover.runtime.remove(leftover.container, grace_s)
    who = leftover.process
    assert who is not None
    _, left = end_all(
        lambda: (who,) if procfs.identify(who.pid) == who else (),
        ask=lambda: _ask(who),
        grace_s=grace_s,
        wait=lambda ms: time.sleep(ms / 1000),
    )
    return not left


def _ask(who: ProcessId) -> None:
    procfs.send(who, signal.SIGTERM)


def _processes(me: Owner) -> Iterable[Leftover]:
    for stat in procfs.processes():
        if stat.is_dead:
            continue
        environment = procfs.environment_of(stat.id.pid) or {}
        marker, owner = environment.get(MARKER), Owner.parse(environment.get(OWNER_VARIABLE, ""))
        if marker is None or owner is None or owner == me:
            continue
        run_id = marker.rpartition(".")[0]
        yield Leftover("process", run_id, _named(stat.id), owner.lives(), process=stat.id)


def _named(who: ProcessId) -> str:
    return describe(who).removesuffix(" left over from an earlier run")


def _containers(runtime: Runtime, me: Owner) -> Iterable[Leftover]:
    for container in runtime.with_label(LABEL_RUN):
        facts = runtime.inspect(container)
        if facts is None:
            continue
        owner = Owner.parse(facts.labels.get(LABEL_OWNER, ""))
        if owner == me:
            continue
        lives = owner.lives() if owner is not None else None
        state = "runs" if facts.is_running else "has ended"
        what = f"container {container[:12]} of {facts.image!a}, which {state}"
        yield Leftover(
            "container", facts.labels.get(LABEL_RUN, ""), what, lives, container=container, runtime=runtime
        )
