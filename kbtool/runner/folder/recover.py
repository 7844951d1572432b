"""Putting a run folder in order before its run goes on: nothing is deleted, and the ledger says what was moved."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kbtool.runner.folder import layout
from kbtool.runner.folder.entries import Resumed, SetAside
from kbtool.runner.folder.errors import DamagedError, EnvironmentChangedError, LedgerDamagedError
from kbtool.runner.folder.fs import TEMPORARY_SUFFIX, FileSystem, read_regular, sync_folder, write_whole
from kbtool.runner.folder.journal import Journal
from kbtool.runner.folder.ledger import Scan
from kbtool.runner.folder.options import (
    MAX_LEDGER_BYTES,
    FolderOptions,
    OnDamage,
    make_reserve,
    open_journal,
    read_run,
)
from kbtool.runner.folder.seal import check_seal, decode_manifest
from kbtool.runner.folder.state import CellStatus, RunState, apply

__all__ = ["Recovered", "differences", "recover"]

_MAX_SHOWN: Final = 20
_MAX_VALUE_CHARS: Final = 100


@dataclass(frozen=True, slots=True)
class Recovered:
    """A run that can go on, or that turned out to be finished."""

    state: RunState
    ledger: Scan
    journal: Journal | None
    """None for a finished run."""


def recover(
    root: Path,
    runner_version: str,
    fingerprint: Mapping[str, Any],
    on_damage: OnDamage,
    options: FolderOptions,
) -> Recovered:
    """Check a run, then put it in order. The caller holds its lock.

    Raises:
        FolderError: See `RunFolder.open`; only StorageError after anything was changed.
        OSError: The disk failed while there was no journal to say so.
    """
    fs = options.fs
    ledger, state = read_run(root, fs)
    if (root / layout.MANIFEST).exists():
        _check_manifest_covers(root, fs)
        return Recovered(state, ledger, None)
    _compare(root, state, fingerprint)
    _check_ledger(root, ledger, on_damage)
    withdrawn = _damaged_cells(root, state, on_damage, fs)
    torn = _cut(root, ledger, fs)
    _remove_temporaries(root, fs)
    if state.finished is not None:
        return Recovered(state, ledger, None)
    make_reserve(root, options)
    journal = open_journal(root, options, ledger)
    try:
        moves = tuple(_moves(root, state, withdrawn))
        entry = Resumed(runner_version, state.ending, len(ledger.tail), torn, withdrawn, moves)
        journal.append(entry)
        journal.sync()
        _move(root, moves, journal, fs)
    except BaseException:
        journal.abandon()
        raise
    return Recovered(apply(state, entry), ledger, journal)


def differences(old: Mapping[str, Any], new: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Yield one text for each fact that differs: its place, its old and its new value."""
    for key in sorted(old.keys() | new.keys()):
        was, now = old.get(key, _ABSENT), new.get(key, _ABSENT)
        if isinstance(was, Mapping) and isinstance(now, Mapping):
            yield from differences(was, now, f"{prefix}{key}.")
        elif was != now or type(was) is not type(now):
            yield f"{prefix}{key}: was {_shown(was)}, is {_shown(now)}"


_ABSENT: Final = object()


def _shown(value: object) -> str:
    text = "absent" if value is _ABSENT else repr(value)
    return text if len(text) <= _MAX_VALUE_CHARS else f"{text[:_MAX_VALUE_CHARS]}..."


def _compare(root: Path, state: RunState, fingerprint: Mapping[str, Any]) -> None:
    found = tuple(differences(state.started.fingerprint, fingerprint))
    if found:
        more = f"\n  and {len(found) - _MAX_SHOWN} more" if len(found) > _MAX_SHOWN else ""
        listed = "\n  ".join(found[:_MAX_SHOWN])
        raise EnvironmentChangedError(
            f"{root}: the environment is not the one that the run was started in, and one run has one environment:\n"
            f"  {listed}{more}\nRestore it and resume, or start a new run",
            found,
        )


def _check_ledger(root: Path, ledger: Scan, on_damage: OnDamage) -> None:
    if ledger.n_intact_after and on_damage is OnDamage.REFUSE:
        raise LedgerDamagedError(
            f"{root / layout.LEDGER}:{len(ledger.lines) + 1}: this line is damaged, and {ledger.n_intact_after} later "
            "ones are intact, so no crash has done it. Restore the ledger from a copy; or resume with damaged "
            "parts set aside, which keeps only what stands before that line, and measures the rest again"
        )


def _check_manifest_covers(root: Path, fs: FileSystem) -> None:
    """Refuse a finished run whose ledger is not the one that was sealed."""
    path = root / layout.MANIFEST
    manifest = decode_manifest(read_regular(fs, path, max_bytes=MAX_LEDGER_BYTES), path)
    for seal in manifest.files:
        if seal.path == layout.LEDGER and (damage := check_seal(root, seal, fs)) is not None:
            raise DamagedError(f"{root}: {damage}")


def _damaged_cells(root: Path, state: RunState, on_damage: OnDamage, fs: FileSystem) -> tuple[str, ...]:
    """Return the sealed cells that must be measured again, if damage may be set aside."""
    damages = {
        seal.path: damage for seal in state.seals if (damage := check_seal(root, seal, fs)) is not None
    }
    cells = {
        key: {seal.path for seal in cell.files} & damages.keys()
        for key, cell in state.cells.items()
        if cell.status is CellStatus.SEALED
    }
    elsewhere = damages.keys() - {path for paths in cells.values() for path in paths}
    if damages and (on_damage is OnDamage.REFUSE or elsewhere):
        listed = "\n  ".join(str(damage) for damage in list(damages.values())[:_MAX_SHOWN])
        remedy = (
            "Restore the files from a copy"
            if elsewhere
            else "Restore the files from a copy, or resume with damaged parts set aside, which measures those cells again"
        )
        raise DamagedError(
            f"{root}: {len(damages)} sealed files are not what they were:\n  {listed}\n{remedy}"
        )
    return tuple(key for key, paths in cells.items() if paths)


def _cut(root: Path, ledger: Scan, fs: FileSystem) -> str | None:
    """Cut the ledger after its last good line; return the name of the file that keeps the rest."""
    if not ledger.tail:
        return None
    name = layout.free_path(root, f"{layout.LEDGER}.torn")
    write_whole(fs, root / name, ledger.tail)
    descriptor = fs.open(root / layout.LEDGER, os.O_WRONLY | os.O_NOFOLLOW)
    try:
        fs.truncate(descriptor, ledger.good_bytes)
        fs.sync(descriptor)
    finally:
        fs.close(descriptor)
    return name


def _remove_temporaries(root: Path, fs: FileSystem) -> None:
    """Remove files that were being written when a crash came; those of cells move aside with their cell."""
    for folder in (root, root / layout.ENVIRONMENT):
        for path in sorted(folder.glob(f".*{TEMPORARY_SUFFIX}")):
            fs.remove(path)


def _moves(root: Path, state: RunState, withdrawn: tuple[str, ...]) -> Iterator[SetAside]:
    """Yield a move for all that is in the way: half-written and damaged cells, files that no entry names."""
    damaged = {state.cells[key].folder for key in withdrawn}
    kept = state.kept_folders - damaged
    sealed = {seal.path for seal in (*state.started.files, *state.environment)}
    found = [path.relative_to(root).as_posix() for path in sorted((root / layout.CELLS).iterdir())]
    found += [path.relative_to(root).as_posix() for path in sorted((root / layout.ENVIRONMENT).iterdir())]
    for source in found:
        if source in kept or source in sealed:
            continue
        sizes = _sizes(root / source)
        reason = "damaged" if source in damaged else "half-written"
        yield SetAside(
            source,
            layout.free_path(root, f"{layout.ASIDE}/{Path(source).name}"),
            reason,
            len(sizes),
            sum(sizes),
        )


def _sizes(path: Path) -> list[int]:
    files = (
        [path] if not path.is_dir() or path.is_symlink() else [p for p in path.rglob("*") if not p.is_dir()]
    )
    return [file.lstat().st_size for file in files]


def _move(root: Path, moves: tuple[SetAside, ...], journal: Journal, fs: FileSystem) -> None:
    """Move what the ledger has just named; what a crash leaves unmoved is found, and named, again."""
    try:
        for move in moves:
            fs.replace(root / move.source, root / move.target)
        if moves:
            for folder in (layout.ASIDE, layout.CELLS, layout.ENVIRONMENT):
                sync_folder(fs, root / folder)
    except OSError as error:
        raise journal.give_up(error, "moving half-written cells aside", root) from error
