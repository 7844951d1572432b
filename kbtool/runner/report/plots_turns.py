"""Plots of conversations: what each turn waited for, and how much of it was known from the turns before."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from kbtool.runner.report.charts import About, Point, Series, sweep
from kbtool.runner.report.figure import SERIES, CsvData, CsvValue, Figure, legend_of, spaced
from kbtool.runner.report.model import Column, DataTable, Entry
from kbtool.runner.report.numbers import shown
from kbtool.runner.report.raw import Turn
from kbtool.runner.results import CellResult
from kbtool.runner.stats import median

__all__ = ["turn_figures"]

_COLUMNS: Final = (
    Column("Cell", align="left"),
    Column("Turn"),
    Column("Median", main=True),
    Column("Least"),
    Column("Most"),
    Column("n"),
)
_CAPTION: Final = (
    "Bars reach from the least to the most of all requests of a turn. From the second turn on, what came before "
    "can come from the cache."
)
_Row = tuple[CellResult, int, list[float]]
"""A cell, the turn, and the values of all its requests, ascending."""


def turn_figures(key: str, found: Sequence[tuple[CellResult, Sequence[Turn]]]) -> Iterator[Figure]:
    """Yield TTFT and, where the server reports it, the cached share of the input by turn of the conversation."""
    yield _figure(
        f"{key}-ttft", "TTFT by turn", "TTFT, median, ms", found, lambda each: each.ttft_ms, log_y=True
    )
    if any(each.cached_ratio is not None for _, turns in found for each in turns):
        title = "Input from the cache by turn"
        yield _figure(
            f"{key}-cached",
            title,
            "Cached share of the input, median, ratio",
            found,
            lambda each: each.cached_ratio,
            log_y=False,
        )


def _figure(
    key: str,
    title: str,
    y_label: str,
    found: Sequence[tuple[CellResult, Sequence[Turn]]],
    value_of: Callable[[Turn], float | None],
    *,
    log_y: bool,
) -> Figure:
    rows = [(cell, turn, values) for cell, turns in found for turn, values in _by_turn(turns, value_of)]
    series = tuple(
        Series(
            cell.name, tuple(_turn_point(each, turn, values) for each, turn, values in rows if each is cell)
        )
        for cell, _ in spaced(found, SERIES)
    )
    about = About(key, title, "Turn of the conversation", y_label)
    svg = sweep(about, series, log_y=log_y, even=True, labels=True)
    legend = legend_of(each.label for each in series)
    return Figure(key, title, _CAPTION, svg, legend, _table(key, rows), _csv(key, rows))


def _table(key: str, rows: Sequence[_Row]) -> DataTable:
    table = tuple(
        (
            Entry(cell.name),
            Entry(f"{turn}", value=float(turn)),
            Entry(shown(median(values)), value=median(values)),
            Entry(shown(values[0]), value=values[0]),
            Entry(shown(values[-1]), value=values[-1]),
            Entry(f"{len(values):,}", value=float(len(values))),
        )
        for cell, turn, values in rows
    )
    return DataTable(f"{key}-table", "Figures", _COLUMNS, table)


def _csv(key: str, rows: Sequence[_Row]) -> CsvData:
    found: tuple[tuple[CsvValue, ...], ...] = tuple(
        (cell.name, turn, median(values), values[0], values[-1], len(values)) for cell, turn, values in rows
    )
    source = "All turns. Single requests: cells/*/round-*.requests.parquet"
    return CsvData(key, ("cell", "turn", "median", "least", "most", "n"), found, source)


def _by_turn(
    turns: Sequence[Turn], value_of: Callable[[Turn], float | None]
) -> Iterator[tuple[int, list[float]]]:
    for turn in sorted({each.turn for each in turns}):
        values = sorted(
            value for each in turns if each.turn == turn and (value := value_of(each)) is not None
        )
        if values:
            yield turn, values


def _turn_point(cell: CellResult, turn: int, values: Sequence[float]) -> Point:
    tip = f"{cell.name}, turn {turn}: median {shown(median(values))}, {shown(values[0])} to {shown(values[-1])}, n {len(values):,}"
    return Point(float(turn), median(values), tip, values[0], values[-1])
