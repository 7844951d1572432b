"""What only the raw rounds show: single requests over time, turns of conversations, what a failure looked like."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import pairwise

from kbtool.runner.folder import RunFolder
from kbtool.runner.metrics.request import e2el_ms, ttft_ms
from kbtool.runner.metrics.steps import text_times_ns, token_steps
from kbtool.runner.results import CellResult, Run
from kbtool.runner.stats import median
from kbtool.runner.trace import Outcome, RequestTrace

__all__ = [
    "CellRaw",
    "RawRun",
    "RequestTimeline",
    "Turn",
    "longest_gap_ns",
    "pool_of",
    "read_raw",
    "timeline_of",
]


@dataclass(frozen=True, slots=True)
class RequestTimeline:
    """Arrivals of one request."""

    id: str
    round: int
    """Number in its cell."""
    folder: str
    """Where its visit is kept, within the run folder."""
    counted: bool
    """Whether the tokens of each arrival are known; else arrivals are counted."""
    steps: tuple[tuple[float, int], ...]
    """Seconds since it was sent, and tokens (or arrivals) up to then."""
    e2el_ms: float


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of one conversation."""

    turn: int
    ttft_ms: float
    cached_ratio: float | None
    """Share of its input that the server took from its cache."""


@dataclass(slots=True)
class CellRaw:
    """What was picked from the raw rounds of one cell."""

    typical: RequestTimeline | None = None
    """Of the request whose latency is nearest to the median."""
    worst: RequestTimeline | None = None
    """Of the request with the longest gap between arrivals."""
    turns: list[Turn] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class RawRun:
    """What was picked from all raw rounds."""

    cells: tuple[CellRaw, ...]
    """In the order of `Run.cells`."""
    examples: dict[tuple[int, Outcome], str]
    """Number of the cell and class of the failure -> what was found in the first such request."""


def pool_of(cell: CellResult, metric: str) -> list[float]:
    """Return all values of a metric in the measured rounds of a cell, ascending."""
    return list(
        merge(*(pool.values for each in cell.rounds for pool in each.figures.pools if pool.metric == metric))
    )


def read_raw(run: Run, folder: RunFolder) -> RawRun:
    """Read every measured round once, one at a time, and keep what the report shows.

    Raises:
        DamagedError: a sealed file is not what it was.
    """
    examples: dict[tuple[int, Outcome], str] = {}
    cells = []
    for index, cell in enumerate(run.cells):
        latencies = pool_of(cell, "e2el_ms")
        picker = _Picker(median(latencies) if latencies else 0.0)
        for place, number, traces in _rounds(cell, folder):
            for trace in traces:
                if trace.outcome is Outcome.OK:
                    picker.look(trace, place, number)
                else:
                    examples.setdefault((index, trace.outcome), _example(trace))
        cells.append(picker.picked(turns=cell.cell.kind == "conversation"))
    return RawRun(tuple(cells), examples)


def _rounds(cell: CellResult, folder: RunFolder) -> Iterator[tuple[str, int, Sequence[RequestTrace]]]:
    for visit in cell.visits:
        stored = folder.cell(visit.key)
        for each in visit.rounds:
            yield stored.state.folder, each.note.number, stored.read_round(each.note.number)


def _example(trace: RequestTrace) -> str:
    status = "" if trace.status is None else f"status {trace.status}, "
    return f"{status}{trace.detail or 'nothing more was said'} ({trace.id})"


class _Picker:
    """Keeps two requests of all that it is shown, and figures of each turn."""

    def __init__(self, median_ms: float) -> None:
        self._median_ms = median_ms
        self._typical: tuple[float, str, RequestTrace, str, int] | None = None
        self._worst: tuple[float, str, RequestTrace, str, int] | None = None
        self._turns: list[Turn] = []

    def look(self, trace: RequestTrace, place: str, number: int) -> None:
        """Look at one successful request."""
        latency_ms, first_ms = e2el_ms(trace), ttft_ms(trace)
        if latency_ms is None or first_ms is None:
            return
        typical = (abs(latency_ms - self._median_ms), trace.id, trace, place, number)
        worst = (-longest_gap_ns(text_times_ns(trace.chunks)), trace.id, trace, place, number)
        if self._typical is None or typical[:2] < self._typical[:2]:
            self._typical = typical
        if self._worst is None or worst[:2] < self._worst[:2]:
            self._worst = worst
        usage = trace.usage
        known = usage is not None and usage.cached_tok is not None and usage.prompt_tok > 0
        cached = (usage.cached_tok or 0) / usage.prompt_tok if known and usage is not None else None
        self._turns.append(Turn(trace.turn, first_ms, cached))

    def picked(self, *, turns: bool) -> CellRaw:
        """Return what was kept."""
        typical = None if self._typical is None else timeline_of(*self._typical[2:])
        worst = None if self._worst is None or self._worst[0] == 0 else timeline_of(*self._worst[2:])
        return CellRaw(typical, worst, self._turns if turns else [])


def longest_gap_ns(times_ns: Iterable[int]) -> int:
    """Return the longest time between two arrivals; 0 where there are fewer than two."""
    return max((after - before for before, after in pairwise(times_ns)), default=0)


def timeline_of(trace: RequestTrace, place: str, number: int) -> RequestTimeline | None:
    """Return the arrivals of a request, or None where it was not sent or nothing came."""
    steps = token_steps(trace)
    counted = steps is not None
    arrivals = (
        [(each.t_ns, each.tok) for each in steps]
        if steps is not None
        else [(t_ns, 1) for t_ns in dict.fromkeys(text_times_ns(trace.chunks))]
    )
    if trace.sent_ns is None or not arrivals:
        return None
    sums, total = [], 0
    for t_ns, tok in arrivals:
        total += tok
        sums.append(((t_ns - trace.sent_ns) / 1e9, total))
    return RequestTimeline(trace.id, number, place, counted, tuple(sums), e2el_ms(trace) or 0.0)
