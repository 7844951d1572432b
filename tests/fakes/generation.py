"""An honest answer of the scripted engine, token by token and to the millisecond."""

import hashlib
import json
import threading
import time
from dataclasses import dataclass
from typing import Final

from tests.fakes.script import Script, tokens_of
from tests.fakes.state import Served, State
from tests.fakes.wire import DONE, Wire, event

__all__ = ["Generation", "plan_generation", "prompt_tokens", "stream", "whole"]

NS_PER_MS: Final = 1_000_000
_WORDS: Final = (
    "sun", "rain", "wind", "road", "tree", "door", "lamp", "book", "ship", "bell", "gate", "hill", "moon", "star",
    "fire", "lake", "rock", "sand", "snow", "leaf",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Generation:
    """What is to be answered."""

    script: Script
    served: Served
    number: int
    chat: bool
    stream: bool
    model: str
    output_tok: int
    finish_reason: str
    text: tuple[str, ...]
    include_usage: bool
    each_usage: bool

    def usage(self, tokens: int) -> dict[str, object]:
        """Return usage after so many tokens."""
        served = self.served
        found: dict[str, object] = {
            "prompt_tokens": served.prompt_tok,
            "completion_tokens": tokens,
            "total_tokens": served.prompt_tok + tokens,
        }
        if self.script.cached_tokens:
            found["prompt_tokens_details"] = {"cached_tokens": served.cached_tok}
        if self.script.reasoning_tok:
            reasoning = min(self.script.reasoning_tok, tokens)
            found["completion_tokens_details"] = {"reasoning_tokens": reasoning}
        return found

    def chunk(self, delta: dict[str, object], tokens: int, finish: str | None = None) -> dict[str, object]:
        """Return one event of the stream, as the chat or the completions API has it."""
        choice: dict[str, object] = {"index": 0, "finish_reason": finish}
        if self.chat:
            choice["delta"] = delta
        else:
            choice["text"] = delta.get("content", "")
        found = self.envelope([choice])
        if self.each_usage and self.script.kind == "llama_cpp":
            found["timings"] = self.timings(tokens)
        elif self.each_usage:
            found["usage"] = self.usage(tokens)
        return found

    def timings(self, tokens: int) -> dict[str, object]:
        """Return llama.cpp's own numbers after so many tokens."""
        served = self.served
        return {
            "cache_n": served.cached_tok,
            "prompt_n": served.prompt_tok - served.cached_tok,
            "predicted_n": tokens,
        }

    def envelope(self, choices: list[dict[str, object]]) -> dict[str, object]:
        """Return what is around the choices."""
        what = "chat.completion" if self.chat else "text_completion"
        return {
            "id": f"cmpl-{self.number}",
            "object": f"{what}.chunk" if self.chat and self.stream else what,
            "created": 1_790_000_000,
            "model": self.model,
            "system_fingerprint": "scripted",
            "choices": choices,
        }

    def delta(self, first: int, last: int) -> dict[str, object]:
        """Return the text of some tokens; a chunk is reasoning or content, by its first token."""
        name = "reasoning_content" if first < self.script.reasoning_tok else "content"
        return {name: "".join(self.text[first:last])}

    def offsets_ms(self) -> list[float]:
        """Return when each chunk is due after the request was read."""
        script, sizes, left = self.script, self.sizes(), list(self.script.schedule_ms)
        found: list[float] = []
        for _ in sizes:
            if left:
                found.append(left.pop(0))
            else:
                found.append(found[-1] + script.step_ms if found else script.ttft_ms)
        return found

    def sizes(self) -> list[int]:
        """Return the tokens of each chunk."""
        sizes: list[int] = []
        while sum(sizes) < self.output_tok:
            size = self.script.chunk_tok[len(sizes) % len(self.script.chunk_tok)]
            sizes.append(min(size, self.output_tok - sum(sizes)))
        return sizes


def plan_generation(
    script: Script, served: Served, number: int, body: dict[str, object], *, chat: bool
) -> Generation:
    """Return what an honest engine answers to a request."""
    asked = body.get("max_tokens", body.get("max_completion_tokens"))
    wanted = asked if isinstance(asked, int) else script.natural_tok
    fixed = script.fixed_length and body.get("ignore_eos") is True
    output_tok = wanted if fixed else min(wanted, script.natural_tok)
    options = body.get("stream_options")
    options = options if isinstance(options, dict) else {}
    include = script.usage != "none" and (
        options.get("include_usage") is True or body.get("stream") is not True
    )
    return Generation(
        script=script,
        served=served,
        number=number,
        chat=chat,
        stream=body.get("stream") is True,
        model=script.model,
        output_tok=output_tok,
        finish_reason="length" if output_tok == wanted else "stop",
        text=_text(json.dumps(body.get("messages", body.get("prompt"))), output_tok),
        include_usage=include,
        each_usage=script.usage == "each" and _wants_each(script, body, options),
    )


def _wants_each(script: Script, body: dict[str, object], options: dict[str, object]) -> bool:
    if script.kind == "llama_cpp":
        return body.get("timings_per_token") is True
    return script.kind in {"vllm", "sglang"} and options.get("continuous_usage_stats") is True


def _text(prompt: str, tokens: int) -> tuple[str, ...]:
    """Return the same words for the same prompt, one a token."""
    seed = hashlib.sha256(prompt.encode()).digest()
    return tuple(f" {_WORDS[(seed[at % 32] + at) % len(_WORDS)]}" for at in range(tokens))


def prompt_tokens(body: dict[str, object]) -> tuple[str, ...]:
    """Return the tokens of a request's prompt, with what a template adds for each message."""
    messages = body.get("messages")
    if isinstance(messages, list):
        text = "".join(
            f"<{each.get('role')}> {each.get('content')}\n" for each in messages if isinstance(each, dict)
        )
        return tokens_of(text + "<assistant>")
    return tokens_of(str(body.get("prompt", "")))


def stream(wire: Wire, generation: Generation, state: State, closing: threading.Event) -> None:
    """Send an honest stream on its schedule, noting when each chunk really left."""
    script, served = generation.script, generation.served
    wire.head(framing="close" if script.kind == "ds4" else "chunked")
    if generation.chat:
        wire.send(event(generation.chunk({"role": "assistant", "content": ""}, 0)))
    tokens, late_ms = 0, 0.0
    sizes, offsets = generation.sizes(), generation.offsets_ms()
    for at, size in enumerate(sizes):
        step_ms = offsets[at] - (offsets[at - 1] if at else 0.0)
        late_ms += step_ms * (_slowness(script, state, generation.number) - 1.0)
        _wait_until(served.begun_ns + round((offsets[at] + late_ms) * NS_PER_MS), closing)
        tokens += size
        last = at == len(sizes) - 1 and script.kind == "vllm"
        finish = generation.finish_reason if last else None
        data = event(generation.chunk(generation.delta(tokens - size, tokens), tokens, finish))
        state.generated(size, script.draft_tok)
        served.chunk_ns.append(time.monotonic_ns())
        served.chunk_tok.append(size)
        wire.send(data)
    served.output_tok = tokens
    state.leave(served, script)
    wire.send(_ending(generation, tokens))
    wire.finish()
    served.done_ns = time.monotonic_ns()


def _ending(generation: Generation, tokens: int) -> bytes:
    """Return what follows the text: the finish reason where it has not come yet, usage, the end mark."""
    ending = b""
    if generation.script.kind != "vllm" or not tokens:
        ending += event(generation.chunk({}, tokens, generation.finish_reason))
    if generation.include_usage:
        last = generation.envelope([]) | {"usage": generation.usage(tokens)}
        if generation.script.kind == "llama_cpp":
            last["timings"] = generation.timings(tokens)
        ending += event(last)
    return ending + DONE


def whole(wire: Wire, generation: Generation, state: State, closing: threading.Event) -> None:
    """Send an honest answer in one piece."""
    served, tokens = generation.served, generation.output_tok
    offsets = generation.offsets_ms()
    if offsets:
        _wait_until(served.begun_ns + round(offsets[-1] * NS_PER_MS), closing)
    for size in generation.sizes():
        state.generated(size, generation.script.draft_tok)
    text = "".join(generation.text)
    choice: dict[str, object] = {"index": 0, "finish_reason": generation.finish_reason}
    choice |= {"message": {"role": "assistant", "content": text}} if generation.chat else {"text": text}
    answer = generation.envelope([choice])
    if generation.include_usage:
        answer["usage"] = generation.usage(tokens)
    served.output_tok = tokens
    state.leave(served, generation.script)
    wire.json(200, answer)
    served.done_ns = time.monotonic_ns()


def _slowness(script: Script, state: State, number: int) -> float:
    factor = 1.0
    if script.slow_after is not None and number >= script.slow_after:
        factor *= script.slow_factor
    if script.cliff_above is not None and state.running > script.cliff_above:
        factor *= script.cliff_factor
    return factor


def _wait_until(due_ns: int, closing: threading.Event) -> None:
    left_ns = due_ns - time.monotonic_ns()
    if left_ns > 0 and closing.wait(left_ns / 1e9):
        raise ConnectionAbortedError
