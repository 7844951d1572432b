"""Lay a case out as a small project: the base records, the stored files, and what no repository can store.

A `materialize` entry of a `case.yaml` has a `path`, a `kind`, and what that kind needs:

=========  =======================================================================================
kind       what is made
=========  =======================================================================================
record     a template (`of`: `benchmark` or `source`), its id being the file's stem or `id`;
           `replace` lists texts to `find`, each once, and the parts to `put` for them; `append` adds parts at the end
file       `parts` alone
sparse     a file of `size_bytes` that takes no room
symlink    a link to `to`
fifo, socket, folder
=========  =======================================================================================

Any of them may have `times`: the path then holds `{n}`, which counts from 1. Records may have an
`encoding` (`crlf`, or one that Python knows), a `prefix_hex` and a `mode`.

A part is text, or a mapping: `hex` (bytes), `code_points` (hexadecimal, by blanks), `repeat` with
`times`, `numbered` (text with `{n}`) with `times`, `number` (`this`, `before` or `next`: the number of this file or a neighbour).
"""

import contextlib
import os
import shutil
import socket
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from tests.attacks.case import BASE, Case

__all__ = ["lay_out"]

_STEPS: Final = {"before": -1, "this": 0, "next": 1}

Entry = Mapping[str, Any]
Part = str | Mapping[str, Any]


def lay_out(case: Case, project: Path) -> None:
    """Make `project` what the case describes."""
    shutil.copytree(BASE / "records", project / "records", dirs_exist_ok=True)
    if case.before is not None:
        _commit_base(case.before, project)
    if (case.folder / "records").is_dir():
        # With new times: git takes a file of old size and time for the old file.
        shutil.copytree(
            case.folder / "records", project / "records", copy_function=shutil.copyfile, dirs_exist_ok=True
        )
    for entry in case.materialize:
        for number in range(1, entry.get("times", 1) + 1):
            _make(entry, project, number)


def _commit_base(before: Path, project: Path) -> None:
    """Make the base commit, then take away what the case does not keep."""
    shutil.copytree(before, project, dirs_exist_ok=True)
    identity = ("-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false")
    for arguments in (
        ("init", "--quiet"),
        ("add", "--all"),
        (*identity, "commit", "--quiet", "--message=base"),
    ):
        subprocess.run(["git", *arguments], cwd=project, check=True)
    for path in before.rglob("*.yaml"):
        (project / path.relative_to(before)).unlink()


def _make(entry: Entry, project: Path, number: int) -> None:
    path = project / entry["path"].replace("{n}", str(number))
    path.parent.mkdir(parents=True, exist_ok=True)
    kind = entry["kind"]
    if kind == "record":
        path.write_bytes(_record(entry, path, number))
    elif kind == "file":
        path.write_bytes(_joined(entry["parts"], number))
    elif kind == "sparse":
        with path.open("wb") as file:
            file.truncate(entry["size_bytes"])
    elif kind == "symlink":
        path.symlink_to(entry["to"])
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "socket":
        _make_socket(path)
    else:
        raise ValueError(f"there is no kind {kind!r} of file to make")
    if "mode" in entry:
        path.chmod(int(entry["mode"], 8))


def _make_socket(path: Path) -> None:
    """Bind a socket from its folder: the whole path may be longer than an address can be."""
    with contextlib.chdir(path.parent), socket.socket(socket.AF_UNIX) as unix:
        unix.bind(path.name)


def _record(entry: Entry, path: Path, number: int) -> bytes:
    """Return a template with an id of its own and the attack in it."""
    template = (BASE / "templates" / f"{entry.get('of', 'benchmark')}.yaml").read_bytes()
    record_id = entry.get("id", path.name.partition(".")[0])
    content = _replaced(template, b"id: ev-control", b"id: " + record_id.encode())
    for change in entry.get("replace", ()):
        content = _replaced(content, change["find"].encode(), _joined(change["put"], number))
    content += _joined(entry.get("append", ()), number)
    encoding = entry.get("encoding")
    if encoding == "crlf":
        content = content.replace(b"\n", b"\r\n")
    elif encoding is not None:
        content = content.decode().encode(encoding)
    return bytes.fromhex(entry.get("prefix_hex", "")) + content


def _replaced(content: bytes, find: bytes, put: bytes) -> bytes:
    if content.count(find) != 1:
        raise ValueError(f"{find!r} occurs {content.count(find)} times in the template")
    return content.replace(find, put)


def _joined(parts: Iterable[Part], number: int) -> bytes:
    return b"".join(_bytes_of(part, number) for part in parts)


def _bytes_of(part: Part, number: int) -> bytes:
    match part:
        case str(text):
            return text.encode()
        case {"hex": str(digits)}:
            return bytes.fromhex(digits)
        case {"code_points": str(codes)}:
            return "".join(chr(int(code, 16)) for code in codes.split()).encode()
        case {"repeat": str(text), "times": int(times)}:
            return text.encode() * times
        case {"numbered": str(text), "times": int(times)}:
            return "".join(text.replace("{n}", str(n)) for n in range(1, times + 1)).encode()
        case {"number": str(which)}:
            return str(number + _STEPS[which]).encode()
    raise ValueError(f"{part!r} is no part of a file")
