"""Recorded traces: when requests came, how long they were, and what beginnings they shared.

Our own format is JSON Lines: one object a line, UTF-8, in any order of time.  The first line may be a header::

    {"format": "kbtool-trace", "version": 1, "block_tok": 512}
    {"timestamp_ms": 0, "input_length": 6758, "output_length": 500, "hash_ids": [0, 1, 2]}
    {"timestamp_ms": 90, "input_length": 7100, "output_length": 40, "session": "a", "delay_ms": 250}

`timestamp_ms` counts from the start; a later turn of a session may leave it out.  `input_length` is the whole prompt,
`output_length` the answer, in tokens.  `hash_ids` name blocks of `block_tok` tokens from the start of the prompt: two
requests that begin with the same ids begin with the same text; what lies behind the last id is unique.  `session` ties
turns together: each is sent after the one before it has ended, and `delay_ms` later, but never before its timestamp.
Without `hash_ids` the turns of a session grow from one text.

The public traces in Mooncake's format are read as well: `timestamp` in ms, `input_length`, `output_length`,
`hash_ids` with blocks of 512 tokens, and `session_id` and `delay` where a tool added them.  Other keys are left alone.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import orjson

from kbtool.errors import UsageError

__all__ = ["Bounds", "RecordedRequest", "RecordedTrace", "TraceFileError", "read_trace", "trace_lines"]

_FORMAT: Final = "kbtool-trace"
_VERSION: Final = 1
_MOONCAKE_BLOCK_TOK: Final = 512
_LINE_BYTES: Final = 1 << 20
_TIMESTAMP: Final = ("timestamp_ms", "timestamp")
_INPUT: Final = ("input_length", "input_tokens")
_OUTPUT: Final = ("output_length", "output_tokens")
_SESSION: Final = ("session", "session_id")
_DELAY: Final = ("delay_ms", "delay")


class TraceFileError(UsageError):
    """A trace file that cannot be replayed as it stands."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a trace may hold at most: a file is somebody else's, and memory is ours."""

    requests: int = 200_000
    line_bytes: int = _LINE_BYTES
    input_tok: int = 4_000_000
    output_tok: int = 1_000_000
    span_ms: float = 7 * 86_400_000.0
    total_input_tok: int = 20_000_000_000


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """One request of a trace."""

    line: int
    """Line in the file, from 1."""
    at_ms: float | None
    """From the start of the trace; None where a session's earlier turn, which the trace holds, sets the time."""
    input_tok: int
    output_tok: int
    block_ids: tuple[int, ...] = ()
    session: str | None = None
    delay_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class RecordedTrace:
    """A trace in the order in which its requests are sent."""

    requests: tuple[RecordedRequest, ...]
    block_tok: int


def trace_lines(path: Path, line_bytes: int = _LINE_BYTES) -> Iterable[bytes]:
    """Yield the lines of a file without ever holding one that is longer than allowed.

    Raises:
        TraceFileError: The file cannot be opened. A line that is too long comes out one byte longer than allowed.
    """
    try:
        file = path.open("rb")
    except OSError as error:
        raise TraceFileError(
            f"{path}: cannot be read ({error.strerror}): correct the path in the plan"
        ) from None
    with file:
        while line := file.readline(line_bytes + 1):
            yield line
            if len(line) > line_bytes:
                return


def read_trace(
    lines: Iterable[bytes],
    name: str,
    *,
    bounds: Bounds | None = None,
    first: int = 0,
    most: int | None = None,
) -> RecordedTrace:
    """Return the requests of a trace, ordered by time, or fail at the first line that makes no sense.

    Args:
        lines: JSON Lines, as from `trace_lines`.
        name: How messages name the file.
        bounds: What it may hold at most.
        first: Requests to skip.
        most: Requests to take after that; None for all. Times then count from the first one taken.

    Raises:
        TraceFileError: The trace cannot be replayed; the message names the line.
    """
    bounds = bounds or Bounds()
    block_tok = _MOONCAKE_BLOCK_TOK
    found: list[RecordedRequest] = []
    skipped = total_tok = 0
    for number, line in enumerate(lines, start=1):
        if most is not None and len(found) >= most:
            break
        row = _row(line, f"{name}:{number}", bounds)
        if row is None:
            continue
        if "format" in row and number == 1:
            block_tok = _header(row, f"{name}:1")
            continue
        if skipped < first:
            skipped += 1
            continue
        request = _request(row, number, f"{name}:{number}", bounds)
        total_tok += request.input_tok
        if len(found) >= bounds.requests or total_tok > bounds.total_input_tok:
            raise TraceFileError(
                f"{name}:{number}: more than {bounds.requests} requests or {bounds.total_input_tok} input tokens; "
                "replay a part of it: set `first` and `requests` in the plan"
            )
        found.append(request)
    return RecordedTrace(_in_order(found, name), block_tok)


def _row(line: bytes, place: str, bounds: Bounds) -> dict[str, Any] | None:
    """Return the object of a line, None for an empty one."""
    if len(line) > bounds.line_bytes:
        raise TraceFileError(
            f"{place}: longer than {bounds.line_bytes} bytes; expected one JSON object a line"
        )
    if not line.strip():
        return None
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise TraceFileError(f"{place}: not JSON ({error}); expected one JSON object a line") from None
    if not isinstance(row, dict):
        raise TraceFileError(f"{place}: found a {type(row).__name__}; expected one JSON object a line")
    if "chat_id" in row:
        raise TraceFileError(
            f"{place}: `chat_id` belongs to a format whose times are seconds and whose blocks are smaller; "
            "expected the format of `kbtool.runner.prompts.replay`: convert it, and give `block_tok` in a header"
        )
    return row


def _header(row: Mapping[str, Any], place: str) -> int:
    """Return the block size that the header gives."""
    if row.get("format") != _FORMAT or row.get("version") != _VERSION:
        raise TraceFileError(
            f"{place}: format {row.get('format')!r}, version {row.get('version')!r}; expected {_FORMAT!r}, {_VERSION}"
        )
    return _whole(row, ("block_tok",), place, 1, 65_536) if "block_tok" in row else _MOONCAKE_BLOCK_TOK


def _request(row: Mapping[str, Any], number: int, place: str, bounds: Bounds) -> RecordedRequest:
    at_ms = _time(row, _TIMESTAMP, place, bounds)
    session = next((row[key] for key in _SESSION if row.get(key) is not None), None)
    if session is not None and not isinstance(session, str | int):
        raise TraceFileError(f"{place}: session is a {type(session).__name__}; expected a text or a number")
    if at_ms is None and session is None:
        raise TraceFileError(
            f"{place}: no time; expected `timestamp_ms`, or a `session` whose earlier turn sets it"
        )
    return RecordedRequest(
        number,
        at_ms,
        _whole(row, _INPUT, place, 1, bounds.input_tok),
        _whole(row, _OUTPUT, place, 1, bounds.output_tok),
        _blocks(row, place, bounds),
        None if session is None else str(session)[:200],
        _time(row, _DELAY, place, bounds) or 0.0,
    )


def _blocks(row: Mapping[str, Any], place: str, bounds: Bounds) -> tuple[int, ...]:
    ids = row.get("hash_ids") or []
    if not isinstance(ids, list) or any(not isinstance(each, int) or isinstance(each, bool) for each in ids):
        raise TraceFileError(
            f"{place}: `hash_ids` is not a list of whole numbers; expected [0, 1, 2] or nothing"
        )
    if len(ids) > bounds.input_tok:
        raise TraceFileError(f"{place}: {len(ids)} `hash_ids`; expected no more than there are tokens")
    return tuple(ids)


def _whole(row: Mapping[str, Any], keys: tuple[str, ...], place: str, least: int, most: int) -> int:
    value = next((row[key] for key in keys if key in row), None)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise TraceFileError(
            f"{place}: `{keys[0]}` is {_shown(value)}; expected a whole number from {least} to {most}"
        )
    return value


def _time(row: Mapping[str, Any], keys: tuple[str, ...], place: str, bounds: Bounds) -> float | None:
    value = next((row[key] for key in keys if row.get(key) is not None), None)
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= bounds.span_ms:
        raise TraceFileError(
            f"{place}: `{keys[0]}` is {_shown(value)}; expected ms from 0 to {bounds.span_ms:.0f}, counted from the start"
        )
    return float(value)


def _shown(value: object) -> str:
    return "missing" if value is None else repr(value)[:60]


def _in_order(found: list[RecordedRequest], name: str) -> tuple[RecordedRequest, ...]:
    """Return the requests ordered by time from 0, turns of a session in the order of the file."""
    if not found:
        raise TraceFileError(
            f"{name}: no request in the part asked for; expected at least one: look at `first`"
        )
    # A turn without a time whose session began before the part that is read comes where it stands in the file.
    now_ms = min((each.at_ms for each in found if each.at_ms is not None), default=0.0)
    start_ms = now_ms
    placed: list[tuple[float, RecordedRequest]] = []
    latest: dict[str, float] = {}
    for each in found:
        before = None if each.session is None else latest.get(each.session)
        if each.at_ms is None:
            now_ms = now_ms if before is None else before
            at_ms = now_ms - start_ms if before is None else None
        else:
            # A turn is never sent before the one above it in the file, whatever its own time says.
            now_ms = max(before or 0.0, each.at_ms)
            at_ms = each.at_ms - start_ms
        if each.session is not None:
            latest[each.session] = now_ms
        placed.append((now_ms, replace(each, at_ms=at_ms)))
    return tuple(request for _, request in sorted(placed, key=lambda pair: pair[0]))
