"""A table as Arrow columns, and as a Parquet file: the only module of the site that knows the Arrow library."""

import io
from collections.abc import Callable, Sequence
from datetime import date
from typing import Any, Final

from arro3.core import Array, DataType, Field, Schema
from arro3.core import Table as ArrowTable
from arro3.io import write_parquet

from kbtool.analysis.rows import Cell
from kbtool.analysis.tables import Table, Type, with_exact
from kbtool.site.data.layout import LAYOUT, LICENCE

__all__ = ["arrow_table", "parquet_bytes"]

_EPOCH: Final = date(1970, 1, 1).toordinal()
_ROWS_PER_GROUP: Final = 1 << 16


def arrow_table(table: Table) -> ArrowTable:
    """Return the columns, those with the digits of figures included; numbers are 64-bit floats.

    A figure has at most 15 digits, which a float tells apart.
    """
    meanings = {column.name: column.meaning for column in table.columns}
    fields, arrays = [], []
    for name, kind, cells in with_exact(table):
        made = _MAKE[kind](cells)
        metadata = {"description": meanings.get(name) or _DIGITS.format(name.removesuffix("_text"))}
        fields.append(Field(name, made.type, nullable=True, metadata=metadata))
        arrays.append(made)
    about = {"kbtool.layout": LAYOUT, "kbtool.table": table.name, "license": LICENCE}
    return ArrowTable.from_arrays(arrays, schema=Schema(fields, metadata=about))


def parquet_bytes(table: Table) -> bytes:
    """Return the file; equal tables give equal bytes."""
    buffer = io.BytesIO()
    write_parquet(arrow_table(table), buffer, compression="zstd(9)", max_row_group_size=_ROWS_PER_GROUP)
    return buffer.getvalue()


_DIGITS: Final = "Digits of {}, as the record writes them."


def _texts(cells: Sequence[Cell]) -> Array:
    return Array(list(cells), DataType.utf8())


def _integers(cells: Sequence[Cell]) -> Array:
    return Array(list(cells), DataType.int64())


def _numbers(cells: Sequence[Any]) -> Array:
    return Array([None if cell is None else float(cell) for cell in cells], DataType.float64())


def _days(cells: Sequence[Any]) -> Array:
    days = [None if cell is None else cell.toordinal() - _EPOCH for cell in cells]
    return Array(days, DataType.int32()).cast(DataType.date32())


_MAKE: Final[dict[Type, Callable[[Sequence[Any]], Array]]] = {
    "text": _texts, "integer": _integers, "number": _numbers, "date": _days,
}  # fmt: skip
