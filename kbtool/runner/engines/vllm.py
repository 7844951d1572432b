"""vLLM: `/version`, `/metrics`, and in development mode `/server_info`, which holds the whole configuration."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from kbtool.runner.client.outgoing import Endpoint
from kbtool.runner.engines.asking import ask_json, models, post_for_reset, samples, text_at
from kbtool.runner.engines.base import Counters, Identity, Observed, RequestOptions, ResetOutcome, Trust
from kbtool.runner.engines.command_line import engine_arguments, given, is_foreign
from kbtool.runner.engines.metrics_text import Samples
from kbtool.runner.engines.openai import context_observed, listed
from kbtool.runner.engines.rules import as_count, as_flag, observe, observe_environment
from kbtool.runner.engines.versions import commit_of
from kbtool.runner.engines.vllm_rules import (
    ALIASES,
    ARGUMENTS,
    CONFIG,
    FLAGS,
    NOT_SETTINGS,
    from_arguments,
    from_config,
)
from kbtool.runner.plan.target import EngineKind

__all__ = ["Vllm"]

CACHE_INFO: Final = "vllm:cache_config_info"
_STARTED: Final = "process_start_time_seconds"
_COUNTERS: Final = (
    "vllm:prompt_tokens_total", "vllm:generation_tokens_total", "vllm:prompt_tokens_cached_total",
    "vllm:prefix_cache_queries_total", "vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_queries_total",
    "vllm:gpu_prefix_cache_hits_total", "vllm:request_success_total", "vllm:num_requests_running",
    "vllm:num_requests_waiting", "vllm:num_preemptions_total", "vllm:kv_cache_usage_perc",
    "vllm:gpu_cache_usage_perc", "vllm:spec_decode_num_drafts_total", "vllm:spec_decode_num_draft_tokens_total",
    "vllm:spec_decode_num_accepted_tokens_total", "vllm:spec_decode_num_accepted_tokens_per_pos_total",
    "vllm:request_queue_time_seconds_sum", "vllm:request_prefill_time_seconds_sum",
    "vllm:request_decode_time_seconds_sum", _STARTED,
)  # fmt: skip


_PROGRAMS: Final = frozenset(
    {"vllm", "vllm.entrypoints.openai.api_server", "vllm.entrypoints.cli.main", "api_server.py"}
)


@dataclass(frozen=True, slots=True)
class Vllm:
    """Adapter of vLLM's OpenAI server."""

    kind: EngineKind = "vllm"

    def identity(self, endpoint: Endpoint) -> Identity:
        """Ask `/v1/models`, `/version` and `/metrics`."""
        found = listed(models(endpoint), self.kind)
        version = text_at(ask_json(endpoint, "/version"), "version")
        seen = samples(endpoint, (CACHE_INFO, _STARTED)) or Samples()
        return replace(
            found,
            version=version,
            commit=commit_of(version),
            started_s=seen.largest(_STARTED),
            kv_cache_tok=_kv_cache_tok(seen.labels(CACHE_INFO)),
            evidence=(*found.evidence, *((f"GET /version answered {version}",) if version else ())),
        )

    def settings(self, endpoint: Endpoint) -> tuple[Observed, ...]:
        """Ask `/server_info`; without development mode, the cache settings that `/metrics` gives as labels."""
        version = text_at(ask_json(endpoint, "/version"), "version")
        named = (("version", version), ("commit", commit_of(version)))
        limit = (
            *context_observed(models(endpoint)),
            *observe(named, CONFIG, trust=Trust.ENGINE, where="GET /version"),
        )
        info = ask_json(endpoint, "/server_info?config_format=json")
        config = None if info is None else info.get("vllm_config")
        if isinstance(config, dict) and info is not None:
            found = observe(
                from_config(config), CONFIG, trust=Trust.ENGINE, where="GET /server_info, vllm_config"
            )
            variables = info.get("vllm_env")
            texts = {str(k): str(v) for k, v in variables.items()} if isinstance(variables, dict) else {}
            told = observe_environment(texts, trust=Trust.ENGINE, where="GET /server_info, vllm_env")
            return (*limit, *found, *told)
        labels = (samples(endpoint, (CACHE_INFO,)) or Samples()).labels(CACHE_INFO)
        return (
            *limit,
            *observe(_from_labels(labels), CONFIG, trust=Trust.ENGINE, where=f"GET /metrics, {CACHE_INFO}"),
        )

    def counters(self, endpoint: Endpoint) -> Counters | None:
        """Read `/metrics`, summed over engines."""
        t_ns = time.monotonic_ns()
        found = samples(endpoint, _COUNTERS)
        return (
            None
            if found is None or found.total("vllm:generation_tokens_total") is None
            else counted(found, t_ns)
        )

    def reset_prefix_cache(self, endpoint: Endpoint) -> ResetOutcome:
        """Ask `/reset_prefix_cache`, which exists in development mode alone; its answer proves nothing."""
        return post_for_reset(endpoint, "/reset_prefix_cache")

    def options(self) -> RequestOptions:
        """Return vLLM's own fields; a prompt is kept out of the cache by `cache_salt`, which must differ each time."""
        return RequestOptions(
            fixed_length={"ignore_eos": True},
            usage={"stream_options": {"include_usage": True, "continuous_usage_stats": True}},
        )

    def from_command_line(
        self, arguments: tuple[str, ...], environment: Mapping[str, str]
    ) -> tuple[Observed, ...]:
        """Read the arguments of `vllm serve`."""
        words = engine_arguments(arguments, _PROGRAMS)
        if words[:1] == ("serve",):
            words = words[1:]
        model = "" if is_foreign(arguments, _PROGRAMS) else "model"
        said = dict(given(words, aliases=ALIASES, flags=FLAGS, positional=model))
        kept = (
            (name, value) for name, value in from_arguments(said) if name.split(".")[0] not in NOT_SETTINGS
        )
        return observe(
            kept, {**CONFIG, **ARGUMENTS}, trust=Trust.PROCESS, where="arguments"
        ) + observe_environment(environment, trust=Trust.PROCESS, where="environment")


def counted(found: Samples, t_ns: int) -> Counters:
    """Return vLLM's samples as counters."""
    return Counters(
        t_ns=t_ns,
        prompt_tok=found.count("vllm:prompt_tokens_total"),
        generation_tok=found.count("vllm:generation_tokens_total"),
        cached_tok=found.count("vllm:prompt_tokens_cached_total"),
        prefix_query_tok=found.count(
            "vllm:prefix_cache_queries_total", "vllm:gpu_prefix_cache_queries_total"
        ),
        prefix_hit_tok=found.count("vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total"),
        requests_finished=found.count("vllm:request_success_total"),
        running=found.count("vllm:num_requests_running"),
        waiting=found.count("vllm:num_requests_waiting"),
        preemptions=found.count("vllm:num_preemptions_total"),
        kv_usage_ratio=found.largest("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"),
        drafts=found.count("vllm:spec_decode_num_drafts_total"),
        draft_tok=found.count("vllm:spec_decode_num_draft_tokens_total"),
        accepted_draft_tok=found.count("vllm:spec_decode_num_accepted_tokens_total"),
        accepted_per_position=found.by_position("vllm:spec_decode_num_accepted_tokens_per_pos_total"),
        started_s=found.largest(_STARTED),
        raw=found.flat(),
    )


def _kv_cache_tok(labels: Mapping[str, str]) -> int | None:
    blocks, size = as_count(labels.get("num_gpu_blocks")), as_count(labels.get("block_size"))
    return blocks * size if blocks and size else None


def _from_labels(labels: Mapping[str, str]) -> Iterator[tuple[str, object]]:
    """Yield labels under the names of the configuration; numbers of blocks differ from start to start."""
    for name, text in labels.items():
        if name in {"engine", "num_gpu_blocks", "num_cpu_blocks"} or text in {"None", ""}:
            continue
        flag = as_flag(text) if text in {"True", "False"} else None
        yield f"cache_config.{name}", text if flag is None else flag
