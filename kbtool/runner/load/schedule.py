"""Requests that are due at times of their own, whatever the server does, within a bound on how many are in flight."""

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kbtool.runner.client.outgoing import Outgoing, Send
from kbtool.runner.client.recorded import Recorded
from kbtool.runner.trace import Outcome

__all__ = ["LEAD_NS", "Due", "Schedule", "Scheduled"]

LEAD_NS: Final = 100_000_000
"""From the start of the exchange to that of the schedule: connections are opened meanwhile."""


@dataclass(frozen=True, slots=True)
class Due:
    """One request of a schedule."""

    offset_ns: int
    """When it is due, from the start of the round."""
    after: int | None = None
    """Place of the request that has to have ended before; a turn waits for the one before it."""
    delay_ns: int = 0
    """Between that end and this request, at least."""


class Schedule:
    """Hands out requests so that each leaves when it is due.

    At most `max_in_flight` are handed out and not ended.  They are handed out in the order in which they are due, so
    that one which is due always leaves at once, unless that many are in flight already.  Then it leaves as soon as
    one of them ends, with its `due_ns` unchanged: it is late, and counts as late.  None is left out.
    """

    def __init__(self, dues: Sequence[Due], request: Callable[[int], Outgoing], max_in_flight: int) -> None:
        """Take what is due, and what makes the request at a place."""
        self._dues = dues
        self._request = request
        self._free = max_in_flight
        self._start_ns = 0
        self._ready: list[tuple[int, int]] = []
        """A heap of when and place of what is not handed out yet, and waits for no other request."""
        self._followers: dict[int, list[int]] = {}
        for at, due in enumerate(dues):
            if due.after is not None:
                self._followers.setdefault(due.after, []).append(at)
        self._place: dict[str, int] = {}
        self.n_held_back = 0
        """Requests that the bound, and not the schedule, delayed."""

    def begin(self, start_ns: int) -> list[Send]:
        """Return the first requests, as many as may be in flight."""
        self._start_ns = start_ns
        self._ready = [
            (start_ns + due.offset_ns, at) for at, due in enumerate(self._dues) if due.after is None
        ]
        heapq.heapify(self._ready)
        return self._handed_out(start_ns)

    def ended(self, recorded: Recorded, now_ns: int) -> list[Send]:
        """Return what may leave now that a request has ended; nothing more once the operator has ended one."""
        place = self._place.pop(recorded.outgoing.id)
        if recorded.failure is Outcome.CANCELLED:
            return []
        self._free += 1
        for at in self._followers.pop(place, []):
            due = self._dues[at]
            heapq.heappush(self._ready, (max(self._start_ns + due.offset_ns, now_ns + due.delay_ns), at))
        return self._handed_out(now_ns)

    def _handed_out(self, now_ns: int) -> list[Send]:
        sends: list[Send] = []
        while self._free > 0 and self._ready:
            due_ns, at = heapq.heappop(self._ready)
            self._free -= 1
            if now_ns > due_ns:
                self.n_held_back += 1
            outgoing = replace(self._request(at), due_ns=due_ns)
            self._place[outgoing.id] = at
            sends.append(Send(max(due_ns, now_ns), outgoing))
        return sends


class Scheduled:
    """Driver whose requests come when they are due, and by nothing else."""

    def __init__(self, schedule: Schedule) -> None:
        """Take what is due."""
        self._schedule = schedule

    @property
    def n_held_back(self) -> int:
        """Return how many requests the bound on those in flight delayed."""
        return self._schedule.n_held_back

    def begin(self, now_ns: int) -> Iterable[Send]:
        """Return the first requests, with the times at which they are due."""
        return self._schedule.begin(now_ns + LEAD_NS)

    def ended(self, recorded: Recorded, now_ns: int) -> Iterable[Send]:
        """Return the turns that waited for this one, and what fits under the bound."""
        return self._schedule.ended(recorded, now_ns)

    def stop(self, now_ns: int) -> bool:  # noqa: ARG002 - a schedule ends by itself
        """Return False: what is due comes, whatever happens."""
        return False
