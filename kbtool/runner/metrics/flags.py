"""Warnings that the traces and conditions of a round call for."""

from collections.abc import Iterator, Sequence
from typing import Final

from kbtool.runner.metrics.figures import CacheVerdict, RoundContext, Window
from kbtool.runner.metrics.occupancy import peak_in_flight
from kbtool.runner.metrics.request import send_late_ms
from kbtool.runner.metrics.throughput import UNCOUNTED
from kbtool.runner.prompts import LENGTH_TOLERANCE_RATIO
from kbtool.runner.stats.samples import mean
from kbtool.runner.trace import ClockSource, Outcome, RequestTrace
from kbtool.vocab.warnings import WarningCode, in_order

__all__ = ["round_warnings"]

_STEADY_SHARE_RATIO: Final = 0.5
_STEADY_FULL_RATIO: Final = 0.9
_SHORT_RATIO: Final = 0.9
_LATE_MS: Final = 10.0
_LATE_SHARE_RATIO: Final = 0.01


def round_warnings(
    traces: Sequence[RequestTrace], context: RoundContext, window: Window | None, cache: CacheVerdict
) -> tuple[WarningCode, ...]:
    """Return what must stand beside the figures of a round, those observed from outside included."""
    return in_order(
        {
            *context.observed,
            *_of_requests(traces, context),
            *_of_load(traces, context, window),
            *_of_cache(context, cache),
        }
    )


def _of_requests(traces: Sequence[RequestTrace], context: RoundContext) -> Iterator[WarningCode]:
    ok = [each for each in traces if each.outcome is Outcome.OK]
    if any(each.outcome is not Outcome.OK and each.outcome not in UNCOUNTED for each in traces):
        yield WarningCode.ERRORS
    if any(each.retries for each in traces):
        yield WarningCode.RETRIES
    if any(each.clock is ClockSource.USER for each in ok):
        yield WarningCode.USER_CLOCK
    if _off(ok, context):
        yield WarningCode.LENGTH_OFF
    if _short(ok, context):
        yield WarningCode.SHORT_OUTPUTS


def _off(ok: Sequence[RequestTrace], context: RoundContext) -> bool:
    """Return whether prompts miss the length that the plan asks for; those of later turns have grown."""
    counted = [float(each.usage.prompt_tok) for each in ok if each.usage is not None and each.turn == 1]
    if not counted or not context.input_tok:
        return False
    return abs(mean(counted) / context.input_tok - 1) > LENGTH_TOLERANCE_RATIO


def _short(ok: Sequence[RequestTrace], context: RoundContext) -> bool:
    """Return whether answers are shorter than the workload says.

    Where the engine was told a length, one token less in any answer; else a mean below 90 % of the length asked.
    """
    lengths = [(each.usage.completion_tok, each) for each in ok if each.usage is not None]
    if any(each.output_tok_fixed and tok < each.asked_output_tok for tok, each in lengths):
        return True
    if not lengths or context.output_tok is None:
        return False
    return mean([float(tok) for tok, _ in lengths]) < _SHORT_RATIO * context.output_tok


def _of_load(
    traces: Sequence[RequestTrace], context: RoundContext, window: Window | None
) -> Iterator[WarningCode]:
    if context.running_limit is not None and peak_in_flight(traces) > context.running_limit:
        yield WarningCode.QUEUED
    late = [value for each in traces if (value := send_late_ms(each)) is not None]
    if late and sum([each > _LATE_MS for each in late]) > _LATE_SHARE_RATIO * len(late):
        yield WarningCode.SENT_LATE
    if context.concurrency is None or context.concurrency < 2:
        return
    if (
        window is None
        or window.share_ratio < _STEADY_SHARE_RATIO
        or window.mean_in_flight < _STEADY_FULL_RATIO * context.concurrency
    ):
        yield WarningCode.UNSTEADY


def _of_cache(context: RoundContext, cache: CacheVerdict) -> Iterator[WarningCode]:
    if cache.state == "contaminated":
        yield WarningCode.CONTAMINATED
    elif context.cache_expected == "cold" and cache.state != "proven_cold":
        yield WarningCode.UNPROVEN_COLD
