"""One server examined: who answers, with which settings, what it reports, and whether somebody else uses it."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from kbtool.runner.client import Endpoint, Limits
from kbtool.runner.client.clock import kernel_stamps_work
from kbtool.runner.client.control import ControlError, UnauthorizedError
from kbtool.runner.doctor.diagnosis import (
    Access,
    ForeignTraffic,
    Holder,
    Probe,
    ServerReport,
    Shown,
)
from kbtool.runner.doctor.probes import PROBE_LIMITS, probe
from kbtool.runner.engines import Counters, EngineAdapter, Observed, adapter_for, detect, hinted, in_force
from kbtool.runner.load import Api
from kbtool.runner.plan.target import EngineKind
from kbtool.runner.target.instances import Attached
from kbtool.runner.target.procfs import ProcessId, executable_of
from kbtool.runner.trace import ClockSource, Outcome

__all__ = ["Question", "examine_server"]

_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
_BUSY: Final = frozenset({Outcome.REFUSED, Outcome.HTTP_ERROR, Outcome.FIRST_BYTE_TIMEOUT})


@dataclass(frozen=True, slots=True)
class Question:
    """What to ask of each server, and how."""

    model: str | None
    """Served model name; None for the only one that it lists."""
    api: Api
    kind: EngineKind | None
    """None to find out."""
    salt: str
    """Another one each time: no prompt of ours may have been seen before."""
    watch_s: float = 1.0
    """How long counters are watched in silence."""
    limits: Limits = PROBE_LIMITS
    sleep: Callable[[float], None] = time.sleep
    planned: tuple[Observed, ...] = ()
    """Settings that the plan intends."""


def examine_server(part: Attached, question: Question) -> ServerReport:
    """Ask one server, and look at the processes behind it where it is on this machine."""
    endpoint = part.endpoint
    part.note_ready()
    report = ServerReport(
        name=endpoint.name,
        address=f"{'https' if endpoint.tls else 'http'}://{endpoint.authority}{endpoint.base_path}",
        access=Access.UNREACHABLE,
        is_local=part.is_local,
        holders=tuple(_holder(each) for each in part.holders),
        holders_known=bool(part.holders),
        clock=ClockSource.USER if endpoint.tls or not kernel_stamps_work() else ClockSource.KERNEL,
    )
    try:
        return _asked(report, part, question)
    except UnauthorizedError as error:
        hint = hinted(endpoint)
        return replace(
            report,
            access=Access.KEY_MISSING,
            detail=str(error),
            kind=hint.kind if hint else None,
            evidence=hint.evidence if hint else (),
        )
    except ControlError as error:
        return replace(report, detail=str(error))


def _asked(report: ServerReport, part: Attached, question: Question) -> ServerReport:
    """Return the report of a server that answers.

    Raises:
        ControlError: It does not.
    """
    endpoint = part.endpoint
    found = detect(endpoint)
    kind = question.kind or found.kind
    adapter = adapter_for(kind)
    identity = adapter.identity(endpoint)
    counters, why = _counters(adapter, endpoint)
    report = replace(
        report,
        access=Access.OPEN,
        kind=kind,
        evidence=identity.evidence if question.kind else found.evidence,
        shows=None if found.kind == "openai" else found,
        identity=identity,
        metrics=Probe(Shown.ON if counters else Shown.OFF, why),
        drafts_counted=counters is not None and counters.draft_tok is not None,
        foreign=_foreign(adapter, endpoint, counters, question),
    )
    report = _probed(report, adapter, endpoint, question)
    # After the probes: some servers tell more once they have worked.
    told = adapter.settings(endpoint)
    seen = part.observed(adapter)
    return replace(
        report,
        settings=tuple(in_force(told, seen, question.planned).values()),
        disputed=_disputed(told, (*seen, *question.planned)),
    )


def _probed(
    report: ServerReport, adapter: EngineAdapter, endpoint: Endpoint, question: Question
) -> ServerReport:
    """Return the report with what a few small requests show; none is sent for a model that is not there."""
    served = report.identity.served_models if report.identity else ()
    model = question.model or (served[0] if len(served) == 1 else None)
    if model is None or model not in served:
        return report
    done = probe(
        endpoint,
        adapter,
        model,
        api=question.api,
        salt=question.salt,
        context_tok=report.identity.context_tok if report.identity else None,
        limits=question.limits,
    )
    report = replace(report, probes=done.probes, requests=done.requests)
    failed = done.failed
    if failed is None:
        return report
    detail = f"{failed.outcome}: {failed.detail}"
    if failed.outcome is Outcome.UNAUTHORIZED:
        return replace(report, access=Access.KEY_MISSING, detail=detail)
    if failed.outcome in _BUSY:
        return replace(report, access=Access.NOT_READY, detail=detail)
    return replace(report, detail=detail)


def _counters(adapter: EngineAdapter, endpoint: Endpoint) -> tuple[Counters | None, str]:
    try:
        found = adapter.counters(endpoint)
    except ControlError as error:
        return None, str(error)
    return found, "its totals can be read" if found else "it gives no totals"


def _foreign(
    adapter: EngineAdapter, endpoint: Endpoint, first: Counters | None, question: Question
) -> ForeignTraffic | None:
    """Watch the counters while nothing of ours is under way."""
    if first is None:
        return None
    question.sleep(question.watch_s)
    then, _ = _counters(adapter, endpoint)
    if then is None:
        return None
    pairs = ((first.prompt_tok, then.prompt_tok), (first.generation_tok, then.generation_tok))
    moved = [after - before for before, after in pairs if before is not None and after is not None]
    return ForeignTraffic(
        watched_s=(then.t_ns - first.t_ns) / 1e9,
        running=_larger(first.running, then.running),
        waiting=_larger(first.waiting, then.waiting),
        moved_tok=sum(moved) if moved else None,
    )


def _larger(one: int | None, other: int | None) -> int | None:
    values = [value for value in (one, other) if value is not None]
    return max(values, default=None)


def _disputed(
    told: tuple[Observed, ...], others: tuple[Observed, ...]
) -> tuple[tuple[Observed, Observed], ...]:
    """Return the settings of the record's own fields that the engine gives otherwise than was intended."""
    best = in_force(told)
    return tuple(
        (best[each.field], each)
        for each in in_force(others).values()
        if each.field in best
        and best[each.field].value != each.value
        and not each.field.startswith(
            ("engine.arguments.", "engine.environment.", "speculation.as_published")
        )
    )


def _holder(who: ProcessId) -> Holder:
    program = executable_of(who.pid)
    try:
        uptime_s = float(Path("/proc/uptime").read_text(encoding="ascii").split()[0])
    except (OSError, ValueError):
        uptime_s = None
    age_s = None if uptime_s is None else max(0.0, uptime_s - who.start_ticks / _TICKS_PER_S)
    return Holder(who.pid, Path(program).name if program else "a program", age_s)
