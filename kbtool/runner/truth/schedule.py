"""From a spec to bytes and times: everything that a request is answered with, made before it is needed. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, cycle, pairwise
from typing import Any, Final

import orjson

from kbtool.runner.truth.spec import Spec

__all__ = ["Emission", "Schedule", "first_token_ns", "schedule_for"]

MS: Final = 1_000_000
_END_OF_CHUNKS: Final = b"0\r\n\r\n"
_LENGTH: Final = b"Content-Length: 00000000\r\n"
"""Filled in when everything is there; of fixed width, so that nothing moves."""


@dataclass(frozen=True, slots=True)
class Emission:
    """One send."""

    decode: bool
    """Its offset counts from the first token; else from the request."""
    offset_ns: int
    data: bytes
    tok: int
    """Tokens that are there once this has been sent, beyond those before it."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """All sends of one answer, in order, and what happens behind them."""

    emissions: tuple[Emission, ...]
    close: bool
    """The body ends with the connection."""
    reset: bool
    tok: int
    """Tokens generated in all."""


def first_token_ns(parsed_ns: int, spec: Spec) -> int:
    """Return when the first token is due: on the step clock, at the first step that is late enough."""
    due = parsed_ns + round(spec.ttft_ms * MS)
    if not spec.sync:
        return due
    step = round(spec.step_ms * MS)
    return -(-due // step) * step


@lru_cache(maxsize=256)
def schedule_for(
    spec: Spec, *, model: str, chat: bool, max_tokens: int, usage_asked: bool, each: bool
) -> Schedule:
    """Return the schedule for a streaming request; equal requests share one.

    Args:
        spec: The script.
        model: Name that the answer gives.
        chat: Chat completion, else text completion.
        max_tokens: Most tokens that the request asked for.
        usage_asked: Whether it asked for usage.
        each: Whether it asked for usage in every chunk.
    """
    return _Builder(spec, model, chat=chat, max_tokens=max_tokens, usage_asked=usage_asked, each=each).build()


class _Builder:
    def __init__(
        self, spec: Spec, model: str, *, chat: bool, max_tokens: int, usage_asked: bool, each: bool
    ) -> None:
        self._spec = spec
        self._model = model
        self._chat = chat
        self._usage = spec.usage if usage_asked else "none"
        self._each = each or spec.usage == "each"
        self._eol = b"\r\n" if spec.newline == "crlf" else b"\n"
        limits = [spec.tokens, max_tokens, spec.stop_after or max_tokens]
        self._n_tok = min(limits)
        self._finish = "stop" if spec.stop_after and spec.stop_after == self._n_tok else "length"
        self._out: list[Emission] = []
        self._step_ns = round(spec.step_ms * MS)

    def build(self) -> Schedule:
        """Put the sends one behind the other."""
        spec = self._spec
        head = self._head()
        first = self._before_tokens(head)
        cut = min([n for n in (spec.error_after, spec.abort_after) if n] or [self._n_tok])
        offset, sent = self._tokens(first, min(cut, self._n_tok))
        broken = sent < self._n_tok or bool(spec.abort_after or spec.error_after)
        if spec.error_after:
            self._add(
                offset, self._tail([self._event({"error": {"message": "the engine died", "code": 500}})])
            )
        elif not broken:
            self._add(offset, self._tail(self._ending(sent)))
        emissions = self._with_length() if spec.framing == "length" else tuple(self._out)
        aborted = bool(spec.abort_after)
        return Schedule(
            emissions, aborted or spec.framing == "close", aborted and spec.abort == "reset", sent
        )

    def _head(self) -> bytes:
        framing = {
            "chunked": b"Transfer-Encoding: chunked\r\n",
            "length": _LENGTH,
            "close": b"",
        }
        close = b"Connection: close\r\n" if self._spec.framing == "close" else b""
        return (
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nServer: kbtool-truth\r\n"
            + close
            + framing[self._spec.framing]
            + b"\r\n"
        )

    def _before_tokens(self, head: bytes) -> bytes:
        """Send what comes before the first token; return what goes with it."""
        spec = self._spec
        early: list[tuple[int, bytes]] = []
        if spec.headers_early or spec.role == "early":
            early.append((0, head + (self._framed(self._role()) if spec.role == "early" else b"")))
            head = b""
        if spec.comment_ms:
            every = round(spec.comment_ms * MS)
            comment = self._framed(b": still working" + self._eol * 2)
            early += [(at, comment) for at in range(every, round(spec.ttft_ms * MS), every)]
        for index, (at, data) in enumerate(early):
            self._out.append(
                Emission(decode=False, offset_ns=at, data=(head if index == 0 else b"") + data, tok=0)
            )
        if early:
            head = b""
        return head + (self._framed(self._role()) if spec.role == "first" and self._chat else b"")

    def _tokens(self, first: bytes, n_tok: int) -> tuple[int, int]:
        """Send the tokens; return the offset of the last send and how many tokens were sent."""
        offset, sent = 0, 0
        for number, size in enumerate(self._sizes(n_tok), start=1):
            if number > 1:
                offset += self._step_ns
            if self._spec.stall_at == number:
                offset += self._on_clock(round(self._spec.stall_ms * MS))
            sent += size
            data = first + self._framed(self._text_event(sent - size, size, last=sent == self._n_tok))
            offset = self._add_split(offset, data, size)
            first = b""
        return offset, sent

    def _sizes(self, n_tok: int) -> Iterator[int]:
        left = n_tok
        for size in cycle(self._spec.pattern):
            if left <= 0:
                return
            yield min(size, left)
            left -= size

    def _on_clock(self, wait_ns: int) -> int:
        return -(-wait_ns // self._step_ns) * self._step_ns if self._spec.sync else wait_ns

    def _add(self, offset: int, data: bytes, tok: int = 0) -> None:
        self._out.append(Emission(decode=True, offset_ns=offset, data=data, tok=tok))

    def _add_split(self, offset: int, data: bytes, tok: int) -> int:
        cuts = sorted({cut for cut in self._spec.split if 0 < cut < len(data)})
        pieces = [data[start:end] for start, end in pairwise([0, *cuts, len(data)])]
        for piece in pieces[:-1]:
            self._add(offset, piece)
            offset += round(self._spec.split_gap_ms * MS)
        self._add(offset, pieces[-1], tok)
        return offset

    def _text_event(self, before: int, size: int, *, last: bool) -> bytes:
        thinking = min(max(0, self._spec.reasoning - before), size)
        text = {"reasoning_content": thinking, "content": size - thinking}
        delta = {name: self._spec.text * n for name, n in text.items() if n}
        finish = self._finish if last and self._spec.finish == "last" else None
        if self._chat:
            choice: dict[str, Any] = {"index": 0, "delta": delta, "finish_reason": finish}
        else:
            choice = {"index": 0, "text": self._spec.text * size, "finish_reason": finish}
        usage = self._counts(before + size) if self._each else None
        return self._chunk([choice], usage)

    def _role(self) -> bytes:
        choice = {"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}
        return self._chunk([choice], self._counts(0) if self._each else None)

    def _ending(self, sent: int) -> list[bytes]:
        events: list[bytes] = []
        if self._spec.finish == "own":
            choice: dict[str, Any] = {"index": 0, "finish_reason": self._finish}
            empty: dict[str, Any] = {"delta": {}} if self._chat else {"text": ""}
            choice |= empty
            events.append(self._chunk([choice], self._counts(sent) if self._each else None))
        if self._usage == "end":
            events.append(self._chunk([], self._counts(sent)))
        if self._spec.done:
            events.append(b"data: [DONE]" + self._eol * 2)
        return events

    def _tail(self, events: list[bytes]) -> bytes:
        end = _END_OF_CHUNKS if self._spec.framing == "chunked" else b""
        return b"".join(map(self._framed, events)) + end

    def _counts(self, tok: int) -> dict[str, Any]:
        spec = self._spec
        counts: dict[str, Any] = {
            "prompt_tokens": spec.prompt_tokens,
            "completion_tokens": tok,
            "total_tokens": spec.prompt_tokens + tok,
        }
        if spec.cached is not None:
            counts["prompt_tokens_details"] = {"cached_tokens": spec.cached}
        if spec.reasoning:
            counts["completion_tokens_details"] = {"reasoning_tokens": min(tok, spec.reasoning)}
        return counts

    def _chunk(self, choices: list[dict[str, Any]], usage: dict[str, Any] | None) -> bytes:
        value: dict[str, Any] = {
            "id": "truth",
            "object": "chat.completion.chunk" if self._chat else "text_completion",
            "created": 0,
            "model": self._model,
            "choices": choices,
        }
        if usage is not None:
            value["usage"] = usage
        elif self._spec.usage == "null":
            value["usage"] = None
        return self._event(value)

    def _event(self, value: dict[str, Any]) -> bytes:
        return b"data: " + orjson.dumps(value) + self._eol * 2

    def _framed(self, data: bytes) -> bytes:
        return b"%x\r\n%s\r\n" % (len(data), data) if self._spec.framing == "chunked" else data

    def _with_length(self) -> tuple[Emission, ...]:
        """Return the sends with the length of the body in their head, wherever they are cut."""
        joined = b"".join(emission.data for emission in self._out)
        length = len(joined) - joined.index(b"\r\n\r\n") - 4
        joined = joined.replace(_LENGTH, b"Content-Length: %08d\r\n" % length, 1)
        ends = list(accumulate(len(emission.data) for emission in self._out))
        pieces = [joined[start:end] for start, end in pairwise([0, *ends])]
        return tuple(replace(one, data=piece) for one, piece in zip(self._out, pieces, strict=True))
