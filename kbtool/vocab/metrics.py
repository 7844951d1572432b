"""Every metric a result may carry: what it is, what it counts, and what must stand beside it.

Scope and tokens counted are part of a metric's identity: output throughput of a whole system and
speed per user are two metrics, never one with a footnote.  The statistic (mean, p99) is a field of
the result, not of the metric.

Sources of definitions, by key of `Metric.definition`:

* `vllm-bench`: `vllm bench serve`, `calculate_metrics`.
* `inference-perf`: kubernetes-sigs/inference-perf, `docs/metrics.md`.
* `nim-guide`: NVIDIA NIM for LLMs benchmarking guide, "Metrics".
* `genai-bounds`: Leviathan et al., "Fast Inference from Transformers via Speculative Decoding", arXiv 2211.17192.
* `mlperf-rules`: MLCommons inference rules.
* `nvml`: NVIDIA Management Library API reference.
* `kbtool`: defined here.
"""

from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal

__all__ = ["METRICS", "Condition", "Direction", "Metric", "Scope", "Tokens", "metric"]

Scope = Literal["request", "user", "accelerator", "instance", "system", "model"]
Tokens = Literal["output", "input", "input_and_output", "none"]
Direction = Literal["higher", "lower", "neither"]
Condition = Literal[
    "concurrency", "input_tok", "output_tok", "prompt_class", "prefix_cache", "slo", "baseline", "interval"
]


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric; see the module for what makes two metrics different."""

    id: str
    title: str
    unit: str
    """Symbol from `kbtool.vocab.units`."""
    scope: Scope
    """What one value describes."""
    tokens: Tokens
    """Which tokens are counted."""
    direction: Direction
    """Which way is better."""
    formula: str
    definition: str
    """Key of the source of the definition, see the module."""
    conditions: tuple[Condition, ...] = ()
    """Fields of `at` without which a value cannot be compared."""
    trap: str = ""
    """The misreading that this metric's definition avoids."""
    zero_is_valid: bool = False
    """Whether 0 is a result. A throughput of 0 is a failed run."""
    plausible_max: Decimal | None = None
    """A value above this is taken for a slip of unit or scope until explained."""


_LOAD: Final = ("concurrency", "input_tok", "output_tok", "prompt_class")
_MILLION: Final = Decimal(1_000_000)
_BILLION: Final = Decimal(1_000_000_000)

_ALL: Final = (
    Metric(
        "ttft_ms", "Time to first token (TTFT)", "ms", "request", "none", "lower",
        "request sent to first chunk with generated text, reasoning included", "vllm-bench",
        ("concurrency", "input_tok", "prefix_cache"),
        "Non-streaming clients report end-to-end latency as TTFT.", plausible_max=Decimal(3_600_000),
    ),
    Metric(
        "ttft_content_ms", "Time to first content token", "ms", "request", "none", "lower",
        "request sent to first chunk with answer text, reasoning left out", "kbtool",
        ("concurrency", "input_tok", "prefix_cache"),
        "What a reader waits for; with a reasoning model far behind the TTFT.", plausible_max=Decimal(86_400_000),
    ),
    Metric(
        "ttfb_ms", "Time to first byte", "ms", "request", "none", "lower",
        "request sent to first byte of the response, headers included", "kbtool", ("concurrency", "input_tok"),
        "Engines send headers or a role chunk before any token: this is no TTFT.", plausible_max=Decimal(3_600_000),
    ),
    Metric(
        "connect_ms", "Time to connect", "ms", "request", "none", "lower",
        "start of the connection to connection established, TLS included; before the request is sent", "kbtool", (),
        "Inside TTFT for clients that start their clock before they connect.", zero_is_valid=True,
        plausible_max=Decimal(600_000),
    ),
    Metric(
        "tpot_ms", "Time per output token (TPOT)", "ms", "request", "output", "lower",
        "(E2EL - TTFT) / (OSL - 1); undefined below 2 tokens", "vllm-bench", _LOAD,
        "Some tools divide the whole latency by OSL: that is normalized_tpot_ms here.",
        plausible_max=Decimal(60_000),
    ),
    Metric(
        "normalized_tpot_ms", "Normalized time per output token", "ms", "request", "output", "lower",
        "E2EL / OSL", "inference-perf", _LOAD, "Holds the prefill; reported elsewhere as TPOT.",
        plausible_max=Decimal(600_000),
    ),
    Metric(
        "itl_ms", "Inter-token latency (ITL)", "ms", "request", "output", "lower",
        "time between successive tokens of one request", "kbtool", _LOAD,
        "Clients see chunks; speculative decoding puts several tokens in one.", plausible_max=Decimal(60_000),
    ),
    Metric(
        "icl_ms", "Inter-chunk latency (ICL)", "ms", "request", "none", "lower",
        "time between successive stream chunks of one request", "kbtool", _LOAD,
        "Reported elsewhere as ITL, or divided by the acceptance length.", plausible_max=Decimal(60_000),
    ),
    Metric(
        "step_gap_ms", "Gap between steps", "ms", "request", "none", "lower",
        "time between successive arrivals of text of one request; chunks with one time are one arrival", "kbtool",
        _LOAD, "Engines may send the tokens of one step as several chunks back to back.",
        plausible_max=Decimal(3_600_000),
    ),
    Metric(
        "e2el_ms", "End-to-end latency (E2EL)", "ms", "request", "none", "lower",
        "request sent to last byte of the response", "vllm-bench", _LOAD,
        plausible_max=Decimal(86_400_000),
    ),
    Metric(
        "tok_s_per_user", "Decode speed per user", "tok/s", "user", "output", "higher",
        "1000 / TPOT in ms", "nim-guide", ("concurrency", "prompt_class"),
        "Not system throughput divided by concurrency: that holds prefill and queueing.",
        plausible_max=Decimal(20_000),
    ),
    Metric(
        "decode_tok_s_per_user", "Decode speed per user after the first step", "tok/s", "user", "output", "higher",
        "(OSL - tokens of the first step) / (last step with tokens - first step with tokens)", "kbtool",
        ("concurrency", "prompt_class"),
        "1000 / TPOT takes all tokens of a first step but one for tokens decoded afterwards.",
        plausible_max=Decimal(20_000),
    ),
    Metric(
        "output_tok_s", "Output throughput", "tok/s", "system", "output", "higher",
        "all output tokens / wall time, whole system", "vllm-bench", _LOAD,
        "Total throughput adds the input tokens; per-accelerator figures divide it.", plausible_max=_BILLION,
    ),
    Metric(
        "steady_output_tok_s", "Output throughput at full concurrency", "tok/s", "system", "output", "higher",
        "output tokens that arrived while the asked concurrency was reached / length of that time", "kbtool", _LOAD,
        "Leaves ramp-up and the tail of stragglers out, which the whole-run figure holds.", plausible_max=_BILLION,
    ),
    Metric(
        "output_tok_s_per_instance", "Output throughput per instance", "tok/s", "instance", "output", "higher",
        "all output tokens of one engine instance / wall time", "kbtool", _LOAD,
        "One instance of several is not the box.", plausible_max=_MILLION,
    ),
    Metric(
        "tok_s_per_accelerator", "Output throughput per accelerator", "tok/s", "accelerator", "output", "higher",
        "output throughput / accelerators that serve, prefill and decode both", "kbtool", _LOAD,
        "Dividing by decode accelerators alone flatters a disaggregated system.", plausible_max=_MILLION,
    ),
    Metric(
        "total_tok_s", "Total throughput", "tok/s", "system", "input_and_output", "higher",
        "(input + output tokens) / wall time, whole system", "vllm-bench", _LOAD,
        "Mostly prefill for long prompts; never mixed with output throughput.", plausible_max=_BILLION,
    ),
    Metric(
        "total_tok_s_per_accelerator", "Total throughput per accelerator", "tok/s", "accelerator",
        "input_and_output", "higher", "total throughput / accelerators that serve", "kbtool", _LOAD,
        plausible_max=_MILLION,
    ),
    Metric(
        "input_tok_s", "Input throughput", "tok/s", "system", "input", "higher",
        "all input tokens / wall time, whole system, under load", "kbtool", _LOAD,
        "Under load; the speed of one cold prompt is prefill_tok_s.", plausible_max=_BILLION,
    ),
    Metric(
        "prefill_tok_s", "Prefill speed", "tok/s", "request", "input", "higher",
        "ISL / TTFT of a lone request on a cold prefix cache", "kbtool",
        ("concurrency", "input_tok", "prefix_cache"),
        "A warm prefix cache skips the prefill that it seems to time; under load TTFT holds queueing.",
        plausible_max=_MILLION,
    ),
    Metric(
        "req_s", "Request throughput", "req/s", "system", "none", "higher",
        "completed requests / wall time", "vllm-bench", _LOAD, plausible_max=_MILLION,
    ),
    Metric(
        "samples_s", "Sample throughput", "samples/s", "system", "none", "higher",
        "completed samples / wall time, as the benchmark's rules define a sample", "mlperf-rules", (),
        plausible_max=_MILLION,
    ),
    Metric(
        "goodput_req_s", "Goodput", "req/s", "system", "none", "higher",
        "requests a second that met every stated SLO", "nim-guide", ("slo", "input_tok", "output_tok"),
        "Meaningless without the SLOs.", zero_is_valid=True, plausible_max=_MILLION,
    ),
    Metric(
        "achieved_concurrency", "Achieved concurrency", "count", "system", "none", "neither",
        "time in flight summed over requests / wall time", "kbtool", (),
        "A client that cannot keep up, or a tail of stragglers, lowers it below the concurrency asked for.",
        plausible_max=_MILLION,
    ),
    Metric(
        "send_late_ms", "Lateness of sending", "ms", "request", "none", "lower",
        "time at which a request was sent - time at which the schedule wanted it", "kbtool", (),
        "A client that sends late measures a lighter load than it says.", zero_is_valid=True,
        plausible_max=Decimal(3_600_000),
    ),
    Metric(
        "isl_tok", "Input length (ISL)", "tok", "request", "input", "neither",
        "tokens of the rendered prompt, as the server counts", "kbtool", (),
        "The length asked for is a condition; chat templates add to it.", plausible_max=_BILLION,
    ),
    Metric(
        "osl_tok", "Output length (OSL)", "tok", "request", "output", "neither",
        "tokens generated, reasoning included, as the server counts", "kbtool", (),
        "The length asked for is a limit; a request may stop before.", plausible_max=_BILLION,
    ),
    Metric(
        "reasoning_tok", "Reasoning tokens", "tok", "request", "output", "neither",
        "tokens of the output that are reasoning, as the server counts", "kbtool", (),
        "Part of the output length, and of its cost, without being part of the answer.", zero_is_valid=True,
        plausible_max=_BILLION,
    ),
    Metric(
        "cached_tok", "Cached input tokens", "tok", "request", "input", "neither",
        "tokens of the prompt that the server took from its prefix cache, as it reports", "kbtool", (),
        "Absent is not zero: many servers report them only when asked to.", zero_is_valid=True,
        plausible_max=_BILLION,
    ),
    Metric(
        "acceptance_length", "Acceptance length", "tok/step", "model", "output", "higher",
        "tokens per verify step, bonus token included: 1 to draft tokens + 1", "genai-bounds",
        ("prompt_class",), "Some engines leave the bonus token out.", plausible_max=Decimal(64),
    ),
    Metric(
        "acceptance_ratio", "Draft acceptance", "ratio", "model", "output", "higher",
        "accepted draft tokens / drafted tokens", "genai-bounds", ("prompt_class",),
        "The share over all positions is not the chance of the first.", zero_is_valid=True,
        plausible_max=Decimal(1),
    ),
    Metric(
        "tok_per_step", "Output tokens per arrival", "tok/step", "request", "output", "neither",
        "OSL / arrivals of text; chunks with one time are one arrival", "kbtool", ("prompt_class",),
        "Seen from the client: several steps that arrive together count as one, unlike in the acceptance length.",
        plausible_max=_MILLION,
    ),
    Metric(
        "power_w", "Power per accelerator", "W", "accelerator", "none", "lower",
        "mean power of one accelerator over the run", "nvml", ("interval",),
        "A share of the power limit says nothing without the limit in force.", plausible_max=Decimal(5_000),
    ),
    Metric(
        "system_power_w", "System power", "W", "system", "none", "lower",
        "mean power of the whole system over the run", "kbtool", ("interval",), plausible_max=_MILLION,
    ),
    Metric(
        "energy_j_per_tok", "Energy per output token", "J/tok", "system", "output", "lower",
        "energy of all accelerators over the run / output tokens", "kbtool", _LOAD,
    ),
    Metric(
        "utilization_ratio", "Accelerator utilization", "ratio", "accelerator", "none", "neither",
        "share of sampling intervals in which a kernel was running", "nvml", ("interval",),
        "A busy accelerator need not be a fast one: a kernel that waits counts as running.",
        zero_is_valid=True, plausible_max=Decimal(1),
    ),
    Metric(
        "instance_share_ratio", "Share of load of one instance", "ratio", "instance", "none", "neither",
        "requests of one instance / requests of the system", "kbtool", (),
        "A hash router can send everything to one instance.", zero_is_valid=True, plausible_max=Decimal(1),
    ),
    Metric(
        "kv_bytes_per_tok", "KV cache per token", "B/tok", "model", "none", "lower",
        "bytes of cache that one more token of context takes, all layers", "kbtool", (),
        "Compressed and sliding-window caches do not grow linearly from the first token.",
        plausible_max=_BILLION,
    ),
    Metric(
        "kv_capacity_tok", "KV cache capacity", "tok", "instance", "none", "higher",
        "tokens of context that the cache of one instance holds", "kbtool", (),
    ),
    Metric(
        "throughput_ratio", "Ratio of throughputs", "ratio", "system", "output", "higher",
        "throughput / throughput of the baseline", "kbtool", ("baseline",),
        "Meaningless without the baseline and what else changed.", plausible_max=Decimal(1_000),
    ),
    Metric(
        "ttft_ratio", "Ratio of TTFT", "ratio", "request", "none", "neither",
        "TTFT of the baseline / TTFT", "kbtool", ("baseline",),
        "Above 1 means faster than the baseline.", plausible_max=Decimal(100_000),
    ),
    Metric(
        "error_ratio", "Failed requests", "ratio", "system", "none", "lower",
        "failed requests / requests sent", "kbtool", (), zero_is_valid=True, plausible_max=Decimal(1),
    ),
)  # fmt: skip

METRICS: Final[dict[str, Metric]] = {each.id: each for each in _ALL}
"""Metric id -> metric, in the order of the vocabulary page."""


def metric(metric_id: str) -> Metric:
    """Return the metric with this id.

    Raises:
        KeyError: there is no such metric.
    """
    return METRICS[metric_id]
