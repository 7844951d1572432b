"""The connections to one endpoint: those being opened, and spares that wait for the next request."""

import ssl
from collections import deque
from collections.abc import Callable
from time import monotonic_ns
from typing import Final

from kbtool.runner.client.flight import Flight
from kbtool.runner.client.outgoing import Endpoint
from kbtool.runner.client.wire import Address, Connection, client_context, resolve
from kbtool.runner.trace import Outcome

__all__ = ["Lane"]

NS: Final = 1_000_000_000
_BACK_OFF_NS: Final = NS
"""Pause before another spare after one was refused or closed: a server that wants none is not pestered."""
_SPARE_AGE_NS: Final = 60 * NS
"""Middle boxes forget idle connections after minutes, silently."""
_ATTEMPTS: Final = 2
_SPARES_FOR_SCHEDULE: Final = 8

Failed = Callable[[Flight, Outcome, str], None]


class Lane:
    """Opens connections to one endpoint and matches them with the requests that wait for one."""

    def __init__(
        self, endpoint: Endpoint, *, kernel: bool, watch: "Callable[[Connection, Lane], None]"
    ) -> None:
        self.endpoint = endpoint
        self.waiting: deque[Flight] = deque()
        self.opening: set[Connection] = set()
        self.spares: deque[Connection] = deque()
        self.in_flight = 0
        self.retries = 0
        self.spares_lost = 0
        self._kernel = kernel
        self._watch = watch
        """Told of each new connection, to have it polled."""
        self._not_before_ns = 0
        self._context: ssl.SSLContext | None = None
        self._address: Address | None = None
        self._trouble = ""

    def prepare(self, timeout_s: float) -> None:
        """Look the host up and read certificates: what may block is done before any clock starts."""
        try:
            self._address = resolve(self.endpoint, timeout_s)
            if self.endpoint.tls:
                self._context = client_context(self.endpoint)
        except OSError as error:
            self._address = None
            self._trouble = f"{self.endpoint.authority}: {error.strerror or error}"

    def spare(self) -> Connection | None:
        """Return an open connection that a request can go on at once."""
        while self.spares:
            conn = self.spares.popleft()
            if conn.is_idle():
                return conn
            self.lose(conn)
        return None

    def lose(self, conn: Connection) -> None:
        """Drop a spare that the server closed or wrote to."""
        if conn in self.spares:
            self.spares.remove(conn)
        conn.close()
        self.spares_lost += 1
        self._not_before_ns = monotonic_ns() + _BACK_OFF_NS

    def open(self, failed: Failed) -> None:
        """Start one more connection; `failed` is told of a request that is thereby out of tries."""
        if self._address is None:
            self.refuse(None, Outcome.CONNECT_FAILED, self._trouble, failed)
            return
        try:
            conn = Connection(self._address, tls=self.endpoint.tls, kernel=self._kernel)
        except OSError as error:
            self.refuse(None, Outcome.CONNECT_FAILED, str(error.strerror or error), failed)
            return
        self.opening.add(conn)
        self._watch(conn, self)

    def cover(self, failed: Failed) -> None:
        """Start as many connections as there are waiting requests without one."""
        while len(self.waiting) > len(self.opening) + len(self.spares):
            self.open(failed)

    def refuse(self, conn: Connection | None, outcome: Outcome, detail: str, failed: Failed) -> None:
        """Note that a connection did not come about; the request that waits longest tries once more, or fails."""
        if conn is not None:
            self.opening.discard(conn)
            conn.close()
        if len(self.waiting) <= len(self.opening) + len(self.spares):
            self._not_before_ns = monotonic_ns() + _BACK_OFF_NS
            return
        flight = self.waiting.popleft()
        flight.conn = conn
        if flight.retries + 1 >= _ATTEMPTS:
            failed(flight, outcome, detail)
            return
        flight.retries += 1
        self.retries += 1
        self.waiting.append(flight)
        self.open(failed)

    def advance(self, conn: Connection, failed: Failed) -> bool:
        """Go on with an opening connection; return whether it has become ready."""
        try:
            if not conn.advance(self._context, self.endpoint.host):
                return False
        except OSError as error:
            self.refuse(conn, Outcome.CONNECT_FAILED, str(error.strerror or error), failed)
            return False
        self.opening.discard(conn)
        return True

    def expire(self, now_ns: int, connect_s: float, failed: Failed) -> None:
        """End what has been opening for too long, and spares that may have been forgotten on the way."""
        for conn in [c for c in self.opening if now_ns - c.connect_start_ns > connect_s * NS]:
            self.refuse(conn, Outcome.CONNECT_TIMEOUT, f"no connection within {connect_s:g} s", failed)
        while self.spares and now_ns - self.spares[0].connect_start_ns > _SPARE_AGE_NS:
            self.spares.popleft().close()

    def lacks_spares(self, now_ns: int, *, soon: int) -> bool:
        """Return whether another spare is wanted.

        One for each request in flight, since that is how many may end together, and a few for those that are
        scheduled; within the endpoint's limit.

        Args:
            now_ns: The time.
            soon: Requests that wait for their time, at whatever endpoint.
        """
        wanted = max(self.in_flight, min(soon, _SPARES_FOR_SCHEDULE))
        limit = self.endpoint.spare_connections
        wanted = wanted if limit is None else min(limit, wanted)
        return len(self.spares) + len(self.opening) < wanted and now_ns >= self._not_before_ns

    def close(self) -> None:
        """Close every connection that carries no request."""
        for conn in [*self.opening, *self.spares]:
            conn.close()
        self.opening.clear()
        self.spares.clear()
