"""What the data page shows: the files with size and rows, the columns of each table, and programs that read them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from kbtool.analysis.tables import TABLES, Column
from kbtool.site.data.describe import Described
from kbtool.site.data.layout import FILES, LAYOUT, LICENCE, LICENCE_NAME, DataFile
from kbtool.site.data.sqlite import VIEWS, View
from kbtool.site.views.base import Link
from kbtool.site.views.cite import bibtex_text
from kbtool.site.views.text import plural
from kbtool.vocab.closed import FAMILIES

__all__ = ["EXAMPLES", "DataView", "data_view"]

EXAMPLES: Final = {
    "examples/read_with_duckdb.py": "DuckDB",
    "examples/read_with_pandas.py": "pandas",
    "examples/read_with_polars.py": "polars",
}
"""Programs of the page -> what they use."""
_EXAMPLE_SITE: Final = "https://example.org/"


class FileRow(NamedTuple):
    """One file, or one folder of them."""

    name: str
    href: str
    """Empty for a folder, which has no page of its own."""
    size: str
    rows: str
    about: str
    parts: tuple[Link, ...]
    """The files of a short folder."""


class TableView(NamedTuple):
    """One table and its columns."""

    name: str
    rows: str
    columns: tuple[Column, ...]


class Example(NamedTuple):
    """A program that reads a file."""

    title: str
    href: str
    code: str


@dataclass(frozen=True, slots=True)
class DataView:
    """The page."""

    layout: str
    newest: str
    licence: str
    licence_name: str
    files: tuple[FileRow, ...]
    tables: tuple[TableView, ...]
    views: tuple[View, ...]
    examples: tuple[Example, ...]
    citation: str
    bibtex: str
    lines_below: tuple[str, ...]


def data_view(about: Described, files: Mapping[str, bytes]) -> DataView:
    """Return the page.

    Args:
        about: The data set and its files.
        files: Hand-written files of the site, among them the examples.
    """
    return DataView(
        layout=LAYOUT,
        newest=about.newest,
        licence=LICENCE,
        licence_name=LICENCE_NAME,
        files=tuple(row for each in FILES for row in _rows(each, about)),
        tables=tuple(
            TableView(name, plural(about.counts[name], "row"), columns) for name, columns in TABLES.items()
        ),
        views=VIEWS,
        examples=tuple(
            Example(title, path, files[path].decode().replace(_EXAMPLE_SITE, about.site_url or _EXAMPLE_SITE))
            for path, title in EXAMPLES.items()
            if path in files
        ),
        citation=about.citation,
        bibtex=_bibtex(about),
        lines_below=tuple(each.line for each in FAMILIES),
    )


def _rows(file: DataFile, about: Described) -> Iterator[FileRow]:
    """Yield a row for a file that was written, or for a folder with what is in it."""
    paths = [path for path in about.written if path.startswith(file.path)] if file.path.endswith("/") else []
    count = sum(about.counts.values()) if file.table == "*" else about.counts.get(file.table, 0)
    rows = f"{count:,}" if file.table else ""
    if paths:
        size = sum(about.written[path].size for path in paths)
        parts = [Link(path.removeprefix(file.path), path) for path in sorted(paths)] if not file.table else []
        yield FileRow(file.path, "", _size(size), rows, file.about, tuple(parts))
    elif file.path in about.written:
        yield FileRow(file.path, file.path, _size(about.written[file.path].size), rows, file.about, ())


def _size(size: int) -> str:
    for unit, factor in (("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} B"


def _bibtex(about: Described) -> str:
    fields = [
        ("title", bibtex_text(about.name)),
        ("author", f"{{{bibtex_text(f'{about.site_name} contributors')}}}"),
        ("year", about.newest[:4]),
        ("note", bibtex_text(f"Layout {LAYOUT}, records of {about.newest}, {LICENCE_NAME}")),
        ("url", about.site_url),
    ]
    body = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields if value)
    return f"@misc{{inference-evidence,\n{body}\n}}"
