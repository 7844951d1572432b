"""What the loop leaves behind: raw bytes with their times, and how well the client itself did."""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from kbtool.runner.client.outgoing import Limits, Outgoing
from kbtool.runner.trace import ClockSource, Outcome

__all__ = ["ClientHealth", "Exchange", "Interrupt", "Progress", "Recorded"]


class Interrupt(StrEnum):
    """What the operator wants of a running exchange."""

    DRAIN = "drain"
    """Send nothing more, let what is in flight come to its end."""
    NOW = "now"
    """End everything in flight as cancelled."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """Raw bytes and times of one request; `parse` makes a trace of it.

    `raw` is everything received, head and framing included; the first `ends[i]` bytes of it had come by
    `t_ns[i]`.  In the object that a driver is handed during the exchange the times are those at which the
    client read; in the finished `Exchange` they are the kernel's, where `clock` says so.
    """

    outgoing: Outgoing
    limits: Limits
    connect_start_ns: int | None
    connected_ns: int | None
    sent_ns: int | None
    sent_all_ns: int | None
    ended_ns: int
    """When the client saw that it was over: later than the last byte by what noticing takes."""
    raw: bytes
    t_ns: "array[int]"
    ends: "array[int]"
    failure: Outcome | None
    """Why the client, or the connection, ended it; None: the server did, or the answer was whole."""
    detail: str = ""
    clock: ClockSource = ClockSource.USER
    retries: int = 0

    def arrivals(self) -> Iterator[tuple[int, bytes]]:
        """Yield the time in ns and the bytes of each read, in order."""
        start = 0
        for t_ns, end in zip(self.t_ns, self.ends, strict=True):
            yield t_ns, self.raw[start:end]
            start = end


@dataclass(frozen=True, slots=True)
class ClientHealth:
    """Whether the client could have disturbed what it measured; times in ns, over one exchange."""

    loop_lag_p50_ns: int
    """Lag: from the kernel's stamp of a segment to our reading it.

    Without kernel stamps: how late a timer of 20 ms was served.
    """
    loop_lag_p99_ns: int
    loop_lag_max_ns: int
    send_late_p50_ns: int
    """Lateness: from the time at which a request was due, or was given to us if that was later, to its first
    byte being handed to the kernel."""
    send_late_p99_ns: int
    send_late_max_ns: int
    cpu_s: float
    """CPU time of the thread that ran the exchange."""
    wall_s: float
    cpu_share_ratio: float
    """Share of one core that the thread used."""
    events: int
    """Lines of the streams that start with `data:`."""
    segments: int
    """Reads that brought bytes."""
    blocked_sends: int
    """Requests that the kernel did not take in one piece."""
    clock: ClockSource
    """KERNEL where every answer has kernel stamps."""
    clock_steps: int
    """Times that the wall clock was set during the exchange."""
    user_stamped: int
    """Answers whose times are our own because the kernel's could not be had or trusted."""
    connect_retries: int
    spares_lost: int
    """Spare connections that the server closed before they were used."""


@dataclass(frozen=True, slots=True)
class Progress:
    """A glance at a running exchange, for a display."""

    now_ns: int
    in_flight: int
    pending: int
    """Requests that wait for their time or for a connection."""
    ended: int
    failed: int
    """Ended without an answer of status 200; a full verdict comes with parsing."""
    received_bytes: int


@dataclass(frozen=True, slots=True)
class Exchange:
    """Everything that one call of `exchange` recorded, in the order in which requests ended."""

    recorded: tuple[Recorded, ...]
    health: ClientHealth
    start_ns: int
    end_ns: int
