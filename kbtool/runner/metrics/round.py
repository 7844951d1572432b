"""Every figure of one round of one cell, from its traces.

Only successful requests are in a figure.  Failed ones are counted by their outcome, and take part in one thing
alone: how many requests were in flight, since they took up the server too.
"""

from collections import Counter
from collections.abc import Sequence

from kbtool.runner.metrics.cache import cache_verdict
from kbtool.runner.metrics.distributions import pools_of, samples_of
from kbtool.runner.metrics.figures import CacheVerdict, RoundContext, RoundFigures, Window
from kbtool.runner.metrics.flags import round_warnings
from kbtool.runner.metrics.occupancy import peak_in_flight, steady_window, wall_ns, window_of
from kbtool.runner.metrics.throughput import error_ratio, round_samples, token_totals
from kbtool.runner.trace import Outcome, RequestTrace

__all__ = ["round_figures"]


def round_figures(traces: Sequence[RequestTrace], context: RoundContext) -> RoundFigures:
    """Return every figure of one round; the order of the traces does not matter.

    Args:
        traces: Every request of the round, warm-up left out, failed ones included.
        context: Under what conditions it ran.

    Raises:
        UsageError: an SLO is on a metric that a request does not have.
    """
    ok = [each for each in traces if each.outcome is Outcome.OK]
    counts = Counter([each.outcome for each in traces])
    outcomes = tuple([(each, counts[each]) for each in Outcome if counts[each]])
    wall = wall_ns(traces)
    window = _window(traces, context)
    totals = token_totals(ok)
    cache = _cache(ok, context)
    pools = pools_of(ok, prefill=_lone_and_cold(traces, context))
    samples = [sample for pool in pools for sample in samples_of(pool)]
    samples += round_samples(traces, context, window, totals)
    failed = error_ratio(outcomes)
    return RoundFigures(
        context=context,
        samples=tuple(samples if failed is None else [*samples, failed]),
        pools=pools,
        outcomes=outcomes,
        retries=sum([each.retries for each in traces]),
        started_ns=None if wall is None else wall[0],
        wall_s=None if wall is None else (wall[1] - wall[0]) / 1e9,
        window=window,
        totals=totals,
        cache=cache,
        warnings=round_warnings(traces, context, window, cache),
    )


def _window(traces: Sequence[RequestTrace], context: RoundContext) -> Window | None:
    """Return the window that the plan states, else that at full concurrency of a closed loop."""
    if context.window_ns is not None:
        return window_of(traces, *context.window_ns)
    if context.concurrency is not None:
        return steady_window(traces, context.concurrency)
    return None


def _cache(ok: Sequence[RequestTrace], context: RoundContext) -> CacheVerdict:
    """Return the verdict on the cache; where it is meant to be warm, on the turns that have a turn to reuse."""
    judged = ok
    if context.cache_expected == "warm" and any(each.turn > 1 for each in ok):
        judged = [each for each in ok if each.turn > 1]
    return cache_verdict(
        [None if each.usage is None else each.usage.cached_tok for each in judged],
        expected=context.cache_expected,
        unique=context.prompts_unique,
        reset_checked=context.cache_reset_checked,
        restarted=context.server_restarted,
        template_tok=context.template_tok,
    )


def _lone_and_cold(traces: Sequence[RequestTrace], context: RoundContext) -> bool:
    """Return whether TTFT is prefill and nothing else: one request at a time, on a cold cache."""
    return context.cache_expected in {"cold", "off"} and peak_in_flight(traces) == 1
