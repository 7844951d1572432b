"""What is to be known of the servers: whether they can be used, whether they are the right ones, and who else is there."""

from collections.abc import Iterator
from typing import Final

from kbtool.runner.doctor.diagnosis import Access, Remark, ServerReport, Severity, Shown
from kbtool.runner.doctor.graphs import graph_remarks
from kbtool.runner.doctor.subject import engine_remarks, plan_remarks
from kbtool.runner.doctor.traps import trap_remarks
from kbtool.runner.plan import Plan

__all__ = ["server_remarks"]


def server_remarks(
    servers: tuple[ServerReport, ...], router: ServerReport | None, plan: Plan | None
) -> Iterator[Remark]:
    """Yield what is to be known of the servers, one by one and together."""
    if plan is not None:
        yield from plan_remarks(plan)
    for report in (*servers, *((router,) if router is not None else ())):
        if plan is not None and report is not router:
            yield from engine_remarks(report, plan)
        yield from _access(report)
        yield from _holders(report)
        if report.access is Access.OPEN:
            yield from _model(report, plan)
            yield from _traffic(report)
            yield from trap_remarks(report)
        for told, intended in report.disputed:
            found = f"{told.field} is {told.value} ({told.where}), but {intended.value} was asked for ({intended.where})"
            yield Remark(Severity.WARNING, "engine", found, "the server ignored or changed it", report.name)
        if report is not router:
            yield from graph_remarks(report)
    yield from _contexts(servers, router)


_ACCESS: Final = {
    Access.KEY_MISSING: (
        "it is up and wants a key",
        "export the key, and name the variable in `target.api_key_env`",
    ),
    Access.NOT_READY: (
        "it lists its models and generates nothing yet",
        "wait until it has loaded, and look at its log",
    ),
    Access.UNREACHABLE: ("it cannot be used", "start it, or correct the address"),
}


def _access(report: ServerReport) -> Iterator[Remark]:
    if report.access in _ACCESS:
        found, remedy = _ACCESS[report.access]
        yield Remark(Severity.PROBLEM, "server", f"{found}: {report.detail}", remedy, report.name)


def _model(report: ServerReport, plan: Plan | None) -> Iterator[Remark]:
    served = report.identity.served_models if report.identity else ()
    asked = plan.target.model if plan is not None else None
    if asked is not None and asked not in served:
        found = f"it serves {', '.join(served[:5]) or 'no model'}, not {asked}"
        remedy = "is it a server of an earlier run? Correct `target.model`, or the port"
        yield Remark(Severity.PROBLEM, "server", found, remedy, report.name)
    elif asked is None and len(served) != 1:
        found = f"it lists {len(served)} models"
        yield Remark(Severity.PROBLEM, "server", found, "name one in `target.model`", report.name)
    elif report.detail:
        yield Remark(
            Severity.PROBLEM, "probes", f"a small request failed: {report.detail}", "see its log", report.name
        )


def _holders(report: ServerReport) -> Iterator[Remark]:
    """Yield who serves on this machine, and since when: a server of an earlier run is easily mistaken for a new one."""
    for holder in report.holders:
        age = "" if holder.age_s is None else f", up for {_duration(holder.age_s)}"
        yield Remark(
            Severity.NOTE, "server", f"served by {holder.program} (pid {holder.pid}){age}", "", report.name
        )


def _duration(seconds: float) -> str:
    for unit, size in (("days", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"


def _traffic(report: ServerReport) -> Iterator[Remark]:
    foreign = report.foreign
    if foreign is None:
        found = "whether somebody else uses it cannot be seen: it gives no totals"
        if report.metrics.shown is Shown.OFF:
            yield Remark(Severity.NOTE, "traffic", found, "", report.name)
        return
    if foreign.moved_tok is not None and foreign.moved_tok < 0:
        found = "its totals fell while we watched: it was started anew"
        yield Remark(Severity.PROBLEM, "traffic", found, "see its log, and who restarts it", report.name)
    elif foreign.seen:
        found = (
            f"somebody else uses it: {foreign.running or 0} running, {foreign.waiting or 0} waiting, "
            f"{foreign.moved_tok or 0} tokens in {foreign.watched_s:.1f} s of our silence"
        )
        remedy = "measure when it is idle: cells with foreign tokens are marked `foreign_traffic`"
        yield Remark(Severity.WARNING, "traffic", found, remedy, report.name)


def _contexts(servers: tuple[ServerReport, ...], router: ServerReport | None) -> Iterator[Remark]:
    limits = {each.name: each.value("serving.context_tok") for each in servers}
    known = {value for value in limits.values() if isinstance(value, int)}
    if len(known) > 1:
        told = ", ".join(f"{name} {value}" for name, value in limits.items())
        yield Remark(
            Severity.WARNING,
            "context",
            f"the servers have different context limits: {told}",
            "make them alike",
        )
    advertised = router.identity.context_tok if router is not None and router.identity else None
    if advertised is not None and known and advertised != min(known):
        found = f"the router advertises a context of {advertised}, the servers accept {min(known)}"
        yield Remark(
            Severity.WARNING, "context", found, "plans are checked against the smaller one", "router"
        )
