"""A table as CSV that no spreadsheet runs: numbers with the digits of their records, text escaped by `csv_cell`."""

import csv
import io
from collections.abc import Sequence
from datetime import date
from functools import partial

from kbtool.analysis.rows import Cell
from kbtool.analysis.tables import Table
from kbtool.escape import csv_cell

__all__ = ["csv_bytes", "csv_text"]


def csv_bytes(table: Table) -> bytes:
    """Return the file: UTF-8, a header, lines that end in LF."""
    return csv_text([column.name for column in table.columns], table.cells).encode("utf-8", "replace")


def csv_text(names: Sequence[str], columns: Sequence[Sequence[Cell]]) -> str:
    """Return columns under their names."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(map(csv_cell, names))
    writer.writerows(zip(*map(_escaped, columns), strict=True))
    return buffer.getvalue()


def _escaped(cells: Sequence[Cell]) -> list[str]:
    """Return a column as text; most of its cells repeat, and each text is looked at once."""
    # A decimal equals others with more zeros behind the point, so that type and text make the key.
    known: dict[str, str] = {}
    escape = partial(_cell, known)
    return [*map(escape, cells)]


def _cell(known: dict[str, str], cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, str):
        found = known.get(cell)
        if found is None:
            found = known[cell] = csv_cell(cell)
        return found
    return cell.isoformat() if isinstance(cell, date) else csv_cell(cell)
