"""Sampling, one step at a time: cards in one place, host and kernel log in another.

Nothing here starts threads or processes: `kbtool.runner.telemetry.__main__` does, in a process of its own, because
a driver that lost a card has been seen to hang for minutes and to crash its caller.
"""

import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Protocol

from kbtool.runner.telemetry.backend import Backend, Missing, Reason
from kbtool.runner.telemetry.host import HostCounters
from kbtool.runner.telemetry.kmsg import KernelLog, XidLine
from kbtool.runner.telemetry.sample import CARD_VALUES, Event, Kind, TelemetrySample, encode

__all__ = ["CardSampler", "Clock", "FileSink", "HostSampler", "Sink", "SystemClock", "next_due"]

NS_PER_S: Final = 1_000_000_000
HANG_NS: Final = 2 * NS_PER_S
"""A sweep over the cards that takes longer hangs."""


class Clock(Protocol):
    """Where times come from; tests bring their own."""

    def monotonic_ns(self) -> int:
        """Return CLOCK_MONOTONIC."""
        ...

    def wall_ns(self) -> int:
        """Return CLOCK_REALTIME."""
        ...

    def boot_ns(self) -> int:
        """Return CLOCK_BOOTTIME."""
        ...


class SystemClock:
    """The kernel's clocks."""

    def monotonic_ns(self) -> int:
        """Return CLOCK_MONOTONIC."""
        return time.monotonic_ns()

    def wall_ns(self) -> int:
        """Return CLOCK_REALTIME."""
        return time.time_ns()

    def boot_ns(self) -> int:
        """Return CLOCK_BOOTTIME."""
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class Sink(Protocol):
    """Where rows go."""

    def write(self, rows: Iterable[TelemetrySample]) -> None:
        """Keep rows, whole or not at all."""
        ...


@dataclass(frozen=True, slots=True)
class FileSink:
    """A file that only grows: one `write` a batch, so that a death cuts the last line at most."""

    descriptor: int

    def write(self, rows: Iterable[TelemetrySample]) -> None:
        """Append rows.

        Raises:
            OSError: The disk took less than was given, or nothing.
        """
        data = b"".join(encode(row) for row in rows)
        if data:
            done = os.write(self.descriptor, data)
            if done != len(data):
                raise OSError(f"telemetry: {done} of {len(data)} bytes were written: is the disk full?")


class CardSampler:
    """Reads the cards. May hang with the driver, so it has a thread of its own."""

    def __init__(self, backend: Backend, clock: Clock, cards: Sequence[int] | None = None) -> None:
        """Sample `cards` of `backend`, all of them where None."""
        self._backend = backend
        self._clock = clock
        self._wanted = cards
        self._cards: list[int] = []
        self._gaps: dict[tuple[int, str], Missing] = {}
        self._no_processes: dict[int, Missing] = {}
        self._lost: set[int] = set()
        self._no_events: Missing | None = None
        self.begun_ns: int | None = None
        """When the sweep, or the opening, that is going on began; None in between."""
        self.ended_ns: int | None = None
        """When the last one ended."""

    def open(self) -> list[TelemetrySample]:
        """Connect to the driver; return what there is to say about it."""
        # Loading a driver may hang as well.
        self.begun_ns = self._clock.monotonic_ns()
        failed = self._backend.open()
        count = failed or self._backend.count()
        self.begun_ns = None
        if isinstance(count, Missing):
            return [self._event(Event.NO_CARDS, str(count))]
        known = range(count)
        self._cards = [card for card in known if self._wanted is None or card in self._wanted]
        absent = sorted(set(self._wanted or ()) - set(known))
        return [self._event(Event.GPU_LOST, f"the driver lists {count} cards", card=card) for card in absent]

    @property
    def alive(self) -> bool:
        """Whether there is a card left to read."""
        return any(card not in self._lost for card in self._cards)

    def sweep(self, with_processes: bool) -> list[TelemetrySample]:
        """Return the rows of one pass over the cards."""
        self.begun_ns = self._clock.monotonic_ns()
        rows: list[TelemetrySample] = []
        for card in self._cards:
            if card not in self._lost:
                rows += self._card(card)
            if with_processes and card not in self._lost:
                rows += self._process_list(card)
        if with_processes:
            rows += self._driver_events()
        self.ended_ns, self.begun_ns = self._clock.monotonic_ns(), None
        return rows

    def _card(self, card: int) -> list[TelemetrySample]:
        start = self._clock.monotonic_ns()
        found = self._backend.sample(card)
        end = self._clock.monotonic_ns()
        lost = next(
            (v for v in found.values() if isinstance(v, Missing) and v.reason is Reason.GPU_LOST), None
        )
        if lost is not None:
            return [self._lose(card, str(lost))]
        values: dict[str, Any] = {}
        rows: list[TelemetrySample] = []
        for name in CARD_VALUES:
            value = found.get(name, Missing(Reason.NOT_ASKED))
            values[name] = value if isinstance(value, int) else None
            rows += self._note(card, name, value if isinstance(value, Missing) else None)
        middle = (start + end) // 2
        row = TelemetrySample(t_ns=middle, kind=Kind.CARD, card=card, read_ns=end - start, **values)
        return [row, *rows]

    def _note(self, card: int, name: str, missing: Missing | None) -> list[TelemetrySample]:
        """Return an event where a column begins or ceases to be null."""
        if self._gaps.get((card, name)) == missing:
            return []
        if missing is None:
            del self._gaps[card, name]
            return [self._event(Event.GAP_CLOSED, name, card=card)]
        self._gaps[card, name] = missing
        return [self._event(Event.GAP, f"{name}: {missing}", card=card)]

    def _lose(self, card: int, why: str) -> TelemetrySample:
        # A driver asked again about a lost card has crashed its caller: leave the card alone.
        self._lost.add(card)
        return self._event(Event.GPU_LOST, why, card=card)

    def _process_list(self, card: int) -> list[TelemetrySample]:
        now = self._clock.monotonic_ns()
        listed = self._backend.processes(card)
        if isinstance(listed, Missing):
            if listed.reason is Reason.GPU_LOST:
                return [self._lose(card, str(listed))]
            known = self._no_processes.get(card) == listed
            self._no_processes[card] = listed
            return [] if known else [self._event(Event.NO_PROCESSES, str(listed), card=card)]
        self._no_processes.pop(card, None)
        sweep = TelemetrySample(t_ns=now, kind=Kind.SWEEP, card=card)
        return [sweep] + [
            TelemetrySample(
                t_ns=now,
                kind=Kind.PROCESS,
                card=card,
                pid=process.pid,
                process_name=process.name,
                process_memory_bytes=process.memory_bytes,
            )
            for process in listed
        ]

    def _driver_events(self) -> list[TelemetrySample]:
        """Return the critical errors that the driver itself reports."""
        found = self._backend.xids() if self.alive else ()
        if isinstance(found, Missing):
            known, self._no_events = self._no_events == found, found
            return [] if known else [self._event(Event.NO_DRIVER_EVENTS, str(found))]
        now = self._clock.monotonic_ns()
        return [
            TelemetrySample(
                t_ns=now, kind=Kind.XID, card=card if card >= 0 else None, xid=xid, event="driver"
            )
            for card, xid in found
        ]

    def _event(self, name: str, detail: str, card: int | None = None) -> TelemetrySample:
        return TelemetrySample(
            t_ns=self._clock.monotonic_ns(), kind=Kind.EVENT, card=card, event=name, detail=detail
        )


class HostSampler:
    """Reads host and kernel log, watches the card sampler, and says that the process lives."""

    def __init__(
        self,
        clock: Clock,
        counters: Callable[[], HostCounters],
        log: KernelLog,
        cards: CardSampler | None,
    ) -> None:
        """Sample with `counters` and `log`, and watch `cards`."""
        self._clock = clock
        self._counters = counters
        self._log = log
        self._cards = cards
        self._log_missing: Missing | None = None
        self._hanging = False

    def open(self) -> list[TelemetrySample]:
        """Begin; return the first rows."""
        rows = [self._event(Event.STARTED, f"pid {os.getpid()}")]
        self._log_missing = self._log.open()
        if self._log_missing is not None:
            rows.append(self._event(Event.NO_KERNEL_LOG, str(self._log_missing)))
        return rows

    def tick(self, with_counters: bool) -> list[TelemetrySample]:
        """Return the rows of one step."""
        rows = [*self._kernel_log(), *self._hang()]
        if with_counters:
            rows += [self._host_row(), self._beat()]
        return rows

    def _host_row(self) -> TelemetrySample:
        counters = self._counters()
        named = {entry.name: getattr(counters, entry.name) for entry in fields(counters)}
        for name in ("busy_ns", "total_ns", "steal_ns", "available_bytes", "load_ratio"):
            named[f"host_{name}"] = named.pop(name)
        before = self._clock.monotonic_ns()
        wall, boot = self._clock.wall_ns(), self._clock.boot_ns()
        middle = (before + self._clock.monotonic_ns()) // 2
        row = TelemetrySample(t_ns=middle, kind=Kind.HOST, wall_ns=wall, boot_ns=boot)
        return replace(row, **named)

    def _beat(self) -> TelemetrySample:
        ended = None if self._cards is None else self._cards.ended_ns
        return TelemetrySample(t_ns=self._clock.monotonic_ns(), kind=Kind.BEAT, cards_t_ns=ended)

    def _kernel_log(self) -> list[TelemetrySample]:
        if self._log_missing is not None:
            return []
        found = self._log.read()
        if isinstance(found, Missing):
            self._log_missing = found
            return [self._event(Event.NO_KERNEL_LOG, str(found))]
        return [self._xid(line) for line in found]

    def _xid(self, line: XidLine) -> TelemetrySample:
        return TelemetrySample(
            t_ns=self._clock.monotonic_ns(),
            kind=Kind.XID,
            pci=line.pci,
            xid=line.xid,
            event="kernel",
            detail=line.detail,
        )

    def _hang(self) -> list[TelemetrySample]:
        """Return an event when the cards' sweep begins or ceases to hang."""
        begun = None if self._cards is None else self._cards.begun_ns
        hanging = begun is not None and self._clock.monotonic_ns() - begun > HANG_NS
        if hanging == self._hanging:
            return []
        self._hanging = hanging
        if hanging and begun is not None:
            return [self._event(Event.HANG, f"no answer since {begun} ns")]
        return [self._event(Event.HANG_OVER, "the driver answers again")]

    def _event(self, name: str, detail: str) -> TelemetrySample:
        return TelemetrySample(t_ns=self._clock.monotonic_ns(), kind=Kind.EVENT, event=name, detail=detail)


def next_due(due_ns: int, now_ns: int, period_ns: int) -> int:
    """Return the next time on the grid of `period_ns` after now; steps that were missed are not made up for."""
    late = max(0, now_ns - due_ns)
    return due_ns + (late // period_ns + 1) * period_ns
