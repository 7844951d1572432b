"""The page about the quality of the data: what results say of themselves, by collection, by publisher and over time."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, NamedTuple

from kbtool.analysis.quality import ALL, CURATED, MEASURES, Group, Measure, Quality, Share, percent, qualities
from kbtool.analysis.quality_history import HISTORY_PATH, Entry
from kbtool.site.cards import Card

__all__ = ["HISTORY_PLACE", "QualityView", "publisher_of", "quality_view", "was_opened"]

HISTORY_PLACE: Final = HISTORY_PATH.removeprefix("site/")
"""Where the site publishes the history, from its root."""
_TITLES: Final = {ALL: "All records", CURATED: "Curated one by one"}


class Cell(NamedTuple):
    """One share: whole percents, and what they are of."""

    percent: str
    of: str


class Row(NamedTuple):
    """One group of records, now or on a day."""

    title: str
    records: int
    results: int
    cells: tuple[Cell, ...]


class Past(NamedTuple):
    """One set of records over time, the newest day first."""

    title: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class QualityView:
    """The page."""

    measures: tuple[Measure, ...]
    collections: tuple[Row, ...]
    publishers: tuple[Row, ...]
    past: tuple[Past, ...]
    history: str
    """Address of the history as a file, from the root of the site; empty where there is none."""


def quality_view(cards: Iterable[Card], group: Callable[[str], str], history: Sequence[Entry]) -> QualityView:
    """Return the page.

    Args:
        cards: Of all records.
        group: The folder of a record's file below the folder of its kind; empty for curated records.
        history: Earlier figures.
    """
    by_ref = {card.ref: card for card in cards}
    standing = [card for card in by_ref.values() if card.stands and card.tally is not None]

    def rows(name: Callable[[Card], str], title: Callable[[str], str]) -> tuple[Row, ...]:
        groups = [Group(name(card), card.tally) for card in standing if card.tally is not None]
        found = qualities(groups, lambda ref: was_opened(by_ref.get(ref)))
        return tuple([_row(title(each.group), each) for each in found])

    return QualityView(
        measures=MEASURES,
        collections=(*rows(lambda _: ALL, _title), *rows(lambda card: group(card.ref) or CURATED, _title)),
        publishers=rows(lambda card: publisher_of(by_ref.get(card.primary)), str),
        past=tuple(_past(history)),
        history=HISTORY_PLACE if history else "",
    )


def was_opened(card: Card | None) -> bool:
    """Return whether it is the card of a source that the last look found."""
    return card is not None and card.source is not None and card.source.opened


def publisher_of(card: Card | None) -> str:
    """Return the publisher of a source, or words that say that there is none."""
    return card.source.publisher if card is not None and card.source is not None else "No primary source"


def _row(title: str, quality: Quality) -> Row:
    return Row(title, quality.records, quality.results, tuple(map(_cell, quality.shares)))


def _title(group: str) -> str:
    """Return what a collection is called."""
    return _TITLES.get(group, f"Imported: {group}")


def _cell(share: Share) -> Cell:
    return Cell(percent(share), f"{share.have:,} of {share.of:,}" if share.of else "not asked")


def _past(history: Sequence[Entry]) -> Iterator[Past]:
    """Yield the sets of the newest day in the order in which it has them."""
    newest = max((each.day for each in history), default="")
    for group in dict.fromkeys(each.set for each in history if each.day == newest):
        entries = sorted(
            (each for each in history if each.set == group), key=lambda each: each.day, reverse=True
        )
        days = groupby(entries, key=lambda each: each.day)
        yield Past(_title(group), tuple([_day(day, list(rows)) for day, rows in days]))


def _day(day: str, entries: Sequence[Entry]) -> Row:
    shares = {each.measure: each.share for each in entries}
    nothing = Share(0, 0)
    cells = tuple([_cell(shares.get(each.code, nothing)) for each in MEASURES])
    return Row(day, entries[0].records, entries[0].results, cells)
