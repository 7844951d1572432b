"""What readers of the data use reads it: pandas, polars, DuckDB and mlcroissant, from an address, and all find the same."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pytest

from kbtool.analysis.rows import Cell
from kbtool.analysis.tables import TABLES, Table, table_of
from kbtool.site.data.arrow import parquet_bytes
from kbtool.site.data.page import EXAMPLES
from kbtool.site.data.sql import answer
from tests.site.samples import the_build
from tests.site.test_data_tables import make_hostile, parquet_rows
from tests.support.webserver import serving

ROOT: Final = Path(__file__).resolve().parents[2]
FOUND: Final = {
    "examples/read_with_duckdb.py": "[dict(zip(found.columns, row)) for row in found.fetchall()]",
    "examples/read_with_pandas.py": "found.astype(object).where(found.notna(), None).to_dict('records')",
    "examples/read_with_polars.py": "found.rows(named=True)",
}
"""Each example -> how its `found` becomes a list of rows."""
RUN: Final = """
import json, runpy, sys
sys.argv = sys.argv[1:]
found = runpy.run_path(sys.argv[0], run_name="__main__")["found"]
with open("found.json", "w", encoding="utf-8") as file:
    json.dump({rows}, file)
"""
READ: Final = """
import json, sys
import mlcroissant
data = mlcroissant.Dataset(jsonld=sys.argv[1])
sets = {each.name: list(data.records(each.name)) for each in data.metadata.record_sets}
plain = lambda cell: cell.decode() if isinstance(cell, bytes) else None if cell != cell else cell
rows = {name: [{key.rpartition("/")[2]: plain(cell) for key, cell in row.items()} for row in each] for name, each in sets.items()}
json.dump({"issues": sorted(data.metadata.issues.errors | data.metadata.issues.warnings), "rows": rows}, sys.stdout, default=str)
"""
OPEN: Final[dict[str, Cell]] = {
    "metric": "tok_s_per_user", "speculation": "none", "standing": "stands", "status": "draft", "value": Decimal(50),
    "model": "models/a", "weight_dtype": "fp8", "engine": "engines/e", "accelerator_count": 8, "input_tok": 1024,
    "output_tok": 128, "concurrency": 1, "accelerator": "accelerators/x",
}  # fmt: skip
"""A result that every example counts."""
LEFT_OUT: Final[tuple[dict[str, Cell], ...]] = (
    {"metric": "output_tok_s"}, {"speculation": "mtp"}, {"speculation": None}, {"standing": "withdrawn"}, {"status": "retracted"},
    {"status": "superseded"}, {"comparison_class": "mlperf-x"}, {"model": None}, {"weight_dtype": None}, {"engine": None},
    {"accelerator_count": None}, {"input_tok": None}, {"output_tok": None}, {"concurrency": None},
)  # fmt: skip
"""What makes of it a result that none counts."""
LAST: Final[dict[str, Cell]] = {"accelerator": "accelerators/w", "value": Decimal(1)}
"""What would show if it were counted."""


def run(
    program: str, *arguments: str | Path, cwd: Path, warnings: str = "error"
) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own: libraries for data start threads, which other tests could not do with."""
    environment = os.environ | {"HOME": str(cwd), "PYTHONWARNINGS": warnings}
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], cwd=cwd, env=environment, check=False,
        capture_output=True, text=True, encoding="utf-8",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


def example(path: str, site: str, cwd: Path) -> list[dict[str, Any]]:
    """Return what an example of the page finds at a site."""
    done = run(RUN.replace("{rows}", FOUND[path]), ROOT / "site" / path, site, cwd=cwd)
    found: list[dict[str, Any]] = json.loads((cwd / "found.json").read_text(encoding="utf-8"))
    assert found[0]["model"] in done.stdout
    return found


def results(*rows: dict[str, Cell]) -> Table:
    """Return a table of results, each given by what makes it differ from `OPEN`."""
    names = [column.name for column in TABLES["results"]]
    return table_of("results", [[{**OPEN, **row}.get(name) for name in names] for row in rows])


# --- the examples -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table() -> Table:
    """Return results that try each condition of the examples, with ties, ranges and more groups than are shown."""
    groups: list[dict[str, Cell]] = [
        {"model": "models/c", "input_tok": length, "concurrency": length % 3 + 1}
        for length in range(20, 6, -1)
    ]
    return results(
        {},
        {"accelerator": "accelerators/y", "value": Decimal("70.5")},
        {"accelerator": "accelerators/y", "value": Decimal(60)},
        {"accelerator": "accelerators/z", "value": None, "low": Decimal(1), "high": Decimal(99)},
        {"accelerator": None, "value": Decimal(40)},
        *(LAST | each for each in LEFT_OUT),
        {"model": "models/b", "value": None, "low": Decimal(1), "high": Decimal(99)},
        *groups,
    )  # fmt: skip


@pytest.fixture
def published(table: Table, tmp_path: Path) -> Iterator[str]:
    """Publish the results and return the address of the site."""
    (tmp_path / "site/data").mkdir(parents=True)
    (tmp_path / "site/data/results.parquet").write_bytes(parquet_bytes(table))
    with serving(tmp_path / "site") as address:
        yield address


def asked(table: Table) -> list[dict[str, Any]]:
    """Return what the question of the DuckDB example gives as `kbtool query` answers it."""
    text = (ROOT / "site/examples/read_with_duckdb.py").read_text(encoding="utf-8")
    found = re.search(r'duckdb\.sql\("""(.*)"""\)', text, re.DOTALL)
    assert found is not None
    sql = found[1].replace("'results.parquet'", "results")
    with answer(sql, lambda name: table if name == table.name else table_of(name, [])) as answered:
        return [dict(zip(answered.columns, row, strict=True)) for row in answered.rows]


@pytest.mark.parametrize("path", EXAMPLES)
def test_every_example_finds_what_kbtool_query_finds(
    table: Table, published: str, tmp_path: Path, path: str
) -> None:
    """Read from an address, with each warning an error: the same rows, in the same order, with the same numbers."""
    found = example(path, published, tmp_path)
    assert found == asked(table)
    assert len(found) == 10
    first = {"accelerators": 3, "slowest": 40.0, "fastest": 70.5, "model": "models/a", "input_tok": 1024}
    assert first.items() <= found[0].items()
    assert (found[1]["model"], found[1]["slowest"]) == ("models/b", None)
    assert [row["input_tok"] for row in found[2:]] == list(range(7, 15))


def test_every_example_is_on_the_page() -> None:
    """And every one of the page is a file that is tested here."""
    files = {f"examples/{each.name}" for each in (ROOT / "site/examples").iterdir() if each.suffix == ".py"}
    assert files == set(EXAMPLES) == set(FOUND)


# --- Croissant --------------------------------------------------------------------------------


@pytest.mark.parametrize("site_url", ["", "served"])
def test_mlcroissant_reads_every_row(
    project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, site_url: str
) -> None:
    """The tool of the format finds nothing wrong, checks the hashes, and reads results and records from file and address."""
    make_hostile(project)
    out = project / "out"
    with serving(out) as address:
        the_build(project, monkeypatch, site_url=address if site_url else "")
        jsonld = f"{address}data/croissant.json" if site_url else out / "data/croissant.json"
        # Its libraries warn of their own: one of them of the syntax of another.
        read = json.loads(run(READ, jsonld, cwd=tmp_path, warnings="ignore").stdout)
    assert read["issues"] == []
    rows = parquet_rows(out / "data/results.parquet")
    assert len(read["rows"]["results"]) == len(rows) > 10
    for name in ("ref", "result", "metric", "value", "as_published"):
        assert [row[name] for row in read["rows"]["results"]] == [row[name] for row in rows], name
    index = json.loads((out / "data/index.json").read_text(encoding="utf-8"))["records"]
    assert [row["title"] for row in read["rows"]["records"]] == [each["title"] for each in index]
