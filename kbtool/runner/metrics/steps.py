"""Arrivals of text in one stream: which events carry tokens, how many, and which came together.

Tokens are what the server counts, never a guess.  How many one event holds is known only where the server says
so for each event (`continuous_usage_stats`), or where there are exactly as many events with text as completion
tokens, so that each must hold one.  Otherwise it is not known, and whatever needs it is absent.

Events with one receive time came in one segment and are one *step*.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from kbtool.runner.trace import ChunkKind, Chunks, RequestTrace

__all__ = ["TEXT_KINDS", "Step", "first_text_ns", "text_times_ns", "token_steps"]

TEXT_KINDS: Final = frozenset({ChunkKind.CONTENT, ChunkKind.REASONING, ChunkKind.TOOL})
"""Kinds that hold generated text, when they hold any character."""


@dataclass(frozen=True, slots=True)
class Step:
    """Tokens that arrived at one time."""

    t_ns: int
    tok: int


def text_times_ns(chunks: Chunks, kinds: frozenset[ChunkKind] = TEXT_KINDS) -> tuple[int, ...]:
    """Return the receive time of each event that holds text of these kinds, in order; equal times are kept."""
    return tuple(
        [
            t_ns
            for t_ns, kind, n_chars in zip(chunks.t_ns, chunks.kind, chunks.n_chars, strict=True)
            if n_chars > 0 and kind in kinds
        ]
    )


def first_text_ns(chunks: Chunks, kinds: frozenset[ChunkKind] = TEXT_KINDS) -> int | None:
    """Return the receive time of the first event that holds text of these kinds, or None where none does."""
    for t_ns, kind, n_chars in zip(chunks.t_ns, chunks.kind, chunks.n_chars, strict=True):
        if n_chars > 0 and kind in kinds:
            return t_ns
    return None


def token_steps(trace: RequestTrace) -> tuple[Step, ...] | None:
    """Return the steps with the tokens of each, summing to the completion tokens.

    Returns:
        None where the tokens of an event are not known, or what the server says of them does not add up.
    """
    if trace.usage is None or trace.usage.completion_tok < 1:
        return None
    counted = _counted(trace.chunks, trace.usage.completion_tok)
    if counted is not None:
        return counted
    times = text_times_ns(trace.chunks)
    if len(times) == trace.usage.completion_tok:
        return tuple(_merged((t_ns, 1) for t_ns in times))
    return None


def _counted(chunks: Chunks, completion_tok: int) -> tuple[Step, ...] | None:
    """Return the steps by the server's running count, or None where it is missing, falls or ends elsewhere."""
    counts: list[tuple[int, int]] = []
    for t_ns, kind, n_chars, tok in zip(
        chunks.t_ns, chunks.kind, chunks.n_chars, chunks.cumulative_tok, strict=True
    ):
        if tok is not None:
            counts.append((t_ns, tok))
        elif n_chars > 0 and kind in TEXT_KINDS:
            return None
    if not counts or counts[-1][1] != completion_tok or counts[0][1] < 0:
        return None
    rises = [(counts[0][0], counts[0][1])] + [(t, tok - before) for (_, before), (t, tok) in pairwise(counts)]
    if any(tok < 0 for _, tok in rises):
        return None
    return tuple(_merged((t_ns, tok) for t_ns, tok in rises if tok))


def _merged(events: Iterator[tuple[int, int]]) -> Iterator[Step]:
    """Yield one step for each distinct time."""
    at, held = None, 0
    for t_ns, tok in events:
        if at is not None and t_ns != at:
            yield Step(at, held)
            held = 0
        at, held = t_ns, held + tok
    if at is not None:
        yield Step(at, held)
