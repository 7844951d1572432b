"""Which figures of a cell are compared, and their values by session."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from kbtool.runner.results import CellResult, RoundResult, VisitResult
from kbtool.runner.stats import mean
from kbtool.vocab.terms import Statistic

__all__ = [
    "Figure",
    "SessionValue",
    "figures_of",
    "log_mean",
    "rounds_of",
    "session_values",
    "shared_statistic",
]

Figure = tuple[str, str]
"""Metric and statistic."""
_PREFERRED: Final = ("single", "p50", "mean")
"""A median resists one stray request; where rounds have too few requests for one, the mean."""
_BY_KIND: Final[Mapping[str, tuple[str, ...]]] = {
    "single_stream": ("tok_s_per_user", "ttft_ms"),
    "long_decode": ("tok_s_per_user", "ttft_ms"),
    "concurrency": ("output_tok_s", "tok_s_per_user", "ttft_ms"),
    "conversation": ("output_tok_s", "tok_s_per_user", "ttft_ms"),
    "rate": ("goodput_req_s", "tok_s_per_user", "ttft_ms", "e2el_ms"),
    "replay": ("goodput_req_s", "tok_s_per_user", "ttft_ms", "e2el_ms"),
}
"""Few metrics, chosen beforehand: each further one makes the correction for many comparisons harder."""


@dataclass(frozen=True, slots=True)
class SessionValue:
    """One session's value of one figure."""

    session: int
    start_ns: int
    """First measured round began, by the clock that orders sessions."""
    end_ns: int
    log: float
    """Mean of the logarithms over its rounds."""


def figures_of(kind: str, cache: str) -> tuple[str, ...]:
    """Return the metrics that are compared for a kind of workload."""
    if kind == "prefill":
        # The TTFT of a cold lone prompt is its prefill speed the other way round.
        return ("ttft_ms",) if cache == "warm" else ("prefill_tok_s",)
    return _BY_KIND.get(kind, ("output_tok_s", "tok_s_per_user", "ttft_ms"))


def shared_statistic(metric: str, *cells: CellResult) -> str | None:
    """Return the first statistic that every round of all cells has, or None."""
    rounds = [each for cell in cells for each in cell.rounds]
    return next(
        (
            word
            for word in _PREFERRED
            if rounds and all(_value(each, (metric, word)) is not None for each in rounds)
        ),
        None,
    )


def rounds_of(visits: Iterable[VisitResult], figure: Figure) -> list[float]:
    """Return the logarithms of the values of every round, in order; rounds without a value above 0 are left out."""
    values = [_value(each, figure) for visit in visits for each in visit.rounds]
    return [math.log(each) for each in values if each is not None and each > 0]


def session_values(cell: CellResult, figure: Figure, *, wall: bool) -> tuple[SessionValue, ...]:
    """Return the value of each session, in the order in which they ran.

    Args:
        cell: The cell.
        figure: Metric and statistic.
        wall: Order by the wall clock, as for runs of two boots or machines.
    """
    by_session: dict[int, list[VisitResult]] = {}
    for visit in cell.visits:
        by_session.setdefault(visit.note.visit.session, []).append(visit)
    found = []
    for number, visits in by_session.items():
        logs = rounds_of(visits, figure)
        marks = [
            mark for visit in visits for each in visit.rounds for mark in (each.note.start, each.note.end)
        ]
        if logs:
            times = [mark.wall_ns if wall else mark.monotonic_ns for mark in marks]
            found.append(SessionValue(number, min(times), max(times), mean(logs)))
    return tuple(sorted(found, key=lambda each: each.start_ns))


def log_mean(logs: Sequence[float]) -> float:
    """Return the geometric mean of values whose logarithms these are."""
    return math.exp(mean(logs))


def _value(result: RoundResult, figure: Figure) -> float | None:
    found = result.figures.sample(figure[0], cast("Statistic", figure[1]))
    return None if found is None else found.value
