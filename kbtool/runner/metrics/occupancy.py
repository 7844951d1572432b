"""How many requests were in flight, when the asked concurrency was reached, and what was generated then.

The *steady window* of a closed loop with c users, with `need` = 90 % of c, rounded up:

* it begins when `need` users have seen their first text: the first wave of prefills, which no later moment
  resembles, is then over;
* it ends at the last moment at which `need` requests were in flight: from then on, users have nothing left to send.

Dips in between belong to it, since the server made them; `Window.mean_in_flight` shows them.  There is no window
where the concurrency was never reached, or the first wave outlasts it.  An open loop has no target: it has a
window only if the plan states one.

A request is in flight from its first byte sent to its last byte received, failed ones too (to their last event):
they took up the server as well.  Their tokens count nowhere.
"""

from collections.abc import Sequence

from kbtool.runner.metrics.figures import Window
from kbtool.runner.metrics.steps import TEXT_KINDS, Step, first_text_ns, token_steps
from kbtool.runner.trace import Outcome, RequestTrace

__all__ = [
    "in_flight_integral_ns",
    "peak_in_flight",
    "steady_window",
    "tokens_within",
    "wall_ns",
    "window_of",
]


def wall_ns(traces: Sequence[RequestTrace]) -> tuple[int, int] | None:
    """Return when the first successful request was sent and the last one ended, or None where none succeeded."""
    spans = [_span(each) for each in traces if each.outcome is Outcome.OK]
    known = [each for each in spans if each is not None]
    if not known:
        return None
    return min([start for start, _ in known]), max([end for _, end in known])


def steady_window(traces: Sequence[RequestTrace], concurrency: int) -> Window | None:
    """Return the window at full concurrency of a closed loop; see the module for its exact bounds."""
    need = -(-concurrency * 9 // 10)
    first_of_user: dict[int, int] = {}
    for trace in traces:
        first_ns = first_text_ns(trace.chunks)
        if first_ns is not None:
            first_of_user[trace.stream] = min(first_ns, first_of_user.get(trace.stream, first_ns))
    warm_ns = sorted(first_of_user.values())
    end_ns = _last_reached_ns(traces, need)
    if len(warm_ns) < need or end_ns is None or warm_ns[need - 1] >= end_ns:
        return None
    return window_of(traces, warm_ns[need - 1], end_ns)


def window_of(traces: Sequence[RequestTrace], start_ns: int, end_ns: int) -> Window | None:
    """Return a window with stated bounds, or None where it is empty or nothing succeeded."""
    wall = wall_ns(traces)
    if wall is None or end_ns <= start_ns:
        return None
    length_ns = end_ns - start_ns
    share = length_ns / (wall[1] - wall[0]) if wall[1] > wall[0] else 0.0
    return Window(
        start_ns, end_ns, in_flight_integral_ns(traces, start_ns, end_ns) / length_ns, min(1.0, share)
    )


def in_flight_integral_ns(traces: Sequence[RequestTrace], start_ns: int, end_ns: int) -> int:
    """Return the time in flight within the bounds, summed over requests; divided by their distance, the mean."""
    spans = [span for each in traces if (span := _span(each)) is not None]
    return sum([max(0, min(end, end_ns) - max(start, start_ns)) for start, end in spans])


def peak_in_flight(traces: Sequence[RequestTrace]) -> int:
    """Return the most requests in flight at one time; one that ends as another begins makes room for it."""
    return max([running for _, running in _running(traces)], default=0)


def tokens_within(trace: RequestTrace, start_ns: int, end_ns: int) -> float:
    """Return the completion tokens that arrived after the start and not after the end.

    A request that lies wholly inside counts with its exact tokens.  Of one that is cut, the tokens are placed by
    the server's running count, and, where it gives none, by their share of the characters: the total stays the
    server's, and only the place of the cut is estimated.
    """
    if trace.usage is None:
        return 0.0
    steps = token_steps(trace)
    if steps is not None:
        return float(sum([each.tok for each in steps if start_ns < each.t_ns <= end_ns]))
    chunks = trace.chunks
    texts = [
        Step(t_ns, n_chars)
        for t_ns, kind, n_chars in zip(chunks.t_ns, chunks.kind, chunks.n_chars, strict=True)
        if kind in TEXT_KINDS and n_chars > 0
    ]
    total = sum([each.tok for each in texts])
    inside = sum([each.tok for each in texts if start_ns < each.t_ns <= end_ns])
    return trace.usage.completion_tok * (inside / total) if total else 0.0


def _span(trace: RequestTrace) -> tuple[int, int] | None:
    """Return when the request was sent and when it ended, or None where it was never sent."""
    if trace.sent_ns is None:
        return None
    if trace.done_ns is not None:
        return trace.sent_ns, trace.done_ns
    seen = [trace.sent_ns, trace.sent_all_ns or 0, trace.first_byte_ns or 0, *trace.chunks.t_ns[-1:]]
    return trace.sent_ns, max(seen)


def _running(traces: Sequence[RequestTrace]) -> list[tuple[int, int]]:
    """Return (time, requests in flight from then on), in order; ends before starts at one time."""
    spans = [span for each in traces if (span := _span(each)) is not None]
    changes = sorted([(start, 1) for start, _ in spans] + [(end, -1) for _, end in spans])
    running, steps = 0, []
    for t_ns, change in changes:
        running += change
        steps.append((t_ns, running))
    return steps


def _last_reached_ns(traces: Sequence[RequestTrace], need: int) -> int | None:
    """Return the last moment at which so many were in flight, or None where they never were."""
    last_ns, before = None, 0
    for t_ns, running in _running(traces):
        if running < need <= before:
            last_ns = t_ns
        before = running
    return last_ns
