"""Small HTTP for what is not measured: every kind of no is told apart."""

import socket
import threading

import pytest

from kbtool.runner.client import Endpoint, control
from tests.runner.client.peer import Answer, never, serving


def saying(data: bytes) -> Answer:
    """Return an answer of these bytes."""

    def answer(sock: socket.socket, request: bytes, number: int) -> None:  # noqa: ARG001
        sock.sendall(data)

    return answer


def test_an_answer_is_status_headers_and_body() -> None:
    """In chunks, with a length, or until the end."""
    answers = [
        b'HTTP/1.1 200 OK\r\nX-A: b\r\nContent-Length: 7\r\n\r\n{"a":1}',
        b'HTTP/1.1 200 OK\r\nX-A: b\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{"a\r\n4\r\n":1}\r\n0\r\n\r\n',
        b'HTTP/1.1 200 OK\r\nX-A: b\r\n\r\n{"a":1}',
    ]
    for data in answers:
        with serving(saying(data)) as peer:
            answer = control.get(peer.endpoint(), "/v1/models")
        assert (answer.status, answer.header("x-a"), answer.json()) == (200, "b", {"a": 1})
        assert answer.elapsed_ns > 0


def test_a_body_is_sent_as_json_with_the_endpoints_headers() -> None:
    """The same headers as with measured requests."""
    with serving(saying(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n")) as peer:
        endpoint = peer.endpoint(headers=(("Authorization", "Bearer k"),), base_path="/p")
        assert control.post_json(endpoint, "/flush", {"a": 1}).status == 404
    assert peer.requests[0].startswith(b"POST /p/flush HTTP/1.1\r\n")
    assert b"Authorization: Bearer k\r\n" in peer.requests[0]
    assert peer.requests[0].endswith(b'{"a":1}')


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n", control.UnauthorizedError),
        (b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n", control.ForbiddenError),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort", control.BadAnswerError),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n", control.BadAnswerError),
        (b"220 mail.example ESMTP\r\n", control.BadAnswerError),
        (b"", control.BadAnswerError),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 5000, control.TooLargeError),
    ],
)
def test_every_kind_of_no_is_told_apart(data: bytes, error: type[control.ControlError]) -> None:
    """And each is a `ControlError` that names the URL and never the key."""
    with serving(saying(data)) as peer:
        endpoint = peer.endpoint(headers=(("Authorization", "Bearer sk-secret"),))
        with pytest.raises(error) as caught:
            control.get(endpoint, "/x", max_bytes=2000)
    assert type(caught.value) is error
    assert f"127.0.0.1:{peer.port}/x" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_redirect_is_not_followed() -> None:
    """A key would go along; the answer is handed over as it is."""
    with serving(
        saying(b"HTTP/1.1 302 F\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n")
    ) as peer:
        assert control.get(peer.endpoint(), "/").status == 302


def test_no_proxy_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the environment says."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    with serving(saying(b"HTTP/1.1 200 OK\r\n\r\n")) as peer:
        assert control.get(peer.endpoint(), "/").status == 200


def test_a_refused_connection_is_no_timeout() -> None:
    """Nothing listens: start the server."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(control.RefusedConnectionError):
        control.get(Endpoint("e", "127.0.0.1", port), "/")
    with pytest.raises(control.UnreachableError):
        control.get(Endpoint("e", "no-such-host.invalid", 80), "/")


def test_a_silent_server_is_given_up() -> None:
    """Also one that sends a byte now and then."""
    release = threading.Event()

    def drip(sock: socket.socket, request: bytes, number: int) -> None:  # noqa: ARG001
        while not release.wait(0.02):
            sock.sendall(b"H")

    for answer in (never(release), drip):
        with serving(answer) as peer:
            with pytest.raises(control.TimedOutError):
                control.get(peer.endpoint(), "/", timeout_s=0.2)
            release.set()
        release.clear()


def test_what_is_no_json_says_what_it_is() -> None:
    """With status and beginning, for the reader of the message."""
    with serving(saying(b"HTTP/1.1 200 OK\r\n\r\n<html>")) as peer:
        answer = control.get(peer.endpoint(), "/")
    with pytest.raises(control.NotJsonError, match="<html>"):
        answer.json()
