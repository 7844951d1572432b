"""HTTP requests as bytes. Pure."""

from dataclasses import dataclass
from typing import Final

__all__ = ["BadRequestError", "Request", "take_request"]

MAX_HEAD_BYTES: Final = 64 * 1024
MAX_BODY_BYTES: Final = 256 * 1024 * 1024


class BadRequestError(ValueError):
    """The bytes are no request that this server understands."""


@dataclass(frozen=True, slots=True)
class Request:
    """One whole request."""

    method: str
    path: str
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes

    @property
    def keeps_alive(self) -> bool:
        """Return whether the connection is to be kept for another request."""
        return self.headers.get("connection", "").lower() != "close"


def take_request(buffer: bytearray) -> Request | None:
    """Take one request from the front of the buffer; None if it has not come whole.

    Raises:
        BadRequestError: What is there cannot become one.
    """
    end = buffer.find(b"\r\n\r\n", 0, MAX_HEAD_BYTES)
    if end < 0:
        if len(buffer) > MAX_HEAD_BYTES:
            raise BadRequestError("a head of more than 64 KiB")
        return None
    first, *lines = bytes(buffer[:end]).decode("latin-1").split("\r\n")
    words = first.split(" ")
    if len(words) != 3:
        raise BadRequestError(f"no request line: {first[:80]!r}")
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
    }
    chunked = "transfer-encoding" in headers
    length_text = headers.get("content-length", "0")
    if chunked or not length_text.isdecimal() or int(length_text) > MAX_BODY_BYTES:
        raise BadRequestError("a body must have a Content-Length of at most 256 MiB")
    total = end + 4 + int(length_text)
    if len(buffer) < total:
        return None
    body = bytes(buffer[end + 4 : total])
    del buffer[:total]
    return Request(words[0], words[1], headers, body)
