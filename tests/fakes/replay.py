"""A server that gives recorded answers: what the files in `tests/fixtures/engines` hold, and 404 for all else."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from kbtool.runner.client.outgoing import Endpoint

__all__ = ["FIXTURES", "Answers", "answers_of", "replaying"]

FIXTURES: Final = Path(__file__).resolve().parent.parent / "fixtures" / "engines"


@dataclass(slots=True)
class Answers:
    """What to answer: status and body by method and path; a body that is no text is sent as JSON."""

    by_path: dict[str, tuple[int, object]]
    asked: list[str] = field(default_factory=list)
    """Method and path of each request, a query included."""


def answers_of(name: str) -> Answers:
    """Return the answers of one engine."""
    found = json.loads((FIXTURES / f"{name}.json").read_text(encoding="utf-8"))
    answers = {path: (each["status"], each["body"]) for path, each in found["answers"].items()}
    if found["metrics"]:
        answers["GET /metrics"] = (200, (FIXTURES / found["metrics"]).read_text(encoding="utf-8"))
    return Answers(answers)


@contextmanager
def replaying(answers: Answers) -> Iterator[Endpoint]:
    """Serve answers until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            answers.asked.append(f"{self.command} {self.path}")
            known = f"{self.command} {self.path.partition('?')[0]}"
            status, body = answers.by_path.get(known, (404, {"detail": "Not Found"}))
            data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = _answer  # noqa: N815 - the names are the base class's
        do_POST = _answer  # noqa: N815

        def log_message(self, *_: Any) -> None:
            """Keep quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield Endpoint("server", "127.0.0.1", server.server_port)
        finally:
            server.shutdown()
            thread.join()
