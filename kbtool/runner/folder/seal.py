"""Seals: which bytes a run is made of, and which of them are no longer so.

A `FileSeal` names path, size and SHA-256 of a file. The ledger holds those of each cell from the moment it
is complete; `manifest.json`, written last, holds those of everything, the ledger included. A signature over
the manifest is one over the run. Seals show that bytes are unchanged, never that a number is true.
"""

import errno
import hashlib
import json
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import ClassVar, Final

from pydantic import ConfigDict, ValidationError

from kbtool.runner.folder import layout
from kbtool.runner.folder.entries import FileSeal, RunStarted, parse, plain
from kbtool.runner.folder.errors import DamagedError
from kbtool.runner.folder.fs import FileSystem, read_regular, write_whole

__all__ = [
    "MANIFEST_VERSION",
    "Damage",
    "DamageKind",
    "Manifest",
    "check_seal",
    "decode_manifest",
    "encode_manifest",
    "files_below",
    "read_sealed",
    "seal_bytes",
    "seal_file",
    "write_manifest",
]

MANIFEST_VERSION: Final = 1
_CHUNK_BYTES: Final = 1 << 20
_ODD_FILE: Final = frozenset({None, errno.ELOOP, errno.ENXIO})
"""What opening a link, a socket or another file that is none says; None comes from `seal_file`."""


class DamageKind(StrEnum):
    """What is wrong with a file of a run."""

    CHANGED = "changed"
    MISSING = "missing"
    EXTRA = "extra"
    """A file that no seal names, where everything must be sealed."""
    TORN = "torn"
    """The ledger has bytes after its last whole line, as a crash leaves them."""
    BROKEN = "broken"
    """The ledger or the manifest contradicts itself."""


@dataclass(frozen=True, slots=True)
class Damage:
    """One thing that is wrong with a run folder."""

    kind: DamageKind
    path: str
    """Relative to the run folder."""
    message: str
    """What was found, what was expected, what to do."""

    def __str__(self) -> str:
        """Return path, kind and message."""
        return f"{self.path}: {self.kind}: {self.message}"


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything that a finished run is made of."""

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")

    manifest_version: int
    run_id: str
    runner_version: str
    ledger_head: str
    """SHA-256 of the ledger's last line, by which it is chained to all others."""
    files: tuple[FileSeal, ...]
    """Sorted by path."""


def seal_bytes(path: str, data: bytes) -> FileSeal:
    """Return the seal of a file from its content."""
    return FileSeal(path, len(data), hashlib.sha256(data).hexdigest())


def seal_file(root: Path, path: str, fs: FileSystem) -> FileSeal:
    """Return the seal of a file as it is on the disk.

    Raises:
        OSError: It is missing, a link, no regular file, or the disk failed.
    """
    descriptor = fs.open(root / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{root / path} is no regular file")
        digest, size_bytes = hashlib.sha256(), 0
        while part := fs.read(descriptor, _CHUNK_BYTES):
            digest.update(part)
            size_bytes += len(part)
    finally:
        fs.close(descriptor)
    return FileSeal(path, size_bytes, digest.hexdigest())


def check_seal(root: Path, seal: FileSeal, fs: FileSystem) -> Damage | None:
    """Return what is wrong with a sealed file, or None.

    Raises:
        OSError: The disk failed: nobody knows then what is in the file.
    """
    if not layout.is_safe_path(seal.path):
        return Damage(
            DamageKind.BROKEN, repr(seal.path), "a seal names a path outside the run: do not trust this run"
        )
    if _through_link(root, seal.path):
        return Damage(
            DamageKind.CHANGED, seal.path, "leads through a link: replace the link by the file itself"
        )
    try:
        found = seal_file(root, seal.path, fs)
    except (FileNotFoundError, NotADirectoryError):
        return Damage(
            DamageKind.MISSING, seal.path, f"{seal.size_bytes} bytes were sealed: restore it from a copy"
        )
    except OSError as error:
        if error.errno not in _ODD_FILE:
            raise
        return Damage(DamageKind.CHANGED, seal.path, f"is no regular file ({error}): restore it from a copy")
    if found == seal:
        return None
    return Damage(
        DamageKind.CHANGED,
        seal.path,
        f"has {found.size_bytes} bytes with SHA-256 {found.sha256[:12]}..., and {seal.size_bytes} bytes with "
        f"{seal.sha256[:12]}... were sealed: restore it from a copy",
    )


def read_sealed(root: Path, seal: FileSeal, fs: FileSystem) -> bytes:
    """Return the content of a sealed file.

    Raises:
        DamagedError: It is not what was sealed.
    """
    place = root / seal.path if layout.is_safe_path(seal.path) else root
    if place == root or _through_link(root, seal.path):
        raise DamagedError(
            f"{root}: a seal names {seal.path!r}, which leads out of the run: do not trust this run"
        )
    try:
        data = read_regular(fs, place, max_bytes=seal.size_bytes)
    except OSError as error:
        raise DamagedError(
            f"{place}: cannot be read as it was sealed: {error}. Restore it from a copy"
        ) from error
    if seal_bytes(seal.path, data) != seal:
        raise DamagedError(
            f"{place}: is not what was sealed ({len(data)} of {seal.size_bytes} bytes, SHA-256 differs). "
            "Restore it from a copy"
        )
    return data


def _through_link(root: Path, path: str) -> bool:
    """Return whether a folder on the way to the file is a link; the file itself is opened without following."""
    folders = path.split("/")[:-1]
    return any((root / "/".join(folders[:depth])).is_symlink() for depth in range(1, len(folders) + 1))


def files_below(root: Path, folder: str = "") -> Iterator[str]:
    """Yield the paths of all sealable files below a folder, links and odd files included, sorted."""
    found: list[Path] = []
    for parent, folders, names in os.walk(root / folder):
        links = [name for name in folders if (Path(parent) / name).is_symlink()]
        found.extend((Path(parent) / name).relative_to(root) for name in (*names, *links))
    yield from sorted(path.as_posix() for path in found if layout.is_sealable(path))


def encode_manifest(run_id: str, runner_version: str, ledger_head: str, files: Iterable[FileSeal]) -> bytes:
    """Return the bytes of a manifest: equal runs give equal bytes."""
    ordered = tuple(sorted(files, key=lambda seal: seal.path))
    manifest = Manifest(MANIFEST_VERSION, run_id, runner_version, ledger_head, ordered)
    return (json.dumps(plain(manifest), indent=1, sort_keys=True) + "\n").encode()


def write_manifest(root: Path, started: RunStarted, ledger_head: str, fs: FileSystem) -> None:
    """Free the reserve, and seal every file of a run whose ledger is closed.

    Raises:
        OSError: A file cannot be read, or the disk did not take the manifest.
    """
    if (root / layout.RESERVE).exists():
        fs.remove(root / layout.RESERVE)
    files = [seal_file(root, path, fs) for path in files_below(root)]
    data = encode_manifest(started.run_id, started.runner_version, ledger_head, files)
    write_whole(fs, root / layout.MANIFEST, data)


def decode_manifest(data: bytes, place: Path) -> Manifest:
    """Return a manifest from its bytes.

    Raises:
        DamagedError: It is no manifest, of an unknown version, or not written as `encode_manifest` writes it.
    """
    try:
        manifest = parse(Manifest, data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise DamagedError(f"{place}: is no manifest: {first['msg']}. Restore it from a copy") from None
    if manifest.manifest_version != MANIFEST_VERSION:
        raise DamagedError(
            f"{place}: version {manifest.manifest_version} of the manifest, and this kbtool reads {MANIFEST_VERSION}: "
            "read it with the kbtool that wrote it, or a later one"
        )
    again = encode_manifest(manifest.run_id, manifest.runner_version, manifest.ledger_head, manifest.files)
    if again != data:
        raise DamagedError(
            f"{place}: is not written as kbtool writes it: it was changed. Restore it from a copy"
        )
    return manifest
