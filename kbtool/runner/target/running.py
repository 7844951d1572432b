"""What runs: the endpoints that load is sent to, whether they are still the same servers, and their end."""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import TracebackType
from typing import Final, Protocol, Self

from kbtool.errors import KbtoolError
from kbtool.runner.client.outgoing import Endpoint
from kbtool.runner.engines.base import EngineAdapter, Identity, Observed, Trust
from kbtool.runner.target.process import Ended, readable
from kbtool.runner.target.procfs import ProcessId
from kbtool.runner.target.secrets import Secrets

__all__ = ["Ask", "ContainerState", "Fault", "FaultKind", "Part", "ProcessFacts", "RouterFacts", "Running"]

SAME_START_S: Final = 1.0
"""Start times that a server reports may be rounded; two starts are never so near."""

Ask = Callable[[Endpoint], Identity]
"""Asks a server who it is; raises `KbtoolError` where it cannot."""


class FaultKind(StrEnum):
    """What is wrong with a server that was well when it was ready."""

    DIED = "died"
    RESTARTED = "restarted"
    """It runs, but is not the process that was ready: caches, graphs and counters began anew."""
    SWAPPED = "swapped"
    """Another model, image or server answers."""
    PORT_MOVED = "port_moved"
    """Its port is held by somebody else, or by nobody."""
    UNREACHABLE = "unreachable"
    """It runs, and does not answer."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong: whatever is measured from here on is not what was meant."""

    kind: FaultKind
    instance: str
    detail: str
    """What was found and what was expected, without secrets."""
    exit_code: int | None = None
    log_tail: str = ""
    """End of the log, without secrets."""


@dataclass(frozen=True, slots=True)
class ContainerState:
    """The container that a server runs in."""

    id: str
    image: str
    image_id: str
    image_digests: tuple[str, ...]
    started_at: str
    restart_count: int


@dataclass(frozen=True, slots=True)
class ProcessFacts:
    """The process behind an endpoint, as far as it can be seen from this machine; without secrets."""

    instance: str
    process: ProcessId
    executable: str | None
    arguments: tuple[str, ...]
    environment_names: tuple[str, ...]
    container: ContainerState | None = None


@dataclass(frozen=True, slots=True)
class RouterFacts:
    """The router in front, as it is configured."""

    name: str
    policy: str | None
    affinity: str | None
    where: str
    """Where the policy was read."""


class Part(Protocol):
    """One server of the target: started by us, or attached."""

    @property
    def name(self) -> str:
        """What results call it."""

    @property
    def endpoint(self) -> Endpoint:
        """Where it answers."""

    def fault(self) -> Fault | None:
        """Look at process, container and port; ask nothing over HTTP."""

    def note_ready(self) -> None:
        """Remember what a later look is compared with."""

    def facts(self) -> tuple[ProcessFacts, ...]:
        """Return the processes behind it."""

    def observed(self, adapter: EngineAdapter) -> tuple[Observed, ...]:
        """Return the settings that process, container and plan show."""

    def port_fault(self) -> Fault | None:
        """Say whether somebody else holds its port."""

    def handle(self) -> int | None:
        """Return a file descriptor that becomes readable when it ends; None where there is none."""

    def begin_stop(self, grace_s: float) -> None:
        """Ask it to end without waiting."""

    def stop(self, grace_s: float) -> Ended | None:
        """End it with all that it started; None where it is not ours."""


@dataclass(slots=True)
class Running:
    """The system under test, up and running. A context manager: what was started is ended on leaving."""

    parts: tuple[Part, ...]
    """The engine instances."""
    measured: Endpoint
    """Where load is sent: the router, or the only instance."""
    model: str | None
    """Served model name; None for the only one that the server lists."""
    stop_s: float
    """Patience when ending, seconds."""
    router_part: Part | None = None
    router: RouterFacts | None = None
    nonce: bool = False
    """Whether the model's name is a random word of this run, which no other server can know."""
    secrets: Secrets = field(default_factory=Secrets)
    _identities: dict[str, Identity] = field(default_factory=dict)
    _ended: dict[str, Ended] | None = None

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """The instances, without the router."""
        return tuple(part.endpoint for part in self.parts)

    @property
    def all_parts(self) -> tuple[Part, ...]:
        """The router, where there is one, and the instances."""
        return ((self.router_part,) if self.router_part is not None else ()) + self.parts

    def processes(self) -> tuple[ProcessFacts, ...]:
        """Return every process that can be seen behind the endpoints."""
        return tuple(facts for part in self.all_parts for facts in part.facts())

    def observed(self, adapter: EngineAdapter) -> tuple[Observed, ...]:
        """Return the settings that processes, containers and plan show, each with its trust.

        Instances are alike: a setting that differs between them is there once for each.
        """
        found: dict[tuple[str, str, Trust], Observed] = {}
        for part in self.parts:
            for each in part.observed(adapter):
                found.setdefault((each.field, each.as_published, each.trust), each)
        return tuple(found.values())

    def alive(self, ask: Ask | None = None) -> tuple[Fault, ...]:
        """Return what is wrong; empty where all is as it was when it was ready.

        Args:
            ask: Asks each instance who it is, which sends requests: leave it out while load is measured.
        """
        faults = [
            fault for part in self.all_parts if (fault := part.fault() or part.port_fault()) is not None
        ]
        if ask is not None:
            broken = {fault.instance for fault in faults}
            for part in self.parts:
                if part.name not in broken:
                    faults += self._compare(part, ask)
        return tuple(faults)

    def note_ready(self, ask: Ask | None = None) -> None:
        """Remember who answers now, for `alive` to compare with."""
        for part in self.all_parts:
            part.note_ready()
        if ask is not None:
            self._identities = {part.name: ask(part.endpoint) for part in self.parts}

    def identities(self) -> Mapping[str, Identity]:
        """Return who answered when it was ready, by instance."""
        return dict(self._identities)

    def wait(self, timeout_s: float) -> None:
        """Wait until one of our programs says something, such as that it ended, but no longer than this."""
        handles = [handle for part in self.all_parts if (handle := part.handle()) is not None]
        readable(handles, timeout_s)

    def stop(self) -> dict[str, Ended]:
        """End everything that was started here, by name; what was attached is left alone. Safe to call twice.

        Raises:
            LeftRunningError: Something cannot be ended; the others are ended all the same.
        """
        if self._ended is None:
            ended: dict[str, Ended] = {}
            for part in self.all_parts:
                part.begin_stop(self.stop_s)
            with contextlib.ExitStack() as stack:
                # Each of them whatever becomes of the others; the router, entered last, first.
                for part in reversed(self.all_parts):
                    stack.callback(_stop_into, ended, part, self.stop_s)
            self._ended = ended
        return self._ended

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _compare(self, part: Part, ask: Ask) -> list[Fault]:
        try:
            now = ask(part.endpoint)
        except KbtoolError as error:
            return [Fault(FaultKind.UNREACHABLE, part.name, self.secrets.redact(str(error)))]
        faults = []
        if self.model is not None and self.model not in now.served_models:
            served = ", ".join(now.served_models[:5]) or "nothing"
            faults.append(
                Fault(FaultKind.SWAPPED, part.name, f"serves {served!a}; expected the model {self.model!a}")
            )
        before = self._identities.get(part.name)
        if before is None:
            return faults
        if self.model is None and before.served_models != now.served_models:
            faults.append(
                Fault(
                    FaultKind.SWAPPED,
                    part.name,
                    f"serves {now.served_models[:5]!a}; it served {before.served_models[:5]!a} when it was ready",
                )
            )
        if _restarted(before.started_s, now.started_s):
            faults.append(
                Fault(
                    FaultKind.RESTARTED,
                    part.name,
                    f"says that it started at {now.started_s}; it said {before.started_s} when it was ready",
                )
            )
        elif _born_again(before.incarnation, now.incarnation):
            faults.append(
                Fault(
                    FaultKind.RESTARTED,
                    part.name,
                    f"names this start of it {now.incarnation!a:.100}; it said {before.incarnation!a:.100} when it was ready",
                )
            )
        return faults


def _restarted(before_s: float | None, now_s: float | None) -> bool:
    return before_s is not None and now_s is not None and abs(before_s - now_s) > SAME_START_S


def _born_again(before: str | None, now: str | None) -> bool:
    """Return whether a server that names each of its starts now names another one."""
    return before is not None and now is not None and before != now


def _stop_into(ended: dict[str, Ended], part: Part, grace_s: float) -> None:
    how = part.stop(grace_s)
    if how is not None:
        ended[part.name] = how


def with_trust(found: tuple[Observed, ...], trust: Trust, where: str) -> tuple[Observed, ...]:
    """Return observations with the trust of the place where they were really read."""
    return tuple(replace(each, trust=trust, where=where) for each in found)
