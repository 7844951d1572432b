"""Do the server's own counters agree with what its clients were told?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from kbtool.runner.trace import RequestTrace
from kbtool.vocab.warnings import WarningCode

__all__ = ["TOLERANCE_RATIO", "Reconciliation", "ServerTotals", "reconcile"]

_State = Literal["agrees", "unavailable", "counter_reset", "foreign_traffic", "unaccounted_tokens"]
_WORST_FIRST: Final[tuple[_State, ...]] = ("counter_reset", "foreign_traffic", "unaccounted_tokens")

TOLERANCE_RATIO: Final = 0.01
"""Difference that is let pass, as a share of what the client counted."""


@dataclass(frozen=True, slots=True)
class ServerTotals:
    """Counters of the server since its start, summed over its engines; None where it has none."""

    input_tok: float | None = None
    output_tok: float | None = None
    requests: float | None = None


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """The server's counters against the client's totals."""

    state: _State
    input_gap_tok: float | None = None
    """Server minus client; None where not counted."""
    output_gap_tok: float | None = None
    requests_gap: float | None = None

    @property
    def warnings(self) -> tuple[WarningCode, ...]:
        """What to put beside the numbers."""
        if self.state == "foreign_traffic":
            return (WarningCode.FOREIGN_TRAFFIC,)
        if self.state == "counter_reset":
            return (WarningCode.AFTER_RESTART,)
        return (WarningCode.UNACCOUNTED_TOKENS,) if self.state == "unaccounted_tokens" else ()


def reconcile(
    traces: Sequence[RequestTrace],
    before: ServerTotals | None,
    after: ServerTotals | None,
    *,
    control: ServerTotals | None = None,
) -> Reconciliation:
    """Return whether the server's counters rose by what the client was told, within 1 %.

    * foreign_traffic: they rose by more, or by more requests than were sent.  What our own failed requests may
      have cost is allowed for: up to the length asked of each, and as many prompt tokens as the longest prompt.
    * unaccounted_tokens: they rose by less.  The server told its clients of tokens that it did not count.
    * counter_reset: one fell, as after a restart.
    * unavailable: a reading is missing, or both token counters are.

    Args:
        traces: Every request of the time between the readings, failed ones included.
        before: Reading before the first request; None where it failed.
        after: Reading after the last one had ended.
        control: What the runner itself sent besides, such as probes.
    """
    if before is None or after is None:
        return Reconciliation("unavailable")
    own = control or ServerTotals()
    input_gap = _input_gap(traces, before, after, own)
    output_gap = _output_gap(traces, before, after, own)
    sent = sum([each.sent_ns is not None for each in traces])
    requests_gap = _gap(before.requests, after.requests, sent, own.requests, allowed=0, tolerance=0)
    tokens = [each for each in (input_gap, output_gap) if each is not None]
    if not tokens:
        return Reconciliation("unavailable")
    states = {each.state for each in tokens}
    if requests_gap is not None and requests_gap.state != "unaccounted_tokens":
        # Servers differ in whether they count a request that failed, so fewer requests show nothing.
        states.add(requests_gap.state)
    worst: _State = next((each for each in _WORST_FIRST if each in states), "agrees")
    sizes = [None if each is None else each.size for each in (input_gap, output_gap, requests_gap)]
    return Reconciliation(worst, *sizes)


@dataclass(frozen=True, slots=True)
class _Gap:
    """Server minus client, of one counter."""

    size: float
    state: _State


def _input_gap(
    traces: Sequence[RequestTrace], before: ServerTotals, after: ServerTotals, own: ServerTotals
) -> _Gap | None:
    told = [each.usage.prompt_tok for each in traces if each.usage is not None]
    failed = [each for each in traces if each.usage is None and each.sent_ns is not None]
    longest = max(told, default=0)
    return _gap(before.input_tok, after.input_tok, sum(told), own.input_tok, allowed=len(failed) * longest)


def _output_gap(
    traces: Sequence[RequestTrace], before: ServerTotals, after: ServerTotals, own: ServerTotals
) -> _Gap | None:
    told = sum([each.usage.completion_tok for each in traces if each.usage is not None])
    allowed = sum(
        [each.asked_output_tok for each in traces if each.usage is None and each.sent_ns is not None]
    )
    return _gap(before.output_tok, after.output_tok, told, own.output_tok, allowed=allowed)


def _gap(
    before: float | None,
    after: float | None,
    told: float,
    control: float | None,
    *,
    allowed: float,
    tolerance: float = TOLERANCE_RATIO,
) -> _Gap | None:
    """Return the gap of one counter, or None where the server has none; one that appears late was 0 before."""
    if after is None:
        return None
    rise = after - (before or 0.0)
    client = told + (control or 0.0)
    size = rise - client
    if rise < 0:
        return _Gap(size, "counter_reset")
    if size > client * tolerance + allowed:
        return _Gap(size, "foreign_traffic")
    return _Gap(size, "unaccounted_tokens" if size < -client * tolerance else "agrees")
