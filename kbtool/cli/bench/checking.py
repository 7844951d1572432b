"""What a plan is checked against before anything is measured: itself, the knowledge base, its servers, this machine."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal

from kbtool.cli.bench.doctor import diagnose
from kbtool.cli.bench.knowledge import accelerator_names
from kbtool.cli.bench.references import model_names, reference_remarks

if TYPE_CHECKING:
    from kbtool.runner.doctor import Diagnosis
    from kbtool.runner.doctor import Remark as Found
    from kbtool.runner.plan import Plan
    from kbtool.runner.plan.check import Known, Remark

__all__ = ["remarks_of_plan", "remarks_of_run"]

_WITHOUT: Final = "; or measure without a record, with --without-record"


def remarks_of_plan(plan: "Plan", *, ask: bool) -> "tuple[Remark, ...]":
    """Return what is to be known of a plan, which may be meant for another machine: a silent server is no fault of it.

    Args:
        plan: The plan.
        ask: Whether attached servers are asked.
    """
    from kbtool.runner.plan.check import Known, Remark

    found = [*reference_remarks(plan)]
    if not (ask and plan.target.endpoints):
        return _together(plan, Known(), [*found, *_itself(plan)])
    seen = diagnose(plan)
    silent = [*_silent(seen)]
    for place, why in silent:
        message = f"it could not be asked for its limits, and cells were not checked against them: {why}"
        found.append(Remark("warning", place, message))
    found += _subject(plan, seen)
    for each in _accelerator(seen.remarks):
        found.append(each if not silent and _local(plan) else replace(each, severity="warning"))
    return _together(plan, seen.known, found)


def remarks_of_run(plan: "Plan", *, without_record: bool) -> "tuple[Remark, ...]":
    """Return what is to be known of a plan that is about to be carried out on this machine.

    Args:
        plan: The plan.
        without_record: Whether a run is wanted of which no record can be made.
    """
    from kbtool.runner.doctor.subject import accelerator_remarks
    from kbtool.runner.plan.check import Known, Remark
    from kbtool.runner.telemetry import NvmlBackend, read_inventory

    lacking = [*reference_remarks(plan)]
    if not plan.target.endpoints:
        inventory = read_inventory(NvmlBackend(), accelerator_names())
        lacking += _accelerator(accelerator_remarks(plan, inventory))
        return _together(plan, Known(), [*_lenient(lacking, without_record=without_record), *_itself(plan)])
    seen = diagnose(plan)
    lacking += _accelerator(seen.remarks)
    found = [*_lenient(lacking, without_record=without_record), *_subject(plan, seen)]
    found += [Remark("refused", place, why) for place, why in _silent(seen)]
    return _together(plan, seen.known, found)


def _together(plan: "Plan", known: "Known", found: "list[Remark]") -> "tuple[Remark, ...]":
    from kbtool.runner.plan.check import remarks

    every = dict.fromkeys([*remarks(plan, known), *found])
    return tuple(sorted(every, key=lambda each: each.severity != "refused"))


def _lenient(found: "list[Remark]", *, without_record: bool) -> "Iterator[Remark]":
    """Yield what stands in the way of a record alone: no refusal where none is wanted."""
    for each in found:
        if each.severity != "refused":
            yield each
        elif without_record:
            yield replace(each, severity="warning")
        else:
            yield replace(each, message=f"{each.message}{_WITHOUT}")


def _itself(plan: "Plan") -> "Iterator[Remark]":
    from kbtool.runner.doctor.subject import plan_remarks

    return map(_said, plan_remarks(plan))


def _subject(plan: "Plan", seen: "Diagnosis") -> "Iterator[Remark]":
    """Yield whether the servers are what the plan says, and serve what it says."""
    from kbtool.runner.doctor.subject import model_remarks

    yield from (_said(each) for each in seen.remarks if each.topic == "subject")
    yield from map(_said, model_remarks(seen.servers, plan, model_names(plan)))


def _accelerator(found: "Iterable[Found]") -> "list[Remark]":
    return [_said(each) for each in found if each.topic == "accelerator"]


def _said(found: "Found") -> "Remark":
    from kbtool.runner.plan.check import Remark

    severity: Literal["refused", "warning"] = "refused" if found.severity == "problem" else "warning"
    return Remark(severity, found.place, f"{found.found}: {found.remedy}")


def _silent(seen: "Diagnosis") -> "Iterator[tuple[str, str]]":
    """Yield the servers that cannot be asked anything, and why."""
    servers = {each.name for each in seen.servers if each.access in {"unreachable", "key_missing"}}
    router = seen.router
    if router is not None and router.access in {"unreachable", "key_missing"}:
        servers.add(router.name)
    for each in seen.remarks:
        if each.topic == "server" and each.severity == "problem" and each.place in servers:
            yield each.place, f"{each.found}; {each.remedy}"


def _local(plan: "Plan") -> bool:
    from kbtool.runner.doctor.subject import served_here

    return served_here(plan)
