"""The smallest server that speaks the streaming API, on loopback, in threads of the test's own process."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from kbtool.runner.client import Endpoint
from tests.runner.prompts.vocabulary import tokens


@dataclass(slots=True)
class Seen:
    """What the server was asked, in the order in which it read it."""

    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    most_at_once: int = 0
    at_once: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


def _answer(body: dict[str, Any]) -> bytes:
    """Return a whole stream: role, one event a token, finish, usage and end mark."""
    chat = "messages" in body
    n = body["max_tokens"]
    text = "".join(m["content"] for m in body["messages"]) if chat else body["prompt"]

    def event(choice: dict[str, Any] | None, usage: dict[str, int] | None = None) -> str:
        said = {"model": body["model"], "choices": [] if choice is None else [{"index": 0, **choice}]}
        return f"data: {json.dumps(said | ({'usage': usage} if usage else {}))}\n\n"

    events = [event({"delta": {"role": "assistant"}, "finish_reason": None})] if chat else []
    for at in range(n):
        word = f"w{at} "
        part = {"delta": {"content": word}} if chat else {"text": word}
        events.append(event({**part, "finish_reason": None}))
    events.append(event({**({"delta": {}} if chat else {"text": ""}), "finish_reason": "length"}))
    prompt_tok = 12 + tokens(text)
    usage = {"prompt_tokens": prompt_tok, "completion_tokens": n, "total_tokens": prompt_tok + n}
    return "".join([*events, event(None, usage), "data: [DONE]\n\n"]).encode()


@contextmanager
def tiny_server(name: str = "tiny") -> Iterator[tuple[Endpoint, Seen]]:
    """Serve until the block is left; gives the endpoint and what was asked."""
    seen = Seen()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            with seen.lock:
                seen.at_once += 1
                seen.most_at_once = max(seen.most_at_once, seen.at_once)
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with seen.lock:
                seen.bodies.append(body)
                seen.headers.append(dict(self.headers))
            answer = _answer(body)
            with seen.lock:
                seen.at_once -= 1
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        # Spare connections that are never used end with the client, and their threads with them.
        daemon_threads = True
        request_queue_size = 128

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield Endpoint(name, "127.0.0.1", server.server_address[1]), seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
