"""Whether a run is still what was sealed: every file read, every hash taken again."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from kbtool.runner.folder import layout
from kbtool.runner.folder.entries import FileSeal
from kbtool.runner.folder.errors import DamagedError
from kbtool.runner.folder.fs import FileSystem, read_regular
from kbtool.runner.folder.ledger import Scan
from kbtool.runner.folder.options import MAX_LEDGER_BYTES, guarded, read_run
from kbtool.runner.folder.seal import Damage, DamageKind, Manifest, check_seal, decode_manifest, files_below
from kbtool.runner.folder.state import RunState

__all__ = ["verify"]

_NO_MANIFEST: Final = Damage(
    DamageKind.MISSING,
    layout.MANIFEST,
    "the ledger says that the run is complete: restore it from a copy; if the runner was killed as it wrote it, "
    "`kbtool bench resume` writes it",
)


def verify(root: Path, fs: FileSystem | None = None) -> tuple[Damage, ...]:
    """Return everything in a run folder that is not as it was sealed; nothing is changed.

    Of a run that is not finished, sealed cells are checked, and a half-written one is no damage. Of a
    finished one every file is, except for what is in `derived/`.

    Raises:
        NotARunError: There is no run, or one of an unknown version.
        StorageError: The disk failed while files were read.
    """
    with guarded(root, "reading sealed files"):
        return _damages(root, fs or FileSystem())


def _damages(root: Path, fs: FileSystem) -> tuple[Damage, ...]:
    try:
        ledger, state = read_run(root, fs)
    except DamagedError as error:
        return (Damage(DamageKind.BROKEN, layout.LEDGER, str(error)),)
    found = list(_ledger_damages(ledger))
    if (root / layout.MANIFEST).exists():
        found.extend(_manifest_damages(root, ledger, state, fs))
    elif state.finished is not None:
        found.append(_NO_MANIFEST)
        found.extend(_seal_damages(root, state.seals, fs))
        found.extend(_extra_in_finished(root, state))
    else:
        found.extend(_seal_damages(root, state.seals, fs))
        found.extend(_extra_in_sealed_cells(root, state))
    return tuple(sorted(set(found), key=lambda damage: (damage.path, damage.kind, damage.message)))


def _ledger_damages(ledger: Scan) -> Iterator[Damage]:
    line = len(ledger.lines) + 1
    if ledger.n_intact_after:
        message = (
            f"line {line} is damaged, and {ledger.n_intact_after} later ones are not: restore it from a copy"
        )
        yield Damage(DamageKind.BROKEN, layout.LEDGER, message)
    elif ledger.tail:
        message = f"{len(ledger.tail)} bytes from line {line} on are no whole line: resume the run to set them aside"
        yield Damage(DamageKind.TORN, layout.LEDGER, message)


def _seal_damages(root: Path, seals: tuple[FileSeal, ...], fs: FileSystem) -> Iterator[Damage]:
    for seal in seals:
        damage = check_seal(root, seal, fs)
        if damage is not None:
            yield damage


def _extra_in_sealed_cells(root: Path, state: RunState) -> Iterator[Damage]:
    sealed = {seal.path for seal in state.seals}
    for folder in sorted(state.kept_folders):
        if layout.is_safe_path(folder):
            yield from (_extra(path) for path in files_below(root, folder) if path not in sealed)


def _extra_in_finished(root: Path, state: RunState) -> Iterator[Damage]:
    """Yield what no entry of the ledger seals, but for what a runner leaves unsealed itself."""
    sealed = {layout.LEDGER, *(seal.path for seal in state.seals)}
    left = (f"{layout.ASIDE}/", f"{layout.LEDGER}.torn.")
    yield from (
        _extra(path) for path in files_below(root) if path not in sealed and not path.startswith(left)
    )


def _extra(path: str) -> Damage:
    return Damage(DamageKind.EXTRA, path, "no seal names it: it was put there later; remove it")


def _manifest_damages(root: Path, ledger: Scan, state: RunState, fs: FileSystem) -> Iterator[Damage]:
    path = root / layout.MANIFEST
    try:
        manifest = decode_manifest(read_regular(fs, path, max_bytes=MAX_LEDGER_BYTES), path)
    except (DamagedError, OSError) as error:
        yield Damage(DamageKind.BROKEN, layout.MANIFEST, str(error))
        yield from _seal_damages(root, state.seals, fs)
        return
    yield from _contradictions(manifest, ledger, state)
    yield from _seal_damages(root, manifest.files, fs)
    named = {seal.path for seal in manifest.files}
    yield from (_extra(path) for path in files_below(root) if path not in named)


def _contradictions(manifest: Manifest, ledger: Scan, state: RunState) -> Iterator[Damage]:
    """Yield where manifest and ledger do not agree: one of them was changed."""
    started = state.started
    pairs = {
        "run_id": (manifest.run_id, started.run_id),
        "runner_version": (manifest.runner_version, started.runner_version),
        "ledger_head": (manifest.ledger_head, ledger.lines[-1].sha256),
    }
    for name, (found, expected) in pairs.items():
        if found != expected:
            message = f"{name} is {found!r}, and the ledger says {expected!r}: restore both from a copy"
            yield Damage(DamageKind.BROKEN, layout.MANIFEST, message)
    if state.finished is None:
        message = "there is a manifest, and the ledger finishes no run: restore both from a copy"
        yield Damage(DamageKind.BROKEN, layout.MANIFEST, message)
    listed = {seal.path: seal for seal in manifest.files}
    for seal in state.seals:
        if listed.get(seal.path) != seal:
            message = f"{seal.path} is not listed as the ledger seals it: restore both from a copy"
            yield Damage(DamageKind.BROKEN, layout.MANIFEST, message)
