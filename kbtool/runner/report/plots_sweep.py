"""Plots of sweeps over settings: each cell's number under each value, as a share of its number under the base."""

from collections.abc import Iterator, Sequence
from typing import Final

from kbtool.runner.plan.model import Sweep
from kbtool.runner.report.charts import About, Point, Series, sweep
from kbtool.runner.report.choose import central, head_of
from kbtool.runner.report.compare import legs_of, sweep_cells, visit_value
from kbtool.runner.report.figure import SERIES, CsvData, CsvValue, Figure, legend_of, spaced
from kbtool.runner.report.model import Column, DataTable, Entry
from kbtool.runner.report.numbers import cut, short_title, shown
from kbtool.runner.results import CellResult, Run

__all__ = ["sweep_figures"]

_COLUMNS: Final = (
    Column("Cell", align="left"),
    Column("Metric", align="left"),
    Column("Leg", align="left"),
    Column("Value"),
    Column("of base", main=True),
    Column("Rounds"),
)

_Value = tuple[int, float, float, int]
"""Place on the axis, value, ratio to the base, rounds."""
_Row = tuple[int, CellResult, list[_Value]]
"""Number of a cell, the cell, and its values."""


def sweep_figures(run: Run) -> Iterator[Figure]:
    """Yield one plot a sweep that has cells under two values at least."""
    for number, each in enumerate(run.plan.sweeps):
        made = _figure(f"sweep-{number}-ratio", run, each)
        if made is not None:
            yield made


def _figure(key: str, run: Run, about: Sweep) -> Figure | None:
    legs = legs_of(run, about)
    names = ["base first", *(value for _, value in legs), "base last"]
    found = [
        (index, base, list(_values(base, others, [leg for leg, _ in legs])))
        for index, base, others in sweep_cells(run, about)
    ]
    found = [each for each in found if len(each[2]) > 1]
    if not found:
        return None
    kept = spaced(found, SERIES)
    series = tuple(_series(cell, values, names) for _, cell, values in kept)
    title = f"{cut(about.setting.rpartition('.')[2], 40)}: each cell against its base"
    what = About(
        key,
        title,
        f"{cut(about.setting, 50)}, in the order of the plan",
        "Number of the cell, ratio to all rounds of the base",
    )
    svg = sweep(what, series, even=True, names=[cut(name, 12) for name in names], from_zero=False)
    left = f" {len(found) - len(kept)} more cells are in the table alone." if len(found) > len(kept) else ""
    caption = f"Where base first and base last lie apart, the machine drifted, and a difference of that size shows nothing.{left}"
    legend = legend_of(each.label for each in series)
    return Figure(key, title, caption, svg, legend, _table(key, found, names), _csv(key, found, names))


def _series(cell: CellResult, values: Sequence[_Value], names: Sequence[str]) -> Series:
    points = tuple(
        Point(float(at), ratio, f"{cell.name}, {names[at - 1]}: {ratio:.3f} of base, {rounds} rounds")
        for at, _, ratio, rounds in values
    )
    return Series(cell.name, points)


def _table(key: str, found: Sequence[_Row], names: Sequence[str]) -> DataTable:
    rows = tuple(
        (
            Entry(cell.name, cell=index),
            Entry(_metric(cell)),
            Entry(names[at - 1]),
            Entry(shown(value), value=value),
            Entry(f"{ratio:.3f}", value=ratio),
            Entry(f"{rounds}"),
        )
        for index, cell, values in found
        for at, value, ratio, rounds in values
    )
    return DataTable(f"{key}-table", "Figures", _COLUMNS, rows)


def _csv(key: str, found: Sequence[_Row], names: Sequence[str]) -> CsvData:
    rows: tuple[tuple[CsvValue, ...], ...] = tuple(
        (cell.name, names[at - 1], value, ratio, rounds)
        for _, cell, values in found
        for at, value, ratio, rounds in values
    )
    source = "All of it. The requests behind it: cells/*/round-*.requests.parquet"
    return CsvData(key, ("cell", "leg", "value", "ratio_to_base", "rounds"), rows, source)


def _metric(cell: CellResult) -> str:
    head = head_of(cell)
    return short_title(head.metric) if head else ""


def _values(base: CellResult, others: dict[str, CellResult], legs: list[str]) -> Iterator[_Value]:
    """Yield place on the axis, value, ratio to the base and number of rounds."""
    head = head_of(base)
    if head is None or not head.value:
        return
    visits = [found for each in base.visits if (found := visit_value(each, head.metric))]
    if visits:
        yield 1, visits[0].value, visits[0].value / head.value, visits[0].n_rounds
    for place, leg in enumerate(legs, start=2):
        number = central(others[leg], head.metric) if leg in others else None
        if number is not None:
            yield place, number.value, number.value / head.value, number.n_rounds
    if len(visits) > 1:
        yield len(legs) + 2, visits[-1].value, visits[-1].value / head.value, visits[-1].n_rounds
