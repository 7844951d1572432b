"""The legs of one run compared: each value of a swept setting against the base.

The base is measured first and last, or before and after each value.  A value is held against the base as it was at
its own time: between two base legs, in the logarithm, by the place of its leg among them; so a steady drift cancels.
What the base legs differ by among themselves is a comparison of equals: a smaller difference is not claimed.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import exp

from kbtool.errors import RecordError
from kbtool.runner.compare.conditions import between_cells, worth_saying
from kbtool.runner.compare.figures import Figure, figures_of, rounds_of, shared_statistic
from kbtool.runner.compare.model import Comparison, Refusal
from kbtool.runner.compare.ratios import DRAWS, Made, paired, unpaired_ratio
from kbtool.runner.compare.runs import Group, judged, refused_for_warnings
from kbtool.runner.results import CellResult, Run, VisitResult
from kbtool.runner.stats import Block, mean

__all__ = ["compare_legs"]

Logs = Mapping[int, float]
"""Leg number -> mean of the logarithms."""


def compare_legs(run: Run, *, noise_ratio: float = 0.0, draws: int = DRAWS) -> Comparison:
    """Return what may be said of each value of the swept settings against the base.

    Args:
        run: A run with a sweep.
        noise_ratio: Largest difference that the same machine showed between equal runs; 0 where not known.
        draws: Of the bootstrap.

    Raises:
        RecordError: the run has no sweep, or no base.
    """
    bases = {each.cell.name: each for each in run.cells if each.setting is None}
    swept = [each for each in run.cells if each.setting is not None]
    if not swept or not bases:
        raise RecordError(
            f"run {run.run_id} has {len(swept)} cells of swept values and {len(bases)} of the base; expected some of "
            "both: a plan with `sweeps` gives them; two runs are compared by giving both"
        )
    groups: list[Group] = []
    refusals: list[Refusal] = []
    for cell in swept:
        base = bases.get(cell.cell.name)
        if base is None:
            refusals.append(
                Refusal(cell.name, "load", "not measured", "measured", "measure it in the base leg too")
            )
            continue
        found, against = _of_cell(run, base, cell, draws)
        groups += found
        refusals += against
    return Comparison(
        run.run_id, run.run_id, "", judged(groups, noise_ratio), tuple(refusals), (), noise_ratio
    )


def _of_cell(run: Run, base: CellResult, cell: CellResult, draws: int) -> tuple[list[Group], list[Refusal]]:
    refusals = [
        Refusal(cell.name, each.name, each.a, each.b, each.remedy)
        for each in between_cells(run, base, run, cell)
    ]
    refusals += refused_for_warnings(cell.name, base, cell)
    if refusals:
        return [], refusals
    groups = []
    for metric in figures_of(cell.cell.kind, cell.cell.cache):
        statistic = shared_statistic(metric, base, cell)
        if statistic is None:
            has = ["given" if shared_statistic(metric, each) else "not given" for each in (base, cell)]
            if has[0] != has[1]:
                remedy = "see in the report why one side has no such figure"
                refusals.append(Refusal(cell.name, "metric", has[0], has[1], remedy, metric))
            continue
        found = _group(base, cell, (metric, statistic), draws)
        if found is None:
            refusals.append(
                Refusal(cell.name, "metric", "0 or missing", "0 or missing", "0 has no ratio", metric)
            )
        else:
            groups.append(found)
    return groups, refusals


def _group(base: CellResult, cell: CellResult, figure: Figure, draws: int) -> Group | None:
    base_sessions, value_sessions = _by_session(base.visits), _by_session(cell.visits)
    blocks, a_logs, b_logs, drifts = [], [], [], []
    for session, visits in value_sessions.items():
        anchors, legs = _legs(base_sessions.get(session, ()), figure), _legs(visits, figure)
        for leg, value in legs.items():
            expected = _at(anchors, leg)
            if expected is not None:
                blocks.append(Block((exp(expected),), (exp(value),)))
                a_logs.append(expected)
                b_logs.append(value)
        if len(anchors) > 1:
            drifts.append(anchors[max(anchors)] - anchors[min(anchors)])
    if not blocks:
        return None
    drift = exp(mean(drifts)) if drifts else None
    caveats = (*worth_saying(base, cell), *_one_sided(base_sessions, value_sessions))
    named = {"setting": cell.setting, "value": cell.value, "drift_ratio": drift}
    noise = 0.0 if drift is None else abs(drift - 1)
    if len(value_sessions) > 1:
        made = Made(figure[0], paired(blocks, draws=draws), "paired", noise)
        return Group(cell.name, figure, a_logs, b_logs, made, caveats, **named)
    rounds = _against_anchors(base, cell, figure)
    made = Made(figure[0], unpaired_ratio(*rounds, draws=draws), "these_starts", noise)
    return Group(cell.name, figure, *rounds, made, caveats, **named)


def _by_session(visits: Sequence[VisitResult]) -> dict[int, list[VisitResult]]:
    found: dict[int, list[VisitResult]] = {}
    for each in visits:
        found.setdefault(each.note.visit.session, []).append(each)
    return found


def _legs(visits: Sequence[VisitResult], figure: Figure) -> Logs:
    """Return the mean logarithm of each leg that has one."""
    by_leg: dict[int, list[float]] = {}
    for each in visits:
        by_leg.setdefault(each.note.visit.leg_number, []).extend(rounds_of([each], figure))
    return {number: mean(logs) for number, logs in by_leg.items() if logs}


def _at(anchors: Logs, leg: int) -> float | None:
    """Return what the base would have shown in the place of a leg."""
    before = max((each for each in anchors if each < leg), default=None)
    after = min((each for each in anchors if each > leg), default=None)
    if before is None or after is None:
        nearest = after if before is None else before
        return None if nearest is None else anchors[nearest]
    share = (leg - before) / (after - before)
    return anchors[before] * (1 - share) + anchors[after] * share


def _against_anchors(base: CellResult, cell: CellResult, figure: Figure) -> tuple[list[float], list[float]]:
    """Return the rounds of the base legs around a leg, and those of the leg."""
    leg = cell.visits[0].note.visit.leg_number
    numbers = {each.note.visit.leg_number for each in base.visits}
    before = max((each for each in numbers if each < leg), default=None)
    after = min((each for each in numbers if each > leg), default=None)
    around = [each for each in base.visits if each.note.visit.leg_number in {before, after}]
    return rounds_of(around, figure), rounds_of(cell.visits, figure)


def _one_sided(
    base: Mapping[int, Sequence[VisitResult]], cell: Mapping[int, Sequence[VisitResult]]
) -> Iterator[str]:
    """Yield that a value has no base leg on one side, as in a run that was broken off."""
    for session, visits in cell.items():
        numbers = {each.note.visit.leg_number for each in base.get(session, ())}
        legs = [each.note.visit.leg_number for each in visits]
        if not numbers or max(legs) > max(numbers) or min(legs) < min(numbers):
            yield f"session {session + 1} has a base leg on one side alone: a drift does not cancel"
