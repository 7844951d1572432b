"""Figures of one request, each a pure function of its trace.

Every function returns None, or no values, where the metric is undefined; none returns 0 in its place.  Whether a
request counts at all is the caller's business: see `kbtool.runner.metrics.round`.  Definitions are those of
`kbtool.vocab.metrics`, and each function is named for its metric.
"""

from itertools import pairwise
from typing import Final

from kbtool.runner.metrics.steps import first_text_ns, text_times_ns, token_steps
from kbtool.runner.trace import ChunkKind, RequestTrace

__all__ = [
    "connect_ms",
    "decode_tok_s_per_user",
    "e2el_ms",
    "icl_ms",
    "itl_ms",
    "normalized_tpot_ms",
    "prefill_tok_s",
    "send_late_ms",
    "step_gap_ms",
    "tok_per_step",
    "tok_s_per_user",
    "tpot_ms",
    "ttfb_ms",
    "ttft_content_ms",
    "ttft_ms",
]

_NS_PER_MS: Final = 1e6
_NS_PER_S: Final = 1e9
_ANSWER: Final = frozenset({ChunkKind.CONTENT, ChunkKind.TOOL})


def connect_ms(trace: RequestTrace) -> float | None:
    """Return the time to connect, in ms; it lies before the request was sent, and in no other latency."""
    return _span_ms(trace.connect_start_ns, trace.connected_ns)


def send_late_ms(trace: RequestTrace) -> float | None:
    """Return how much later than scheduled the request was sent, in ms; None in a closed loop.

    0 where it left early: the schedule is then kept.
    """
    if trace.due_ns is None or trace.sent_ns is None:
        return None
    return max(0, trace.sent_ns - trace.due_ns) / _NS_PER_MS


def ttfb_ms(trace: RequestTrace) -> float | None:
    """Return the time to the first byte of the response, headers included, in ms."""
    return _span_ms(trace.sent_ns, trace.first_byte_ns)


def ttft_ms(trace: RequestTrace) -> float | None:
    """Return the time to the first generated text of any channel, in ms.

    A role announcement, an empty choice or a comment is no text, however early it comes; reasoning and the parts
    of a tool call are.
    """
    return _span_ms(trace.sent_ns, first_text_ns(trace.chunks))


def ttft_content_ms(trace: RequestTrace) -> float | None:
    """Return the time to the first text of the answer, reasoning left out, in ms; a tool call is an answer."""
    return _span_ms(trace.sent_ns, first_text_ns(trace.chunks, _ANSWER))


def e2el_ms(trace: RequestTrace) -> float | None:
    """Return the time to the last byte of the response, in ms."""
    return _span_ms(trace.sent_ns, trace.done_ns)


def tpot_ms(trace: RequestTrace) -> float | None:
    """Return the mean time per output token after the first, in ms: (E2EL - TTFT) / (OSL - 1).

    Counts tokens, not stream chunks: with speculative decoding one chunk carries several tokens, so the gap
    between chunks overstates the gap between tokens.  The first chunk is taken to hold one token, as the first
    token comes out of the prefill; `decode_tok_s_per_user` needs no such assumption.

    Returns:
        None below 2 tokens, and where all text came at once: no decoding was seen, and a buffering proxy would
        read as an infinitely fast decoder.
    """
    times = text_times_ns(trace.chunks)
    if trace.usage is None or trace.usage.completion_tok < 2 or trace.done_ns is None:
        return None
    if not times or times[0] == times[-1]:
        return None
    return (trace.done_ns - times[0]) / (trace.usage.completion_tok - 1) / _NS_PER_MS


def normalized_tpot_ms(trace: RequestTrace) -> float | None:
    """Return E2EL / OSL, in ms: holds the prefill."""
    latency_ms = e2el_ms(trace)
    if latency_ms is None or trace.usage is None or trace.usage.completion_tok < 1:
        return None
    return latency_ms / trace.usage.completion_tok


def tok_s_per_user(trace: RequestTrace) -> float | None:
    """Return the decode speed that the user sees, in tok/s: 1000 / TPOT."""
    per_token_ms = tpot_ms(trace)
    return 1000 / per_token_ms if per_token_ms else None


def decode_tok_s_per_user(trace: RequestTrace) -> float | None:
    """Return the decode speed from the first step with tokens to the last, in tok/s.

    The tokens of the first step are left out, for they were decoded before the span begins: so the figure is the
    same however many tokens a chunk carries.  The end mark and the usage event lie outside the span.

    Returns:
        None where the tokens of an event are not known, or there is one step alone.
    """
    steps = token_steps(trace)
    if steps is None or len(steps) < 2:
        return None
    tok = sum([each.tok for each in steps[1:]])
    return tok / ((steps[-1].t_ns - steps[0].t_ns) / _NS_PER_S)


def itl_ms(trace: RequestTrace) -> tuple[float, ...]:
    """Return the time between successive tokens, in ms, one value a token after the first step.

    The tokens of a step share its gap evenly: their mean is exact, and a stall stays as long as it was.

    Returns:
        No values where the tokens of an event are not known: they are never guessed from chunks.
    """
    steps = token_steps(trace) or ()
    gaps: list[float] = []
    for before, step in pairwise(steps):
        gaps += [(step.t_ns - before.t_ns) / step.tok / _NS_PER_MS] * step.tok
    return tuple(gaps)


def icl_ms(trace: RequestTrace) -> tuple[float, ...]:
    """Return the time between successive chunks with text, in ms; 0 for chunks that came in one segment."""
    return tuple([(after - before) / _NS_PER_MS for before, after in pairwise(text_times_ns(trace.chunks))])


def step_gap_ms(trace: RequestTrace) -> tuple[float, ...]:
    """Return the time between successive arrivals of text, in ms; chunks with one time are one arrival."""
    return tuple([each for each in icl_ms(trace) if each > 0])


def tok_per_step(trace: RequestTrace) -> float | None:
    """Return OSL / arrivals of text, in tok/step; None where nothing arrived or the tokens are not known."""
    arrivals = len(set(text_times_ns(trace.chunks)))
    if trace.usage is None or trace.usage.completion_tok < 1 or not arrivals:
        return None
    return trace.usage.completion_tok / arrivals


def prefill_tok_s(trace: RequestTrace) -> float | None:
    """Return the speed of the prefill, in tok/s: (ISL - cached tokens) / TTFT.

    For a lone request on a cold cache, where nothing is cached, this is the vocabulary's ISL / TTFT.  Cached
    tokens are left out so that a few of them, such as a chat template's, do not read as speed.  Under load TTFT
    holds queueing, and on a warm cache it holds no prefill: the caller gives it for neither.
    """
    first_ms = ttft_ms(trace)
    if not first_ms or trace.usage is None:
        return None
    tok = trace.usage.prompt_tok - (trace.usage.cached_tok or 0)
    return tok / (first_ms / 1000) if tok > 0 else None


def _span_ms(start_ns: int | None, end_ns: int | None) -> float | None:
    """Return the time between two events, in ms, or None where one never happened."""
    return None if start_ns is None or end_ns is None else (end_ns - start_ns) / _NS_PER_MS
