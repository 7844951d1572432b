"""The examination: every server, the machine, what follows from both, and what a record would have."""

import os
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from kbtool.errors import UsageError
from kbtool.runner.doctor.diagnosis import (
    Access,
    Diagnosis,
    ServerReport,
    Severity,
)
from kbtool.runner.doctor.fields import Facts, field_plans
from kbtool.runner.doctor.graphs import known_of
from kbtool.runner.doctor.machine import card_remarks, host_remarks, in_use
from kbtool.runner.doctor.remarks import server_remarks
from kbtool.runner.doctor.server import Question, examine_server
from kbtool.runner.doctor.subject import accelerator_remarks
from kbtool.runner.engines import Observed, Trust, adapter_for, in_force
from kbtool.runner.load import Api
from kbtool.runner.plan import Plan
from kbtool.runner.plan.target import EndpointPlan, Instance, Target
from kbtool.runner.target import Secrets
from kbtool.runner.target.attach import attach, authorization, endpoint_of
from kbtool.runner.target.instances import Attached
from kbtool.runner.target.ports import listeners
from kbtool.runner.target.procfs import descendants
from kbtool.runner.target.running import with_trust
from kbtool.runner.telemetry import (
    AcceleratorNames,
    Backend,
    CardLoad,
    HostFacts,
    card_loads,
    read_inventory,
)

__all__ = ["Surroundings", "examine"]

_ORDER: Final = (Severity.PROBLEM, Severity.WARNING, Severity.NOTE)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the doctor looks at beside the server, given so that a test can give something else."""

    backend: Backend
    host: HostFacts
    accelerators: Sequence[AcceleratorNames] = ()
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ), repr=False)
    salt: str = ""
    """Of the probes; a random one where empty."""


def examine(
    target: Plan | str,
    surroundings: Surroundings,
    *,
    change: Callable[[Question], Question] = lambda same: same,
) -> Diagnosis:
    """Examine what a plan, or an address, leads to. A server is asked for four small answers at most.

    Args:
        target: A plan; or the address of a server, with `/v1` or without.
        surroundings: The machine.
        change: Changes what each server is asked, such as for how long its counters are watched.

    Raises:
        UsageError: The address is none, or the variable that should hold the key is not set.
    """
    plan = target if isinstance(target, Plan) else None
    what = plan.target if plan is not None else _target_of(str(target))
    headers, held = authorization(what, surroundings.environment)
    hidden = Secrets.from_environment(surroundings.environment, held)
    question = change(
        Question(
            model=what.model,
            api=Api(what.api),
            kind=None if what.engine == "auto" else what.engine,
            salt=surroundings.salt or secrets.token_hex(8),
        )
    )
    if what.launch is not None:
        servers = tuple(_to_launch(each, what, question, hidden) for each in what.launch.instances)
        router: ServerReport | None = None
    else:
        parts, front = attach(what, headers, hidden)
        servers = tuple(examine_server(each, question) for each in parts)
        router = examine_server(front, question) if front is not None else None
    return _together(plan, servers, router, surroundings)


def _target_of(url: str) -> Target:
    try:
        endpoint = EndpointPlan(name="server", url=url)
    except ValueError as error:
        raise UsageError(f"{url!r}: {error}") from None
    hosts = () if endpoint.is_loopback else (endpoint.host,)
    return Target(endpoints=(endpoint,), allow_hosts=hosts)


def _to_launch(instance: Instance, what: Target, question: Question, hidden: Secrets) -> ServerReport:
    """Return what the plan intends of a server that it launches; one that has its port already is examined."""
    place = EndpointPlan(name=instance.name, url=f"http://127.0.0.1:{instance.port}")
    if listeners(instance.port):
        stale = replace(question, model=None)
        report = examine_server(Attached(endpoint_of(place), True, hidden), stale)
        return replace(
            report, access=Access.UNREACHABLE, detail=f"port {instance.port} is taken: {_who(report)}"
        )
    kind = None if what.engine == "auto" else what.engine
    planned: tuple[Observed, ...] = ()
    if kind is not None:
        arguments = instance.container.arguments if instance.container is not None else instance.arguments
        read = adapter_for(kind).from_command_line(hidden.redact_arguments(arguments), instance.environment)
        planned = with_trust(read, Trust.PLAN, "the plan")
    return ServerReport(
        name=instance.name,
        address=place.url,
        access=Access.NOT_STARTED,
        is_local=True,
        kind=kind,
        settings=tuple(in_force(planned).values()),
    )


def _who(report: ServerReport) -> str:
    holders = (
        ", ".join(f"{each.program} (pid {each.pid})" for each in report.holders)
        or "a process of another user"
    )
    served = ", ".join(report.identity.served_models[:3]) if report.identity else ""
    return f"{holders}{' serves ' + served if served else ''}"


def _together(
    plan: Plan | None, servers: tuple[ServerReport, ...], router: ServerReport | None, around: Surroundings
) -> Diagnosis:
    inventory = read_inventory(around.backend, around.accelerators)
    loads = _loads(around.backend, [card.index for card in inventory.cards if not card.lost])
    ours = {pid for each in servers for pid in _processes(each)}
    cards = _cards_of(plan) or in_use(loads, ours)
    facts = Facts(servers, around.host, inventory, cards, plan, proxy=router is not None)
    remarks = [*server_remarks(servers, router, plan)]
    if plan is not None:
        remarks += accelerator_remarks(plan, inventory)
    if facts.local:
        pids_match = around.host.host_pids is True
        remarks += card_remarks(inventory, loads, ours=ours, cards=cards, pids_match=pids_match)
        remarks += host_remarks(around.host, inventory)
    return Diagnosis(
        servers=servers,
        router=router,
        host=around.host,
        inventory=inventory,
        loads=loads,
        fields=field_plans(facts),
        remarks=tuple(sorted(dict.fromkeys(remarks), key=lambda each: _ORDER.index(each.severity))),
        known=known_of(servers, router),
    )


def _loads(backend: Backend, cards: Collection[int]) -> tuple[CardLoad, ...]:
    if not cards or backend.open() is not None:
        return ()
    try:
        return card_loads(backend, cards)
    finally:
        backend.close()


def _cards_of(plan: Plan | None) -> tuple[int, ...]:
    """Return the cards that a plan gives to its instances."""
    launch = plan.target.launch if plan is not None else None
    return tuple(
        sorted({card for each in (launch.instances if launch else ()) for card in each.accelerators})
    )


def _processes(report: ServerReport) -> Iterator[int]:
    """Yield the processes of a server on this machine: who holds its port, and what that has started."""
    for holder in report.holders:
        yield holder.pid
        yield from (each.pid for each in descendants(holder.pid))
