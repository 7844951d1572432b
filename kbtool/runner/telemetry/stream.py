"""Reading back what a sampler writes, while it writes, and after it died.

The file only grows.  Its last line may be half there; a line that was cut in the middle is reported as an event
and everything around it is kept.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import orjson

from kbtool.errors import KbtoolError
from kbtool.runner.telemetry.sample import FORMAT_VERSION, Event, Kind, TelemetrySample, decode

__all__ = ["StreamReader", "TelemetryError", "between", "read_stream"]

_BLOCK_BYTES: Final = 1 << 20
_LINE_BYTES: Final = 1 << 16
"""Ours are under 1 KiB: what is longer is no line of ours."""


class TelemetryError(KbtoolError):
    """A telemetry stream cannot be read."""


class StreamReader:
    """A stream, read from where the last call ended."""

    def __init__(self, file: Path) -> None:
        """Read `file` from its start; it need not exist yet."""
        self._file = file
        self._offset = 0
        self._rest = b""
        self._last_ns = 0

    def poll(self) -> list[TelemetrySample]:
        """Return the rows that were added since the last call.

        Raises:
            TelemetryError: The stream has a version that this program does not know.
        """
        rows: list[TelemetrySample] = []
        for line in self._lines():
            row = self._row(line)
            if row is not None:
                rows.append(row)
        return rows

    def _lines(self) -> Sequence[bytes]:
        """Return the new whole lines; keep what follows the last one."""
        try:
            descriptor = os.open(self._file, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return ()
        try:
            lines: list[bytes] = []
            while block := os.pread(descriptor, _BLOCK_BYTES, self._offset):
                self._offset += len(block)
                *whole, self._rest = (self._rest + block).split(b"\n")
                self._rest = self._rest[:_LINE_BYTES]
                lines += whole
            return lines
        finally:
            os.close(descriptor)

    def _row(self, line: bytes) -> TelemetrySample | None:
        if not line:
            return None
        if line.startswith(b'{"format"'):
            self._check(line)
            return None
        try:
            row = decode(line)
        except ValueError:
            return TelemetrySample(
                t_ns=self._last_ns,
                kind=Kind.EVENT,
                event=Event.TORN_LINE,
                detail=f"{len(line)} bytes of {self._file.name} are no row",
            )
        self._last_ns = row.t_ns
        return row

    def _check(self, line: bytes) -> None:
        try:
            found = orjson.loads(line)
        except ValueError:
            return
        if found.get("version") != FORMAT_VERSION:
            raise TelemetryError(
                f"{self._file}: telemetry version {found.get('version')!r}; this program reads version "
                f"{FORMAT_VERSION}: use the kbtool that wrote it"
            )


def read_stream(file: Path) -> list[TelemetrySample]:
    """Return all rows of a stream."""
    return StreamReader(file).poll()


def between(
    rows: Sequence[TelemetrySample], start_ns: int, end_ns: int, margin_ns: int
) -> list[TelemetrySample]:
    """Return the rows that a window needs, in order of time.

    These are its own, those within `margin_ns` of it, and every earlier event: a card that was lost an hour ago, or
    a column that was null from the start, is a state that the window still needs.
    """
    kept = [
        row
        for row in rows
        if row.t_ns <= end_ns + margin_ns and (row.t_ns >= start_ns - margin_ns or row.kind == Kind.EVENT)
    ]
    return sorted(kept, key=lambda row: row.t_ns)
