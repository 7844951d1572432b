"""Plots of one cell: tokens of single requests over time, and its figure round by round."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from kbtool.runner.folder import RunFolder
from kbtool.runner.report.charts import About, Mark, Point, Series, Stairs, stairs, sweep
from kbtool.runner.report.choose import head_of, round_value
from kbtool.runner.report.figure import CsvData, Figure
from kbtool.runner.report.model import Column, DataTable, Entry
from kbtool.runner.report.numbers import NONE, cut, short_title, shown, statistic_words, unit_of
from kbtool.runner.report.raw import CellRaw, RequestTimeline
from kbtool.runner.results import CellResult, RoundResult, VisitResult
from kbtool.vocab.terms import Statistic

__all__ = ["MAX_STEPS", "round_figure", "thinned", "timeline_figure"]

MAX_STEPS: Final = 200
KEPT_GAPS: Final = 20


def timeline_figure(key: str, raw: CellRaw) -> Figure | None:
    """Return tokens over time of one typical and one worst request, or None where no request is known."""
    found = [
        (name, each) for name, each in (("typical", raw.typical), ("worst", raw.worst)) if each is not None
    ]
    if len(found) > 1 and found[0][1].id == found[1][1].id:
        found = [("typical and worst", found[0][1])]
    if not found:
        return None
    key = f"{key}-tokens"
    counted = all(each.counted for _, each in found)
    title = "Tokens of two requests over time" if len(found) > 1 else "Tokens of one request over time"
    unit, factor = ("ms", 1000.0) if max(each.steps[-1][0] for _, each in found) < 2 else ("s", 1.0)
    y_label = "Tokens received" if counted else "Arrivals of text"
    about = About(key, title, f"Time since the request was sent, {unit}", y_label)
    svg = stairs(about, [_stairs(each.steps, factor) for _, each in found])
    told = (
        "" if counted else " The server does not say how many tokens an event holds, so arrivals are counted."
    )
    caption = (
        f"Typical: latency nearest to the median. Worst: longest gap between two arrivals, drawn thick.{told}"
    )
    legend = tuple(
        (number, f"{name}: {cut(each.id, 80)}, {shown(each.e2el_ms)} ms")
        for number, (name, each) in enumerate(found, start=1)
    )
    table, data = _timeline_table(key, found), _timeline_csv(key, found, counted=counted)
    return Figure(key, title, caption, svg, legend, table, data)


def _timeline_csv(key: str, found: Sequence[tuple[str, RequestTimeline]], *, counted: bool) -> CsvData:
    rows = tuple((name, each.id, t_s, tok) for name, each in found for t_s, tok in thinned(each.steps))
    whole = len(rows) == sum(len(each.steps) for _, each in found)
    few = f"at most {MAX_STEPS} arrivals of a request, evenly spaced, and both ends of its {KEPT_GAPS} longest gaps"
    places = dict.fromkeys(f"{each.folder}/round-{each.round:02d}.events.parquet" for _, each in found)
    source = f"Here: {'every arrival' if whole else few}. All: {' and '.join(places)}"
    return CsvData(key, ("request", "id", "s_since_sent", "tokens" if counted else "arrivals"), rows, source)


def _stairs(steps: Sequence[tuple[float, int]], factor: float) -> Stairs:
    gap = _gap(steps)
    points = tuple((t_s * factor, float(tok)) for t_s, tok in thinned(steps))
    if gap is None:
        return Stairs(points, None, "")
    return Stairs(points, (gap[0] * factor, gap[1] * factor), f"{shown((gap[1] - gap[0]) * 1000)} ms")


def _gap(steps: Sequence[tuple[float, int]]) -> tuple[float, float] | None:
    if len(steps) < 2:
        return None
    before, after = max(pairwise(steps), key=lambda pair: pair[1][0] - pair[0][0])
    return before[0], after[0]


def thinned(steps: Sequence[tuple[float, int]]) -> list[tuple[float, int]]:
    """Return arrivals of which few enough are left to be drawn, the longest gaps whole."""
    if len(steps) <= MAX_STEPS:
        return list(steps)
    last = len(steps) - 1
    kept = {round(at * last / (MAX_STEPS - 1)) for at in range(MAX_STEPS)}
    longest = sorted(range(last), key=lambda at: (steps[at][0] - steps[at + 1][0], at))[:KEPT_GAPS]
    kept |= {place for at in longest for place in (at, at + 1)}
    return [steps[at] for at in sorted(kept)]


def _timeline_table(key: str, found: Sequence[tuple[str, RequestTimeline]]) -> DataTable:
    columns = (
        Column("Request", align="left"),
        Column("Id", align="left"),
        Column("First text", "ms"),
        Column("Longest gap", "ms", main=True),
        Column("at", "ms"),
        Column("Arrivals"),
        Column("Tokens"),
        Column("Latency", "ms"),
    )
    rows = []
    for name, each in found:
        gap = _gap(each.steps)
        rows.append(
            (
                Entry(name),
                Entry(cut(each.id, 80)),
                Entry(shown(each.steps[0][0] * 1000), value=each.steps[0][0] * 1000),
                Entry(NONE)
                if gap is None
                else Entry(shown((gap[1] - gap[0]) * 1000), value=(gap[1] - gap[0]) * 1000),
                Entry(NONE) if gap is None else Entry(shown(gap[0] * 1000), value=gap[0] * 1000),
                Entry(f"{len(each.steps):,}", value=float(len(each.steps))),
                Entry(
                    f"{each.steps[-1][1]:,}" if each.counted else NONE,
                    value=float(each.steps[-1][1]) if each.counted else None,
                ),
                Entry(shown(each.e2el_ms), value=each.e2el_ms),
            )
        )
    return DataTable(f"{key}-table", "Figures", columns, tuple(rows))


@dataclass(frozen=True, slots=True)
class _Round:
    """One round in the order in which they were made."""

    place: int
    visit: VisitResult
    result: RoundResult
    statistic: Statistic
    value: float
    n: int

    @property
    def measured(self) -> bool:
        """Whether it counts."""
        return self.result.note.phase == "measured"


def round_figure(key: str, cell: CellResult, folder: RunFolder) -> Figure | None:
    """Return the number that stands for a cell round by round, warm-up rounds included, or None where there is none."""
    head = head_of(cell)
    rounds = list(_rounds(cell, head.metric)) if head is not None else []
    if head is None or not rounds:
        return None
    key, unit, name = f"{key}-rounds", unit_of(head.metric), short_title(head.metric)
    how = "whole round" if rounds[-1].statistic == "single" else statistic_words(rounds[-1].statistic)
    about = About(
        key,
        f"{name}, round by round",
        "Round, in the order in which they were made",
        f"{name}, {how}, {unit}",
    )
    edges = [
        Mark(after.place - 0.5, _leg_words(after.visit), "edge")
        for before, after in pairwise(rounds)
        if before.visit is not after.visit
    ]
    band = None if head.low is None or head.high is None else (head.low, head.value, head.high)
    series = Series(cell.name, tuple(_point(each, unit) for each in rounds))
    svg = sweep(about, [series], even=True, marks=edges, band=band)
    number = statistic_words(head.statistic)
    shade = f" Line and shade: the cell's number ({number}) and its 95 % interval." if band else ""
    caption = f"Hollow: warm-up rounds, kept and in no number.{shade}"
    columns = (
        Column("Round"), Column("Session"), Column("Leg", align="left"), Column("Phase", align="left"),
        Column(name, unit, main=True), Column("n"), Column("Requests ok"), Column("Wall time", "s"),
        Column("Warnings", align="left"),
    )  # fmt: skip
    table = DataTable(f"{key}-table", "Figures", columns, tuple(_row(each) for each in rounds))
    return Figure(
        key,
        about.title,
        caption,
        svg,
        (),
        table,
        _rounds_csv(key, head.metric, rounds, _folders(cell, folder)),
    )


def _rounds_csv(key: str, metric: str, rounds: Sequence[_Round], folders: str) -> CsvData:
    rows = tuple(
        (
            each.result.note.number,
            each.visit.note.visit.session + 1,
            each.visit.note.visit.leg_number + 1,
            each.result.note.phase,
            each.value,
            each.n,
        )
        for each in rounds
    )
    return CsvData(
        key, ("round", "session", "leg", "phase", metric, "n"), rows, f"All rounds. Their requests: {folders}"
    )


def _folders(cell: CellResult, folder: RunFolder) -> str:
    names = [f"{folder.cell(visit.key).state.folder}/round-*.requests.parquet" for visit in cell.visits]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _rounds(cell: CellResult, metric: str) -> Iterator[_Round]:
    place = 0
    for visit in cell.visits:
        for result in sorted((*visit.warm_up, *visit.rounds), key=lambda each: each.note.number):
            found = round_value(result.figures, metric)
            if found is not None:
                place += 1
                yield _Round(place, visit, result, found.statistic, found.value, found.n)


def _leg_words(visit: VisitResult) -> str:
    return f"leg {visit.note.visit.leg_number + 1}"


def _point(each: _Round, unit: str) -> Point:
    phase = "" if each.measured else ", warm-up"
    tip = f"round {each.result.note.number}{phase}, {_leg_words(each.visit)}: {shown(each.value)} {unit}, n {each.n:,}"
    return Point(float(each.place), each.value, tip, hollow=not each.measured)


def _row(each: _Round) -> tuple[Entry, ...]:
    figures = each.result.figures
    return (
        Entry(f"{each.result.note.number}", value=float(each.result.note.number)),
        Entry(f"{each.visit.note.visit.session + 1}"),
        Entry(_leg_words(each.visit)),
        Entry(each.result.note.phase.replace("_", " ")),
        Entry(shown(each.value), value=each.value),
        Entry(f"{each.n:,}", value=float(each.n)),
        Entry(f"{figures.n_ok:,} of {figures.n_requests:,}"),
        Entry(shown(figures.wall_s), value=figures.wall_s),
        Entry(
            ", ".join(code.value.replace("_", " ") for code in figures.warnings), warnings=figures.warnings
        ),
    )
