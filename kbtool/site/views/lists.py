"""Lists of records as tables: the index of a kind, and who uses a thing."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from kbtool.escape import file_name
from kbtool.schema import KINDS
from kbtool.site.cards import COLUMNS, Card, Cell, Column, Mention
from kbtool.site.places import ROWS_AT_FIRST, ROWS_PER_LIST, pages_of, part_page, record_page, result_place
from kbtool.site.views.base import Incoming, Link
from kbtool.site.views.pager import pager_links
from kbtool.site.views.text import plural

__all__ = ["Facet", "ListView", "Option", "Row", "RowCell", "UsagePlan", "facet_slug", "list_view", "newest_first", "usage_page", "usage_plans"]

_PLURALS: Final = {
    "benchmark": "Benchmarks", "accelerator": "Accelerators", "interconnect": "Interconnects", "engine": "Engines",
    "model": "Models", "source": "Sources", "gotcha": "Gotchas",
}  # fmt: skip
_RELATIONS_OF_USE: Final = frozenset({"accelerator", "engine", "model", "interconnect", "source"})
"""Field names of references that say that a record uses, or quotes, another."""
_FEW: Final = 8
"""Places of a quotation that are listed before the rest is only counted."""

Find = Callable[[str], Card | None]


class RowCell(NamedTuple):
    """A cell with its link resolved."""

    text: str
    unit: str
    raw: str
    link: Link | None


class Row(NamedTuple):
    """One record in a table."""

    link: Link
    status: str
    cells: tuple[RowCell, ...]
    updated: str
    facets: tuple[tuple[str, str], ...]
    """Facet name and value, both made safe for an attribute name and a list of words."""
    places: tuple[Link, ...]
    """Results that name the thing the list is about."""
    more_places: int


class Option(NamedTuple):
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
    columns: tuple[tuple[str, bool], ...]
    """Title, and whether it holds numbers."""
    rows: tuple[Row, ...]
    total: int
    count_text: str
    facets: tuple[Facet, ...]
    parts: tuple[Link, ...]
    note: str = ""
    has_places: bool = False


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

    def path(self, number: int) -> str:
        """Return one page of the whole list."""
        return part_page(record_page(self.owner.ref), self.name, number)


def newest_first(cards: Iterable[Card]) -> list[Card]:
    """Sort records that stand before those that do not, then by day of change, then by reference."""
    ordered = sorted(cards, key=lambda card: card.ref)
    ordered.sort(key=lambda card: card.updated, reverse=True)
    ordered.sort(key=lambda card: not card.stands)
    return ordered


def list_view(
    kind: str,
    cards: Sequence[Card],
    find: Find,
    *,
    title: str,
    anchor: str,
    parts: tuple[Link, ...] = (),
    total: int | None = None,
    own: str = "",
    places: Mapping[str, Sequence[Mention]] | None = None,
    filtered: bool = True,
    note: str = "",
) -> ListView:
    """Return a table of these records.

    Args:
        kind: Kind of all of them.
        cards: The records of this page, in order.
        find: Gives the cards whose titles the cells show.
        title: Heading.
        anchor: HTML id of the section.
        parts: Links to the pages of the table.
        total: Records on all pages.
        own: Record that the list belongs to; cells that would link to it do not.
        places: For a list of quotations: the mentions, by reference.
        filtered: Whether readers can filter the table.
        note: A line above it.
    """
    columns = COLUMNS[kind]
    kept = [index for index, _ in enumerate(columns) if any(_says(card.cells[index], own) for card in cards)]
    facets = [index for index in kept if columns[index].facet] if filtered else []
    rows = tuple([_row(card, kept, facets, columns, find, own, (places or {}).get(card.ref, ())) for card in cards])
    count = len(cards) if total is None else total
    return ListView(
        title=title,
        anchor=anchor,
        columns=tuple([(columns[index].title, columns[index].number) for index in kept]),
        rows=rows,
        total=count,
        count_text=plural(count, "record"),
        facets=_facets(cards, facets, columns, find) if filtered else (),
        parts=parts,
        note=note,
        has_places=any(row.places for row in rows),
    )


def usage_plans(owner: Card, incoming: Iterable[Incoming]) -> tuple[UsagePlan, ...]:
    """Return who uses or quotes a record: one list for each kind, in the order of the kinds."""
    cards: dict[str, dict[str, Card]] = {}
    mentions: dict[str, list[Mention]] = {}
    for each in incoming:
        if each.mention.relation in _RELATIONS_OF_USE:
            cards.setdefault(each.card.kind, {})[each.card.ref] = each.card
            mentions.setdefault(each.card.ref, []).append(each.mention)
    return tuple(
        [
            UsagePlan(owner, kind, tuple(newest_first(cards[kind].values())), mentions if owner.kind == "source" else {})
            for kind in KINDS
            if kind in cards
        ]
    )


def usage_page(plan: UsagePlan, number: int, find: Find) -> ListView:
    """Return one page of a list of who uses a record, or, for 0, its beginning on the record's own page."""
    title = _PLURALS[plan.kind]
    rows = slice((number - 1) * ROWS_PER_LIST, number * ROWS_PER_LIST) if number else slice(ROWS_AT_FIRST)
    more = Link(f"All {len(plan.cards)}", plan.path(1)) if plan.pages and not number else None
    return list_view(
        plan.kind,
        plan.cards[rows],
        find,
        title=f"{title} that quote it" if plan.mentions else title,
        anchor=plan.anchor,
        parts=(more,) if more else pager_links(number, plan.pages, plan.path, f"#{plan.anchor}"),
        total=len(plan.cards),
        own=plan.owner.ref,
        places=plan.mentions,
        filtered=False,
    )


def facet_slug(text: str) -> str:
    """Return a word for a facet's value that is safe in an attribute, a file name and a list of words."""
    return file_name("-".join(text.casefold().split()))


def _says(cell: Cell, own: str) -> bool:
    return bool(cell.text or (cell.ref and cell.ref != own))


def _row(
    card: Card,
    kept: Sequence[int],
    facets: Sequence[int],
    columns: Sequence[Column],
    find: Find,
    own: str,
    mentions: Sequence[Mention],
) -> Row:
    anchors = list(dict.fromkeys(each.anchor for each in mentions if each.anchor in card.results))
    places = [Link(each, result_place(card.ref, card.results, each)) for each in anchors[:_FEW]]
    return Row(
        link=Link(card.title, record_page(card.ref), status=card.status),
        status=card.status,
        cells=tuple([_cell(card.cells[index], find, own) for index in kept]),
        updated=card.updated,
        facets=(
            *((_facet_name(columns[index]), _facet_value(card.cells[index])) for index in facets),
            ("status", card.status),
        )
        if facets
        else (),
        places=tuple(places),
        more_places=len(anchors) - len(places),
    )


def _cell(cell: Cell, find: Find, own: str) -> RowCell:
    if not cell.ref or cell.ref == own:
        return RowCell(cell.text, cell.unit, cell.raw, None)
    card = find(cell.ref)
    link = Link(card.title, record_page(cell.ref), status=card.status) if card else Link(cell.ref)
    return RowCell(cell.text, cell.unit, cell.raw, link)


def _facet_name(column: Column) -> str:
    return facet_slug(column.title)


def _facet_value(cell: Cell) -> str:
    if cell.ref:
        return cell.ref.partition("/")[2]
    return facet_slug(cell.text) if cell.text else "none"


def _facets(cards: Sequence[Card], facets: Sequence[int], columns: Sequence[Column], find: Find) -> tuple[Facet, ...]:
    """Return what the rows of a table can be filtered by; a facet with one value filters nothing."""
    found = []
    for index in facets:
        counts: dict[tuple[str, str], int] = {}
        for card in cards:
            key = (_facet_value(card.cells[index]), _facet_label(card.cells[index], find))
            counts[key] = counts.get(key, 0) + 1
        found.append(_facet(_facet_name(columns[index]), columns[index].title, counts))
    statuses: dict[tuple[str, str], int] = {}
    for card in cards:
        statuses[card.status, card.status] = statuses.get((card.status, card.status), 0) + 1
    found.append(_facet("status", "Status", statuses))
    return tuple([facet for facet in found if len(facet.options) > 1])


def _facet(name: str, title: str, counts: dict[tuple[str, str], int]) -> Facet:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return Facet(name, title, tuple([Option(value, label, count) for (value, label), count in ordered]))


def _facet_label(cell: Cell, find: Find) -> str:
    if cell.ref:
        card = find(cell.ref)
        return card.title if card else cell.ref
    return cell.text or "not stated"
