"""The one seam between the run folder and the disk, and the few ways in which files are written.

Everything that changes the disk goes through `FileSystem`, one method a system call, so that a test can
make the nth one fail, cut a write short, or forget what was not synced.
"""

import fcntl
import os
import stat
from pathlib import Path
from typing import Final

__all__ = [
    "TEMPORARY_SUFFIX",
    "FileSystem",
    "make_folder",
    "read_regular",
    "sync_folder",
    "write_all",
    "write_whole",
]

TEMPORARY_SUFFIX: Final = ".kbtool-tmp"
"""Ends the name of a file that is being written. The folder has one writer, so one found at start is a leftover."""
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_READ_CHUNK_BYTES: Final = 1 << 20


class FileSystem:
    """The system calls that the run folder takes, one method each."""

    def open(self, path: Path, flags: int, mode: int = 0o644) -> int:
        """Open a file and return its descriptor; no child process inherits it."""
        return os.open(path, flags | os.O_CLOEXEC, mode)

    def read(self, descriptor: int, n_bytes: int) -> bytes:
        """Read up to `n_bytes`; none at the end of the file."""
        return os.read(descriptor, n_bytes)

    def write(self, descriptor: int, data: bytes | memoryview) -> int:
        """Write some of `data`, and return how many bytes that were."""
        return os.write(descriptor, data)

    def sync(self, descriptor: int) -> None:
        """Wait until content and metadata are on the disk."""
        os.fsync(descriptor)

    def sync_data(self, descriptor: int) -> None:
        """Wait until the content, and the length, are on the disk."""
        os.fdatasync(descriptor)

    def truncate(self, descriptor: int, size_bytes: int) -> None:
        """Cut the file to a size."""
        os.ftruncate(descriptor, size_bytes)

    def reserve(self, descriptor: int, size_bytes: int) -> None:
        """Make the disk set room aside for the file."""
        os.posix_fallocate(descriptor, 0, size_bytes)

    def lock(self, descriptor: int) -> None:
        """Lock the file for this process, or raise BlockingIOError at once."""
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def close(self, descriptor: int) -> None:
        """Close the file."""
        os.close(descriptor)

    def replace(self, source: Path, target: Path) -> None:
        """Give `source` the name `target`, in one step."""
        source.replace(target)

    def remove(self, path: Path) -> None:
        """Remove a file."""
        path.unlink()

    def make_folder(self, path: Path) -> None:
        """Make a folder that must not exist."""
        path.mkdir()

    def identity(self, path: Path) -> tuple[int, int]:
        """Return device and inode that the name leads to."""
        found = path.stat(follow_symlinks=False)
        return found.st_dev, found.st_ino


def write_all(fs: FileSystem, descriptor: int, data: bytes) -> None:
    """Write all of `data`: a full disk may cut a write short without an error."""
    rest = memoryview(data)
    while rest:
        written = fs.write(descriptor, rest)
        if written <= 0:
            raise OSError(f"the disk took none of the last {len(rest)} bytes")
        rest = rest[written:]


def write_whole(fs: FileSystem, path: Path, data: bytes) -> None:
    """Write a file so that its name leads to the old bytes or to all of the new ones, whatever happens.

    The bytes and the name are on the disk when this returns. A temporary file that a failure leaves
    behind is found by its suffix and removed at the next start.

    Raises:
        OSError: The file could not be written; the old one is in place unless only the last sync failed.
    """
    temporary = path.with_name(f".{path.name}{TEMPORARY_SUFFIX}")
    descriptor = fs.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW)
    try:
        write_all(fs, descriptor, data)
        fs.sync(descriptor)
    finally:
        fs.close(descriptor)
    fs.replace(temporary, path)
    sync_folder(fs, path.parent)


def sync_folder(fs: FileSystem, folder: Path) -> None:
    """Wait until the names in the folder are on the disk."""
    descriptor = fs.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fs.sync(descriptor)
    finally:
        fs.close(descriptor)


def make_folder(fs: FileSystem, path: Path) -> None:
    """Make a folder whose name is on the disk when this returns."""
    fs.make_folder(path)
    sync_folder(fs, path.parent)


def read_regular(fs: FileSystem, path: Path, *, max_bytes: int) -> bytes:
    """Return the bytes of a regular file; links, pipes and devices are refused.

    Raises:
        OSError: It is missing, no regular file, longer than `max_bytes`, or the disk failed.
    """
    descriptor = fs.open(path, _READ)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(f"{path} is no regular file")
        if found.st_size > max_bytes:
            raise OSError(f"{path} has {found.st_size} bytes, and at most {max_bytes} are read")
        parts: list[bytes] = []
        left = max_bytes + 1
        while left > 0 and (part := fs.read(descriptor, min(left, _READ_CHUNK_BYTES))):
            parts.append(part)
            left -= len(part)
    finally:
        fs.close(descriptor)
    if left <= 0:
        raise OSError(f"{path} grew beyond {max_bytes} bytes while it was read")
    return b"".join(parts)
