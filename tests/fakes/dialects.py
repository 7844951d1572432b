"""How each kind of engine says what it is and what it has counted, spoken by the scripted engine.

Names of fields are those that the engines document and answer; values are the script's.
"""

from collections.abc import Mapping
from typing import Final

from tests.fakes.script import Script
from tests.fakes.state import State

__all__ = ["answers", "metrics", "models"]

_OWNERS: Final = {
    "vllm": "vllm",
    "sglang": "sglang",
    "llama_cpp": "llamacpp",
    "ds4": "ds4.c",
    "openai": "somebody",
}


def models(script: Script) -> dict[str, object]:
    """Return the answer of `/v1/models`."""
    limit = script.advertised_context_tok or script.context_tok
    entry: dict[str, object] = {
        "id": script.model, "object": "model", "created": 1_790_000_000, "owned_by": _OWNERS[script.kind]
    }  # fmt: skip
    match script.kind:
        case "vllm":
            entry |= {"root": "models/scripted", "parent": None, "max_model_len": limit, "permission": []}
        case "sglang":
            entry |= {"root": script.model, "max_model_len": limit}
        case "llama_cpp":
            entry |= {"meta": {"n_ctx": limit, "n_ctx_train": limit, "size": 611_072, "ftype": "Q8_0"}}
        case "ds4":
            entry |= {
                "name": "Scripted",
                "context_length": limit,
                "supported_parameters": ["max_tokens", "stream"],
            }
            entry |= {"top_provider": {"context_length": limit, "max_completion_tokens": limit}}
        case "openai":
            pass
    return {"object": "list", "data": [entry]}


def answers(script: Script, state: State) -> dict[str, object]:
    """Return the paths that this kind answers with JSON, and what it says there."""
    match script.kind:
        case "vllm":
            found: dict[str, object] = {"/version": {"version": script.version}}
            if script.development:
                found["/server_info"] = _vllm_info(script)
            return found
        case "sglang":
            info = _sglang_info(script)
            return {
                "/server_info": info,
                "/get_server_info": info,
                "/model_info": {"model_path": "models/scripted"},
            }
        case "llama_cpp":
            return {"/props": _props(script, state), "/slots": _slots(script, state)}
        case _:
            return {}


def _vllm_info(script: Script) -> dict[str, object]:
    config: dict[str, dict[str, object] | None] = {
        "model_config": {
            "model": "models/scripted", "revision": None, "quantization": None, "dtype": "torch.bfloat16",
            "max_model_len": script.context_tok, "enforce_eager": False,
        },
        "cache_config": {
            "block_size": 16, "gpu_memory_utilization": 0.9, "cache_dtype": "auto",
            "enable_prefix_caching": script.prefix_cache, "num_gpu_blocks": 4096,
        },
        "parallel_config": {
            "tensor_parallel_size": 1, "pipeline_parallel_size": 1, "data_parallel_size": 1,
            "enable_expert_parallel": False, "decode_context_parallel_size": 1,
        },
        "scheduler_config": {
            "max_num_seqs": script.max_running, "max_num_batched_tokens": 2048, "enable_chunked_prefill": True,
        },
        "compilation_config": {
            "cudagraph_mode": "FULL_AND_PIECEWISE", "cudagraph_capture_sizes": [1, 2, 4, 8, 16, 24, 32, 64],
            "max_cudagraph_capture_size": 64,
        },
        "speculative_config": _vllm_drafts(script),
    }  # fmt: skip
    for name, value in script.settings.items():
        section, _, part = name.partition(".")
        table = config.get(section) or {}
        table[part] = value
        config[section] = table
    return {"vllm_config": config, "vllm_env": {"VLLM_USE_V1": True}, "system_env": {"os": "Linux"}}


def _vllm_drafts(script: Script) -> dict[str, object] | None:
    return {"method": "ngram", "num_speculative_tokens": script.draft_tok} if script.draft_tok else None


def _sglang_info(script: Script) -> dict[str, object]:
    return {
        "model_path": "models/scripted", "revision": None, "quantization": None, "context_length": script.context_tok,
        "served_model_name": script.model, "api_key": script.api_key, "tp_size": 1, "pp_size": 1, "dp_size": 1,
        "ep_size": 1, "enable_dp_attention": False, "kv_cache_dtype": "auto", "mem_fraction_static": 0.88,
        "max_running_requests": script.max_running, "chunked_prefill_size": 8192, "page_size": 1,
        "attention_backend": "flashinfer", "moe_runner_backend": "auto", "disable_radix_cache": not script.prefix_cache,
        "disable_cuda_graph": False, "cuda_graph_max_bs": script.max_running, "enable_metrics": script.metrics,
        "enable_cache_report": script.cached_tokens, "schedule_policy": "fcfs", "random_seed": 42,
        "speculative_algorithm": "NGRAM" if script.draft_tok else None,
        "speculative_num_draft_tokens": script.draft_tok + 1 if script.draft_tok else None,
        "max_total_num_tokens": 65_536, "max_req_input_len": script.context_tok - 6, "version": script.version,
        "internal_states": [{"last_gen_throughput": 12.5}], **script.settings,
    }  # fmt: skip


def _props(script: Script, state: State) -> dict[str, object]:
    return {
        "default_generation_settings": {"n_ctx": script.context_tok, "params": {"temperature": 0.8}},
        "total_slots": script.max_running, "model_alias": script.model, "model_path": "models/scripted.gguf",
        "model_ftype": "Q8_0", "build_info": "b11434-0a1b2c3d", "media_marker": f"<__media_{state.started_s}__>",
        "endpoint_slots": True, "endpoint_metrics": script.metrics, **script.settings,
    }  # fmt: skip


def _slots(script: Script, state: State) -> list[dict[str, object]]:
    return [
        {
            "id": at,
            "n_ctx": script.context_tok,
            "speculative": script.draft_tok > 0,
            "is_processing": at < state.running,
        }
        for at in range(script.max_running)
    ]


def metrics(script: Script, state: State) -> str | None:
    """Return the answer of `/metrics`; None where this kind has none."""
    if not script.metrics or script.kind in {"ds4", "openai"}:
        return None
    counts, accepted = state.read(script)
    match script.kind:
        case "vllm":
            return _vllm_metrics(script, state, counts, accepted)
        case "sglang":
            return _sglang_metrics(script, counts)
        case _:
            return _llama_metrics(counts, accepted)


def _lines(values: Mapping[str, float], label: str = "") -> str:
    return "".join(f"{name}{label} {float(value)}\n" for name, value in values.items())


def _vllm_metrics(script: Script, state: State, counts: dict[str, int], accepted: dict[int, int]) -> str:
    label = f'{{engine="0",model_name="{script.model}"}}'
    get = counts.get
    text = f"process_start_time_seconds {state.started_s}\n" + _lines(
        {
            "vllm:num_requests_running": get("running", 0), "vllm:num_requests_waiting": get("waiting", 0),
            "vllm:kv_cache_usage_perc": 0.01, "vllm:prefix_cache_queries_total": get("query", 0),
            "vllm:prefix_cache_hits_total": get("cached", 0), "vllm:prompt_tokens_total": get("prompt", 0),
            "vllm:prompt_tokens_cached_total": get("cached", 0), "vllm:num_preemptions_total": 0,
            "vllm:generation_tokens_total": get("generation", 0),
        },
        label,
    )  # fmt: skip
    text += f'vllm:request_success_total{{engine="0",finished_reason="length"}} {float(get("finished", 0))}\n'
    text += (
        'vllm:cache_config_info{block_size="16",cache_dtype="auto",enable_prefix_caching='
        f'"{script.prefix_cache}",gpu_memory_utilization="0.9",num_gpu_blocks="4096"}} 1.0\n'
    )
    if script.draft_tok:
        text += _lines(
            {
                "vllm:spec_decode_num_drafts_total": get("drafts", 0),
                "vllm:spec_decode_num_draft_tokens_total": get("draft", 0),
                "vllm:spec_decode_num_accepted_tokens_total": get("accepted", 0),
            },
            label,
        )
        for position in range(script.draft_tok):
            name = f'vllm:spec_decode_num_accepted_tokens_per_pos_total{{engine="0",position="{position}"}}'
            text += f"{name} {float(accepted.get(position, 0))}\n"
    return text


def _sglang_metrics(script: Script, counts: dict[str, int]) -> str:
    get = counts.get
    label = f'{{model_name="{script.model}"}}'
    rank = f'{{engine_type="unified",model_name="{script.model}",pp_rank="0",tp_rank="0"}}'
    return _lines(
        {
            "sglang:prompt_tokens_total": get("prompt", 0), "sglang:generation_tokens_total": get("generation", 0),
            "sglang:cached_tokens_total": get("cached", 0), "sglang:num_requests_total": get("finished", 0),
        },
        label,
    ) + _lines(
        {
            "sglang:num_running_reqs": get("running", 0), "sglang:num_queue_reqs": get("waiting", 0),
            "sglang:token_usage": 0.01, "sglang:spec_accept_length": 1.0 + script.draft_tok / 2,
        },
        rank,
    )  # fmt: skip


def _llama_metrics(counts: dict[str, int], accepted: dict[int, int]) -> str:
    get = counts.get
    text = _lines(
        {
            "llamacpp:prompt_tokens_total": get("prompt", 0) - get("cached", 0),
            "llamacpp:prompt_tokens_cached_total": get("cached", 0),
            "llamacpp:tokens_predicted_total": get("generation", 0),
            "llamacpp:n_decode_total": get("steps", 0),
            "llamacpp:requests_processing": get("running", 0),
            "llamacpp:requests_deferred": get("waiting", 0),
            "llamacpp:spec_decode_num_draft_tokens_total": get("draft", 0),
            "llamacpp:spec_decode_num_accepted_tokens_total": get("accepted", 0),
            "llamacpp:spec_decode_num_drafts_total": get("drafts", 0),
        }
    )
    for position, value in sorted(accepted.items()):
        text += f'llamacpp:spec_decode_num_accepted_tokens_per_pos_total{{position="{position}"}} {value}\n'
    return text
