"""Where to measure next to narrow a cliff down to two neighbouring numbers of users."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kbtool.runner.plan import Plan
from kbtool.runner.plan.cells import Cell
from kbtool.runner.plan.workloads import Concurrency
from kbtool.runner.results import VisitResult
from kbtool.runner.results.load import throughputs_of
from kbtool.runner.stats import bisect_next, find_cliffs

__all__ = ["next_levels"]


def next_levels(plan: Plan, measured: Sequence[VisitResult]) -> Iterator[Cell]:
    """Yield the cells to add, one for each cliff that is not exact yet."""
    for workload in plan.workloads:
        if not isinstance(workload, Concurrency) or not workload.find_cliff:
            continue
        cells = [
            visit
            for visit in measured
            if visit.note.visit.cell.workload == workload.id and visit.note.visit.cell.straight_to is None
        ]
        sweep = {
            visit.note.visit.cell.streams: throughputs
            for visit in cells
            if (throughputs := throughputs_of(visit.rounds))
        }
        for cliff in find_cliffs(sweep):
            level = bisect_next(cliff)
            if level is not None and level not in sweep:
                like = cells[0].note.visit.cell
                yield replace(
                    like,
                    name=f"{workload.id}-c{level}",
                    streams=level,
                    requests=level * workload.requests_per_stream,
                )
