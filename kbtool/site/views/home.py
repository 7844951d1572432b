"""The first page, the changes of all records, and what stays of withdrawn ones."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, NamedTuple

from markupsafe import Markup

from kbtool.analysis.quality import ALL, MEASURES, Group, Share, percent, qualities
from kbtool.schema import KINDS, Withdrawn
from kbtool.site import charts
from kbtool.site.cards import Card
from kbtool.site.data.feed import FEED, MOST_ENTRIES
from kbtool.site.places import explorer, index_page, pages_of, record_page
from kbtool.site.views.base import Link, to_record
from kbtool.site.views.indexes import status_options
from kbtool.site.views.lists import PLURALS, Find, Option, is_open
from kbtool.site.views.pager import pager_links
from kbtool.site.views.quality import publisher_of, was_opened
from kbtool.site.views.text import quantity_text
from kbtool.vocab import METRICS
from kbtool.vocab.disclosure import DISCLOSURE_FIELDS

__all__ = [
    "ChangeRow",
    "ChangesView",
    "HomeView",
    "TombstoneView",
    "changes_pages",
    "home_view",
    "tombstone_view",
]

_NEWEST: Final = 8
_CHANGES_PER_PAGE: Final = 100
_DISCLOSED: Final = 10
_HUBS: Final = 6
_DISINTERESTED: Final = frozenset({"independent", "none_stated"})
_TRUSTED: Final = ("opened", "quote", "load", "engine_version", "repeated")
"""Measures of the data's quality that stand on the first page, in this order."""
_ASKED: Final = "tok_s_per_user"
"""Metric of the chart on the first page: what one user sees is asked by whoever buys one machine."""
_LONE: Final = "1"
"""Concurrency of its results: alone, a user's speed does not hang on how many others there are."""
_BARS: Final = 8
_FEWEST_BARS: Final = 2


class NewRecord(NamedTuple):
    """One of the latest benchmarks."""

    link: Link
    published: str
    """Day or month of its primary source, as that says; empty where it does not."""
    publisher: str
    number: str
    metric: str
    status: str


class FastRow(NamedTuple):
    """The fastest record of one accelerator."""

    accelerator: Link
    many: str
    """Their number and a sign of multiplication."""
    engine: str
    number: str
    record: Link
    records: int
    """Records of the accelerator that this is the fastest of."""


class Fastest(NamedTuple):
    """How fast one model answers one user, by accelerator."""

    model: Link
    svg: Markup
    rows: tuple[FastRow, ...]
    accelerators: int
    records: int
    href: str
    """Address of all these results in the explorer."""


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
    path: str
    """Page that says more."""


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
    all_drafts: bool
    """Whether every record is a draft: then a mark on each says nothing."""
    results: int
    newest: tuple[NewRecord, ...]
    fastest: Fastest | None
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


class RecordRow(NamedTuple):
    """One record that is new or was changed."""

    day: str
    link: Link
    kind: str


@dataclass(frozen=True, slots=True)
class ChangesView:
    """One page of the changes of all records, newest first."""

    path: str
    rows: tuple[ChangeRow, ...]
    total: int
    parts: tuple[Link, ...]
    records: tuple[RecordRow, ...]
    """The records that the feed names, on the first page alone."""
    all_records: int
    feed: str
    """Address of the feed from the root of the site."""


class TombstoneView(NamedTuple):
    """What stays where a record was removed."""

    title: str
    ref: str
    day: str
    reason: str
    replaced_by: Link | None


def home_view(cards: Sequence[Card]) -> HomeView:
    """Return the first page."""
    kinds = Counter(card.kind for card in cards)
    benchmarks = [card for card in cards if card.kind == "benchmark" and card.stands]
    disclosed = _disclosed(benchmarks)
    by_ref = {card.ref: card for card in cards}
    statuses = status_options(Counter(card.status for card in cards))
    all_drafts = [each.value for each in statuses] == ["draft"]
    return HomeView(
        counts=tuple([Option(kind, PLURALS[kind], kinds[kind], index_page(f"{kind}s")) for kind in KINDS]),
        publishers=len({publisher_of(by_ref[card.primary]) for card in benchmarks if card.primary in by_ref}),
        updated=max((card.updated for card in cards), default=""),
        trust=tuple(_trust(benchmarks, by_ref)),
        statuses=statuses,
        all_drafts=all_drafts,
        results=sum(len(card.results) for card in cards),
        newest=tuple(_newest(benchmarks, by_ref)),
        fastest=_fastest(benchmarks, by_ref, marked=not all_drafts),
        disclosure=_disclosure_chart(disclosed) if disclosed else None,
        disclosed=disclosed,
        benchmarks=len(benchmarks),
        hubs=tuple(_hubs(cards)),
    )


def changes_pages(cards: Iterable[Card]) -> Iterator[ChangesView]:
    """Yield the pages of all changes, newest first."""
    ordered = sorted(cards, key=lambda card: card.ref)
    rows = [
        ChangeRow(change.day, to_record(card, root=""), change.what, change.why)
        for card in ordered
        for change in reversed(card.changes)
    ]
    ordered.sort(key=lambda card: card.updated, reverse=True)
    newest = [RecordRow(card.updated, to_record(card, root=""), card.kind) for card in ordered[:MOST_ENTRIES]]
    rows.sort(key=lambda row: row.day, reverse=True)
    count = pages_of(len(rows), _CHANGES_PER_PAGE)
    for number in range(1, count + 1):
        chosen = tuple(rows[(number - 1) * _CHANGES_PER_PAGE : number * _CHANGES_PER_PAGE])
        parts = pager_links(number, count, _changes_page)
        records = tuple(newest) if number == 1 else ()
        yield ChangesView(_changes_page(number), chosen, len(rows), parts, records, len(ordered), FEED)


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
        shares = dict(zip([measure.code for measure in MEASURES], found.shares, strict=True))
        titles = {measure.code: measure.title for measure in MEASURES}
        for code in _TRUSTED:
            yield Trust(titles[code], percent(shares[code]), f"quality.html#{code}")
        yield Trust(
            "By no seller or maker", percent(_disinterested(benchmarks, by_ref)), index_page("sources")
        )


def _disinterested(benchmarks: Iterable[Card], by_ref: Mapping[str, Card]) -> Share:
    """Return how many results come from a publisher who neither makes nor sells what was measured, as far as is known."""
    have = of = 0
    for card in benchmarks:
        source = by_ref[card.primary].source if card.primary in by_ref else None
        of += len(card.results)
        have += len(card.results) * (source is not None and source.interest in _DISINTERESTED)
    return Share(have, of)


def _fastest(benchmarks: Iterable[Card], by_ref: Mapping[str, Card], *, marked: bool) -> Fastest | None:
    """Return the chart of the model whose speed for a lone user most accelerators have; None where no two have.

    Args:
        benchmarks: Those that stand.
        by_ref: All cards.
        marked: Whether drafts are drawn hollow.
    """
    models: dict[str, dict[str, list[tuple[Decimal, Card]]]] = {}
    for card in benchmarks:
        head, lone, accelerator, model = (card.cells[index] for index in (0, 2, 3, 5))
        # A figure with a sign is a bound or a rounding, which no bar can show.
        if (
            card.metric == _ASKED
            and lone.raw == _LONE
            and head.raw
            and head.text[:1].isdigit()
            and is_open(card)
        ):
            of_model = models.setdefault(model.ref, {})
            of_model.setdefault(accelerator.ref, []).append((Decimal(head.raw), card))
    most = max(
        models, key=lambda ref: (len(models[ref]), sum(map(len, models[ref].values())), ref), default=""
    )
    found = models.get(most, {})
    if len(found) < _FEWEST_BARS:
        return None
    best = [max(each, key=lambda one: (one[0], one[1].ref)) for each in found.values()]
    best.sort(key=lambda one: (-one[0], one[1].ref))
    rows = [_fast_row(card, len(found[card.cells[3].ref]), by_ref) for _, card in best[:_BARS]]
    bars = [
        charts.Bar(
            f"{row.many} {row.accelerator.text}, {row.engine}",
            speed,
            row.number,
            muted=marked and card.status == "draft",
        )
        for row, (speed, card) in zip(rows, best, strict=False)
    ]
    named = to_record(by_ref[most], root="") if most in by_ref else Link(most)
    return Fastest(
        named,
        charts.bars("Fastest", f"{METRICS[_ASKED].title} of {named.text}, by accelerator", bars),
        tuple(rows),
        len(found),
        sum(map(len, found.values())),
        explorer(_ASKED, model=most, concurrency=_LONE),
    )


def _fast_row(card: Card, records: int, by_ref: Mapping[str, Card]) -> FastRow:
    accelerator, engine = card.cells[3], card.cells[4]
    assert card.headline is not None

    def title(ref: str) -> str:
        return by_ref[ref].title if ref in by_ref else ref

    return FastRow(
        accelerator=Link(title(accelerator.ref), record_page(accelerator.ref)),
        many=accelerator.text or "number not stated,",
        engine=title(engine.ref),
        number=quantity_text(card.headline),
        record=to_record(card, root=""),
        records=records,
    )


def _changes_page(number: int) -> str:
    return "changes.html" if number == 1 else f"changes.{number}.html"


def _newest(benchmarks: Iterable[Card], by_ref: Mapping[str, Card]) -> Iterator[NewRecord]:
    """Yield the latest records, one a publisher: by day of change, then by day of publication, for many are added on one day."""
    dated = []
    for card in filter(is_open, benchmarks):
        source = by_ref[card.primary].source if card.primary in by_ref else None
        if source is not None:
            day = source.published if source.published[:4].isdigit() else ""
            dated.append((card.updated, day, card.ref, source))
    shown: set[str] = set()
    for _, day, ref, source in sorted(dated, key=lambda each: each[:3], reverse=True):
        if source.publisher not in shown and len(shown) < _NEWEST:
            shown.add(source.publisher)
            yield _new_record(by_ref[ref], day, source.publisher)


def _new_record(card: Card, day: str, publisher: str) -> NewRecord:
    metric = METRICS.get(card.metric)
    number = quantity_text(card.headline) if card.headline else ""
    title = metric.title if metric else card.metric
    return NewRecord(to_record(card, root=""), day, publisher, number, title, card.status)


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
