"""The pages of coverage: what was measured on what, model by model, and what to measure next."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from kbtool.analysis.coverage import Axis, Cell, Coverage, Measured, Missing, coverage, missing
from kbtool.site.cards import Card
from kbtool.site.places import UP, coverage_page, explorer, facet_slug
from kbtool.site.views.base import Link, to_record
from kbtool.site.views.lists import Option, is_open
from kbtool.site.views.text import listed, plural

__all__ = ["CoverageView", "ModelCoverage", "coverage_pages", "coverage_view", "measured_of"]

_MOST_EMPTY: Final = 12
_MOST_MISSING: Final = 24
_MOST_OF_MODEL: Final = 10
_MOST_NAMED: Final = 2
_LEVELS: Final = (1, 4, 10, 30)
"""Records from which a cell is drawn a shade darker."""
_AXES: Final[dict[Axis, str]] = {"engine": "engine", "model": "model"}

Find = Callable[[str], Card | None]


class CellView(NamedTuple):
    """One cell: records and results, how dark it is, and where the results are."""

    records: int
    results: int
    closed: int
    level: int
    href: str


class RowView(NamedTuple):
    """One accelerator."""

    accelerator: Link
    cells: tuple[CellView, ...]


class EmptyView(NamedTuple):
    """Things that nobody has measured together here, and why they are proposed."""

    things: tuple[Link, ...]
    why: str


class TableView(NamedTuple):
    """Accelerators against engines, or against models."""

    anchor: str
    title: str
    axis: str
    others: tuple[Link, ...]
    rows: tuple[RowView, ...]
    all_accelerators: int
    all_others: int
    empty: tuple[EmptyView, ...]
    all_empty: int


@dataclass(frozen=True, slots=True)
class CoverageView:
    """The first page."""

    models: tuple[Option, ...]
    """Every model that was measured, with its records and its page."""
    tables: tuple[TableView, ...]
    missing: tuple[EmptyView, ...]
    all_missing: int
    records: int
    results: int


@dataclass(frozen=True, slots=True)
class ModelCoverage:
    """What one model was measured on and with."""

    path: str
    title: str
    model: Link
    table: TableView
    missing: tuple[EmptyView, ...]
    all_missing: int
    records: int
    results: int
    all_results: str
    """Address of all of them in the explorer."""


def measured_of(cards: Iterable[Card]) -> list[Measured]:
    """Return what the records that stand measured on what: one entry a setup of a record."""
    found: list[Measured] = []
    for card in cards:
        if card.kind == "benchmark" and card.stands:
            setups: dict[tuple[str, str, str], int] = {}
            for _, *setup, results in card.measured:
                key = (setup[0], setup[1], setup[2])
                setups[key] = setups.get(key, 0) + results
            closed = not is_open(card)
            found += [Measured(card.ref, *key, results, closed) for key, results in setups.items()]
    return found


def coverage_view(measured: Sequence[Measured], find: Find) -> CoverageView:
    """Return the first page.

    Args:
        measured: What records measured on what.
        find: Returns the card of a reference.
    """
    everything = missing(measured)
    vendors = _vendors(measured, find)
    return CoverageView(
        models=tuple(_models(measured, find)),
        tables=tuple([_table(coverage(measured, axis, vendors), find, "") for axis in _AXES])
        if measured
        else (),
        missing=tuple([_missing(each, find, "") for each in everything[:_MOST_MISSING]]),
        all_missing=len(everything),
        records=len({each.record for each in measured}),
        results=sum(each.results for each in measured),
    )


def coverage_pages(measured: Sequence[Measured], find: Find) -> Iterator[ModelCoverage]:
    """Yield a page for each model that was measured."""
    vendors = _vendors(measured, find)
    absent: dict[str, list[Missing]] = {}
    for each in missing(measured):
        absent.setdefault(each.model, []).append(each)
    by_model: dict[str, list[Measured]] = {}
    for one in measured:
        by_model.setdefault(one.model, []).append(one)
    for model, found in sorted(by_model.items()):
        link = _link(model, find, UP)
        table = _table(coverage(found, "engine", vendors, shown=None), find, UP, model)
        yield ModelCoverage(
            path=coverage_page(model),
            title=f"Coverage of {link.text}",
            model=link,
            table=table._replace(empty=(), all_empty=0),
            missing=tuple([_missing(each, find, UP) for each in absent.get(model, ())[:_MOST_OF_MODEL]]),
            all_missing=len(absent.get(model, ())),
            records=len({each.record for each in found}),
            results=sum(each.results for each in found),
            all_results=UP + explorer(model=model),
        )


def _vendors(measured: Iterable[Measured], find: Find) -> dict[str, str]:
    cards = {each.accelerator: find(each.accelerator) for each in measured}
    return {ref: card.cells[0].text for ref, card in cards.items() if card is not None}


def _models(measured: Iterable[Measured], find: Find) -> Iterator[Option]:
    records: dict[str, set[str]] = {}
    for each in measured:
        records.setdefault(each.model, set()).add(each.record)
    for ref in sorted(records, key=lambda ref: _link(ref, find, "").text.casefold()):
        yield Option(ref.partition("/")[2], _link(ref, find, "").text, len(records[ref]), coverage_page(ref))


def _link(ref: str, find: Find, root: str) -> Link:
    card = find(ref)
    return to_record(card, root=root) if card else Link(ref)


def _table(found: Coverage, find: Find, root: str, model: str = "") -> TableView:
    name = _AXES[found.axis]
    of_model = {"model": model} if model else {}
    return TableView(
        anchor=f"By-{facet_slug(name)}",
        title=f"Accelerators by {name}",
        axis=f"{name}s",
        others=tuple([_link(each, find, root) for each in found.others]),
        rows=tuple(
            [
                RowView(
                    _link(ref, find, root),
                    tuple(
                        [
                            _cell(cell, root + explorer(accelerator=ref, **{found.axis: other}, **of_model))
                            for cell, other in zip(cells, found.others, strict=True)
                        ]
                    ),
                )
                for ref, cells in zip(found.accelerators, found.cells, strict=True)
            ]
        ),
        all_accelerators=found.all_accelerators,
        all_others=found.all_others,
        empty=tuple(_empties(found, find, root)),
        all_empty=len(found.empty),
    )


def _empties(found: Coverage, find: Find, root: str) -> Iterator[EmptyView]:
    for each in found.empty[:_MOST_EMPTY]:
        accelerator, other = _link(each.accelerator, find, root), _link(each.other, find, root)
        named = [_link(ref, find, root).text for ref in each.because[:_MOST_NAMED]]
        rest = len(each.because) - len(named)
        them = listed([*named, *([f"{rest} more"] if rest else [])])
        shown = f"it ran on {them}" if found.axis == "engine" else f"{them} can run it there"
        counts = f"{plural(each.of_accelerator, 'record')} of the first, {each.of_other:,} of the second"
        yield EmptyView((accelerator, other), f"{counts}; {shown}")


def _missing(each: Missing, find: Find, root: str) -> EmptyView:
    things = tuple([_link(ref, find, root) for ref in (each.accelerator, each.engine, each.model)])
    _, engine, model = (thing.text for thing in things)
    why = (
        f"{plural(each.engine_on_accelerator, 'record')} of {engine} on it, {each.model_on_accelerator:,} of {model} on it,"
        f" {each.engine_with_model:,} of {model} with {engine}"
    )
    return EmptyView(things, why)


def _cell(cell: Cell, href: str) -> CellView:
    return CellView(*cell, sum(cell.records >= each for each in _LEVELS), href)
