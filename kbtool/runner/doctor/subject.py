"""Whether what a plan says of its subject is what is there: the engine, the model's name, the accelerator."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from kbtool.runner.doctor.diagnosis import Remark, ServerReport, Severity
from kbtool.runner.engines.records import kind_of_record
from kbtool.runner.plan import Plan
from kbtool.runner.telemetry import Inventory

__all__ = ["accelerator_remarks", "engine_remarks", "model_remarks", "plan_remarks", "served_here"]

_WORD: Final = re.compile(r"[a-z]{3,}")
_SAYS_NOTHING: Final = frozenset(
    [
        "awq", "base", "bin", "cache", "chat", "default", "files", "gguf", "gptq", "home", "hub", "instruct", "int", "main",
        "model", "models", "mnt", "mxfp", "nvfp", "opt", "org", "root", "safetensors", "snapshots", "srv", "the",
    ]
)  # fmt: skip
"""Words of checkpoints and paths that many models share."""


def plan_remarks(plan: Plan) -> Iterator[Remark]:
    """Yield a problem where the plan contradicts itself: its server is of one kind, its engine record of another."""
    target, record = plan.target.engine, kind_of_record(plan.subject.engine)
    if record is not None and target not in {"auto", "openai", record}:
        yield Remark(
            Severity.PROBLEM,
            "subject",
            f"the plan says {target}, and the record {plan.subject.engine} stands for {record}",
            "correct target.engine or subject.engine",
            "target.engine",
        )


def engine_remarks(report: ServerReport, plan: Plan) -> Iterator[Remark]:
    """Yield a problem where the server is known to be of another kind than the plan says."""
    if report.shows is None:
        return
    said = {
        "target.engine": plan.target.engine if plan.target.engine not in {"auto", "openai"} else None,
        "subject.engine": kind_of_record(plan.subject.engine),
    }
    wrong = {field: kind for field, kind in said.items() if kind not in {None, report.shows.kind}}
    if wrong:
        evidence = "; ".join(report.shows.evidence)
        kinds = " and ".join(sorted({str(kind) for kind in wrong.values()}))
        yield Remark(
            Severity.PROBLEM,
            "subject",
            f"it shows itself as {report.shows.kind} ({evidence}), but the plan says {kinds}",
            f"correct {' and '.join(wrong)}",
            report.name,
        )


def model_remarks(servers: Iterable[ServerReport], plan: Plan, names: Sequence[str]) -> Iterator[Remark]:
    """Yield a warning where nothing that a server calls its model is a word of the model record's names.

    Args:
        servers: What they serve.
        plan: What it says of the model.
        names: Of the model record: its id, its title and its other names.
    """
    known = _words((*names, plan.subject.checkpoint or ""))
    for report in servers:
        served = list(report.identity.served_models[:8]) if report.identity else []
        if plan.target.model in served:
            served = [str(plan.target.model)]
        checkpoint = report.value("model.checkpoint")
        called = [*served, *((str(checkpoint),) if checkpoint is not None else ())]
        if called and known and known.isdisjoint(_words(called)):
            yield Remark(
                Severity.WARNING,
                "subject",
                f"it serves {', '.join(called)}, which has no word of {plan.subject.model}",
                "make sure that subject.model is what it serves",
                report.name,
            )


def _words(names: Iterable[str]) -> frozenset[str]:
    return frozenset(_WORD.findall(" ".join(names).lower())) - _SAYS_NOTHING


def served_here(plan: Plan) -> bool:
    """Return whether all servers run on this machine, so that its accelerators are theirs."""
    return all(each.is_loopback for each in plan.target.endpoints)


def accelerator_remarks(plan: Plan, inventory: Inventory) -> Iterator[Remark]:
    """Yield a problem where nothing can say on which accelerator the run was measured."""
    if plan.subject.accelerator is not None or (served_here(plan) and inventory.cards):
        return
    why = "no NVIDIA driver answers here" if served_here(plan) else "the server runs on another machine"
    yield Remark(
        Severity.PROBLEM,
        "accelerator",
        f"{why}, and no record can be made without it",
        "name one of accelerators/… or make one with kbtool new accelerator",
        "subject.accelerator",
    )
