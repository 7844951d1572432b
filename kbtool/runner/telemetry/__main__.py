"""The sampler's own process: `python -m kbtool.runner.telemetry FILE ...`.

It ends when its standard input closes, which a dead runner's does by itself, and never outlives its runner.
"""

import argparse
import functools
import os
import select
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from kbtool.runner.telemetry.backend import Backend
from kbtool.runner.telemetry.host import read_counters
from kbtool.runner.telemetry.kmsg import KernelLog, KmsgReader
from kbtool.runner.telemetry.nvml import NvmlBackend
from kbtool.runner.telemetry.sample import Event, Kind, TelemetrySample, header
from kbtool.runner.telemetry.sampler import (
    NS_PER_S,
    CardSampler,
    Clock,
    FileSink,
    HostSampler,
    Sink,
    SystemClock,
    next_due,
)

__all__ = ["main", "run"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Sample with the real driver until standard input closes."""
    parser = argparse.ArgumentParser(prog="kbtool.runner.telemetry", description=__doc__)
    parser.add_argument("file", type=Path, help="stream to append to")
    parser.add_argument("--interval-ms", type=int, default=100, help="between two sweeps over the cards")
    parser.add_argument("--runner-pid", type=int, default=None, help="process whose CPU time is the client's")
    parser.add_argument("--cards", default=None, help="numbers of the cards, such as 0,1; all without it")
    parser.add_argument("--no-cards", action="store_true", help="sample the host alone")
    options = parser.parse_args(arguments)
    return run(
        options.file,
        None if options.no_cards else NvmlBackend(),
        KmsgReader(),
        interval_ns=options.interval_ms * 1_000_000,
        runner_pid=options.runner_pid,
        cards=None if options.cards is None else [int(part) for part in options.cards.split(",")],
    )


def run(
    file: Path,
    backend: Backend | None,
    log: KernelLog,
    *,
    interval_ns: int,
    runner_pid: int | None = None,
    cards: Sequence[int] | None = None,
) -> int:
    """Sample into `file` until standard input closes; return the exit code."""
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    # After a death in the middle of a line, the header must not continue it.
    torn = os.fstat(descriptor).st_size > 0 and not _ends_whole(file)
    os.write(descriptor, (b"\n" if torn else b"") + header())
    sink, clock = FileSink(descriptor), SystemClock()
    sampler = None if backend is None else CardSampler(backend, clock, cards)
    host = HostSampler(clock, functools.partial(read_counters, runner_pid), log, sampler)
    sink.write(host.open())
    stop, unfinished = threading.Event(), threading.Event()
    # A daemon: a driver that hangs must not keep this process from ending.
    thread = threading.Thread(
        target=_card_loop,
        args=(sampler, sink, clock, interval_ns),
        kwargs={"stop": stop, "unfinished": unfinished},
        name="cards",
        daemon=True,
    )
    thread.start()
    loop = _HostLoop(host, sink, clock, interval_ns)
    while loop.step():
        if unfinished.is_set() and not thread.is_alive():
            return 1
    stop.set()
    sink.write(
        [TelemetrySample(t_ns=clock.monotonic_ns(), kind=Kind.EVENT, event=Event.STOPPED, detail="asked to")]
    )
    os.fsync(descriptor)
    return 0


class _HostLoop:
    """The main thread's steps, on two grids: one for the kernel log, one a second for counters and beat."""

    def __init__(self, host: HostSampler, sink: Sink, clock: Clock, interval_ns: int) -> None:
        self._host, self._sink, self._clock, self._interval_ns = host, sink, clock, interval_ns
        self._due_ns = self._counters_due_ns = clock.monotonic_ns()
        self._input = sys.stdin.fileno()
        self._poll = select.poll()
        self._poll.register(self._input, select.POLLIN | select.POLLHUP)

    def step(self) -> bool:
        """Do one step and wait for the next; return False once standard input is closed."""
        now = self._clock.monotonic_ns()
        with_counters = now >= self._counters_due_ns
        if with_counters:
            self._counters_due_ns = next_due(self._counters_due_ns, now, NS_PER_S)
        self._sink.write(self._host.tick(with_counters))
        self._due_ns = next_due(self._due_ns, self._clock.monotonic_ns(), self._interval_ns)
        wait_ms = max(0, self._due_ns - self._clock.monotonic_ns()) / 1e6
        return not self._poll.poll(wait_ms) or bool(os.read(self._input, 64))


def _card_loop(
    cards: CardSampler | None,
    sink: Sink,
    clock: Clock,
    interval_ns: int,
    *,
    stop: threading.Event,
    unfinished: threading.Event,
) -> None:
    """Sweep over the cards until told to stop or until none is left; `unfinished` stays set after a crash."""
    if cards is None:
        return
    unfinished.set()
    sink.write(cards.open())
    due = processes_due = clock.monotonic_ns()
    while cards.alive and not stop.is_set():
        now = clock.monotonic_ns()
        with_processes = now >= processes_due
        if with_processes:
            processes_due = next_due(processes_due, now, NS_PER_S)
        sink.write(cards.sweep(with_processes))
        due = next_due(due, clock.monotonic_ns(), interval_ns)
        stop.wait(max(0, due - clock.monotonic_ns()) / 1e9)
    unfinished.clear()


def _ends_whole(file: Path) -> bool:
    with file.open("rb") as opened:
        opened.seek(-1, os.SEEK_END)
        return opened.read(1) == b"\n"


if __name__ == "__main__":
    # Not sys.exit: a thread that hangs in the driver would be waited for.
    code = main()
    sys.stdout.flush()
    os._exit(code)
