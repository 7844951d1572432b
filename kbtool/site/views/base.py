"""What every view is given, and the small pieces that all views are built of."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from kbtool.escape import href, shown_host
from kbtool.findings import Finding
from kbtool.schema import Review
from kbtool.schema.common import Evidence
from kbtool.site.cards import Card, Mention
from kbtool.site.places import record_page, result_place

__all__ = [
    "Citations",
    "Context",
    "Incoming",
    "Link",
    "Quoted",
    "anchor_of",
    "claim_anchor",
    "external",
]

_TAKEN: Final = frozenset({"content"})
"""Ids of the shell that an id of a record could meet. Ours begin with a capital, which no id of a record does."""


class Link(NamedTuple):
    """A link inside the site or out of it, or plain text where there is nothing to link to."""

    text: str
    path: str = ""
    """From the root of the site; empty where it is not inside the site."""
    url: str = ""
    """Outside of the site; already checked."""
    status: str = ""
    """Derived status of the record behind it."""
    here: str = ""
    """HTML id on the same page."""


class Incoming(NamedTuple):
    """A record that names this one."""

    card: Card
    mention: Mention


@dataclass(frozen=True, slots=True)
class Context:
    """All that a page may be made from, besides its record."""

    card: Card
    find: Callable[[str], Card | None]
    """Card of a record that this one names, or that names it."""
    incoming: tuple[Incoming, ...] = ()
    """Who names this record, by reference."""
    review: Review | None = None
    review_fits: bool = False
    """Whether the review is of these bytes, by somebody other than the author."""
    findings: tuple[Finding, ...] = ()
    site_name: str = ""
    site_url: str = ""
    edit_url: str = ""
    """Where the record's file can be edited; empty where no repository is known."""

    def link(self, ref: str, text: str = "") -> Link:
        """Return a link to a record or to one of its results; without an address where there is none."""
        record, _, result = ref.partition("#")
        card = self.card if record == self.card.ref else self.find(record)
        if card is None:
            return Link(text or ref)
        shown = text or (f"{card.title}: {result}" if result else card.title)
        path = result_place(record, card.results, result) if result in card.results else record_page(record)
        return Link(shown, path, status=card.status)


class Quoted(NamedTuple):
    """One place in a source, numbered on the page that quotes it."""

    number: int
    locator: str
    quote: str
    second_hand: bool


class Citations:
    """Numbers the evidence of one page: sources as the record lists them, places in order of first use."""

    def __init__(self, sources: Sequence[str] = ()) -> None:
        self._places: dict[Evidence, int] = {}
        self._sources: dict[str, int] = {}
        for ref in sources:
            self.source(ref)

    def cite(self, evidence: Sequence[Evidence]) -> tuple[int, ...]:
        """Return the numbers of these places."""
        places = self._places
        return tuple([places.setdefault(each, len(places) + 1) for each in evidence])

    def source(self, ref: str) -> int:
        """Return the number of a source."""
        return self._sources.setdefault(ref, len(self._sources) + 1)

    def by_source(self) -> dict[str, tuple[Quoted, ...]]:
        """Return the sources by number, each with the places cited so far."""
        found: dict[str, list[Quoted]] = {ref: [] for ref in self._sources}
        for evidence, number in self._places.items():
            self.source(evidence.source)
            quoted = Quoted(number, evidence.locator, evidence.quote or "", evidence.second_hand)
            found.setdefault(evidence.source, []).append(quoted)
        return {ref: tuple(places) for ref, places in found.items()}


def anchor_of(record_part: str) -> str:
    """Return the HTML id of a result."""
    return f"{record_part}_" if record_part in _TAKEN else record_part


def claim_anchor(claim: str) -> str:
    """Return the HTML id of a claim; claims and results are named apart."""
    return f"Claim-{claim}"


def external(url: str, text: str = "") -> Link:
    """Return a link out of the site, or plain text where the address must not be linked."""
    checked = href(url, allow_http=True)
    shown = text or shown_host(url) or url
    return Link(shown, url=checked or "") if checked else Link(text or url)
