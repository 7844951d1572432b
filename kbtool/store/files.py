"""The record files below a project root: which there are, where they may stand, and reading them safely.

Nothing but a regular file is ever opened. A file that is not a record is a finding, not an error,
so that one bad file never hides the others.
"""

import errno
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from kbtool.errors import UsageError
from kbtool.findings import Finding
from kbtool.store.atomic import TEMPORARY_SUFFIX, remove_leftovers, write_atomic
from kbtool.store.faults import FaultKind, FileFault
from kbtool.store.limits import MAX_BYTES
from kbtool.store.suggest import nearest

__all__ = [
    "FOLDERS",
    "RECORDS",
    "RecordFile",
    "discover",
    "is_group",
    "locate",
    "read",
    "remove_leftovers",
    "write_atomic",
]

RECORDS: Final = "records"
"""The folder of all records, below the project root."""
FOLDERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "benchmarks": "benchmark",
        "accelerators": "accelerator",
        "interconnects": "interconnect",
        "engines": "engine",
        "models": "model",
        "sources": "source",
        "gotchas": "gotcha",
        "reviews": "review",
        "withdrawn": "withdrawn",
    }
)
"""Folder below `records/` -> kind of its files."""
_ABOUT_RECORDS: Final = frozenset({"reviews", "withdrawn"})
"""Their files stand in the folder, and bear the name, of the record they are about."""
_SUFFIX: Final = ".yaml"
_ALLOWED_BESIDE: Final = frozenset({"LICENSE", "README.md"})
_FILE_NAME: Final = re.compile(r"[a-z0-9][a-z0-9.-]*\.yaml")
_FOLDER_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]*")


@dataclass(frozen=True, slots=True)
class RecordFile:
    """A file that holds one record, a review, or the note of a withdrawal."""

    path: Path
    relative: str
    """POSIX path from the project root, as in findings."""
    kind: str
    """Such as `benchmark`; `review` and `withdrawn` for files about records."""
    id: str
    """The file's name without its ending."""
    group: str
    """The folder between the kind's folder and the file; empty where there is none."""


def discover(root: Path) -> Iterator[RecordFile | Finding]:
    """Yield every record file below `root`, and a finding for whatever else is there, by path.

    Raises:
        UsageError: `root` holds no folder `records`.
    """
    records = root / RECORDS
    if records.is_symlink():
        yield _link().finding(RECORDS)
    elif records.is_dir():
        yield from _below(records, ())
    else:
        raise UsageError(f"{root} has no folder `{RECORDS}`; expected a project root: name one that has it")


def is_group(name: str) -> bool:
    """Return whether a folder inside a kind's folder may bear that name."""
    return _FOLDER_NAME.fullmatch(name) is not None


def locate(root: Path, path: Path) -> RecordFile | Finding | None:
    """Return the record file at `path`, or what is wrong with it; None for a README or a licence.

    Raises:
        UsageError: There is nothing at `path`, or it is not below `records` of `root`.
    """
    # Path.resolve() would follow the very links that are to be found.
    path, records = Path(os.path.abspath(path)), Path(os.path.abspath(root / RECORDS))  # noqa: PTH100
    is_folder = path.is_dir() and not path.is_symlink()
    if not path.is_relative_to(records) or is_folder or not os.path.lexists(path):
        raise UsageError(f"{path} is not a file below {records}; expected a record: name one")
    *folders, name = path.relative_to(records).parts
    for depth, folder in enumerate(folders):
        here = records.joinpath(*folders[: depth + 1])
        fault = _link() if here.is_symlink() else _folder_fault(tuple(folders[:depth]), folder)
        if fault is None and os.path.lexists(here / ".git"):
            fault = _repository()
        if fault is not None:
            return fault.finding(_shown(tuple(folders[: depth + 1])))
    return _file(path, tuple(folders), name, path.lstat().st_mode)


def read(file: RecordFile) -> bytes:
    """Return the bytes of a record file.

    Raises:
        FileFault: It is no regular file (any more), too large, or cannot be read. It is opened only
            if it is a regular file, and never through a link.
    """
    try:
        mode = file.path.lstat().st_mode
        if not stat.S_ISREG(mode):
            raise _link() if stat.S_ISLNK(mode) else _special()
        descriptor = os.open(file.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            return _content(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise _unreadable(error) from None


def _content(descriptor: int) -> bytes:
    """Return what an open file holds, if it is a regular one and not too large."""
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):  # replaced since it was looked at
        raise _special()
    data = b""
    while len(data) <= MAX_BYTES and (more := os.read(descriptor, MAX_BYTES + 1 - len(data))):
        data += more
    size = max(status.st_size, len(data))
    if size > MAX_BYTES:
        message = f"a file of {size:,} bytes; expected at most {MAX_BYTES:,}: split the record"
        raise FileFault(FaultKind.FILE_TOO_LARGE, message)
    return data


def _below(folder: Path, parts: tuple[str, ...]) -> Iterator[RecordFile | Finding]:
    """Yield what is in the folder that `parts` lead to from `records`."""
    try:
        with os.scandir(folder) as listing:
            entries = [(entry.name, entry.stat(follow_symlinks=False).st_mode) for entry in listing]
    except OSError as error:
        yield _unreadable(error).finding(_shown(parts))
        return
    if any(name == ".git" for name, _ in entries):
        yield _repository().finding(_shown(parts))
        return
    if not entries and len(parts) > 1:
        yield _empty().finding(_shown(parts))
    for name, mode in sorted(entries):
        if not stat.S_ISDIR(mode):
            found = _file(folder / name, parts, name, mode)
            if found is not None:
                yield found
        elif (fault := _folder_fault(parts, name)) is not None:
            yield fault.finding(_shown((*parts, name)))
        else:
            yield from _below(folder / name, (*parts, name))


def _file(path: Path, parts: tuple[str, ...], name: str, mode: int) -> RecordFile | Finding | None:
    """Return the record file `name` in the folder that `parts` lead to, or what is wrong with it."""
    fault = _file_fault(parts, name, mode)
    if fault is not None:
        return fault.finding(_shown((*parts, name)))
    if name in _ALLOWED_BESIDE:
        return None
    return RecordFile(
        path=path,
        relative="/".join((RECORDS, *parts, name)),
        kind=FOLDERS[parts[0]],
        id=name.removesuffix(_SUFFIX),
        group="/".join(parts[1:]),
    )


# --- What may stand where -----------------------------------------------------------------------


def _link() -> FileFault:
    message = "a symbolic link; expected a file or folder: replace it by what it points to"
    return FileFault(FaultKind.SYMBOLIC_LINK, message)


def _special() -> FileFault:
    return FileFault(FaultKind.SPECIAL_FILE, "a pipe, socket or device; expected a regular file: delete it")


def _repository() -> FileFault:
    message = "a git repository of its own; expected records of this one: delete its `.git`"
    return FileFault(FaultKind.NESTED_REPOSITORY, message)


def _empty() -> FileFault:
    message = "an empty folder, or a submodule that is not checked out; expected records: delete it"
    return FileFault(FaultKind.EMPTY_FOLDER, message)


def _folder_fault(parts: tuple[str, ...], name: str) -> FileFault | None:
    """Return why no folder `name` may stand where `parts` lead to from `records`."""
    if not parts or (len(parts) == 1 and parts[0] in _ABOUT_RECORDS):
        known = sorted(set(FOLDERS) - _ABOUT_RECORDS) if parts else sorted(FOLDERS)
        if name in known:
            return None
        near = nearest(name, known)
        remedy = f"did you mean `{near}`?" if near else f"expected one of {', '.join(known)}"
        return FileFault(
            FaultKind.MISPLACED_FILE, f"a folder that is no kind of record; {remedy}", suggestion=near
        )
    if len(parts) > 1 or parts[0] in _ABOUT_RECORDS:
        message = "a folder too deep; expected records in it to stand one folder higher: move them there"
        return FileFault(FaultKind.MISPLACED_FILE, message)
    if not _FOLDER_NAME.fullmatch(name):
        message = "a folder name with other characters than a-z, 0-9 and `-`; expected only those: rename it"
        return FileFault(FaultKind.UNSAFE_FILE_NAME, message)
    return None


def _file_fault(parts: tuple[str, ...], name: str, mode: int) -> FileFault | None:
    """Return why no file `name` of that mode may stand where `parts` lead to from `records`."""
    if stat.S_ISLNK(mode):
        return _link()
    if not stat.S_ISREG(mode):
        return _special()
    if name.endswith(TEMPORARY_SUFFIX):
        message = "the temporary file of a write that was interrupted; expected none: run `kbtool fmt`, or delete it"
        return FileFault(FaultKind.UNFINISHED_WRITE, message)
    if mode & 0o111:
        return FileFault(
            FaultKind.EXECUTABLE_FILE, "an executable file; expected mode 644: run `chmod 644` on it"
        )
    if name in _ALLOWED_BESIDE:
        return None
    return _name_fault(name) or _place_fault(parts)


def _name_fault(name: str) -> FileFault | None:
    """Return why a record file may not have that name."""
    ending = Path(name).suffix
    if ending.lower() in {".yaml", ".yml"} and ending != _SUFFIX:
        message = f"the ending `{ending}`; expected `{_SUFFIX}`: rename it"
        return FileFault(FaultKind.FOREIGN_FILE, message, suggestion=name.removesuffix(ending) + _SUFFIX)
    if ending != _SUFFIX:
        message = "no record; expected `.yaml` files, `README.md` or `LICENSE`: move it out of `records`, or delete it"
        return FileFault(FaultKind.FOREIGN_FILE, message)
    if not _FILE_NAME.fullmatch(name):
        message = "a file name with other characters than a-z, 0-9, `-` and `.`; expected the record's id: rename it"
        return FileFault(FaultKind.UNSAFE_FILE_NAME, message)
    return None


def _place_fault(parts: tuple[str, ...]) -> FileFault | None:
    """Return why a record file may not stand where `parts` lead to from `records`."""
    if not parts:
        message = (
            "a record outside the folder of its kind; expected it in one, such as `benchmarks`: move it there"
        )
        return FileFault(FaultKind.MISPLACED_FILE, message)
    if parts[0] in _ABOUT_RECORDS and len(parts) == 1:
        message = (
            f"a file straight in `{parts[0]}`; expected it in the folder of its record's kind: move it there"
        )
        return FileFault(FaultKind.MISPLACED_FILE, message)
    return None


def _unreadable(error: OSError) -> FileFault:
    """Return the fault of a file or folder that the system does not let us read."""
    if error.errno == errno.ELOOP:
        return _link()
    if error.errno == errno.ENOENT:
        message = "removed since it was listed; expected a file that stays while it is read: run it again"
        return FileFault(FaultKind.UNREADABLE_FILE, message)
    message = f"{error.strerror or 'no access'}; expected a readable file: correct its permissions"
    return FileFault(FaultKind.UNREADABLE_FILE, message)


def _shown(parts: tuple[str, ...]) -> str:
    """Return a path below the project root as printable text, whatever bytes its names are."""
    path = "/".join((RECORDS, *parts)).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in path)
