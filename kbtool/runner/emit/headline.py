"""Which result stands for a record: of the plan's first load, in the first of its prompt classes, and sound if any is."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final

from kbtool.runner.emit.figures import slug
from kbtool.runner.plan import Plan
from kbtool.runner.results import CellResult
from kbtool.schema.benchmark import Result
from kbtool.vocab.warnings import WarningCode

__all__ = ["headline_of"]

_PREFERRED: Final = {
    "single_stream": "tok_s_per_user",
    "long_decode": "tok_s_per_user",
    "prefill": "prefill_tok_s",
}


def headline_of(cells: Sequence[CellResult], results: Sequence[Result], plan: Plan) -> str:
    """Return the id of the result that stands for the record.

    It is the main metric of the plan's first workload, in the prompt class that the plan names first; where that
    class was measured at several loads, the best of them. A figure of broken answers stands only where all are broken.
    """
    candidates = [
        (rank, each)
        for rank, workload in enumerate(plan.workloads)
        for each in _of_workload(workload.id, cells, results)
    ]
    if not candidates:
        return results[0].id
    classes = _class_order(plan)

    def place(ranked: tuple[int, Result]) -> tuple[bool, int, int, Decimal]:
        rank, result = ranked
        broken = WarningCode.GARBAGE_OUTPUT.value in result.warnings
        return broken, rank, classes.get((rank, result.at.prompt_class), 0), -(result.value or Decimal(0))

    return min(candidates, key=place)[1].id


def _class_order(plan: Plan) -> dict[tuple[int, str | None], int]:
    """Return the place of each prompt class in its workload; a workload of one class has none to order."""
    return {
        (rank, prompt_class): place
        for rank, workload in enumerate(plan.workloads)
        for place, prompt_class in enumerate(getattr(workload, "prompt_classes", ()))
    }


def _of_workload(workload: str, cells: Sequence[CellResult], results: Sequence[Result]) -> Iterator[Result]:
    """Yield the main metric of each base cell of a workload."""
    for cell in cells:
        if cell.cell.workload != workload or cell.setting is not None or cell.cell.straight_to is not None:
            continue
        metric = _PREFERRED.get(cell.cell.kind, "output_tok_s")
        start = slug(f"{cell.name}-{metric}")
        for each in results:
            if each.metric == metric and each.value is not None and each.id.startswith(f"{start}-"):
                yield each
