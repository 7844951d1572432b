"""How a running measurement looks at a terminal: cells, the current rate, time left, and every warning at once.

Without a terminal one line is printed for each round, so that a log tells the same story.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from kbtool.escape import terminal

if TYPE_CHECKING:
    from kbtool.runner.results import RoundResult
    from kbtool.runner.session.events import Event, Tell

__all__ = ["display", "duration"]

SHOWN: Final = (
    ("output_tok_s", "single", "tok/s", 1),
    ("tok_s_per_user", "mean", "tok/s/user", 1),
    ("prefill_tok_s", "mean", "prefill tok/s", 0),
    ("ttft_ms", "p50", "ms TTFT", 1),
)


def duration(seconds: float) -> str:
    """Return a time as `2 h 05 min`, `3 min 20 s` or `12 s`."""
    whole = round(seconds)
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 60} min {whole % 60:02d} s" if whole >= 60 else f"{whole} s"


@contextmanager
def display() -> Iterator["Tell"]:
    """Give a callback that shows events on stderr: as a live display, or line by line where there is no terminal."""
    if not sys.stderr.isatty():
        yield _Lines().tell
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[now]}"),
        console=Console(stderr=True, highlight=False),
        transient=True,
    )
    with bar:
        yield _Live(bar).tell


@dataclass(slots=True)
class _Pace:
    """Time left, from the cells that are done."""

    started_s: float = field(default_factory=time.monotonic)
    done: int = 0
    total: int = 0

    def left(self) -> str:
        """Return the time left in words, or nothing while there is nothing to reckon from."""
        if not self.done or self.done >= self.total:
            return ""
        each = (time.monotonic() - self.started_s) / self.done
        return f"about {duration(each * (self.total - self.done))} left"


class _Lines:
    """One line an event."""

    def __init__(self) -> None:
        self._pace = _Pace()
        self._is_read = True

    def tell(self, event: "Event") -> None:
        text = _words(event, self._pace)
        if not text or not self._is_read:
            return
        try:
            sys.stderr.write(f"{terminal(text)}\n")
            sys.stderr.flush()
        except OSError:
            # Whoever read it has gone, or its disk is full: that is no reason to lose what is measured.
            self._is_read = False


class _Live:
    """A bar over the cells, with what goes on beside it; what stays is printed above."""

    def __init__(self, bar: Any) -> None:
        self._bar = bar
        self._pace = _Pace()
        self._task = bar.add_task("starting", total=None, now="")

    def tell(self, event: "Event") -> None:
        from kbtool.runner.session import events

        if isinstance(event, events.RoundRunning):
            now = event.progress
            said = f"{event.phase} {event.number}: {now.in_flight} in flight, {now.ended} ended"
            failed = f", {now.failed} failed" if now.failed else ""
            self._bar.update(self._task, now=f"{said}{failed}   {self._pace.left()}")
            return
        text = _words(event, self._pace)
        if isinstance(event, events.VisitBegan):
            self._bar.update(self._task, description=terminal(event.visit.cell.name), now="")
        elif text:
            self._bar.console.print(terminal(text), markup=False, highlight=False)
        self._bar.update(self._task, completed=self._pace.done, total=self._pace.total or None)


def _words(event: "Event", pace: _Pace) -> str:
    """Return what an event says in a line, and keep the pace."""
    from kbtool.runner.session import events

    text = ""
    match event:
        case events.RunBegan():
            pace.total, pace.done = event.visits - event.sealed, 0
            before = f", {event.sealed} of them measured before" if event.sealed else ""
            text = f"run {event.run_id}: {event.visits} cells{before}; {event.root}"
        case events.LegBegan():
            text = f"leg {event.number} {event.name}: {event.what}"
        case events.VisitBegan():
            text = f"{event.visit.cell.name} ..."
        case events.RoundDone():
            text = f"  {event.visit.cell.name} {event.phase} {event.number}: {_figures(event.result)}"
        case events.VisitSealed():
            pace.done += 1
            left = pace.left()
            text = f"{event.visit.cell.name}: {event.result.note.ended_because}{f'; {left}' if left else ''}"
        case events.VisitFailed():
            pace.done += 1
            text = f"{event.visit.cell.name} failed: {event.detail}"
        case events.Remark():
            text = event.text
        case events.RunEnded():
            text = event.why or ""  # that a run is complete is said once, with what to do next
    return text


def _figures(result: "RoundResult") -> str:
    found = []
    for metric, statistic, unit, digits in SHOWN:
        sample = result.figures.sample(metric, statistic)  # type: ignore[arg-type]  # words of the vocabulary
        if sample is not None:
            found.append(f"{sample.value:,.{digits}f} {unit}")
    requests = f"{result.figures.n_ok} of {result.figures.n_requests} requests"
    warnings = ", ".join(each.value.replace("_", " ") for each in result.figures.warnings)
    return "; ".join([*found, requests, *([warnings] if warnings else [])])
