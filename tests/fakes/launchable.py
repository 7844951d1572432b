"""A tiny server that speaks enough of the OpenAI API to be launched, watched and ended by tests.

Run as a program, with the standard library alone.  It can be late, leave children behind, ignore SIGTERM, listen on
another port, answer another model's name, restart itself and leak what it was given.  While it runs, a test steers
it by `POST /fake/...`: exit, rename, restart, release (the next chunk of a stream).
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

STARTED_S = time.time()


class State:
    """What a test can change, and what was counted."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.model: str = options.served_model_name
        self.chunks = threading.Semaphore(1 << 20 if not options.held else 0)
        self.requests = 0
        self.keys: Counter[str] = Counter()
        self.lock = threading.Lock()


class Handler(BaseHTTPRequestHandler):
    """Answers requests."""

    protocol_version = "HTTP/1.1"
    state: State

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class calls it so
        """Print no line for a request."""

    def do_GET(self) -> None:
        """Answer questions."""
        path = urlsplit(self.path).path
        if not self._is_ready():
            self._answer(503, {"error": "loading"})
        elif path == "/v1/models":
            models = [{"id": self.state.model, "object": "model", "max_model_len": 4096}]
            self._answer(200, {"object": "list", "data": models})
        elif path == "/metrics":
            self._text(f"process_start_time_seconds {STARTED_S}\nfake_requests_total {self.state.requests}\n")
        elif path == "/fake/counts":
            self._answer(200, {"requests": self.state.requests, "keys": dict(self.state.keys)})
        elif path in {"/health", "/server_info", "/get_server_info", "/model_info", "/get_model_info"}:
            self._answer(200, {"status": "ok", "model_path": self.state.model, "version": "fake"})
        else:
            self._answer(404, {"error": "not found"})

    def do_POST(self) -> None:
        """Generate, or do what a test asks."""
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        address = urlsplit(self.path)
        if address.path.startswith("/fake/"):
            self._steer(address.path.removeprefix("/fake/"), parse_qs(address.query))
        elif not self._is_ready():
            self._answer(503, {"error": "loading"})
        elif address.path in {"/v1/chat/completions", "/v1/completions"}:
            self._generate(json.loads(body))
        else:
            self._answer(404, {"error": "not found"})

    def _is_ready(self) -> bool:
        gate = self.state.options.ready_when
        return gate is None or Path(gate).exists()

    def _generate(self, asked: dict[str, object]) -> None:
        state = self.state
        key = self.headers.get(state.options.key_header, "")
        with state.lock:
            state.requests += 1
            state.keys[key] += 1
            cached = 32 if state.keys[key] > 1 else 0
        if asked.get("stream"):
            self._stream()
            return
        usage = {
            "prompt_tokens": 40,
            "completion_tokens": 1,
            "total_tokens": 41,
            "prompt_tokens_details": {"cached_tokens": cached},
        }
        choice = {"index": 0, "message": {"role": "assistant", "content": "a"}, "finish_reason": "stop"}
        self._answer(200, {"model": state.model, "choices": [choice], "usage": usage})

    def _stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("X-Fake-Port", str(self.state.options.listen_on or self.state.options.port))
        self.end_headers()
        for number in range(self.state.options.chunks):
            self.state.chunks.acquire()
            delta = {"index": 0, "delta": {"content": f"t{number}"}, "finish_reason": None}
            self._chunk(f"data: {json.dumps({'model': self.state.model, 'choices': [delta]})}\n\n")
        self._chunk("data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def _chunk(self, text: str) -> None:
        self.wfile.write(f"{len(text):x}\r\n{text}\r\n".encode())
        self.wfile.flush()

    def _steer(self, what: str, query: dict[str, list[str]]) -> None:
        if what == "rename":
            self.state.model = query["name"][0]
        elif what == "release":
            self.state.chunks.release()
        self._answer(200, {"done": what})
        self.wfile.flush()
        if what == "exit":
            os._exit(int(query["code"][0]))

    def _answer(self, status: int, what: dict[str, object]) -> None:
        data = json.dumps(what).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("X-Fake-Port", str(self.state.options.listen_on or self.state.options.port))
        self.end_headers()
        self.wfile.write(data)

    def _text(self, text: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def leave_children(options: argparse.Namespace) -> None:
    """Fork children that leave the group, ignore SIGTERM and outlive this program."""
    code = (
        "import os, signal, sys\n"
        "if os.fork(): os._exit(0)\n"
        "os.setsid()\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "open(sys.argv[1] + '/' + str(os.getpid()), 'w').close()\n"
        "signal.pause()\n"
    )
    environment = {} if options.forgetful_children else dict(os.environ)
    for _ in range(options.children):
        subprocess.run(
            [sys.executable, "-S", "-c", code, options.children_folder], env=environment, check=True
        )


def supervise() -> None:
    """Start the server again whenever it ends, as a container runtime with `--restart` would."""
    arguments = [each for each in sys.argv if each != "--restarts-itself"]
    while True:
        subprocess.run([sys.executable, *arguments], check=False)


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--listen-on", type=int, default=None, help="listen on this port instead")
    parser.add_argument("--served-model-name", default="fake")
    parser.add_argument("--ready-when", default=None, help="answer 503 until this file exists")
    parser.add_argument("--listen-when", default=None, help="listen only once this file exists")
    parser.add_argument("--ignore-term", action="store_true")
    parser.add_argument("--children", type=int, default=0)
    parser.add_argument("--children-folder", default=".")
    parser.add_argument("--forgetful-children", action="store_true", help="without our environment")
    parser.add_argument("--restarts-itself", action="store_true")
    parser.add_argument("--leak", action="append", default=[], help="print this variable of the environment")
    parser.add_argument("--exit-at-once", type=int, default=None)
    parser.add_argument("--chunks", type=int, default=3)
    parser.add_argument("--held", action="store_true", help="send each chunk only after POST /fake/release")
    parser.add_argument("--key-header", default="X-Session-ID")
    parser.add_argument("--chunked-prefill-size", type=int, default=2048)
    parser.add_argument("--api-key", default=None)
    return parser.parse_args()


def main() -> None:
    """Serve until told to end."""
    options = parse()
    if options.restarts_itself:
        supervise()
    say(f"arguments: {sys.argv[1:]}")
    for name in options.leak:
        say(f"{name}={os.environ.get(name, '')}")
    if options.exit_at_once is not None:
        say("out of memory, as a test asked")
        sys.exit(options.exit_at_once)
    if options.ignore_term:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    leave_children(options)
    while options.listen_when is not None and not Path(options.listen_when).exists():
        time.sleep(0.02)
    Handler.state = State(options)
    server = ThreadingHTTPServer(("127.0.0.1", options.listen_on or options.port), Handler)
    server.daemon_threads = True
    say("listening")
    server.serve_forever(poll_interval=0.05)


if __name__ == "__main__":
    main()
