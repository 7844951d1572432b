"""A plot with everything that belongs to it: its legend, a table that says the same, and its data as CSV."""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, TypeVar
from urllib.parse import quote

from markupsafe import Markup

from kbtool.escape import csv_cell, file_name
from kbtool.runner.report.model import DataTable

__all__ = ["SERIES", "CsvData", "CsvValue", "Figure", "csv_text", "data_link", "legend_of", "spaced"]

SERIES: Final = 8
"""Series that a plot can tell apart."""

_T = TypeVar("_T")

CsvValue = str | float | int | Decimal | bool | None


@dataclass(frozen=True, slots=True)
class CsvData:
    """The data of a plot."""

    name: str
    """Name for a file; made safe when it is written."""
    columns: tuple[str, ...]
    rows: tuple[tuple[CsvValue, ...], ...]
    source: str
    """Where all of it is, and by which rule these rows were taken from it."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A plot."""

    key: str
    title: str
    caption: str
    svg: Markup
    legend: tuple[tuple[int, str], ...]
    """Number of the series, and its name; none for a single one."""
    table: DataTable
    data: CsvData


def csv_text(data: CsvData) -> str:
    """Return the data as CSV, in a form that no spreadsheet runs as a formula."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([csv_cell(each) for each in data.columns])
    writer.writerows([csv_cell(_rounded(each)) for each in row] for row in data.rows)
    return buffer.getvalue()


def _rounded(value: CsvValue) -> CsvValue:
    """Return a whole number as such: `2` and not `2.0`."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else value


def data_link(data: CsvData) -> tuple[str, str]:
    """Return the name of the file and the `data:` address that holds it."""
    text = csv_text(data).encode("utf-8", "replace")
    return f"{file_name(data.name)}.csv", "data:text/csv;charset=utf-8," + quote(text, safe=",.:;-_/()+")


def spaced(items: Sequence[_T], most: int) -> list[_T]:
    """Return at most so many items, evenly spaced, the first and the last among them."""
    if len(items) <= most:
        return list(items)
    return [items[round(index * (len(items) - 1) / (most - 1))] for index in range(most)]


def legend_of(labels: Iterable[str]) -> tuple[tuple[int, str], ...]:
    """Return the legend of series in order; none where there is only one."""
    found = tuple(enumerate(labels, start=1))
    return found if len(found) > 1 else ()
