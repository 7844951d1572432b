"""The data files as products of the build, in the order in which one may say the size and hash of another."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from markupsafe import Markup

from kbtool.analysis.tables import TABLES
from kbtool.escape import script_json
from kbtool.schema import MODELS
from kbtool.schema.export import SUFFIX, schema_text
from kbtool.site.data.arrow import parquet_bytes
from kbtool.site.data.citations import bibtex_bytes
from kbtool.site.data.csv_file import csv_bytes
from kbtool.site.data.describe import Described, croissant_bytes, dataset_json_ld, llms_bytes
from kbtool.site.data.feed import FEED, atom_bytes, feed_link
from kbtool.site.data.layout import LAYOUT, SUMS
from kbtool.site.data.page import data_view
from kbtool.site.data.sqlite import sqlite_bytes
from kbtool.site.data.tables import Tables
from kbtool.site.output import Target
from kbtool.site.products import Product, key_of, ready
from kbtool.site.render import render
from kbtool.site.shell import PageParts, Shell
from kbtool.site.state import Written
from kbtool.site.table import ResultTable

__all__ = ["bring_data"]

_PAGE: Final = "data.html"


def bring_data(results: ResultTable, shell: Shell, target: Target) -> None:
    """Bring every data file, then what describes them, then the checksums, then the page that lists them all."""
    tables = Tables(results)
    for product in _files(tables, shell):
        target.bring(product)
    about = Described(shell.site_name, shell.site_url, _newest(tables), tables.counts(), target.kept)
    for product in _descriptions(about):
        target.bring(product)
    target.bring(_sums(target.kept))
    target.bring(_page(about, shell))


def _files(tables: Tables, shell: Shell) -> Iterator[Product]:
    """Yield the files that are made of records alone."""
    library = tables.library
    cards = tuple(library.cards.values())
    named = (shell.site_name, shell.site_url)
    results, every = tables.results.digest, tables.digest
    yield Product("data/results.csv", key_of(results), lambda: csv_bytes(tables.table("results")))
    yield Product(
        "data/results.parquet", key_of(LAYOUT, results), lambda: parquet_bytes(tables.table("results"))
    )
    yield Product("data/kb.sqlite", key_of(LAYOUT, *named, every), partial(_sqlite, tables, shell))
    rows = [library.row_digest(card.ref) for card in cards]
    bibtex = partial(bibtex_bytes, library, site_name=shell.site_name, site_url=shell.site_url)
    yield Product("data/citations.bib", key_of(*named, rows), bibtex)
    feed = partial(atom_bytes, cards, site_name=shell.site_name, site_url=shell.site_url)
    yield Product(FEED, key_of(*named, rows), feed)
    for kind in MODELS:
        # Made of kbtool alone: another kbtool has a state of its own, and makes them anew.
        yield Product(f"data/schema/{kind}{SUFFIX}", key_of(kind), partial(_schema, kind))


def _schema(kind: str) -> bytes:
    return schema_text(kind).encode()


def _descriptions(about: Described) -> Iterator[Product]:
    """Yield what describes the files."""
    yield ready("data/croissant.json", croissant_bytes(about))
    yield ready("llms.txt", llms_bytes(about))


def _sums(written: Mapping[str, Written]) -> Product:
    """Return the checksums of every file below `data/`."""
    folder = SUMS.rpartition("/")[0] + "/"
    lines = (
        f"{each.sha256}  {path.removeprefix(folder)}\n"
        for path, each in sorted(written.items())
        if path.startswith(folder) and path != SUMS
    )
    return ready(SUMS, "".join(lines).encode())


def _page(about: Described, shell: Shell) -> Product:
    """Return the page that lists the files."""
    view = data_view(about, shell.files)
    data = script_json(dataset_json_ld(about))
    parts = PageParts(
        path=_PAGE,
        title="Data",
        body=Markup(),
        description="Every result and record as files: Parquet, CSV, SQLite and JSON, with columns, licence and checksums.",
        nav=_PAGE,
        head=Markup(f'{feed_link("")}\n<script type="application/ld+json">{data}</script>'),  # noqa: S704 - script_json made it safe
    )

    def make() -> bytes:
        body = render("data", _PAGE, v=view)
        return shell.page(replace(parts, body=body)).encode("utf-8", "replace")

    return Product(_PAGE, key_of(shell.fingerprint, repr(view), data), make)


def _sqlite(tables: Tables, shell: Shell) -> bytes:
    about = {"name": shell.site_name, "address": shell.site_url, "newest_record": _newest(tables)}
    return sqlite_bytes(map(tables.table, TABLES), about)


def _newest(tables: Tables) -> str:
    return max((card.updated for card in tables.library.cards.values()), default="")
