"""Columns of a table as one compressed file, which `site/assets/explore/columns.js` reads.

Inflated, a file is::

    bytes 0 to 3     "kbc1"
    bytes 4 to 7     length of the header in bytes, little endian
    header           JSON in UTF-8
    planes           of each column in turn, `rows` bytes each, a byte a row

The header has `rows`, `columns` and what else its maker says. A column is one of:

``{"name": "engine", "kind": "text", "words": ["engines/a", ...], "labels": ["A", ...], "planes": 1}``
    Texts, or numbers (``"kind": "number"``) with few distinct values. A cell is a code: 0 is null, else the number of its
    word from 1 on; with two planes the second holds what exceeds 255. Words are sorted: texts by code points, numbers by
    value. `labels` are shown in place of the words.
``{"name": "value", "kind": "digits", "planes": 3}``
    Numbers. A first plane, beside those that `planes` counts, has the digits after the decimal point; 255 is null,
    and 128 is added where the number is negative. The others hold the digits as one whole number, lowest byte first.
    Both together are exact: 93.90 is 9390 with two digits after the point.

Planes compress better than numbers of several bytes, and half as well again as floating point, which rounds decimals.
"""

import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any, Final

from kbtool.analysis.rows import Cell

__all__ = ["MAGIC", "PackedColumn", "pack"]

MAGIC: Final = b"kbc1"
_NULL: Final = 255
_NEGATIVE: Final = 128
_MOST_WORDS: Final = 255
"""Distinct numbers up to which a column is coded: one byte a row."""


@dataclass(frozen=True, slots=True)
class PackedColumn:
    """One column to be packed."""

    name: str
    cells: Sequence[Cell]
    labels: Mapping[str, str] = field(default_factory=dict)
    """Word -> what is shown in its place."""
    coded: bool = False
    """Whether numbers are to be coded, however many there are."""


def pack(columns: Iterable[PackedColumn], header: Mapping[str, Any]) -> bytes:
    """Return the file: equal columns give equal bytes."""
    heads: list[dict[str, Any]] = []
    planes: list[bytes] = []
    rows = 0
    for column in columns:
        rows = len(column.cells)
        head, data = _packed(column)
        heads.append(head)
        planes += data
    text = json.dumps(
        {**header, "rows": rows, "columns": heads}, ensure_ascii=False, separators=(",", ":")
    ).encode()
    return gzip.compress(b"".join((MAGIC, len(text).to_bytes(4, "little"), text, *planes)), 9, mtime=0)


def _packed(column: PackedColumn) -> tuple[dict[str, Any], list[bytes]]:
    distinct = {cell for cell in column.cells if cell is not None}
    numeric = bool(distinct) and all(isinstance(cell, int | Decimal) for cell in distinct)
    if not numeric:
        words = sorted({_text(cell) for cell in distinct})
        return _coded(column, "text", words)
    texts = {number_digits(cell): cell for cell in column.cells if isinstance(cell, int | Decimal)}
    if column.coded or len(texts) <= _MOST_WORDS:
        return _coded(column, "number", sorted(texts, key=lambda text: (texts[text], text)))
    return _digits(column)


def _text(cell: Cell) -> str:
    if isinstance(cell, date):
        return cell.isoformat()
    return number_digits(cell) if isinstance(cell, int | Decimal) else str(cell)


def number_digits(cell: int | Decimal) -> str:
    """Return a number written in full."""
    return format(cell, "f") if isinstance(cell, Decimal) else str(cell)


def _coded(column: PackedColumn, kind: str, words: list[str]) -> tuple[dict[str, Any], list[bytes]]:
    code_of = {word: code for code, word in enumerate(words, 1)}
    known: dict[tuple[type, Cell | str], int] = {}
    codes: list[int] = []
    for cell in column.cells:
        if cell is None:
            codes.append(0)
            continue
        # Equal decimals may have different digits: 0.7 and 0.70 are one key of a dict and two words.
        key = (type(cell), str(cell) if isinstance(cell, Decimal) else cell)
        code = known.get(key)
        if code is None:
            code = known[key] = code_of[_text(cell)]
        codes.append(code)
    head: dict[str, Any] = {"name": column.name, "kind": kind, "words": words}
    if column.labels:
        head["labels"] = [column.labels.get(word, word) for word in words]
    head["planes"] = _width(len(words))
    return head, _spread(codes, head["planes"])


def _digits(column: PackedColumn) -> tuple[dict[str, Any], list[bytes]]:
    scales = bytearray()
    numbers: list[int] = []
    for cell in column.cells:
        if not isinstance(cell, int | Decimal):
            scales.append(_NULL)
            numbers.append(0)
            continue
        whole, _, fraction = number_digits(cell).partition(".")
        number = int(whole + fraction)
        scales.append(len(fraction) + (_NEGATIVE if number < 0 else 0))
        numbers.append(abs(number))
    width = _width(max(numbers, default=0))
    head = {"name": column.name, "kind": "digits", "planes": width}
    return head, [bytes(scales), *_spread(numbers, width)]


def _width(largest: int) -> int:
    return max(1, -(-largest.bit_length() // 8))


def _spread(numbers: Sequence[int], width: int) -> list[bytes]:
    """Return one plane for each byte of the numbers, the lowest first."""
    joined = b"".join([number.to_bytes(width, "little") for number in numbers])
    return [joined[plane::width] for plane in range(width)]
