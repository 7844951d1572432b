"""The page of coverage: what was measured on what, and what to measure next."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from kbtool.analysis.coverage import Axis, Cell, Coverage, Measured, coverage
from kbtool.site.cards import Card
from kbtool.site.places import facet_slug
from kbtool.site.views.base import Link, to_record
from kbtool.site.views.lists import is_open

__all__ = ["CoverageView", "coverage_view"]

_MOST_EMPTY: Final = 24
_LEVELS: Final = (1, 4, 10, 30)
"""Records from which a cell is drawn a shade darker."""
_AXES: Final[dict[Axis, str]] = {"engine": "engine", "model": "model"}

Find = Callable[[str], Card | None]


class CellView(NamedTuple):
    """One cell: records and results, and how dark it is."""

    records: int
    results: int
    closed: int
    level: int


class RowView(NamedTuple):
    """One accelerator."""

    accelerator: Link
    cells: tuple[CellView, ...]


class EmptyView(NamedTuple):
    """A pair that nobody has measured here."""

    accelerator: Link
    other: Link
    weight: int


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
    """The page."""

    tables: tuple[TableView, ...]
    records: int
    results: int


def coverage_view(cards: Iterable[Card], find: Find) -> CoverageView:
    """Return the page.

    Args:
        cards: Of all records.
        find: Returns the card of a reference.
    """
    measured = [_measured(card) for card in cards if card.kind == "benchmark" and card.stands]
    return CoverageView(
        tables=tuple([_table(coverage(measured, axis), find) for axis in _AXES]) if measured else (),
        records=len(measured),
        results=sum(each.results for each in measured),
    )


def _measured(card: Card) -> Measured:
    accelerator, engine, model = (card.cells[index].ref for index in (3, 4, 5))
    return Measured(accelerator, engine, model, len(card.results), not is_open(card))


def _table(found: Coverage, find: Find) -> TableView:
    def link(ref: str) -> Link:
        card = find(ref)
        return to_record(card, root="") if card else Link(ref)

    name = _AXES[found.axis]
    return TableView(
        anchor=f"By-{facet_slug(name)}",
        title=f"Accelerators by {name}",
        axis=f"{name}s",
        others=tuple([link(each) for each in found.others]),
        rows=tuple(
            [
                RowView(link(ref), tuple([_cell(each) for each in cells]))
                for ref, cells in zip(found.accelerators, found.cells, strict=True)
            ]
        ),
        all_accelerators=found.all_accelerators,
        all_others=found.all_others,
        empty=tuple(
            [
                EmptyView(link(each.accelerator), link(each.other), each.weight)
                for each in found.empty[:_MOST_EMPTY]
            ]
        ),
        all_empty=len(found.empty),
    )


def _cell(cell: Cell) -> CellView:
    return CellView(*cell, sum(cell.records >= each for each in _LEVELS))
