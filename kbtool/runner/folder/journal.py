"""The appending end of the ledger: what it has accepted, a crash does not take back.

`Journal.append` hands the kernel one whole line and never waits for the disk: kill -9 loses nothing that
was appended. A thread of its own syncs at most every second, so that a power cut loses no more than that,
and `Journal.sync`, called between rounds and at seals, waits until everything is on the disk.

When the disk fails, the journal frees its reserve, says so in an `aborted` entry if it still can, and takes
nothing more: after a failed sync nobody knows what is on the disk.
"""

import errno
import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final

from kbtool.runner.folder.entries import Aborted, Entry
from kbtool.runner.folder.errors import FolderError, StorageError
from kbtool.runner.folder.fs import FileSystem
from kbtool.runner.folder.ledger import GENESIS, Clock, Line, encode_line

__all__ = ["SYNC_INTERVAL_S", "Journal", "explain"]

SYNC_INTERVAL_S: Final = 1.0

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_READ_ONLY: Final = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})
_GONE: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ESTALE, errno.ENODEV, errno.ENXIO})


def explain(error: OSError, path: Path, doing: str) -> str:
    """Return what failed where, and what to do about it."""
    text = error.strerror or str(error)
    found = f"{path}: {doing} failed: {text}. What was sealed before is untouched"
    if error.errno in _FULL:
        return f"{found}. Make room on this disk, then resume the run"
    if error.errno in _READ_ONLY:
        return f"{found}. Make the folder writable, then resume the run"
    if error.errno in _GONE:
        return (
            f"{found}, if the folder comes back. See whether its disk is still mounted, then resume the run"
        )
    return f"{found}. Check the disk (kernel log, file system), copy the folder to a good one, then resume the run there"


class Journal:
    """One open ledger. Any thread may append; the owner closes it.

    Args:
        path: The ledger; it must exist, and end after the line that `last` describes.
        last: The last line, or None for an empty ledger.
        size_bytes: Length of the ledger.
        reserve: A file that is removed when the disk is full, to make room for the last words.
        sync_interval_s: How long an entry may wait until it is on the disk.
    """

    def __init__(
        self,
        path: Path,
        *,
        fs: FileSystem,
        clock: Clock,
        last: Line | None,
        size_bytes: int,
        reserve: Path | None,
        sync_interval_s: float = SYNC_INTERVAL_S,
    ) -> None:
        self._path = path
        self._fs = fs
        self._clock = clock
        self._seq = last.seq if last else 0
        self._prev = last.sha256 if last else GENESIS
        self._size_bytes = size_bytes
        self._synced_bytes = size_bytes
        self._reserve = reserve
        self._interval_s = sync_interval_s
        self._lock = threading.Lock()
        self._failure: StorageError | None = None
        self._closing = threading.Event()
        self._descriptor = fs.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW)
        self._identity = fs.identity(path)
        self._syncer = threading.Thread(target=self._sync_now_and_then, name="kbtool-journal", daemon=True)
        self._syncer.start()

    @property
    def size_bytes(self) -> int:
        """Length of the ledger in bytes."""
        return self._size_bytes

    @property
    def head(self) -> str:
        """SHA-256 of the last line."""
        return self._prev

    def append(self, entry: Entry) -> int:
        """Hand one line to the kernel, and return its number in the ledger. Does not wait for the disk.

        Raises:
            StorageError: It was not taken, or an earlier one was lost; the journal takes nothing more.
            ValueError: The entry cannot be written as JSON, or is too long.
        """
        with self._lock:
            self.check()
            if self._closing.is_set():
                raise FolderError(f"{self._path}: the journal is closed, and takes no {entry.kind!r} entry")
            line, digest = encode_line(entry, seq=self._seq + 1, prev=self._prev, stamp=self._clock.stamp())
            try:
                written = self._fs.write(self._descriptor, line)
            except OSError as error:
                written, cause = 0, error
            else:
                cause = OSError(errno.ENOSPC, f"the disk took {written} of {len(line)} bytes")
            if written == len(line):
                self._seq, self._prev, self._size_bytes = self._seq + 1, digest, self._size_bytes + len(line)
                return self._seq
        raise self.give_up(cause, f"writing a {entry.kind!r} entry", self._path) from cause

    def sync(self) -> None:
        """Wait until every entry so far is on the disk, and its name still leads there.

        Raises:
            StorageError: It is not, and the journal takes nothing more.
        """
        self.check()
        try:
            self._sync()
        except OSError as error:
            raise self.give_up(error, "syncing the ledger", self._path) from error

    def check(self) -> None:
        """Raise the StorageError that an earlier call, or the syncing thread, has met."""
        if self._failure is not None:
            raise self._failure

    def give_up(self, cause: OSError, doing: str, place: Path) -> StorageError:
        """End the run's writing: free the reserve, write an `aborted` entry if possible, return what to raise."""
        with self._lock:
            if self._failure is None:
                self._failure = StorageError(explain(cause, place, doing))
                self._last_words(self._failure, cause, doing)
            return self._failure

    def close(self) -> None:
        """Sync what is left and end the thread.

        Raises:
            StorageError: What is left did not reach the disk.
        """
        try:
            if self._failure is None and not self._closing.is_set():
                self.sync()
                self._free_reserve()
        finally:
            self.abandon()

    def _free_reserve(self) -> None:
        """Give room back that nobody needs while nobody writes; whoever resumes the run makes it again."""
        if self._reserve is not None:
            with suppress(OSError):
                self._fs.remove(self._reserve)

    def abandon(self) -> None:
        """End the thread and close the file, whatever is not yet on the disk."""
        if not self._closing.is_set():
            self._closing.set()
            self._syncer.join()
            self._fs.close(self._descriptor)

    def _sync(self) -> None:
        target_bytes = self._size_bytes
        if self._fs.identity(self._path) != self._identity:
            raise OSError(errno.ENOENT, "another file has taken the place of the ledger")
        if target_bytes > self._synced_bytes:
            self._fs.sync_data(self._descriptor)
            self._synced_bytes = max(self._synced_bytes, target_bytes)

    def _sync_now_and_then(self) -> None:
        while not self._closing.wait(self._interval_s) and self._failure is None:
            try:
                self._sync()
            except OSError as error:
                self.give_up(error, "syncing the ledger", self._path)

    def _last_words(self, failure: StorageError, cause: OSError, doing: str) -> None:
        """Say in the ledger why it ends; the lock is held. What fails here is added to the failure."""
        if self._seq == 0:
            failure.add_note(f"{self._path}: the run had not begun: nothing is recorded. Remove the folder")
            return
        entry = Aborted(reason="storage", detail=f"{doing}: {cause.strerror or cause}")
        line, digest = encode_line(entry, seq=self._seq + 1, prev=self._prev, stamp=self._clock.stamp())
        try:
            if self._reserve is not None:
                self._fs.remove(self._reserve)
        except OSError as error:
            failure.add_note(f"the reserve could not be freed: {error}")
        try:
            # A line that was cut short must go first, or this one would become part of it.
            self._fs.truncate(self._descriptor, self._size_bytes)
            written = self._fs.write(self._descriptor, line)
            if written == len(line):
                self._fs.sync_data(self._descriptor)
        except OSError as error:
            failure.add_note(f"the abort could not be recorded in {self._path}: {error}")
            return
        if written != len(line):
            failure.add_note(
                f"the abort could not be recorded in {self._path}: {written} of {len(line)} bytes fitted"
            )
            return
        self._seq, self._prev, self._size_bytes = self._seq + 1, digest, self._size_bytes + len(line)
        failure.abort_recorded = True
