"""The index of a kind: every record in a table, over as many pages as that takes."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

from kbtool.site.cards import COLUMNS, Card
from kbtool.site.places import ROWS_PER_PAGE, index_page, pages_of, record_page
from kbtool.site.views.base import Link
from kbtool.site.views.lists import Facet, Find, ListView, Option, facet_slug, list_view, newest_first
from kbtool.site.views.pager import pager_links
from kbtool.site.views.text import plural
from kbtool.vocab.terms import Status, members

__all__ = ["TITLES", "IndexPlan", "IndexView", "index_plans", "index_view", "status_options"]

TITLES: Final = {
    "benchmark": "Benchmarks", "accelerator": "Accelerators", "interconnect": "Interconnects", "engine": "Engines",
    "model": "Models", "source": "Sources", "gotcha": "Gotchas",
}  # fmt: skip
_LEADS: Final = {
    "benchmark": "One run, or one coherent set of runs, of one system, with its conditions, its source and its gaps.",
    "accelerator": "One record an edition: editions that differ in power or memory are not one thing.",
    "interconnect": "Links between accelerators, to the host and between hosts, and what each bandwidth figure counts.",
    "engine": "What serves the models, and what a client can read from it while it runs.",
    "model": "What is served: parameters, attention, cache bytes and checkpoints, each with its source.",
    "source": "What was published or handed over, by whom, with what interest, and which records quote it.",
    "gotcha": "Known traps: each changed or falsified somebody's number, or stopped a run.",
}
_NOTES: Final = {"benchmark": "Values of different metrics do not compare: choose one metric before sorting by value."}
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
    facet_title: str
    value: str
    label: str
    path: str
    cards: tuple[Card, ...]
    own_pages: bool
    """Whether the list is ours to make; a record has its own page."""


def index_plans(kind: str, cards: Sequence[Card], find: Find) -> Iterator[IndexPlan]:
    """Yield the pages of an index, and those of its facets where it has more than one page."""
    ordered = newest_first(cards)
    folder = f"{kind}s"
    values = tuple(_values(kind, ordered, find)) if len(ordered) > ROWS_PER_PAGE else ()
    statuses = status_options(Counter(card.status for card in ordered))
    yield from _plans(kind, TITLES[kind], ordered, partial(index_page, folder), statuses, _browse(values))
    for value in values:
        if value.own_pages:
            title = f"{TITLES[kind]}: {value.label}"
            yield from _plans(kind, title, value.cards, partial(_facet_page, folder, value), (), ())


def index_view(plan: IndexPlan, find: Find) -> IndexView:
    """Return the page of a plan."""
    folder = f"{plan.kind}s"
    whole = len(plan.cards) == plan.total
    place = "" if whole else f"Page {plan.number} of {pages_of(plan.total, ROWS_PER_PAGE)}, newest first."
    return IndexView(
        title=plan.title,
        folder=folder,
        lead=_LEADS[plan.kind],
        count_text=plural(plan.total, "record"),
        note=" ".join(filter(None, (place, _NOTES.get(plan.kind, "")))),
        statuses=plan.statuses,
        browse=plan.browse,
        table=list_view(
            plan.kind,
            plan.cards,
            find,
            title=plan.title,
            anchor="Table",
            parts=plan.parts,
            total=plan.total,
            filtered=whole,
        ),
    )


def status_options(counts: Counter[str]) -> tuple[Option, ...]:
    """Return how many records have which status, in the order of the vocabulary."""
    return tuple([Option(status, status, counts[status]) for status in members(Status) if counts[status]])


def _plans(
    kind: str,
    title: str,
    cards: Sequence[Card],
    path_of: Callable[[int], str],
    statuses: tuple[Option, ...],
    browse: tuple[Facet, ...],
) -> Iterator[IndexPlan]:
    count = pages_of(len(cards), ROWS_PER_PAGE)
    for number in range(1, count + 1):
        page = tuple(cards[(number - 1) * ROWS_PER_PAGE : number * ROWS_PER_PAGE])
        parts = pager_links(number, count, path_of)
        yield IndexPlan(path_of(number), kind, title, page, number, parts, len(cards), statuses, browse)


def _facet_page(folder: str, value: "_Value", number: int) -> str:
    """Return a page such as `benchmarks/index.metric-prefill-speed.html`."""
    part = "" if number == 1 else f".{number}"
    return f"{folder}/index.{value.facet}-{value.value}{part}.html"


def _values(kind: str, cards: Sequence[Card], find: Find) -> Iterator[_Value]:
    for index, column in enumerate(COLUMNS[kind]):
        if column.facet:
            groups: dict[tuple[str, str], list[Card]] = {}
            for card in cards:
                cell = card.cells[index]
                groups.setdefault((cell.ref, "" if cell.ref else cell.text), []).append(card)
            for (ref, text), found in groups.items():
                yield _value(kind, column.title, ref, text, found, find)
    by_status: dict[str, list[Card]] = {}
    for card in cards:
        by_status.setdefault(card.status, []).append(card)
    for status, found in by_status.items():
        yield _value(kind, "Status", "", status, found, find)


def _value(kind: str, title: str, ref: str, text: str, cards: list[Card], find: Find) -> _Value:
    name = facet_slug(title)
    if ref:
        card = find(ref)
        label = card.title if card else ref
        return _Value(name, title, ref.partition("/")[2], label, record_page(ref) if card else "", tuple(cards), False)
    value = _Value(name, title, facet_slug(text) if text else "none", text or "not stated", "", tuple(cards), True)
    return value._replace(path=_facet_page(f"{kind}s", value, 1))


def _browse(values: Sequence[_Value]) -> tuple[Facet, ...]:
    facets: dict[tuple[str, str], list[Option]] = {}
    for each in values:
        facets.setdefault((each.facet, each.facet_title), []).append(
            Option(each.value, each.label, len(each.cards), each.path)
        )
    return tuple(
        [
            Facet(name, title, tuple(sorted(options, key=lambda each: (-each.count, each.label))[:_MOST_LINKS]))
            for (name, title), options in facets.items()
            if len(options) > 1
        ]
    )
