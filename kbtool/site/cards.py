"""Cards: what other pages show of a record, so that a page needs its own record and nothing else whole.

A page is made from one record and the cards of its neighbours: the records that it names and those that
name it. Cards are small, plain and cached, which is what makes an incremental build both cheap and exact:
a page has to be made anew when its own record or one of those cards changed, and not otherwise.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Final, NamedTuple, Self

from kbtool.analysis.completeness import accounts
from kbtool.analysis.quality import Share, Tally, is_opened, tally
from kbtool.analysis.settings import in_force
from kbtool.escape import href, shown_host
from kbtool.schema import Accelerator, Benchmark, Gotcha, Record, Source
from kbtool.schema.common import Change
from kbtool.schema.things import Price
from kbtool.site.columns import Cell, cells_of, headline_of, results_in_order
from kbtool.site.views.text import Quantity, published_text, result_quantity, scalar_text, words
from kbtool.vocab.disclosure import DISCLOSURE_FIELDS
from kbtool.vocab.terms import WITHDRAWN, Interest

__all__ = ["Card", "CardChange", "CardPrice", "Measured", "Mention", "RawFile", "SourceFacts", "card_of"]


class Mention(NamedTuple):
    """That a record names another one."""

    target: str
    """`<kind>s/<id>`, with `#<result>` where one result is meant."""
    relation: str
    anchor: str = ""
    """Result or claim of this record that names it."""
    note: str = ""


class CardChange(NamedTuple):
    """One entry of a record's changes."""

    day: str
    what: str
    why: str


class Measured(NamedTuple):
    """What a benchmark measured on what, and how many of its results stand."""

    metric: str
    accelerator: str
    engine: str
    model: str
    results: int


class CardPrice(NamedTuple):
    """A price that was seen of an accelerator."""

    amount: str
    """Exact number."""
    currency: str
    per: str
    accelerators: int | None
    """How many the amount pays for."""
    basis: str
    seen: str
    """Day; empty where it is not told."""
    as_published: str
    source: str


class RawFile(NamedTuple):
    """A raw file that a benchmark names."""

    path: str
    sha256: str
    size_bytes: int


class SourceFacts(NamedTuple):
    """What every page that quotes a source says about it."""

    publisher: str
    author: str
    interest: Interest
    url: str
    """Checked for linking; empty where it must not be linked."""
    shown_url: str
    """Its host, or the address itself where it must not be linked."""
    archive_url: str
    published: str
    accessed: str
    group: str
    what: str
    opened: bool
    """Whether the last look at it found it."""


@dataclass(frozen=True, slots=True)
class Card:
    """What other pages show of one record."""

    ref: str
    kind: str
    title: str
    status: str
    """Derived: what the record says, or `reviewed` and `verified` by a review that still fits."""
    updated: str
    headline: Quantity | None
    metric: str
    """Metric of the headline."""
    cells: tuple[Cell, ...]
    """One for each of `COLUMNS[kind]`."""
    mentions: tuple[Mention, ...]
    results: tuple[str, ...]
    """Ids of the results, in the order of the page."""
    evidence_apart: bool
    """Whether claims, sources and evidence have a page of their own."""
    changes: tuple[CardChange, ...]
    disclosure: str
    """A letter for each of `DISCLOSURE_FIELDS`: `g`iven, `o`mitted, ga`p`, `m`issing, `-` not asked; benchmarks only."""
    names: tuple[str, ...]
    """Other names of a thing, and tags."""
    numbers: tuple[str, ...]
    """Figures as published, so that search finds a record by its numbers."""
    source: SourceFacts | None
    raw_files: tuple[RawFile, ...] = ()
    primary: str = ""
    """Reference of its primary source; benchmarks only."""
    tally: Tally | None = None
    """What it adds to the figures about the quality of the data; benchmarks only."""
    measured: tuple[Measured, ...] = ()
    """With the settings that were in force in each result; benchmarks only."""
    prices: tuple[CardPrice, ...] = ()
    """Accelerators only."""

    @property
    def stands(self) -> bool:
        """Whether it may stand in rankings and counts."""
        return self.status not in WITHDRAWN

    def to_row(self) -> str:
        """Return the card as JSON."""
        return json.dumps([getattr(self, each.name) for each in fields(self)], separators=(",", ":"))

    @classmethod
    def from_row(cls, row: str) -> Self:
        """Return the card of `to_row()`."""
        (ref, kind, title, status, updated, headline, metric, cells, mentions, results, evidence_apart, changes,
         disclosure, names, numbers, source, raw_files, primary, counted, measured, prices) = json.loads(row)  # fmt: skip
        return cls(
            ref, kind, title, status, updated,
            Quantity(*headline) if headline else None,
            metric,
            tuple([Cell(*each) for each in cells]),
            tuple([Mention(*each) for each in mentions]),
            tuple(results),
            evidence_apart,
            tuple([CardChange(*each) for each in changes]),
            disclosure,
            tuple(names),
            tuple(numbers),
            SourceFacts(*source) if source else None,
            tuple([RawFile(*each) for each in raw_files]),
            primary,
            _tally_of(*counted) if counted else None,
            tuple([Measured(*each) for each in measured]),
            tuple([CardPrice(*each) for each in prices]),
        )  # fmt: skip

    def digest(self) -> bytes:
        """Return a hash of everything that the card says."""
        return hashlib.blake2b(self.to_row().encode(), digest_size=16).digest()


_MOST_EVIDENCE_BYTES: Final = 5_000
"""What a page of at most 40 kB has room for beside the setup and the results."""
_LETTERS: Final = {"given": "g", "omitted_by_source": "o", "gap": "p", "missing": "m"}


def card_of(ref: str, record: Record, status: str, outgoing: Iterable[tuple[str, str, str]]) -> Card:
    """Return the card of a record.

    Args:
        ref: `<kind>s/<id>`.
        record: The record.
        status: Its derived status.
        outgoing: Its references: JSON pointer, target and relation.
    """
    head = headline_of(record) if isinstance(record, Benchmark) else None
    mentions = list(_mentions(record, outgoing))
    return Card(
        ref=ref,
        kind=type(record).__name__.lower(),
        title=record.title,
        status=status,
        updated=record.updated.isoformat(),
        headline=result_quantity(head) if head else None,
        metric=head.metric if head else "",
        cells=cells_of(record),
        mentions=tuple(dict.fromkeys(mentions)),
        results=tuple([each.id for each in results_in_order(record)])
        if isinstance(record, Benchmark)
        else (),
        evidence_apart=_evidence_bytes(record, mentions) > _MOST_EVIDENCE_BYTES,
        changes=tuple([_change(each) for each in record.changes]),
        disclosure=_disclosure(record) if isinstance(record, Benchmark) else "",
        names=_names(record),
        numbers=tuple(_numbers(record)),
        source=_source_facts(record) if isinstance(record, Source) else None,
        raw_files=tuple([RawFile(each.path, each.sha256, each.size_bytes) for each in record.artifacts])
        if isinstance(record, Benchmark)
        else (),
        primary=(record.primary_source or "") if isinstance(record, Benchmark) else "",
        tally=tally(record) if isinstance(record, Benchmark) else None,
        measured=tuple(_measured(record)) if isinstance(record, Benchmark) else (),
        prices=tuple([_price(each) for each in record.prices]) if isinstance(record, Accelerator) else (),
    )


def _price(price: Price) -> CardPrice:
    return CardPrice(
        amount=f"{price.amount:f}",
        currency=price.currency,
        per=price.per,
        accelerators=price.accelerators,
        basis=price.basis,
        seen=price.seen.isoformat() if price.seen else "",
        as_published=price.as_published,
        source=price.evidence[0].source,
    )


def _measured(record: Benchmark) -> Iterator[Measured]:
    """Yield what was measured on what, in the order in which the record has it."""
    counts: Counter[tuple[str, str, str, str]] = Counter()
    for result in record.results:
        if result.standing != "withdrawn":
            setup = in_force(record, result)
            named = (setup.system.accelerator, setup.engine.engine, setup.model.model)
            counts[(result.metric, *named)] += 1
    for key, count in counts.items():
        yield Measured(*key, count)


def _tally_of(results: int, shares: list[list[int]], rests_on: list[tuple[list[str], int]]) -> Tally:
    """Return a tally from the lists that JSON makes of it."""
    return Tally(
        results,
        tuple([Share(*each) for each in shares]),
        tuple([(tuple(refs), count) for refs, count in rests_on]),
    )


def _evidence_bytes(record: Record, mentions: Sequence[Mention]) -> int:
    """Return about how many bytes of a page claims, sources and evidence take, as measured on rendered pages."""
    places = [each.target for each in mentions if each.relation == "source"]
    return 600 * len(record.claims) + 450 * len(set(places)) + 110 * len(places)


def _mentions(record: Record, outgoing: Iterable[tuple[str, str, str]]) -> Iterator[Mention]:
    for pointer, target, relation in outgoing:
        _, head, *rest = pointer.split("/")
        index = int(rest[0]) if rest and rest[0].isdigit() else 0
        if head == "results" and isinstance(record, Benchmark):
            yield Mention(target, relation, record.results[index].id)
        elif head == "claims":
            yield Mention(target, relation, record.claims[index].id)
        elif head == "links":
            link = record.links[index]
            yield Mention(target, link.relation, link.result or "", link.note or "")
        elif head == "effects" and isinstance(record, Gotcha):
            yield Mention(target, "effect", "", record.effects[index].note)
        elif head == "related" and isinstance(record, Source):
            related = record.related[index]
            yield Mention(target, related.relation, "", related.note or "")
        else:
            yield Mention(target, relation)


def _change(change: Change) -> CardChange:
    what = ", ".join(change.fields)
    if change.old is not None or change.new is not None:
        what += f": {scalar_text(change.old)} \N{RIGHTWARDS ARROW} {scalar_text(change.new)}"
    return CardChange(change.date.isoformat(), "" if what == "." else what, change.why)


def _disclosure(record: Benchmark) -> str:
    letters = {each.field.path: _LETTERS[each.state] for each in accounts(record)}
    return "".join(letters.get(field.path, "-") for field in DISCLOSURE_FIELDS)


def _names(record: Record) -> tuple[str, ...]:
    if isinstance(record, Benchmark):
        stated = (
            record.system.accelerator_as_published,
            record.model.as_published,
            record.speculation.as_published,
            *record.tags,
        )
        return tuple([each for each in stated if each])
    return tuple(getattr(record, "names", ()))


def _numbers(record: Record) -> Iterator[str]:
    if isinstance(record, Benchmark):
        yield from dict.fromkeys(each.as_published for each in record.results)


def _source_facts(source: Source) -> SourceFacts:
    return SourceFacts(
        publisher=source.publisher,
        author=source.author or "",
        interest=source.interest,
        url=(href(source.url, allow_http=True) if source.url else None) or "",
        shown_url=(shown_host(source.url) or source.url) if source.url else "",
        archive_url=(href(source.archive_url, allow_http=True) if source.archive_url else None) or "",
        published=published_text(source),
        accessed=source.accessed.isoformat(),
        group=source.group,
        what=words(source.source_kind),
        opened=is_opened(source),
    )
