"""SGLang's arguments, by their Python names, and the fields of the record that they are."""

from collections.abc import Iterator, Mapping
from typing import Final

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

__all__ = ["ALIASES", "FLAGS", "NOT_SETTINGS", "RULES", "together"]

_METHODS: Final[Mapping[str, str]] = {
    "EAGLE": "eagle", "EAGLE3": "eagle3", "NEXTN": "mtp", "FROZEN_KV_MTP": "mtp", "MTP": "mtp",
    "STANDALONE": "draft_model", "NGRAM": "ngram", "DSPARK": "dspark", "DFLASH": "dflash", "NONE": "none",
}  # fmt: skip


def _method(raw: object) -> str | None:
    word = str(raw).upper()
    return _METHODS.get(word, "other" if word.isidentifier() else None)


def _one_less(raw: object) -> int | None:
    """Read drafts from verify rows: `speculative_num_draft_tokens` counts the token that the drafts start from."""
    count = as_count(raw)
    return count - 1 if count is not None and count > 1 else None


RULES: Final[Mapping[str, Rule]] = {
    **each_as(
        as_line,
        ("model_path", "model.checkpoint"),
        ("revision", "model.revision"),
        ("quantization", "model.quantization_as_published"),
        ("version", "engine.version"),
        ("commit", "engine.commit"),
    ),
    "attention_backend": Rule("serving.attention_backend", as_chosen),
    "prefill_attention_backend": Rule("serving.prefill_backend", as_chosen),
    "moe_runner_backend": Rule("serving.moe_backend", as_chosen),
    "kv_tiers": Rule("serving.kv_persistence", as_line, "enable_hierarchical_cache"),
    "speculation_published": Rule("speculation.as_published", as_line, "speculative_algorithm"),
    **each_as(
        as_count,
        ("context_length", "serving.context_tok"),
        ("max_running_requests", "serving.max_running_requests"),
        ("chunked_prefill_size", "serving.chunked_prefill_size_tok"),
        ("page_size", "serving.page_size_tok"),
        ("tp_size", "deployment.tp"),
        ("pp_size", "deployment.pp"),
        ("ep_size", "deployment.ep"),
        ("dcp_size", "deployment.dcp"),
        ("speculative_num_draft_tokens", "speculation.verify_rows"),
        ("speculative_dspark_block_size", "speculation.block_size"),
    ),
    "dp_ranks": Rule("deployment.dp", as_count, "dp_size"),
    "attn_dp_ranks": Rule("deployment.attn_dp", as_count, "dp_size"),
    "graph_rows": Rule("serving.cuda_graph_max_batch", as_count, "cuda_graph_max_bs"),
    "kv_cache_dtype": Rule("serving.kv_cache_dtype", as_dtype),
    "mem_fraction_static": Rule("serving.memory_fraction", as_ratio),
    "disable_radix_cache": Rule("serving.prefix_caching", as_negated),
    "disable_cuda_graph": Rule("serving.cuda_graph_decode", as_negated),
    "enable_piecewise_cuda_graph": Rule("serving.cuda_graph_prefill", as_flag),
    "disable_piecewise_cuda_graph": Rule("serving.cuda_graph_prefill", as_negated),
    "method": Rule("speculation.method", _method, "speculative_algorithm"),
    "drafts": Rule("speculation.draft_tok", _one_less, "speculative_num_draft_tokens"),
}
ALIASES: Final[Mapping[str, str]] = {
    "model": "model_path", "tp": "tp_size", "tensor_parallel_size": "tp_size", "pp": "pp_size",
    "pipeline_parallel_size": "pp_size", "dp": "dp_size", "data_parallel_size": "dp_size", "ep": "ep_size",
    "expert_parallel_size": "ep_size", "dcp": "dcp_size", "max_running_req": "max_running_requests",
    "mem_fraction": "mem_fraction_static", "speculative_algo": "speculative_algorithm",
}  # fmt: skip
FLAGS: Final = frozenset(
    {
        "trust_remote_code", "enable_metrics", "enable_cache_report", "disable_radix_cache", "disable_cuda_graph",
        "enable_dp_attention", "disable_custom_all_reduce", "skip_server_warmup", "enable_hierarchical_cache",
        "enable_piecewise_cuda_graph", "disable_piecewise_cuda_graph", "enable_torch_compile", "disable_overlap_schedule",
        "enable_mixed_chunk", "enable_dp_lm_head", "enable_eplb", "enable_metrics_for_all_schedulers",
        "disable_cuda_graph_padding", "skip_tokenizer_init", "log_requests", "enable_p2p_check",
    }
)  # fmt: skip
NOT_SETTINGS: Final = frozenset(
    {
        "host", "port", "served_model_name", "api_key", "admin_api_key", "nccl_port", "dist_init_addr", "launch_command",
        "internal_states", "random_seed", "startup_time", "status", "max_total_num_tokens", "max_req_input_len",
        "log_level", "log_level_http", "log_requests", "file_storage_path", "decrypted_config_file", "nnodes", "node_rank",
        "bucket_time_to_first_token", "bucket_inter_token_latency", "bucket_e2e_request_latency", "crash_dump_folder",
        "hf_token", "weight_version", "ssl_keyfile", "ssl_certfile", "detokenizer_worker_num",
    }
)  # fmt: skip
"""Where it listens, what it is called, and what differs from start to start changes nothing in what is measured."""


def together(said: Mapping[str, object], *, resolved: bool) -> Iterator[tuple[str, object]]:
    """Yield arguments, and what several of them say together.

    Args:
        said: Arguments by their Python names.
        resolved: Whether the server has put its own values in already, as in `/server_info`; it then gives the
            prefill chunk of one rank, which an argument list does not.
    """
    hidden = {
        "dp_size",
        "speculative_algorithm",
        "enable_dp_attention",
        "cuda_graph_max_bs",
        "chunked_prefill_size",
    }
    for name, value in said.items():
        if name not in hidden:
            yield name, value
    yield from _parallel(said)
    yield from _chunk(said, resolved=resolved)
    yield from _speculation(said)
    yield from _graphs(said)
    if as_flag(said.get("enable_hierarchical_cache")):
        yield "kv_tiers", f"hierarchical cache, ratio {said.get('hicache_ratio', 'unstated')}"


def _parallel(said: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Under attention data parallelism the ranks lie inside the tensor-parallel group: they own no accelerators."""
    ranks, inside = as_count(said.get("dp_size")), as_flag(said.get("enable_dp_attention"))
    if ranks is None:
        return
    if inside:
        yield "attn_dp_ranks", ranks
        yield "dp_ranks", 1
    else:
        yield "dp_ranks", ranks


def _chunk(said: Mapping[str, object], *, resolved: bool) -> Iterator[tuple[str, object]]:
    chunk, ranks = as_count(said.get("chunked_prefill_size")), as_count(said.get("dp_size")) or 1
    if chunk is not None and as_flag(said.get("enable_dp_attention")) and not resolved:
        yield "chunked_prefill_size", max(1, chunk // ranks)
    else:
        yield "chunked_prefill_size", said.get("chunked_prefill_size")


def _speculation(said: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    if "speculative_algorithm" not in said:
        return
    algorithm = said["speculative_algorithm"]
    if algorithm is None:
        yield "method", "NONE"
        return
    own_head = said.get("speculative_draft_model_path") in {said.get("model_path"), None}
    # EAGLE without a draft model of its own runs the prediction head of the model.
    yield (
        "method",
        "NEXTN" if str(algorithm).upper() == "EAGLE" and own_head and "model_path" in said else algorithm,
    )
    parts = [f"{name} {value}" for name, value in sorted(said.items()) if _names_draft(name, value)]
    yield "speculation_published", ", ".join([f"speculative_algorithm {algorithm}", *parts])
    if as_count(said.get("speculative_eagle_topk") or 1) == 1:
        # With a wider tree the rows verified are not a chain of drafts.
        yield "drafts", said.get("speculative_num_draft_tokens")


def _names_draft(name: str, value: object) -> bool:
    wanted = {
        "speculative_num_steps", "speculative_eagle_topk", "speculative_num_draft_tokens", "speculative_dspark_block_size"
    }  # fmt: skip
    return name in wanted and value is not None


def _graphs(said: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """SGLang counts captured batches in requests; with speculation each request is several rows."""
    largest = as_count(said.get("cuda_graph_max_bs"))
    if largest is None or as_flag(said.get("disable_cuda_graph")):
        return
    rows = as_count(said.get("speculative_num_draft_tokens")) if said.get("speculative_algorithm") else 1
    if rows is not None:
        yield "graph_rows", largest * rows
    yield "cuda_graph_max_bs", largest
