"""The tables of `kbtool.analysis.tables`, filled from the records of a library; each is made when it is asked for."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cached_property
from typing import Final

from kbtool.analysis.quality import CURATED
from kbtool.analysis.rows import Cell
from kbtool.analysis.tables import TABLES, Table, metrics_table, table_of
from kbtool.schema import FOLDERS
from kbtool.site.cards import Card
from kbtool.site.library import Library
from kbtool.site.products import key_of
from kbtool.site.record_rows import RecordRows
from kbtool.site.table import ResultTable
from kbtool.vocab.disclosure import DISCLOSURE_FIELDS

__all__ = ["Tables"]

_STATES: Final = {"o": "omitted_by_source", "p": "gap", "m": "missing"}
"""Letters of `Card.disclosure` -> why a field is not given."""


@dataclass(frozen=True)
class Tables:
    """All tables of one library."""

    results: ResultTable

    @property
    def library(self) -> Library:
        """The records."""
        return self.results.library

    @cached_property
    def digest(self) -> str:
        """A hash of everything that any of the tables depends on."""
        library = self.library
        cards = (f"{library.row_digest(ref)} {library.group(ref)}" for ref in library.cards)
        return key_of(self.results.digest, cards, map(self._rows.digest, FOLDERS.values()))

    def table(self, name: str) -> Table:
        """Return a table by its name."""
        columns = TABLES[name]
        if name == "results":
            return Table(name, columns, tuple(self.results.column(column.name) for column in columns))
        if name == "metrics":
            return metrics_table()
        if name in FOLDERS:
            return Table(name, columns, tuple(self._rows.columns(FOLDERS[name]).values()))
        return table_of(name, self._of_cards(name))

    def counts(self) -> dict[str, int]:
        """Return how many rows each table has, which the cards know."""
        cards = self.library.cards.values()
        kinds = [card.kind for card in cards]
        return {
            "results": sum(len(card.results) for card in cards),
            "records": len(kinds),
            **{name: kinds.count(FOLDERS[name]) for name in TABLES if name in FOLDERS},
            "links": sum(len(card.mentions) for card in cards),
            "gaps": sum(card.disclosure.count(letter) for card in cards for letter in _STATES),
            "changes": sum(len(card.changes) for card in cards),
            "prices": sum(len(card.prices) for card in cards),
            "metrics": len(metrics_table()),
        }

    @cached_property
    def _rows(self) -> RecordRows:
        return RecordRows(self.library)

    def _of_cards(self, name: str) -> Iterator[tuple[Cell, ...]]:
        for card in self.library.cards.values():
            if name == "records":
                yield self._record(card)
            elif name == "links":
                yield from _links(card)
            elif name == "gaps":
                yield from _gaps(card)
            elif name == "changes":
                yield from _changes(card)
            elif name == "prices":
                yield from _prices(card)

    def _record(self, card: Card) -> tuple[Cell, ...]:
        return (
            card.ref,
            card.kind,
            card.title,
            card.status,
            date.fromisoformat(card.updated),
            self.library.group(card.ref) or CURATED,
            len(card.results) if card.kind == "benchmark" else None,
            card.metric or None,
            card.primary or None,
        )


def _changes(card: Card) -> Iterator[tuple[Cell, ...]]:
    for each in card.changes:
        yield card.ref, date.fromisoformat(each.day), each.what or None, each.why


def _prices(card: Card) -> Iterator[tuple[Cell, ...]]:
    for each in card.prices:
        seen = date.fromisoformat(each.seen) if each.seen else None
        head = (card.ref, Decimal(each.amount), each.currency, each.per, each.accelerators, each.basis)
        yield *head, seen, each.as_published, each.source


def _links(card: Card) -> Iterator[tuple[Cell, ...]]:
    for each in card.mentions:
        target, _, part = each.target.partition("#")
        yield card.ref, each.anchor or None, each.relation, target, part or None, each.note or None


def _gaps(card: Card) -> Iterator[tuple[Cell, ...]]:
    for letter, field in zip(card.disclosure, DISCLOSURE_FIELDS, strict=False):
        if letter in _STATES:
            yield card.ref, field.path, _STATES[letter]
