"""What is sent: endpoints, requests as finished bytes, and the limits that every request lives under."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import orjson

from kbtool.errors import UsageError

__all__ = ["Endpoint", "Limits", "Outgoing", "Send", "build_head", "build_request"]

MIB: Final = 1024 * 1024

_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VALUE: Final = re.compile(r"[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?|")
_PATH: Final = re.compile(r"(?:/[\x21-\x7e]*)?")
_HOST: Final = re.compile(r"[0-9A-Za-z._:%\-]+")
_OURS: Final = frozenset(
    {"host", "connection", "accept-encoding", "content-length", "content-type", "transfer-encoding", "expect"}
)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One server, or one instance of it, that requests go to."""

    name: str
    host: str
    port: int
    tls: bool = False
    base_path: str = ""
    """Put before every path, without a slash at its end: `/v1` is usual for a server behind a proxy."""
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Sent with every request; may hold secrets, so they are in no `repr` and in no message."""
    tls_ca_file: str | None = None
    """PEM file with the certificate that signs the server's; None: those that the system trusts."""
    spare_connections: int | None = None
    """Most connections kept open for the next requests; None: as many as there are requests in flight.

    A server with one thread a connection has a thread blocked by each: give 0 there, and each request
    opens its connection when its time has come, still before its clock starts.
    """

    def __post_init__(self) -> None:
        """Refuse what would change the shape of a request.

        Raises:
            UsageError: A name, value or path holds characters that HTTP does not allow there.
        """
        place = f"endpoint {self.name!r}"
        if not _HOST.fullmatch(self.host) or not 0 < self.port < 65536:
            raise UsageError(f"{place}: host {self.host!r} and port {self.port} are no address: correct them")
        if not _PATH.fullmatch(self.base_path) or self.base_path.endswith("/"):
            raise UsageError(
                f"{place}: base path {self.base_path!r} must be empty, or like `/v1`: correct it"
            )
        for name, value in self.headers:
            if not _TOKEN.fullmatch(name) or name.lower() in _OURS:
                raise UsageError(f"{place}: header name {name!r} is not allowed: rename it or leave it out")
            if not _VALUE.fullmatch(value):
                # The value may be a key: it is not shown.
                raise UsageError(f"{place}: the value of header {name!r} has characters that HTTP refuses")

    @property
    def authority(self) -> str:
        """Return host and port as the `Host` header has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One request, finished before its clock starts, with what a trace says of it beforehand."""

    id: str
    """Unique in the run: `<cell>/<round>/<number>`."""
    endpoint: Endpoint
    asked_model: str
    asked_output_tok: int
    payload: bytes = field(repr=False)
    """The whole HTTP request; holds the headers, hence secrets."""
    stream: int = 0
    turn: int = 1
    output_tok_fixed: bool = False
    prompt_class: str = ""
    prompt_salt: str = ""
    due_ns: int | None = None

    def without_payload(self) -> "Outgoing":
        """Return the same without its bytes: a prompt of a million tokens is megabytes, sent once."""
        return replace(self, payload=b"")


@dataclass(frozen=True, slots=True)
class Send:
    """A request and the time at which it is to leave, in ns of the monotonic clock; the past means at once."""

    at_ns: int
    outgoing: Outgoing


@dataclass(frozen=True, slots=True)
class Limits:
    """Deadlines and sizes that end a request; all times in seconds, counted from its sending if not said."""

    connect_s: float = 10.0
    """From the start of the connection to the end of its handshakes."""
    first_byte_s: float = 600.0
    progress_s: float = 120.0
    """From one token to the next; before the first, the longer of this and `first_byte_s`."""
    total_s: float = 3600.0
    line_bytes: int = MIB
    """Longest line of a stream."""
    body_bytes: int = 64 * MIB
    """Longest answer, its headers and framing included."""
    round_bytes: int = 4096 * MIB
    """Longest sum of all answers of one exchange: what no server can make us hold in memory."""


def build_head(endpoint: Endpoint, method: str, path: str, *, length: int | None, accept: str) -> bytes:
    """Return request line and headers, with the blank line.

    Args:
        endpoint: Whose host, base path and headers are used.
        method: `GET` or `POST`.
        path: From the root of the API, such as `/v1/chat/completions`, a query included.
        length: Bytes of the body, which is then said to be JSON; None for a request without one.
        accept: Media type that is asked for.

    Raises:
        UsageError: The path holds characters that HTTP does not allow there.
    """
    if not path.startswith("/") or not _PATH.fullmatch(path):
        raise UsageError(f"endpoint {endpoint.name!r}: {path!r} is no path: it must start with a slash")
    lines = [f"{method} {endpoint.base_path}{path} HTTP/1.1", f"Host: {endpoint.authority}"]
    lines += [f"{name}: {value}" for name, value in endpoint.headers]
    # A kept connection that the server closes while the next request is on its way loses that request: 4 to 25 %
    # of them with one engine.  Compression would hide when tokens were sent.
    lines += [f"Accept: {accept}", "Accept-Encoding: identity", "Connection: close", "User-Agent: kbtool"]
    if length is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {length}"]
    return "\r\n".join([*lines, "", ""]).encode("ascii")


def build_request(endpoint: Endpoint, path: str, body: Mapping[str, Any]) -> bytes:
    """Return a whole POST request with a JSON body, ready to be sent byte for byte.

    Raises:
        UsageError: The path is none, or the body cannot be written as JSON.
    """
    try:
        content = orjson.dumps(dict(body))
    except orjson.JSONEncodeError as error:
        raise UsageError(f"body for {path}: not JSON: {error}") from None
    head = build_head(endpoint, "POST", path, length=len(content), accept="text/event-stream")
    return head + content
