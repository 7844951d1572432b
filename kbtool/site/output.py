"""The folder of the site: files written whole and only where their bytes change, and nothing left behind.

A file is written under another name and then renamed, so that a reader, or a build that comes after one
that was killed, finds the old or the new one. There is no wait for the disk: what a power cut loses is
noticed by size and time stamp and written again.
"""

# Tens of thousands of files a build: plain text paths take a third of the time that Path objects take.
# ruff: noqa: PTH101, PTH103, PTH105, PTH106, PTH108, PTH114, PTH208

import json
import os
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Final

from kbtool.errors import UsageError
from kbtool.site.products import Product, ready
from kbtool.site.state import Written
from kbtool.store.atomic import TEMPORARY_SUFFIX

__all__ = ["Folder", "Target"]

MANIFEST: Final = "manifest.json"
"""Lists every other file of the site with its size and hash."""
_EMPTY_MANIFEST: Final = b'{"format":1,"files":{}}\n'
_FILE_MODE: Final = 0o644
_FOLDER_MODE: Final = 0o755
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC


class Folder:
    """One output folder during one build."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self._made: set[str] = set()
        self._make_folder(self._root)
        self._claim()

    def _claim(self) -> None:
        """Mark an empty folder as the site's own.

        Raises:
            UsageError: The folder holds something else; a build removes whatever it did not make.
        """
        if not os.listdir(self._root):
            self.write(MANIFEST, _EMPTY_MANIFEST)
        elif not self._has_manifest():
            raise UsageError(
                f"{self._root} is not empty and holds no site of kbtool: a build removes every file that is not part"
                " of the site; give a new or an empty folder"
            )

    def _has_manifest(self) -> bool:
        try:
            manifest = json.loads(Path(self._root, MANIFEST).read_bytes())
        except (OSError, ValueError):
            return False
        return isinstance(manifest, dict) and manifest.keys() == {"format", "files"}

    def is_intact(self, path: str, known: Written) -> bool:
        """Return whether the file is there as it was written."""
        try:
            status = os.lstat(f"{self._root}/{path}")
        except OSError:
            return False
        return (status.st_size, status.st_mtime_ns) == (known.size, known.mtime_ns)

    def holds(self, path: str, data: bytes) -> bool:
        """Return whether the file has exactly these bytes already."""
        try:
            descriptor = os.open(f"{self._root}/{path}", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return False
        with os.fdopen(descriptor, "rb") as file:
            return os.fstat(descriptor).st_size == len(data) and file.read() == data

    def write(self, path: str, data: bytes) -> None:
        """Write a file of mode 0644, whatever the umask."""
        target = f"{self._root}/{path}"
        folder = target.rpartition("/")[0]
        self._make_folder(folder)
        temporary = f"{folder}/.{PurePosixPath(path).name}{TEMPORARY_SUFFIX}"
        descriptor = os.open(temporary, _NEW, _FILE_MODE)
        try:
            os.fchmod(descriptor, _FILE_MODE)
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
        finally:
            os.close(descriptor)
        os.replace(temporary, target)

    def record(self, path: str, key: str, data: bytes) -> Written:
        """Return what to remember of a file that now has these bytes."""
        status = os.lstat(f"{self._root}/{path}")
        return Written(key, sha256(data).hexdigest(), status.st_size, status.st_mtime_ns)

    def remove_all_but(self, kept: Iterable[str]) -> list[str]:
        """Remove every other file, leftovers of killed builds and empty folders included; return the files."""
        wanted = set(kept)
        removed = []
        for folder, names, files in os.walk(self._root, topdown=False):
            prefix = folder[len(self._root) + 1 :]
            for name in files:
                path = f"{prefix}/{name}" if prefix else name
                if path not in wanted:
                    os.unlink(f"{folder}/{name}")
                    removed.append(path)
            for name in names:
                inner = f"{folder}/{name}"
                if os.path.islink(inner):
                    os.unlink(inner)
                elif not os.listdir(inner):
                    os.rmdir(inner)
        return sorted(removed)

    def _make_folder(self, folder: str) -> None:
        if folder in self._made:
            return
        parent = folder.rpartition("/")[0]
        if parent and folder != self._root:
            self._make_folder(parent)
        os.makedirs(folder, exist_ok=True)
        os.chmod(folder, _FOLDER_MODE)
        self._made.add(folder)


class Target:
    """Brings one output folder from what the last build left there to what this one makes."""

    def __init__(self, folder: Folder, known: Mapping[str, Written]) -> None:
        self._folder = folder
        self._known = known
        self.kept: dict[str, Written] = {}
        """Every file of the site so far."""
        self.written: list[str] = []
        """Files whose bytes changed, or that were not there."""
        self.removed: list[str] = []

    def keep_all(self) -> bool:
        """Keep every file as the last build left it; False, and nothing is kept, where one is not so."""
        if not all(self._folder.is_intact(path, known) for path, known in self._known.items()):
            return False
        self.kept = dict(self._known)
        return True

    def keep_folder(self, folder: str, key: str) -> bool:
        """Keep the files below a folder if all of them are there and were made from this key."""
        files = {path: known for path, known in self._known.items() if path.startswith(folder)}
        if not files or not all(
            known.key == key and self._folder.is_intact(path, known) for path, known in files.items()
        ):
            return False
        self.kept.update(files)
        return True

    def bring(self, product: Product) -> None:
        """Make sure that the folder holds a file, and make its bytes only if its key is new."""
        path = product.path
        known = self._known.get(path)
        if known is not None and known.key == product.key and self._folder.is_intact(path, known):
            self.kept[path] = known
            return
        data = product.make()
        if not self._folder.holds(path, data):
            self._folder.write(path, data)
            self.written.append(path)
        self.kept[path] = self._folder.record(path, product.key, data)

    def finish(self) -> None:
        """Remove what is no longer part of the site, and write the manifest, last of all."""
        self.removed = self._folder.remove_all_but((*self.kept, MANIFEST))
        listed = {
            path: {"bytes": each.size, "sha256": each.sha256} for path, each in sorted(self.kept.items())
        }
        data = json.dumps({"format": 1, "files": listed}, indent=0, separators=(",", ":")).encode() + b"\n"
        self.bring(ready(MANIFEST, data))

    def changes(self) -> tuple[dict[str, Written], set[str]]:
        """Return what is to be remembered anew, and what is to be forgotten."""
        changed = {path: each for path, each in self.kept.items() if self._known.get(path) != each}
        return changed, self._known.keys() - self.kept.keys()
