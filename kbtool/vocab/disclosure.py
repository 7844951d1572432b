"""What a reader needs to know to compare or repeat a benchmark: the disclosure fields.

Each must be given, or listed as omitted by its source, or carry a typed gap.  The paths are those of
the record model (`kbtool.schema.benchmark`); `results.at.x` stands for the field `x` of every
result's conditions.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Protocol

__all__ = ["DISCLOSURE_FIELDS", "DisclosureField", "HasMetric"]


class HasMetric(Protocol):
    """A result, as far as it is looked at here."""

    @property
    def metric(self) -> str:
        """What was measured."""

    @property
    def value(self) -> object:
        """The figure; None where there is none."""


@dataclass(frozen=True, slots=True)
class DisclosureField:
    """One field that a benchmark record has to account for."""

    path: str
    title: str
    why: str
    """What cannot be judged without it."""
    metrics: frozenset[str] = frozenset()
    """Only asked of results with one of these metrics; empty for all."""
    answered_by: str = ""
    """Metric whose results answer the same question, load by load, as one value for the whole setup could not."""

    def is_answered_by(self, results: Iterable["HasMetric"]) -> bool:
        """Return whether a result gives what the field asks for."""
        return bool(self.answered_by) and any(
            each.metric == self.answered_by and each.value is not None for each in results
        )


_LATENCY: Final = frozenset({"ttft_ms", "tpot_ms", "normalized_tpot_ms", "itl_ms", "icl_ms", "e2el_ms"})
_SPEED: Final = frozenset(
    {"tok_s_per_user", "output_tok_s", "output_tok_s_per_instance", "tok_s_per_accelerator", "total_tok_s"}
)
_PREFILL: Final = frozenset({"prefill_tok_s", "ttft_ms", "input_tok_s"})

DISCLOSURE_FIELDS: Final = (
    DisclosureField("system.accelerator", "Accelerator", "Nothing can be compared without it."),
    DisclosureField("system.accelerator_count", "Number of accelerators", "The denominator of every share."),
    DisclosureField("system.power_limit_w", "Power limit in force", "Speed follows the limit."),
    DisclosureField("system.host_cpu", "Host processor", "Scheduling and tokenising run there."),
    DisclosureField("system.host_memory_gib", "Host memory", "Offloaded caches live there."),
    DisclosureField("system.numa_nodes", "NUMA nodes", "Links across nodes are slower."),
    DisclosureField("system.driver", "Driver version", "Kernels and links change with it."),
    DisclosureField("system.interconnects", "Interconnect", "Tensor parallelism is bounded by it."),
    DisclosureField("engine.version", "Engine version", "Engines gain tens of percent between versions."),
    DisclosureField("engine.commit", "Engine commit", "A version of a fork is not enough."),
    DisclosureField("engine.image_digest", "Image digest", "A tag can move."),
    DisclosureField("engine.arguments", "Engine arguments", "Defaults differ between versions."),
    DisclosureField("deployment.instances", "Number of instances", "One of several is not the system."),
    DisclosureField("deployment.tp", "Tensor parallelism", "Part of the layout."),
    DisclosureField("deployment.pp", "Pipeline parallelism", "Part of the layout."),
    DisclosureField("deployment.dp", "Data parallelism", "Part of the layout."),
    DisclosureField("deployment.ep", "Expert parallelism", "Part of the layout."),
    DisclosureField("model.revision", "Checkpoint revision", "Checkpoints are replaced under one name."),
    DisclosureField("model.weight_dtype", "Weight data type", "Bytes per parameter bound the decode speed."),
    DisclosureField("serving.kv_cache_dtype", "KV cache data type", "Bounds context and bandwidth."),
    DisclosureField("serving.context_tok", "Context length", "Reserves memory that batches would use."),
    DisclosureField("serving.max_running_requests", "Running-request limit", "Above it requests queue."),
    DisclosureField("serving.chunked_prefill_size_tok", "Prefill chunk", "Trades TTFT against prefill speed."),
    DisclosureField("serving.prefix_caching", "Prefix caching", "A cache hit skips the prefill."),
    DisclosureField("serving.cuda_graph_decode", "CUDA graphs for decode", "Eager decoding is far slower."),
    DisclosureField("speculation.method", "Speculative decoding", "Multiplies speed, by prompt class."),
    DisclosureField("speculation.draft_tok", "Draft tokens", "Bounds the acceptance length."),
    DisclosureField(
        "speculation.acceptance_length", "Acceptance length", "Explains the speed.", answered_by="acceptance_length"
    ),
    DisclosureField("measured.day", "Day of measurement", "Ties the figure to versions."),
    DisclosureField("results.at.concurrency", "Concurrency", "One user or many."),
    DisclosureField(
        "results.at.input_tok", "Input tokens", "Attention and prefill grow with it.", _LATENCY | _SPEED | _PREFILL
    ),
    DisclosureField("results.at.output_tok", "Output tokens", "Short outputs are mostly prefill.", _LATENCY | _SPEED),
    DisclosureField(
        "results.at.prompt_class", "Prompt class", "Draft acceptance depends on it.", _LATENCY | _SPEED
    ),
    DisclosureField("results.at.prefix_cache", "Cache state", "A warm cache skips the prefill.", _PREFILL),
    DisclosureField(
        "results.at.measuring_path", "Measuring path", "A tunnel or proxy batches chunks.", _LATENCY | _SPEED | _PREFILL
    ),
    DisclosureField("results.repeats", "Repeats", "One run shows no spread.", _LATENCY | _SPEED | _PREFILL),
)  # fmt: skip
"""In the order of the record page."""
