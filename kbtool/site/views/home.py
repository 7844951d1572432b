"""The first page, the changes of all records, and what stays of withdrawn ones."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from markupsafe import Markup

from kbtool.analysis.quality import ALL, MEASURES, Group, percent, qualities
from kbtool.schema import KINDS, Withdrawn
from kbtool.site import charts
from kbtool.site.cards import Card
from kbtool.site.places import index_page, pages_of, record_page
from kbtool.site.views.base import Link, to_record
from kbtool.site.views.indexes import status_options
from kbtool.site.views.lists import PLURALS, Find, Option, is_open, newest_first
from kbtool.site.views.pager import pager_links
from kbtool.site.views.quality import publisher_of, was_opened
from kbtool.site.views.sweeps import Chart
from kbtool.site.views.text import quantity_text
from kbtool.vocab import METRICS
from kbtool.vocab.disclosure import DISCLOSURE_FIELDS

__all__ = [
    "ChangeRow",
    "ChangesView",
    "HomeView",
    "Spotlight",
    "TombstoneView",
    "changes_pages",
    "home_view",
    "tombstone_view",
]

_NEWEST: Final = 8
_CHANGES_PER_PAGE: Final = 100
_DISCLOSED: Final = 10
_HUBS: Final = 6
_TRUSTED: Final = frozenset({"opened", "load", "quote", "engine_version"})
"""Measures of the data's quality that stand on the first page."""


class NewRecord(NamedTuple):
    """One of the latest benchmarks."""

    link: Link
    updated: str
    number: str
    metric: str
    status: str


class Spotlight(NamedTuple):
    """A record whose chart stands on the first page."""

    link: Link
    chart: Chart
    updated: str


class Disclosed(NamedTuple):
    """One disclosure field over all benchmarks."""

    field: str
    given: int
    explained: int
    missing: int


class Trust(NamedTuple):
    """How many results have one thing that makes a figure worth trusting."""

    title: str
    percent: str
    anchor: str
    """On the page about data quality."""


@dataclass(frozen=True, slots=True)
class HomeView:
    """The first page."""

    counts: tuple[Option, ...]
    publishers: int
    """Publishers of the benchmarks' primary sources."""
    updated: str
    """Day of the newest change."""
    trust: tuple[Trust, ...]
    statuses: tuple[Option, ...]
    results: int
    newest: tuple[NewRecord, ...]
    spotlight: Spotlight | None
    disclosure: Markup | None
    disclosed: tuple[Disclosed, ...]
    benchmarks: int
    hubs: tuple[tuple[str, tuple[Option, ...]], ...]
    """What is measured most, by kind: title and links."""


class ChangeRow(NamedTuple):
    """One change of one record."""

    day: str
    link: Link
    what: str
    why: str


@dataclass(frozen=True, slots=True)
class ChangesView:
    """One page of the changes of all records, newest first."""

    path: str
    rows: tuple[ChangeRow, ...]
    total: int
    parts: tuple[Link, ...]


class TombstoneView(NamedTuple):
    """What stays where a record was removed."""

    title: str
    ref: str
    day: str
    reason: str
    replaced_by: Link | None


def home_view(cards: Sequence[Card], spotlight: Spotlight | None) -> HomeView:
    """Return the first page."""
    kinds = Counter(card.kind for card in cards)
    benchmarks = [card for card in cards if card.kind == "benchmark" and card.stands]
    disclosed = _disclosed(benchmarks)
    by_ref = {card.ref: card for card in cards}
    return HomeView(
        counts=tuple([Option(kind, PLURALS[kind], kinds[kind], index_page(f"{kind}s")) for kind in KINDS]),
        publishers=len({publisher_of(by_ref[card.primary]) for card in benchmarks if card.primary in by_ref}),
        updated=max((card.updated for card in cards), default=""),
        trust=tuple(_trust(benchmarks, by_ref)),
        statuses=status_options(Counter(card.status for card in cards)),
        results=sum(len(card.results) for card in cards),
        newest=tuple([_newest(card) for card in newest_first(filter(is_open, benchmarks))[:_NEWEST]]),
        spotlight=spotlight,
        disclosure=_disclosure_chart(disclosed) if disclosed else None,
        disclosed=disclosed,
        benchmarks=len(benchmarks),
        hubs=tuple(_hubs(cards)),
    )


def changes_pages(cards: Iterable[Card]) -> Iterator[ChangesView]:
    """Yield the pages of all changes, newest first."""
    rows = [
        ChangeRow(change.day, to_record(card, root=""), change.what, change.why)
        for card in sorted(cards, key=lambda card: card.ref)
        for change in reversed(card.changes)
    ]
    rows.sort(key=lambda row: row.day, reverse=True)
    count = pages_of(len(rows), _CHANGES_PER_PAGE)
    for number in range(1, count + 1):
        chosen = tuple(rows[(number - 1) * _CHANGES_PER_PAGE : number * _CHANGES_PER_PAGE])
        yield ChangesView(_changes_page(number), chosen, len(rows), pager_links(number, count, _changes_page))


def tombstone_view(stone: Withdrawn, find: Find) -> TombstoneView:
    """Return the page of a withdrawn record."""
    replaced_by = None
    if stone.replaced_by:
        card = find(stone.replaced_by)
        replaced_by = to_record(card) if card else Link(stone.replaced_by)
    return TombstoneView(
        stone.title, f"{stone.kind}s/{stone.id}", stone.withdrawn.isoformat(), stone.reason, replaced_by
    )


def _trust(benchmarks: Sequence[Card], by_ref: Mapping[str, Card]) -> Iterator[Trust]:
    groups = [Group(ALL, card.tally) for card in benchmarks if card.tally is not None]
    for found in qualities(groups, lambda ref: was_opened(by_ref.get(ref))):
        for measure, share in zip(MEASURES, found.shares, strict=True):
            if measure.code in _TRUSTED:
                yield Trust(measure.title, percent(share), measure.code)


def _changes_page(number: int) -> str:
    return "changes.html" if number == 1 else f"changes.{number}.html"


def _newest(card: Card) -> NewRecord:
    metric = METRICS.get(card.metric)
    number = quantity_text(card.headline) if card.headline else ""
    return NewRecord(
        to_record(card, root=""), card.updated, number, metric.title if metric else card.metric, card.status
    )


def _disclosed(benchmarks: Sequence[Card]) -> tuple[Disclosed, ...]:
    """Return the fields that benchmarks leave out most often."""
    found = []
    for index, field in enumerate(DISCLOSURE_FIELDS):
        letters = Counter(card.disclosure[index] for card in benchmarks)
        explained, missing = letters["o"] + letters["p"], letters["m"]
        if explained or missing:
            found.append(Disclosed(field.title, letters["g"], explained, missing))
    found.sort(key=lambda each: (each.given / (each.given + each.explained + each.missing), each.field))
    return tuple(found[:_DISCLOSED])


def _disclosure_chart(rows: Sequence[Disclosed]) -> Markup:
    items = [
        (
            row.field,
            (row.given, row.explained, row.missing),
            f"{row.given} of {row.given + row.explained + row.missing} give it",
        )
        for row in rows
    ]
    return charts.stacked("Disclosure", "What sources leave out", items)


def _hubs(cards: Sequence[Card]) -> Iterator[tuple[str, tuple[Option, ...]]]:
    """Yield the accelerators, engines and models that most benchmarks are about."""
    by_ref = {card.ref: card for card in cards}
    for kind in ("accelerator", "engine", "model"):
        counts = Counter(
            mention.target
            for card in cards
            if card.kind == "benchmark" and card.stands
            for mention in card.mentions
            if mention.relation == kind and mention.target in by_ref
        )
        ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_HUBS]
        if ordered:
            options = [Option(ref, by_ref[ref].title, count, record_page(ref)) for ref, count in ordered]
            yield PLURALS[kind], tuple(options)
