"""From recorded bytes and times to a trace, after the exchange. Pure; nothing that a server sends makes it raise."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from kbtool.escape import terminal
from kbtool.runner.client.answer import Reading, read_answer
from kbtool.runner.client.http1 import Body, FramingError, Head, parse_head, read_body
from kbtool.runner.client.recorded import Recorded
from kbtool.runner.client.usage import read_usage
from kbtool.runner.client.verdict import judge, judge_without_answer
from kbtool.runner.trace import Chunks, Outcome, RequestTrace

__all__ = ["parse"]

DETAIL_CHARACTERS: Final = 300
HEADER_CHARACTERS: Final = 200
SECRET_CHARACTERS: Final = 6
"""Shorter header values are no keys, and occur in text by chance."""

KEPT_HEADERS: Final = frozenset(
    {
        "connection", "content-encoding", "content-length", "content-type", "date", "location", "openai-processing-ms",
        "retry-after", "server", "transfer-encoding", "via", "x-request-id", "x-served-by", "x-worker-id",
    }
)  # fmt: skip
"""Response headers that a trace keeps: none that carries a cookie or a key."""

Redact = Callable[[str], str]


def parse(recorded: Recorded) -> RequestTrace:
    """Return the trace of one request, with its verdict."""
    redact = _redactor(recorded)
    trace = _sent_part(recorded, redact)
    if recorded.sent_ns is None:
        return trace
    try:
        head = parse_head(recorded.raw)
    except FramingError as error:
        cancelled = recorded.failure is Outcome.CANCELLED
        outcome = Outcome.CANCELLED if cancelled else Outcome.BAD_FRAMING
        return replace(trace, outcome=outcome, detail=_detail(str(error), redact))
    if head is None:
        outcome, detail = judge_without_answer(recorded)
        return replace(trace, outcome=outcome, detail=_detail(detail, redact))
    return _answered(trace, recorded, head, redact)


def _sent_part(recorded: Recorded, redact: Redact) -> RequestTrace:
    """Return the trace as far as it is known without looking at the answer."""
    asked = recorded.outgoing
    return RequestTrace(
        id=asked.id,
        endpoint=asked.endpoint.name,
        stream=asked.stream,
        turn=asked.turn,
        asked_model=asked.asked_model,
        asked_output_tok=asked.asked_output_tok,
        output_tok_fixed=asked.output_tok_fixed,
        prompt_class=asked.prompt_class,
        prompt_salt=asked.prompt_salt,
        due_ns=asked.due_ns,
        connect_start_ns=recorded.connect_start_ns,
        connected_ns=recorded.connected_ns,
        sent_ns=recorded.sent_ns,
        sent_all_ns=recorded.sent_all_ns,
        first_byte_ns=recorded.t_ns[0] if recorded.t_ns else None,
        done_ns=None,
        outcome=recorded.failure or Outcome.TRUNCATED,
        detail=_detail(recorded.detail, redact),
        clock=recorded.clock,
        retries=recorded.retries,
    )


def _answered(trace: RequestTrace, recorded: Recorded, head: Head, redact: Redact) -> RequestTrace:
    body = read_body(recorded.raw, head)
    text = body.join(recorded.raw)
    # Anything but a success is at most an object with an error, whose events nobody needs.
    reading = read_answer(text if head.status == 200 else b"", recorded.limits.line_bytes)
    usage, usage_trouble = (
        (None, None) if reading.usage is None else read_usage(reading.usage, reading.timings, reading.meta)
    )
    reading.bad_usage = reading.bad_usage or usage_trouble
    outcome, detail = judge(recorded, head, body, text=text, reading=reading, usage=usage)
    return replace(
        trace,
        done_ns=_time_of(body.end, recorded) if body.complete and outcome not in _UNFINISHED else None,
        outcome=outcome,
        detail=_detail(detail, redact),
        status=head.status,
        headers=tuple(
            (name, redact(terminal(value[:HEADER_CHARACTERS])))
            for name, value in head.headers
            if name in KEPT_HEADERS
        ),
        chunks=_chunks(reading, body, recorded),
        usage=usage,
        finish_reason=_redacted(reading.finish_reason, redact),
        model=_redacted(next(iter(reading.models), None), redact),
        system_fingerprint=_redacted(reading.fingerprint, redact),
        text=redact("".join(reading.content)),
        reasoning_text=redact("".join(reading.reasoning)),
        n_body_bytes=len(text),
        server_timings=tuple(
            (redact(name), value) for name, value in (reading.timings | reading.meta).items()
        ),
    )


_UNFINISHED: Final = frozenset(
    {
        Outcome.CANCELLED, Outcome.SEND_FAILED, Outcome.STALLED, Outcome.TOTAL_TIMEOUT, Outcome.RESET,
        Outcome.BODY_TOO_LONG,
    }
)  # fmt: skip
"""A body without framing looks complete wherever it was cut: with these it was not."""


def _chunks(reading: Reading, body: Body, recorded: Recorded) -> Chunks:
    arrived = body.positions(recorded.ends)
    times: list[int] = []
    index = 0
    for end in reading.ends:
        while arrived[index] < end:
            index += 1
        times.append(recorded.t_ns[index])
    return Chunks(
        t_ns=tuple(times),
        kind=tuple(reading.kinds),
        n_bytes=tuple(reading.n_bytes),
        n_chars=tuple(reading.n_chars),
        cumulative_tok=tuple(reading.cumulative_tok),
    )


def _time_of(end: int, recorded: Recorded) -> int | None:
    """Return when the first `end` bytes had come."""
    ends: Sequence[int] = recorded.ends
    index = bisect_left(ends, end)
    return recorded.t_ns[index] if index < len(ends) else None


def _redactor(recorded: Recorded) -> Redact:
    """Return what takes our own secrets out of a text: a server may send back the key that it was given."""
    secrets: list[str] = []
    for _, value in recorded.outgoing.endpoint.headers:
        secrets += [part for part in (value, *value.split()) if len(part) >= SECRET_CHARACTERS]
    secrets.sort(key=len, reverse=True)

    def redact(text: str) -> str:
        for secret in secrets:
            if secret in text:
                text = text.replace(secret, "[secret]")
        return text

    return redact


def _redacted(text: str | None, redact: Redact) -> str | None:
    return None if text is None else redact(text[:DETAIL_CHARACTERS])


def _detail(text: str, redact: Redact) -> str:
    """Return a text for `detail`; cut last, so that no half of a secret is left over."""
    return terminal(redact(text))[:DETAIL_CHARACTERS]
