"""The loop against real sockets: what it sends, records, ends and counts."""

import gc
import socket
import struct
import threading
from collections.abc import Iterable
from time import monotonic_ns

from kbtool.runner.client import (
    Endpoint,
    Exchange,
    Interrupt,
    Limits,
    Outgoing,
    Progress,
    Recorded,
    Send,
    exchange,
    parse,
)
from kbtool.runner.trace import ClockSource, Outcome
from tests.runner.client.peer import HEAD, Listed, chunked, good_answer, never, outgoing, serving, text_event

QUICK = Limits(connect_s=5, first_byte_s=20, progress_s=20, total_s=20)


def run_one(endpoint: Endpoint, limits: Limits = QUICK) -> Exchange:
    """Send one request."""
    return exchange(Listed([outgoing(endpoint)]), limits=limits)


def outcomes(result: Exchange) -> list[Outcome]:
    """Return the verdicts."""
    return [parse(recorded).outcome for recorded in result.recorded]


def test_a_request_is_sent_as_built_and_recorded_with_kernel_times() -> None:
    """The bytes sent are those of the payload, and times come in the order in which things happened."""
    with serving() as peer:
        request = outgoing(peer.endpoint())
        result = exchange(Listed([request]), limits=QUICK)
    assert peer.requests == [request.payload]
    trace = parse(result.recorded[0])
    assert trace.outcome is Outcome.OK
    assert trace.clock is ClockSource.KERNEL
    stamps = [trace.connect_start_ns, trace.connected_ns, trace.sent_ns, trace.first_byte_ns, trace.done_ns]
    assert all(stamp is not None for stamp in stamps)
    assert stamps == sorted(stamps, key=lambda stamp: stamp or 0)
    assert result.recorded[0].raw == good_answer()
    assert result.health.segments >= 1
    assert result.health.events == 4


def test_each_request_has_a_connection_of_its_own_opened_before_its_clock() -> None:
    """Connections are as many as requests or more, and each was connected before its request left."""
    with serving() as peer:
        result = exchange(Listed([outgoing(peer.endpoint(), f"r{n}") for n in range(20)], 4), limits=QUICK)
    assert outcomes(result) == [Outcome.OK] * 20
    assert peer.accepted >= 20
    for recorded in result.recorded:
        assert recorded.connected_ns is not None
        assert recorded.sent_ns is not None
        assert recorded.connected_ns <= recorded.sent_ns


def test_no_spare_is_kept_where_the_endpoint_wants_none() -> None:
    """With no spares allowed there are exactly as many connections as requests."""
    with serving() as peer:
        endpoint = peer.endpoint(spare_connections=0)
        result = exchange(Listed([outgoing(endpoint, f"r{n}") for n in range(6)], 2), limits=QUICK)
    assert outcomes(result) == [Outcome.OK] * 6
    assert peer.accepted == 6


def test_the_first_requests_leave_when_all_their_connections_are_open() -> None:
    """No request of the first batch leaves before the last connection of it is open."""
    with serving() as peer:
        result = exchange(Listed([outgoing(peer.endpoint(), f"r{n}") for n in range(12)], 12), limits=QUICK)
    connected = [recorded.connected_ns or 0 for recorded in result.recorded]
    sent = [recorded.sent_ns or 0 for recorded in result.recorded]
    assert max(connected) <= min(sent)


def test_a_scheduled_request_leaves_when_it_is_due() -> None:
    """It leaves not before its time, and how late it was is counted."""
    with serving() as peer:
        due: list[int] = []

        class Scheduled(Listed):
            def begin(self, now_ns: int) -> Iterable[Send]:
                due.append(now_ns + 300_000_000)
                return [Send(due[0], self.left.pop())]

        result = exchange(Scheduled([outgoing(peer.endpoint())]), limits=QUICK)
    sent_ns = result.recorded[0].sent_ns
    assert sent_ns is not None
    assert sent_ns >= due[0]
    assert result.health.send_late_max_ns == sent_ns - due[0]
    assert result.recorded[0].connected_ns is not None
    assert result.recorded[0].connected_ns < due[0]


def test_a_server_that_keeps_the_connection_open_is_not_waited_for() -> None:
    """A whole body in chunks ends the request although the connection stays open."""
    release = threading.Event()

    def answer(sock: socket.socket, request: bytes, number: int) -> None:  # noqa: ARG001
        sock.sendall(good_answer())
        release.wait(20)

    with serving(answer) as peer:
        result = run_one(peer.endpoint())
        release.set()
    assert outcomes(result) == [Outcome.OK]


def test_a_body_of_known_length_ends_with_its_last_byte() -> None:
    """`Content-Length` ends the request although the connection stays open."""
    release = threading.Event()

    def answer(sock: socket.socket, request: bytes, number: int) -> None:  # noqa: ARG001
        sock.sendall(b"HTTP/1.1 400 Bad\r\nContent-Le")
        sock.sendall(b"ngth: 5\r\n\r\nwrong")
        release.wait(20)

    with serving(answer) as peer:
        result = run_one(peer.endpoint())
        release.set()
    assert outcomes(result) == [Outcome.HTTP_ERROR]


def test_a_prompt_of_megabytes_is_sent_in_parts() -> None:
    """What the kernel does not take at once follows, and t0 is that of the first byte."""
    with serving() as peer:
        endpoint = peer.endpoint()
        body = b"x" * (24 * 1024 * 1024)
        head = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % len(body)
        result = exchange(Listed([outgoing(endpoint, payload=head + body)]), limits=QUICK)
    assert outcomes(result) == [Outcome.OK]
    assert len(peer.requests[0]) == len(head) + len(body)
    recorded = result.recorded[0]
    assert recorded.sent_ns is not None
    assert recorded.sent_all_ns is not None
    assert recorded.sent_ns < recorded.sent_all_ns
    assert result.health.blocked_sends == 1
    assert recorded.outgoing.payload == b""


def test_an_answer_to_a_request_that_was_not_read_is_heard() -> None:
    """A server that refuses a large prompt before having read it is understood."""

    def refuse(listener: socket.socket) -> None:
        sock, _ = listener.accept()
        with sock:
            sock.recv(1000)
            sock.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
            sock.shutdown(socket.SHUT_WR)
            while sock.recv(1 << 20):
                pass

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=refuse, args=(listener,))
        thread.start()
        endpoint = Endpoint("e", "127.0.0.1", listener.getsockname()[1], spare_connections=0)
        result = exchange(Listed([outgoing(endpoint, payload=b"x" * (16 << 20))]), limits=QUICK)
        thread.join()
    assert outcomes(result) == [Outcome.HTTP_ERROR]


def test_a_refused_connection_is_tried_once_more_and_then_a_failure() -> None:
    """Both tries fail, one retry is counted, and the driver is told."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    driver = Listed([outgoing(Endpoint("e", "127.0.0.1", port))])
    result = exchange(driver, limits=QUICK)
    trace = parse(result.recorded[0])
    assert trace.outcome is Outcome.CONNECT_FAILED
    assert trace.retries == 1
    assert trace.sent_ns is None
    assert "refused" in trace.detail.lower()
    assert len(driver.told) == 1
    assert result.health.connect_retries == 1


def test_a_name_without_address_is_a_failed_connection() -> None:
    """A host that does not exist is a failure of the request, not of the run."""
    result = run_one(Endpoint("e", "no-such-host.invalid", 80))
    assert outcomes(result) == [Outcome.CONNECT_FAILED]


def test_a_connection_that_does_not_come_about_runs_into_its_deadline() -> None:
    """A full queue of connections answers nothing: the deadline ends it, twice."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        fillers = [socket.socket() for _ in range(8)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        endpoint = Endpoint("e", "127.0.0.1", listener.getsockname()[1])
        result = run_one(endpoint, Limits(connect_s=0.1))
        for filler in fillers:
            filler.close()
    assert outcomes(result) == [Outcome.CONNECT_TIMEOUT]
    assert result.recorded[0].retries == 1


def test_a_server_that_says_nothing_runs_into_the_first_deadline() -> None:
    """No byte within the time for the first byte."""
    release = threading.Event()
    with serving(never(release)) as peer:
        result = run_one(peer.endpoint(), Limits(first_byte_s=0.1))
        release.set()
    assert outcomes(result) == [Outcome.FIRST_BYTE_TIMEOUT]


def test_comments_are_no_progress() -> None:
    """A stream that is kept alive by comments alone stalls."""
    release = threading.Event()

    def answer(sock: socket.socket, request: bytes, number: int) -> None:  # noqa: ARG001
        sock.sendall(HEAD + chunked(text_event()))
        while not release.wait(0.01):
            sock.sendall(chunked(b": working\n\n"))

    with serving(answer) as peer:
        result = run_one(peer.endpoint(), Limits(first_byte_s=20, progress_s=0.2))
        release.set()
    trace = parse(result.recorded[0])
    assert trace.outcome is Outcome.STALLED
    assert trace.text == "x"
    assert trace.done_ns is None


def test_tokens_without_end_run_into_the_deadline_for_everything() -> None:
    """A stream that goes on and on is ended, and what came is kept."""
    release = threading.Event()

    def answer(sock: socket.socket, request: bytes, number: int) -> None:  # noqa: ARG001
        sock.sendall(HEAD)
        while not release.wait(0.01):
            sock.sendall(chunked(text_event()))

    with serving(answer) as peer:
        result = run_one(peer.endpoint(), Limits(total_s=0.4))
        release.set()
    trace = parse(result.recorded[0])
    assert trace.outcome is Outcome.TOTAL_TIMEOUT
    assert trace.done_ns is None


def test_a_body_without_end_is_cut() -> None:
    """More bytes than allowed end the request."""

    def answer(sock: socket.socket, request: bytes, number: int) -> None:  # noqa: ARG001
        sock.sendall(HEAD)
        while True:
            sock.sendall(chunked(b": " + b"x" * 60000 + b"\n\n"))

    with serving(answer) as peer:
        result = run_one(peer.endpoint(), Limits(body_bytes=500_000))
    assert outcomes(result) == [Outcome.BODY_TOO_LONG]
    assert len(result.recorded[0].raw) < 700_000


def test_all_answers_together_are_cut() -> None:
    """The bytes of a round are bounded, whatever the number of streams."""

    def answer(sock: socket.socket, request: bytes, number: int) -> None:  # noqa: ARG001
        sock.sendall(HEAD)
        while True:
            sock.sendall(chunked(b": " + b"x" * 60000 + b"\n\n"))

    with serving(answer) as peer:
        requests = [outgoing(peer.endpoint(), f"r{n}") for n in range(4)]
        result = exchange(Listed(requests, 4), limits=Limits(round_bytes=1_000_000))
    assert outcomes(result) == [Outcome.BODY_TOO_LONG] * 4


def test_a_reset_is_named_so() -> None:
    """A connection that is reset in the middle of an answer is no truncated answer."""

    def reset(sock: socket.socket, request: bytes, number: int) -> None:  # noqa: ARG001
        sock.sendall(HEAD + chunked(text_event()))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    with serving(reset) as peer:
        result = run_one(peer.endpoint())
    assert outcomes(result)[0] is Outcome.RESET


def test_closing_without_an_answer_is_truncated() -> None:
    """No byte came: that is said."""
    with serving(lambda *_: None) as peer:
        result = run_one(peer.endpoint())
    trace = parse(result.recorded[0])
    assert trace.outcome is Outcome.TRUNCATED
    assert "0 bytes" in trace.detail


def test_interrupting_now_cancels_what_is_in_flight_and_gives_the_rest_back() -> None:
    """Every request comes back once: cancelled, or not sent."""
    release = threading.Event()
    wish: list[Interrupt] = []

    def answer(sock: socket.socket, request: bytes, number: int) -> None:  # noqa: ARG001
        sock.sendall(HEAD + chunked(text_event()))
        wish.append(Interrupt.NOW)
        release.wait(20)

    class Late(Listed):
        def begin(self, now_ns: int) -> Iterable[Send]:
            far = outgoing(self.left[0].endpoint, "later")
            return [*super().begin(now_ns), Send(now_ns + 3600 * 10**9, far)]

    with serving(answer) as peer:
        driver = Late([outgoing(peer.endpoint(), f"r{n}") for n in range(2)], 2)
        result = exchange(driver, limits=QUICK, interrupt=lambda: wish[0] if wish else None)
        release.set()
    found = {recorded.outgoing.id: parse(recorded).outcome for recorded in result.recorded}
    assert found == {"r0": Outcome.CANCELLED, "r1": Outcome.CANCELLED, "later": Outcome.NOT_SENT}
    assert {recorded.outgoing.id for recorded in driver.told} == {"r0", "r1"}


def test_draining_lets_what_is_in_flight_come_to_its_end() -> None:
    """After the wish to drain nothing more is sent, and the answer in flight is whole."""
    drained = threading.Event()
    wish: list[Interrupt] = []

    def answer(sock: socket.socket, request: bytes, number: int) -> None:  # noqa: ARG001
        wish.append(Interrupt.DRAIN)
        drained.wait(20)
        sock.sendall(good_answer())

    def interrupt() -> Interrupt | None:
        if wish:
            drained.set()
            return wish[0]
        return None

    with serving(answer) as peer:
        driver = Listed([outgoing(peer.endpoint(), f"r{n}") for n in range(5)])
        result = exchange(driver, limits=QUICK, interrupt=interrupt)
    assert outcomes(result) == [Outcome.OK]
    assert len(peer.requests) == 1


def test_a_driver_that_stops_gets_its_scheduled_requests_back_unsent() -> None:
    """What had been given and not been sent is recorded as such, and the driver is not told again."""
    with serving() as peer:

        class Stopping(Listed):
            def begin(self, now_ns: int) -> Iterable[Send]:
                return [Send(now_ns, self.left[0]), Send(now_ns + 3600 * 10**9, self.left[1])]

            def ended(self, recorded: Recorded, now_ns: int) -> Iterable[Send]:  # noqa: ARG002
                self.told.append(recorded)
                self.stopped = True
                return []

        driver = Stopping([outgoing(peer.endpoint(), "r0"), outgoing(peer.endpoint(), "r1")])
        result = exchange(driver, limits=QUICK)
    assert outcomes(result) == [Outcome.OK, Outcome.NOT_SENT]
    assert len(driver.told) == 1


def test_a_spare_that_the_server_closed_is_not_used() -> None:
    """A request never goes on a connection that the server has closed in the meantime."""

    def serve(listener: socket.socket) -> None:
        first, _ = listener.accept()
        with first:
            first.recv(65536)
            spare, _ = listener.accept()
            spare.close()
            first.sendall(good_answer())
        second, _ = listener.accept()
        with second:
            second.recv(65536)
            second.sendall(good_answer())

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        endpoint = Endpoint("e", "127.0.0.1", listener.getsockname()[1])
        result = exchange(Listed([outgoing(endpoint, f"r{n}") for n in range(2)]), limits=QUICK)
        thread.join()
    assert outcomes(result) == [Outcome.OK] * 2
    assert result.health.spares_lost == 1


def test_an_exchange_without_requests_is_empty() -> None:
    """Nothing to send is nothing recorded, and a healthy client."""
    result = exchange(Listed([]), limits=QUICK)
    assert result.recorded == ()
    assert result.health.segments == 0


def test_progress_is_told() -> None:
    """A display is told of what is in flight and of failures."""
    seen: list[Progress] = []
    with serving(lambda *_: None) as peer:
        exchange(Listed([outgoing(peer.endpoint())]), limits=QUICK, watch=seen.append)
    assert seen
    assert seen[-1].now_ns <= monotonic_ns()


def test_the_collector_is_left_alone_and_comes_back() -> None:
    """During the exchange no collection runs; afterwards all is as before, whatever was raised."""
    states: list[bool] = []

    class Failing(Listed):
        def begin(self, now_ns: int) -> Iterable[Send]:
            states.append(gc.isenabled())
            raise KeyError(now_ns)

    try:
        exchange(Failing([]), limits=QUICK)
    except KeyError:
        states.append(gc.isenabled())
    assert states == [False, True]


def test_what_a_driver_sees_of_a_request_is_what_is_recorded() -> None:
    """A driver may parse an answer at once, to make the next turn of a conversation."""
    texts: list[str] = []

    class Talking(Listed):
        def ended(self, recorded: Recorded, now_ns: int) -> Iterable[Send]:
            texts.append(parse(recorded).text)
            return super().ended(recorded, now_ns)

    with serving() as peer:
        exchange(Talking([outgoing(peer.endpoint(), f"r{n}") for n in range(2)]), limits=QUICK)
    assert texts == ["xx", "xx"]


def test_several_endpoints_are_served_in_one_exchange() -> None:
    """Requests go to the endpoint that they name."""
    with serving() as one, serving() as two:
        requests: list[Outgoing] = [
            outgoing(peer.endpoint(), f"r{n}") for n, peer in enumerate((one, two) * 3)
        ]
        result = exchange(Listed(requests, 6), limits=QUICK)
    assert outcomes(result) == [Outcome.OK] * 6
    assert len(one.requests) == len(two.requests) == 3
