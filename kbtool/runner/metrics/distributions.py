"""Figures that each request, token or gap of a round has: their pools and statistics."""

from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from kbtool.runner.metrics import request
from kbtool.runner.metrics.figures import Pool, Sample
from kbtool.runner.stats.samples import mean, percentile_of_sorted
from kbtool.runner.trace import RequestTrace
from kbtool.vocab.terms import Statistic

__all__ = ["PERCENTILES", "pools_of", "samples_of"]

PERCENTILES: Final[tuple[tuple[Statistic, int], ...]] = (("p50", 50), ("p90", 90), ("p95", 95), ("p99", 99))
"""Statistic -> percentile; each is given only where enough samples lie beyond it."""

_ONE_A_REQUEST: Final[tuple[tuple[str, Callable[[RequestTrace], float | None]], ...]] = (
    ("ttft_ms", request.ttft_ms),
    ("ttft_content_ms", request.ttft_content_ms),
    ("ttfb_ms", request.ttfb_ms),
    ("connect_ms", request.connect_ms),
    ("tpot_ms", request.tpot_ms),
    ("normalized_tpot_ms", request.normalized_tpot_ms),
    ("e2el_ms", request.e2el_ms),
    ("tok_s_per_user", request.tok_s_per_user),
    ("decode_tok_s_per_user", request.decode_tok_s_per_user),
    ("send_late_ms", request.send_late_ms),
    ("tok_per_step", request.tok_per_step),
    ("isl_tok", lambda trace: None if trace.usage is None else trace.usage.prompt_tok),
    ("osl_tok", lambda trace: None if trace.usage is None else trace.usage.completion_tok),
    ("reasoning_tok", lambda trace: None if trace.usage is None else trace.usage.reasoning_tok),
    ("cached_tok", lambda trace: None if trace.usage is None else trace.usage.cached_tok),
)
_MANY_A_REQUEST: Final[tuple[tuple[str, Callable[[RequestTrace], Sequence[float]]], ...]] = (
    ("itl_ms", request.itl_ms),
    ("icl_ms", request.icl_ms),
    ("step_gap_ms", request.step_gap_ms),
)


def pools_of(traces: Sequence[RequestTrace], *, prefill: bool) -> tuple[Pool, ...]:
    """Return all values of each metric, ascending; metrics without any are left out.

    Args:
        traces: Successful requests.
        prefill: Whether these are lone requests on a cold cache, so that TTFT is prefill and nothing else.
    """
    return tuple(_pools(traces, prefill=prefill))


def samples_of(pool: Pool) -> Iterator[Sample]:
    """Yield mean, smallest, largest, and those percentiles beyond which enough samples lie."""
    values, n = pool.values, len(pool.values)
    yield Sample(pool.metric, "mean", mean(values), n)
    for statistic, percent in PERCENTILES:
        value = percentile_of_sorted(values, percent)
        if value is not None:
            yield Sample(pool.metric, statistic, value, n)
    yield Sample(pool.metric, "min", values[0], n)
    yield Sample(pool.metric, "max", values[-1], n)


def _pools(traces: Sequence[RequestTrace], *, prefill: bool) -> Iterator[Pool]:
    ones = (*_ONE_A_REQUEST, ("prefill_tok_s", request.prefill_tok_s)) if prefill else _ONE_A_REQUEST
    for metric, one in ones:
        known = sorted([float(value) for each in traces if (value := one(each)) is not None])
        if known:
            yield Pool(metric, array("d", known))
    for metric, many in _MANY_A_REQUEST:
        gaps = sorted([gap for each in traces for gap in many(each)])
        if gaps:
            yield Pool(metric, array("d", gaps))
