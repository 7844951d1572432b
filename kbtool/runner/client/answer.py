"""The events of a chat or text completion, read one by one. Pure; trusts nothing."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from kbtool.runner.client.events import Event, LineTooLongError, split_events
from kbtool.runner.client.usage import count, numbers
from kbtool.runner.trace import ChunkKind, Outcome

__all__ = ["Reading", "read_answer", "says_over_context"]

_OVER_CONTEXT: Final = re.compile(
    r"context[_ ](length|size|window)|maximum context|n_ctx|max_model_len|prompt (is )?too long"
    r"|(longer|larger|greater) than the (model|maximum|max|context)",
    re.IGNORECASE,
)
_BROKEN_FINISH: Final = frozenset({"abort", "aborted", "error", "cancelled", "canceled", "timeout"})
"""Finish reasons that say that generation was not finished."""


@dataclass(slots=True)
class Reading:
    """What has been read of one stream; the columns are those of `Chunks`, times apart."""

    ends: list[int] = field(default_factory=list)
    kinds: list[ChunkKind] = field(default_factory=list)
    n_bytes: list[int] = field(default_factory=list)
    n_chars: list[int] = field(default_factory=list)
    cumulative_tok: list[int | None] = field(default_factory=list)
    content: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    models: dict[str, None] = field(default_factory=dict)
    """In order of appearance."""
    fingerprint: str | None = None
    finish_reason: str | None = None
    usage: Mapping[str, Any] | None = None
    bad_usage: str | None = None
    timings: dict[str, float] = field(default_factory=dict)
    meta: dict[str, float] = field(default_factory=dict)
    done: bool = False
    fault: tuple[Outcome, str] | None = None
    """The first thing that must not be in a stream."""

    def add(self, event: Event, kind: ChunkKind, n_chars: int = 0, cumulative_tok: int | None = None) -> None:
        """Put one event into the columns."""
        self.ends.append(event.end)
        self.kinds.append(kind)
        self.n_bytes.append(event.n_bytes)
        self.n_chars.append(n_chars)
        self.cumulative_tok.append(cumulative_tok)

    def blame(self, outcome: Outcome, detail: str) -> None:
        """Note a fault, unless there is an earlier one."""
        if self.fault is None:
            self.fault = (outcome, detail)


def says_over_context(text: str) -> bool:
    """Return whether an error's text says that the prompt does not fit."""
    return _OVER_CONTEXT.search(text) is not None


def read_answer(body: bytes, line_bytes: int) -> Reading:
    """Read a body as a stream of completions; whatever it holds, nothing is raised."""
    reading = Reading()
    try:
        for event in split_events(body, line_bytes):
            _read_event(reading, event)
    except LineTooLongError as error:
        reading.blame(Outcome.LINE_TOO_LONG, str(error))
    return reading


def _read_event(reading: Reading, event: Event) -> None:
    data = event.data
    if data is None:
        reading.add(event, ChunkKind.COMMENT)
        return
    if data == b"[DONE]":
        reading.done = True
        reading.add(event, ChunkKind.DONE)
        return
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        if event.whole:
            _blame_bytes(reading, data, str(error))
            reading.add(event, ChunkKind.OTHER)
        return
    if not isinstance(value, dict):
        reading.blame(Outcome.BAD_JSON, f"an event must be an object, this one is {data[:80]!r}")
        reading.add(event, ChunkKind.OTHER)
        return
    error_found = value.get("error") or (value if value.get("object") == "error" else None)
    if error_found or event.name == b"error":
        text = data[:300].decode("utf-8", "replace")
        reading.blame(Outcome.OVER_CONTEXT if says_over_context(text) else Outcome.ERROR_EVENT, text)
        reading.add(event, ChunkKind.ERROR)
        return
    _read_completion(reading, event, value)


def _blame_bytes(reading: Reading, data: bytes, detail: str) -> None:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        reading.blame(
            Outcome.BAD_UTF8, f"{error.reason} in {data[max(0, error.start - 20) : error.end + 20]!r}"
        )
    else:
        reading.blame(Outcome.BAD_JSON, f"{detail} in {data[:120]!r}")


def _read_completion(reading: Reading, event: Event, value: dict[str, Any]) -> None:
    _read_names(reading, value)
    usage, timings = value.get("usage"), value.get("timings")
    cumulative = None
    if timings is not None:
        reading.timings = numbers(timings)
        cumulative = count(timings, "predicted_n")
    if usage is not None:
        cumulative = _read_counts(reading, usage)
    choices = value.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    for holder in (value, choice):
        if isinstance(holder, dict) and ("meta_info" in holder or "sglext" in holder):
            reading.meta |= numbers(holder.get("meta_info")) | numbers(holder.get("sglext"))
    if not isinstance(choice, dict):
        kind = ChunkKind.USAGE if isinstance(usage, dict) or timings is not None else ChunkKind.OTHER
        reading.add(event, kind, 0, cumulative)
        return
    _read_choice(reading, event, choice, cumulative)


def _read_names(reading: Reading, value: dict[str, Any]) -> None:
    model, fingerprint = value.get("model"), value.get("system_fingerprint")
    if isinstance(model, str):
        reading.models[model] = None
    if reading.fingerprint is None and isinstance(fingerprint, str):
        reading.fingerprint = fingerprint[:200]


def _read_counts(reading: Reading, usage: object) -> int | None:
    if not isinstance(usage, dict):
        reading.bad_usage = f"usage must be an object, found {usage!r:.80}"
        return None
    reading.usage = usage
    return count(usage, "completion_tokens")


def _read_choice(reading: Reading, event: Event, choice: dict[str, Any], cumulative_tok: int | None) -> None:
    delta = choice.get("delta")
    holder: dict[str, Any] = delta if isinstance(delta, dict) else choice
    content = _text(holder.get("content")) or _text(choice.get("text"))
    reasoning = _text(holder.get("reasoning_content")) or _text(holder.get("reasoning"))
    tool_chars = _tool_chars(holder.get("tool_calls"))
    finish = choice.get("finish_reason")
    if isinstance(finish, str) and finish:
        reading.finish_reason = finish[:80]
        if finish in _BROKEN_FINISH:
            reading.blame(Outcome.ERROR_EVENT, f"finish reason {finish!r}")
    if content:
        reading.content.append(content)
    if reasoning:
        reading.reasoning.append(reasoning)
    if content:
        kind = ChunkKind.CONTENT
    elif reasoning:
        kind = ChunkKind.REASONING
    elif tool_chars:
        kind = ChunkKind.TOOL
    elif finish:
        kind = ChunkKind.FINISH
    else:
        kind = ChunkKind.ROLE if holder.get("role") else ChunkKind.EMPTY
    reading.add(event, kind, len(content) + len(reasoning) + tool_chars, cumulative_tok)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _tool_chars(calls: object) -> int:
    """Return the characters of a tool call in this event: its name and its arguments are generated text."""
    if not isinstance(calls, list):
        return 0
    functions = [call.get("function") for call in calls if isinstance(call, dict)]
    return sum(
        len(_text(function.get("name"))) + len(_text(function.get("arguments")))
        for function in functions
        if isinstance(function, dict)
    )
