"""The bytes that the scripted engine sends: HTTP as it should be, and the means to send it otherwise."""

import contextlib
import json
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

__all__ = ["DONE", "Request", "Wire", "event", "read_request"]

DONE: Final = b"data: [DONE]\n\n"
MAX_REQUEST_BYTES: Final = 64 * 2**20


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it came in."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = b""


def read_request(conn: socket.socket) -> Request | None:
    """Read one request; None where the other side closed without one."""
    data = bytearray()
    while b"\r\n\r\n" not in data:
        more = conn.recv(65_536)
        if not more or len(data) > MAX_REQUEST_BYTES:
            return None
        data += more
    head, _, rest = bytes(data).partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
    }
    body = bytearray(rest)
    length = int(headers.get("content-length", "0"))
    while len(body) < length:
        more = conn.recv(min(1 << 20, length - len(body)))
        if not more:
            return None
        body += more
    method, target, _ = first.split(" ", 2)
    path, _, query = target.partition("?")
    return Request(method, path, query, headers, bytes(body))


def event(payload: object) -> bytes:
    """Return one event of a stream."""
    return b"data: " + json.dumps(payload, ensure_ascii=False).encode() + b"\n\n"


class Wire:
    """One answer on its way; every method sends at once."""

    def __init__(self, conn: socket.socket) -> None:
        self._conn = conn
        self.chunked = False

    def raw(self, data: bytes) -> None:
        """Send bytes as they are."""
        self._conn.sendall(data)

    def head(
        self, status: int = 200, kind: str = "text/event-stream", *, framing: str = "chunked", more: str = ""
    ) -> None:
        """Send status line and headers.

        Args:
            status: Status code.
            kind: Media type.
            framing: `chunked`, `close` for a body that ends with the connection, or a value of Content-Length.
            more: Further header lines, each ended by CR LF.
        """
        self.chunked = framing == "chunked"
        length = {"chunked": "Transfer-Encoding: chunked\r\n", "close": ""}.get(
            framing, f"Content-Length: {framing}\r\n"
        )
        self.raw(
            f"HTTP/1.1 {status} Scripted\r\nContent-Type: {kind}\r\n{length}{more}Connection: close\r\n\r\n".encode(
                "latin-1"
            )
        )

    def send(self, data: bytes) -> None:
        """Send a piece of the body in the framing of the head."""
        self.raw(b"%x\r\n%b\r\n" % (len(data), data) if self.chunked else data)

    def finish(self) -> None:
        """Say that the body is over."""
        if self.chunked:
            self.raw(b"0\r\n\r\n")

    def whole(self, status: int, kind: str, body: bytes, more: str = "") -> None:
        """Send a whole answer of known length."""
        self.head(status, kind, framing=str(len(body)), more=more)
        self.raw(body)

    def json(self, status: int, payload: object) -> None:
        """Send a whole answer of JSON."""
        self.whole(status, "application/json", json.dumps(payload).encode())

    def reset(self) -> None:
        """Break the connection: the other side gets a reset, not an end."""
        with contextlib.suppress(OSError):
            self._conn.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._conn.close()
