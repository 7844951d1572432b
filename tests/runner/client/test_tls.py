"""TLS in the same loop: exact bytes, our own times, and no connection to the wrong one."""

import shutil
import socket
import ssl
import subprocess
from pathlib import Path

import pytest

from kbtool.runner.client import Limits, control, exchange, parse
from kbtool.runner.trace import ClockSource, Outcome
from tests.runner.client.peer import Listed, good_answer, outgoing, serving


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return certificate and key for 127.0.0.1, made for this run."""
    program = shutil.which("openssl")
    if program is None:
        pytest.fail("openssl is missing: install it, it makes the certificate for this test", pytrace=False)
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    command = [program, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-out", str(cert), "-keyout", str(key)]
    subprocess.run(command, check=True, capture_output=True)
    return cert, key


def context(certificate: tuple[Path, Path]) -> ssl.SSLContext:
    """Return the server's side."""
    found = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    found.load_cert_chain(*certificate)
    return found


def test_requests_under_tls_are_recorded_with_our_own_times(certificate: tuple[Path, Path]) -> None:
    """The kernel sees no plain text, so its stamps are not used, and the trace says so."""
    with serving(context=context(certificate)) as peer:
        endpoint = peer.endpoint(tls=True, tls_ca_file=str(certificate[0]))
        requests = [outgoing(endpoint, f"r{n}") for n in range(12)]
        result = exchange(Listed(requests, 3), limits=Limits(total_s=20))
        traces = [parse(recorded) for recorded in result.recorded]
    assert [trace.outcome for trace in traces] == [Outcome.OK] * 12
    assert {trace.clock for trace in traces} == {ClockSource.USER}
    assert result.health.clock is ClockSource.USER
    assert all(recorded.raw == good_answer() for recorded in result.recorded)


def test_a_large_prompt_and_a_large_answer_pass_through_tls(certificate: tuple[Path, Path]) -> None:
    """More than one record and more than one buffer, both ways."""
    large = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + b": " + b"y" * 3_000_000 + b"\n\n"

    def answer(sock: socket.socket, request: bytes, number: int) -> None:  # noqa: ARG001
        sock.sendall(large)

    with serving(answer, context(certificate)) as peer:
        endpoint = peer.endpoint(tls=True, tls_ca_file=str(certificate[0]))
        payload = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 8000000\r\n\r\n" + b"x" * 8_000_000
        result = exchange(Listed([outgoing(endpoint, payload=payload)]), limits=Limits(total_s=20))
    assert peer.requests == [payload]
    assert result.recorded[0].raw == large


def test_a_certificate_that_nobody_vouches_for_is_a_failed_connection(certificate: tuple[Path, Path]) -> None:
    """The request, and the key in it, never leave."""
    with serving(context=context(certificate)) as peer:
        result = exchange(Listed([outgoing(peer.endpoint(tls=True))]), limits=Limits(total_s=20))
        with pytest.raises(control.UnreachableError, match="CERTIFICATE"):
            control.get(peer.endpoint(tls=True), "/")
    trace = parse(result.recorded[0])
    assert trace.outcome is Outcome.CONNECT_FAILED
    assert "certificate" in trace.detail.lower()
    assert peer.requests == []


def test_control_speaks_tls(certificate: tuple[Path, Path]) -> None:
    """With the same certificate file."""
    with serving(context=context(certificate)) as peer:
        endpoint = peer.endpoint(tls=True, tls_ca_file=str(certificate[0]))
        assert control.get(endpoint, "/").status == 200
