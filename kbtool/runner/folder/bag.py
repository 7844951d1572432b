"""A finished run as one file.

The archive is a plain tar: Python 3.11 has no zstd, gzip's bytes differ between builds of zlib, and what is
large in a run, the raw tables, is compressed already. Names are sorted, owners, modes and times fixed: equal
runs give equal bytes, anywhere. Unpacked anywhere, it is a run folder that `verify` accepts.
"""

import io
import os
import tarfile
from pathlib import Path
from typing import Final

from kbtool.runner.folder import layout
from kbtool.runner.folder.entries import FileSeal
from kbtool.runner.folder.errors import DamagedError, FolderError
from kbtool.runner.folder.fs import TEMPORARY_SUFFIX, FileSystem, read_regular, sync_folder
from kbtool.runner.folder.options import MAX_LEDGER_BYTES, guarded
from kbtool.runner.folder.seal import decode_manifest, read_sealed, seal_file
from kbtool.runner.folder.verify import verify

__all__ = ["pack"]

_MODE: Final = 0o644
_TOP: Final = "run"
"""Folder in the archive that holds everything."""


def pack(root: Path, target: Path, fs: FileSystem | None = None) -> FileSeal:
    """Write a finished run to one deterministic `.tar`, and return its name, size and SHA-256.

    Args:
        root: The run folder.
        target: The archive; it must not exist.
        fs: The disk.

    Raises:
        FolderError: The run is not finished, or the archive exists.
        DamagedError: The run is not what was sealed.
        StorageError: The disk did not take the archive; nothing is left of it.
    """
    fs = fs or FileSystem()
    path = root / layout.MANIFEST
    if not path.is_file():
        raise FolderError(f"{root}: has no {layout.MANIFEST}: finish the run first")
    if target.exists():
        raise FolderError(f"{target} exists: give another name, or remove it")
    damages = verify(root, fs)
    if damages:
        raise DamagedError(f"{root}: is not what was sealed:\n  " + "\n  ".join(map(str, damages[:20])))
    temporary = target.with_name(f".{target.name}{TEMPORARY_SUFFIX}")
    with guarded(target, "writing the archive"):
        try:
            _write(root, temporary, fs)
            fs.replace(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        sync_folder(fs, target.parent)
        return seal_file(target.parent, target.name, fs)


def _write(root: Path, archive: Path, fs: FileSystem) -> None:
    manifest = read_regular(fs, root / layout.MANIFEST, max_bytes=MAX_LEDGER_BYTES)
    seals = decode_manifest(manifest, root / layout.MANIFEST).files
    descriptor = fs.open(archive, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW)
    with (
        os.fdopen(descriptor, "wb") as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        # The name of the folder on this box is nobody's business, and would make equal runs differ.
        _add(tar, f"{_TOP}/{layout.MANIFEST}", manifest)
        for seal in seals:
            _add(tar, f"{_TOP}/{seal.path}", read_sealed(root, seal, fs))
        tar.close()
        stream.flush()
        fs.sync(stream.fileno())


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(data)
    member.mode = _MODE
    tar.addfile(member, io.BytesIO(data))
