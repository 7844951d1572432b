"""Streams that common clients get wrong, each with what a right reading of it is."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from kbtool.runner.calibrate.compare import compare, token_arrivals
from kbtool.runner.calibrate.drive import Script, Seen, play
from kbtool.runner.calibrate.model import Check
from kbtool.runner.trace import ClockSource, Outcome
from kbtool.runner.truth import Spec, TruthServer

__all__ = ["CASES", "Case", "run_check"]

_TRIES: Final = 5

Reading = Callable[[Seen], tuple[bool, str]]


@dataclass(frozen=True, slots=True)
class Case:
    """One case: what is sent, and what must be found."""

    name: str
    spec: Spec
    expected: str
    reading: Reading
    each: bool = False
    asked_tok: int | None = None
    chat: bool = True


def run_check(case: Case, server: TruthServer, streams: int = 8) -> Check:
    """Play one case and return whether it was read rightly.

    Where the host left client or server waiting for longer than a step, a failure says nothing of the client, and
    the case is played again.
    """
    script = Script(case.name, streams, 1, case.spec, case.each, case.asked_tok, case.chat)
    for _ in range(_TRIES - 1):
        seen = play(script, server)
        passed, found = case.reading(seen)
        if passed or not _disturbed(seen, case.spec):
            return Check(case.name, passed, case.expected, found)
    passed, found = case.reading(play(script, server))
    return Check(case.name, passed, case.expected, found)


def _disturbed(seen: Seen, spec: Spec) -> bool:
    return max(seen.server_late_ns, seen.health.loop_lag_max_ns) > spec.step_ms * 1e6


def _ttft_within(ratio: float) -> Reading:
    def read(seen: Seen) -> tuple[bool, str]:
        found = compare(seen.traces, seen.truth)
        text = f"TTFT {found.ttft_error_ratio:+.2%}, {found.token_errors} token errors, {found.failures} failures"
        return abs(found.ttft_error_ratio) <= ratio and not found.token_errors and not found.failures, text

    return read


def _largest_gap(seen: Seen) -> tuple[bool, str]:
    found = compare(seen.traces, seen.truth)
    text = f"largest gap {found.gap_max_error_ratio:+.2%}, {found.failures} failures"
    return abs(found.gap_max_error_ratio) <= 0.01 and not found.failures, text


def _exact(seen: Seen) -> tuple[bool, str]:
    found = compare(seen.traces, seen.truth)
    text = f"ITL {found.itl_error_ratio:+.3%}, {found.token_errors} token errors, {found.failures} failures"
    return abs(found.itl_error_ratio) <= 0.001 and not found.token_errors and not found.failures, text


def _all_are(outcome: Outcome) -> Reading:
    def read(seen: Seen) -> tuple[bool, str]:
        outcomes = sorted({trace.outcome.value for trace in seen.traces})
        return outcomes == [outcome.value], ", ".join(outcomes)

    return read


def _one_of(*outcomes: Outcome) -> Reading:
    def read(seen: Seen) -> tuple[bool, str]:
        found = {trace.outcome for trace in seen.traces}
        return found <= set(outcomes), ", ".join(sorted(found))

    return read


def _reasoning(seen: Seen) -> tuple[bool, str]:
    ok, text = _ttft_within(0.005)(seen)
    counts = {None if t.usage is None else t.usage.reasoning_tok for t in seen.traces}
    kept = all(trace.reasoning_text and trace.text for trace in seen.traces)
    return ok and counts == {16} and kept, f"{text}, reasoning tokens {counts}"


def _cached(seen: Seen) -> tuple[bool, str]:
    counts = {None if t.usage is None else t.usage.cached_tok for t in seen.traces}
    return counts == {60}, f"cached tokens {counts}"


def _in_order(seen: Seen) -> tuple[bool, str]:
    ok, text = _exact(seen)
    times = [[t for t, _ in token_arrivals(trace)] for trace in seen.traces]
    ordered = all(a <= b for row in times for a, b in pairwise(row))
    clocks = {trace.clock for trace in seen.traces}
    return ok and ordered and clocks == {ClockSource.KERNEL}, f"{text}, clock {', '.join(sorted(clocks))}"


_SHORT = Spec(tokens=24, ttft_ms=100, step_ms=20)

CASES: tuple[Case, ...] = (
    Case("early role chunk", Spec(tokens=24, role="early"), "TTFT within 0.5 %", _ttft_within(0.005)),
    Case(
        "one second stall",
        Spec(tokens=24, stall_at=12, stall_ms=1000),
        "largest gap within 1 %",
        _largest_gap,
    ),
    Case(
        "reasoning first", Spec(tokens=40, reasoning=16), "TTFT within 0.5 %, 16 reasoning tokens", _reasoning
    ),
    Case(
        "split segments",
        Spec(tokens=24, ttft_ms=100, split=(1, 40, 90), split_gap_ms=2, text="né😀"),
        "every token, ITL within 0.1 %",
        _exact,
        each=True,
    ),
    Case(
        "comments",
        Spec(tokens=24, comment_ms=30, headers_early=True),
        "TTFT within 0.5 %",
        _ttft_within(0.005),
    ),
    Case("body ends at close", Spec(tokens=24, framing="close"), "TTFT within 0.5 %", _ttft_within(0.005)),
    Case("content length", Spec(tokens=24, framing="length"), "TTFT within 0.5 %", _ttft_within(0.005)),
    Case("line ends CRLF", Spec(tokens=24, newline="crlf"), "TTFT within 0.5 %", _ttft_within(0.005)),
    Case("text completion", Spec(tokens=24), "TTFT within 0.5 %", _ttft_within(0.005), chat=False),
    Case("kernel times", _SHORT, "ITL within 0.1 %, kernel stamps", _in_order, each=True),
    Case(
        "4 tokens a chunk", Spec(tokens=64, pattern=(4,)), "tokens exact, ITL within 0.1 %", _exact, each=True
    ),
    Case(
        "mixed chunks",
        Spec(tokens=90, pattern=(1, 3, 5, 2, 4)),
        "tokens exact, ITL within 0.1 %",
        _exact,
        each=True,
    ),
    Case("early stop", Spec(tokens=64, stop_after=40), "40 tokens, not 64", _exact, each=True),
    Case("cached tokens", Spec(tokens=8, ttft_ms=50, cached=60), "60 cached tokens", _cached),
    Case("usage missing", Spec(tokens=8, ttft_ms=50, usage="none"), "no_usage", _all_are(Outcome.NO_USAGE)),
    Case("usage null", Spec(tokens=8, ttft_ms=50, usage="null"), "no_usage", _all_are(Outcome.NO_USAGE)),
    Case(
        "error mid-stream",
        Spec(tokens=24, ttft_ms=50, error_after=8),
        "error_event",
        _all_are(Outcome.ERROR_EVENT),
    ),
    Case(
        "closed mid-stream",
        Spec(tokens=24, ttft_ms=50, abort_after=8),
        "truncated",
        _all_are(Outcome.TRUNCATED),
    ),
    Case(
        "closed mid-stream, unframed",
        Spec(tokens=24, ttft_ms=50, abort_after=8, framing="close"),
        "no_finish_reason",
        _all_are(Outcome.NO_FINISH_REASON),
    ),
    Case(
        "reset mid-stream",
        Spec(tokens=24, ttft_ms=50, abort_after=8, abort="reset"),
        "reset",
        _one_of(Outcome.RESET, Outcome.TRUNCATED),
    ),
    Case("no end mark", Spec(tokens=8, ttft_ms=50, done=False), "no_end_mark", _all_are(Outcome.NO_END_MARK)),
    Case(
        "no finish reason",
        Spec(tokens=8, ttft_ms=50, finish="none"),
        "no_finish_reason",
        _all_are(Outcome.NO_FINISH_REASON),
    ),
    Case("status 500", Spec(status=500), "http_error", _all_are(Outcome.HTTP_ERROR)),
    Case("status 429", Spec(status=429), "refused", _all_are(Outcome.REFUSED)),
)
