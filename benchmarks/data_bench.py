"""What the data files cost: the table of results from the cache of the last build, and each file from the table.

Bar: on 10,000 records with six results each, the table from the cache under 2 s of CPU.

The records are those of `benchmarks.generate`, which have one or two results; in the cache each is given six that differ in id,
figure, concurrency and length, as a sweep does. CPU time is of the process alone, the best of some rounds; wall times depend on
who else uses the machine. Other writers of Parquet are measured where they are installed: DuckDB comes with `kbtool query`,
pyarrow with `pip install pyarrow` into an environment of its own.

Usage: python -m benchmarks.data_bench [RECORDS]
"""

import json
import sys
import time
from collections.abc import Callable
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from benchmarks.generate import write_project
from kbtool.analysis.rows import COLUMNS
from kbtool.analysis.tables import TABLES, Table
from kbtool.site.data.arrow import arrow_table, parquet_bytes
from kbtool.site.data.csv_file import csv_bytes
from kbtool.site.data.sqlite import sqlite_bytes
from kbtool.site.data.tables import Tables
from kbtool.site.library import CardCache, Library, RowCache, read_files
from kbtool.site.record_rows import RecordRows
from kbtool.site.table import ResultTable

RESULTS: Final = 6
_ROUNDS: Final = 3


def cost(what: str, make: Callable[[], Any], rounds: int = _ROUNDS) -> Any:
    """Print the least CPU time of some rounds, and return what the last one made."""
    best, wall, made = float("inf"), float("inf"), None
    for _ in range(rounds):
        started, cpu = time.perf_counter(), time.process_time()
        made = make()
        best, wall = min(best, time.process_time() - cpu), min(wall, time.perf_counter() - started)
    size = f", {len(made):,} bytes" if isinstance(made, bytes) else ""
    print(f"{what:<44} {best:6.2f} s CPU, {wall:6.2f} s wall{size}")
    return made


def sixfold(stored: str, number: int) -> str:
    """Return the cached rows of one record with six results."""
    _, columns = json.loads(stored)
    names = COLUMNS["benchmark"]
    made = dict(
        zip(names, [cells[0] if isinstance(cells, list) else cells for cells in columns], strict=True)
    )
    values = [Decimal(10 + number % 977) * (step + 1) / 7 for step in range(RESULTS)]
    made["result"] = [f"c{2**step}" for step in range(RESULTS)]
    made["concurrency"] = [2**step for step in range(RESULTS)]
    made["value"] = [f"{value:.2f}" for value in values]
    made["as_published"] = [f"{value:,.2f} tok/s" for value in values]
    made["bound_share"] = [f"{value / 2000:.5f}" for value in values]
    return json.dumps([RESULTS, list(made.values())], separators=(",", ":"))


def library_of(root: Path, cards: CardCache, rows: RowCache) -> Library:
    """Return the records of a project."""
    library = Library(root, read_files(root), cards, rows)
    library.read(lambda: None)
    return library


def measure(root: Path, records: int) -> None:
    """Print what each step costs."""
    write_project(root, records)
    cards, rows = CardCache({}), RowCache({})
    library = cost("cards, cold", lambda: library_of(root, cards, rows), rounds=1)
    made = RecordRows(library)
    cost("rows of every record, cold", lambda: [made.ensure(ref) for ref in library.cards], rounds=1)
    for number, (ref, each) in enumerate(list(rows.new.items())):
        if ref.startswith("benchmarks/"):
            rows.put(ref, each._replace(cells=sixfold(each.cells, number)))
    cost("digest of the table", lambda: ResultTable(library).digest)
    table = cost("table from the cache", lambda: Tables(ResultTable(library)).table("results"))
    print(f"  {len(table):,} results, {len(table.columns)} columns")
    cost("rows as objects, with the table", lambda: ResultTable(library).rows)
    cost("results.csv", lambda: csv_bytes(table))
    cost("results.parquet, arro3", lambda: parquet_bytes(table))
    others(table)
    every = Tables(ResultTable(library))
    cost("all tables", lambda: [every.table(name) for name in TABLES])
    cost("kb.sqlite", lambda: sqlite_bytes(map(every.table, TABLES), {}), rounds=1)


def others(table: Table) -> None:
    """Write the same columns with other libraries."""
    columns = arrow_table(table)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "results.parquet"
        if find_spec("duckdb"):
            import duckdb

            def by_duckdb() -> bytes:
                with duckdb.connect() as connection:
                    connection.register("incoming", columns)
                    connection.execute(f"COPY incoming TO '{file}' (FORMAT parquet, COMPRESSION zstd)")
                return file.read_bytes()

            cost("results.parquet, DuckDB over arro3's columns", by_duckdb)
        if find_spec("pyarrow"):
            import pyarrow as pa
            from pyarrow import parquet

            def by_pyarrow() -> bytes:
                parquet.write_table(pa.table(columns), file, compression="zstd")
                return file.read_bytes()

            cost("results.parquet, pyarrow over arro3's columns", by_pyarrow)


def main() -> None:
    """Measure in a folder of our own."""
    with TemporaryDirectory() as folder:
        measure(Path(folder) / "project", int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)


if __name__ == "__main__":
    main()
