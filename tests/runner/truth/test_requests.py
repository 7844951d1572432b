"""HTTP requests as the truth server reads them."""

import pytest

from kbtool.runner.truth.requests import BadRequestError, take_request


def test_requests_are_taken_one_by_one() -> None:
    """What belongs to the next stays in the buffer."""
    buffer = bytearray(
        b"POST /a HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}GET /b HTTP/1.1\r\nConnection: close\r\n\r\n"
    )
    first, second = take_request(buffer), take_request(buffer)
    assert first is not None
    assert second is not None
    assert (first.path, first.body, first.keeps_alive) == ("/a", b"{}", True)
    assert (second.path, second.keeps_alive) == ("/b", False)
    assert not buffer


def test_half_a_request_is_waited_for() -> None:
    """Head or body."""
    assert take_request(bytearray(b"GET / HT")) is None
    assert take_request(bytearray(b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nabc")) is None


@pytest.mark.parametrize(
    "data",
    [
        b"nonsense\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"GET / HTTP/1.1\r\nA: " + b"x" * 70000,
    ],
)
def test_what_it_does_not_understand_is_refused(data: bytes) -> None:
    """It is no general server."""
    with pytest.raises(BadRequestError):
        take_request(bytearray(data))
