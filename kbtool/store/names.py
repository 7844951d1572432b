"""Which records there are, by the names of their files alone: for whoever needs no more, and needs it fast."""

import os
from collections.abc import Iterator
from pathlib import Path

from kbtool.store.files import FOLDERS, RECORDS

__all__ = ["record_names"]

_SUFFIX = ".yaml"


def record_names(root: Path) -> Iterator[tuple[str, str]]:
    """Yield reference, and path relative to `root`, of every file that may be a record.

    Files are not looked at: one of them may turn out to be none. Of folders that cannot be listed, nothing is
    yielded; `kbtool.store.files.discover` reports them.
    """
    for folder in FOLDERS:
        for group, name in _files_in(root / RECORDS / folder):
            prefix = f"{folder}/{group}" if folder in {"reviews", "withdrawn"} else folder
            path = "/".join(part for part in (RECORDS, folder, group, name) if part)
            yield f"{prefix}/{name.removesuffix(_SUFFIX)}", path


def _files_in(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield group and name of the files in a kind's folder and one level below."""
    try:
        with os.scandir(folder) as listing:
            entries = [(each.name, each.is_dir(follow_symlinks=False)) for each in listing]
    except OSError:
        return
    for name, is_folder in entries:
        if is_folder:
            yield from ((name, inner) for inner in _names_in(folder / name))
        elif name.endswith(_SUFFIX):
            yield "", name


def _names_in(folder: Path) -> Iterator[str]:
    try:
        yield from (name for name in os.listdir(folder) if name.endswith(_SUFFIX))  # noqa: PTH208 - names alone, many
    except OSError:
        return
