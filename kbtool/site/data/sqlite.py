"""All tables as one SQLite file, with the indexes and views that questions need."""

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from datetime import date
from decimal import Decimal
from typing import Any, Final, NamedTuple

from kbtool.analysis.rows import Cell
from kbtool.analysis.tables import Table, Type, with_exact
from kbtool.site.data.layout import LAYOUT, LICENCE

__all__ = ["VIEWS", "View", "sqlite_bytes"]


class View(NamedTuple):
    """A view over the tables."""

    name: str
    about: str
    query: str


VIEWS: Final = (
    View("standing_results", "Results that may stand in a ranking: neither withdrawn nor of a retracted or superseded record.",
        "SELECT * FROM results WHERE standing <> 'withdrawn' AND status NOT IN ('retracted', 'superseded')"),
    View("open_results", "Those of no closed class: a result of one, such as MLPerf, compares with its own class alone.",
        "SELECT * FROM standing_results WHERE comparison_class IS NULL"),
    View("results_with_things", "Standing results beside what their accelerator, model and source are.",
        "SELECT r.*, a.title AS accelerator_title, a.memory_gb, a.bandwidth_gb_s, m.title AS model_title, m.total_parameters,"
        " m.active_parameters, s.title AS source_title, s.url AS source_url, s.published AS source_published"
        " FROM standing_results AS r LEFT JOIN accelerators AS a ON a.ref = r.accelerator"
        " LEFT JOIN models AS m ON m.ref = r.model LEFT JOIN sources AS s ON s.ref = r.source"),
    View("costs", "What a million tokens of an open result cost, once for each price by the hour in USD; output tokens and both together"
        " are two products.",
        "SELECT r.ref, r.result, r.model, r.accelerator, r.engine, r.metric, r.tokens, r.value, r.per_accelerator, r.accelerators_serving,"
        " r.concurrency, r.weight_dtype, p.basis, p.seen, p.amount / p.accelerators AS usd_per_hour,"
        " p.amount / p.accelerators / (r.per_accelerator * 3600) * 1000000 AS usd_per_mtok"
        " FROM open_results AS r JOIN prices AS p ON p.accelerator = r.accelerator"
        " WHERE r.standing = 'stands' AND r.unit = 'tok/s' AND r.scope IN ('accelerator', 'instance', 'system')"
        " AND r.tokens IN ('output', 'input', 'input_and_output') AND r.per_accelerator > 0"
        " AND p.per = 'hour' AND p.currency = 'USD' AND p.accelerators IS NOT NULL"),
    View("gap_counts", "How many benchmarks leave out each field, and why.",
        "SELECT field, state, count(*) AS benchmarks FROM gaps GROUP BY field, state"),
)  # fmt: skip
"""A later one may be made of an earlier one. `kbtool query` has them too."""

_TYPES: Final[dict[Type, str]] = {"text": "TEXT", "integer": "INTEGER", "number": "REAL", "date": "TEXT"}
_INDEXES: Final = (
    ("results", "metric", "accelerator", "model"), ("results", "model"), ("results", "engine"), ("results", "ref", "result"),
    ("links", "ref"), ("links", "target"), ("gaps", "ref"), ("gaps", "field"), ("changes", "day"), ("prices", "accelerator"),
)  # fmt: skip
_LIBRARY_VERSION: Final = slice(96, 100)
"""Where the header says which version of SQLite wrote last: the only bytes that depend on nothing else."""


def sqlite_bytes(tables: Iterable[Table], about: dict[str, str]) -> bytes:
    """Return the file; equal tables give equal bytes.

    Args:
        tables: The tables.
        about: More for the table `about`, by name.
    """
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("PRAGMA page_size = 4096")
        for table in tables:
            _fill(connection, table)
        for table_name, *columns in _INDEXES:
            name = f"{table_name}_{'_'.join(columns)}"
            connection.execute(f"CREATE INDEX {name} ON {table_name} ({', '.join(columns)})")
        for view in VIEWS:
            connection.execute(f"CREATE VIEW {view.name} AS {view.query}")
        connection.execute("CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID")
        rows = {"layout": LAYOUT, "licence": LICENCE, **about}
        connection.executemany("INSERT INTO about VALUES (?, ?)", rows.items())
        connection.execute(f"PRAGMA user_version = {LAYOUT.partition('.')[0]}")
        connection.commit()
        connection.execute("VACUUM")
        data = bytearray(connection.serialize())
    data[_LIBRARY_VERSION] = bytes(4)
    return bytes(data)


def _fill(connection: sqlite3.Connection, table: Table) -> None:
    """Make one table. Every name in it is ours; every cell is a value that is bound."""
    columns = list(with_exact(table))
    # A reference is unique where a row is a record.
    key = {"records", "accelerators", "interconnects", "engines", "models", "sources", "gotchas"}
    declared = [
        f'"{name}" {_TYPES[kind]}{" PRIMARY KEY NOT NULL" if name == "ref" and table.name in key else ""}'
        for name, kind, _ in columns
    ]
    connection.execute(f"CREATE TABLE {table.name} ({', '.join(declared)})")
    marks = ", ".join("?" * len(columns))
    cells = (_plain(kind, each) for _, kind, each in columns)
    insert = f"INSERT INTO {table.name} VALUES ({marks})"  # noqa: S608 - a name of ours
    connection.executemany(insert, zip(*cells, strict=True))


def _plain(kind: Type, cells: Sequence[Cell]) -> Sequence[Any]:
    if kind == "number":
        return [float(cell) if isinstance(cell, int | Decimal) else None for cell in cells]
    if kind == "date":
        return [cell.isoformat() if isinstance(cell, date) else None for cell in cells]
    return cells
