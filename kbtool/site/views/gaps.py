"""The page of gaps: which publisher tells what, field by field."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from kbtool.analysis.quality import Share, percent
from kbtool.site.cards import Card
from kbtool.vocab.disclosure import DISCLOSURE_FIELDS, DisclosureField

__all__ = ["GapsView", "gaps_view"]

_MOST_PUBLISHERS: Final = 10
_LEVELS: Final = (1, 25, 50, 75, 100)
"""Per cent from which a cell is drawn a shade darker."""
_NO_SOURCE: Final = "No primary source"

Find = Callable[[str], Card | None]


class GapCell(NamedTuple):
    """How many records of one publisher give one field."""

    percent: str
    """Empty where no record is asked."""
    of: str
    level: int


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

    publishers: tuple[tuple[str, int], ...]
    """Those with most records, and how many."""
    all_publishers: int
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
        (_publisher(find(card.primary)), card.disclosure) for card in cards if card.disclosure and card.stands
    ]
    counts = Counter(name for name, _ in told)
    publishers = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_MOST_PUBLISHERS]
    groups = [[letters for name, letters in told if name == publisher] for publisher, _ in publishers]
    everyone = [letters for _, letters in told]
    rows = [
        (_share(everyone, index), _row(field, index, everyone, groups))
        for index, field in enumerate(DISCLOSURE_FIELDS)
    ]
    rows.sort(key=lambda each: each[0].have / each[0].of if each[0].of else 1)
    return GapsView(
        tuple(publishers), len(counts), tuple([row for _, row in rows]) if told else (), len(told)
    )


def _publisher(card: Card | None) -> str:
    return card.source.publisher if card is not None and card.source is not None else _NO_SOURCE


def _row(
    field: DisclosureField, index: int, everyone: Sequence[str], groups: Sequence[Sequence[str]]
) -> GapRow:
    cells = tuple([_cell(_share(group, index)) for group in (everyone, *groups)])
    return GapRow(field.title, field.path, field.why, cells)


def _share(told: Sequence[str], index: int) -> Share:
    """Return how many give a field of those that are asked; a gap that has no value to give is not asked."""
    letters = Counter(letters[index] for letters in told)
    return Share(letters["g"], letters["g"] + letters["o"] + letters["p"] + letters["m"])


def _cell(share: Share) -> GapCell:
    if not share.of:
        return GapCell("", "not asked", 0)
    per_cent = 100 * share.have / share.of
    return GapCell(
        percent(share), f"{share.have:,} of {share.of:,}", sum(per_cent >= each for each in _LEVELS)
    )
