"""The files of a project and what they hold, as digests: read only where the cache does not know."""

from hashlib import blake2b
from pathlib import Path

from kbtool.findings import Finding
from kbtool.lint.cache import Cache, Stamp, stamp_of
from kbtool.store.files import RecordFile, discover

__all__ = ["Tree"]


class Tree:
    """The files of a project, at the time of one run."""

    def __init__(self, root: Path, cache: Cache) -> None:
        listed = list(discover(root))
        self.files: dict[str, RecordFile] = {
            each.relative: each for each in listed if isinstance(each, RecordFile)
        }
        """By path relative to the root."""
        self.faults: tuple[Finding, ...] = tuple(each for each in listed if isinstance(each, Finding))
        """What is there and should not be."""
        self.by_ref: dict[str, RecordFile] = {_ref(each): each for each in reversed(self.files.values())}
        """By what a file is called among records; of two files with one name the first."""
        self._digests: dict[str, str] = {}
        self._stamps: dict[str, Stamp] = {}
        stored = cache.digests()
        self._gone = stored.keys() - self.files.keys()
        for path, file in self.files.items():
            try:
                stamp, is_settled = stamp_of(file.path)
            except FileNotFoundError:
                continue  # removed since it was listed: reading it says so
            old_stamp, digest = stored.get(path, ("", ""))
            if stamp == old_stamp:
                self._digests[path] = digest
            elif is_settled:
                self._stamps[path] = stamp

    def digest(self, path: str) -> str:
        """Return the digest of a file's content; empty where it cannot be read, which is a finding later."""
        if path not in self._digests:
            self._digests[path] = _read_digest(self.files[path])
        return self._digests[path]

    def digest_of(self, ref: str) -> str:
        """Return the digest of the file of a record; empty where there is none."""
        file = self.by_ref.get(ref)
        return self.digest(file.relative) if file is not None else ""

    def note(self, path: str, digest: str) -> None:
        """Take over the digest of a file that was read for another reason."""
        self._digests[path] = digest

    def key(self, *about: str) -> str:
        """Return a digest of all files and of what else a report depends on."""
        whole = blake2b(digest_size=16)
        for path in self.files:
            whole.update(f"{path}\0{self.digest(path)}\0".encode())
        for fault in self.faults:
            whole.update(repr(fault).encode())
        whole.update("\0".join(about).encode())
        return whole.hexdigest()

    def save(self, cache: Cache) -> None:
        """Remember what was read."""
        fresh = ((path, stamp, self._digests.get(path, "")) for path, stamp in self._stamps.items())
        cache.store_digests(each for each in fresh if each[2])
        cache.forget(self._gone)


def _read_digest(file: RecordFile) -> str:
    from kbtool.store.faults import FileFault
    from kbtool.store.files import read

    try:
        return blake2b(read(file), digest_size=16).hexdigest()
    except FileFault:
        return ""


def _ref(file: RecordFile) -> str:
    """Return what a file is called among records; `kbtool.store.read.ref_of` without the import of models."""
    if file.kind in {"review", "withdrawn"}:
        return f"{'reviews' if file.kind == 'review' else 'withdrawn'}/{file.group}/{file.id}"
    return f"{file.kind}s/{file.id}"
