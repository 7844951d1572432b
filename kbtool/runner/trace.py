"""What one request looked like from the client: the raw data that every figure is derived from.

All times are nanoseconds of `CLOCK_MONOTONIC`, as integers.  A time is None where the thing never happened.
Nothing in here is computed beyond what the wire said: metrics are functions over these, in `kbtool.runner.metrics`.
"""

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Final

__all__ = ["FORMAT_VERSION", "ChunkKind", "Chunks", "ClockSource", "Outcome", "RequestTrace", "Usage"]

FORMAT_VERSION: Final = 1
"""Version of the raw tables. A reader refuses one that it does not know."""


class ClockSource(StrEnum):
    """Where the receive times come from."""

    KERNEL = "kernel"
    """The kernel stamped the segment as it came in: exact whatever the client was busy with."""
    USER = "user"
    """The client stamped it when it read it: under TLS, where the kernel sees no plain text."""


class ChunkKind(IntEnum):
    """What one event of the stream was."""

    ROLE = 0
    """Announces the role, without text: no token, however early it comes."""
    CONTENT = 1
    REASONING = 2
    TOOL = 3
    """Part of a tool call."""
    EMPTY = 4
    """A choice without text, role or finish."""
    FINISH = 5
    """Carries the finish reason and no text."""
    USAGE = 6
    """Carries token counts and no choice."""
    COMMENT = 7
    """An SSE comment: keeps the connection alive, no progress."""
    ERROR = 8
    DONE = 9
    """The end mark, `[DONE]`."""
    OTHER = 10


class Outcome(StrEnum):
    """Whether a request counts; everything but OK is a failure, is kept, and is in no statistic."""

    OK = "ok"
    NOT_SENT = "not_sent"
    CANCELLED = "cancelled"
    """We ended it: interrupt, end of the window, or the run was aborted."""
    CONNECT_FAILED = "connect_failed"
    CONNECT_TIMEOUT = "connect_timeout"
    SEND_FAILED = "send_failed"
    FIRST_BYTE_TIMEOUT = "first_byte_timeout"
    STALLED = "stalled"
    """No token for longer than the progress deadline; comments are no progress."""
    TOTAL_TIMEOUT = "total_timeout"
    RESET = "reset"
    TRUNCATED = "truncated"
    """The body ended before the framing said so."""
    BAD_FRAMING = "bad_framing"
    LINE_TOO_LONG = "line_too_long"
    BODY_TOO_LONG = "body_too_long"
    UNAUTHORIZED = "unauthorized"
    OVER_CONTEXT = "over_context"
    REFUSED = "refused"
    """The server said that it is too busy (429, 503)."""
    REDIRECTED = "redirected"
    HTTP_ERROR = "http_error"
    NOT_A_STREAM = "not_a_stream"
    ERROR_EVENT = "error_event"
    BAD_JSON = "bad_json"
    BAD_UTF8 = "bad_utf8"
    WRONG_MODEL = "wrong_model"
    EMPTY = "empty"
    """No text at all."""
    NO_FINISH_REASON = "no_finish_reason"
    NO_END_MARK = "no_end_mark"
    NO_USAGE = "no_usage"
    BAD_USAGE = "bad_usage"
    """Token counts that cannot be: negative, fewer than the text needs, more than asked for, not whole."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts as the server gave them; None where it gave none."""

    prompt_tok: int
    completion_tok: int
    cached_tok: int | None = None
    reasoning_tok: int | None = None
    cache_write_tok: int | None = None
    draft_tok: int | None = None
    """Draft tokens of this request, where the engine says so per request."""
    accepted_draft_tok: int | None = None
    verify_steps: int | None = None


@dataclass(frozen=True, slots=True)
class Chunks:
    """The events of one stream as columns of equal length, in order of arrival.

    Events with one time arrived in one segment: they are one *step* of the engine.
    """

    t_ns: tuple[int, ...] = ()
    kind: tuple[ChunkKind, ...] = ()
    n_bytes: tuple[int, ...] = ()
    """Bytes of the event on the wire, without the framing of the transfer coding."""
    n_chars: tuple[int, ...] = ()
    """Characters of generated text in it."""
    cumulative_tok: tuple[int | None, ...] = ()
    """Completion tokens up to and including this event, where the server says so for each event."""

    def __len__(self) -> int:
        """Return the number of events."""
        return len(self.t_ns)


@dataclass(frozen=True, slots=True)
class RequestTrace:
    """One request: what was asked, when, and what came back."""

    id: str
    """Unique in the run: `<cell>/<round>/<number>`."""
    endpoint: str
    """Name of the endpoint in the plan."""
    stream: int
    """Closed loop: number of the user. Open loop: 0."""
    turn: int
    """Turn of the conversation, from 1."""
    asked_model: str
    asked_output_tok: int
    output_tok_fixed: bool
    """Whether the engine was told to generate exactly that many."""
    prompt_class: str
    prompt_salt: str
    """What makes the prompt unique; equal salts mean a deliberately shared prefix."""
    due_ns: int | None
    """When the schedule wanted it sent; None in a closed loop."""
    connect_start_ns: int | None
    connected_ns: int | None
    sent_ns: int | None
    """Just before the first byte was handed to the kernel: t0 of every latency."""
    sent_all_ns: int | None
    first_byte_ns: int | None
    done_ns: int | None
    """Last byte of the body."""
    outcome: Outcome
    detail: str = ""
    """What was found, for a failure: hostile text, at most 300 characters, without secrets."""
    status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    """Response headers on the allow list, lower-case names."""
    clock: ClockSource = ClockSource.KERNEL
    chunks: Chunks = field(default_factory=Chunks)
    usage: Usage | None = None
    finish_reason: str | None = None
    model: str | None = None
    """Model name in the answer."""
    system_fingerprint: str | None = None
    text: str = ""
    """The answer's text, content only."""
    reasoning_text: str = ""
    n_body_bytes: int = 0
    server_timings: tuple[tuple[str, float], ...] = ()
    """Numbers that the server gives per request, such as llama.cpp's `timings`, under its own names."""
    retries: int = 0
    """Connections that failed before a byte was sent, and were tried again."""
