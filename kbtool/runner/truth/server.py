"""The loop: keeps the schedule of every stream, and notes what it really did.

One process, one thread, one epoll set.  Sends are made as they come due, across all streams; new requests are read
in between, so that a burst of sends delays them little, and their arrival is stamped by the kernel in any case.
"""

import gc
import heapq
import select
import socket
import struct
import time
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

import orjson

from kbtool.runner.truth.log import TrueRequest, write_log
from kbtool.runner.truth.requests import BadRequestError, Request, take_request
from kbtool.runner.truth.schedule import Emission, Schedule, first_token_ns, schedule_for
from kbtool.runner.truth.spec import Spec, SpecError, read_spec

__all__ = ["Server"]

_SO_TIMESTAMPNS: Final = 35
_BACKLOG: Final = 4096
_SENDS_AT_ONCE: Final = 128
_RESET: Final = struct.pack("ii", 1, 0)
"""SO_LINGER of 0 s: closing sends a reset."""
_ROUTES: Final = {"/v1/chat/completions": True, "/v1/completions": False}


@dataclass(slots=True, eq=False)
class _Peer:
    """One connection."""

    sock: socket.socket
    buffer: bytearray = field(default_factory=bytearray)
    unsent: bytearray = field(default_factory=bytearray)
    arrived_ns: int | None = None
    stream: "_Stream | None" = None
    open: bool = True
    closing: bool = False
    """Close once everything is sent."""


@dataclass(slots=True, eq=False)
class _Stream:
    """One answer on its way."""

    peer: _Peer
    schedule: Schedule
    truth: TrueRequest
    keep: bool
    first_ns: int
    index: int = 0

    def due_ns(self) -> int:
        """Return when the next send is due."""
        emission = self.schedule.emissions[self.index]
        return (self.first_ns if emission.decode else self.truth.parsed_ns) + emission.offset_ns


class Server:
    """A known-truth server on one address."""

    def __init__(self, host: str, port: int, default: Spec, model: str) -> None:
        self._default = default
        self._model = model
        self._listener = socket.create_server((host, port), backlog=_BACKLOG)
        # The kernel switches stamping on a moment after the first socket has asked for it, and off after the last.
        self._listener.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        _await_stamps()
        self._listener.setblocking(False)
        self._epoll = select.epoll()
        self._epoll.register(self._listener.fileno(), select.EPOLLIN)
        self._peers: dict[int, _Peer] = {}
        self._due: list[tuple[int, int, _Stream]] = []
        self._order = count()
        self._log: list[TrueRequest] = []
        self._max_late_ns = 0
        self._cpu_from_s = time.thread_time()
        self._wall_minus_monotonic_ns = _offset_ns()

    @property
    def port(self) -> int:
        """Return the port it listens on."""
        return int(self._listener.getsockname()[1])

    def run(self, stop_fd: int | None = None) -> None:
        """Serve until `stop_fd`, a pipe, is closed at its other end; without one, for ever."""
        gc.collect()
        gc.freeze()
        gc.disable()
        if stop_fd is not None:
            self._epoll.register(stop_fd, select.EPOLLIN)
        while True:
            for fd, mask in self._epoll.poll(self._patience_s(), 256):
                if fd == stop_fd:
                    return
                if fd == self._listener.fileno():
                    self._accept()
                elif fd in self._peers:
                    self._serve(self._peers[fd], mask)
            self._send_due()

    def _patience_s(self) -> float:
        if not self._due:
            self._wall_minus_monotonic_ns = _offset_ns()
            return 1.0
        return max(0.0, (self._due[0][0] - time.monotonic_ns()) / 1e9)

    def _accept(self) -> None:
        for _ in range(_SENDS_AT_ONCE):
            try:
                sock, _ = self._listener.accept()
            except BlockingIOError:
                return
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
            self._peers[sock.fileno()] = _Peer(sock)
            self._epoll.register(sock.fileno(), select.EPOLLIN)

    # --- requests ---------------------------------------------------------------------------------------------

    def _serve(self, peer: _Peer, mask: int) -> None:
        if mask & select.EPOLLOUT:
            self._flush(peer)
        if not mask & ~select.EPOLLOUT or not peer.open:
            return
        try:
            data, messages, _, _ = peer.sock.recvmsg(1 << 20, 64)
        except BlockingIOError:
            return
        except OSError:
            data, messages = b"", []
        if not data:
            self._close(peer)
            return
        for _, kind, stamp in messages:
            if kind == _SO_TIMESTAMPNS:
                seconds, nanos = struct.unpack("@qq", stamp)
                peer.arrived_ns = seconds * 1_000_000_000 + nanos - self._wall_minus_monotonic_ns
        peer.buffer += data
        self._next_request(peer)

    def _next_request(self, peer: _Peer) -> None:
        try:
            while peer.stream is None and peer.open and (request := take_request(peer.buffer)) is not None:
                self._answer(peer, request, time.monotonic_ns())
        except (BadRequestError, SpecError, orjson.JSONDecodeError) as error:
            self._reply(peer, 400, {"error": {"message": str(error), "code": 400}}, keep=False)

    def _answer(self, peer: _Peer, request: Request, parsed_ns: int) -> None:
        keep = request.keeps_alive
        chat = _ROUTES.get(request.path)
        if request.method == "POST" and chat is not None:
            self._complete(peer, request, parsed_ns, chat=chat)
        elif request.path == "/truth/log":
            cpu_s = time.thread_time() - self._cpu_from_s
            self._reply(
                peer, 200, write_log(self._log, cpu_s=cpu_s, max_late_ns=self._max_late_ns), keep=keep
            )
        elif request.path == "/truth/clear" and request.method == "POST":
            self._log, self._max_late_ns, self._cpu_from_s = [], 0, time.thread_time()
            self._reply(peer, 200, {"cleared": True}, keep=keep)
        elif request.path == "/v1/models":
            self._reply(
                peer, 200, {"object": "list", "data": [{"id": self._model, "object": "model"}]}, keep=keep
            )
        elif request.path in {"/health", "/version"}:
            self._reply(peer, 200, {"status": "ok", "version": "truth"}, keep=keep)
        else:
            self._reply(peer, 404, {"error": {"message": f"no {request.method} {request.path}"}}, keep=keep)

    def _complete(self, peer: _Peer, request: Request, parsed_ns: int, *, chat: bool) -> None:
        body = orjson.loads(request.body)
        if not isinstance(body, dict):
            raise SpecError("the body must be an object")
        given = body.get("kb_truth")
        spec = read_spec(given, self._default)
        if spec.status != 200:
            message = {"error": {"message": f"status {spec.status} as asked for", "code": spec.status}}
            self._reply(peer, spec.status, message, keep=request.keeps_alive)
            return
        options = body.get("stream_options")
        options = options if isinstance(options, dict) else {}
        streams = body.get("stream") is True
        asked = body.get("max_completion_tokens") or body.get("max_tokens") or spec.tokens
        schedule = schedule_for(
            spec,
            model=str(body.get("model") or self._model),
            chat=chat,
            max_tokens=asked if isinstance(asked, int) and asked > 0 else spec.tokens,
            usage_asked=spec.usage != "none" and options.get("include_usage") is True,
            each=options.get("continuous_usage_stats") is True,
        )
        if not streams:
            schedule = _in_one_piece(schedule, spec, str(body.get("model") or self._model), chat=chat)
        number = given.get("id") if isinstance(given, dict) else None
        name = str(number or request.headers.get("x-request-id") or len(self._log))
        truth = TrueRequest(name, peer.arrived_ns, parsed_ns, [], [], prompt_tok=spec.prompt_tokens)
        truth.usage_sent = spec.usage in {"end", "each"}
        self._log.append(truth)
        stream = _Stream(
            peer, schedule, truth, request.keeps_alive and not schedule.close, first_token_ns(parsed_ns, spec)
        )
        peer.stream = stream
        heapq.heappush(self._due, (stream.due_ns(), next(self._order), stream))

    def _reply(self, peer: _Peer, status: int, content: bytes | dict[str, Any], *, keep: bool) -> None:
        body = content if isinstance(content, bytes) else orjson.dumps(content)
        close = "" if keep else "Connection: close\r\n"
        head = f"HTTP/1.1 {status} Scripted\r\nContent-Type: application/json\r\n{close}Content-Length: {len(body)}\r\n\r\n"
        peer.closing = not keep
        self._write(peer, head.encode("ascii") + body)

    # --- answers ----------------------------------------------------------------------------------------------

    def _send_due(self) -> None:
        due = self._due
        now = time.monotonic_ns()
        for _ in range(_SENDS_AT_ONCE):
            if not due or due[0][0] > now:
                return
            at_ns, order, stream = due[0]
            peer = stream.peer
            if not peer.open:
                heapq.heappop(due)
                continue
            emission: Emission = stream.schedule.emissions[stream.index]
            now = time.monotonic_ns()
            stream.truth.sends_ns.append(now)
            self._write(peer, emission.data)
            stream.truth.sends_tok.append(emission.tok)
            self._max_late_ns = max(self._max_late_ns, now - at_ns)
            stream.index += 1
            if stream.index < len(stream.schedule.emissions):
                heapq.heapreplace(due, (stream.due_ns(), order, stream))
            else:
                heapq.heappop(due)
                self._finish(stream)

    def _finish(self, stream: _Stream) -> None:
        peer = stream.peer
        peer.stream = None
        stream.truth.complete = True
        if stream.schedule.reset and peer.open:
            peer.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        if stream.keep:
            self._next_request(peer)
            return
        peer.closing = True
        if not peer.unsent:
            self._close(peer)

    def _write(self, peer: _Peer, data: bytes) -> None:
        if peer.unsent:
            peer.unsent += data
            return
        try:
            sent = peer.sock.send(data)
        except BlockingIOError:
            sent = 0
        except OSError:
            self._close(peer)
            return
        if sent < len(data):
            peer.unsent += data[sent:]
            self._epoll.modify(peer.sock.fileno(), select.EPOLLIN | select.EPOLLOUT)
        elif peer.closing and peer.stream is None:
            self._close(peer)

    def _flush(self, peer: _Peer) -> None:
        try:
            sent = peer.sock.send(peer.unsent)
        except BlockingIOError:
            return
        except OSError:
            self._close(peer)
            return
        del peer.unsent[:sent]
        if not peer.unsent:
            self._epoll.modify(peer.sock.fileno(), select.EPOLLIN)
            if peer.closing and peer.stream is None:
                self._close(peer)

    def _close(self, peer: _Peer) -> None:
        if peer.open:
            peer.open = False
            self._peers.pop(peer.sock.fileno(), None)
            peer.sock.close()


def _in_one_piece(schedule: Schedule, spec: Spec, model: str, *, chat: bool) -> Schedule:
    """Return the answer to a request that does not stream: everything at the end."""
    last = schedule.emissions[-1]
    text = spec.text * schedule.tok
    choice: dict[str, Any] = {"index": 0, "finish_reason": "length"}
    choice |= {"message": {"role": "assistant", "content": text}} if chat else {"text": text}
    usage = {
        "prompt_tokens": spec.prompt_tokens,
        "completion_tokens": schedule.tok,
        "total_tokens": spec.prompt_tokens + schedule.tok,
    }
    body = orjson.dumps({"id": "truth", "model": model, "choices": [choice], "usage": usage})
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode(
        "ascii"
    )
    one = Emission(decode=True, offset_ns=last.offset_ns, data=head + body, tok=schedule.tok)
    return Schedule((one,), close=False, reset=False, tok=schedule.tok)


def _await_stamps() -> None:
    """Return once the kernel stamps segments, or does not seem to."""
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket() as sender:
        sender.connect(listener.getsockname())
        with listener.accept()[0] as receiver:
            receiver.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
            for _ in range(50):
                sender.send(b"x")
                if receiver.recvmsg(1, 64)[1]:
                    return
                time.sleep(0.001)


def _offset_ns() -> int:
    """Return wall clock minus monotonic clock, from the quickest of three pairs of readings."""
    best: tuple[int, int] | None = None
    for _ in range(3):
        before, wall, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        if best is None or after - before < best[0]:
            best = (after - before, wall - (before + after) // 2)
    assert best is not None
    return best[1]
