"""Writing files so that a reader, or the next run after a crash, finds the old or the new one whole."""

import fcntl
import os
from pathlib import Path
from typing import Final

__all__ = ["TEMPORARY_SUFFIX", "FileSystem", "remove_leftovers", "write_atomic"]

TEMPORARY_SUFFIX: Final = ".kbtool-tmp"
"""Ends the name of a file that is being written; one without a living writer is a leftover."""
_MODE: Final = 0o644
_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_EXISTING_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class FileSystem:
    """The system calls that writing takes, one method each, so that a test can make any of them fail."""

    def create(self, path: Path) -> int:
        """Create a file that must not exist, and return its descriptor."""
        return os.open(path, _NEW_FILE, 0o600)

    def lock(self, descriptor: int) -> None:
        """Show to other processes that the file has a living writer."""
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def write(self, descriptor: int, data: memoryview) -> int:
        """Write some of `data`, and return how many bytes that were."""
        return os.write(descriptor, data)

    def set_mode(self, descriptor: int, mode: int) -> None:
        """Set the permissions, whatever the umask is."""
        os.fchmod(descriptor, mode)

    def sync(self, descriptor: int) -> None:
        """Wait until the content is on the disk."""
        os.fsync(descriptor)

    def close(self, descriptor: int) -> None:
        """Close the file."""
        os.close(descriptor)

    def replace(self, source: Path, target: Path) -> None:
        """Give `source` the name `target`, in one step."""
        source.replace(target)

    def remove(self, path: Path) -> None:
        """Remove a file."""
        path.unlink()

    def open_folder(self, path: Path) -> int:
        """Open a folder so that it can be synced."""
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def write_atomic(path: Path, data: bytes, system: FileSystem | None = None) -> None:
    """Write `data` to `path`: at every moment the file there is the old one or the new one, whole.

    The new file is on the disk when this returns, and has mode 0644. A link at `path` is replaced
    by the file, not followed.

    Raises:
        OSError: The file could not be written. No temporary file is left; if only the last step
            failed, which makes the new name durable, the new file is in place.
    """
    system = system or FileSystem()
    temporary = path.with_name(f".{os.urandom(8).hex()}{TEMPORARY_SUFFIX}")
    descriptor = system.create(temporary)
    try:
        try:
            system.lock(descriptor)
            _write_all(system, descriptor, data)
            system.set_mode(descriptor, _MODE)
            system.sync(descriptor)
        finally:
            system.close(descriptor)
        system.replace(temporary, path)
    except BaseException as error:
        _remove_after(error, temporary, system)
        raise
    _sync_folder(system, path.parent)


def _write_all(system: FileSystem, descriptor: int, data: bytes) -> None:
    """Write all of `data`: a full disk may cut a write short without an error."""
    rest = memoryview(data)
    while rest:
        written = system.write(descriptor, rest)
        if written <= 0:
            raise OSError(f"the disk took none of the last {len(rest)} bytes")
        rest = rest[written:]


def _remove_after(error: BaseException, temporary: Path, system: FileSystem) -> None:
    """Remove the temporary file without hiding why it was not finished."""
    try:
        system.remove(temporary)
    except FileNotFoundError:
        return  # interrupted right after it got its final name
    except OSError as failure:
        error.add_note(f"{temporary} could not be removed either: {failure}")


def _sync_folder(system: FileSystem, folder: Path) -> None:
    descriptor = system.open_folder(folder)
    try:
        system.sync(descriptor)
    finally:
        system.close(descriptor)


def remove_leftovers(folder: Path) -> list[Path]:
    """Remove, anywhere below `folder`, what killed writers have left, and return the paths in order."""
    leftovers = [
        path
        for path in sorted(folder.rglob(f".*{TEMPORARY_SUFFIX}"))
        if path.is_file() and not path.is_symlink()
    ]
    removed: list[Path] = []
    for path in leftovers:
        try:
            descriptor = os.open(path, _EXISTING_FILE)
        except FileNotFoundError:
            continue  # its writer has just finished
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue  # its writer lives
        else:
            path.unlink()
            removed.append(path)
        finally:
            os.close(descriptor)
    return removed
