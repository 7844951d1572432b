"""Requests that wait for their time, and those whose time has come."""

import heapq
from collections import deque
from collections.abc import Iterator
from itertools import count

from kbtool.runner.client.flight import Flight
from kbtool.runner.client.outgoing import Outgoing, Send
from kbtool.runner.client.timer import Timer

__all__ = ["Pending"]


class Pending:
    """What a driver has given and has not been sent; its timer runs out when the next one is due."""

    def __init__(self) -> None:
        self.timer = Timer()
        self.ready: deque[Flight] = deque()
        """To be sent at once, in this order."""
        self._due: list[tuple[int, int, Outgoing]] = []
        self._order = count()
        self._armed_ns = 0

    def __len__(self) -> int:
        return len(self.ready) + len(self._due)

    def add(self, send: Send, now_ns: int) -> None:
        """Take one more; `arm` after the last."""
        if send.at_ns <= now_ns:
            self.ready.append(Flight(send.outgoing, now_ns))
        else:
            heapq.heappush(self._due, (send.at_ns, next(self._order), send.outgoing))

    def release(self, now_ns: int) -> None:
        """Make ready what is due."""
        due = self._due
        if not due or due[0][0] > now_ns:
            return
        while due and due[0][0] <= now_ns:
            at_ns, _, outgoing = heapq.heappop(due)
            self.ready.append(Flight(outgoing, at_ns))
        self.arm()

    def arm(self) -> None:
        """Set the timer for the next one that is due."""
        if self._due and self._due[0][0] != self._armed_ns:
            self._armed_ns = self._due[0][0]
            self.timer.arm(self._armed_ns)

    def give_back(self) -> Iterator[Outgoing]:
        """Take everything out, in the order in which it would have been sent."""
        ready, due = list(self.ready), sorted(self._due)
        self.ready.clear()
        self._due.clear()
        yield from (flight.outgoing for flight in ready)
        yield from (outgoing for _, _, outgoing in due)
