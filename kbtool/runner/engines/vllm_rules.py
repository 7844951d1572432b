"""vLLM's settings and the fields of the record that they are: by argument, and by part of the configuration."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from kbtool.runner.engines.base import Setting
from kbtool.runner.engines.rules import (
    Rule,
    as_chosen,
    as_count,
    as_dtype,
    as_flag,
    as_line,
    as_negated,
    as_ratio,
    each_as,
)

__all__ = ["ALIASES", "ARGUMENTS", "CONFIG", "FLAGS", "NOT_SETTINGS", "from_arguments", "from_config"]

_UNITS: Final[Mapping[str, int]] = {
    "k": 10**3, "K": 2**10, "m": 10**6, "M": 2**20, "g": 10**9, "G": 2**30,
}  # fmt: skip
_GRAPH_MODES: Final[Mapping[str, str]] = {
    "0": "NONE", "1": "PIECEWISE", "2": "FULL", "(2, 0)": "FULL_DECODE_ONLY", "[2, 0]": "FULL_DECODE_ONLY",
    "(2, 1)": "FULL_AND_PIECEWISE", "[2, 1]": "FULL_AND_PIECEWISE",
}  # fmt: skip


def _method(raw: object) -> str | None:
    """Read the name of a drafter; a name that the vocabulary lacks is `other`."""
    word = str(raw).lower()
    if word in {"none", "ngram", "eagle", "eagle3", "medusa", "draft_model", "dspark", "dflash", "mtp"}:
        return word
    if word.endswith("_mtp"):
        return "mtp"
    if word.startswith("ngram"):
        return "ngram"
    return "other" if re.fullmatch(r"[a-z][a-z0-9_]*", word) else None


def _human(raw: object) -> int | None:
    """Read a number of tokens as vLLM's arguments take it: `32k` is 32,000 and `32K` is 32,768."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([kKmMgG])", str(raw))
    return as_count(float(match.group(1)) * _UNITS[match.group(2)]) if match else as_count(raw)


def _graph_mode(raw: object) -> str:
    text = str(raw).rsplit(".", 1)[-1].upper() if isinstance(raw, str) else str(raw)
    return _GRAPH_MODES.get(text, text)


def _graphs_decode(raw: object) -> bool | None:
    mode = _graph_mode(raw)
    if mode in {"FULL", "PIECEWISE", "FULL_AND_PIECEWISE", "FULL_DECODE_ONLY"}:
        return True
    return False if mode == "NONE" else None


def _graphs_prefill(raw: object) -> bool | None:
    mode = _graph_mode(raw)
    if mode in {"FULL", "PIECEWISE", "FULL_AND_PIECEWISE"}:
        return True
    return False if mode in {"NONE", "FULL_DECODE_ONLY"} else None


def _largest(raw: object) -> int | None:
    """Read the largest captured size; vLLM counts sizes in tokens of a step, hence in verify rows."""
    sizes = raw if isinstance(raw, list) else re.findall(r"[0-9]+", str(raw))
    counts = [count for count in map(as_count, sizes) if count is not None]
    return max(counts, default=None)


def _rows(raw: object) -> Setting | None:
    """Read verify rows from a number of draft tokens: the drafts and the token they start from."""
    count = as_count(raw)
    return None if count is None else count + 1


ARGUMENTS: Final[Mapping[str, Rule]] = {
    **each_as(
        as_line,
        ("model", "model.checkpoint"),
        ("revision", "model.revision"),
        ("quantization", "model.quantization_as_published"),
    ),
    **each_as(
        as_chosen, ("attention_backend", "serving.attention_backend"), ("moe_backend", "serving.moe_backend")
    ),
    **each_as(
        as_count,
        ("max_num_seqs", "serving.max_running_requests"),
        ("block_size", "serving.page_size_tok"),
        ("tensor_parallel_size", "deployment.tp"),
        ("pipeline_parallel_size", "deployment.pp"),
        ("data_parallel_size", "deployment.dp"),
        ("decode_context_parallel_size", "deployment.dcp"),
    ),
    "ep": Rule("deployment.ep", as_count, "enable_expert_parallel"),
    "max_model_len": Rule("serving.context_tok", _human),
    "max_num_batched_tokens": Rule("serving.max_batched_tok", _human),
    "prefill_chunk": Rule("serving.chunked_prefill_size_tok", _human, "max_num_batched_tokens"),
    "kv_cache_dtype": Rule("serving.kv_cache_dtype", as_dtype),
    "gpu_memory_utilization": Rule("serving.memory_fraction", as_ratio),
    "enable_prefix_caching": Rule("serving.prefix_caching", as_flag),
    "enforce_eager": Rule("serving.cuda_graph_decode", as_negated),
    "cudagraph_capture_sizes": Rule("serving.cuda_graph_max_batch", _largest),
    "max_cudagraph_capture_size": Rule("serving.cuda_graph_max_batch", as_count),
}
"""By argument of `vllm serve`, as `EngineArgs` spells it."""

SECTIONS: Final = (
    "model_config", "cache_config", "parallel_config", "scheduler_config", "speculative_config",
    "compilation_config", "attention_config", "kernel_config", "kv_transfer_config",
)  # fmt: skip
"""Parts of the configuration that say how it serves; the others are about logs, profiles and multimodal input."""

CONFIG: Final[Mapping[str, Rule]] = {
    **each_as(
        as_line,
        ("model_config.model", "model.checkpoint"),
        ("model_config.revision", "model.revision"),
        ("model_config.quantization", "model.quantization_as_published"),
        ("kv_transfer_config.kv_connector", "serving.kv_persistence"),
        ("version", "engine.version"),
        ("commit", "engine.commit"),
    ),
    **each_as(
        as_chosen,
        ("attention_config.backend", "serving.attention_backend"),
        ("kernel_config.moe_backend", "serving.moe_backend"),
    ),
    **each_as(
        as_count,
        ("model_config.max_model_len", "serving.context_tok"),
        ("cache_config.block_size", "serving.page_size_tok"),
        ("parallel_config.tensor_parallel_size", "deployment.tp"),
        ("parallel_config.pipeline_parallel_size", "deployment.pp"),
        ("parallel_config.data_parallel_size", "deployment.dp"),
        ("parallel_config.decode_context_parallel_size", "deployment.dcp"),
        ("scheduler_config.max_num_seqs", "serving.max_running_requests"),
        ("scheduler_config.max_num_batched_tokens", "serving.max_batched_tok"),
        ("speculative_config.num_speculative_tokens", "speculation.draft_tok"),
        ("compilation_config.max_cudagraph_capture_size", "serving.cuda_graph_max_batch"),
    ),
    "parallel_config.ep": Rule("deployment.ep", as_count, "parallel_config.enable_expert_parallel"),
    "scheduler_config.prefill_chunk": Rule(
        "serving.chunked_prefill_size_tok", as_count, "scheduler_config.max_num_batched_tokens"
    ),
    "speculation.as_published": Rule("speculation.as_published", as_line, "speculative_config"),
    "model_config.weights": Rule("model.weight_dtype", as_dtype, "model_config.dtype"),
    "cache_config.cache_dtype": Rule("serving.kv_cache_dtype", as_dtype),
    "cache_config.gpu_memory_utilization": Rule("serving.memory_fraction", as_ratio),
    "cache_config.enable_prefix_caching": Rule("serving.prefix_caching", as_flag),
    "speculative_config.method": Rule("speculation.method", _method),
    "speculative_config.rows": Rule(
        "speculation.verify_rows", _rows, "speculative_config.num_speculative_tokens"
    ),
    "compilation_config.cudagraph_mode": Rule("serving.cuda_graph_decode", _graphs_decode),
    "compilation_config.prefill_graphs": Rule(
        "serving.cuda_graph_prefill", _graphs_prefill, "compilation_config.cudagraph_mode"
    ),
    "compilation_config.cudagraph_capture_sizes": Rule("serving.cuda_graph_max_batch", _largest),
}
"""By part of the configuration, `section.name`, as `/server_info` and JSON arguments spell it."""

ALIASES: Final[Mapping[str, str]] = {
    "tp": "tensor_parallel_size", "pp": "pipeline_parallel_size", "dp": "data_parallel_size",
    "dcp": "decode_context_parallel_size", "q": "quantization", "sc": "speculative_config",
    "cc": "compilation_config", "O": "compilation_config", "n": "nnodes", "r": "node_rank", "model_tag": "model",
    "ac": "attention_config", "kv_cache_dtype": "kv_cache_dtype", "ep": "enable_expert_parallel",
    "cuda_graph_sizes": "cudagraph_capture_sizes",
}  # fmt: skip
FLAGS: Final = frozenset(
    {
        "enforce_eager", "enable_prefix_caching", "no_enable_prefix_caching", "enable_expert_parallel",
        "enable_chunked_prefill", "no_enable_chunked_prefill", "trust_remote_code", "enable_prompt_tokens_details",
        "enable_auto_tool_choice", "disable_custom_all_reduce", "disable_log_requests", "enable_log_requests",
        "disable_log_stats", "enable_eplb", "enable_dbo", "async_scheduling", "no_async_scheduling", "headless",
        "enable_server_load_tracking", "disable_uvicorn_access_log", "language_model_only",
        "enable_force_include_usage", "calculate_kv_scales", "disable_hybrid_kv_cache_manager",
    }
)  # fmt: skip
NOT_SETTINGS: Final = frozenset(
    {
        "host", "port", "served_model_name", "api_key", "uds", "ssl_keyfile", "ssl_certfile", "ssl_ca_certs",
        "root_path", "allowed_origins", "uvicorn_log_level", "disable_uvicorn_access_log", "data_parallel_address",
        "data_parallel_rpc_port", "master_addr", "master_port", "nnodes", "node_rank", "hf_token",
    }
)  # fmt: skip
"""Where it listens and what it is called changes nothing in what is measured."""
_VOLATILE: Final = frozenset(
    {
        "num_gpu_blocks", "num_cpu_blocks", "served_model_name", "hf_config", "hf_text_config", "hf_image_processor_config",
        "instance_id", "data_parallel_master_port", "data_parallel_master_ip", "data_parallel_rpc_port", "seed",
        "compilation_time", "enabled_custom_ops", "disabled_custom_ops", "traced_files", "static_forward_context",
        "bs_to_padded_graph_size", "local_cache_dir", "cache_dir", "debug_dump_path", "world_size", "rank",
        "draft_model_config", "draft_parallel_config", "target_model_config", "target_parallel_config", "hf_token",
    }
)  # fmt: skip
"""Of another value at each start, or the same again in another form."""


def from_config(config: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Yield names and values of the configuration in the sections that say how it serves."""
    for section in SECTIONS:
        table = config.get(section)
        if not isinstance(table, dict):
            continue
        for name, value in table.items():
            if name not in _VOLATILE:
                yield f"{section}.{name}", value
        yield from _derived(section, table)
    if not isinstance(config.get("speculative_config"), dict) and "speculative_config" in config:
        yield "speculative_config.method", "none"


def _derived(section: str, table: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Yield what several settings of one section say together."""
    if section == "scheduler_config" and as_flag(table.get("enable_chunked_prefill")):
        yield "scheduler_config.prefill_chunk", table.get("max_num_batched_tokens")
    if section == "parallel_config":
        yield "parallel_config.ep", _expert_ranks(table)
    if section == "compilation_config":
        yield "compilation_config.prefill_graphs", table.get("cudagraph_mode")
    if section == "speculative_config":
        yield "speculative_config.rows", table.get("num_speculative_tokens")
        yield (
            "speculation.as_published",
            f"{table.get('method')}, num_speculative_tokens {table.get('num_speculative_tokens')}",
        )
    if section == "model_config" and table.get("quantization") is None:
        # Unquantised weights are held in the type they are computed in.
        yield "model_config.weights", table.get("dtype")


def _expert_ranks(table: Mapping[str, object]) -> int | None:
    """Return the expert-parallel ranks: all tensor and data-parallel ranks, or 1 where experts are not spread."""
    spread = as_flag(table.get("enable_expert_parallel"))
    if not spread:
        return None if spread is None else 1
    tp, dp = as_count(table.get("tensor_parallel_size")) or 1, as_count(table.get("data_parallel_size")) or 1
    return tp * dp


def from_arguments(said: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Yield arguments, and what several of them say together."""
    yield from said.items()
    if "speculative_config.num_speculative_tokens" in said:
        count = said["speculative_config.num_speculative_tokens"]
        yield "speculative_config.rows", count
        yield (
            "speculation.as_published",
            f"{said.get('speculative_config.method')}, num_speculative_tokens {count}",
        )
    if "compilation_config.cudagraph_mode" in said:
        yield "compilation_config.prefill_graphs", said["compilation_config.cudagraph_mode"]
    if as_flag(said.get("enable_expert_parallel")):
        yield "ep", _expert_ranks(said)
    if said.get("enable_chunked_prefill") is not False and "max_num_batched_tokens" in said:
        yield "prefill_chunk", said["max_num_batched_tokens"]
