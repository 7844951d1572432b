"""Answers to SQL over the tables, from a DuckDB that can reach nothing else: the only module that knows DuckDB.

The tables are copied into the memory of a database of their own. Then files, network, extensions, variables of this program and
spilling to disk are switched off, and the settings locked, before the first word of the question is looked at. What it may do is
read: one statement, of the kind that gives rows.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kbtool.analysis.tables import TABLES, Table
from kbtool.errors import UsageError
from kbtool.site.data.sqlite import VIEWS

if TYPE_CHECKING:
    import duckdb

__all__ = ["Answer", "answer", "check", "tables_in"]

_LOCKS: Final = (
    ("allow_community_extensions", "false"),
    ("autoinstall_known_extensions", "false"),
    ("autoload_known_extensions", "false"),
    ("python_enable_replacements", "false"),
    ("enable_external_access", "false"),
    ("lock_configuration", "true"),
)
"""Settings and their values; the last keeps the others."""
_EXAMPLE: Final = "SELECT count(*) FROM results"
_PLACE: Final = re.compile(r"^LINE (\d+): (.*)\n( *)\^", re.MULTILINE)

_ROWS_AT_A_TIME: Final = 2048
_WORD: Final = re.compile(
    r"(?:\b(?:select|where|and|or|by)\s+|[,.]\s*)(with|group(?!\s+by))\b|\(\s*(group(?!\s+by))\b",
    re.IGNORECASE,
)
"""A column of ours whose name is a word of SQL, where a column may stand."""


class Answer(NamedTuple):
    """Rows under the names of their columns, which may repeat."""

    columns: tuple[str, ...]
    rows: Iterator[tuple[Any, ...]]
    """Worked out while they are read, so that the longest answer needs no memory of its own; raises what `answer` does."""


def tables_in(sql: str) -> tuple[str, ...]:
    """Return the tables that a question may need: those that it names, or all where it names none."""
    words = {word.casefold() for word in re.findall(r"\w+", sql)}
    for view in reversed(VIEWS):
        if view.name in words:
            words.update(re.findall(r"\w+", view.query))
    named = tuple(name for name in TABLES if name in words)
    # What names a table only once it runs may be after any of them.
    return named if named and not words & {"query", "query_table", "pragma_table_info"} else tuple(TABLES)


def check(sql: str) -> None:
    """Refuse what is no question, before any table is made.

    Raises:
        UsageError: DuckDB is not installed, or the text is not one statement that reads.
    """
    with _connected(sql) as connection:
        _only(connection.extract_statements(sql))


@contextmanager
def answer(sql: str, table: Callable[[str], Table]) -> Iterator[Answer]:
    """Give the rows of a question, for as long as the block lasts.

    Args:
        sql: One statement that reads.
        table: Returns a table by its name.

    Raises:
        UsageError: DuckDB is not installed, or the statement is wrong, or none that reads.
    """
    names = tables_in(sql)
    with _connected(sql) as connection:
        for name in names:
            _load(connection, table(name))
        _add_views(connection, frozenset(names))
        for name, value in _LOCKS:
            connection.execute(f"SET {name} = {value}")
        found = connection.execute(_only(connection.extract_statements(sql)))
        yield Answer(tuple(each[0] for each in found.description), _rows(found))


def _rows(found: "duckdb.DuckDBPyConnection") -> Iterator[tuple[Any, ...]]:
    while rows := found.fetchmany(_ROWS_AT_A_TIME):
        yield from rows


@contextmanager
def _connected(sql: str) -> Iterator["duckdb.DuckDBPyConnection"]:
    """Give an empty database whose complaints about a question are those of the command line."""
    try:
        import duckdb
    except ModuleNotFoundError as error:
        raise UsageError('DuckDB is missing, which answers questions: pip install ".[site,query]"') from error
    # Spilling to disk would leave a folder open that questions could read.
    with closing(duckdb.connect(":memory:", config={"temp_directory": ""})) as connection:
        try:
            yield connection
        except duckdb.Error as error:
            raise UsageError(_said(str(error), sql)) from None


def _load(connection: "duckdb.DuckDBPyConnection", table: Table) -> None:
    from kbtool.site.data.arrow import arrow_table

    connection.register("incoming", arrow_table(table))
    connection.execute(f"CREATE TABLE {table.name} AS SELECT * FROM incoming")  # noqa: S608 - a name of ours
    connection.unregister("incoming")


def _add_views(connection: "duckdb.DuckDBPyConnection", names: frozenset[str]) -> None:
    """Add the views whose tables are there."""
    made = set(names)
    for view in VIEWS:
        needed = {word for word in re.findall(r"\w+", view.query) if word in TABLES or word in _VIEW_NAMES}
        if needed <= made:
            connection.execute(f"CREATE VIEW {view.name} AS {view.query}")
            made.add(view.name)


_VIEW_NAMES: Final = frozenset(view.name for view in VIEWS)


def _only(statements: Sequence["duckdb.Statement"]) -> "duckdb.Statement":
    """Return the one statement.

    Raises:
        UsageError: There is none, there are several, or it does not read.
    """
    if len(statements) != 1:
        raise UsageError(f"{len(statements)} SQL statements; expected one, such as {_EXAMPLE}")
    kind = statements[0].type.name
    if (
        kind != "SELECT"
    ):  # as DESCRIBE, SHOW, SUMMARIZE and VALUES are too; EXPLAIN ANALYZE would run anything
        raise UsageError(
            f"the SQL statement is {kind}; expected one that reads, such as SELECT, FROM or DESCRIBE"
        )
    return statements[0]


def _said(message: str, sql: str) -> str:
    """Return DuckDB's message as one line that begins with the place."""
    place = _PLACE.search(message)
    where = f", line {place[1]}, column {len(place[3]) - len(f'LINE {place[1]}: ') + 1}" if place else ""
    said = message[: place.start()] if place else message
    return f"SQL{where}: {_one_line(said)}{_quoting(said, sql)}"


def _one_line(text: str) -> str:
    lines = "; ".join(line.strip().removesuffix("!") for line in text.splitlines() if line.strip())
    return lines.replace(": : ", ": ")  # as DuckDB 2.0 lists columns of a table with an alias


def _quoting(said: str, sql: str) -> str:
    """Return how a column is written whose name is a word of SQL, where that may be what went wrong."""
    found = _WORD.search(sql) if "syntax error" in said else None
    word = found and (found[1] or found[2]).casefold()
    return f'; `{word}` is a word of SQL too: write the column as "{word}"' if word else ""
