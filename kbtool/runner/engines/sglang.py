"""SGLang: `/server_info` holds every argument in force; `/metrics` needs `--enable-metrics`."""

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from kbtool.runner.client.outgoing import Endpoint
from kbtool.runner.engines.asking import ask_json, models, post_for_reset, samples, text_at, whole_at
from kbtool.runner.engines.base import Counters, Identity, Observed, RequestOptions, ResetOutcome, Trust
from kbtool.runner.engines.command_line import engine_arguments, given
from kbtool.runner.engines.metrics_text import Samples
from kbtool.runner.engines.openai import context_observed, listed
from kbtool.runner.engines.rules import observe, observe_environment
from kbtool.runner.engines.sglang_rules import ALIASES, FLAGS, NOT_SETTINGS, RULES, together
from kbtool.runner.engines.versions import commit_of
from kbtool.runner.plan.target import EngineKind

__all__ = ["Sglang"]

_COUNTERS: Final = (
    "sglang:prompt_tokens_total", "sglang:generation_tokens_total", "sglang:cached_tokens_total",
    "sglang:num_requests_total", "sglang:num_running_reqs", "sglang:num_queue_reqs", "sglang:token_usage",
    "sglang:num_retracted_requests_total", "sglang:spec_accept_length", "sglang:realtime_tokens_total",
    "sglang:cuda_graph_passes_total", "sglang:queue_time_seconds_sum",
)  # fmt: skip


_PROGRAMS: Final = frozenset(
    {"sglang", "sglang.launch_server", "sglang.srt.entrypoints.http_server", "launch_server.py"}
)


@dataclass(frozen=True, slots=True)
class Sglang:
    """Adapter of SGLang's server."""

    kind: EngineKind = "sglang"

    def identity(self, endpoint: Endpoint) -> Identity:
        """Ask `/server_info` and `/v1/models`."""
        found = listed(models(endpoint), self.kind)
        path, info = _server_info(endpoint)
        version = text_at(info, "version")
        return replace(
            found,
            version=version,
            commit=commit_of(version),
            model_root=text_at(info, "model_path") or found.model_root,
            context_tok=found.context_tok or whole_at(info, "context_length"),
            kv_cache_tok=whole_at(info, "max_total_num_tokens"),
            evidence=(*found.evidence, *((f"GET {path} says version {version}",) if version else ())),
        )

    def settings(self, endpoint: Endpoint) -> tuple[Observed, ...]:
        """Ask `/server_info`: every argument by its Python name."""
        path, info = _server_info(endpoint)
        said = {name: value for name, value in (info or {}).items() if name not in NOT_SETTINGS}
        if said:
            said.setdefault("speculative_algorithm", None)
            said["commit"] = commit_of(text_at(info, "version"))
        found = observe(together(said, resolved=True), RULES, trust=Trust.ENGINE, where=f"GET {path}")
        # The list of models is read last: it has the limit in force where `context_length` was left to the model.
        return (*context_observed(models(endpoint)), *found)

    def counters(self, endpoint: Endpoint) -> Counters | None:
        """Read `/metrics`; None where the server runs without `--enable-metrics`."""
        t_ns = time.monotonic_ns()
        found = samples(endpoint, _COUNTERS)
        return None if found is None else counted(found, t_ns)

    def reset_prefix_cache(self, endpoint: Endpoint) -> ResetOutcome:
        """Ask `/flush_cache`, which refuses while requests run."""
        return post_for_reset(endpoint, "/flush_cache")

    def options(self) -> RequestOptions:
        """Return SGLang's own fields."""
        return RequestOptions(
            fixed_length={"ignore_eos": True},
            usage={"stream_options": {"include_usage": True, "continuous_usage_stats": True}},
        )

    def from_command_line(
        self, arguments: tuple[str, ...], environment: Mapping[str, str]
    ) -> tuple[Observed, ...]:
        """Read the arguments of `sglang.launch_server` or `sglang serve`."""
        words = engine_arguments(arguments, _PROGRAMS)
        said = dict(given(words, aliases=ALIASES, flags=FLAGS))
        kept = {name: value for name, value in said.items() if name not in NOT_SETTINGS}
        return observe(
            together(kept, resolved=False), RULES, trust=Trust.PROCESS, where="arguments"
        ) + observe_environment(environment, trust=Trust.PROCESS, where="environment")


def _server_info(endpoint: Endpoint) -> tuple[str, dict[str, object] | None]:
    """Return the path that answered and its answer; older servers have the second path alone."""
    for path in ("/server_info", "/get_server_info"):
        info = ask_json(endpoint, path)
        if info is not None:
            return path, info
    return "/server_info", None


def counted(found: Samples, t_ns: int) -> Counters:
    """Return SGLang's samples as counters.

    With `--enable-metrics-for-all-schedulers` each rank of a group reports the same requests: rank 0 speaks for
    its group.  Acceptance is a mean over the last batches, no counter: it is kept in `raw` alone.
    """
    one = Samples({name: tuple(_of_first_ranks(pairs)) for name, pairs in found.values.items()})
    return Counters(
        t_ns=t_ns,
        prompt_tok=one.count("sglang:prompt_tokens_total"),
        generation_tok=one.count("sglang:generation_tokens_total"),
        cached_tok=one.count("sglang:cached_tokens_total"),
        prefix_query_tok=one.count("sglang:prompt_tokens_total"),
        prefix_hit_tok=one.count("sglang:cached_tokens_total"),
        requests_finished=one.count("sglang:num_requests_total"),
        running=one.count("sglang:num_running_reqs"),
        waiting=one.count("sglang:num_queue_reqs"),
        preemptions=one.count("sglang:num_retracted_requests_total"),
        kv_usage_ratio=one.largest("sglang:token_usage"),
        raw=found.flat(),
    )


def _of_first_ranks(
    pairs: tuple[tuple[Mapping[str, str], float], ...],
) -> Iterator[tuple[Mapping[str, str], float]]:
    for labels, value in pairs:
        if all(re.fullmatch("0*", labels.get(name, "")) for name in ("tp_rank", "pp_rank")):
            yield labels, value
