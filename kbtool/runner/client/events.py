"""Server-sent events as bytes: where each ends, and what it carries. Pure; trusts nothing."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

__all__ = ["Event", "LineTooLongError", "split_events"]

_BLANK_LINE: Final = re.compile(rb"\r?\n\r?\n")
_BOM: Final = b"\xef\xbb\xbf"


class LineTooLongError(Exception):
    """A line is longer than allowed; says how long at least."""


class Event(NamedTuple):
    """One event, or a block of comments."""

    end: int
    """Just behind it, in bytes of the body: when this byte had come, the event had."""
    n_bytes: int
    data: bytes | None
    """What its `data` lines say; None if there are none, only comments."""
    name: bytes
    """What its `event` line says."""
    whole: bool
    """False for what stands at the end of the body without a blank line behind it."""


def split_events(body: bytes, line_bytes: int) -> Iterator[Event]:
    """Yield the events of a stream, its lines ending with LF or CRLF.

    Raises:
        LineTooLongError: A line has more than `line_bytes`; the events before it have been yielded.
    """
    start = 0
    for end in _block_ends(body):
        block = body[start:end]
        if len(block) > line_bytes:
            _check_lines(block, line_bytes)
        event = _read_block(block.removeprefix(_BOM) if start == 0 else block, end, len(block), whole=True)
        if event is not None:
            yield event
        start = end
    rest = body[start:]
    if len(rest) > line_bytes:
        _check_lines(rest, line_bytes)
    event = _read_block(rest, len(body), len(rest), whole=False)
    if event is not None:
        yield event


def _block_ends(body: bytes) -> Iterator[int]:
    if b"\r" in body:
        for match in _BLANK_LINE.finditer(body):
            yield match.end()
        return
    # Twice as fast as the expression, and what nearly every server sends.
    find = body.find
    end = find(b"\n\n")
    while end >= 0:
        yield end + 2
        end = find(b"\n\n", end + 2)


def _check_lines(block: bytes, line_bytes: int) -> None:
    longest = max(map(len, block.split(b"\n")))
    if longest > line_bytes:
        raise LineTooLongError(f"a line of {longest} bytes, {line_bytes} allowed")


def _read_block(block: bytes, end: int, n_bytes: int, *, whole: bool) -> Event | None:
    content = block.strip(b"\r\n")
    if content.startswith(b"data:") and b"\n" not in content:
        return Event(end, n_bytes, content[5:].strip(b" "), b"", whole)
    data: list[bytes] = []
    name = b""
    comment = False
    for line in content.split(b"\n"):
        field, _, value = line.removesuffix(b"\r").partition(b":")
        if field == b"data":
            data.append(value.removeprefix(b" "))
        elif field == b"event":
            name = value.strip()
        comment = comment or line.startswith(b":")
    if data:
        return Event(end, n_bytes, b"\n".join(data), name, whole)
    return Event(end, n_bytes, None, name, whole) if comment else None
