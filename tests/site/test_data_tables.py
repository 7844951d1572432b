"""The data files say what the records say, cell for cell and digit for digit, whatever the records say."""

import csv
import io
import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import date
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from arro3.core import Table as ArrowTable
from arro3.io import read_parquet
from jsonschema import Draft202012Validator

from kbtool.analysis.rows import COLUMNS, Row, rows_of
from kbtool.analysis.tables import TABLES, Table, metrics_table, table_of, with_exact
from kbtool.site.data.csv_file import csv_bytes
from kbtool.site.data.layout import FILES, LAYOUT, SUMS
from kbtool.site.data.sqlite import VIEWS
from kbtool.site.data.tables import Tables
from kbtool.site.library import CardCache, Library, RowCache, read_files
from kbtool.site.table import ResultTable
from kbtool.store import load
from tests.site.samples import Page, the_build
from tests.support.trees import contents

ROOT = Path(__file__).resolve().parents[2]
RICH = "records/benchmarks/ev-fastserve-demo-8xa1.yaml"
HOSTILE = (
    '=HYPERLINK("http://x") </title><script>alert(1)</script> ]]> & {\\textbf} % O\'Brien; DROP TABLE results'
)


def edit(project: Path, path: str, old: str, new: str) -> None:
    """Replace a text in a record."""
    file = project / path
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")


def make_hostile(project: Path) -> None:
    """Give a record a title that every format has a use for, and a figure whose last digit is zero."""
    title = "title: " + json.dumps(HOSTILE)
    edit(project, RICH, 'title: "FastServe on 8x Acme A1: Demo-MoE decode and prefill in production"', title)
    edit(project, RICH, "value: 93.9\n", "value: 3.10\n")
    edit(project, RICH, "why: The card in the box is the 300 W edition.", f"why: {json.dumps(HOSTILE)}")


@pytest.fixture
def made(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a site over hostile records."""
    make_hostile(project)
    the_build(project, monkeypatch)
    return project / "out"


def expected(project: Path, kind: str = "benchmark") -> list[Row]:
    """Return the rows as the analysis gives them."""
    corpus = load(project)
    return [
        row
        for record in sorted(corpus.by_kind(kind), key=corpus.ref_of)
        for row in rows_of(corpus.ref_of(record), record, corpus.status(corpus.ref_of(record)), corpus.get)
    ]


def library_of(project: Path, rows: RowCache | None = None) -> Library:
    """Return the records of a project."""
    library = Library(project, read_files(project), CardCache({}), rows)
    library.read(lambda: None)
    return library


def plain(cell: object) -> object:
    """Return a cell in the types that SQLite has."""
    if isinstance(cell, Decimal):
        return float(cell)
    return cell.isoformat() if isinstance(cell, date) else cell


def sqlite_rows(path: Path, query: str) -> list[dict[str, Any]]:
    """Return what a question to the SQLite file gives."""
    connection = sqlite3.connect(path)
    connection.row_factory = sqlite3.Row
    try:
        return [dict(row) for row in connection.execute(query)]
    finally:
        connection.close()


def parquet_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of the Parquet file."""
    table = ArrowTable.from_arrow(read_parquet(path))
    columns = {name: table.column(name).to_pylist() for name in table.column_names}
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def sums_of(lines: list[str]) -> dict[str, str]:
    """Return path -> hash of a file of checksums."""
    return {path: digest for digest, path in (line.split("  ", 1) for line in lines)}


# --- one truth --------------------------------------------------------------------------------


def test_every_file_holds_the_rows_of_the_analysis(project: Path, made: Path) -> None:
    """CSV, Parquet and SQLite hold each result once, in one order, with equal cells."""
    rows = expected(project)
    wanted = [{name: plain(row.cells[name]) for name in COLUMNS["benchmark"]} for row in rows]
    with_digits = [
        {**row, **{f"{name}_text": _digits(source.cells[name]) for name in ("value", "low", "high")}}
        for row, source in zip(wanted, rows, strict=True)
    ]
    assert sqlite_rows(made / "data/kb.sqlite", "SELECT * FROM results") == with_digits
    assert [
        {name: plain(cell) for name, cell in row.items()}
        for row in parquet_rows(made / "data/results.parquet")
    ] == with_digits
    read = list(csv.DictReader(io.StringIO((made / "data/results.csv").read_text(encoding="utf-8"))))
    assert [{name: _of_csv(name, cell) for name, cell in row.items()} for row in read] == wanted


def _digits(cell: object) -> str | None:
    return None if cell is None else str(cell)


def _of_csv(name: str, cell: str) -> object:
    """Return a cell of the CSV in its type; the apostrophe in front of a formula is no part of it."""
    kind = next(column.type for column in TABLES["results"] if column.name == name)
    if not cell:
        return None
    if kind == "integer":
        return int(cell)
    return float(cell) if kind == "number" else cell.removeprefix("'")


def test_the_other_tables_hold_their_records_too(project: Path, made: Path) -> None:
    """Each table of things in the SQLite file has the rows of its kind."""
    for kind in ("accelerator", "interconnect", "engine", "model", "source", "gotcha"):
        wanted = [{name: plain(cell) for name, cell in row.cells.items()} for row in expected(project, kind)]
        found = sqlite_rows(made / "data/kb.sqlite", f"SELECT * FROM {kind}s")
        assert found == [{name: row[name] for name in COLUMNS[kind]} for row in wanted], kind


def test_digits_stay(project: Path, made: Path) -> None:
    """`3.10` is `3.10` in the CSV, and stands as text beside the number elsewhere."""
    where = "WHERE ref = 'benchmarks/ev-fastserve-demo-8xa1' AND value_text = '3.10'"
    found = sqlite_rows(made / "data/kb.sqlite", f"SELECT value, value_text FROM results {where}")
    assert found == [{"value": 3.1, "value_text": "3.10"}]
    assert [
        row["value"] for row in parquet_rows(made / "data/results.parquet") if row["value_text"] == "3.10"
    ] == [3.1]
    assert ",3.10," in (made / "data/results.csv").read_text(encoding="utf-8")
    assert b'"value":3.10,' in (made / "data/records/benchmarks/ev-fastserve-demo-8xa1.json").read_bytes()
    assert project.is_dir()


def test_a_computed_number_has_no_exponent() -> None:
    """What is rounded to five digits is written in full."""
    cells = [None] * len(TABLES["results"])
    place = [column.name for column in TABLES["results"]].index("per_accelerator")
    cells[place] = Decimal("1.2346E+5")  # type: ignore[call-overload]  # a cell
    assert b",123460," in csv_bytes(table_of("results", [cells]))


def test_a_setting_of_another_type_than_its_column_is_left_out(project: Path) -> None:
    """What a result changes is not validated anew: text where a count belongs is an empty cell, and no file fails."""
    edit(project, RICH, "with: [{field: serving.chunked_prefill_size_tok, value: 1024}]",
         "with: [{field: deployment.tp, value: many}]")  # fmt: skip
    results = ResultTable(library_of(project))
    assert set(results.column("tp")) <= {8, 4, None}
    assert "many" not in [row.cells["tp"] for row in expected(project)]


# --- the cache of rows ------------------------------------------------------------------------


def test_rows_from_the_cache_equal_those_made_anew(project: Path) -> None:
    """Types and digits included; no record is read for them."""
    first = library_of(project)
    made_anew = ResultTable(first)
    wanted = [made_anew.column(name) for name in COLUMNS["benchmark"]]
    second = library_of(project, first.cached_rows)
    second.record = None  # type: ignore[assignment, method-assign]  # nothing may ask for one
    cached = ResultTable(second)
    found = [cached.column(name) for name in COLUMNS["benchmark"]]
    assert [[repr(cell) for cell in column] for column in found] == [
        [repr(cell) for cell in column] for column in wanted
    ]
    assert cached.digest == made_anew.digest
    assert [(row.ref, row.anchor, dict(row.cells)) for row in cached.rows] == [
        (row.ref, row.anchor, dict(row.cells)) for row in expected(project)
    ]


@pytest.mark.parametrize(
    ("path", "old", "new", "changed"),
    [
        ("records/sources/field-report.yaml", "publisher: ", "publisher: Other ", True),
        ("records/accelerators/acme-a1.yaml", "title: ", "title: Other ", True),
        ("records/gotchas/graph-collapse.yaml", "title: ", "title: Other ", False),
    ],
)
def test_rows_follow_the_records_behind_them(
    project: Path, path: str, old: str, new: str, *, changed: bool
) -> None:
    """A record that a row asked for makes it anew; one that it did not ask for leaves it."""
    before = library_of(project)
    digest = ResultTable(before).digest
    edit(project, path, old, new)
    after = ResultTable(library_of(project, before.cached_rows))
    assert (after.digest != digest) is changed
    assert after.column("publisher") == [row.cells["publisher"] for row in expected(project)]


def test_a_record_that_is_gone_empties_what_it_gave(project: Path) -> None:
    """Without the source there is no publisher, and the cache does not know better."""
    before = library_of(project)
    ResultTable(before).column("publisher")
    (project / "records/sources/field-report.yaml").unlink()
    after = ResultTable(library_of(project, before.cached_rows))
    assert after.column("publisher") == [row.cells["publisher"] for row in expected(project)]


# --- tables -----------------------------------------------------------------------------------


def test_counts_are_those_of_the_tables(project: Path) -> None:
    """The page says how many rows there are without making one."""
    tables = Tables(ResultTable(library_of(project)))
    assert tables.counts() == {name: len(tables.table(name)) for name in TABLES}


def test_every_column_is_explained() -> None:
    """Each has a meaning, and its table begins with what it is about."""
    for columns in TABLES.values():
        assert all(column.meaning.endswith(".") for column in columns)
    assert [column.name for column in TABLES["results"]] == list(COLUMNS["benchmark"])
    assert len(metrics_table()) == len(set(metrics_table().cells[0]))


def test_an_empty_table_has_its_columns() -> None:
    """No rows are no error."""
    table = table_of("gaps", [])
    assert (len(table), [name for name, _, _ in with_exact(table)]) == (0, ["ref", "field", "state"])
    assert csv_bytes(table) == b"ref,field,state\n"
    assert isinstance(table, Table)


def test_views_answer(made: Path) -> None:
    """A superseded record is in no view of what stands; a thing stands beside its results."""
    ref = "benchmarks/ev-fastserve-demo-old"
    for view in VIEWS:
        found = sqlite_rows(made / "data/kb.sqlite", f"SELECT * FROM {view.name}")
        # The samples have no price by the hour.
        assert bool(found) == (view.name != "costs"), view.name
        assert all(row.get("ref") != ref for row in found), view.name
    joined = sqlite_rows(made / "data/kb.sqlite", "SELECT accelerator_title FROM results_with_things")
    assert "Acme" in joined[0]["accelerator_title"]
    assert sqlite_rows(made / "data/kb.sqlite", "SELECT value FROM about WHERE name = 'layout'") == [
        {"value": LAYOUT}
    ]


def test_hostile_text_is_text_in_every_file(made: Path) -> None:
    """SQL in a title is a title, a formula begins with an apostrophe, and no tag stands open."""
    titles = {row["title"] for row in sqlite_rows(made / "data/kb.sqlite", "SELECT title FROM records")}
    assert HOSTILE in titles
    rows = csv.DictReader(io.StringIO((made / "data/results.csv").read_text(encoding="utf-8")))
    assert f"'{HOSTILE}" in {row["title"] for row in rows}
    for page in ("data.html", "changes.html"):
        assert "<script>alert" not in (made / page).read_text(encoding="utf-8")
    assert HOSTILE in Page((made / "changes.html").read_text(encoding="utf-8")).text


# --- files ------------------------------------------------------------------------------------


def test_every_data_file_is_listed_and_there(made: Path) -> None:
    """The page links each file that it names, with its size; checksums fit."""
    page = Page((made / "data.html").read_text(encoding="utf-8"))
    for each in FILES:
        if each.path == "CITATION.cff":  # that of the repository; the samples have none
            continue
        assert (made / each.path).exists(), each.path
        assert each.path in page.text
        if not each.path.endswith("/"):
            assert f"./{each.path}" in page.hrefs
    sums = sums_of((made / SUMS).read_text(encoding="utf-8").splitlines())
    files = {
        path.removeprefix("data/"): data for path, data in contents(made).items() if path.startswith("data/")
    }
    files.pop(SUMS.removeprefix("data/"))
    assert sums == {path: sha256(data).hexdigest() for path, data in files.items()}


def test_equal_records_give_equal_bytes(project: Path, made: Path) -> None:
    """Another process with another seed for hashes makes the same files, byte for byte."""
    program = (
        "import sys; from pathlib import Path; from tests.site.samples import plain_shell;"
        "import kbtool.site.builder as b; b.build_shell = lambda *_, **__: plain_shell();"
        "b.build(Path(sys.argv[1]), Path(sys.argv[2]))"
    )
    environment = os.environ | {
        "PYTHONHASHSEED": "7",
        "KBTOOL_CACHE": str(project / "other-cache"),
        "TZ": "Asia/Tokyo",
    }
    other = project / "other"
    subprocess.run([sys.executable, "-c", program, project, other], check=True, cwd=ROOT, env=environment)
    assert contents(other) == contents(made)


def test_schemas_read_the_records_beside_them(made: Path) -> None:
    """Each published schema accepts each record of its kind."""
    for path in sorted((made / "data/records").rglob("*.json")):
        kind = path.parent.name.removesuffix("s")
        schema = json.loads((made / f"data/schema/{kind}.schema.json").read_text(encoding="utf-8"))
        Draft202012Validator.check_schema(schema)
        record = json.loads(path.read_text(encoding="utf-8"))["record"]
        assert [each.message for each in Draft202012Validator(schema).iter_errors(record)] == []


def test_the_view_of_costs_has_the_costs_of_the_pages(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """$3.20 an hour for two cards at 29.55 tok/s each is $15.04; a price without its number of cards gives none."""
    price = (
        "prices:\n  - {amount: 3.2, currency: USD, per: hour, accelerators: 2, basis: cloud_on_demand, seen: 2026-09-01,"
        " as_published: $3.20/hr, evidence: [{source: sources/field-report, locator: section Cost}]}\n"
        "  - {amount: 9, currency: USD, per: hour, basis: unstated,"
        " as_published: $9/hr, evidence: [{source: sources/field-report, locator: section Cost}]}\n"
    )
    edit(project, "records/accelerators/acme-a1.yaml", "prices:\n", price)
    the_build(project, monkeypatch)
    with closing(sqlite3.connect(project / "out" / "data" / "kb.sqlite")) as connection:
        found = connection.execute(
            "SELECT usd_per_hour, usd_per_mtok FROM costs WHERE result = 'c8' AND ref LIKE '%p2p'"
        ).fetchall()
        prices = connection.execute(
            "SELECT amount, accelerators, seen FROM prices ORDER BY amount"
        ).fetchall()
    assert found == [(1.6, pytest.approx(15.04, abs=0.005))]
    assert (3.2, 2, "2026-09-01") in prices
    assert (9.0, None, None) in prices
    assert "15.04 USD" in (project / "out" / "cost" / "demo-moe.html").read_text("utf-8")
