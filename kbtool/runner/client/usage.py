"""Token counts and timings as servers give them, checked for sense. Pure; trusts nothing."""

from collections.abc import Mapping
from math import isfinite
from typing import Any, Final

from kbtool.runner.trace import Usage

__all__ = ["count", "numbers", "read_usage", "usage_fault"]

MAX_TOK: Final = 2**40
"""More tokens than any request has."""
MAX_CHARS_PER_TOK: Final = 256
"""The longest tokens of known vocabularies are runs of 128 blanks."""
CHUNKS_BEYOND_TOK: Final = 2
"""A parser of reasoning may cut one token into two chunks where the channel changes, there and back."""
_NUMBERS: Final = 64


def count(holder: object, *names: str) -> int | None:
    """Return the first of the named members that is a whole number of tokens; None if none is."""
    if not isinstance(holder, Mapping):
        return None
    for name in names:
        value = holder.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MAX_TOK:
            return value
    return None


def read_usage(
    usage: Mapping[str, Any], timings: Mapping[str, float], meta: Mapping[str, float]
) -> tuple[Usage | None, str | None]:
    """Return token counts, and what is wrong with them.

    Args:
        usage: The `usage` object.
        timings: llama.cpp's `timings`, which tells of drafts.
        meta: SGLang's `meta_info` or `sglext`, which does too.
    """
    prompt, completion = count(usage, "prompt_tokens"), count(usage, "completion_tokens")
    if prompt is None or completion is None:
        given = {name: usage.get(name) for name in ("prompt_tokens", "completion_tokens")}
        return None, f"prompt_tokens and completion_tokens must be whole numbers from 0, found {given!r}"
    prompt_details = usage.get("prompt_tokens_details")
    completion_details = usage.get("completion_tokens_details")
    found = Usage(
        prompt_tok=prompt,
        completion_tok=completion,
        cached_tok=_first(count(prompt_details, "cached_tokens"), count(usage, "prompt_cache_hit_tokens")),
        reasoning_tok=_first(count(completion_details, "reasoning_tokens"), count(usage, "reasoning_tokens")),
        cache_write_tok=count(prompt_details, "cache_write_tokens", "cache_creation_tokens"),
        draft_tok=_first(
            _whole(timings, "draft_n"), _whole(meta, "spec_draft_token_num", "spec_draft_tokens")
        ),
        accepted_draft_tok=_first(
            _whole(timings, "draft_n_accepted"), _whole(meta, "spec_accept_token_num", "spec_accepted_tokens")
        ),
        verify_steps=_whole(meta, "spec_verify_ct"),
    )
    total = usage.get("total_tokens")
    if total is not None and total != prompt + completion:
        return found, f"total_tokens is {total!r}, but prompt and completion are {prompt} + {completion}"
    return found, None


def usage_fault(
    usage: Usage, *, asked_tok: int, text_chunks: int, n_chars: int, highest_tok: int
) -> str | None:
    """Return why the counts cannot be true of the stream that they came with; None if they can.

    Args:
        usage: What the server says.
        asked_tok: The most output tokens that were asked for.
        text_chunks: Events with content or reasoning; each has at least one token.
        n_chars: Characters of generated text.
        highest_tok: The highest running count within the stream, 0 without.
    """
    tok = usage.completion_tok
    contradictions = (
        (usage.prompt_tok < 1, "a prompt of 0 tokens"),
        (tok > asked_tok, f"{tok} output tokens, {asked_tok} asked for"),
        (
            text_chunks > tok + CHUNKS_BEYOND_TOK or (text_chunks > 0 and tok == 0),
            f"{tok} output tokens in {text_chunks} chunks with text",
        ),
        (n_chars > tok * MAX_CHARS_PER_TOK, f"{tok} output tokens for {n_chars} characters"),
        (highest_tok > tok, f"{tok} output tokens at the end, {highest_tok} during the stream"),
        (
            (usage.cached_tok or 0) > usage.prompt_tok,
            f"{usage.cached_tok} cached tokens of {usage.prompt_tok} in the prompt",
        ),
        ((usage.reasoning_tok or 0) > tok, f"{usage.reasoning_tok} reasoning tokens of {tok}"),
    )
    return next((found for wrong, found in contradictions if wrong), None)


def numbers(holder: object) -> dict[str, float]:
    """Return the members of an object that are finite numbers, 64 at most."""
    if not isinstance(holder, Mapping):
        return {}
    found = {
        str(name)[:64]: float(value)
        for name, value in holder.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    }
    return dict(sorted(found.items())[:_NUMBERS])


def _first(*values: int | None) -> int | None:
    return next((value for value in values if value is not None), None)


def _whole(holder: Mapping[str, float], *names: str) -> int | None:
    for name in names:
        value = holder.get(name)
        if value is not None and value.is_integer() and 0 <= value < MAX_TOK:
            return int(value)
    return None
