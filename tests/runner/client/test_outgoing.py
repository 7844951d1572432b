"""Requests as bytes, and what may not get into them."""

import pytest

from kbtool.errors import UsageError
from kbtool.runner.client import Endpoint, Outgoing, build_request


def test_a_request_is_finished_before_its_clock() -> None:
    """Everything that HTTP needs is there, and nothing that would change the answer's form."""
    endpoint = Endpoint("e", "host", 8000, base_path="/api", headers=(("Authorization", "Bearer k"),))
    head, _, body = build_request(endpoint, "/v1/completions", {"prompt": "é"}).partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert lines[0] == "POST /api/v1/completions HTTP/1.1"
    assert "Host: host:8000" in lines
    assert "Authorization: Bearer k" in lines
    assert "Connection: close" in lines
    assert "Accept-Encoding: identity" in lines
    assert f"Content-Length: {len(body)}" in lines
    assert body == '{"prompt":"é"}'.encode()


def test_an_ipv6_address_is_bracketed() -> None:
    """As the `Host` header wants it."""
    assert Endpoint("e", "::1", 80).authority == "[::1]:80"


@pytest.mark.parametrize(
    "changes",
    [
        {"host": "a b"},
        {"host": "h\r\nX: y"},
        {"port": 0},
        {"port": 70000},
        {"base_path": "v1"},
        {"base_path": "/v1/"},
        {"base_path": "/v1 HTTP/1.1\r\n"},
        {"headers": (("X\r\nY", "v"),)},
        {"headers": (("Content-Length", "5"),)},
        {"headers": (("host", "other"),)},
        {"headers": (("Authorization", "Bearer sk-secret\r\nX: y"),)},
        {"headers": (("Authorization", "Bearer sk-secret\u20ac"),)},
    ],
)
def test_what_would_change_the_shape_of_a_request_is_refused(changes: dict[str, object]) -> None:
    """And the message never shows the value of a header."""
    members: dict[str, object] = {"name": "e", "host": "h", "port": 80, **changes}
    with pytest.raises(UsageError) as caught:
        Endpoint(**members)  # type: ignore[arg-type]  # wrong on purpose
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("path", ["v1", "/v1 x", "/v1\r\nX: y", ""])
def test_a_path_must_be_one(path: str) -> None:
    """No blank, no line end, and a slash in front."""
    with pytest.raises(UsageError):
        build_request(Endpoint("e", "h", 1), path, {})


def test_a_body_must_be_json() -> None:
    """A mistake of ours, said with the path."""
    with pytest.raises(UsageError, match="/v1"):
        build_request(Endpoint("e", "h", 1), "/v1", {"a": object()})


def test_secrets_are_in_no_repr() -> None:
    """Neither the endpoint's headers nor the bytes of a request are shown."""
    endpoint = Endpoint("e", "h", 1, headers=(("Authorization", "Bearer sk-secret"),))
    request = Outgoing("r", endpoint, "m", 1, build_request(endpoint, "/v1", {}))
    assert "secret" not in repr(request)
