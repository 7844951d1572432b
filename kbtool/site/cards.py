"""Cards: what other pages show of a record, so that a page needs its own record and nothing else whole.

A page is made from one record and the cards of its neighbours: the records that it names and those that
name it. Cards are small, plain and cached, which is what makes an incremental build both cheap and exact:
a page has to be made anew when its own record or one of those cards changed, and not otherwise.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, NamedTuple, Self

from kbtool.analysis.completeness import accounts
from kbtool.schema import Accelerator, Benchmark, Engine, Gotcha, Interconnect, Model, Record, Source
from kbtool.schema.benchmark import Result
from kbtool.schema.common import Figure
from kbtool.site.views.text import Quantity, counted, figure_quantity, result_quantity, scalar_text, words
from kbtool.vocab import METRICS
from kbtool.vocab.disclosure import DISCLOSURE_FIELDS

__all__ = [
    "COLUMNS",
    "Card",
    "CardChange",
    "Cell",
    "Column",
    "Mention",
    "SourceFacts",
    "card_of",
    "headline_of",
    "results_in_order",
]


class Column(NamedTuple):
    """A column of the tables that list one kind of record."""

    title: str
    number: bool = False
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


class SourceFacts(NamedTuple):
    """What every page that quotes a source says about it."""

    publisher: str
    author: str
    interest: str
    url: str
    archive_url: str
    published: str
    accessed: str
    group: str
    what: str


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
    chart: bool
    """Whether its results hold a sweep."""
    source: SourceFacts | None

    @property
    def stands(self) -> bool:
        """Whether it may stand in rankings and counts."""
        return self.status not in {"superseded", "retracted"}

    def to_row(self) -> str:
        """Return the card as JSON."""
        return json.dumps([getattr(self, each.name) for each in fields(self)], separators=(",", ":"))

    @classmethod
    def from_row(cls, row: str) -> Self:
        """Return the card of `to_row()`."""
        (ref, kind, title, status, updated, headline, metric, cells, mentions, results, evidence_apart, changes,
         disclosure, names, numbers, chart, source) = json.loads(row)  # fmt: skip
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
            chart,
            SourceFacts(*source) if source else None,
        )  # fmt: skip

    def digest(self) -> bytes:
        """Return a hash of everything that the card says."""
        return hashlib.blake2b(self.to_row().encode(), digest_size=16).digest()


COLUMNS: Final[dict[str, tuple[Column, ...]]] = {
    "benchmark": (
        Column("Metric", facet=True), Column("Headline", number=True), Column("Concurrency", number=True),
        Column("Accelerators", facet=True), Column("Engine", facet=True), Column("Model", facet=True),
        Column("Measured by", facet=True),
    ),
    "accelerator": (
        Column("Vendor", facet=True), Column("Memory", number=True), Column("Bandwidth", number=True),
        Column("Power", number=True), Column("Form", facet=True),
    ),
    "interconnect": (
        Column("Vendor", facet=True), Column("Joins", facet=True), Column("Generation"),
        Column("Per device and direction", number=True),
    ),
    "engine": (Column("Maintainer"), Column("Licence", facet=True)),
    "model": (
        Column("Published by", facet=True), Column("Architecture", facet=True), Column("Parameters", number=True),
        Column("Active", number=True), Column("Context", number=True),
    ),
    "source": (
        Column("What it is", facet=True), Column("Publisher", facet=True), Column("Interest", facet=True),
        Column("Published"), Column("Read"),
    ),
    "gotcha": (Column("Kind of trap", facet=True), Column("Engine", facet=True), Column("What one sees")),
}  # fmt: skip
"""Kind -> columns between the title and the status."""

_MOST_EVIDENCE_BYTES: Final = 14_000
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
        cells=_CELLS[type(record)](record),
        mentions=tuple(dict.fromkeys(mentions)),
        results=tuple([each.id for each in results_in_order(record)]) if isinstance(record, Benchmark) else (),
        evidence_apart=_evidence_bytes(record, mentions) > _MOST_EVIDENCE_BYTES,
        changes=tuple([_change(each) for each in record.changes]),
        disclosure=_disclosure(record) if isinstance(record, Benchmark) else "",
        names=_names(record),
        numbers=tuple(_numbers(record)),
        chart=isinstance(record, Benchmark) and len(record.results) >= 3,
        source=_source_facts(record) if isinstance(record, Source) else None,
    )


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


def _change(change: Any) -> CardChange:
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
        url=source.url or "",
        archive_url=source.archive_url or "",
        published=source.published_as or (source.published.isoformat() if source.published else ""),
        accessed=source.accessed.isoformat(),
        group=source.group,
        what=words(source.source_kind),
    )


# --- cells ------------------------------------------------------------------------------------


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
        Cell(metric.title if metric else head.metric if head else ""),
        Cell(f"{sign} {text}" if sign else text, unit, raw),
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
    facts = _source_facts(record)
    return (
        Cell(facts.what),
        Cell(facts.publisher),
        Cell(words(facts.interest)),
        Cell(facts.published),
        Cell(facts.accessed),
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
