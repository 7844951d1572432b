"""How a run folder is opened and written."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final

from kbtool.runner.folder import layout
from kbtool.runner.folder.errors import LedgerDamagedError, NotARunError, StorageError
from kbtool.runner.folder.fs import FileSystem, read_regular
from kbtool.runner.folder.journal import SYNC_INTERVAL_S, Journal, explain
from kbtool.runner.folder.ledger import Clock, Scan, scan
from kbtool.runner.folder.state import RunState, replay

__all__ = [
    "MAX_LEDGER_BYTES",
    "RESERVE_BYTES",
    "FolderOptions",
    "Mode",
    "OnDamage",
    "guarded",
    "make_reserve",
    "open_journal",
    "read_ledger",
    "read_run",
]

RESERVE_BYTES: Final = 64 << 20
MAX_LEDGER_BYTES: Final = 1 << 30


class Mode(StrEnum):
    """What a run folder is opened for."""

    READ = "read"
    """Nothing is changed, nothing is locked: the run may be going on."""
    RESUME = "resume"
    """The folder is put in order, and the run goes on."""


class OnDamage(StrEnum):
    """What to do on resuming when bytes that were sealed are not the same any more."""

    REFUSE = "refuse"
    SET_ASIDE = "set_aside"
    """Move damaged cells aside and measure them again; cut the ledger before its first broken line."""


@dataclass(frozen=True, slots=True)
class FolderOptions:
    """How a run folder is written."""

    command: str = ""
    """What was asked for, without secrets: shown to a second runner."""
    reserve_bytes: int = RESERVE_BYTES
    """Room that is kept for the last words on a full disk."""
    sync_interval_s: float = SYNC_INTERVAL_S
    """How long an entry of the ledger may wait until it is on the disk."""
    fs: FileSystem = field(default_factory=FileSystem)
    clock: Clock = field(default_factory=Clock)


@contextmanager
def guarded(root: Path, doing: str) -> Iterator[None]:
    """Turn a failure of the disk into a StorageError, where there is no journal that could say so."""
    try:
        yield
    except OSError as error:
        raise StorageError(explain(error, root, doing)) from error


def read_ledger(root: Path, fs: FileSystem) -> Scan:
    """Return what the ledger of a run says.

    Raises:
        NotARunError: There is none.
        StorageError: It cannot be read.
    """
    path = root / layout.LEDGER
    try:
        return scan(read_regular(fs, path, max_bytes=MAX_LEDGER_BYTES))
    except (FileNotFoundError, NotADirectoryError):
        raise NotARunError(
            f"{root}: holds no {layout.LEDGER}: it is no run folder, or a run that never started"
        ) from None
    except OSError as error:
        raise StorageError(explain(error, path, "reading the ledger")) from error


def read_run(root: Path, fs: FileSystem) -> tuple[Scan, RunState]:
    """Return the ledger of a run and what it amounts to.

    Raises:
        NotARunError: There is none, or it never started.
        LedgerDamagedError: The run did start, and the line that says so is broken.
        DamagedError: An entry is not what its kind must be.
        StorageError: The ledger cannot be read.
    """
    ledger = read_ledger(root, fs)
    cells = root / layout.CELLS
    measured = (
        ledger.n_intact_after
        or (root / layout.MANIFEST).exists()
        or (cells.is_dir() and any(cells.iterdir()))
    )
    if not ledger.lines and measured:
        raise LedgerDamagedError(
            f"{root / layout.LEDGER}:1: the first line is damaged, and there is a run. Restore the ledger from a copy; "
            f"without one, what was measured is in {cells}, and nothing shows that it is whole"
        )
    return ledger, replay(ledger.lines, root / layout.LEDGER)


def make_reserve(root: Path, options: FolderOptions) -> None:
    """Make the file that keeps room for the last words; one of the right size is left as it is."""
    path = root / layout.RESERVE
    if options.reserve_bytes <= 0 or (path.exists() and path.stat().st_size == options.reserve_bytes):
        return
    descriptor = options.fs.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    try:
        options.fs.reserve(descriptor, options.reserve_bytes)
    finally:
        options.fs.close(descriptor)


def open_journal(root: Path, options: FolderOptions, ledger: Scan) -> Journal:
    """Open the appending end of a ledger that ends after its last good line."""
    return Journal(
        root / layout.LEDGER,
        fs=options.fs,
        clock=options.clock,
        last=ledger.lines[-1] if ledger.lines else None,
        size_bytes=ledger.good_bytes,
        reserve=root / layout.RESERVE if options.reserve_bytes > 0 else None,
        sync_interval_s=options.sync_interval_s,
    )
