"""One runner at a time: on a run folder, and on the accelerators and endpoints of the box.

Locks are `flock`s: the kernel frees them when their process ends, however it ends, so that none is ever
stale. Who holds one is written into its file, for the message to the second. A child that is made by
`fork` without `exec` shares the lock: start helpers by `exec` or `spawn`.
"""

import json
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from kbtool.runner.folder.errors import FolderError, LockedError
from kbtool.runner.folder.fs import FileSystem, write_all
from kbtool.runner.folder.layout import safe_name

__all__ = ["BoxLock", "FileLock", "Holder", "box_lock_folder"]

_MAX_COMMAND_CHARS: Final = 300
_MAX_HOLDER_BYTES: Final = 4096


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that holds a lock."""

    pid: int
    started: str
    """When it took the lock: UTC, as a label."""
    command: str

    @classmethod
    def this_process(cls, command: str, started: str) -> Self:
        """Return this process as a holder.

        Args:
            command: What it was asked to do, without secrets; shortened to 300 characters.
            started: Wall-clock time as text.
        """
        return cls(os.getpid(), started, command[:_MAX_COMMAND_CHARS])

    def __str__(self) -> str:
        """Return pid, time and command for a message."""
        return f"process {self.pid}, since {self.started}: {self.command}"


class FileLock:
    """An exclusive lock on one file, held until `release` or the end of the process.

    Args:
        path: The file; made if missing, and never removed, since a second may wait at its name.
        subject: What is locked, for the message.
        holder: Who takes it.
        fs: The disk.

    Raises:
        LockedError: Another process holds it; the message names that one.
        OSError: The file cannot be opened or written.
    """

    def __init__(self, path: Path, *, subject: str, holder: Holder, fs: FileSystem | None = None) -> None:
        self._fs = fs or FileSystem()
        self.path = path
        descriptor = self._fs.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            self._take(descriptor, subject)
            self._fs.truncate(descriptor, 0)
            write_all(self._fs, descriptor, _encode(holder))
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor: int | None = descriptor

    def _take(self, descriptor: int, subject: str) -> None:
        try:
            self._fs.lock(descriptor)
        except BlockingIOError:
            other = _decode(os.pread(descriptor, _MAX_HOLDER_BYTES, 0))
            raise LockedError(
                f"{subject} is in use by {other or 'a process that has not yet said who it is'}. "
                f"Wait for it, or end it; the lock is {self.path}"
            ) from None

    def release(self) -> None:
        """Give the lock back; a second call does nothing."""
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            os.close(descriptor)

    def __enter__(self) -> Self:
        """Return the lock, which is held already."""
        return self

    def __exit__(self, *_: object) -> None:
        """Give the lock back."""
        self.release()


class BoxLock:
    """Locks on all that a run uses of the box: each accelerator, each endpoint.

    Two runs that share even one accelerator exclude each other, whatever else they use. It holds
    among the processes of one user on one box; other users' work is for telemetry to see.

    Args:
        resources: Names such as `gpu:GPU-6f3c...` or `endpoint:127.0.0.1:30000`.
        holder: Who takes them.
        folder: Where the lock files are; `box_lock_folder()` by default.

    Raises:
        LockedError: One of them is in use; none is held then.
        FolderError: The folder of the locks is not safe.
    """

    def __init__(self, resources: Iterable[str], *, holder: Holder, folder: Path | None = None) -> None:
        folder = folder or box_lock_folder()
        self._locks: list[FileLock] = []
        try:
            for resource in sorted(set(resources)):
                path = folder / f"{safe_name(resource)}.lock"
                self._locks.append(FileLock(path, subject=resource, holder=holder))
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        """Give all locks back; a second call does nothing."""
        while self._locks:
            self._locks.pop().release()

    def __enter__(self) -> Self:
        """Return the locks, which are held already."""
        return self

    def __exit__(self, *_: object) -> None:
        """Give all locks back."""
        self.release()


def box_lock_folder(runtime_dir: Path | None = None, fallback: Path = Path("/tmp")) -> Path:  # noqa: S108 - checked below
    """Return the folder of this user's box-wide locks, made with mode 0700 if missing.

    Args:
        runtime_dir: `$XDG_RUNTIME_DIR`. Where it is not given, `/run/user/UID` is taken if there is one:
            a run from cron must meet the locks of a run from a login.
        fallback: Where `kbtool-UID` is made if there is neither.

    Raises:
        FolderError: It is a link, belongs to someone else, or others may write to it.
    """
    login = Path(f"/run/user/{os.getuid()}")
    base = runtime_dir or (login if login.is_dir() else None)
    folder = base / "kbtool" if base and base.is_dir() else fallback / f"kbtool-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise FolderError(
            f"{folder} must be a folder of user {os.getuid()} that no one else can write to, and is not "
            f"(owner {found.st_uid}, mode {stat.filemode(found.st_mode)}): remove it, and try again"
        )
    return folder


def _encode(holder: Holder) -> bytes:
    facts = {"pid": holder.pid, "started": holder.started, "command": holder.command}
    return json.dumps(facts).encode()


def _decode(data: bytes) -> Holder | None:
    """Return who holds the lock, or None where the file does not say so."""
    try:
        found = json.loads(data)
        return Holder(
            int(found["pid"]), str(found["started"])[:40], str(found["command"])[:_MAX_COMMAND_CHARS]
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
