"""What SGLang's `/server_info`, which its benchmark stores, says about the setup.

`dp_size` is the trap: with attention data parallelism its ranks reuse those of tensor parallelism and own no
accelerators, so that it is another field here.
"""

from typing import Any, Final

from kbtool.ingest.draft import Draft

__all__ = ["read_server_info"]

_FIELDS: Final = {
    "version": "engine.version",
    "tp_size": "deployment.tp",
    "pp_size": "deployment.pp",
    "ep_size": "deployment.ep",
    "revision": "model.revision",
    "context_length": "serving.context_tok",
    "max_running_requests": "serving.max_running_requests",
    "chunked_prefill_size": "serving.chunked_prefill_size_tok",
    "page_size": "serving.page_size_tok",
    "mem_fraction_static": "serving.memory_fraction",
    "cuda_graph_max_bs": "serving.cuda_graph_max_batch",
    "attention_backend": "serving.attention_backend",
    "prefill_attention_backend": "serving.prefill_backend",
    "moe_runner_backend": "serving.moe_backend",
    "speculative_num_draft_tokens": "speculation.verify_rows",
    "quantization": "model.quantization_as_published",
}
_DTYPES: Final = {
    "fp8_e4m3": "fp8_e4m3",
    "fp8_e5m2": "fp8_e5m2",
    "bf16": "bf16",
    "bfloat16": "bf16",
    "float16": "fp16",
}
_METHODS: Final = {
    "EAGLE": "eagle",
    "EAGLE3": "eagle3",
    "NEXTN": "mtp",
    "NGRAM": "ngram",
    "STANDALONE": "draft_model",
    "DSPARK": "dspark",
    "DFLASH": "dflash",
}
_ARGUMENTS: Final = (
    "schedule_policy",
    "schedule_conservativeness",
    "stream_interval",
    "enable_mixed_chunk",
    "enable_torch_compile",
    "disable_overlap_schedule",
    "speculative_num_steps",
    "speculative_eagle_topk",
    "moe_a2a_backend",
    "load_balance_method",
    "dtype",
)
"""Arguments without a field of their own that change speed and never hold a path or a secret."""
_COUNTS: Final = frozenset(
    {
        "deployment.tp",
        "deployment.pp",
        "deployment.ep",
        "serving.context_tok",
        "serving.max_running_requests",
        "serving.chunked_prefill_size_tok",
        "serving.page_size_tok",
        "serving.cuda_graph_max_batch",
        "speculation.verify_rows",
    }
)


def read_server_info(draft: Draft) -> None:
    """Add the facts that the first run's server information states."""
    reading = draft.reading
    at: tuple[str | int, ...] = (0, "server_info")
    info = reading.mapping(*at)
    reading.use(*at, "model_path")  # a path of the server's machine, or the name that the next key has
    draft.model = (
        _name(info.get("served_model_name")) or _name(info.get("model_path")) or _name(info.get("model"))
    )
    for key in ("served_model_name", "model"):
        reading.use(*at, key)
    for key, field in _FIELDS.items():
        if info.get(key) is None:
            continue
        value = reading.count(*at, key) if field in _COUNTS else reading.value(*at, key)
        if field == "serving.memory_fraction":
            value = reading.number(*at, key)
        if value and not isinstance(value, list | dict):
            draft.fact(
                field,
                value if field in _COUNTS or field == "serving.memory_fraction" else str(value)[:200],
                *at,
                key,
            )
    _data_parallel(draft, info)
    _words(draft, info)
    for key in _ARGUMENTS:
        value = info.get(key)
        if isinstance(value, bool | int | str) and value != "":
            reading.use(*at, key)
            draft.fact(
                f"engine.arguments.{key}", value if isinstance(value, bool | int) else value[:100], *at, key
            )
    if any(each.field.startswith("engine.arguments.") for each in draft.facts):
        draft.fact("engine.arguments_basis", "in_force", *at)


def _name(value: Any) -> str | None:
    """Return a model name; None for a path, which tells about a machine and its users."""
    return value if isinstance(value, str) and value and not value.startswith(("/", "~", ".")) else None


def _data_parallel(draft: Draft, info: dict[str, Any]) -> None:
    reading = draft.reading
    if info.get("dp_size") is None:
        return
    ranks = reading.count(0, "server_info", "dp_size")
    attention = reading.value(0, "server_info", "enable_dp_attention")
    if not ranks:
        return
    if attention:
        draft.fact("deployment.attn_dp", ranks, 0, "server_info", "dp_size")
        draft.fact("deployment.dp", 1, 0, "server_info", "enable_dp_attention")
        reason = f"{ranks} ranks of attention data parallelism reuse those of tensor parallelism: they are not replicas"
        draft.converted("dp_size", "", reason)
    else:
        draft.fact("deployment.dp", ranks, 0, "server_info", "dp_size")


def _words(draft: Draft, info: dict[str, Any]) -> None:
    reading, at = draft.reading, (0, "server_info")
    for key, field in (
        ("disable_radix_cache", "serving.prefix_caching"),
        ("disable_cuda_graph", "serving.cuda_graph_decode"),
    ):
        if isinstance(info.get(key), bool):
            reading.use(*at, key)
            draft.fact(field, not info[key], *at, key)
    if isinstance(info.get("kv_cache_dtype"), str) and info["kv_cache_dtype"] in _DTYPES:
        reading.use(*at, "kv_cache_dtype")
        draft.fact("serving.kv_cache_dtype", _DTYPES[info["kv_cache_dtype"]], *at, "kv_cache_dtype")
    if "speculative_algorithm" in info:
        word = reading.text(*at, "speculative_algorithm")
        method = "none" if word is None else _METHODS.get(word.upper(), "other")
        draft.fact("speculation.method", method, *at, "speculative_algorithm")
        draft.fact("speculation.as_published", word, *at, "speculative_algorithm")
