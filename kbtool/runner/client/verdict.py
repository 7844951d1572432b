"""Whether an answer counts as a success, and if not, which failure it is. Pure."""

from typing import Final

from kbtool.runner.client.answer import Reading, says_over_context
from kbtool.runner.client.http1 import Body, Head
from kbtool.runner.client.recorded import Recorded
from kbtool.runner.client.usage import usage_fault
from kbtool.runner.trace import ChunkKind, Outcome, Usage

__all__ = ["Verdict", "judge", "judge_without_answer"]

Verdict = tuple[Outcome, str]

_OK: Final = (Outcome.OK, "")
_CONTEXT_STATUSES: Final = frozenset({400, 413, 422, 500})
_TEXT_KINDS: Final = frozenset({ChunkKind.CONTENT, ChunkKind.REASONING})


def judge_without_answer(recorded: Recorded) -> Verdict:
    """Return the verdict on a request whose answer has no head."""
    if recorded.failure is not None:
        return recorded.failure, recorded.detail
    return (
        Outcome.TRUNCATED,
        f"closed after {len(recorded.raw)} bytes, before the head of an answer was whole",
    )


def judge(
    recorded: Recorded, head: Head, body: Body, *, text: bytes, reading: Reading, usage: Usage | None
) -> Verdict:
    """Return the verdict on an answer.

    The order is: what we did ourselves, what the status says, what the stream says, what broke it off, what
    is missing from it.  A stream that is wrong in several ways is named after what went wrong first.

    Args:
        recorded: How it ended.
        head: Status and headers.
        body: Framing of the body.
        text: The body.
        reading: What the events held.
        usage: Token counts, if there are sensible ones.
    """
    if recorded.failure in (Outcome.CANCELLED, Outcome.NOT_SENT):
        return recorded.failure, recorded.detail
    return (
        _by_status(head, text)
        or _by_type(head, text)
        or reading.fault
        or _by_ending(recorded, head, body)
        or _by_content(recorded, reading)
        or _by_usage(recorded, reading, usage)
        or _OK
    )


def _by_status(head: Head, text: bytes) -> Verdict | None:
    status = head.status
    if status == 200:
        return None
    said = f"status {status}: {text[:400].decode('utf-8', 'replace')}"
    if status in (401, 403):
        return Outcome.UNAUTHORIZED, said
    if 300 <= status < 400:
        # Where it points is not followed: a key would go there too.
        return Outcome.REDIRECTED, f"status {status} to {head.get('location') or 'nowhere'}"
    if status in _CONTEXT_STATUSES and says_over_context(text[:4000].decode("utf-8", "replace")):
        return Outcome.OVER_CONTEXT, said
    if status in (429, 503):
        return Outcome.REFUSED, said
    return Outcome.HTTP_ERROR, said


def _by_type(head: Head, text: bytes) -> Verdict | None:
    coding = (head.get("content-encoding") or "identity").strip().lower()
    if coding != "identity":
        return Outcome.NOT_A_STREAM, f"content-encoding {coding!r}, identity asked for"
    media_type = (head.get("content-type") or "text/event-stream").partition(";")[0].strip().lower()
    if media_type == "text/event-stream":
        return None
    return Outcome.NOT_A_STREAM, f"content-type {media_type!r}: {text[:200].decode('utf-8', 'replace')}"


def _by_ending(recorded: Recorded, head: Head, body: Body) -> Verdict | None:
    framed = head.chunked or head.length is not None
    if body.fault is not None:
        return Outcome.BAD_FRAMING, body.fault
    # A reset behind the end of a framed body takes nothing away from it.
    if recorded.failure is not None and not (recorded.failure is Outcome.RESET and framed and body.complete):
        return recorded.failure, recorded.detail
    if not body.complete:
        return (
            Outcome.TRUNCATED,
            f"closed after {len(recorded.raw)} bytes, before the body's framing had ended",
        )
    if body.end < len(recorded.raw):
        return Outcome.BAD_FRAMING, f"{len(recorded.raw) - body.end} bytes behind the end of the answer"
    return None


def _by_content(recorded: Recorded, reading: Reading) -> Verdict | None:
    asked = recorded.outgoing.asked_model
    wrong = [model for model in reading.models if model != asked]
    if wrong:
        return Outcome.WRONG_MODEL, f"model {wrong[0]!r} answered, {asked!r} asked"
    if not any(reading.n_chars):
        return Outcome.EMPTY, f"{len(reading.kinds)} events and no text"
    if not reading.models:
        return Outcome.WRONG_MODEL, f"the answer names no model, {asked!r} asked"
    if reading.finish_reason is None:
        return Outcome.NO_FINISH_REASON, ""
    if not reading.done:
        return Outcome.NO_END_MARK, ""
    return None


def _by_usage(recorded: Recorded, reading: Reading, usage: Usage | None) -> Verdict | None:
    if reading.bad_usage is not None:
        return Outcome.BAD_USAGE, reading.bad_usage
    if usage is None:
        return Outcome.NO_USAGE, ""
    fault = usage_fault(
        usage,
        asked_tok=recorded.outgoing.asked_output_tok,
        text_chunks=sum(kind in _TEXT_KINDS for kind in reading.kinds),
        n_chars=sum(reading.n_chars),
        highest_tok=max((tok for tok in reading.cumulative_tok if tok is not None), default=0),
    )
    return None if fault is None else (Outcome.BAD_USAGE, fault)
