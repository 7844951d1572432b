"""The truth server as a process: what it sends, and what it says of it."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kbtool.runner.truth import Spec, TrueRequest, TruthServer, read_log


@pytest.fixture(scope="module")
def server() -> Iterator[TruthServer]:
    """Start one for all tests of this file."""
    with TruthServer(default=Spec(tokens=4, ttft_ms=5, step_ms=5)) as running:
        yield running


def ask(server: TruthServer, method: str, path: str, body: object = None, *, close: bool = True) -> bytes:
    """Return the raw answer, until the server closes."""
    content = b"" if body is None else json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: h\r\nContent-Length: {len(content)}\r\n"
    head += "Connection: close\r\n\r\n" if close else "\r\n"
    with socket.create_connection((server.host, server.port), timeout=20) as sock:
        sock.sendall(head.encode() + content)
        answer = b""
        while more := sock.recv(65536):
            answer += more
    return answer


def complete(server: TruthServer, name: str, **truth: Any) -> bytes:
    """Ask for a streamed completion."""
    body = {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "kb_truth": {"id": name, **truth},
    }
    return ask(server, "POST", "/v1/chat/completions", body)


def log(server: TruthServer) -> dict[str, TrueRequest]:
    """Return the log by request."""
    content = ask(server, "GET", "/truth/log").partition(b"\r\n\r\n")[2]
    return {request.id: request for request in read_log(content)}


def test_every_send_is_logged_with_its_tokens(server: TruthServer) -> None:
    """In order, from the arrival of the request on, and on the clock of steps."""
    answer = complete(server, "a", pattern=[1, 3])
    assert answer.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n")
    true = log(server)["a"]
    assert true.complete
    assert [n for _, n in true.token_sends] == [1, 3]
    assert true.arrived_ns is not None
    times = [true.arrived_ns, true.parsed_ns, *true.sends_ns]
    assert times == sorted(times)
    assert true.token_sends[0][0] - true.parsed_ns >= 5_000_000


def test_a_scripted_status_and_a_mistake_are_answered(server: TruthServer) -> None:
    """With an error object each."""
    assert complete(server, "b", status=503).startswith(b"HTTP/1.1 503 ")
    assert complete(server, "c", tokns=3).startswith(b"HTTP/1.1 400 ")
    assert ask(server, "GET", "/nowhere").startswith(b"HTTP/1.1 404 ")


def test_an_abort_is_no_complete_answer(server: TruthServer) -> None:
    """The connection ends in the middle."""
    answer = complete(server, "d", abort_after=2)
    assert b"[DONE]" not in answer
    assert log(server)["d"].tok == 2


def test_a_request_that_does_not_stream_is_answered_in_one_piece(server: TruthServer) -> None:
    """For clients that ask once before they measure."""
    answer = ask(server, "POST", "/v1/completions", {"model": "m", "prompt": "p", "max_tokens": 3})
    value = json.loads(answer.partition(b"\r\n\r\n")[2])
    assert value["usage"]["completion_tokens"] == 3


def test_a_connection_is_kept_for_clients_that_want_that(server: TruthServer) -> None:
    """Two requests, one connection."""
    get = b"GET /v1/models HTTP/1.1\r\nHost: h\r\n\r\n"
    with socket.create_connection((server.host, server.port), timeout=20) as sock:
        sock.sendall(get + get.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        answer = b""
        while more := sock.recv(65536):
            answer += more
    assert answer.count(b"HTTP/1.1 200") == 2


def test_the_log_can_be_emptied(server: TruthServer) -> None:
    """Between two rounds."""
    complete(server, "e")
    ask(server, "POST", "/truth/clear", {})
    assert log(server) == {}


def test_a_log_of_another_version_is_refused() -> None:
    """A reader that guesses would calibrate wrongly."""
    with pytest.raises(ValueError, match="version 1"):
        read_log(b'{"version": 2, "requests": []}')


def test_the_server_ends_with_whoever_started_it() -> None:
    """Closing its stdin is enough."""
    with TruthServer() as running:
        status = Path(f"/proc/{running.pid}/status")
        assert status.exists()
    assert not status.exists()
