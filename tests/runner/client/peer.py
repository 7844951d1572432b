"""A server on loopback that answers each request as a function says, and helpers to send requests to it."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from kbtool.runner.client import Endpoint, Outgoing, Recorded, Send, build_request

Answer = Callable[[socket.socket, bytes, int], None]
"""Called with the connection, the request, and the number of the request from 0."""

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunked(*events: bytes) -> bytes:
    """Return events in chunks, one each, without the end."""
    return b"".join(b"%x\r\n%s\r\n" % (len(event), event) for event in events)


def text_event(text: str = "x", finish: str | None = None) -> bytes:
    """Return an event with a text."""
    reason = "null" if finish is None else f'"{finish}"'
    return b'data: {"model":"m","choices":[{"delta":{"content":"%s"},"finish_reason":%s}]}\n\n' % (
        text.encode(),
        reason.encode(),
    )


def usage_event(tok: int) -> bytes:
    """Return an event with token counts."""
    return b'data: {"model":"m","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":%d}}\n\n' % tok


def good_answer(n_tok: int = 2) -> bytes:
    """Return a whole answer of so many tokens."""
    events = [text_event() for _ in range(n_tok - 1)]
    return (
        HEAD
        + chunked(*events, text_event(finish="stop"), usage_event(n_tok), b"data: [DONE]\n\n")
        + b"0\r\n\r\n"
    )


def answer_well(sock: socket.socket, request: bytes, number: int) -> None:  # noqa: ARG001
    """Answer and close."""
    sock.sendall(good_answer())


def never(release: threading.Event) -> Answer:
    """Return an answer that does not come; `release` lets its thread end."""

    def answer(sock: socket.socket, request: bytes, number: int) -> None:  # noqa: ARG001
        release.wait(20)

    return answer


def read_request(sock: socket.socket) -> bytes:
    """Return one whole request; empty if the connection was closed before one."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = sock.recv(65536)
        if not more:
            return b""
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(
        (int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0
    )
    rest = bytearray(body)
    while len(rest) < length:
        rest += sock.recv(1 << 20)
    return head + b"\r\n\r\n" + bytes(rest)


class Peer:
    """The running server."""

    def __init__(self, answer: Answer, context: ssl.SSLContext | None = None) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port: int = self.listener.getsockname()[1]
        self.accepted = 0
        self.requests: list[bytes] = []
        self._answer = answer
        self._context = context
        self._lock = threading.Lock()
        self._open: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def endpoint(self, **changes: object) -> Endpoint:
        """Return the endpoint of this server."""
        return Endpoint("e", "127.0.0.1", self.port, **changes)  # type: ignore[arg-type]  # a test's own choice

    def close(self) -> None:
        """End every thread."""
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self._threads[0].join()
        with self._lock:
            for sock in self._open:
                try:
                    sock.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue
        for thread in self._threads[1:]:
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            with self._lock:
                self.accepted += 1
                self._open.append(sock)
            thread = threading.Thread(target=self._serve, args=(sock,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, plain: socket.socket) -> None:
        with plain:
            try:
                sock = self._context.wrap_socket(plain, server_side=True) if self._context else plain
                with sock:
                    request = read_request(sock)
                    if not request:
                        return
                    with self._lock:
                        number = len(self.requests)
                        self.requests.append(request)
                    self._answer(sock, request, number)
            except OSError:
                return


@contextmanager
def serving(answer: Answer = answer_well, context: ssl.SSLContext | None = None) -> Iterator[Peer]:
    """Run a server for the time of a `with` block."""
    peer = Peer(answer, context)
    try:
        yield peer
    finally:
        peer.close()


def outgoing(
    endpoint: Endpoint, name: str = "r0", *, stream: int = 0, payload: bytes | None = None
) -> Outgoing:
    """Return a request."""
    return Outgoing(
        id=name,
        endpoint=endpoint,
        asked_model="m",
        asked_output_tok=64,
        payload=build_request(endpoint, "/v1/chat/completions", {"stream": True})
        if payload is None
        else payload,
        stream=stream,
    )


class Listed:
    """A driver that sends a list, so many at once, the next whenever one has ended."""

    def __init__(self, requests: Iterable[Outgoing], at_once: int = 1) -> None:
        self.left = list(requests)
        self.at_once = at_once
        self.told: list[Recorded] = []
        self.stopped = False

    def begin(self, now_ns: int) -> Iterable[Send]:
        """Send the first."""
        first, self.left = self.left[: self.at_once], self.left[self.at_once :]
        return [Send(now_ns, request) for request in first]

    def ended(self, recorded: Recorded, now_ns: int) -> Iterable[Send]:
        """Send the next."""
        self.told.append(recorded)
        return [Send(now_ns, self.left.pop(0))] if self.left else []

    def stop(self, now_ns: int) -> bool:  # noqa: ARG002
        """Return what the test wants."""
        return self.stopped
