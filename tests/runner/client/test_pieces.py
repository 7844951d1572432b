"""Parts of the loop alone: what is pending, deadlines, health, framing."""

from array import array

from hypothesis import given
from hypothesis import strategies as st

from kbtool.runner.client import Endpoint, Limits, Outgoing, Send
from kbtool.runner.client.flight import Flight
from kbtool.runner.client.health import nearest_rank
from kbtool.runner.client.http1 import answer_is_whole, expected_bytes, parse_head, read_body
from kbtool.runner.client.pending import Pending
from kbtool.runner.trace import Outcome

S = 1_000_000_000
TEXT = b'data: {"choices":[{"delta":{"content":"x"}}]}\n\n'


def request(name: str = "r") -> Outgoing:
    """Return a request."""
    return Outgoing(name, Endpoint("e", "h", 1), "m", 1, b"GET")


def flight(*log: tuple[float, bytes]) -> Flight:
    """Return a request sent at 0 s, with reads at these seconds."""
    found = Flight(request(), 0)
    found.sent_ns = 0
    for at_s, data in log:
        found.take(int(at_s * S), data, b"")
    return found


def test_pending_requests_come_out_in_order_of_time_and_then_of_giving() -> None:
    """Those of one time keep their order."""
    pending = Pending()
    for at_ns, name in ((30, "c"), (10, "a"), (10, "b")):
        pending.add(Send(at_ns, request(name)), 5)
    pending.release(9)
    assert not pending.ready
    pending.release(20)
    assert [f.outgoing.id for f in pending.ready] == ["a", "b"]
    assert [f.given_ns for f in pending.ready] == [10, 10]
    assert [o.id for o in pending.give_back()] == ["a", "b", "c"]
    assert len(pending) == 0
    pending.timer.close()


def test_what_is_due_in_the_past_counts_as_given_now() -> None:
    """Its lateness starts when it could have been sent at the earliest."""
    pending = Pending()
    pending.add(Send(0, request()), 50)
    assert pending.ready[0].given_ns == 50
    pending.timer.close()


def test_deadlines_are_told_apart() -> None:
    """First byte, then tokens, then the whole."""
    limits = Limits(first_byte_s=5, progress_s=2, total_s=60)
    assert flight().overdue(4 * S, limits) is None
    assert flight().overdue(6 * S, limits) is Outcome.FIRST_BYTE_TIMEOUT
    assert flight((1, TEXT)).overdue(4 * S, limits) is None
    assert flight((1, TEXT), (5, TEXT)).overdue(6 * S, limits) is None
    assert flight((1, TEXT)).overdue(61 * S, limits) is Outcome.TOTAL_TIMEOUT


def test_before_the_first_token_the_longer_deadline_holds() -> None:
    """A server that sends its head at once may take its time for the prompt."""
    limits = Limits(first_byte_s=50, progress_s=2, total_s=60)
    assert flight((0.1, b"HTTP/1.1 200 OK\r\n")).overdue(49 * S, limits) is None
    assert flight((0.1, b"HTTP/1.1 200 OK\r\n")).overdue(51 * S, limits) is Outcome.STALLED


def test_only_text_is_progress() -> None:
    """Comments, roles and empty events are none; an event cut in two is."""
    limits = Limits(first_byte_s=5, progress_s=2, total_s=60)
    empty = b'data: {"choices":[{"delta":{"content":""}}]}\n\n'
    stream = flight((1, TEXT), (5.5, b": ping\n\n"), (5.6, empty))
    assert stream.overdue(6 * S, limits) is Outcome.STALLED
    assert flight((1, TEXT), (5, TEXT[:30]), (5.5, TEXT[30:])).overdue(6 * S, limits) is None


def test_progress_is_looked_for_in_what_is_new_alone() -> None:
    """Text that was seen as progress before is none later."""
    limits = Limits(first_byte_s=5, progress_s=2, total_s=600)
    stream = flight((1, TEXT), (5, TEXT))
    assert stream.overdue(6 * S, limits) is None
    stream.take(7 * S, b": ping\n\n", b"")
    assert stream.overdue(int(7.5 * S), limits) is Outcome.STALLED


def test_ranks_are_those_of_values_that_were_seen() -> None:
    """Nothing is interpolated."""
    assert nearest_rank([], 0.5) == 0
    assert nearest_rank([1, 2, 3, 4], 0.5) == 3
    assert nearest_rank([1, 2, 3, 4], 0.99) == 4


def test_the_length_of_an_answer_is_known_from_its_head() -> None:
    """None as long as the head has not come; endless where it does not say."""
    assert expected_bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n") is None
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
    assert expected_bytes(head) == len(head) + 5
    assert (expected_bytes(b"HTTP/1.1 200 OK\r\n\r\n") or 0) > 10**15


@given(st.lists(st.binary(min_size=1, max_size=50), max_size=8), st.integers(0, 600))
def test_chunks_are_taken_apart_wherever_the_bytes_end(chunks: list[bytes], cut: int) -> None:
    """The body is the chunks joined, and whole exactly with the last byte."""
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    raw = head + b"".join(b"%X;x=y\r\n%s\r\n" % (len(c), c) for c in chunks) + b"0\r\nTrailer: t\r\n\r\n"
    cut = min(cut + len(head), len(raw))
    part = raw[:cut]
    found = parse_head(part)
    assert found is not None
    body = read_body(part, found)
    assert body.fault is None
    assert b"".join(chunks).startswith(body.join(part))
    assert body.complete is (cut == len(raw))
    assert answer_is_whole(part) is (cut == len(raw))
    if body.complete:
        assert body.join(part) == b"".join(chunks)
    places = array("q", range(len(part) + 1))
    positions = body.positions(places)
    assert positions == sorted(positions)
    assert positions[-1] == len(body.join(part))
