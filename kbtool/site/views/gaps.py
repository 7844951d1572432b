"""The page of gaps: which publisher tells what, field by field."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from kbtool.analysis.quality import Share, percent
from kbtool.site.cards import Card
from kbtool.site.places import explorer
from kbtool.site.views.quality import publisher_of
from kbtool.vocab.disclosure import DISCLOSURE_FIELDS, DisclosureField

__all__ = ["GapsView", "gaps_view"]

_MOST_PUBLISHERS: Final = 10
_LEVELS: Final = (1, 25, 50, 75, 100)
"""Per cent from which a cell is drawn a shade darker."""
_FACETS: Final = {
    "model.weight_dtype": "weight_dtype",
    "speculation.method": "speculation",
    "results.at.concurrency": "concurrency",
}
"""Disclosure field -> the facet of the explorer that says the same of single results."""

Find = Callable[[str], Card | None]


class GapCell(NamedTuple):
    """How many records of one publisher give one field."""

    percent: str
    """Empty where no record is asked."""
    of: str
    level: int
    href: str = ""
    """Address of the results that leave it out, where the explorer can tell them apart."""


class Publisher(NamedTuple):
    """Who published, and how many benchmarks."""

    name: str
    records: int
    href: str
    """Address of the results in the explorer."""


class GapRow(NamedTuple):
    """One field."""

    field: str
    path: str
    why: str
    cells: tuple[GapCell, ...]
    """Of all, then of each publisher."""


@dataclass(frozen=True, slots=True)
class GapsView:
    """The page."""

    publishers: tuple[Publisher, ...]
    """Those with most records."""
    all_publishers: int
    """Publishers of primary sources, of records that stand."""
    without: int
    """Records that name no primary source."""
    rows: tuple[GapRow, ...]
    """The field that is left out most first."""
    records: int


def gaps_view(cards: Iterable[Card], find: Find) -> GapsView:
    """Return the page.

    Args:
        cards: Of all records.
        find: Returns the card of a reference.
    """
    told = [
        (publisher_of(source) if (source := find(card.primary)) else "", card.disclosure)
        for card in cards
        if card.disclosure and card.stands
    ]
    counts = Counter(name for name, _ in told if name)
    publishers = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_MOST_PUBLISHERS]
    groups = [[letters for name, letters in told if name == publisher] for publisher, _ in publishers]
    everyone = [letters for _, letters in told]
    rows = [
        (_share(everyone, index), _row(field, index, everyone, list(zip(publishers, groups, strict=True))))
        for index, field in enumerate(DISCLOSURE_FIELDS)
    ]
    rows.sort(key=lambda each: each[0].have / each[0].of if each[0].of else 1)
    return GapsView(
        publishers=tuple([Publisher(name, count, explorer(publisher=name)) for name, count in publishers]),
        all_publishers=len(counts),
        without=len(told) - counts.total(),
        rows=tuple([row for _, row in rows]) if told else (),
        records=len(told),
    )


def _row(
    field: DisclosureField,
    index: int,
    everyone: Sequence[str],
    groups: Sequence[tuple[tuple[str, int], Sequence[str]]],
) -> GapRow:
    facet = _FACETS.get(field.path)

    def cell(told: Sequence[str], **whose: str) -> GapCell:
        share = _share(told, index)
        # A field that all give leaves nothing to look at.
        lacking = facet is not None and share.have < share.of
        return _cell(share, explorer(**{**whose, facet: None}) if facet and lacking else "")

    cells = (cell(everyone), *(cell(told, publisher=name) for (name, _), told in groups))
    return GapRow(field.title, field.path, field.why, cells)


def _share(told: Sequence[str], index: int) -> Share:
    """Return how many give a field of those that are asked; a gap that has no value to give is not asked."""
    letters = Counter(letters[index] for letters in told)
    return Share(letters["g"], letters["g"] + letters["o"] + letters["p"] + letters["m"])


def _cell(share: Share, href: str) -> GapCell:
    if not share.of:
        return GapCell("", "not asked", 0)
    per_cent = 100 * share.have / share.of
    return GapCell(
        percent(share), f"{share.have:,} of {share.of:,}", sum(per_cent >= each for each in _LEVELS), href
    )
