"""What the scripted engine is told to do: plain data, the same answers for the same script."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from kbtool.runner.plan.target import EngineKind

__all__ = ["BLOCK_TOK", "Script", "count_tokens", "tokens_of"]

BLOCK_TOK: Final = 16
"""Tokens of one block of the simulated prefix cache."""
_PIECE: Final = re.compile(r"\s*\S{1,4}")


@dataclass(frozen=True, slots=True)
class Script:
    """How the engine behaves. The defaults are a fast, honest server; every other value is one departure."""

    kind: EngineKind = "vllm"
    model: str = "scripted"
    api_key: str | None = field(default=None, repr=False)
    context_tok: int = 32_768
    advertised_context_tok: int | None = None
    """What `/v1/models` says, where it is not the limit that is enforced."""
    max_running: int = 64
    """Requests decoded at once; more wait."""

    ttft_ms: float = 0.0
    step_ms: float = 0.0
    schedule_ms: tuple[float, ...] = ()
    """Exact times of the chunks after the request was read, or had a slot, the last repeated by `step_ms`."""
    chunk_tok: tuple[int, ...] = (1,)
    """Tokens of each chunk, over and over: 1 to 8."""
    reasoning_tok: int = 0
    """So many tokens come as reasoning first."""
    natural_tok: int = 24
    """Tokens of an answer that ends by itself."""
    fixed_length: bool = True
    """Whether `ignore_eos` is honoured."""

    usage: Literal["end", "each", "none"] = "each"
    """`each` gives it with each chunk where that is asked for."""
    cached_tokens: bool = True
    """Whether usage has `prompt_tokens_details.cached_tokens`."""
    prefix_cache: bool = True
    metrics: bool = True
    development: bool = True
    """vLLM's development mode: `/server_info` and `/reset_prefix_cache` exist."""
    resets_lie: bool = False
    """A reset of the cache answers 200 and forgets nothing."""
    version: str = "0.32.0"
    settings: Mapping[str, object] = field(default_factory=dict)
    """Laid over what `/server_info` or `/props` says: a setting that was ignored, for example."""
    draft_tok: int = 0
    """Draft tokens of a step; tokens of a chunk beyond the first count as accepted."""

    ready_after: int = 0
    """The first so many requests are answered with 503, though the models are listed."""
    reset_counters_after: int | None = None
    """Counters start again at 0 once so many requests are done."""
    foreign_tok: int = 0
    """Tokens of somebody else's, added each time the counters are read."""
    foreign_running: int = 0
    slow_after: int | None = None
    """From so many requests on, every step takes `slow_factor` times as long: heat."""
    slow_factor: float = 1.5
    cliff_above: int | None = None
    """With more requests running than this, every step takes `cliff_factor` times as long."""
    cliff_factor: float = 4.0
    mode: str = "honest"
    """Name of a misbehaviour in `tests.fakes.hostile.MODES`, applied to every generation."""


def tokens_of(text: str) -> tuple[str, ...]:
    """Split text as the engine counts it: every four characters of a word, spaces with what follows."""
    return tuple(_PIECE.findall(text))


def count_tokens(text: str) -> int:
    """Return how many tokens the engine counts."""
    return len(tokens_of(text))
