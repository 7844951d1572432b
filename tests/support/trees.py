"""Folders as plain data, to be compared."""

import stat
from pathlib import Path

__all__ = ["contents", "modes"]


def contents(folder: Path) -> dict[str, bytes]:
    """Return the bytes of every file below a folder, by path."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def modes(folder: Path) -> dict[str, int]:
    """Return the permissions of every file and folder below a folder, by path."""
    return {
        path.relative_to(folder).as_posix(): stat.S_IMODE(path.lstat().st_mode)
        for path in sorted(folder.rglob("*"))
    }
