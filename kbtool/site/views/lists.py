"""Lists of records as tables: the index of a kind, and who uses a thing."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from kbtool.schema import KINDS
from kbtool.site.cards import Card, Mention
from kbtool.site.columns import COLUMNS, Cell, Column
from kbtool.site.places import (
    ROWS_AT_FIRST,
    ROWS_PER_LIST,
    UP,
    facet_slug,
    pages_of,
    part_page,
    record_page,
    result_place,
)
from kbtool.site.views.base import Incoming, Link, to_record
from kbtool.site.views.pager import pager_links
from kbtool.site.views.text import NOT_STATED
from kbtool.vocab.closed import lines_below

__all__ = [
    "PLURALS",
    "Facet",
    "Find",
    "ListView",
    "Option",
    "Row",
    "RowCell",
    "UsagePlan",
    "index_table",
    "is_open",
    "newest_first",
    "usage_page",
    "usage_plans",
]

PLURALS: Final = {
    "benchmark": "Benchmarks",
    "accelerator": "Accelerators",
    "interconnect": "Interconnects",
    "engine": "Engines",
    "model": "Models",
    "source": "Sources",
    "gotcha": "Gotchas",
}
_RELATIONS_OF_USE: Final = frozenset({"accelerator", "engine", "model", "interconnect", "source"})
"""Field names of references that say that a record uses, or quotes, another."""
_FEW: Final = 3
"""Places of a quotation that are listed before the rest is only counted."""
_BRIEF: Final = 3
"""Columns of a list that stands beside the rail of a page."""

Find = Callable[[str], Card | None]


class RowCell(NamedTuple):
    """A cell with its link resolved."""

    style: str
    """Class of the cell."""
    text: str
    unit: str
    raw: str
    """What to sort by, where that is not the text."""
    link: Link | None


class Row(NamedTuple):
    """One record in a table."""

    link: Link
    status: str
    cells: tuple[RowCell, ...]
    updated: str
    facets: tuple[tuple[str, str], ...]
    """Facet name and value, both safe in an attribute name and in a list of words."""
    places: tuple[Link, ...]
    """Results that name the thing the list is about."""
    more_places: int


@dataclass(frozen=True, slots=True)
class Option:
    """One value of a facet."""

    value: str
    label: str
    count: int
    path: str = ""
    """Page that lists the records with this value; empty where the table itself is filtered."""


class Facet(NamedTuple):
    """What readers filter by."""

    name: str
    title: str
    options: tuple[Option, ...]


@dataclass(frozen=True, slots=True)
class ListView:
    """One page of one table."""

    title: str
    anchor: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    total: int
    """Records on all pages."""
    facets: tuple[Facet, ...]
    parts: tuple[Link, ...]
    """The pages of the table, where there is more than one."""
    has_places: bool
    lines_below: tuple[str, ...]
    """What must stand below it, such as the line of a trademark."""


class UsagePlan(NamedTuple):
    """Who uses or quotes a record, of one kind."""

    owner: Card
    kind: str
    cards: tuple[Card, ...]
    mentions: Mapping[str, Sequence[Mention]]
    """Reference -> where it quotes the record; empty where the list is not about quotations."""

    @property
    def name(self) -> str:
        """Name of the list in the addresses of its pages."""
        return f"{self.kind}s"

    @property
    def anchor(self) -> str:
        """HTML id of the list."""
        return f"Used-{self.name}"

    @property
    def pages(self) -> int:
        """Number of pages of the whole list; none where the owner's page has room for it."""
        return pages_of(len(self.cards), ROWS_PER_LIST) if len(self.cards) > ROWS_AT_FIRST else 0

    def rows(self, number: int) -> tuple[Card, ...]:
        """Return the records on one page of the list, or, for 0, on the owner's own page."""
        first = (number - 1) * ROWS_PER_LIST
        return self.cards[first : first + ROWS_PER_LIST] if number else self.cards[:ROWS_AT_FIRST]

    def path(self, number: int) -> str:
        """Return one page of the whole list."""
        return part_page(record_page(self.owner.ref), self.name, number)


def is_open(card: Card) -> bool:
    """Return whether the headline may stand beside any other; those of a closed class compare in its lists alone."""
    return not lines_below(cell.text for cell in card.cells)


def newest_first(cards: Iterable[Card]) -> list[Card]:
    """Sort records that stand before those that do not, closed classes last, then by day of change, then by reference.

    A closed class comes by the hundred on one day: what may be compared freely would be found below it by nobody.
    """
    ordered = sorted(cards, key=lambda card: card.ref)
    ordered.sort(key=lambda card: card.updated, reverse=True)
    ordered.sort(key=lambda card: not is_open(card))
    ordered.sort(key=lambda card: not card.stands)
    return ordered


def index_table(
    kind: str, cards: Sequence[Card], find: Find, *, title: str, parts: tuple[Link, ...], total: int
) -> ListView:
    """Return one page of an index; readers can filter it where it holds every record."""
    filtered = len(cards) == total
    table = _Table(COLUMNS[kind], cards, find, filtered=filtered)
    return table.view(title, "Table", parts, total)


def usage_plans(owner: Card, incoming: Iterable[Incoming]) -> tuple[UsagePlan, ...]:
    """Return who uses or quotes a record: one list for each kind, in the order of the kinds."""
    cards: dict[str, dict[str, Card]] = {}
    quoted: dict[str, list[Mention]] = {}
    is_source = owner.kind == "source"
    for card, mention in incoming:
        if mention.relation in _RELATIONS_OF_USE:
            cards.setdefault(card.kind, {})[card.ref] = card
            if is_source:
                quoted.setdefault(card.ref, []).append(mention)
    return tuple(
        [
            UsagePlan(owner, kind, tuple(newest_first(cards[kind].values())), quoted)
            for kind in KINDS
            if kind in cards
        ]
    )


def usage_page(plan: UsagePlan, number: int, find: Find) -> ListView:
    """Return one page of a list of who uses a record, or, for 0, its beginning on the record's own page."""
    title = f"{PLURALS[plan.kind]} that quote it" if plan.mentions else PLURALS[plan.kind]
    columns = COLUMNS[plan.kind] if number else COLUMNS[plan.kind][:_BRIEF]
    table = _Table(columns, plan.rows(number), find, own=plan.owner.ref, mentions=plan.mentions)
    parts = (
        pager_links(number, plan.pages, lambda page: f"{UP}{plan.path(page)}#{plan.anchor}") if number else ()
    )
    if plan.pages and not number:
        parts = (Link(f"All {len(plan.cards)}", UP + plan.path(1)),)
    return table.view(title, plan.anchor, parts, len(plan.cards))


class _Table:
    """Makes the rows of one page; columns in which no row says anything are left out."""

    def __init__(
        self,
        columns: Sequence[Column],
        cards: Sequence[Card],
        find: Find,
        *,
        own: str = "",
        mentions: Mapping[str, Sequence[Mention]] | None = None,
        filtered: bool = False,
    ) -> None:
        self._cards = cards
        self._find = find
        self._own = own
        self._mentions = mentions or {}
        said = [any(self._says(card.cells[index]) for card in cards) for index in range(len(columns))]
        self._columns = [(index, column) for index, column in enumerate(columns) if said[index]]
        self._facets = (
            [(index, column) for index, column in self._columns if column.facet] if filtered else []
        )
        self._filtered = filtered

    def view(self, title: str, anchor: str, parts: tuple[Link, ...], total: int) -> ListView:
        """Return the table."""
        rows = tuple([self._row(card) for card in self._cards])
        return ListView(
            title=title,
            anchor=anchor,
            columns=tuple([column for _, column in self._columns]),
            rows=rows,
            total=total,
            facets=self._facet_options() if self._filtered else (),
            parts=parts,
            has_places=any(row.places for row in rows),
            lines_below=lines_below(cell.text for card in self._cards for cell in card.cells),
        )

    def _says(self, cell: Cell) -> bool:
        return bool(cell.text or (cell.ref and cell.ref != self._own))

    def _row(self, card: Card) -> Row:
        found = [each.anchor for each in self._mentions.get(card.ref, ()) if each.anchor in card.results]
        anchors = list(dict.fromkeys(found))
        places = [Link(each, UP + result_place(card.ref, card.results, each)) for each in anchors[:_FEW]]
        facets = [
            (facet_slug(column.title), _facet_value(card.cells[index])) for index, column in self._facets
        ]
        return Row(
            link=to_record(card),
            status=card.status,
            cells=tuple([self._cell(column, card.cells[index]) for index, column in self._columns]),
            updated=card.updated,
            facets=(*facets, ("status", card.status)) if self._filtered else (),
            places=tuple(places),
            more_places=len(anchors) - len(places),
        )

    def _cell(self, column: Column, cell: Cell) -> RowCell:
        style = "kb-r" if column.is_value else "kb-num" if column.number else ""
        link = None
        if cell.ref and cell.ref != self._own:
            card = self._find(cell.ref)
            link = to_record(card) if card else Link(cell.ref)
        return RowCell(style, cell.text, cell.unit, cell.raw, link)

    def _facet_options(self) -> tuple[Facet, ...]:
        """Return what the rows can be filtered by; a facet with one value filters nothing."""
        facets = []
        for index, column in self._facets:
            labels = [
                (_facet_value(card.cells[index]), self._label(card.cells[index])) for card in self._cards
            ]
            facets.append(_facet(column.title, labels))
        facets.append(_facet("Status", [(card.status, card.status) for card in self._cards]))
        return tuple([facet for facet in facets if len(facet.options) > 1])

    def _label(self, cell: Cell) -> str:
        if not cell.ref:
            return cell.text or NOT_STATED
        card = self._find(cell.ref)
        return card.title if card else cell.ref


def _facet_value(cell: Cell) -> str:
    if cell.ref:
        return cell.ref.partition("/")[2]
    return facet_slug(cell.text) if cell.text else "none"


def _facet(title: str, labels: Iterable[tuple[str, str]]) -> Facet:
    counts: dict[tuple[str, str], int] = {}
    for each in labels:
        counts[each] = counts.get(each, 0) + 1
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    options = tuple([Option(value, label, count) for (value, label), count in ordered])
    return Facet(facet_slug(title), title, options)
