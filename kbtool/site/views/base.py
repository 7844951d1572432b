"""What every view is given, and the small pieces that all views are built of."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from kbtool.analysis.checks import Check
from kbtool.analysis.completeness import Account
from kbtool.analysis.conflicts import Conflict
from kbtool.analysis.limits import Bound, NotChecked
from kbtool.analysis.peers import Standing
from kbtool.escape import href, shown_host
from kbtool.findings import Finding
from kbtool.schema import Record, Review
from kbtool.schema.common import Evidence, SourceUse
from kbtool.site.cards import Card, Mention
from kbtool.site.places import UP, evidence_page, record_page, result_place

__all__ = [
    "Checked",
    "Citations",
    "Context",
    "Incoming",
    "Link",
    "Quoted",
    "citations_of",
    "claim_anchor",
    "external",
    "to_record",
]

_MARKED: Final = frozenset({"disputed", "superseded", "retracted"})


class Link(NamedTuple):
    """A link, or plain text where there is nothing to link to."""

    text: str
    href: str = ""
    """Address as it stands in the page; empty for plain text."""
    mark: str = ""
    """Status of the record behind it, where that is one that every mention has to show."""
    outside: bool = False
    """Whether it leads out of the site."""


def to_record(card: Card, text: str = "", *, place: str = "", root: str = UP) -> Link:
    """Return a link to a record, or to a place that belongs to it.

    Args:
        card: The record.
        text: What the link says; its title if empty.
        place: Page and anchor, from the root of the site; its page if empty.
        root: What leads from the page with the link to the root of the site.
    """
    mark = card.status if card.status in _MARKED else ""
    return Link(text or card.title, root + (place or record_page(card.ref)), mark)


class Incoming(NamedTuple):
    """A record that names this one."""

    card: Card
    mention: Mention


@dataclass(frozen=True, slots=True)
class Checked:
    """What the analysis says of a benchmark."""

    limits: tuple[Bound | NotChecked, ...]
    """Of the headline."""
    checks: tuple[Check, ...]
    """Of all results that a bound applies to, in short."""
    standing: Standing | None
    """The headline among what it may stand beside."""
    conflicts: tuple[Conflict, ...]
    """Pairs of figures that disagree, of which this record states one."""


@dataclass(frozen=True, slots=True)
class Context:
    """All that a page may be made from, besides its record."""

    card: Card
    find: Callable[[str], Card | None]
    """Card of a record that this one names, or that names it."""
    incoming: tuple[Incoming, ...] = ()
    """Who names this record, by reference."""
    accounts: tuple[Account, ...] = ()
    """How a benchmark answers for each disclosure field."""
    review: Review | None = None
    review_fits: bool = False
    """Whether the review is of these bytes, by somebody other than the author."""
    findings: tuple[Finding, ...] = ()
    site_name: str = ""
    site_url: str = ""
    edit_url: str = ""
    """Where the record's file can be edited; empty where no repository is known."""
    raw_files: frozenset[str] = frozenset()
    """Paths of the raw files of this record that the site holds."""
    checked: Checked | None = None
    """What the analysis says of a benchmark."""
    brief: bool = False
    """Whether the page has little room for that."""

    def link(self, ref: str, text: str = "") -> Link:
        """Return a link to a record or to one of its results; without an address where there is none."""
        record, _, result = ref.partition("#")
        card = self.card if record == self.card.ref else self.find(record)
        if card is None:
            return Link(text or ref)
        place = result_place(record, card.results, result) if result in card.results else ""
        return to_record(card, text or (f"{card.title}: {result}" if result else ""), place=place)


class Quoted(NamedTuple):
    """One place in a source, numbered on the page that quotes it."""

    number: str
    locator: str
    quote: str
    second_hand: bool


class Citations:
    """Numbers the evidence of one page: sources as the record lists them, places in order of first use."""

    def __init__(self, sources: Iterable[SourceUse] = (), *, page: str = "") -> None:
        """Start with the record's sources.

        Args:
            sources: They come first, in this order.
            page: Page beside this one that holds the evidence, where this one does not.
        """
        self.page = page
        self._places: dict[Evidence, Link] = {}
        self._sources: dict[str, int] = {}
        for each in sources:
            self.source(each.source)

    def cite(self, evidence: Iterable[Evidence]) -> tuple[Link, ...]:
        """Return links to these places, each under its number."""
        return tuple([self._places.get(each) or self._cited(each) for each in evidence])

    def source(self, ref: str) -> int:
        """Return the number of a source."""
        return self._sources.setdefault(ref, len(self._sources) + 1)

    def source_link(self, ref: str) -> Link:
        """Return a link to where the page says what a source is."""
        number = self.source(ref)
        return Link(f"source {number}", f"{self.page}#S{number}")

    def by_source(self) -> dict[str, tuple[Quoted, ...]]:
        """Return the sources by number, each with the places cited so far."""
        found: dict[str, list[Quoted]] = {ref: [] for ref in self._sources}
        for evidence, link in self._places.items():
            self.source(evidence.source)
            quoted = Quoted(link.text, evidence.locator, evidence.quote or "", evidence.second_hand)
            found.setdefault(evidence.source, []).append(quoted)
        return {ref: tuple(places) for ref, places in found.items()}

    def _cited(self, evidence: Evidence) -> Link:
        number = str(len(self._places) + 1)
        link = self._places[evidence] = Link(number, f"{self.page}#E{number}")
        return link


def citations_of(record: Record, context: Context, *, whole: bool = False) -> Citations:
    """Return the numbering of a record's page; `whole` for the page that holds the evidence itself."""
    apart = context.card.evidence_apart and not whole
    page = PurePosixPath(evidence_page(context.card.ref)).name if apart else ""
    return Citations(record.sources, page=page)


def claim_anchor(claim: str) -> str:
    """Return the HTML id of a claim; claims and results are named apart."""
    return f"Claim-{claim}"


def external(url: str, text: str = "") -> Link:
    """Return a link out of the site, or plain text where the address must not be linked."""
    checked = href(url, allow_http=True)
    return Link(text or shown_host(url) or url, checked, outside=True) if checked else Link(text or url)
