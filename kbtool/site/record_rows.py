"""The rows of every record, kept from build to build: a row is worked out again only where something behind it changed.

The cache holds the rows of one record as JSON, column by column, a cell that all of them share once: 60,000 rows are then read
back in less than a second, and the rows of one record share their texts.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

from kbtool.analysis.limits import Find
from kbtool.analysis.rows import COLUMNS, Cell, Row, rows_of
from kbtool.analysis.tables import TABLES, Type
from kbtool.schema import Record
from kbtool.site.library import Library
from kbtool.site.memo import Memo
from kbtool.site.products import key_of
from kbtool.site.state import CachedRows

__all__ = ["RecordRows"]

_TYPES: Final[dict[str, Type]] = {column.name: column.type for table in TABLES.values() for column in table}


class RecordRows:
    """The rows of the records of one library."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._memo = Memo(library, library.cached_rows, self._made)

    def ensure(self, ref: str) -> CachedRows:
        """Return the rows of a record as the cache has them, made now where something behind them changed."""
        return self._memo.ensure(ref)

    def digest(self, kind: str) -> str:
        """Return a hash of everything that the rows of a kind depend on."""
        return key_of(self.ensure(ref).key for ref in self._refs(kind))

    def columns(self, kind: str) -> dict[str, list[Cell]]:
        """Return the rows of all records of a kind, by reference, as one list a column."""
        names = COLUMNS[kind]
        columns: list[list[Cell]] = [[] for _ in names]
        readers = [(column, _READ[_TYPES[name]]) for column, name in zip(columns, names, strict=True)]
        for ref in self._refs(kind):
            count, stored = json.loads(self.ensure(ref).cells)
            for (column, read), cells in zip(readers, stored, strict=True):
                if isinstance(cells, list):
                    column.extend(map(read, cells) if read else cells)
                else:
                    column.extend([read(cells) if read else cells] * count)
        return dict(zip(names, columns, strict=True))

    def _refs(self, kind: str) -> Iterator[str]:
        return (ref for ref, card in self._library.cards.items() if card.kind == kind)

    def _made(self, ref: str, record: Record, find: Find) -> str:
        card = self._library.cards[ref]
        return _encoded(list(rows_of(ref, record, card.status, find)), COLUMNS[card.kind])


def _encoded(rows: Sequence[Row], names: Sequence[str]) -> str:
    columns = []
    for name in names:
        plain = _PLAIN[_TYPES[name]]
        cells = [plain(row.cells[name]) for row in rows]
        columns.append(cells[0] if cells and cells.count(cells[0]) == len(cells) else cells)
    return json.dumps([len(rows), columns], separators=(",", ":"))


# A setting that one result changed is not validated anew, so that any cell may be of another type than its column: what does
# not fit is left out, as a rule reports it.


def _plain_text(cell: Any) -> str | None:
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return str(cell) if isinstance(cell, str | int | Decimal | date) else None


def _plain_integer(cell: Any) -> int | None:
    if isinstance(cell, Decimal) and cell == cell.to_integral_value():
        return int(cell)
    return cell if isinstance(cell, int) and not isinstance(cell, bool) else None


def _plain_number(cell: Any) -> str | int | None:
    if isinstance(cell, Decimal):
        return str(cell)
    return cell if isinstance(cell, int) and not isinstance(cell, bool) else None


def _plain_day(cell: Any) -> str | None:
    return cell.isoformat() if isinstance(cell, date) else None


_PLAIN: Final[Mapping[Type, Callable[[Any], str | int | None]]] = {
    "text": _plain_text, "integer": _plain_integer, "number": _plain_number, "date": _plain_day,
}  # fmt: skip


def _number(cell: Any) -> Cell:
    return Decimal(cell) if isinstance(cell, str) else cell


@lru_cache(maxsize=1 << 12)
def _day(cell: Any) -> Cell:
    return date.fromisoformat(cell) if cell else None


_READ: Final[Mapping[Type, Callable[[Any], Cell] | None]] = {
    "text": None, "integer": None, "number": _number, "date": _day,
}  # fmt: skip
"""Type of a column -> what makes its cells of their form in JSON; None where they are alike."""
