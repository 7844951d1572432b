"""The scripted engine: a loopback server that does exactly what its `Script` says, well or badly.

In a test::

    with running(Script(kind="sglang", chunk_tok=(1, 3))) as engine:
        ...engine.endpoint...
        assert engine.truth()[0].output_tok == 16

As a process of its own: `python -m tests.fakes.engine '{"kind": "vllm"}'` prints its port and serves until its
standard input closes.
"""

import contextlib
import json
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

from kbtool.runner.client.outgoing import Endpoint
from tests.fakes import dialects, hostile
from tests.fakes.generation import plan_generation, prompt_tokens, stream, whole
from tests.fakes.script import Script
from tests.fakes.state import Served, State
from tests.fakes.turn import Turn
from tests.fakes.wire import Request, Wire, read_request

__all__ = ["Engine", "Script", "running"]

HOST: Final = "127.0.0.1"
_GENERATING: Final = frozenset({"/v1/chat/completions", "/v1/completions"})
_OPEN: Final = frozenset({"/health", "/metrics", "/version", "/health_generate"})
"""Paths that engines answer without a key."""


class Engine:
    """A running engine. `script` may be replaced at any time; what comes in later follows the new one."""

    def __init__(self, script: Script, *, port: int = 0) -> None:
        self.script = script
        self.port = port
        self._listen()

    def _listen(self) -> None:
        """Begin anew: no connections, no cache, counters at 0."""
        self.state = State()
        self._closing = threading.Event()
        self._threads: list[threading.Thread] = []
        self._conns: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._slots = threading.Semaphore(self.script.max_running)
        self._listener = socket.create_server((HOST, self.port), backlog=1024)
        self.port = self._listener.getsockname()[1]
        self._acceptor = threading.Thread(target=self._accept, daemon=True)
        self._acceptor.start()

    @property
    def endpoint(self) -> Endpoint:
        """Return where it listens, with its key."""
        key = self.script.api_key
        headers = (("Authorization", f"Bearer {key}"),) if key else ()
        return Endpoint(name="server", host=HOST, port=self.port, headers=headers)

    @property
    def url(self) -> str:
        """Return its address."""
        return f"http://{HOST}:{self.port}/v1"

    def truth(self) -> tuple[Served, ...]:
        """Return what was really served, in order of arrival."""
        return self.state.truth()

    def stop(self) -> None:
        """End it: nobody listens any more, and what is under way breaks off."""
        self._closing.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._acceptor.join()
        with self._lock:
            for conn in self._conns:
                with contextlib.suppress(OSError):
                    conn.shutdown(socket.SHUT_RDWR)
            threads = list(self._threads)
        for thread in threads:
            thread.join()

    def restart(self, script: Script | None = None) -> None:
        """Die and come back under the same port, with another start time, no cache and counters at 0."""
        self.stop()
        self.script = script or self.script
        self._listen()

    def _accept(self) -> None:
        while not self._closing.is_set():
            try:
                conn, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(conn,), daemon=True)
            with self._lock:
                self._threads = [each for each in self._threads if each.is_alive()]
                self._threads.append(thread)
                self._conns.add(conn)
            thread.start()

    def _serve(self, conn: socket.socket) -> None:
        try:
            with conn, contextlib.suppress(OSError):
                conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                request = read_request(conn)
                if request is not None:
                    self._answer(request, Wire(conn))
        finally:
            with self._lock:
                self._conns.discard(conn)

    def _answer(self, request: Request, wire: Wire) -> None:
        script = self.script
        self.state.seen(request.method, request.path, dict(request.headers))
        key = script.api_key
        if key and request.path not in _OPEN and request.headers.get("authorization") != f"Bearer {key}":
            wire.json(
                401, {"error": {"message": "Unauthorized", "type": "invalid_request_error", "code": 401}}
            )
        elif request.path in _GENERATING and request.method == "POST":
            self._generate(request, wire, script)
        else:
            self._inform(request, wire, script)

    def _inform(self, request: Request, wire: Wire, script: Script) -> None:
        """Answer everything but generation."""
        found = dialects.answers(script, self.state).get(request.path)
        text = dialects.metrics(script, self.state) if request.path == "/metrics" else None
        if request.path == "/v1/models":
            wire.json(200, dialects.models(script))
        elif request.path == "/health" and script.kind != "ds4":
            wire.json(200, {"status": "ok"})
        elif text is not None:
            wire.whole(200, "text/plain; version=0.0.4", text.encode())
        elif found is not None:
            wire.json(200, found)
        elif self._is_reset(request, script):
            self._reset(wire, script)
        else:
            wire.json(404, {"detail": "Not Found"})

    def _is_reset(self, request: Request, script: Script) -> bool:
        if script.kind == "vllm":
            return request.path == "/reset_prefix_cache" and request.method == "POST" and script.development
        return script.kind == "sglang" and request.path == "/flush_cache"

    def _reset(self, wire: Wire, script: Script) -> None:
        if script.kind == "sglang" and self.state.running:
            wire.json(400, {"message": "requests are running"})
            return
        if not script.resets_lie:
            self.state.forget_cache()
        wire.json(200, {"message": "Cache flushed."})

    def _generate(self, request: Request, wire: Wire, script: Script) -> None:
        read_ns = time.monotonic_ns()
        number = self.state.take_number()
        if number < script.ready_after:
            wire.json(
                503, {"error": {"message": "model is loading", "type": "unavailable_error", "code": 503}}
            )
            return
        body = json.loads(request.body)
        prompt = prompt_tokens(body)
        asked = body.get("max_tokens")
        if len(prompt) + (asked if isinstance(asked, int) else 1) > script.context_tok:
            wire.json(400, _over_context(script, len(prompt)))
            return
        free = self._queue_for_a_slot()
        served = Served(request.path, body, read_ns, begun_ns=read_ns if free else time.monotonic_ns())
        try:
            self.state.begin(served, prompt, script, use_cache=body.get("cache_prompt") is not False)
            generation = plan_generation(
                script, served, number, body, chat=request.path.endswith("chat/completions")
            )
            send = stream if generation.stream else whole
            hostile.MODES[script.mode].behave(Turn(wire, generation, self.state, self._closing, send))
        finally:
            self.state.leave(served, script)
            self._slots.release()

    def _queue_for_a_slot(self) -> bool:
        """Wait for a slot; return whether one was free at once."""
        if self._slots.acquire(blocking=False):
            self.state.move(1, 0)
            return True
        self.state.move(0, 1)
        try:
            while not self._slots.acquire(timeout=0.05):
                if self._closing.is_set():
                    raise ConnectionAbortedError
        finally:
            self.state.move(0, -1)
        self.state.move(1, 0)
        return False


def _over_context(script: Script, prompt_tok: int) -> dict[str, object]:
    """Return the refusal of a prompt that is too long, in the words of each engine."""
    if script.kind == "ds4":
        message = (
            f"Prompt has {prompt_tok} tokens, but the configured context size is {script.context_tok} tokens"
        )
        more: dict[str, object] = {"code": "context_length_exceeded", "n_prompt_tokens": prompt_tok}
    elif script.kind == "llama_cpp":
        message = "the request exceeds the available context size, try increasing it"
        more = {"code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": prompt_tok}
    else:
        message = f"This model's maximum context length is {script.context_tok} tokens."
        more = {"code": 400, "type": "BadRequestError"}
    return {"error": {"message": message, **more}}


@contextmanager
def running(script: Script | None = None, *, port: int = 0) -> Iterator[Engine]:
    """Run an engine until the block ends."""
    engine = Engine(script or Script(), port=port)
    try:
        yield engine
    finally:
        engine.stop()


def _script(text: str) -> Script:
    """Read a script from JSON; lists become the tuples that it is made of."""
    said = json.loads(text)
    values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in said.items()}
    return replace(Script(), **values)


def main() -> None:
    """Serve the script of the first argument until standard input closes."""
    said = sys.argv[1] if len(sys.argv) > 1 else "{}"
    port = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    with running(_script(said), port=port) as engine:
        print(engine.port, flush=True)  # noqa: T201 - whoever started it waits for the port
        sys.stdin.read()


if __name__ == "__main__":
    main()
