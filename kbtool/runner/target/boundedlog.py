"""A log of bounded size that holds no secret: what a program prints is cleaned before its first byte is written.

The beginning is kept, where an engine says how it is set up, and the end, where it says why it died.

The keeper imports this module, and starts in a few milliseconds: the standard library only.
"""

import os
from collections import deque
from pathlib import Path
from typing import BinaryIO, Final, cast

from kbtool.runner.target.secrets import Secrets

__all__ = ["BoundedLog", "read_tail"]

LINE_BYTES: Final = 64 * 1024
"""A line that is longer is written in parts."""
TAIL_BYTES: Final = 8 * 1024
_MOVED: Final = b"... the log is at its limit; the end is in the file beside it, .tail.log\n"


class BoundedLog:
    """Writes `NAME.log`, then, past half of the limit, `NAME.tail.log` in turn with `NAME.tail.1.log`."""

    def __init__(self, path: Path, secrets: Secrets, limit_bytes: int) -> None:
        self._path = path
        self._secrets = secrets
        self._limit_bytes = limit_bytes
        self._held = b""
        self._file: BinaryIO | None = _open_new(path)
        self._room_bytes = limit_bytes // 2
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self.lost: str | None = None
        """Why writing stopped, such as a full disk; reading what the program prints goes on."""

    def feed(self, data: bytes) -> None:
        """Take what the program printed; whole lines are written, the rest is kept for the next call."""
        self._held += data
        end = self._held.rfind(b"\n") + 1
        if end:
            self._write(self._secrets.redact_bytes(self._held[:end]))
            self._held = self._held[end:]
        if len(self._held) > LINE_BYTES:
            # The end may be the beginning of a secret: it waits for what follows.
            clean = self._secrets.redact_bytes(self._held)
            keep = max(1, self._secrets.longest_bytes, 512)
            self._write(clean[:-keep])
            self._held = clean[-keep:]

    def tail(self) -> str:
        """Return the last of what was printed, cleaned."""
        return b"".join(self._tail)[-TAIL_BYTES:].decode("utf-8", "replace")

    def close(self) -> None:
        """Write what is left."""
        if self._held:
            self._write(self._secrets.redact_bytes(self._held))
            self._held = b""
        self._drop()

    def _write(self, data: bytes) -> None:
        if not data:
            return
        self._tail.append(data)
        self._tail_bytes += len(data)
        while self._tail_bytes - len(self._tail[0]) >= TAIL_BYTES:
            self._tail_bytes -= len(self._tail.popleft())
        try:
            while data and self._file is not None:
                part, data = data[: self._room_bytes], data[self._room_bytes :]
                _put(self._file, part)
                self._room_bytes -= len(part)
                if self._room_bytes <= 0:
                    self._turn(self._file)
        except OSError as error:
            # The engine would stop at a full pipe: what it prints is read on, and the loss is reported.
            self.lost = str(error)
            self._drop()

    def _drop(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _turn(self, full: BinaryIO) -> None:
        """Go on in the next file."""
        tail = self._path.with_suffix(".tail.log")
        if full.name == str(self._path):
            _put(full, b"\n" + _MOVED)
        else:
            tail.replace(self._path.with_suffix(".tail.1.log"))
        self._drop()
        self._file = _open_new(tail)
        self._room_bytes = self._limit_bytes // 4


def _put(file: BinaryIO, data: bytes) -> None:
    """Write all of it: a full disk shows as a short write first, and as an error with the next one."""
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]


def _open_new(path: Path) -> BinaryIO:
    """Open a file for writing, emptied, that only we can read and that is no link to elsewhere."""

    def opener(name: str, flags: int) -> int:
        return os.open(name, flags | os.O_NOFOLLOW, 0o600)

    return cast("BinaryIO", open(path, "wb", buffering=0, opener=opener))


def read_tail(path: Path, size_bytes: int = TAIL_BYTES) -> str:
    """Return the end of a log that a `BoundedLog` writes, at most so many bytes; empty where there is none."""
    parts: list[bytes] = []
    missing = size_bytes
    for each in (path.with_suffix(".tail.log"), path.with_suffix(".tail.1.log"), path):
        if missing <= 0:
            break
        try:
            with each.open("rb") as file:
                length = file.seek(0, os.SEEK_END)
                file.seek(max(0, length - missing))
                parts.insert(0, file.read(missing))
        except FileNotFoundError:
            continue
        missing -= len(parts[0])
    return b"".join(parts).decode("utf-8", "replace")
