"""The bytes of a ledger: how a line is made, and what can be believed of the lines that are found.

A line is one JSON object::

    {"sha256":"<64 digits>","seq":7,"prev":"<64 digits>","kind":"round_done","wall_ns":...,"data":{...}}

`sha256` is taken over the raw bytes from `"seq"` to the closing brace, so that not even a change which
means the same in JSON goes unseen, and `prev` is the `sha256` of the line before, so that no line can be
left out, moved or put in.
"""

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from pydantic import ValidationError

from kbtool.runner.folder.entries import Entry, parse, plain
from kbtool.runner.folder.errors import DamagedError

__all__ = ["GENESIS", "MAX_LINE_BYTES", "NO_LINES", "Clock", "Line", "Scan", "Stamp", "encode_line", "scan"]

GENESIS: Final = "0" * 64
"""What the first line names as the hash of the line before."""
MAX_LINE_BYTES: Final = 1 << 20

_PREFIX: Final = b'{"sha256":"'
_HASH_END: Final = len(_PREFIX) + 64
_BODY: Final = _HASH_END + len(b'",')

T = TypeVar("T", bound=Entry)


@dataclass(frozen=True, slots=True)
class Stamp:
    """One moment on three clocks, in ns: where they drift apart, one was set or the host slept."""

    wall_ns: int
    """A label; never the basis of a duration."""
    mono_ns: int
    boot_ns: int
    """Goes on while the host is suspended, which `mono_ns` does not."""


class Clock:
    """Where the stamps of the ledger come from; a test gives its own."""

    def stamp(self) -> Stamp:
        """Return the present moment."""
        return Stamp(time.time_ns(), time.monotonic_ns(), time.clock_gettime_ns(time.CLOCK_BOOTTIME))


@dataclass(frozen=True, slots=True)
class Line:
    """One whole and valid line of a ledger."""

    seq: int
    """Place in the ledger, from 1, without gaps."""
    kind: str
    stamp: Stamp
    data: Mapping[str, Any]
    sha256: str
    prev: str

    def read(self, entry: type[T]) -> T:
        """Return the entry, checked against its class.

        Raises:
            DamagedError: The line is of another kind, or its data is not what the class has.
        """
        if self.kind != entry.kind:
            raise DamagedError(
                f"ledger line {self.seq} is a {self.kind!r} entry, and a {entry.kind!r} entry was expected"
            )
        try:
            return parse(entry, json.dumps(self.data))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(part) for part in first["loc"])
            raise DamagedError(
                f"ledger line {self.seq} ({self.kind}): {place}: {first['msg']}: "
                "the run was written by another version of kbtool, or by another program"
            ) from None


@dataclass(frozen=True, slots=True)
class Scan:
    """What the bytes of a ledger say."""

    lines: tuple[Line, ...]
    """The longest prefix of valid lines."""
    good_bytes: int
    """Length of that prefix."""
    tail: bytes
    """The rest: torn by a crash, or damaged."""
    n_intact_after: int
    """Lines in the rest that are valid by themselves: then it is damage, since a crash tears the end alone."""


NO_LINES: Final = Scan((), 0, b"", 0)
"""A ledger that has only been made."""


def encode_line(entry: Entry, *, seq: int, prev: str, stamp: Stamp) -> tuple[bytes, str]:
    """Return the bytes of a line, newline included, and its hash.

    Raises:
        ValueError: The entry holds a NaN or an infinity, or is longer than a line may be.
    """
    content = {
        "seq": seq,
        "prev": prev,
        "kind": entry.kind,
        "wall_ns": stamp.wall_ns,
        "mono_ns": stamp.mono_ns,
        "boot_ns": stamp.boot_ns,
        "data": plain(entry),
    }
    body = json.dumps(content, separators=(",", ":"), allow_nan=False).encode()[1:]
    digest = hashlib.sha256(body).hexdigest()
    line = _PREFIX + digest.encode() + b'",' + body + b"\n"
    if len(line) > MAX_LINE_BYTES:
        raise ValueError(
            f"an entry {entry.kind!r} has {len(line)} bytes, and a line of the ledger at most {MAX_LINE_BYTES}: "
            "write it to a file of its own and name that"
        )
    return line, digest


def scan(data: bytes) -> Scan:
    """Return what can be believed of a ledger's bytes."""
    lines: list[Line] = []
    prev, position = GENESIS, 0
    while (end := data.find(b"\n", position)) >= 0:
        line = _decode(data[position:end])
        if line is None or line.prev != prev or line.seq != len(lines) + 1:
            break
        lines.append(line)
        prev, position = line.sha256, end + 1
    tail = data[position:]
    whole = tail.split(b"\n")[:-1]
    return Scan(tuple(lines), position, tail, sum(_decode(raw) is not None for raw in whole))


def _decode(raw: bytes) -> Line | None:
    """Return the line in these bytes, newline excluded, or None where its own hash does not confirm it."""
    if not raw.startswith(_PREFIX) or raw[_HASH_END:_BODY] != b'",' or len(raw) >= MAX_LINE_BYTES:
        return None
    digest = hashlib.sha256(raw[_BODY:]).hexdigest()
    if raw[len(_PREFIX) : _HASH_END] != digest.encode():
        return None
    try:
        found = json.loads(raw, parse_constant=_refuse_constant)
        return _line(found) if isinstance(found, dict) else None
    except (ValueError, RecursionError):
        return None


def _line(found: dict[str, Any]) -> Line:
    """Return the line in a JSON object, or raise ValueError where it is not one of ours."""
    numbers = [found.get(name) for name in ("seq", "wall_ns", "mono_ns", "boot_ns")]
    texts = [found.get(name) for name in ("sha256", "kind", "prev")]
    data = found.get("data")
    whole = all(type(n) is int for n in numbers) and all(type(t) is str for t in texts)
    if len(found) != 8 or not whole or not isinstance(data, dict):
        raise ValueError("not a line of a ledger")
    stamp = Stamp(found["wall_ns"], found["mono_ns"], found["boot_ns"])
    return Line(found["seq"], found["kind"], stamp, data, found["sha256"], found["prev"])


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no number")
