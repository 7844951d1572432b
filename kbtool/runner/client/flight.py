"""One request on its way: what was sent of it, what has come back, and when."""

import re
from array import array
from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from kbtool.runner.client.http1 import expected_bytes
from kbtool.runner.client.outgoing import Limits, Outgoing
from kbtool.runner.client.recorded import Recorded
from kbtool.runner.client.wire import Connection
from kbtool.runner.trace import Outcome

__all__ = ["Finished", "Flight"]

NS: Final = 1_000_000_000

_TEXT: Final = re.compile(rb'"(?:content|text|reasoning|reasoning_content|arguments)"\s*:\s*"[^"]')
"""Generated text in the JSON of an event."""
_NEWEST_SEGMENTS: Final = 16
_HEAD_SEGMENTS: Final = 16
"""A head in more pieces than these is read for its length after the round alone."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A request that has ended, and the stamps that the kernel put on its segments."""

    recorded: Recorded
    stamps: bytes
    kernel: bool
    """Whether its connection asked for stamps."""


class Flight:
    """A request between being given to us and its end."""

    __slots__ = (
        "_expected",
        "_seen",
        "check_ns",
        "conn",
        "given_ns",
        "log",
        "n_bytes",
        "outgoing",
        "progress_ns",
        "retries",
        "sent_all_ns",
        "sent_ns",
        "unsent",
    )

    def __init__(self, outgoing: Outgoing, given_ns: int) -> None:
        self.outgoing = outgoing
        self.given_ns = given_ns
        """When it could have been sent at the earliest; for the first requests, when their connections were open."""
        self.conn: Connection | None = None
        self.retries = 0
        self.unsent: memoryview | None = memoryview(outgoing.payload)
        self.sent_ns: int | None = None
        self.sent_all_ns: int | None = None
        self.log: list[tuple[int, bytes, bytes]] = []
        """Time of reading, bytes, and the kernel's stamp as it came."""
        self.n_bytes = 0
        self.progress_ns = 0
        """When text last came, as far as it was looked at; 0: not yet."""
        self.check_ns = 0
        """No deadline passes before."""
        self._seen = 0
        self._expected: int | None = None

    def take(self, t_ns: int, data: bytes, stamp: bytes) -> bool:
        """Keep what was read; return whether the answer is whole by its `Content-Length`."""
        self.log.append((t_ns, data, stamp))
        self.n_bytes += len(data)
        if self._expected is None and len(self.log) <= _HEAD_SEGMENTS:
            self._expected = expected_bytes(self.raw())
        return self._expected is not None and self.n_bytes >= self._expected

    def looks_whole(self) -> bool:
        """Return whether the last bytes could be the end of a body in chunks."""
        return self.log[-1][1].endswith(b"0\r\n\r\n") or len(self.log[-1][1]) < 5

    def raw(self) -> bytes:
        """Return everything received."""
        return b"".join([entry[1] for entry in self.log])

    def overdue(self, now_ns: int, limits: Limits) -> Outcome | None:
        """Return which deadline has passed; `check_ns` then says when the next one can."""
        if self.sent_ns is None or now_ns <= self.check_ns:
            return None
        total_ns = self.sent_ns + round(limits.total_s * NS)
        first_ns = self.sent_ns + round(limits.first_byte_s * NS)
        if now_ns > total_ns:
            return Outcome.TOTAL_TIMEOUT
        if not self.log:
            self.check_ns = min(total_ns, first_ns)
            return Outcome.FIRST_BYTE_TIMEOUT if now_ns > first_ns else None
        progress_ns = round(limits.progress_s * NS)
        token_ns = (
            self.progress_ns + progress_ns if self.progress_ns else max(first_ns, self.sent_ns + progress_ns)
        )
        if now_ns > token_ns:
            # Only now is the text looked at: a stream that is well costs one look in each `progress_s`.
            newest = self._newest_text_ns()
            if newest is None or now_ns > newest + progress_ns:
                return Outcome.STALLED
            self.progress_ns = newest
            token_ns = newest + progress_ns
        self.check_ns = min(total_ns, token_ns)
        return None

    def _newest_text_ns(self) -> int | None:
        """Return when text last came, of what came since the last look; comments and empty events are none."""
        log = self.log
        first, self._seen = self._seen, len(log)
        # The newest reads are enough for a stream that is well.  They are joined, since an event that is cut by the
        # end of a segment shows in neither part.
        for start in (max(first, len(log) - _NEWEST_SEGMENTS), first):
            parts = [entry[1] for entry in log[start:]]
            end = max((match.end() for match in _TEXT.finditer(b"".join(parts))), default=None)
            if end is not None:
                return log[start + bisect_left(list(accumulate(map(len, parts))), end)][0]
        return None

    def finish(self, ended_ns: int, limits: Limits, failure: Outcome | None, detail: str) -> Finished:
        """Return what is kept of it."""
        log, conn = self.log, self.conn
        recorded = Recorded(
            outgoing=self.outgoing.without_payload(),
            limits=limits,
            connect_start_ns=None if conn is None else conn.connect_start_ns,
            connected_ns=None if conn is None else conn.connected_ns,
            sent_ns=self.sent_ns,
            sent_all_ns=self.sent_all_ns,
            ended_ns=ended_ns,
            raw=self.raw(),
            t_ns=array("q", [entry[0] for entry in log]),
            ends=array("q", accumulate([len(entry[1]) for entry in log])),
            failure=failure,
            detail=detail,
            retries=self.retries,
        )
        return Finished(recorded, b"".join([entry[2] for entry in log]), conn is not None and conn.kernel)
