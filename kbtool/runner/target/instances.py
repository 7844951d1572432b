"""The two kinds of servers: those that we started, as a process or in a container, and those that run already."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kbtool.runner.client.outgoing import Endpoint
from kbtool.runner.engines.base import EngineAdapter, Observed, Trust
from kbtool.runner.target import procfs
from kbtool.runner.target.container import ContainerFacts, ImageFacts, Runtime
from kbtool.runner.target.ports import Ownership, describe, ports_of, who_listens
from kbtool.runner.target.process import Ended, Kept
from kbtool.runner.target.procfs import ProcessId
from kbtool.runner.target.running import ContainerState, Fault, FaultKind, ProcessFacts, with_trust
from kbtool.runner.target.secrets import Secrets, looks_secret

__all__ = ["Attached", "Containment", "Launched"]


@dataclass(slots=True)
class Containment:
    """The container that a launched engine runs in."""

    runtime: Runtime
    label: str
    """Label of this one start, with its value."""
    image: ImageFacts
    cid_file: Path
    at_ready: ContainerFacts | None = None

    def facts(self) -> ContainerFacts | None:
        """Return what the runtime says; None where it has no such container, or not yet."""
        try:
            container = self.cid_file.read_text(encoding="ascii").strip()
        except FileNotFoundError:
            return None
        return self.runtime.inspect(container) if container else None

    def fault(self, name: str, log_tail: str) -> Fault | None:
        """Compare the container with what it was when it was ready."""
        before, now = self.at_ready, self.facts()
        if before is None:
            return None
        if now is None:
            return Fault(FaultKind.DIED, name, "its container is gone; expected it to run", None, log_tail)
        if not now.is_running:
            why = ", killed for want of memory" if now.out_of_memory else ""
            return Fault(
                FaultKind.DIED,
                name,
                f"its container ended with exit code {now.exit_code}{why}",
                now.exit_code,
                log_tail,
            )
        if now.restart_count > before.restart_count or now.started_at != before.started_at:
            return Fault(
                FaultKind.RESTARTED,
                name,
                f"its container was started at {now.started_at} after {now.restart_count} restarts; it was "
                f"{before.started_at} when it was ready",
                None,
                log_tail,
            )
        if (now.id, now.image_id) != (before.id, before.image_id):
            return Fault(FaultKind.SWAPPED, name, f"container {now.id[:12]} has replaced {before.id[:12]}")
        return None

    def state(self) -> ContainerState | None:
        """Return what a record keeps of it."""
        now = self.facts()
        if now is None:
            return None
        return ContainerState(
            now.id, now.image, now.image_id, self.image.digests, now.started_at, now.restart_count
        )


@dataclass(slots=True)
class Launched:
    """A server that we started."""

    kept: Kept
    endpoint: Endpoint
    secrets: Secrets
    plan_arguments: tuple[str, ...] = field(repr=False)
    """The engine's own arguments, with what the leg changed."""
    public: Mapping[str, str]
    """Variables of the plan and of the leg."""
    containment: Containment | None = None
    holders: tuple[ProcessId, ...] = ()
    """Who held the port when it was ready."""

    @property
    def name(self) -> str:
        """What results call it."""
        return self.kept.name

    def ours(self) -> tuple[ProcessId, ...]:
        """Return all processes that are ours, those in the container included."""
        found = set(self.kept.processes())
        facts = self.containment.facts() if self.containment is not None else None
        if facts is not None and facts.root_pid > 0:
            root = procfs.identify(facts.root_pid)
            found |= {*procfs.descendants(facts.root_pid), *((root,) if root is not None else ())}
        return tuple(sorted(found))

    def fault(self) -> Fault | None:
        """Look at process and container."""
        contained = self.containment.fault(self.name, self.kept.log_tail()) if self.containment else None
        if contained is not None:
            return contained
        ended = self.kept.exit()
        if ended is None:
            return None
        if self.kept.keeper_is_gone:
            return Fault(FaultKind.DIED, self.name, "its keeper was killed", None, ended.log_tail)
        return Fault(FaultKind.DIED, self.name, f"it {ended.text}", ended.code, ended.log_tail)

    def port_fault(self) -> Fault | None:
        """Say whether its port is still its own."""
        if not self.holders:
            return None
        port = self.endpoint.port
        # First those that held it before: looking through all processes takes long on a large machine.
        same = [each for each in self.holders if procfs.identify(each.pid) == each]
        if who_listens(port, same, look_further=False)[0] is Ownership.OURS:
            return None
        ownership, now = who_listens(port, self.ours())
        if ownership is Ownership.FOREIGN:
            held = " and ".join(describe(each) for each in now) or "nobody of ours"
            return Fault(
                FaultKind.PORT_MOVED, self.name, f"port {port} is held by {held}; expected {self.name}"
            )
        if ownership is Ownership.NOBODY:
            elsewhere = ports_of(self.ours())
            return Fault(
                FaultKind.PORT_MOVED,
                self.name,
                f"nobody listens on port {port} now; ours are {list(elsewhere)}",
            )
        if ownership is Ownership.OURS and not set(now) & set(self.holders):
            return Fault(
                FaultKind.RESTARTED,
                self.name,
                f"port {port} is held by pid {now[0].pid}; it was pid {self.holders[0].pid} when it was ready",
            )
        return None

    def note_ready(self) -> None:
        """Remember who holds the port, and the container as it is."""
        ownership, now = who_listens(self.endpoint.port, self.ours())
        self.holders = now if ownership is Ownership.OURS else ()
        if self.containment is not None:
            self.containment.at_ready = self.containment.facts()

    def facts(self) -> tuple[ProcessFacts, ...]:
        """Return the process that serves, and the one that was started where they differ."""
        container = self.containment.state() if self.containment is not None else None
        wanted = dict.fromkeys((*self.holders, self.kept.id))
        return tuple(_process_facts(self.name, each, self.secrets, container) for each in wanted)

    def observed(self, adapter: EngineAdapter) -> tuple[Observed, ...]:
        """Return the settings of the serving process, of the container, and of the plan."""
        found = _from_process(adapter, self._serving(), self.secrets)
        facts = self.containment.facts() if self.containment is not None else None
        if facts is not None:
            arguments = self.secrets.redact_arguments(facts.arguments)
            found += with_trust(
                adapter.from_command_line(arguments, _public(facts.environment, self.secrets)),
                Trust.CONTAINER,
                "container inspect",
            )
        planned = adapter.from_command_line(self.secrets.redact_arguments(self.plan_arguments), self.public)
        return found + with_trust(planned, Trust.PLAN, "the plan")

    def _serving(self) -> ProcessId | None:
        """Return the process whose arguments are in force: a launcher script may have changed what it was given."""
        for each in (*self.holders, self.kept.id):
            # Some engines overwrite their argument list with a title, which is one element.
            if len(procfs.arguments_of(each.pid) or ()) > 1:
                return None if self.containment is not None and each == self.kept.id else each
        return None

    def handle(self) -> int | None:
        """Return what becomes readable when it ends."""
        return self.kept.handle()

    def begin_stop(self, grace_s: float) -> None:
        """Ask it to end."""
        self.kept.begin_stop(grace_s)

    def stop(self, grace_s: float) -> Ended | None:
        """End it with all that it started."""
        return self.kept.stop(grace_s)


@dataclass(slots=True)
class Attached:
    """A server that somebody else runs: it is looked at where it can be, and never ended."""

    endpoint: Endpoint
    is_local: bool
    secrets: Secrets
    holders: tuple[ProcessId, ...] = ()
    look: Callable[[int], tuple[ProcessId, ...]] = field(default=lambda port: who_listens(port, ())[1])

    @property
    def name(self) -> str:
        """What results call it."""
        return self.endpoint.name

    def fault(self) -> Fault | None:
        """Nothing is known of its processes but who holds its port."""
        return None

    def port_fault(self) -> Fault | None:
        """Say whether another process holds its port than when it was ready."""
        if not self.holders:
            return None
        now = self.look(self.endpoint.port)
        if set(now) & set(self.holders):
            return None
        kind = FaultKind.RESTARTED if now else FaultKind.PORT_MOVED
        held = f"pid {now[0].pid}" if now else "nobody"
        return Fault(
            kind,
            self.name,
            f"port {self.endpoint.port} is held by {held}; it was pid {self.holders[0].pid} when it was ready",
        )

    def note_ready(self) -> None:
        """Remember who holds its port, where it is on this machine."""
        self.holders = self.look(self.endpoint.port) if self.is_local else ()

    def facts(self) -> tuple[ProcessFacts, ...]:
        """Return the processes that hold its port, where it is on this machine."""
        return tuple(_process_facts(self.name, each, self.secrets, None) for each in self.holders)

    def observed(self, adapter: EngineAdapter) -> tuple[Observed, ...]:
        """Return the settings of the process that holds its port."""
        return _from_process(adapter, self.holders[0] if self.holders else None, self.secrets)

    def handle(self) -> int | None:
        """There is none."""
        return None

    def begin_stop(self, grace_s: float) -> None:
        """It is not ours to end."""

    def stop(self, grace_s: float) -> Ended | None:  # noqa: ARG002 - it is not ours to end
        """Leave it running."""
        return None


def _process_facts(
    name: str, who: ProcessId, secrets: Secrets, container: ContainerState | None
) -> ProcessFacts:
    arguments = secrets.redact_arguments(procfs.arguments_of(who.pid) or ())
    names = tuple(sorted(procfs.environment_of(who.pid) or ()))
    return ProcessFacts(name, who, procfs.executable_of(who.pid), arguments, names, container)


def _from_process(adapter: EngineAdapter, who: ProcessId | None, secrets: Secrets) -> tuple[Observed, ...]:
    arguments = procfs.arguments_of(who.pid) if who is not None else None
    if who is None or arguments is None:
        return ()
    environment = _public(procfs.environment_of(who.pid) or {}, secrets)
    found = adapter.from_command_line(secrets.redact_arguments(arguments), environment)
    return with_trust(found, Trust.PROCESS, "arguments of the process")


def _public(environment: Mapping[str, str], secrets: Secrets) -> dict[str, str]:
    """Return the variables whose values may be shown: not ours by name, not secret by name, not secret by value."""
    return {
        name: os.fsencode(value).decode("utf-8", "replace")
        for name, value in environment.items()
        if name not in secrets.names and not looks_secret(name) and secrets.redact(value) == value
    }
