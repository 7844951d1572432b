"""Figures that a round has as a whole: throughput, concurrency, goodput, acceptance, energy.

Wall time runs from the first successful request sent to the last byte of the last one.
"""

from collections.abc import Callable, Iterator, Sequence
from math import fsum
from typing import Final

from kbtool.errors import UsageError
from kbtool.runner.metrics import request
from kbtool.runner.metrics.figures import RoundContext, Sample, Slo, TokenTotals, Window
from kbtool.runner.metrics.occupancy import in_flight_integral_ns, peak_in_flight, tokens_within, wall_ns
from kbtool.runner.trace import Outcome, RequestTrace
from kbtool.vocab.metrics import METRICS

__all__ = ["UNCOUNTED", "error_ratio", "met", "round_samples", "token_totals"]

UNCOUNTED: Final = frozenset({Outcome.NOT_SENT, Outcome.CANCELLED})
"""Outcomes that were our doing: they say nothing of the server, and are neither failed nor sent."""

_LIMITED: Final[dict[str, Callable[[RequestTrace], float | None]]] = {
    "ttft_ms": request.ttft_ms,
    "ttft_content_ms": request.ttft_content_ms,
    "ttfb_ms": request.ttfb_ms,
    "tpot_ms": request.tpot_ms,
    "normalized_tpot_ms": request.normalized_tpot_ms,
    "e2el_ms": request.e2el_ms,
    "itl_ms": lambda trace: max(request.itl_ms(trace), default=None),
    "icl_ms": lambda trace: max(request.icl_ms(trace), default=None),
    "step_gap_ms": lambda trace: max(request.step_gap_ms(trace), default=None),
    "tok_s_per_user": request.tok_s_per_user,
    "decode_tok_s_per_user": request.decode_tok_s_per_user,
}
"""Metrics that a request can be held to; of its gaps, the largest."""


def token_totals(ok: Sequence[RequestTrace]) -> TokenTotals:
    """Return the token counts of successful requests, by usage."""
    usages = [each.usage for each in ok if each.usage is not None]
    return TokenTotals(
        input_tok=sum([each.prompt_tok for each in usages]),
        output_tok=sum([each.completion_tok for each in usages]),
        cached_tok=_sum_or_none([each.cached_tok for each in usages]),
        reasoning_tok=_sum_or_none([each.reasoning_tok for each in usages]),
    )


def error_ratio(outcomes: Sequence[tuple[Outcome, int]]) -> Sample | None:
    """Return failed requests / requests sent, or None where none was.

    A request that never got a connection counts as sent and failed; what we cancelled or held back as neither.
    """
    counted = {outcome: count for outcome, count in outcomes if outcome not in UNCOUNTED}
    n = sum(counted.values())
    return Sample("error_ratio", "single", (n - counted.get(Outcome.OK, 0)) / n, n) if n else None


def met(trace: RequestTrace, slos: Sequence[Slo]) -> bool:
    """Return whether a request met every limit.

    A time between tokens that a request does not have, because it answered in one token or at once, breaks none.

    Raises:
        UsageError: a limit is on a metric that a request does not have.
    """
    for slo in slos:
        if slo.metric not in _LIMITED:
            raise UsageError(
                f"SLO on {slo.metric}: no metric of one request; expected one of {', '.join(sorted(_LIMITED))}"
            )
        value = _LIMITED[slo.metric](trace)
        if value is None:
            continue
        higher = METRICS[slo.metric].direction == "higher"
        if value < slo.limit if higher else value > slo.limit:
            return False
    return True


def round_samples(
    traces: Sequence[RequestTrace], context: RoundContext, window: Window | None, totals: TokenTotals
) -> Iterator[Sample]:
    """Yield the figures of the round as a whole.

    Args:
        traces: Every request of the round.
        context: Conditions.
        window: Time at full concurrency.
        totals: Of the successful requests.
    """
    ok = [each for each in traces if each.outcome is Outcome.OK]
    wall = wall_ns(traces)
    if wall is None or wall[1] <= wall[0]:
        return
    wall_s, n = (wall[1] - wall[0]) / 1e9, len(ok)
    both_tok = totals.input_tok + totals.output_tok
    yield Sample("output_tok_s", "single", totals.output_tok / wall_s, n)
    yield Sample("total_tok_s", "single", both_tok / wall_s, n)
    yield Sample("input_tok_s", "single", totals.input_tok / wall_s, n)
    yield Sample("req_s", "single", n / wall_s, n)
    if context.accelerators:
        share = wall_s * context.accelerators
        yield Sample("tok_s_per_accelerator", "single", totals.output_tok / share, n)
        yield Sample("total_tok_s_per_accelerator", "single", both_tok / share, n)
    if window is not None:
        yield from _steady(ok, window)
    in_flight = in_flight_integral_ns(traces, *wall) / (wall[1] - wall[0])
    yield Sample("achieved_concurrency", "mean", in_flight, n)
    yield Sample("achieved_concurrency", "max", peak_in_flight(traces), n)
    if context.slos:
        yield Sample("goodput_req_s", "single", sum([met(each, context.slos) for each in ok]) / wall_s, n)
    yield from _acceptance(ok, context)
    if context.energy_j is not None and totals.output_tok:
        yield Sample("energy_j_per_tok", "single", context.energy_j / totals.output_tok, n)


def _steady(ok: Sequence[RequestTrace], window: Window) -> Iterator[Sample]:
    inside = [tok for each in ok if (tok := tokens_within(each, window.start_ns, window.end_ns)) > 0]
    if inside:
        yield Sample("steady_output_tok_s", "single", fsum(inside) / window.length_s, len(inside))


def _acceptance(ok: Sequence[RequestTrace], context: RoundContext) -> Iterator[Sample]:
    """Yield acceptance by request where the engine gives it for each, else by the server's counters."""
    usages = [each.usage for each in ok if each.usage is not None]
    drafted = _sum_or_none([each.draft_tok for each in usages])
    accepted = _sum_or_none([each.accepted_draft_tok for each in usages])
    steps = _sum_or_none([each.verify_steps for each in usages])
    verdict = context.speculation
    if verdict is not None and verdict.state != "enabled":
        verdict = None
    if accepted is not None and steps:
        yield Sample("acceptance_length", "mean", 1 + accepted / steps, steps)
    elif verdict is not None and verdict.acceptance_length is not None:
        yield Sample("acceptance_length", "mean", verdict.acceptance_length, round(verdict.drafts or 0))
    if accepted is not None and drafted:
        yield Sample("acceptance_ratio", "mean", accepted / drafted, drafted)
    elif verdict is not None and verdict.acceptance_ratio is not None:
        yield Sample("acceptance_ratio", "mean", verdict.acceptance_ratio, round(verdict.draft_tok or 0))


def _sum_or_none(values: Sequence[int | None]) -> int | None:
    """Return the sum, or None where there are no values or one is not known."""
    known = [each for each in values if each is not None]
    return sum(known) if values and len(known) == len(values) else None
