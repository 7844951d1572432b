"""Requests of one series: built before the clock starts, and cheaply made anew where more are needed."""

from dataclasses import replace
from time import perf_counter_ns
from typing import Final

from kbtool.runner.client.outgoing import Outgoing
from kbtool.runner.load.build import Built, RequestMaker, Who, resalted

__all__ = ["Supply"]

_MOST_BYTES: Final = 1 << 29
_MOST_BUILT: Final = 1 << 14
"""Limits on what is prebuilt, by memory and by some ten seconds of time; beyond them requests are made anew from
those that there are."""


class Supply:
    """Hands out requests in order.

    How many a closed loop needs is known only where requests bound it, and a long round has more than memory should
    hold.  When those built beforehand are used up, each is handed out again with a new salt: that takes 20 us where a
    new prompt takes a millisecond, and no prefix cache knows it.
    """

    def __init__(self, maker: RequestMaker, *, n: int, sessions: int | None = None) -> None:
        """Build requests.

        Args:
            maker: Makes them.
            n: Requests to build, all sessions together.
            sessions: Where users are sessions, each bound to an endpoint and a key, how many there are; None where
                each request is a session of its own.
        """
        self._maker = maker
        n_pools = sessions or 1
        self._pools: list[list[Built]] = [[] for _ in range(n_pools)]
        self._used = [0] * n_pools
        self._number = 0
        self.expected_tok: dict[str, int] = {}
        """Prompt tokens that each request handed out should have, by id."""
        self.n_resalted = 0
        self.slowest_ns = 0
        """The longest that one call of `take` took."""
        n_bytes = 0
        for at in range(max(min(n, _MOST_BUILT), n_pools)):
            pool = self._pools[at % n_pools]
            if n_bytes > _MOST_BYTES and pool:
                break
            built = maker.request(at, Who(number=at, session=at if sessions is None else at % n_pools))
            n_bytes += len(built.outgoing.payload)
            pool.append(built)

    @property
    def n_taken(self) -> int:
        """Return how many requests were handed out."""
        return self._number

    def take(self, stream: int) -> Outgoing:
        """Return the next request for a user."""
        start_ns = perf_counter_ns()
        which = stream % len(self._pools)
        pool = self._pools[which]
        at = self._used[which]
        self._used[which] += 1
        built = pool[at % len(pool)]
        request_id = self._maker.id_of(self._number)
        self._number += 1
        if at >= len(pool):
            built = resalted(built, self._maker.salt_of(self._number), request_id)
            self.n_resalted += 1
        self.expected_tok[request_id] = built.expected_tok
        outgoing = replace(built.outgoing, id=request_id, stream=stream)
        self.slowest_ns = max(self.slowest_ns, perf_counter_ns() - start_ns)
        return outgoing
