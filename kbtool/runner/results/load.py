"""A run read back: every figure computed anew from the sealed raw data.

`report`, `record` and `compare` all start here, so that a better definition of a metric reaches old runs and no
figure has two homes.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Final

from kbtool.errors import RecordError
from kbtool.runner.engines.base import Counters
from kbtool.runner.folder import Cell as StoredCell
from kbtool.runner.folder import CellStatus, RunFolder, Warned
from kbtool.runner.folder.entries import parse
from kbtool.runner.metrics import (
    CellSummary,
    Reconciliation,
    RoundFigures,
    Sanity,
    ServerTotals,
    SpeculationCounters,
    SpeculationVerdict,
    check_outputs,
    reconcile,
    round_figures,
    speculation_verdict,
    summarize,
)
from kbtool.runner.plan import Plan
from kbtool.runner.plan.cells import Cell
from kbtool.runner.results.notes import CellNote, EndpointCounters, RoundNote
from kbtool.runner.stats import Cliff, find_cliffs
from kbtool.runner.target.topology import AffinitySeen, Split, TurnSeen, affinity, split
from kbtool.runner.trace import Outcome, RequestTrace
from kbtool.vocab.warnings import WarningCode, in_order

__all__ = [
    "CellResult",
    "RoundResult",
    "Run",
    "SweepCliff",
    "VisitResult",
    "affinity_of",
    "load_run",
    "load_visit",
    "round_result",
    "shares_of",
    "split_of",
]

CELL_NOTE: Final = "note"
THROUGHPUT: Final = "output_tok_s"
DEFAULT_RATIO: Final = 0.05
"""Half width of the interval, as a share, above which a spread is called wide where the plan asks for none."""
_WHOLE_BLOCKS_RATIO: Final = 0.75
"""Share of a conversation's own text that is sure to lie in whole blocks of a cache, which alone are kept."""
_EXTENDED: Final = frozenset({"interval_reached", "most_rounds"})
"""Why a cell ended that was repeated until its interval was narrow: such an interval has to be made wider."""


@dataclass(frozen=True, slots=True)
class RoundResult:
    """One round: what was noted, and every figure of it."""

    note: RoundNote
    figures: RoundFigures
    reconciliation: Reconciliation
    speculation: SpeculationVerdict
    split: Split | None = None
    """What each instance took of the load; None where there is one, or they were not all read."""
    turns: tuple[TurnSeen, ...] = ()
    """Turns of conversations; none where requests stand alone."""


@dataclass(frozen=True, slots=True)
class VisitResult:
    """One visit to a cell."""

    key: str
    note: CellNote
    rounds: tuple[RoundResult, ...]
    """Measured ones, in order."""
    warm_up: tuple[RoundResult, ...]
    sanity: Sanity


@dataclass(frozen=True, slots=True)
class CellResult:
    """All visits to one cell under one setting: one measurement."""

    leg: str
    setting: str | None
    """Field of the record that the leg changes; None for the base."""
    value: Any
    cell: Cell
    visits: tuple[VisitResult, ...]
    summary: CellSummary

    @property
    def name(self) -> str:
        """Name of the measurement, unique in the run."""
        return self.cell.name if self.setting is None else f"{self.leg}-{self.cell.name}"

    @property
    def rounds(self) -> tuple[RoundResult, ...]:
        """Every measured round."""
        return tuple(each for visit in self.visits for each in visit.rounds)


@dataclass(frozen=True, slots=True)
class SweepCliff:
    """A cliff of throughput over numbers of users, in one workload under one setting."""

    leg: str
    workload: str
    cliff: Cliff


@dataclass(frozen=True, slots=True)
class Run:
    """A run as it can be published."""

    run_id: str
    plan: Plan
    facts: Mapping[str, Any]
    """What `run.json` says: versions, command, times as labels."""
    environments: Mapping[str, Mapping[str, Any]]
    """Environment file name -> what was found."""
    cells: tuple[CellResult, ...]
    """In the order of the schedule."""
    cliffs: tuple[SweepCliff, ...]
    failed: tuple[tuple[str, str], ...]
    """Cells that came to nothing: name and reason."""
    finished: bool
    remarks: tuple[tuple[str, str], ...]
    """Warnings of the ledger: code and detail."""


def load_run(folder: RunFolder) -> Run:
    """Read a run back and compute everything anew.

    Raises:
        RecordError: the run was made by a version whose notes this one cannot read.
        DamagedError: a sealed file is not what it was.
    """
    facts = folder.read_facts()
    plan = Plan.model_validate_json(json.dumps(facts["plan"]))
    visits = [load_visit(folder.cell(key)) for key in folder.sealed]
    asked = plan.repeats.interval_ratio
    cells = tuple(_cells(visits, None if asked is None else float(asked)))
    cliffs = tuple(_cliffs(cells))
    return Run(
        run_id=folder.run_id,
        plan=plan,
        facts=facts,
        environments=folder.read_environment(),
        cells=tuple(_marked(cell, cliffs) for cell in cells),
        cliffs=cliffs,
        failed=tuple(_failed(folder)),
        finished=folder.finished,
        remarks=tuple(_remarks(folder)),
    )


def _failed(folder: RunFolder) -> Iterator[tuple[str, str]]:
    """Yield the cells whose last attempt failed: one that was measured after all came to something."""
    for key, state in folder.state.cells.items():
        if state.status is CellStatus.FAILED:
            yield key, f"{state.reason}: {state.detail}"


def _remarks(folder: RunFolder) -> Iterator[tuple[str, str]]:
    for line in folder.lines:
        if line.kind == Warned.kind:
            said = line.read(Warned)
            yield said.code, said.detail


def load_visit(cell: StoredCell) -> VisitResult:
    """Read one sealed cell back."""
    try:
        note = parse(CellNote, cell.read_bytes(f"{CELL_NOTE}.json"))
        read = [
            (parse(RoundNote, cell.read_bytes(f"round-{number:02d}.json")), cell.read_round(number))
            for number in cell.rounds
        ]
    except ValueError as error:
        raise RecordError(
            f"cell {cell.state.key}: its notes are not what this version of kbtool writes: {error}; "
            "read the run with the version that run.json names"
        ) from error
    measured = [trace for each, traces in read if each.phase == "measured" for trace in traces]
    repeats = [traces for each, traces in read if each.phase == "sanity"]
    return VisitResult(
        key=cell.state.key,
        note=note,
        rounds=tuple(round_result(each, traces) for each, traces in read if each.phase == "measured"),
        warm_up=tuple(round_result(each, traces) for each, traces in read if each.phase == "warm_up"),
        sanity=check_outputs(measured, repeats),
    )


def round_result(note: RoundNote, traces: Sequence[RequestTrace]) -> RoundResult:
    """Compute everything that one round shows."""
    found = reconcile(traces, _totals(note.counters, after=False), _totals(note.counters, after=True))
    before, after = _drafts(note.counters, after=False), _drafts(note.counters, after=True)
    foreign = found.state == "foreign_traffic"
    speculation = speculation_verdict(before, after, speculates=note.speculates, foreign_traffic=foreign)
    context = replace(note.context, observed=in_order({*note.context.observed, *found.warnings}))
    return RoundResult(
        note, round_figures(traces, context), found, speculation, split_of(note), tuple(_turns(note, traces))
    )


def split_of(note: RoundNote) -> Split | None:
    """Return what each instance took of a round's load, by its own counters."""
    if len(note.counters) < 2:
        return None
    return split(
        {each.endpoint: each.before for each in note.counters},
        {each.endpoint: each.after for each in note.counters},
    )


def shares_of(splits: Sequence[Split | None]) -> tuple[tuple[str, int], ...]:
    """Return what each instance served in some rounds together; empty where one of them is not known.

    Rounds are added up only where the same was counted in all of them.
    """
    if not splits or None in splits or len({each.counted for each in splits if each is not None}) != 1:
        return ()
    total: dict[str, int] = {}
    for each in splits:
        for name, amount in each.amounts.items() if each is not None else ():
            if amount is None:
                return ()
            total[name] = total.get(name, 0) + amount
    return tuple(total.items())


def affinity_of(rounds: Iterable[Sequence[TurnSeen]]) -> AffinitySeen:
    """Return how many later turns found their own conversation's cache.

    What first turns find already, such as a system prompt that all conversations share, lies on every instance and
    shows nothing: it is taken off.
    """
    return affinity(turn for turns in rounds for turn in _own(turns))


def _own(turns: Sequence[TurnSeen]) -> Iterator[TurnSeen]:
    shared_tok = max((each.cached_tok or 0 for each in turns if each.turn == 1), default=0)
    for each in turns:
        cached_tok = None if each.cached_tok is None else max(0, each.cached_tok - shared_tok)
        own_tok = round((each.prompt_tok - shared_tok) * _WHOLE_BLOCKS_RATIO)
        yield replace(each, prompt_tok=own_tok, cached_tok=cached_tok)


def _turns(note: RoundNote, traces: Sequence[RequestTrace]) -> Iterator[TurnSeen]:
    if all(each.turn == 1 for each in traces):
        return
    for each in traces:
        if each.outcome is Outcome.OK and each.usage is not None:
            session = f"{note.number}/{each.stream}"
            yield TurnSeen(session, each.turn, each.usage.prompt_tok, each.usage.cached_tok)


def _cells(visits: Iterable[VisitResult], asked_ratio: float | None) -> Iterator[CellResult]:
    """Put the visits to one cell under one setting together; the legs of the base are one setting."""

    def which(visit: VisitResult) -> tuple[str, str]:
        return visit.note.visit.leg, visit.note.visit.cell.name

    first: dict[tuple[str, str], int] = {}
    for visit in visits:
        first.setdefault(which(visit), visit.note.visit.number)
    ordered = sorted(visits, key=lambda each: (first[which(each)], each.note.visit.number))
    for (leg, _), several in groupby(ordered, key=which):
        together = tuple(several)
        about = together[0].note.visit
        yield CellResult(
            leg=leg,
            setting=None if about.is_base else about.setting,
            value=None if about.is_base else about.value,
            cell=about.cell,
            visits=together,
            summary=_summary(together, asked_ratio),
        )


def _summary(visits: Sequence[VisitResult], asked_ratio: float | None) -> CellSummary:
    rounds = _numbered([each.figures for visit in visits for each in visit.rounds])
    sanity = Sanity(
        n_checked=sum(visit.sanity.n_checked for visit in visits),
        garbage=tuple(each for visit in visits for each in visit.sanity.garbage),
        truncated=tuple(each for visit in visits for each in visit.sanity.truncated),
        repeatable_ratio=min(
            (visit.sanity.repeatable_ratio for visit in visits if visit.sanity.repeatable_ratio is not None),
            default=None,
        ),
    )
    extended = any(visit.note.ended_because in _EXTENDED for visit in visits)
    return summarize(rounds, sanity=sanity, asked_ratio=asked_ratio or DEFAULT_RATIO, extended=extended)


def _numbered(rounds: Sequence[RoundFigures]) -> list[RoundFigures]:
    """Return the rounds numbered through: two visits to a cell under one start of the servers both begin at 1."""
    return [
        replace(each, context=replace(each.context, round=number))
        for number, each in enumerate(rounds, start=1)
    ]


def _cliffs(cells: Sequence[CellResult]) -> Iterator[SweepCliff]:
    closed = [cell for cell in cells if cell.cell.kind == "concurrency" and not cell.cell.straight_to]
    keys = dict.fromkeys((cell.leg, cell.cell.workload) for cell in closed)
    for leg, workload in keys:
        sweep = {
            cell.cell.streams: throughputs
            for cell in closed
            if (cell.leg, cell.cell.workload) == (leg, workload)
            and (throughputs := throughputs_of(cell.rounds))
        }
        for cliff in find_cliffs(sweep):
            yield SweepCliff(leg, workload, cliff)


def throughputs_of(rounds: Iterable[RoundResult]) -> list[float]:
    """Return the output throughput of each round that has one, tok/s."""
    samples = (each.figures.sample(THROUGHPUT, "single") for each in rounds)
    return [each.value for each in samples if each is not None]


def _marked(cell: CellResult, cliffs: Sequence[SweepCliff]) -> CellResult:
    """Return the cell with the warning of a severe cliff that it lies behind."""
    behind = any(
        each.cliff.severe
        and (each.leg, each.workload) == (cell.leg, cell.cell.workload)
        and cell.cell.streams == each.cliff.first_bad
        for each in cliffs
    )
    if not behind or cell.cell.kind != "concurrency":
        return cell
    code = WarningCode.GRAPH_CLIFF
    measurements = tuple(
        replace(each, warnings=in_order({*each.warnings, code})) for each in cell.summary.measurements
    )
    summary = replace(
        cell.summary, measurements=measurements, warnings=in_order({*cell.summary.warnings, code})
    )
    return replace(cell, summary=summary)


def _readings(counters: Sequence[EndpointCounters], *, after: bool) -> list[Counters] | None:
    """Return the readings of all servers, or None where one is missing: a part of a sum is no sum."""
    found = [each.after if after else each.before for each in counters]
    known = [each for each in found if each is not None]
    return known if known and len(known) == len(found) else None


def _sum(readings: Sequence[Counters], name: str) -> float | None:
    values = [getattr(each, name) for each in readings]
    return None if any(each is None for each in values) else float(sum(values))


def _totals(counters: Sequence[EndpointCounters], *, after: bool) -> ServerTotals | None:
    readings = _readings(counters, after=after)
    if readings is None:
        return None
    return ServerTotals(
        input_tok=_sum(readings, "prompt_tok"),
        output_tok=_sum(readings, "generation_tok"),
        requests=_sum(readings, "requests_finished"),
    )


def _drafts(counters: Sequence[EndpointCounters], *, after: bool) -> SpeculationCounters | None:
    readings = _readings(counters, after=after)
    if readings is None:
        return None
    positions = [each.accepted_per_position for each in readings]
    return SpeculationCounters(
        drafts=_sum(readings, "drafts"),
        draft_tok=_sum(readings, "draft_tok"),
        accepted_tok=_sum(readings, "accepted_draft_tok"),
        accepted_tok_by_position=tuple(float(sum(each)) for each in zip(*positions, strict=False)),
    )
