"""The exchange: sends what a driver gives, records bytes and times, and parses nothing.

One thread, one epoll set.  What happens between a segment's arrival and its being kept is as little as can be, since
with 1,024 streams every microsecond of it is a millisecond of delay for the last one.  Times of arrival come from
the kernel, so that they are right whatever the loop was busy with.
"""

import select
from collections.abc import Callable, Iterable
from time import monotonic_ns, thread_time_ns
from typing import Final

from kbtool.runner.client.clock import KernelStamps, OffsetLog
from kbtool.runner.client.driver import Driver
from kbtool.runner.client.flight import Finished, Flight
from kbtool.runner.client.health import Counts, health_of, with_arrival_times
from kbtool.runner.client.http1 import answer_is_whole
from kbtool.runner.client.lane import Lane
from kbtool.runner.client.outgoing import Endpoint, Limits, Outgoing, Send
from kbtool.runner.client.pending import Pending
from kbtool.runner.client.quiet import garbage_left_alone, raise_file_limit
from kbtool.runner.client.recorded import Exchange, Interrupt, Progress
from kbtool.runner.client.timer import Heartbeat
from kbtool.runner.client.wire import READ_BYTES, STAMP_BYTES, WATCHED, Connection
from kbtool.runner.trace import Outcome

__all__ = ["Driver", "exchange"]

NS: Final = 1_000_000_000
BATCH: Final = 64
"""Events taken from the kernel at once: what is due is looked at in between, so that it waits 2 ms at most."""
TICK_NS: Final = 50_000_000
"""Between two looks at deadlines, clocks and the operator."""
WATCH_NS: Final = 200_000_000
SETTLE_NS: Final = 1_000_000
"""A body that looks whole is given this long for the connection to be closed, which is cheaper than reading it."""
_OPENED_AT_ONCE: Final = 4
_BROKEN: Final = select.EPOLLRDHUP | select.EPOLLHUP | select.EPOLLERR


def exchange(
    driver: Driver,
    *,
    limits: Limits,
    interrupt: Callable[[], Interrupt | None] = lambda: None,
    watch: Callable[[Progress], None] | None = None,
) -> Exchange:
    """Carry out what the driver asks for and return everything that was seen.

    Args:
        driver: Says what to send; called in this thread, so what it computes delays the loop.
        limits: Deadlines and sizes for every request.
        interrupt: Asked every 50 ms whether the operator wants an end.
        watch: Told every 200 ms how it goes.
    """
    raise_file_limit()
    with garbage_left_alone():
        round_ = _Round(driver, limits, interrupt, watch)
        try:
            return round_.run()
        finally:
            round_.close()


class _Round:
    """The state of one exchange."""

    def __init__(
        self,
        driver: Driver,
        limits: Limits,
        interrupt: Callable[[], Interrupt | None],
        watch: Callable[[Progress], None] | None,
    ) -> None:
        self._driver = driver
        self._limits = limits
        self._interrupt = interrupt
        self._watch = watch
        self._stamps = KernelStamps()
        self._epoll = select.epoll()
        self._pending = Pending()
        self._heartbeat = Heartbeat()
        self._epoll.register(self._pending.timer.fd, select.EPOLLIN)
        self._epoll.register(self._heartbeat.fd, select.EPOLLIN)
        self._conns: dict[int, tuple[Connection, Lane]] = {}
        self._lanes: dict[Endpoint, Lane] = {}
        self._in_flight: set[Flight] = set()
        self._settling: dict[Flight, int] = {}
        self._finished: list[Finished] = []
        self._offsets = OffsetLog()
        self._holding = False
        self._closing = False
        self._refill = False
        now = monotonic_ns()
        self._next_tick_ns = now
        self._next_watch_ns = now
        self._counts = Counts(now, thread_time_ns())

    # --- the loop ---------------------------------------------------------------------------------------------

    def run(self) -> Exchange:
        """Go on until nothing is in flight and nothing is to be sent."""
        self._offsets.sample()
        if not self._stamps.work:
            self._heartbeat.start()
        self._counts = Counts(monotonic_ns(), thread_time_ns())
        self._accept(self._driver.begin(self._counts.start_ns))
        self._holding = bool(self._pending.ready)
        while self._in_flight or self._pending or any(lane.waiting for lane in self._lanes.values()):
            self._turn()
        end_ns, cpu_end_ns = monotonic_ns(), thread_time_ns()
        self._offsets.sample()
        recorded = tuple(with_arrival_times(finished, self._offsets) for finished in self._finished)
        lanes = self._lanes.values()
        health = health_of(
            self._finished,
            recorded,
            self._counts,
            self._offsets,
            heartbeat_late_ns=self._heartbeat.late_ns,
            end_ns=end_ns,
            cpu_end_ns=cpu_end_ns,
            retries=sum(lane.retries for lane in lanes),
            spares_lost=sum(lane.spares_lost for lane in lanes),
        )
        return Exchange(recorded, health, self._counts.start_ns, end_ns)

    def close(self) -> None:
        """Close every connection and descriptor."""
        for conn, _ in self._conns.values():
            conn.close()
        for lane in self._lanes.values():
            lane.close()
        self._epoll.close()
        self._pending.timer.close()
        self._heartbeat.close()
        self._stamps.close()

    def _turn(self) -> None:
        events = self._epoll.poll(self._patience_s(), BATCH)
        conns = self._conns
        for fd, mask in events:
            entry = conns.get(fd)
            if entry is None:
                self._ring(fd)
            elif entry[0].flight is not None:
                self._receive(entry[0].flight, entry[0], mask)
            else:
                self._serve_idle(*entry)
        now = monotonic_ns()
        self._pending.release(now)
        if self._pending.ready:
            self._admit()
        if now >= self._next_tick_ns:
            self._tick(now)
        if self._settling:
            self._settle(now)
        if len(events) < BATCH and not self._closing:
            self._open_spares(now)

    def _patience_s(self) -> float:
        if self._pending.ready or self._refill:
            return 0.0
        if self._settling:
            return 0.001
        return max(0.0, (self._next_tick_ns - monotonic_ns()) / NS)

    def _ring(self, fd: int) -> None:
        if fd == self._pending.timer.fd:
            self._pending.timer.clear()
        elif fd == self._heartbeat.fd:
            self._heartbeat.beat()

    # --- what is to be sent -----------------------------------------------------------------------------------

    def _accept(self, sends: Iterable[Send]) -> None:
        if self._closing:
            return
        now = monotonic_ns()
        for send in sends:
            # What may block, such as looking up a name, is done now, not when the request is due.
            self._lane(send.outgoing.endpoint)
            self._pending.add(send, now)
        self._pending.arm()

    def _lane(self, endpoint: Endpoint) -> Lane:
        lane = self._lanes.get(endpoint)
        if lane is None:
            lane = Lane(endpoint, kernel=self._stamps.work, watch=self._register)
            lane.prepare(self._limits.connect_s)
            self._lanes[endpoint] = lane
            if endpoint.tls:
                self._heartbeat.start()
        return lane

    def _admit(self) -> None:
        """Send what may be sent now; what that brings forth waits for the next turn, so that no turn is endless."""
        if not self._closing and self._driver.stop(monotonic_ns()):
            self._stop_sending()
        ready = self._pending.ready
        for _ in range(len(ready)):
            flight = ready.popleft()
            lane = self._lane(flight.outgoing.endpoint)
            conn = None if self._holding else lane.spare()
            if conn is not None:
                self._start(flight, conn, lane)
            else:
                lane.waiting.append(flight)
                lane.cover(self._end)
        self._let_go()

    def _let_go(self) -> None:
        """Send the first requests once all their connections are open: the first would else race with the last."""
        if not self._holding or self._pending.ready or any(lane.opening for lane in self._lanes.values()):
            return
        self._holding = False
        now = monotonic_ns()
        for lane in self._lanes.values():
            while lane.waiting and (conn := lane.spare()) is not None:
                flight = lane.waiting.popleft()
                flight.given_ns = now
                self._start(flight, conn, lane)
            lane.cover(self._end)

    def _start(self, flight: Flight, conn: Connection, lane: Lane) -> None:
        flight.conn = conn
        conn.flight = flight
        lane.in_flight += 1
        self._in_flight.add(flight)
        flight.sent_ns = monotonic_ns()
        self._counts.late_ns.append(flight.sent_ns - flight.given_ns)
        self._push(flight, conn)
        if flight.unsent is not None:
            self._counts.blocked_sends += 1

    def _push(self, flight: Flight, conn: Connection) -> None:
        """Hand over bytes until all are, or the kernel takes no more; its next edge calls again."""
        unsent = flight.unsent
        try:
            while unsent:
                unsent = unsent[conn.send(unsent) :]
        except BlockingIOError:
            flight.unsent = unsent
            return
        except OSError as error:
            # What the server said before it closed, a refusal for example, may still be there to be read.
            flight.unsent = None
            self._receive(flight, conn, _BROKEN, Outcome.SEND_FAILED, str(error.strerror or error))
            return
        flight.unsent = None
        flight.sent_all_ns = monotonic_ns()

    # --- what comes back --------------------------------------------------------------------------------------

    def _receive(
        self,
        flight: Flight,
        conn: Connection,
        mask: int,
        broken: Outcome = Outcome.RESET,
        why: str = "",
    ) -> None:
        if flight.unsent is not None and mask & select.EPOLLOUT:
            self._push(flight, conn)
        read = conn.read
        try:
            while flight.conn is conn and conn.flight is flight:
                data, messages, _, _ = read(READ_BYTES, STAMP_BYTES)
                if not data:
                    self._end(flight, broken if why else None, why)
                    return
                if flight.take(monotonic_ns(), data, messages[0][2] if messages else b""):
                    self._end(flight, None)
                    return
                self._weigh(flight, len(data))
                # A short read has emptied the socket: the next segment raises a new edge.
                if len(data) < READ_BYTES and not mask & _BROKEN and not conn.tls:
                    return
        except BlockingIOError:
            if why:
                self._end(flight, broken, why)
        except OSError as error:
            self._end(flight, broken, why or str(error.strerror or error))

    def _weigh(self, flight: Flight, n_bytes: int) -> None:
        self._counts.received_bytes += n_bytes
        if flight.n_bytes > self._limits.body_bytes:
            self._end(flight, Outcome.BODY_TOO_LONG, f"more than {self._limits.body_bytes} bytes")
        elif self._counts.received_bytes > self._limits.round_bytes:
            self._end(
                flight,
                Outcome.BODY_TOO_LONG,
                f"more than {self._limits.round_bytes} bytes in the whole round",
            )
        elif flight.looks_whole():
            self._settling.setdefault(flight, monotonic_ns() + SETTLE_NS)

    def _settle(self, now: int) -> None:
        """End requests whose body is whole although the server keeps the connection open."""
        for flight in [f for f, at_ns in self._settling.items() if at_ns <= now]:
            del self._settling[flight]
            if answer_is_whole(flight.raw()):
                self._end(flight, None)

    def _serve_idle(self, conn: Connection, lane: Lane) -> None:
        """Go on with a connection that carries no request: it opens, or the server has closed it."""
        if conn.ready:
            if conn in lane.spares and not conn.is_idle():
                lane.lose(conn)
            return
        ready = lane.advance(conn, self._end)
        if ready and lane.waiting and not self._holding:
            self._start(lane.waiting.popleft(), conn, lane)
        elif ready:
            lane.spares.append(conn)
        self._let_go()

    def _register(self, conn: Connection, lane: Lane) -> None:
        # An entry of a closed connection may be left under this number: it gets no events, and is replaced here.
        self._conns[conn.fd] = (conn, lane)
        self._epoll.register(conn.fd, WATCHED)

    # --- how it ends ------------------------------------------------------------------------------------------

    def _end(self, flight: Flight, failure: Outcome | None, detail: str = "") -> None:
        now = monotonic_ns()
        finished = self._keep(flight, now, failure, detail)
        self._accept(self._driver.ended(finished.recorded, now))

    def _drop(self, outgoing: Outgoing) -> None:
        self._keep(Flight(outgoing, 0), monotonic_ns(), Outcome.NOT_SENT, "")

    def _keep(self, flight: Flight, now: int, failure: Outcome | None, detail: str) -> Finished:
        finished = flight.finish(now, self._limits, failure, detail)
        self._finished.append(finished)
        self._counts.ended += 1
        if failure is not None or finished.recorded.raw[9:12] != b"200":
            self._counts.failed += 1
        self._settling.pop(flight, None)
        conn = flight.conn
        if flight in self._in_flight and conn is not None:
            self._in_flight.discard(flight)
            self._conns[conn.fd][1].in_flight -= 1
            conn.flight = None
            conn.close()
        return finished

    def _stop_sending(self) -> None:
        """Give back what has not been sent; the driver is not asked again about these."""
        self._closing = True
        self._holding = False
        for outgoing in self._pending.give_back():
            self._drop(outgoing)
        for lane in self._lanes.values():
            for flight in lane.waiting:
                self._drop(flight.outgoing)
            lane.waiting.clear()

    # --- now and then -----------------------------------------------------------------------------------------

    def _tick(self, now: int) -> None:
        self._next_tick_ns = now + TICK_NS
        self._offsets.sample()
        for lane in self._lanes.values():
            lane.expire(now, self._limits.connect_s, self._end)
        limits = self._limits
        for flight in list(self._in_flight):
            if now > flight.check_ns and (overdue := flight.overdue(now, limits)) is not None:
                self._end(flight, overdue)
        wish = self._interrupt()
        if not self._closing and (wish is not None or self._driver.stop(now)):
            self._stop_sending()
        if wish is Interrupt.NOW:
            for flight in list(self._in_flight):
                self._end(flight, Outcome.CANCELLED, "interrupted")
        if self._watch is not None and now >= self._next_watch_ns:
            self._next_watch_ns = now + WATCH_NS
            self._watch(self._progress(now))
        self._let_go()

    def _progress(self, now: int) -> Progress:
        pending = len(self._pending) + sum(len(lane.waiting) for lane in self._lanes.values())
        counts = self._counts
        return Progress(
            now, len(self._in_flight), pending, counts.ended, counts.failed, counts.received_bytes
        )

    def _open_spares(self, now: int) -> None:
        """Open a few connections for later while there is little to do, so that none is opened when there is much."""
        self._refill = False
        opened = 0
        for lane in self._lanes.values():
            while lane.lacks_spares(now, soon=len(self._pending)):
                if opened == _OPENED_AT_ONCE:
                    self._refill = True
                    return
                lane.open(self._end)
                opened += 1
