"""What the last build knew: cards and rows by file digest, and which files it wrote from what.

One SQLite file under `build/cache`, written in one transaction at the end of a build, so that a build
that is killed leaves the state of the build before it. Losing it costs time and nothing else.
"""

import fcntl
import os
import sqlite3
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal, NamedTuple, Self

from kbtool.errors import UsageError

__all__ = ["CachedCard", "CachedRows", "Kept", "RowTable", "State", "Written", "state_path"]

_LAYOUT: Final = "2"
_TABLES: Final = """
    CREATE TABLE IF NOT EXISTS fact (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS card (
        path TEXT PRIMARY KEY, key TEXT NOT NULL, card TEXT NOT NULL, words TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS record_rows (
        ref TEXT PRIMARY KEY, key TEXT NOT NULL, consulted TEXT NOT NULL, cells TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS record_analysis (
        ref TEXT PRIMARY KEY, key TEXT NOT NULL, consulted TEXT NOT NULL, cells TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS written (
        path TEXT PRIMARY KEY, key TEXT NOT NULL, sha256 TEXT NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL
    ) WITHOUT ROWID;
"""


RowTable = Literal["record_rows", "record_analysis"]
"""Tables of texts by record: its rows, and what the analysis says of it."""


class CachedCard(NamedTuple):
    """A card as text, what it was made from, and the words of its record's prose."""

    key: str
    card: str
    words: str


class CachedRows(NamedTuple):
    """The rows of one record, and what they were made from."""

    key: str
    consulted: str
    """References of the other records that they depend on, joined by blanks."""
    cells: str


class Kept(NamedTuple):
    """What is known of records."""

    cards: dict[str, CachedCard]
    """By path."""
    rows: dict[str, CachedRows]
    """By reference."""


class Written(NamedTuple):
    """A file of the site: what it was made from, and how it can be recognised without reading it."""

    key: str
    sha256: str
    size: int
    mtime_ns: int


def state_path(root: Path) -> Path:
    """Return the file of the state: below `$KBTOOL_CACHE`, else below `build/cache` of the project."""
    folder = os.environ.get("KBTOOL_CACHE")
    return (Path(folder) if folder else root / "build" / "cache") / "site.sqlite"


class State:
    """The state of one project's site."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    @classmethod
    @contextmanager
    def open(cls, path: Path, *, tool: str, out: Path | None) -> Iterator[Self]:
        """Open the state for one build; builds of one project wait for nobody, they refuse to overlap.

        Args:
            path: The file.
            tool: Fingerprint of everything that makes pages; another one empties the state.
            out: Where the site is written to; another folder empties what was known of the files there. None where none
                is written.

        Raises:
            UsageError: Another build is running.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.with_suffix(".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UsageError(
                    f"another build of this site is running (it holds {path}.lock): wait for it, or stop it"
                ) from None
            connection = _connect(path)
            try:
                state = cls(connection)
                state._prepare(tool, None if out is None else str(out))
                yield state
                connection.commit()
            finally:
                connection.close()

    @classmethod
    def peek(cls, path: Path, *, tool: str) -> "Kept":
        """Return what is known of records, without a lock and without a change; nothing where another tool made it."""
        if not path.is_file():
            return Kept({}, {})
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        try:
            state = cls(connection)
            if state.fact("tool") != f"{_LAYOUT} {tool}":
                return Kept({}, {})
            return Kept(state.cards(), state.rows())
        except sqlite3.DatabaseError:
            return Kept({}, {})
        finally:
            connection.close()

    def _prepare(self, tool: str, out: str | None) -> None:
        if self.fact("tool") != f"{_LAYOUT} {tool}":
            self._connection.executescript(
                "DELETE FROM card; DELETE FROM record_rows; DELETE FROM record_analysis; DELETE FROM written;"
                "DELETE FROM fact;"
            )
            self.set_fact("tool", f"{_LAYOUT} {tool}")
        if out is not None and self.fact("out") != out:
            self._connection.executescript(
                "DELETE FROM written; DELETE FROM fact WHERE name NOT IN ('tool');"
            )
            self.set_fact("out", out)

    def fact(self, name: str) -> str:
        """Return a remembered text, or nothing."""
        row = self._connection.execute("SELECT value FROM fact WHERE name = ?", (name,)).fetchone()
        return str(row[0]) if row else ""

    def set_fact(self, name: str, value: str) -> None:
        """Remember a text."""
        self._connection.execute("INSERT OR REPLACE INTO fact VALUES (?, ?)", (name, value))

    def cards(self) -> dict[str, CachedCard]:
        """Return every cached card by the path of its record."""
        rows = self._connection.execute("SELECT path, key, card, words FROM card")
        return {path: CachedCard(key, card, words) for path, key, card, words in rows}

    def set_cards(self, cards: Mapping[str, CachedCard], paths: Container[str]) -> None:
        """Remember new cards, and forget those of files that are no longer among `paths`."""
        rows = ((path, *card) for path, card in cards.items())
        self._connection.executemany("INSERT OR REPLACE INTO card VALUES (?, ?, ?, ?)", rows)
        known = [path for (path,) in self._connection.execute("SELECT path FROM card")]
        gone = ((path,) for path in known if path not in paths)
        self._connection.executemany("DELETE FROM card WHERE path = ?", gone)

    def rows(self, table: RowTable = "record_rows") -> dict[str, CachedRows]:
        """Return what is kept of every record by its reference."""
        rows = self._connection.execute(f"SELECT ref, key, consulted, cells FROM {table}")  # noqa: S608 - of a closed set
        return {ref: CachedRows(key, consulted, cells) for ref, key, consulted, cells in rows}

    def set_rows(
        self, rows: Mapping[str, CachedRows], refs: Container[str], table: RowTable = "record_rows"
    ) -> None:
        """Remember what was made anew, and forget that of records that are no longer among `refs`."""
        stored = ((ref, *each) for ref, each in rows.items())
        self._connection.executemany(f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?, ?)", stored)  # noqa: S608
        known = [ref for (ref,) in self._connection.execute(f"SELECT ref FROM {table}")]  # noqa: S608
        gone = ((ref,) for ref in known if ref not in refs)
        self._connection.executemany(f"DELETE FROM {table} WHERE ref = ?", gone)  # noqa: S608

    def written(self) -> dict[str, Written]:
        """Return what is known of every file of the site."""
        rows = self._connection.execute("SELECT path, key, sha256, size, mtime_ns FROM written")
        return {path: Written(*rest) for path, *rest in rows}

    def set_written(self, files: Mapping[str, Written], gone: Iterable[str]) -> None:
        """Remember files of the site, and forget those that are gone."""
        rows = ((path, *each) for path, each in files.items())
        self._connection.executemany("INSERT OR REPLACE INTO written VALUES (?, ?, ?, ?, ?)", rows)
        self._connection.executemany("DELETE FROM written WHERE path = ?", ((path,) for path in gone))


def _connect(path: Path) -> sqlite3.Connection:
    """Open the file; one that is no database, or of another layout, is started anew."""
    connection = sqlite3.connect(path)
    try:
        connection.executescript(_TABLES)
    except sqlite3.DatabaseError:
        connection.close()
        path.unlink()
        connection = sqlite3.connect(path)
        connection.executescript(_TABLES)
    return connection
