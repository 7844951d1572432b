"""Kernel receive stamps as monotonic times, safe against a wall clock that is set meanwhile.

The kernel stamps segments by `CLOCK_REALTIME`; everything else here is `CLOCK_MONOTONIC`.  Both advance by the
same hardware counter with the same rate correction, so their difference is constant until somebody sets the
wall clock.  It is therefore sampled all through an exchange: samples that cannot be of one value show a step.
"""

import socket
import struct
import time
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

__all__ = ["SO_TIMESTAMPNS", "KernelStamps", "OffsetLog", "Span", "kernel_stamps_work"]

SO_TIMESTAMPNS: Final = 35
"""Also the type of the control message that carries the stamp; the `socket` module does not name it."""

STAMP: Final = struct.Struct("@qq")
TOLERANCE_NS: Final = 5_000
"""More than two readings of two clocks can disagree by, far less than any latency measured."""

NS: Final = 1_000_000_000
_TRIES: Final = 50


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of monotonic time in which the wall clock was not set: wall minus monotonic lies in [low, high]."""

    first_ns: int
    last_ns: int
    low_ns: int
    high_ns: int

    @property
    def offset_ns(self) -> int:
        """Return the best single value of wall minus monotonic."""
        return (self.low_ns + self.high_ns) // 2


class OffsetLog:
    """Samples of the difference of the two clocks, and the conversion that follows from them."""

    def __init__(self) -> None:
        self.spans: list[Span] = []

    def sample(self) -> None:
        """Take the tightest of three readings: a thread can lose the processor between two clocks."""
        best = min((_bracket() for _ in range(3)), key=lambda bracket: bracket[2] - bracket[1])
        self.add(*best)

    def add(self, at_ns: int, low_ns: int, high_ns: int) -> None:
        """Note that at `at_ns` the difference was between the two bounds."""
        if self.spans:
            span = self.spans[-1]
            low, high = max(low_ns, span.low_ns), min(high_ns, span.high_ns)
            if low <= high + TOLERANCE_NS:
                # Bounds that cross by less than the tolerance are rounding, not a step.
                bounds = (low, high) if low <= high else (span.low_ns, span.high_ns)
                self.spans[-1] = replace(span, last_ns=at_ns, low_ns=bounds[0], high_ns=bounds[1])
                return
        self.spans.append(Span(at_ns, at_ns, low_ns, high_ns))

    @property
    def steps(self) -> int:
        """Return how often the wall clock was set."""
        return max(0, len(self.spans) - 1)

    def convert(self, stamps: bytes, read_ns: Sequence[int], sent_ns: int) -> "array[int] | None":
        """Return the monotonic times of one answer's segments.

        Args:
            stamps: The kernel's stamps, two 64-bit integers each (seconds and nanoseconds of the wall clock).
            read_ns: When the client read each segment: no arrival is later.
            sent_ns: When the request was sent: no arrival is earlier.

        Returns:
            None if there is not a stamp for each segment, or one that cannot be true: a mixture of kernel and
            user times would put the difference of the two into a gap.
        """
        if len(stamps) != STAMP.size * len(read_ns):
            return None
        words = array("q", stamps)
        walls = [s * NS + ns for s, ns in zip(words[0::2], words[1::2], strict=True)]
        times: array[int] = array("q")
        floor = sent_ns - TOLERANCE_NS
        for wall, read in zip(walls, read_ns, strict=True):
            for offset in self._offsets_at(read):
                found = wall - offset
                if floor <= found <= read + TOLERANCE_NS:
                    break
            else:
                return None
            # Equal or later than the one before, never after its reading: tolerances do not add up.
            times.append(max(min(found, read), times[-1] if times else sent_ns))
            floor = found - TOLERANCE_NS
        return times

    def _offsets_at(self, read_ns: int) -> tuple[int, ...]:
        if len(self.spans) == 1:
            return (self.spans[0].offset_ns,)
        # A segment read after a step may have come before it: both differences are tried, the newer first.
        begun = [span for span in self.spans if span.first_ns <= read_ns] or self.spans[:1]
        after = [span for span in self.spans if span.first_ns > read_ns][:1]
        return tuple(span.offset_ns for span in [*begun[-1:], *after, *begun[-2:-1]])


def _bracket() -> tuple[int, int, int]:
    before = time.monotonic_ns()
    wall = time.time_ns()
    after = time.monotonic_ns()
    return after, wall - after, wall - before


class KernelStamps:
    """Has the kernel stamp segments for as long as this is open.

    The kernel switches stamping on a moment after the first socket has asked for it, and off after the last: the
    first answers would be without.  A byte is sent over loopback until one comes stamped, and the socket that has
    asked is kept.
    """

    def __init__(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            sender = socket.create_connection(server.getsockname(), timeout=1)
            self._receiver = server.accept()[0]
        self._receiver.settimeout(1)
        with sender:
            self.work = self._await(sender)
            """Whether this kernel does it at all."""

    def _await(self, sender: socket.socket) -> bool:
        try:
            self._receiver.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        except OSError:
            return False
        for _ in range(_TRIES):
            sender.send(b"x")
            _, messages, _, _ = self._receiver.recvmsg(1, 64)
            if any(kind == SO_TIMESTAMPNS for _, kind, _ in messages):
                return True
            time.sleep(0.001)
        return False

    def close(self) -> None:
        """Let the kernel stop."""
        self._receiver.close()


def kernel_stamps_work() -> bool:
    """Return whether this kernel stamps TCP segments."""
    stamps = KernelStamps()
    stamps.close()
    return stamps.work
