"""Making a new run folder: nothing is measured before plan, environment and the first entry are on the disk."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kbtool.runner.folder import layout
from kbtool.runner.folder.cell import encode_json
from kbtool.runner.folder.entries import FileSeal, RunStarted
from kbtool.runner.folder.errors import FolderError
from kbtool.runner.folder.fs import FileSystem, write_whole
from kbtool.runner.folder.journal import Journal
from kbtool.runner.folder.ledger import NO_LINES
from kbtool.runner.folder.lock import FileLock, Holder
from kbtool.runner.folder.options import FolderOptions, open_journal
from kbtool.runner.folder.seal import seal_bytes

__all__ = ["begin_journal", "check_new", "lock_folder", "write_first_files"]


def lock_folder(root: Path, options: FolderOptions) -> FileLock:
    """Lock a run folder for this process; raises as `FileLock` does."""
    wall_s = options.clock.stamp().wall_ns / 1e9
    started = f"{datetime.fromtimestamp(wall_s, UTC):%Y-%m-%d %H:%M:%S} UTC"
    holder = Holder.this_process(options.command, started)
    return FileLock(root / layout.LOCK, subject=str(root), holder=holder, fs=options.fs)


def begin_journal(root: Path, options: FolderOptions, entry: RunStarted) -> Journal:
    """Open an empty ledger and put the first entry on the disk."""
    journal = open_journal(root, options, NO_LINES)
    try:
        journal.append(entry)
        journal.sync()
    except BaseException:
        journal.abandon()
        raise
    return journal


def check_new(root: Path) -> None:
    """Raise FolderError where no new run may go."""
    if not root.parent.is_dir():
        raise FolderError(f"{root.parent} is no folder: make it first, or give another place for the run")
    if root.is_symlink() or (root.exists() and not root.is_dir()):
        raise FolderError(f"{root} is there, and is no folder: give another place for the run")
    if root.is_dir() and any(root.iterdir()):
        raise FolderError(f"{root} is not empty: resume the run in it, or give another place for the new one")


def write_first_files(
    root: Path,
    fs: FileSystem,
    plan: bytes,
    run: Mapping[str, Any],
    environment: Mapping[str, Mapping[str, Any]],
) -> tuple[FileSeal, ...]:
    """Make the subfolders, write plan, `run.json` and environment, and return the seals of these files."""
    for name in (layout.ENVIRONMENT, layout.CELLS, layout.ASIDE, layout.LOGS):
        fs.make_folder(root / name)
    contents = {layout.PLAN: plan, layout.RUN: encode_json(run)}
    for name, facts in environment.items():
        contents[f"{layout.ENVIRONMENT}/{layout.safe_name(name)}.json"] = encode_json(facts)
    for path, data in contents.items():
        write_whole(fs, root / path, data)
    return tuple(seal_bytes(path, data) for path, data in contents.items())
