"""The columns of the tables that list records, and the cells of each record in them."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from kbtool.schema import Accelerator, Benchmark, Engine, Gotcha, Interconnect, Model, Record, Source
from kbtool.schema.benchmark import Result
from kbtool.schema.common import Figure
from kbtool.site.views.text import Quantity, counted, figure_quantity, published_text, result_quantity, words
from kbtool.vocab import METRICS
from kbtool.vocab.closed import titled

__all__ = ["COLUMNS", "Cell", "Column", "cells_of", "headline_of", "results_in_order"]


class Column(NamedTuple):
    """A column of the tables that list one kind of record."""

    title: str
    number: bool = False
    """Whether it sorts by number."""
    is_value: bool = False
    """Whether it holds figures rather than conditions: a draft's are marked."""
    facet: bool = False
    """Whether readers filter by it."""


class Cell(NamedTuple):
    """One cell: text, or a link to another record behind a text."""

    text: str = ""
    unit: str = ""
    raw: str = ""
    """What to sort by, where that is not the text."""
    ref: str = ""
    """The record whose title follows the text."""


COLUMNS: Final[dict[str, tuple[Column, ...]]] = {
    "benchmark": (
        Column("Headline", number=True, is_value=True), Column("Metric", facet=True), Column("Concurrency", number=True),
        Column("Accelerators", facet=True), Column("Engine", facet=True), Column("Model", facet=True),
        Column("Measured by", facet=True),
    ),
    "accelerator": (
        Column("Vendor", facet=True), Column("Memory", number=True, is_value=True), Column("Bandwidth", number=True, is_value=True),
        Column("Power", number=True, is_value=True), Column("Form", facet=True),
    ),
    "interconnect": (
        Column("Vendor", facet=True), Column("Joins", facet=True), Column("Generation"),
        Column("Per device and direction", number=True, is_value=True),
    ),
    "engine": (Column("Maintainer"), Column("Licence", facet=True)),
    "model": (
        Column("Published by", facet=True), Column("Architecture", facet=True), Column("Parameters", number=True, is_value=True),
        Column("Active", number=True, is_value=True), Column("Context", number=True, is_value=True),
    ),
    "source": (
        Column("What it is", facet=True), Column("Publisher", facet=True), Column("Interest", facet=True),
        Column("Published"), Column("Read"),
    ),
    "gotcha": (Column("Kind of trap", facet=True), Column("Engine", facet=True), Column("What one sees")),
}  # fmt: skip
"""Kind -> columns between the title and the status."""


def cells_of(record: Record) -> tuple[Cell, ...]:
    """Return one cell for each of the columns of the record's kind."""
    return _CELLS[type(record)](record)


def headline_of(record: Benchmark) -> Result | None:
    """Return the result that stands for the record; None where the record names none of its results."""
    return next((each for each in record.results if each.id == record.headline), None)


def results_in_order(record: Benchmark) -> list[Result]:
    """Return the results by metric, the headline's first, so that what compares stands together."""
    head = headline_of(record)
    place: dict[str, int] = {head.metric: 0} if head else {}
    for result in record.results:
        place.setdefault(result.metric, len(place))
    return sorted(record.results, key=lambda each: place[each.metric])


def _amount(figure: Figure | None, unit: str) -> Cell:
    if figure is None:
        return Cell()
    text, symbol, sign, _, raw = figure_quantity(figure, unit)
    return Cell(f"{sign} {text}" if sign else text, symbol, raw)


def _parameters(figure: Figure | None) -> Cell:
    """Return a count of parameters as its source prints it: `284B` is read at a glance, twelve digits are not."""
    cell = _amount(figure, "")
    return cell._replace(text=figure.as_published) if figure and figure.as_published else cell


def _benchmark_cells(record: Benchmark) -> tuple[Cell, ...]:
    head = headline_of(record)
    count = record.system.accelerator_count
    metric = METRICS.get(head.metric) if head else None
    concurrency = head.at.concurrency if head else None
    text, unit, sign, _, raw = result_quantity(head) if head else Quantity("")
    return (
        Cell(f"{sign} {text}" if sign else text, unit, raw),
        Cell(titled(metric.title if metric else head.metric, record.comparison_class) if head else ""),
        Cell(counted(concurrency), raw=str(concurrency)) if concurrency else Cell(),
        Cell(f"{count} \N{MULTIPLICATION SIGN}" if count else "", ref=record.system.accelerator),
        Cell(ref=record.engine.engine),
        Cell(ref=record.model.model),
        Cell(words(record.measured.by)),
    )


def _accelerator_cells(record: Accelerator) -> tuple[Cell, ...]:
    return (
        Cell(record.vendor),
        _amount(record.memory.capacity_gb, "GB"),
        _amount(record.memory.bandwidth_gb_s, "GB/s"),
        _amount(record.power.default_w, "W"),
        Cell(words(record.form)),
    )


def _interconnect_cells(record: Interconnect) -> tuple[Cell, ...]:
    per_device = next(
        (
            each.gb_s
            for each in record.bandwidth
            if (each.scope, each.direction, each.measured) == ("per_device", "per_direction", False)
        ),
        None,
    )
    return (
        Cell(record.vendor or ""),
        Cell(words(record.role)),
        Cell(record.generation or ""),
        _amount(per_device, "GB/s"),
    )


def _engine_cells(record: Engine) -> tuple[Cell, ...]:
    return (Cell(record.maintainer or ""), Cell(record.licence.value if record.licence else ""))


def _model_cells(record: Model) -> tuple[Cell, ...]:
    return (
        Cell(record.organisation),
        Cell(words(record.architecture)),
        _parameters(record.total_parameters),
        _parameters(record.active_parameters),
        _amount(record.context_tok, "tok"),
    )


def _source_cells(record: Source) -> tuple[Cell, ...]:
    return (
        Cell(words(record.source_kind)),
        Cell(record.publisher),
        Cell(words(record.interest)),
        Cell(published_text(record)),
        Cell(record.accessed.isoformat()),
    )


def _gotcha_cells(record: Gotcha) -> tuple[Cell, ...]:
    engine = next((each.engine for each in record.affected if each.engine), "")
    return (Cell(words(record.trap_class)), Cell(ref=engine), Cell(record.symptom))


_CELLS: Final[dict[type[Record], Callable[[Any], tuple[Cell, ...]]]] = {
    Benchmark: _benchmark_cells,
    Accelerator: _accelerator_cells,
    Interconnect: _interconnect_cells,
    Engine: _engine_cells,
    Model: _model_cells,
    Source: _source_cells,
    Gotcha: _gotcha_cells,
}
