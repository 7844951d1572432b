"""HTTP/1.1 answers as bytes: head, transfer coding, and where the body ends. Pure; trusts nothing."""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

__all__ = ["Body", "FramingError", "Head", "answer_is_whole", "expected_bytes", "parse_head", "read_body"]

HEAD_BYTES: Final = 64 * 1024
"""Longest head that is believed."""
_INTERIM: Final = 8
"""Most `1xx` heads before the real one."""

_STATUS_LINE: Final = re.compile(rb"HTTP/1\.[01] ([1-9][0-9]{2})(?: [^\r\n]*)?")
_HEADER: Final = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*([^\r\n\x00]*?)[ \t]*")
_CHUNK: Final = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;[^\r\n]*)?\r\n")
_CHUNK_HEAD_BYTES: Final = 1024
_DIGITS: Final = re.compile(rb"[0-9]{1,15}")


class FramingError(Exception):
    """The bytes are no HTTP/1.1 answer; says what was found."""


@dataclass(frozen=True, slots=True)
class Head:
    """Status and headers of the answer."""

    status: int
    headers: tuple[tuple[str, str], ...]
    """Names in lower case."""
    body_start: int
    chunked: bool
    length: int | None
    """`Content-Length`; None with chunks, or where the body ends with the connection."""

    def get(self, name: str) -> str | None:
        """Return the first header of that lower-case name."""
        return next((value for key, value in self.headers if key == name), None)


@dataclass(frozen=True, slots=True)
class Body:
    """Where the body lies in the raw bytes."""

    spans: tuple[tuple[int, int], ...]
    """Start and end of each piece, the transfer coding left out."""
    complete: bool
    """The framing said that it is over; True too for one that ends with the connection."""
    end: int
    """Just behind the last byte that belongs to the answer."""
    fault: str | None = None
    """What is wrong with the framing."""

    def join(self, raw: bytes) -> bytes:
        """Return the body in one piece."""
        return b"".join([raw[start:end] for start, end in self.spans])

    def positions(self, ends: Sequence[int]) -> list[int]:
        """Return for each position in the raw bytes, in ascending order, how many bytes of the body lie before it."""
        found: list[int] = []
        before = 0
        index = 0
        for position in ends:
            while index < len(self.spans) and self.spans[index][1] <= position:
                before += self.spans[index][1] - self.spans[index][0]
                index += 1
            partly = position - self.spans[index][0] if index < len(self.spans) else 0
            found.append(before + max(0, partly))
        return found


def parse_head(raw: bytes) -> Head | None:
    """Return the head of the final answer, interim ones passed over; None if it has not come whole.

    Raises:
        FramingError: What came cannot become a head.
    """
    start = 0
    for _ in range(_INTERIM):
        end = raw.find(b"\r\n\r\n", start, start + HEAD_BYTES)
        if end < 0:
            _check_beginning(raw, start)
            return None
        head = _one_head(raw[start:end], end + 4)
        if head.status >= 200:
            return head
        if head.status == 101:
            raise FramingError("the server switched to another protocol, which was not asked for")
        start = end + 4
    raise FramingError(f"{_INTERIM} interim answers and no final one")


def _check_beginning(raw: bytes, start: int) -> None:
    """Refuse what cannot become a head."""
    beginning = raw[start : start + 5]
    if not b"HTTP/".startswith(beginning):
        raise FramingError(f"an answer must start with HTTP/, this one does with {beginning!r}")
    if len(raw) - start >= HEAD_BYTES:
        raise FramingError(f"a head of more than {HEAD_BYTES} bytes")


def _one_head(block: bytes, body_start: int) -> Head:
    first, *lines = block.split(b"\r\n")
    status = _STATUS_LINE.fullmatch(first)
    if status is None:
        raise FramingError(f"no status line: {first[:80]!r}")
    headers: list[tuple[str, str]] = []
    for line in lines:
        match = _HEADER.fullmatch(line)
        if match is None:
            raise FramingError(f"no header: {line[:80]!r}")
        headers.append((match[1].decode("ascii").lower(), match[2].decode("latin-1")))
    chunked = _is_chunked([value for name, value in headers if name == "transfer-encoding"])
    length = _length([value for name, value in headers if name == "content-length"])
    if chunked and length is not None:
        raise FramingError("both Transfer-Encoding and Content-Length: one of them lies")
    return Head(int(status[1]), tuple(headers), body_start, chunked, length)


def _is_chunked(codings: Sequence[str]) -> bool:
    if not codings:
        return False
    if len(codings) > 1 or codings[0].lower() != "chunked":
        raise FramingError(f"transfer coding {', '.join(codings)[:80]!r}, which was not asked for")
    return True


def _length(values: Sequence[str]) -> int | None:
    if not values:
        return None
    if len(set(values)) > 1 or not _DIGITS.fullmatch(values[0].encode("latin-1")):
        raise FramingError(f"Content-Length {', '.join(values)[:80]!r} is no number of bytes")
    return int(values[0])


def read_body(raw: bytes, head: Head) -> Body:
    """Return where the body lies, as far as it has come."""
    start = head.body_start
    if head.status in (204, 304):
        return Body((), complete=True, end=start)
    if head.chunked:
        return _read_chunks(raw, start)
    if head.length is None:
        return Body(((start, len(raw)),), complete=True, end=len(raw))
    end = min(len(raw), start + head.length)
    return Body(((start, end),), complete=end == start + head.length, end=end)


def _read_chunks(raw: bytes, position: int) -> Body:
    spans: list[tuple[int, int]] = []
    match_chunk = _CHUNK.match
    while (match := match_chunk(raw, position)) is not None:
        start = match.end()
        size = int(match[1], 16)
        if size == 0:
            return _read_trailer(raw, start, tuple(spans))
        end = start + size
        if end > len(raw):
            spans.append((start, len(raw)))
            return Body(tuple(spans), complete=False, end=len(raw))
        spans.append((start, end))
        if raw[end : end + 2] != b"\r\n":
            fault = (
                None
                if b"\r\n".startswith(raw[end : end + 2])
                else f"no line end behind a chunk of {size} bytes"
            )
            return Body(tuple(spans), complete=False, end=end, fault=fault)
        position = end + 2
    rest = raw[position : position + _CHUNK_HEAD_BYTES]
    # A size that has not come whole has no line end yet, and only what a size may hold.
    unfinished = (
        b"\n" not in rest and len(rest) < _CHUNK_HEAD_BYTES and _CHUNK.match(rest.rstrip(b"\r") + b"\r\n")
    )
    fault = None if unfinished or not rest else f"no chunk size: {rest[:40]!r}"
    return Body(tuple(spans), complete=False, end=position, fault=fault)


def _read_trailer(raw: bytes, start: int, spans: tuple[tuple[int, int], ...]) -> Body:
    if raw.startswith(b"\r\n", start):
        return Body(spans, complete=True, end=start + 2)
    end = raw.find(b"\r\n\r\n", start, start + HEAD_BYTES)
    if end < 0:
        return Body(spans, complete=False, end=len(raw))
    lines = raw[start:end].split(b"\r\n")
    fault = (
        None if all(_HEADER.fullmatch(line) for line in lines) else "something other than headers as trailer"
    )
    return Body(spans, complete=True, end=end + 4, fault=fault)


def expected_bytes(beginning: bytes) -> int | None:
    """Return how long the whole answer is in bytes; `sys.maxsize` if its head does not say, None without a head."""
    try:
        head = parse_head(beginning)
    except FramingError:
        return sys.maxsize
    if head is None:
        return None
    return sys.maxsize if head.length is None else head.body_start + head.length


def answer_is_whole(raw: bytes) -> bool:
    """Return whether the framing says that nothing more is to come, or cannot be believed any more."""
    try:
        head = parse_head(raw)
    except FramingError:
        return True
    if head is None or (head.length is None and not head.chunked):
        return False
    body = read_body(raw, head)
    return body.complete or body.fault is not None
