"""The index of a kind: every record in a table, over as many pages as that takes."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

from kbtool.site.cards import Card
from kbtool.site.columns import COLUMNS
from kbtool.site.places import ROWS_PER_PAGE, UP, facet_slug, index_page, pages_of, record_page
from kbtool.site.views.base import Link
from kbtool.site.views.lists import (
    PLURALS,
    Facet,
    Find,
    ListView,
    Option,
    index_table,
    newest_first,
)
from kbtool.site.views.pager import pager_links
from kbtool.site.views.text import NOT_STATED, plural
from kbtool.vocab.terms import Status, members

__all__ = ["IndexPlan", "IndexView", "index_plans", "index_view", "status_options"]

_LEADS: Final = {
    "benchmark": "One run, or one coherent set of runs, of one system, with its conditions, its source and its gaps.",
    "accelerator": "One record an edition: editions that differ in power or memory are not one thing.",
    "interconnect": "Links between accelerators, to the host and between hosts, and what each bandwidth figure counts.",
    "engine": "What serves the models, and what a client can read from it while it runs.",
    "model": "What is served: parameters, attention, cache bytes and checkpoints, each with its source.",
    "source": "What was published or handed over, by whom, with what interest, and which records quote it.",
    "gotcha": "Known traps: each changed or falsified somebody's number, or stopped a run.",
}
_NOTES: Final = {
    "benchmark": "Values of different metrics do not compare: choose one metric before sorting by value."
}
_MOST_LINKS: Final = 24
"""Values of a facet that a long index links to; the rest is found by search."""


class IndexPlan(NamedTuple):
    """One page of an index, before it is made."""

    path: str
    kind: str
    title: str
    cards: tuple[Card, ...]
    number: int
    parts: tuple[Link, ...]
    total: int
    statuses: tuple[Option, ...]
    browse: tuple[Facet, ...]


@dataclass(frozen=True, slots=True)
class IndexView:
    """One page of the index of a kind."""

    title: str
    folder: str
    lead: str
    count_text: str
    note: str
    statuses: tuple[Option, ...]
    browse: tuple[Facet, ...]
    """Links by value, where the index spreads over pages and filtering one of them would mislead."""
    table: ListView


class _Value(NamedTuple):
    """One value of a facet and the records that have it."""

    facet: str
    """Title of the facet."""
    slug: str
    label: str
    href: str
    """Page that lists the records; empty where there is none."""
    cards: tuple[Card, ...]
    is_own: bool
    """Whether the page is ours to make: a record that is a value has its own."""


_ORDERS: Final = {"benchmark": "newest first, closed classes such as MLPerf last"}


class _Listing(NamedTuple):
    """A list to be spread over pages."""

    kind: str
    title: str
    cards: Sequence[Card]
    path_of: Callable[[int], str]
    statuses: tuple[Option, ...] = ()
    browse: tuple[Facet, ...] = ()


def index_plans(kind: str, cards: Sequence[Card], find: Find) -> Iterator[IndexPlan]:
    """Yield the pages of an index, and those of its facets where it has more than one page."""
    ordered = newest_first(cards)
    folder = f"{kind}s"
    values = tuple(_values(kind, ordered, find)) if len(ordered) > ROWS_PER_PAGE else ()
    statuses = status_options(Counter(card.status for card in ordered))
    path_of = partial(index_page, folder)
    yield from _plans(_Listing(kind, PLURALS[kind], ordered, path_of, statuses, _browse(values)))
    for value in values:
        if value.is_own:
            title = f"{PLURALS[kind]}: {value.label}"
            yield from _plans(_Listing(kind, title, value.cards, partial(_facet_page, folder, value)))


def index_view(plan: IndexPlan, find: Find) -> IndexView:
    """Return the page of a plan."""
    pages = pages_of(plan.total, ROWS_PER_PAGE)
    place = f"Page {plan.number} of {pages}, {_ORDERS.get(plan.kind, 'newest first')}." if pages > 1 else ""
    return IndexView(
        title=plan.title,
        folder=f"{plan.kind}s",
        lead=_LEADS[plan.kind],
        count_text=plural(plan.total, "record"),
        note=" ".join(filter(None, (place, _NOTES.get(plan.kind, "")))),
        statuses=plan.statuses,
        browse=plan.browse,
        table=index_table(plan.kind, plan.cards, find, title=plan.title, parts=plan.parts, total=plan.total),
    )


def status_options(counts: Counter[str]) -> tuple[Option, ...]:
    """Return how many records have which status, in the order of the vocabulary."""
    return tuple([Option(status, status, counts[status]) for status in members(Status) if counts[status]])


def _plans(listing: _Listing) -> Iterator[IndexPlan]:
    total = len(listing.cards)
    count = pages_of(total, ROWS_PER_PAGE)
    for number in range(1, count + 1):
        yield IndexPlan(
            path=listing.path_of(number),
            kind=listing.kind,
            title=listing.title,
            cards=tuple(listing.cards[(number - 1) * ROWS_PER_PAGE : number * ROWS_PER_PAGE]),
            number=number,
            parts=pager_links(number, count, lambda page: UP + listing.path_of(page)),
            total=total,
            statuses=listing.statuses,
            browse=listing.browse,
        )


def _facet_page(folder: str, value: _Value, number: int) -> str:
    """Return a page such as `benchmarks/index.metric-prefill-speed.html`."""
    part = "" if number == 1 else f".{number}"
    return f"{folder}/index.{facet_slug(value.facet)}-{value.slug}{part}.html"


def _values(kind: str, cards: Sequence[Card], find: Find) -> Iterator[_Value]:
    for index, column in enumerate(COLUMNS[kind]):
        if column.facet:
            groups: dict[tuple[str, str], list[Card]] = {}
            for card in cards:
                cell = card.cells[index]
                groups.setdefault((cell.ref, "" if cell.ref else cell.text), []).append(card)
            for (ref, text), found in groups.items():
                yield (
                    _of_record(column.title, ref, found, find)
                    if ref
                    else _of_text(kind, column.title, text, found)
                )
    by_status: dict[str, list[Card]] = {}
    for card in cards:
        by_status.setdefault(card.status, []).append(card)
    for status, found in by_status.items():
        yield _of_text(kind, "Status", status, found)


def _of_record(facet: str, ref: str, cards: Sequence[Card], find: Find) -> _Value:
    card = find(ref)
    label, href = (card.title, UP + record_page(ref)) if card else (ref, "")
    return _Value(facet, ref.partition("/")[2], label, href, tuple(cards), is_own=False)


def _of_text(kind: str, facet: str, text: str, cards: Sequence[Card]) -> _Value:
    slug = facet_slug(text) if text else "none"
    value = _Value(facet, slug, text or NOT_STATED, "", tuple(cards), is_own=True)
    return value._replace(href=UP + _facet_page(f"{kind}s", value, 1))


def _browse(values: Sequence[_Value]) -> tuple[Facet, ...]:
    facets: dict[str, list[Option]] = {}
    for each in values:
        facets.setdefault(each.facet, []).append(Option(each.slug, each.label, len(each.cards), each.href))
    return tuple(
        [
            Facet(facet_slug(title), title, tuple(sorted(options, key=_most_first)[:_MOST_LINKS]))
            for title, options in facets.items()
            if len(options) > 1
        ]
    )


def _most_first(option: Option) -> tuple[int, str]:
    return -option.count, option.label
