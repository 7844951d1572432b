"""Recorded answers made by hand, for the parser."""

from array import array
from collections.abc import Sequence
from itertools import accumulate

from kbtool.runner.client import Endpoint, Limits, Outgoing, Recorded, parse
from kbtool.runner.trace import ClockSource, Outcome, RequestTrace

STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"


def recorded(
    *segments: bytes,
    failure: Outcome | None = None,
    detail: str = "",
    times_ns: Sequence[int] | None = None,
    sent: bool = True,
    asked_tok: int = 64,
    headers: tuple[tuple[str, str], ...] = (),
    limits: Limits | None = None,
) -> Recorded:
    """Return what the loop would have recorded of these reads, 1 ms apart from 1,001 ms on."""
    times = times_ns or [1_001_000_000 + 1_000_000 * n for n in range(len(segments))]
    return Recorded(
        outgoing=Outgoing("r0", Endpoint("e", "h", 1, headers=headers), "m", asked_tok, b""),
        limits=limits or Limits(),
        connect_start_ns=900_000_000 if sent else None,
        connected_ns=950_000_000 if sent else None,
        sent_ns=1_000_000_000 if sent else None,
        sent_all_ns=1_000_100_000 if sent else None,
        ended_ns=2_000_000_000,
        raw=b"".join(segments),
        t_ns=array("q", times),
        ends=array("q", accumulate(map(len, segments))),
        failure=failure,
        detail=detail,
        clock=ClockSource.KERNEL,
    )


def until_close(*events: bytes, head: bytes = STREAM_HEAD, **changes: object) -> RequestTrace:
    """Return the trace of an answer whose body ends with the connection, one read for each event."""
    return parse(recorded(head + b"\r\n", *events, **changes))  # type: ignore[arg-type]  # a test's own choice


def in_chunks(*events: bytes, end: bytes = b"0\r\n\r\n", **changes: object) -> RequestTrace:
    """Return the trace of an answer in chunks, one read for each event, the end with the last."""
    parts = [b"%x\r\n%s\r\n" % (len(event), event) for event in events]
    head = STREAM_HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
    return parse(recorded(head, *parts[:-1], parts[-1] + end, **changes))  # type: ignore[arg-type]  # the same
