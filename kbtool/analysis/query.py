"""Filters, words and sort orders over rows: what `kbtool find` understands.

A filter is `COLUMN OP VALUE` with `=`, `!=`, `<`, `<=`, `>`, `>=` or `~` (contains).  Numbers compare as
numbers; a row without a value in the column never matches, since unknown is not a value.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from operator import eq, ge, gt, le, lt, ne
from typing import Any, Final

from kbtool.analysis.rows import Cell, Row
from kbtool.errors import UsageError
from kbtool.store.suggest import nearest

__all__ = ["Filter", "columns_hint", "matches_words", "parse_filter", "select", "sort_rows"]

_FILTER: Final = re.compile(r"\s*([a-z_]+)\s*(!=|<=|>=|=|<|>|~)\s*(.*?)\s*", re.DOTALL)
_OPERATORS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "=": eq,
    "!=": ne,
    "<": lt,
    "<=": le,
    ">": gt,
    ">=": ge,
}
_REFERENCES: Final = frozenset({"ref", "accelerator", "engine", "model", "source"})
"""Columns of one reference each."""
_GROUPED_DIGITS: Final = re.compile(r"(?<=\d),(?=\d{3})")


@dataclass(frozen=True, slots=True)
class Filter:
    """One condition on one column."""

    column: str
    operator: str
    value: str

    def accepts(self, cells: Mapping[str, Cell]) -> bool:
        """Return whether a row meets the condition."""
        cell = cells.get(self.column)
        if cell is None:
            return False
        if self.operator == "~":
            return self.value.casefold() in str(cell).casefold()
        left, right = _comparable(cell, self.value)
        if self.column in _REFERENCES and "/" not in self.value:
            left = left.rpartition("/")[2]  # tables show the bare id, and so it is asked for
        return _OPERATORS[self.operator](left, right)


def parse_filter(text: str, columns: Iterable[str]) -> Filter:
    """Read `engine=engines/sglang` or `value>100`.

    Raises:
        UsageError: the text is not a filter, or names a column that does not exist.
    """
    found = _FILTER.fullmatch(text)
    if not found:
        raise UsageError(
            f"filter {text!r} is not of the form COLUMN OP VALUE, such as 'value>100' or 'engine~sglang'"
        )
    column, operator, value = found.groups()
    known = sorted(set(columns))
    if column not in known:
        raise UsageError(f"filter {text!r} names no column; {columns_hint(column, known)}")
    return Filter(column, operator, value)


def columns_hint(name: str, known: Sequence[str]) -> str:
    """Return which column was meant, or which there are."""
    near = nearest(name, known)
    return f"did you mean `{near}`?" if near else f"columns are {', '.join(known)}"


def matches_words(haystack: str, words: Sequence[str]) -> bool:
    """Return whether every word occurs in the text; `6,853` and `6853` are the same word."""
    text = _plain(haystack)
    return all(_plain(word) in text for word in words)


def select(rows: Iterable[Row], filters: Sequence[Filter]) -> list[Row]:
    """Return the rows that meet every filter."""
    return [row for row in rows if all(each.accepts(row.cells) for each in filters)]


def sort_rows(rows: Sequence[Row], column: str, *, descending: bool = False) -> list[Row]:
    """Return the rows ordered by a column; rows without a value come last either way."""
    known = [row for row in rows if row.cells.get(column) is not None]
    unknown = [row for row in rows if row.cells.get(column) is None]
    return sorted(known, key=lambda row: _sort_key(row.cells[column]), reverse=descending) + unknown


def _plain(text: str) -> str:
    return _GROUPED_DIGITS.sub("", text).casefold()


def _sort_key(cell: Cell) -> tuple[int, Any]:
    if isinstance(cell, bool | int | Decimal):
        return (0, Decimal(cell))
    return (1, str(cell).casefold())


def _comparable(cell: Cell, text: str) -> tuple[Any, Any]:
    """Bring a cell and the filter's text to one type: number, day, truth or text without case."""
    if isinstance(cell, bool):
        return str(cell).casefold(), text.casefold()
    if isinstance(cell, int | Decimal):
        return Decimal(cell), _number(text)
    if isinstance(cell, date):
        return cell.isoformat(), text
    return str(cell).casefold(), text.casefold()


def _number(text: str) -> Decimal:
    try:
        number = Decimal(_GROUPED_DIGITS.sub("", text))
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite():
        raise UsageError(f"{text!r} is not a number, and the column holds numbers")
    return number
