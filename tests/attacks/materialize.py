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
        shutil.copytree(case.folder / "records", project / "records", dirs_exist_ok=True)
    for entry in case.materialize:
        for number in range(1, entry.get("times", 1) + 1):
            _make(entry, project, number)


def _commit_base(before: Path, project: Path) -> None:
    """Make the base commit, then take away what the case does not keep."""
    shutil.copytree(before, project, dirs_exist_ok=True)
    identity = ("-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false")
    for arguments in (("init", "--quiet"), ("add", "--all"), (*identity, "commit", "--quiet", "--message=base")):
        subprocess.run(["git", *arguments], cwd=project, check=True)
    for path in before.rglob("*.yaml"):
        (project / path.relative_to(before)).unlink()


def _make(entry: Entry, project: Path, number: int) -> None:
    path = os.fsencode(project / entry["path"].replace("{n}", str(number)))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    kind = entry["kind"]
    if kind in {"record", "file"}:
        content = _record(entry, path, number) if kind == "record" else _joined(entry["parts"], number)
        with open(path, "wb") as file:
            file.write(content)
        if "mode" in entry:
            os.chmod(path, int(entry["mode"], 8))
    elif kind == "sparse":
        with open(path, "wb") as file:
            file.truncate(entry["size_bytes"])
    elif kind == "symlink":
        os.symlink(entry["to"], path)
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        os.mkdir(path)
    elif kind == "socket":
        _make_socket(path)
    else:
        raise ValueError(f"there is no kind {kind!r} of file to make")


def _make_socket(path: bytes) -> None:
    """Bind a socket through its folder: the whole path may be longer than an address can be."""
    folder, name = os.path.split(path)
    here = os.open(".", os.O_RDONLY)
    os.chdir(folder)
    try:
        with socket.socket(socket.AF_UNIX) as unix:
            unix.bind(name)
    finally:
        os.fchdir(here)
        os.close(here)


def _record(entry: Entry, path: bytes, number: int) -> bytes:
    """Return a template with an id of its own and the attack in it."""
    template = (BASE / "templates" / f"{entry.get('of', 'benchmark')}.yaml").read_bytes()
    stem = os.path.basename(path).partition(b".")[0]
    content = _replaced(template, b"id: ev-control", b"id: " + (entry["id"].encode() if "id" in entry else stem))
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
    if isinstance(part, str):
        return part.encode()
    if "hex" in part:
        return bytes.fromhex(part["hex"])
    if "code_points" in part:
        return "".join(chr(int(code, 16)) for code in part["code_points"].split()).encode()
    if "repeat" in part:
        return part["repeat"].encode() * int(part["times"])
    if "numbered" in part:
        return "".join(part["numbered"].replace("{n}", str(n)) for n in range(1, part["times"] + 1)).encode()
    if "number" in part:
        return str(number + _STEPS[part["number"]]).encode()
    raise ValueError(f"{part!r} is no part of a file")
