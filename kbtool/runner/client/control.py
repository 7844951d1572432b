"""Small HTTP for everything that is not measured: is it up, what is it, its counters.

Bounded in time and size; follows no redirect, uses no proxy and no cookie, and says which kind of no it got.
"""

import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from time import monotonic_ns
from typing import Any, Final

import orjson

from kbtool.errors import KbtoolError
from kbtool.runner.client.http1 import (
    Body,
    FramingError,
    Head,
    answer_is_whole,
    expected_bytes,
    parse_head,
    read_body,
)
from kbtool.runner.client.outgoing import MIB, Endpoint, build_head
from kbtool.runner.client.wire import client_context

__all__ = [
    "Answer",
    "BadAnswerError",
    "ControlError",
    "ForbiddenError",
    "NotJsonError",
    "RefusedConnectionError",
    "TimedOutError",
    "TooLargeError",
    "UnauthorizedError",
    "UnreachableError",
    "get",
    "post_json",
]

NS: Final = 1_000_000_000
_READ_BYTES: Final = 65536


class ControlError(KbtoolError):
    """A server did not answer a question; the subclass says how."""


class UnreachableError(ControlError):
    """No connection: the name is unknown, the network does not lead there, or TLS failed."""


class RefusedConnectionError(UnreachableError):
    """The host is there and nothing listens on the port."""


class TimedOutError(ControlError):
    """No whole answer in the time allowed."""


class TooLargeError(ControlError):
    """The answer has more bytes than allowed."""


class BadAnswerError(ControlError):
    """What came is no whole HTTP answer."""


class UnauthorizedError(ControlError):
    """Status 401: something is there, and wants a key, or another one."""


class ForbiddenError(UnauthorizedError):
    """Status 403: something is there, and this key may not."""


class NotJsonError(ControlError):
    """The answer is not the JSON that was asked for."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer, whatever its status but 401 and 403."""

    url: str
    """What was asked, for messages."""
    status: int
    headers: tuple[tuple[str, str], ...]
    """Names in lower case."""
    body: bytes
    elapsed_ns: int

    def header(self, name: str) -> str | None:
        """Return the first header of that lower-case name."""
        return next((value for key, value in self.headers if key == name), None)

    def text(self) -> str:
        """Return the body as text; what is not UTF-8 in it is replaced."""
        return self.body.decode("utf-8", "replace")

    def json(self) -> Any:
        """Return the body as JSON.

        Raises:
            NotJsonError: It is none.
        """
        try:
            return orjson.loads(self.body)
        except orjson.JSONDecodeError as error:
            message = f"{self.url}: status {self.status}, and no JSON: {error}: {self.body[:120]!r}"
            raise NotJsonError(message) from None


def get(endpoint: Endpoint, path: str, *, timeout_s: float = 10.0, max_bytes: int = 8 * MIB) -> Answer:
    """Ask for a path.

    Args:
        endpoint: Whom; its headers are sent.
        path: Behind the base path, a query included.
        timeout_s: For everything together, looking up the name excepted.
        max_bytes: Largest answer, head included.

    Raises:
        ControlError: There is no answer, or it is 401 or 403.
    """
    head = build_head(endpoint, "GET", path, length=None, accept="*/*")
    return _ask(endpoint, path, head, timeout_s, max_bytes)


def post_json(
    endpoint: Endpoint,
    path: str,
    body: Mapping[str, Any],
    *,
    timeout_s: float = 10.0,
    max_bytes: int = 8 * MIB,
) -> Answer:
    """Send a JSON body to a path; arguments and errors are those of `get`."""
    content = orjson.dumps(dict(body))
    head = build_head(endpoint, "POST", path, length=len(content), accept="application/json")
    return _ask(endpoint, path, head + content, timeout_s, max_bytes)


def _ask(endpoint: Endpoint, path: str, request: bytes, timeout_s: float, max_bytes: int) -> Answer:
    url = f"{'https' if endpoint.tls else 'http'}://{endpoint.authority}{endpoint.base_path}{path}"
    start_ns = monotonic_ns()
    deadline_ns = start_ns + int(timeout_s * NS)
    try:
        raw = _transfer(endpoint, request, deadline_ns, max_bytes, url)
    except TimeoutError:
        raise TimedOutError(f"{url}: no whole answer within {timeout_s:g} s") from None
    except ConnectionRefusedError:
        raise RefusedConnectionError(
            f"{url}: connection refused: start the server, or correct the port"
        ) from None
    except (ConnectionResetError, BrokenPipeError) as error:
        raise BadAnswerError(f"{url}: the connection broke before an answer: {error.strerror}") from None
    except OSError as error:
        reason = error.reason if isinstance(error, ssl.SSLError) else error.strerror
        raise UnreachableError(f"{url}: cannot be reached: {reason or error}") from None
    head, body = _read(raw, url)
    answer = Answer(url, head.status, head.headers, body.join(raw), monotonic_ns() - start_ns)
    if head.status == 401:
        raise UnauthorizedError(
            f"{url}: status 401: it is up and wants a key: give one in the endpoint's headers"
        )
    if head.status == 403:
        raise ForbiddenError(f"{url}: status 403: it is up and this key may not ask that")
    return answer


def _read(raw: bytes, url: str) -> tuple[Head, Body]:
    try:
        head = parse_head(raw)
    except FramingError as error:
        raise BadAnswerError(f"{url}: no HTTP/1.1 answer: {error}") from None
    if head is None:
        raise BadAnswerError(f"{url}: closed after {len(raw)} bytes, before an answer")
    body = read_body(raw, head)
    if body.fault is not None or not body.complete:
        raise BadAnswerError(f"{url}: {body.fault or 'closed before the end of the body'}")
    return head, body


def _transfer(endpoint: Endpoint, request: bytes, deadline_ns: int, max_bytes: int, url: str) -> bytes:
    """Send a request and return all bytes that come back, until the answer is whole or the connection is closed."""
    with socket.create_connection((endpoint.host, endpoint.port), timeout=_left_s(deadline_ns)) as plain:
        conn: socket.socket = plain
        if endpoint.tls:
            conn = client_context(endpoint).wrap_socket(plain, server_hostname=endpoint.host)
        with conn:
            conn.settimeout(_left_s(deadline_ns))
            conn.sendall(request)
            received = bytearray()
            expected: int | None = None
            while True:
                conn.settimeout(_left_s(deadline_ns))
                data = conn.recv(_READ_BYTES)
                received += data
                if len(received) > max_bytes:
                    raise TooLargeError(f"{url}: an answer of more than {max_bytes} bytes")
                expected = expected or expected_bytes(bytes(received))
                if not data or _is_whole(received, expected):
                    return bytes(received)


def _is_whole(received: bytearray, expected: int | None) -> bool:
    if expected is None:
        return False
    # A body in chunks ends with a blank line; each look at it costs its whole length.
    return len(received) >= expected or (received.endswith(b"\r\n\r\n") and answer_is_whole(bytes(received)))


def _left_s(deadline_ns: int) -> float:
    left_ns = deadline_ns - monotonic_ns()
    if left_ns <= 0:
        raise TimeoutError
    return left_ns / NS
