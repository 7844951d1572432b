"""Traces made by hand: each test says only what matters to it."""

from collections.abc import Sequence
from dataclasses import replace

from kbtool.runner.trace import ChunkKind, Chunks, ClockSource, Outcome, RequestTrace, Usage

__all__ = ["MS", "chunks", "engine_trace", "failed", "trace"]

MS = 1_000_000
"""Nanoseconds in a millisecond."""
_TEXT = frozenset({ChunkKind.CONTENT, ChunkKind.REASONING, ChunkKind.TOOL})


def chunks(
    times_ms: Sequence[float],
    *,
    kinds: Sequence[ChunkKind] | None = None,
    tok: Sequence[int] | None = None,
    start_ms: float = 0,
) -> Chunks:
    """Return events at these times, five characters a text event.

    Args:
        times_ms: Receive times.
        kinds: Of each event; content throughout unless given.
        tok: Tokens of each event, where the server says so; running counts are made of them.
        start_ms: Added to every time.
    """
    kinds = kinds or [ChunkKind.CONTENT] * len(times_ms)
    return Chunks(
        t_ns=tuple([round((start_ms + each) * MS) for each in times_ms]),
        kind=tuple(kinds),
        n_bytes=(200,) * len(times_ms),
        n_chars=tuple([5 if kind in _TEXT else 0 for kind in kinds]),
        cumulative_tok=(None,) * len(times_ms)
        if tok is None
        else tuple([sum(tok[: index + 1]) for index in range(len(tok))]),
    )


def trace(
    *,
    chunks_ms: Sequence[float] = (10.0, 80.0),
    osl: int | None = 8,
    kinds: Sequence[ChunkKind] | None = None,
    tok: Sequence[int] | None = None,
    sent_ms: float = 0,
    done_ms: float | None = None,
    stream: int = 0,
    isl: int = 100,
    cached: int | None = None,
    number: int = 0,
    **others: object,
) -> RequestTrace:
    """Return a successful request, sent at `sent_ms`, whose events come `chunks_ms` later.

    It ends with its last event unless `done_ms`, counted from the same start, says otherwise; without `osl` the
    server gave no usage.
    """
    last_ms = chunks_ms[-1] if done_ms is None else done_ms
    made = RequestTrace(
        id=f"cell/1/{number}",
        endpoint="main",
        stream=stream,
        turn=1,
        asked_model="tiny",
        asked_output_tok=8,
        output_tok_fixed=False,
        prompt_class="prose",
        prompt_salt=f"salt-{number}",
        due_ns=None,
        connect_start_ns=round((sent_ms - 2) * MS),
        connected_ns=round((sent_ms - 1.5) * MS),
        sent_ns=round(sent_ms * MS),
        sent_all_ns=round(sent_ms * MS),
        first_byte_ns=round((sent_ms + chunks_ms[0]) * MS),
        done_ns=round((sent_ms + last_ms) * MS),
        outcome=Outcome.OK,
        status=200,
        clock=ClockSource.KERNEL,
        chunks=chunks(chunks_ms, kinds=kinds, tok=tok, start_ms=sent_ms),
        usage=None if osl is None else Usage(prompt_tok=isl, completion_tok=osl, cached_tok=cached),
        finish_reason="length",
        model="tiny",
        text="Plain words that make sense.",
    )
    return replace(made, **others)  # type: ignore[arg-type]  # fields by name, checked by the dataclass


def failed(outcome: Outcome, **others: object) -> RequestTrace:
    """Return a failed request that got part of an answer and no usage."""
    return trace(**{"osl": None, "outcome": outcome, "finish_reason": None, **others})  # type: ignore[arg-type]  # as in `trace`


def engine_trace(
    *,
    osl: int,
    per_chunk: int,
    token_ms: float = 10,
    prefill_ms: float = 200,
    first_tok: int = 1,
    told: bool = True,
    sent_ms: float = 0,
    number: int = 0,
    stream: int = 0,
) -> RequestTrace:
    """Return what an engine of constant pace sends, with so many tokens in each chunk after the first.

    Token n is finished at prefill + n x token_ms, and its chunk leaves when its last token is.  A token is four
    characters.

    Args:
        osl: Tokens in all.
        per_chunk: Tokens of each later chunk; the last may hold fewer.
        token_ms: Time of one token.
        prefill_ms: From sending to the start of decoding.
        first_tok: Tokens of the first chunk.
        told: Whether the server says the tokens of each event.
        sent_ms: When it was sent.
        number: Of the request.
        stream: User.
    """
    sizes = [min(first_tok, osl)]
    while sum(sizes) < osl:
        sizes.append(min(per_chunk, osl - sum(sizes)))
    ends = [sum(sizes[: index + 1]) for index in range(len(sizes))]
    made = trace(
        chunks_ms=[prefill_ms + end * token_ms for end in ends],
        osl=osl,
        tok=sizes if told else None,
        sent_ms=sent_ms,
        number=number,
        stream=stream,
    )
    return replace(made, chunks=replace(made.chunks, n_chars=tuple([4 * size for size in sizes])))
