"""Plots of a whole workload: figures by number of users, offered rate, prompt length and turn."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kbtool.runner.metrics import Measurement
from kbtool.runner.report.charts import About, Mark, Point, Series, sweep
from kbtool.runner.report.choose import CENTRAL, Group, central, statistics_for
from kbtool.runner.report.figure import SERIES, CsvData, CsvValue, Figure, legend_of, spaced
from kbtool.runner.report.model import Column, DataTable, Entry
from kbtool.runner.report.numbers import (
    counted,
    cut,
    interval_of,
    percent,
    short_title,
    shown,
    statistic_words,
    unit_of,
)
from kbtool.runner.report.plots_turns import turn_figures
from kbtool.runner.report.raw import CellRaw
from kbtool.runner.report.results import setting_words
from kbtool.runner.results import CellResult, Run
from kbtool.vocab.metrics import METRICS

__all__ = ["load_figures"]

Numbered = tuple[int, CellResult]
INTERVALS: Final = "Bars: 95 % intervals; one that ends at the edge of the plot goes on."

_EVEN_ALONE: Final = frozenset({"goodput_req_s", "prefill_tok_s"})
"""Metrics that are drawn even where there is a single rate or length."""
_Found = tuple[int, CellResult, Measurement]
"""Number of a cell, the cell, and its number."""


@dataclass(frozen=True, slots=True)
class _Lines:
    """Which cells make which line, and over what."""

    x_title: str
    x_unit: str
    x_of: Callable[[CellResult], float]
    label_of: Callable[[CellResult], str]


def load_figures(
    run: Run, workload: str, cells: Sequence[Numbered], raws: Sequence[CellRaw]
) -> Iterator[Figure]:
    """Yield the plots of a workload.

    Args:
        run: The run.
        workload: Key of the workload in the page.
        cells: Its cells with their numbers; at least one.
        raws: What the raw rounds showed, in the order of `Run.cells`.
    """
    loaded = [each for each in cells if each[1].cell.straight_to is None]
    kind = cells[0][1].cell.kind
    if kind == "concurrency":
        lines = _Lines("Users at once", "", lambda cell: float(cell.cell.streams), setting_words)
        marks = _cliff_marks(run, cells[0][1].cell.workload)
        yield from _figures(
            f"{workload}-users", loaded, lines, ("output_tok_s", "tok_s_per_user", "ttft_ms"), marks
        )
    elif kind == "rate":
        lines = _Lines("Offered rate", "req/s", lambda cell: cell.cell.rate_req_s or 0.0, setting_words)
        yield from _figures(
            f"{workload}-rate", loaded, lines, ("goodput_req_s", "req_s", "ttft_ms", "e2el_ms"), ()
        )
    elif kind == "prefill":
        lines = _Lines("Prompt length", "tok", lambda cell: float(cell.cell.input_tok), _cache_and_setting)
        yield from _figures(f"{workload}-length", loaded, lines, ("prefill_tok_s", "ttft_ms"), ())
    elif kind == "conversation":
        turns = [(cell, raws[index].turns) for index, cell in loaded if raws[index].turns]
        if turns:
            yield from turn_figures(f"{workload}-turns", turns)


def _cache_and_setting(cell: CellResult) -> str:
    return cell.cell.cache if cell.setting is None else f"{cell.cell.cache}, {setting_words(cell)}"


def _cliff_marks(run: Run, workload: str) -> tuple[Mark, ...]:
    found: dict[int, list[str]] = {}
    for each in run.cliffs:
        if each.workload == workload:
            leg = "" if each.leg == "base" else f" ({cut(each.leg, 24)})"
            found.setdefault(each.cliff.first_bad, []).append(f"{percent(each.cliff.ratio)} left{leg}")
    return tuple(
        Mark(float(users), f"cliff: {said[0]}{f' and {len(said) - 1} more' if len(said) > 1 else ''}")
        for users, said in found.items()
    )


def _figures(
    key: str, cells: Sequence[Numbered], lines: _Lines, metrics: Sequence[str], marks: Sequence[Mark]
) -> Iterator[Figure]:
    for metric in metrics:
        made = _figure(key, cells, lines, metric, marks if metric == "output_tok_s" else ())
        if made is not None:
            yield made


def _figure(
    key: str, cells: Sequence[Numbered], lines: _Lines, metric: str, marks: Sequence[Mark]
) -> Figure | None:
    groups = _groups(metric, cells)
    found = [(index, cell, number) for index, cell in cells if (number := central(cell, metric, groups))]
    one_place = len({lines.x_of(cell) for _, cell, _ in found}) < 2
    if not found or (one_place and metric not in _EVEN_ALONE):
        return None
    labels = list(dict.fromkeys(lines.label_of(cell) for _, cell, _ in found))
    kept = spaced(labels, SERIES)
    series = tuple(_series(label, found, lines) for label in kept)
    title = f"{short_title(metric)} by {lines.x_title.lower()}"
    key = f"{key}-{metric.replace('_', '-')}"
    unit = unit_of(metric) or METRICS[metric].unit
    y_label = f"{short_title(metric)}, {statistic_words(found[0][2].statistic)}, {unit}"
    about = About(key, title, _with_unit(lines.x_title, lines.x_unit), y_label)
    rate = metric.endswith("req_s")
    svg = sweep(about, series, marks=marks, log_y=metric.endswith("_ms"), labels=True, diagonal=rate)
    caption = f"{METRICS[metric].title}: {METRICS[metric].formula}. {INTERVALS}"
    caption += (
        f" {len(labels) - len(kept)} settings are in the table alone." if len(labels) > len(kept) else ""
    )
    caption += _slos(cells) if metric == "goodput_req_s" else ""
    caption += " Grey line: as many as offered." if rate else ""
    return Figure(
        key, title, caption, svg, legend_of(kept), _table(key, found, lines, metric), _csv(key, found, lines)
    )


def _series(label: str, found: Sequence[_Found], lines: _Lines) -> Series:
    points = [_point(cell, number, lines) for _, cell, number in found if lines.label_of(cell) == label]
    return Series(label, tuple(sorted(points, key=_x)))


def _groups(metric: str, cells: Sequence[Numbered]) -> Sequence[Group]:
    """Return the statistics to look for: one that all cells have, so that a line joins equals."""
    group = statistics_for([cell for _, cell in cells], metric, CENTRAL)
    return (group,) if group else ()


def _x(point: Point) -> float:
    return point.x


def _point(cell: CellResult, number: Measurement, lines: _Lines) -> Point:
    x = lines.x_of(cell)
    unit = unit_of(number.metric)
    tip = f"{cell.name}: {shown(number.value)} {unit} ({interval_of(number)}), n {number.n_samples:,}, {counted(number.n_rounds, 'round')}"
    return Point(x, number.value, tip, number.low, number.high, hollow=False)


def _with_unit(title: str, unit: str) -> str:
    return f"{title}, {unit}" if unit else title


def _slos(cells: Sequence[Numbered]) -> str:
    limits = dict.fromkeys(
        f"{short_title(metric)} {_bound(metric)} {limit:g} {unit_of(metric)}"
        for _, cell in cells
        for metric, limit in cell.cell.slo
    )
    return f" A request is good if {' and '.join(limits)}." if limits else ""


def _bound(metric: str) -> str:
    return "at least" if METRICS[metric].direction == "higher" else "at most"


def _table(key: str, found: Sequence[_Found], lines: _Lines, metric: str) -> DataTable:
    columns = (
        Column("Cell", align="left"),
        Column("Setting", align="left"),
        Column(lines.x_title, lines.x_unit),
        Column(short_title(metric), unit_of(metric), main=True),
        Column("95 % interval", unit_of(metric)),
        Column("n"),
        Column("Rounds"),
    )
    rows = tuple(
        (
            Entry(cell.name, cell=index),
            Entry(lines.label_of(cell)),
            Entry(
                shown(lines.x_of(cell)) if lines.x_of(cell) % 1 else f"{lines.x_of(cell):,.0f}",
                value=lines.x_of(cell),
            ),
            Entry(shown(number.value), statistic_words(number.statistic), number.value, number.warnings),
            Entry(interval_of(number)),
            Entry(f"{number.n_samples:,}", value=float(number.n_samples)),
            Entry(f"{number.n_rounds}", value=float(number.n_rounds)),
        )
        for index, cell, number in found
    )
    return DataTable(f"{key}-table", "Figures", columns, rows)


def _csv(key: str, found: Sequence[_Found], lines: _Lines) -> CsvData:
    columns = (
        "cell",
        "setting",
        lines.x_title,
        "metric",
        "unit",
        "statistic",
        "value",
        "ci95_low",
        "ci95_high",
        "n",
        "rounds",
        "sessions",
        "spread_stdev",
        "warnings",
    )
    rows: tuple[tuple[CsvValue, ...], ...] = tuple(
        (
            cell.name, lines.label_of(cell), lines.x_of(cell), number.metric, METRICS[number.metric].unit, number.statistic,
            number.value, number.low, number.high, number.n_samples, number.n_rounds, number.n_sessions,
            number.spread_stdev, " ".join(each.value for each in number.warnings),
        )
        for _, cell, number in found
    )  # fmt: skip
    return CsvData(key, columns, rows, "All of it. The requests behind it: cells/*/round-*.requests.parquet")
