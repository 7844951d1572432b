"""What is compared within a run: settings with their base, the base with itself, a control with the router, cliffs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from kbtool.runner.metrics import Measurement
from kbtool.runner.plan.model import Sweep
from kbtool.runner.report.choose import central, common_warnings, head_of, round_value
from kbtool.runner.report.model import Column, DataTable, Entry
from kbtool.runner.report.numbers import NONE, details, percent, short_title, shown, unit_of
from kbtool.runner.results import CellResult, Run, VisitResult
from kbtool.runner.stats import median

__all__ = ["VisitValue", "base_drift", "comparison_tables", "legs_of", "sweep_cells", "visit_value"]


@dataclass(frozen=True, slots=True)
class VisitValue:
    """What one visit to a cell showed of one metric."""

    value: float
    """Median over its rounds."""
    n_rounds: int


def comparison_tables(run: Run) -> Iterator[DataTable]:
    """Yield the comparisons that there are."""
    for number, sweep in enumerate(run.plan.sweeps):
        rows = [
            row
            for _, base, others in sweep_cells(run, sweep)
            if (row := _sweep_row(run, sweep, base, others))
        ]
        if rows:
            yield _sweep_table(f"sweep-{number}", run, sweep, rows)
    yield from _tables_with_rows(run)


def _tables_with_rows(run: Run) -> Iterator[DataTable]:
    for table in (_cliffs(run), _drift(run), _control(run)):
        if table.rows:
            yield table


def sweep_cells(run: Run, sweep: Sweep) -> Iterator[tuple[int, CellResult, dict[str, CellResult]]]:
    """Yield, for each cell of the base that the sweep repeats, its number, itself, and leg -> the same cell there."""
    others: dict[str, dict[str, CellResult]] = {}
    for cell in run.cells:
        if cell.setting is not None and cell.visits[0].note.visit.sweep == sweep.id:
            others.setdefault(cell.cell.name, {})[cell.leg] = cell
    for index, cell in enumerate(run.cells):
        if cell.setting is None and cell.cell.name in others:
            yield index, cell, others[cell.cell.name]


def visit_value(visit: VisitResult, metric: str) -> VisitValue | None:
    """Return the median of a metric over the rounds of one visit."""
    values = [found.value for each in visit.rounds if (found := round_value(each.figures, metric))]
    return VisitValue(median(values), len(values)) if values else None


def base_drift(cell: CellResult, metric: str) -> Iterator[tuple[int, VisitValue, VisitValue]]:
    """Yield session, first and last visit of each session in which a cell was visited more than once."""
    ordered = sorted(cell.visits, key=lambda each: (each.note.visit.session, each.note.visit.number))
    for session, visits in groupby(ordered, key=lambda each: each.note.visit.session):
        found = [value for each in visits if (value := visit_value(each, metric))]
        if len(found) > 1:
            yield session, found[0], found[-1]


def legs_of(run: Run, sweep: Sweep) -> list[tuple[str, str]]:
    """Return leg and value of a sweep, in the order of the plan."""
    legs = {
        cell.leg: (str(cell.value), [str(each.value) for each in sweep.values])
        for cell in run.cells
        if cell.setting is not None and cell.visits[0].note.visit.sweep == sweep.id
    }
    ordered = sorted(
        legs.items(), key=lambda item: item[1][1].index(item[1][0]) if item[1][0] in item[1][1] else 0
    )
    return [(leg, value) for leg, (value, _) in ordered]


def _sweep_table(key: str, run: Run, sweep: Sweep, rows: Sequence[tuple[Entry, ...]]) -> DataTable:
    columns = (
        Column("Cell", align="left"),
        Column("Metric", align="left"),
        Column(f"base first: {sweep.base}"),
        *(Column(f"{value}") for _, value in legs_of(run, sweep)),
        Column(f"base last: {sweep.base}"),
    )
    note = (
        "Base: median of the rounds of the first and of the last leg; where they differ, the machine drifted. Others: the "
        "cell's number, its ratio to all rounds of the base, and whether the 95 % intervals overlap; no claim is made "
        "from that."
    )
    return DataTable(key, f"Sweep {sweep.id}: {sweep.setting}", columns, tuple(rows), note)


def _sweep_row(run: Run, sweep: Sweep, base: CellResult, others: dict[str, CellResult]) -> tuple[Entry, ...]:
    head = head_of(base)
    if head is None:
        return ()
    values = [found for each in base.visits if (found := visit_value(each, head.metric))]
    ends = [
        Entry(shown(each.value), f"{each.n_rounds} rounds", each.value)
        for each in (values[:1] + values[1:][-1:])
    ]
    return (
        Entry(base.name, cell=run.cells.index(base)),
        Entry(short_title(head.metric), unit_of(head.metric)),
        ends[0] if ends else Entry(NONE),
        *(_against(run, others.get(leg), head) for leg, _ in legs_of(run, sweep)),
        ends[1] if len(ends) > 1 else Entry(NONE, "visited once"),
    )


def _against(run: Run, cell: CellResult | None, base: Measurement) -> Entry:
    if cell is None:
        return Entry(NONE, "not measured")
    found = cell.summary.measurement(base.metric, base.statistic) or central(cell, base.metric)
    if found is None:
        return Entry(NONE, "no number")
    ratio = f"{found.value / base.value:.3f} x base" if base.value else ""
    overlap = (
        ""
        if _overlap(found, base) is None
        else f", intervals {'overlap' if _overlap(found, base) else 'apart'}"
    )
    own = tuple(each for each in cell.summary.warnings if each not in common_warnings(run))
    return Entry(shown(found.value), f"{ratio}{overlap}", found.value, own)


def _overlap(one: Measurement, other: Measurement) -> bool | None:
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return None
    return one.low <= other.high and other.low <= one.high


def _cliffs(run: Run) -> DataTable:
    columns = (
        Column("Workload", align="left"),
        Column("Leg", align="left"),
        Column("Good up to", "users"),
        Column("Falls at", "users"),
        Column("Left of the best below", main=True),
        Column("", align="left"),
    )
    rows = tuple(
        (
            Entry(each.workload),
            Entry(each.leg),
            Entry(f"{each.cliff.last_good:,}", value=float(each.cliff.last_good)),
            Entry(f"{each.cliff.first_bad:,}", value=float(each.cliff.first_bad)),
            Entry(percent(each.cliff.ratio), value=each.cliff.ratio),
            Entry("severe: more than 30 % lost" if each.cliff.severe else "beyond the noise of the sweep"),
        )
        for each in run.cliffs
    )
    note = "Throughput that falls, instead of levelling off, as users are added: by 10 % or 3 x the variation at least."
    return DataTable("cliffs", "Cliffs", columns, rows, note)


def _drift(run: Run) -> DataTable:
    columns = (
        Column("Cell", align="left"),
        Column("Metric", align="left"),
        Column("Session"),
        Column("First visit"),
        Column("Last visit"),
        Column("Last / first", main=True),
    )
    rows = []
    for index, cell in enumerate(run.cells):
        head = head_of(cell) if cell.setting is None else None
        for session, first, last in base_drift(cell, head.metric) if head else ():
            ratio = last.value / first.value if first.value else None
            rows.append(
                (
                    Entry(cell.name, cell=index),
                    Entry(short_title(head.metric) if head else "", unit_of(head.metric) if head else ""),
                    Entry(f"{session + 1}"),
                    Entry(shown(first.value), f"{first.n_rounds} rounds", first.value),
                    Entry(shown(last.value), f"{last.n_rounds} rounds", last.value),
                    Entry(NONE if ratio is None else f"{ratio:.3f}", value=ratio),
                )
            )
    note = "The same cell under the same settings, at the start and at the end of a session: medians over rounds."
    return DataTable("drift", "Drift of the base between its first and last leg", columns, tuple(rows), note)


def _control(run: Run) -> DataTable:
    columns = (
        Column("Cell", align="left"),
        Column("Metric", align="left"),
        Column("Through the router"),
        Column("Straight"),
        Column("Router / straight", main=True),
    )
    known = {(cell.leg, cell.cell.name): cell for cell in run.cells}
    rows = []
    for index, cell in enumerate(run.cells):
        routed = (
            known.get((cell.leg, cell.cell.name.removesuffix("-straight"))) if cell.cell.straight_to else None
        )
        for metric in ("output_tok_s", "tok_s_per_user", "ttft_ms") if routed else ():
            through, straight = central(routed, metric) if routed else None, central(cell, metric)
            if through and straight and straight.value:
                ratio = through.value / straight.value
                rows.append(
                    (
                        Entry(cell.name, cell=index),
                        Entry(short_title(metric), unit_of(metric)),
                        Entry(shown(through.value), details(through), through.value),
                        Entry(shown(straight.value), details(straight), straight.value),
                        Entry(f"{ratio:.3f}", value=ratio),
                    )
                )
    note = (
        "The same load at one instance directly. Instances differ in number, so throughput need not be equal."
    )
    return DataTable("control", "Control: router against one instance", columns, tuple(rows), note)
