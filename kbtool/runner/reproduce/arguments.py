"""Settings of a record as arguments of an engine, where the argument is known to mean the same.

What no argument is known for is left to whoever runs the plan, and listed: a guessed argument would stop the engine,
or change something else.
"""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Final

import orjson

from kbtool.runner.plan.target import EngineKind
from kbtool.schema.base import Scalar
from kbtool.vocab.numbers import number_text

__all__ = ["LAUNCHABLE", "arguments_for", "text_of"]

Settings = Mapping[str, Scalar]
Maker = Callable[[Scalar, Settings], tuple[str, ...] | None]
LAUNCHABLE: Final[frozenset[EngineKind]] = frozenset({"vllm", "sglang", "llama_cpp"})
"""Kinds of engine whose arguments are known here."""


def arguments_for(engine: EngineKind, field: str, settings: Settings) -> tuple[str, ...] | None:
    """Return the arguments that bring one setting about; none needed: empty; none known: None."""
    maker = _MAKERS.get(engine, {}).get(field)
    return None if maker is None else maker(settings[field], settings)


def text_of(value: Scalar) -> str:
    """Return a value as an argument or a variable has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return number_text(value) if isinstance(value, int | Decimal) else str(value)


def _valued(argument: str) -> Maker:
    """Return what gives a value as it is; a description of several words is no value."""

    def make(value: Scalar, _: Settings) -> tuple[str, ...] | None:
        text = text_of(value)
        return (argument, text) if text and not any(char.isspace() for char in text) else None

    return make


def _mapped(argument: str, words: Mapping[str, str]) -> Maker:
    def make(value: Scalar, _: Settings) -> tuple[str, ...] | None:
        word = words.get(str(value))
        return None if word is None else (argument, word)

    return make


def _switch(on: tuple[str, ...], off: tuple[str, ...]) -> Maker:
    def make(value: Scalar, _: Settings) -> tuple[str, ...] | None:
        return (on if value else off) if isinstance(value, bool) else None

    return make


def _beyond_one(argument: str) -> Maker:
    """Return what gives a number of ranks, where there are several."""

    def make(value: Scalar, _: Settings) -> tuple[str, ...] | None:
        return () if value == 1 else (argument, text_of(value))

    return make


def _vllm_experts(value: Scalar, _: Settings) -> tuple[str, ...]:
    return () if value == 1 else ("--enable-expert-parallel",)


def _vllm_drafts(value: Scalar, settings: Settings) -> tuple[str, ...] | None:
    method = settings.get("speculation.method")
    if method in {None, "none", "other"} or not isinstance(value, int):
        return None
    return "--speculative-config", orjson.dumps({"method": method, "num_speculative_tokens": value}).decode()


def _vllm_method(value: Scalar, settings: Settings) -> tuple[str, ...] | None:
    return () if value == "none" or settings.get("speculation.draft_tok") is not None else None


def _rows_follow(value: Scalar, settings: Settings) -> tuple[str, ...] | None:
    """Verify rows are the drafts and the token that they start from."""
    drafts = settings.get("speculation.draft_tok")
    return () if isinstance(drafts, int) and value == drafts + 1 else None


def _vllm_chunk(value: Scalar, settings: Settings) -> tuple[str, ...] | None:
    budget = settings.get("serving.max_batched_tok")
    if budget is None:
        return "--max-num-batched-tokens", text_of(value)
    return () if budget == value else None


def _sglang_method(value: Scalar, _: Settings) -> tuple[str, ...] | None:
    word = _SGLANG_METHODS.get(str(value))
    if word is None:
        return () if value == "none" else None
    return "--speculative-algorithm", word


def _sglang_rows(value: Scalar, settings: Settings) -> tuple[str, ...] | None:
    drafts = settings.get("speculation.draft_tok")
    if isinstance(drafts, int):
        return () if value == drafts + 1 else None
    return "--speculative-num-draft-tokens", text_of(value)


def _sglang_drafts(value: Scalar, _: Settings) -> tuple[str, ...] | None:
    return ("--speculative-num-draft-tokens", str(value + 1)) if isinstance(value, int) else None


def _sglang_graphs(value: Scalar, settings: Settings) -> tuple[str, ...] | None:
    """SGLang counts captured batches in requests, the record in verify rows."""
    rows = settings.get("speculation.verify_rows")
    drafts = settings.get("speculation.draft_tok")
    if not isinstance(rows, int):
        rows = (
            drafts + 1
            if isinstance(drafts, int)
            else 1
            if settings.get("speculation.method") == "none"
            else None
        )
    if rows is None or not isinstance(value, int) or value % rows:
        return None
    return "--cuda-graph-max-bs", str(value // rows)


def _llama_context(value: Scalar, settings: Settings) -> tuple[str, ...] | None:
    """llama.cpp shares its context out among the slots."""
    slots = settings.get("serving.max_running_requests")
    if not isinstance(value, int):
        return None
    return "--ctx-size", str(value * (slots if isinstance(slots, int) else 1))


def _llama_cache(value: Scalar, _: Settings) -> tuple[str, ...] | None:
    word = {"gguf_q8": "q8_0", "bf16": "bf16", "fp16": "f16", "fp32": "f32"}.get(str(value))
    return None if word is None else ("--cache-type-k", word, "--cache-type-v", word)


def _only_none(value: Scalar, _: Settings) -> tuple[str, ...] | None:
    return () if value == "none" else None


_SGLANG_METHODS: Final = {
    "eagle": "EAGLE", "eagle3": "EAGLE3", "mtp": "NEXTN", "ngram": "NGRAM", "dspark": "DSPARK", "dflash": "DFLASH",
    "draft_model": "STANDALONE",
}  # fmt: skip
_VLLM_CACHES: Final = {
    "bf16": "bfloat16", "fp8": "fp8", "fp8_e4m3": "fp8_e4m3", "fp8_e5m2": "fp8_e5m2", "fp8_ds_mla": "fp8_ds_mla",
}  # fmt: skip
_SGLANG_CACHES: Final = {"bf16": "bfloat16", "fp8_e4m3": "fp8_e4m3", "fp8_e5m2": "fp8_e5m2"}
_MAKERS: Final[Mapping[EngineKind, Mapping[str, Maker]]] = {
    "vllm": {
        "deployment.tp": _valued("--tensor-parallel-size"),
        "deployment.pp": _beyond_one("--pipeline-parallel-size"),
        "deployment.dp": _beyond_one("--data-parallel-size"),
        "deployment.dcp": _beyond_one("--decode-context-parallel-size"),
        "deployment.ep": _vllm_experts,
        "serving.kv_cache_dtype": _mapped("--kv-cache-dtype", _VLLM_CACHES),
        "serving.context_tok": _valued("--max-model-len"),
        "serving.max_running_requests": _valued("--max-num-seqs"),
        "serving.max_batched_tok": _valued("--max-num-batched-tokens"),
        "serving.chunked_prefill_size_tok": _vllm_chunk,
        "serving.page_size_tok": _valued("--block-size"),
        "serving.memory_fraction": _valued("--gpu-memory-utilization"),
        "serving.prefix_caching": _switch(("--enable-prefix-caching",), ("--no-enable-prefix-caching",)),
        "serving.cuda_graph_decode": _switch((), ("--enforce-eager",)),
        "serving.cuda_graph_max_batch": _valued("--max-cudagraph-capture-size"),
        "serving.attention_backend": _valued("--attention-backend"),
        "serving.moe_backend": _valued("--moe-backend"),
        "serving.continuous_batching": _switch((), ()),
        "speculation.method": _vllm_method,
        "speculation.draft_tok": _vllm_drafts,
        "speculation.verify_rows": _rows_follow,
    },
    "sglang": {
        "deployment.tp": _valued("--tp-size"),
        "deployment.pp": _beyond_one("--pp-size"),
        "deployment.dp": _beyond_one("--dp-size"),
        "deployment.ep": _beyond_one("--ep-size"),
        "deployment.dcp": _beyond_one("--dcp-size"),
        "serving.kv_cache_dtype": _mapped("--kv-cache-dtype", _SGLANG_CACHES),
        "serving.context_tok": _valued("--context-length"),
        "serving.max_running_requests": _valued("--max-running-requests"),
        "serving.chunked_prefill_size_tok": _valued("--chunked-prefill-size"),
        "serving.page_size_tok": _valued("--page-size"),
        "serving.memory_fraction": _valued("--mem-fraction-static"),
        "serving.prefix_caching": _switch((), ("--disable-radix-cache",)),
        "serving.cuda_graph_decode": _switch((), ("--disable-cuda-graph",)),
        "serving.cuda_graph_max_batch": _sglang_graphs,
        "serving.attention_backend": _valued("--attention-backend"),
        "serving.prefill_backend": _valued("--prefill-attention-backend"),
        "serving.moe_backend": _valued("--moe-runner-backend"),
        "serving.continuous_batching": _switch((), ()),
        "speculation.method": _sglang_method,
        "speculation.draft_tok": _sglang_drafts,
        "speculation.verify_rows": _sglang_rows,
        "speculation.block_size": _valued("--speculative-dspark-block-size"),
    },
    "llama_cpp": {
        "serving.kv_cache_dtype": _llama_cache,
        "serving.context_tok": _llama_context,
        "serving.max_running_requests": _valued("--parallel"),
        "serving.max_batched_tok": _valued("--batch-size"),
        "serving.prefix_caching": _switch((), ("--no-cache-prompt",)),
        "serving.continuous_batching": _switch((), ("--no-cont-batching",)),
        "speculation.method": _only_none,
    },
}
