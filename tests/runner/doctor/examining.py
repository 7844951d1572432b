"""Examine servers on a quiet machine, without waiting."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from kbtool.runner.client.outgoing import Limits
from kbtool.runner.doctor import (
    Diagnosis,
    FieldPlan,
    Question,
    Remark,
    ServerReport,
    Severity,
    Surroundings,
    examine,
)
from kbtool.runner.plan import Plan
from kbtool.runner.telemetry import AcceleratorNames, Backend, HostFacts, Missing, Reason, read_host
from tests.fakes.nvml import FakeBackend, FakeClock

__all__ = [
    "NO_CARDS",
    "SERVER_EDITION",
    "diagnosis_of",
    "field",
    "only_server",
    "plan_for",
    "quiet_host",
    "said",
]

SERVER_EDITION = AcceleratorNames(
    "accelerators/rtx-pro-6000-server", "RTX PRO 6000 Blackwell Server Edition", power_default_w=600, power_min_w=300, power_max_w=600
)  # fmt: skip
NO_CARDS = FakeBackend(FakeClock(), [], refuses=Missing(Reason.NO_DRIVER, "no driver"))


def quiet_host(**changes: Any) -> HostFacts:
    """Return this host as it would be with nothing to remark."""
    calm: dict[str, Any] = {
        "load_1m": 0.0, "governor": "performance", "clock_synchronised": True, "iommu": "off", "host_pids": True,
    }  # fmt: skip
    return replace(read_host(), **{**calm, **changes})


def diagnosis_of(
    target: Plan | str,
    *,
    backend: Backend = NO_CARDS,
    host: HostFacts | None = None,
    accelerators: Sequence[AcceleratorNames] = (SERVER_EDITION,),
    environment: Mapping[str, str] | None = None,
    limits: Limits | None = None,
) -> Diagnosis:
    """Return what the doctor finds; counters are read twice without a pause."""

    def hurried(question: Question) -> Question:
        return replace(question, sleep=lambda _: None, limits=limits or question.limits)

    around = Surroundings(backend, host or quiet_host(), accelerators, environment or {})
    return examine(target, around, change=hurried)


def only_server(found: Diagnosis) -> ServerReport:
    """Return the one server."""
    (report,) = found.servers
    return report


def field(found: Diagnosis, path: str) -> FieldPlan:
    """Return the line of the table for a field."""
    return next(each for each in found.fields if each.path == path)


def said(found: Diagnosis, words: str, severity: Severity | None = None) -> Remark | None:
    """Return the remark that has these words, if there is one."""
    return next(
        (each for each in found.remarks if words in each.found and severity in {None, each.severity}),
        None,
    )


def plan_for(target: dict[str, Any], **subject: Any) -> Plan:
    """Return a small plan for a target."""
    return Plan.model_validate(
        {
            "plan_version": 1,
            "id": "probe",
            "title": "A probe",
            "subject": {"engine": "engines/scripted", "model": "models/scripted", **subject},
            "target": target,
            "workloads": [{"id": "one", "kind": "single_stream"}],
        }
    )
