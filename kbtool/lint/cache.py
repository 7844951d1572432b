"""What earlier runs found out, so that a run costs what has changed.

One SQLite file, keyed by content.  It holds the digest of each file, what one file gave by itself
(findings, facts, and which other records its rules looked at), and whole reports by the digest of all files.
Everything in it can be made again: a cache that cannot be read or written is left out.
"""

import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

__all__ = ["Cache", "Entry", "Stamp", "default_path", "stamp_of"]

MOST_REPORTS: Final = 8
SETTLED_NS: Final = 2_000_000_000
"""A file that changed this shortly ago may change again without a change of its stamp."""

_TABLES: Final = """
CREATE TABLE IF NOT EXISTS made_by (version TEXT);
CREATE TABLE IF NOT EXISTS files (path TEXT PRIMARY KEY, stamp TEXT, digest TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS entries (path TEXT PRIMARY KEY, digest TEXT, asked TEXT, findings TEXT, facts TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS reports (key TEXT PRIMARY KEY, made_ns INTEGER, report TEXT) WITHOUT ROWID;
"""

Stamp = str


@dataclass(frozen=True, slots=True)
class Entry:
    """What one file gave by itself."""

    digest: str
    """Of the file's bytes."""
    asked: Mapping[str, str]
    """Other records that its rules looked at -> their digests then; empty where there was no such file."""
    findings: Sequence[Any]
    """Plain JSON data."""
    facts: Sequence[Any] | None
    """Plain JSON data; None where the file is no valid record."""


def default_path(root: Path) -> Path | None:
    """Return where the cache of a project lies; None where there should be none.

    `KBTOOL_CACHE` names another folder. In a CI job, which may run on the files of a stranger, a cache that they
    brought along must not be believed: there is none unless the variable names one.
    """
    named = os.environ.get("KBTOOL_CACHE")
    if named:
        return Path(named) / "lint.sqlite"
    return None if os.environ.get("CI") else root / "build" / "cache" / "lint.sqlite"


def stamp_of(path: Path) -> tuple[Stamp, bool]:
    """Return a text that changes whenever the file does, and whether that can be relied on yet.

    It holds the time of the last change of the inode, which no program can set back, beside size and number, as
    git's index does: a fresh checkout has other stamps, and is read again.
    """
    status = path.lstat()
    changed_ns = max(status.st_mtime_ns, status.st_ctime_ns)
    stamp = f"{status.st_size}.{status.st_mtime_ns}.{status.st_ctime_ns}.{status.st_ino}.{status.st_dev}"
    return stamp, time.time_ns() - changed_ns > SETTLED_NS


class Cache:
    """The cache of one project, open for one run."""

    def __init__(self, path: Path, connection: sqlite3.Connection | None) -> None:
        self._path = path
        self._connection = connection

    @classmethod
    def open(cls, path: Path | None, version: str) -> Self:
        """Open the cache at `path`; entries of another version of kbtool or of its rules are dropped."""
        if path is None:
            return cls(Path(), None)
        for _ in range(2):
            try:
                return cls(path, _connected(path, version))
            except sqlite3.OperationalError:
                break
            except sqlite3.DatabaseError:
                path.unlink(missing_ok=True)  # something else lies there: begin anew
            except OSError:
                break
        return cls(path, None)

    def close(self) -> None:
        """Keep what was stored."""
        if self._connection is not None:
            try:
                self._connection.commit()
            except sqlite3.DatabaseError as error:
                self._leave(error)
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _leave(self, error: sqlite3.DatabaseError) -> None:
        """Go on without the cache.

        Another run may hold it, or the disk may be full: it stays behind. If it is broken, it is removed.
        """
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if not isinstance(error, sqlite3.OperationalError):
            self._path.unlink(missing_ok=True)

    def digests(self) -> dict[str, tuple[Stamp, str]]:
        """Return path -> stamp and digest of every file that was read."""
        return {
            path: (stamp, digest)
            for path, stamp, digest in self._rows("SELECT path, stamp, digest FROM files")
        }

    def store_digests(self, digests: Iterable[tuple[str, Stamp, str]]) -> None:
        """Remember what files hold."""
        self._write("INSERT OR REPLACE INTO files VALUES (?, ?, ?)", digests)

    def has_entries(self) -> bool:
        """Return whether any file was checked before."""
        return bool(self._rows("SELECT 1 FROM entries LIMIT 1"))

    def entries(self) -> Iterator[tuple[str, Entry]]:
        """Yield path and what each file gave, as far as that can be read."""
        if self._connection is None:
            return
        try:
            rows = self._connection.execute("SELECT path, digest, asked, findings, facts FROM entries")
            for path, digest, asked, findings, facts in rows:
                yield path, Entry(digest, json.loads(asked), json.loads(findings), json.loads(facts))
        except sqlite3.DatabaseError as error:
            self._leave(error)

    def store_entries(self, entries: Iterable[tuple[str, Entry]]) -> None:
        """Remember what files gave."""
        rows = (
            (path, entry.digest, _compact(entry.asked), _compact(entry.findings), _compact(entry.facts))
            for path, entry in entries
        )
        self._write("INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?, ?)", rows)

    def forget(self, paths: Iterable[str]) -> None:
        """Forget files that are gone."""
        gone = [(path,) for path in paths]
        self._write("DELETE FROM files WHERE path = ?", gone)
        self._write("DELETE FROM entries WHERE path = ?", gone)

    def report(self, key: str) -> Any:
        """Return a whole report as plain JSON data, or None."""
        rows = self._rows("SELECT report FROM reports WHERE key = ?", (key,))
        return json.loads(rows[0][0]) if rows else None

    def store_report(self, key: str, report: Any) -> None:
        """Remember a whole report, and forget the oldest where there are too many."""
        self._write(
            "INSERT OR REPLACE INTO reports VALUES (?, ?, ?)", [(key, time.time_ns(), _compact(report))]
        )
        kept = "SELECT key FROM reports ORDER BY made_ns DESC LIMIT ?"
        self._write(f"DELETE FROM reports WHERE key NOT IN ({kept})", [(MOST_REPORTS,)])  # noqa: S608 - no text from outside

    def _rows(self, query: str, arguments: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        if self._connection is None:
            return []
        try:
            return self._connection.execute(query, arguments).fetchall()
        except sqlite3.DatabaseError as error:
            self._leave(error)
            return []

    def _write(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        if self._connection is None:
            return
        try:
            self._connection.executemany(statement, rows)
        except sqlite3.DatabaseError as error:
            self._leave(error)


def _connected(path: Path, version: str) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, timeout=0.5)
    # Two runs at once read side by side; what a crash of the machine loses can be made again.
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = OFF")
    connection.executescript(_TABLES)
    made_by = connection.execute("SELECT version FROM made_by").fetchall()
    if made_by != [(version,)]:
        connection.execute("DELETE FROM entries")
        connection.execute("DELETE FROM reports")
        connection.execute("DELETE FROM made_by")
        connection.execute("INSERT INTO made_by VALUES (?)", (version,))
    return connection


_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def _compact(value: Any) -> str:
    return _ENCODER.encode(value)
