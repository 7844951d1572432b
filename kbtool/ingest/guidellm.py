"""guidellm 0.8 JSON: one file, one or more benchmarks of a sweep, each under its own conditions.

Its ITL is a mean per request, (last token - first token) / (tokens - 1): a TPOT here, and a stall inside a request
never shows in its percentiles. Its TPOT divides the whole latency by all tokens: a normalized TPOT here.
"""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

from kbtool.ingest.draft import NO_WORD, Draft, share
from kbtool.ingest.lengths import length_conditions, of_range
from kbtool.ingest.model import Imported
from kbtool.ingest.reading import Path, Reading, Reasons
from kbtool.schema.benchmark import At
from kbtool.vocab.terms import Statistic

__all__ = ["TITLE", "TOOL", "detect", "read"]

TOOL: Final = "guidellm"
TITLE: Final = "guidellm"
_STATISTICS: Final[dict[str, Statistic]] = {"mean": "mean", "min": "min", "max": "max"}
_PERCENTILES: Final[dict[str, Statistic]] = {"p50": "p50", "p90": "p90", "p95": "p95", "p99": "p99"}
_LATENCIES: Final = (
    ("ttft_ms", "time_to_first_token_ms", "ms"),
    ("tpot_ms", "inter_token_latency_ms", "ms"),
    ("normalized_tpot_ms", "time_per_output_token_ms", "ms"),
    ("e2el_ms", "request_latency", "s"),
)
_RATES: Final = (
    ("req_s", "requests_per_second", "req/s"),
    ("input_tok_s", "prompt_tokens_per_second", "tok/s"),
    ("output_tok_s", "output_tokens_per_second", "tok/s"),
    ("total_tok_s", "tokens_per_second", "tok/s"),
)
_LATEST: Final = 10**10
"""A time beyond this is in no seconds since 1970."""
_LOW_LOAD: Final = Decimal("0.95")
_FAILED: Final = ("irrelevant", "of requests that failed or were cut off; a failure is never in a statistic")
_SPREAD: Final = ("unmapped", "spread over requests; a record holds the spread over runs")
_INSTANT: Final = ("unmapped", "of rates in instants, which no metric describes; the mean is that of the run")
_REASONS: Final[Reasons] = {
    "metadata": ("irrelevant", "version and machine of the client"),
    "conclusions": ("irrelevant", "remarks of the tool on the sweep"),
    "config/metadata": ("irrelevant", "labels of the run"),
    "config/spec": ("irrelevant", "settings of the client; each benchmark repeats what it ran with"),
    "config/spec/backend": ("irrelevant", "address and routes of the server, and settings of the client"),
    "config/benchmarks": ("irrelevant", "settings of each benchmark, which it repeats"),
    "benchmarks/*/type_": ("irrelevant", "kind of the entry"),
    "benchmarks/*/config": ("irrelevant", "settings of the client"),
    "benchmarks/*/config/warmup": ("unmapped", "requests left out at the start; no field holds it"),
    "benchmarks/*/config/cooldown": ("unmapped", "requests left out at the end; no field holds it"),
    "benchmarks/*/scheduler_state": ("irrelevant", "the client's own bookkeeping"),
    "benchmarks/*/scheduler_metrics": ("irrelevant", "delays inside the client"),
    "benchmarks/*/requests": ("irrelevant", "raw data of some requests; the file is kept by its hash"),
    "benchmarks/*/warnings": ("unmapped", "warnings of the tool"),
    "benchmarks/*/start_time": ("irrelevant", "clock of the run"),
    "benchmarks/*/end_time": ("irrelevant", "clock of the run"),
    "benchmarks/*/duration": ("irrelevant", "wall time of the run, already in the rates"),
    "benchmarks/*/warmup_duration": ("irrelevant", "wall time of the warm-up"),
    "benchmarks/*/cooldown_duration": ("irrelevant", "wall time of the cool-down"),
    "benchmarks/*/metrics/time_to_first_output_token_ms": ("unmapped", "TTFT of the answer without reasoning; no metric holds it"),
    "benchmarks/*/metrics/output_tokens_per_iteration": ("unmapped", "tokens a chunk; no metric holds it"),
    "benchmarks/*/metrics/iter_tokens_per_iteration": ("unmapped", "tokens a chunk; no metric holds it"),
    "benchmarks/*/metrics/request_streaming_iterations_count": ("unmapped", "chunks a request; no metric holds it"),
    "benchmarks/*/metrics/total_token_count": ("irrelevant", "sum of prompt and output tokens"),
    "benchmarks/*/metrics/request_concurrency": ("unmapped", "requests in flight; the conditions hold what was set"),
    "benchmarks/*/metrics/*/errored": _FAILED,
    "benchmarks/*/metrics/*/incomplete": _FAILED,
    "benchmarks/*/metrics/*/total": _FAILED,
    "benchmarks/*/metrics/text": ("irrelevant", "counts of words and characters"),
    "benchmarks/*/metrics/image": ("irrelevant", "not about text"),
    "benchmarks/*/metrics/video": ("irrelevant", "not about text"),
    "benchmarks/*/metrics/audio": ("irrelevant", "not about text"),
    "benchmarks/*/metrics/tool_call": ("irrelevant", "counts of tool calls"),
    "benchmarks/*/metrics/turns": ("irrelevant", "turns of conversations"),
    "benchmarks/*/metrics/time_to_last_round_trip_ms": ("irrelevant", "only for sessions over one connection"),
    "benchmarks/*/metrics/avg_round_trip_time_ms": ("irrelevant", "only for sessions over one connection"),
    "benchmarks/*/metrics/request_dispatch_delay": ("irrelevant", "delay inside the client"),
    "benchmarks/*/metrics/request_scheduled_latency": ("irrelevant", "latency with the client's own queue"),
    "benchmarks/*/metrics/turn_predecessor_delay": ("irrelevant", "delay inside the client"),
    "benchmarks/*/metrics/turn_scheduling_delay": ("irrelevant", "delay inside the client"),
    "benchmarks/*/metrics/root_dispatch_delay": ("irrelevant", "delay inside the client"),
    "benchmarks/*/metrics/slo_attainment": ("unmapped", "share of requests within limits; a goodput names them"),
    "benchmarks/*/metrics/slo_determined_requests": ("irrelevant", "how many requests the limits were checked on"),
    "benchmarks/*/metrics/*/successful/std_dev": _SPREAD,
    "benchmarks/*/metrics/*/successful/variance": _SPREAD,
    "benchmarks/*/metrics/*/successful/mode": ("unmapped", NO_WORD),
    "benchmarks/*/metrics/*/successful/total_sum": ("irrelevant", "sum over requests"),
    "benchmarks/*/metrics/*/successful/count": ("irrelevant", "number of samples"),
    "benchmarks/*/metrics/*/successful/pdf": ("unmapped", "the distribution itself"),
    "benchmarks/*/metrics/*/successful/mean_ci": ("unmapped", "interval over requests of one run; a record holds that over runs"),
    "benchmarks/*/metrics/*/successful/percentile_cis": ("unmapped", "interval over requests of one run; a record holds that over runs"),
    "benchmarks/*/metrics/*/successful/percentiles": ("unmapped", NO_WORD),
} | {
    f"benchmarks/*/metrics/{name}/successful/{key}": _INSTANT
    for _, name, _ in _RATES
    for key in ("median", "min", "max", "percentiles", "std_dev", "variance", "mode")
}  # fmt: skip


def detect(value: Any) -> bool:
    """Return whether this is a report of guidellm 0.8."""
    if not isinstance(value, dict) or not isinstance(value.get("benchmarks"), list):
        return False
    metadata = value.get("metadata")
    return isinstance(metadata, dict) and "guidellm_version" in metadata


def read(value: Any, data: bytes, name: str) -> Imported:
    """Return what the file says, all benchmarks of it.

    Raises:
        IngestError: A value has the wrong type.
    """
    reading = Reading(name, value)
    draft = Draft(reading, TOOL, TITLE)
    draft.tool_version = reading.text("metadata", "guidellm_version")
    draft.model = reading.text("config", "spec", "backend", "model")
    started = reading.number("benchmarks", 0, "start_time")
    draft.day = (
        datetime.fromtimestamp(int(started), UTC).date() if started and 0 < started < _LATEST else None
    )
    reading.use("config", "spec", "backend", "target")  # an address of somebody's network
    several = False
    for index, _ in enumerate(reading.sequence("benchmarks")):
        several |= _benchmark(draft, index)
    draft.converted(
        "inter_token_latency_ms",
        "tpot_ms",
        "a mean per request, weighted by its tokens: a stall of one gap does not show in it",
    )
    draft.converted(
        "time_per_output_token_ms",
        "normalized_tpot_ms",
        "the whole latency, TTFT included, divided by all tokens",
    )
    return draft.finish(data, _REASONS, several_tokens=several)


def _benchmark(draft: Draft, index: int) -> bool:
    """Read one benchmark, and return whether its chunks held several tokens."""
    reading, base = draft.reading, ("benchmarks", index, "metrics")
    completed = reading.count(*base, "request_totals", "successful")
    at, notes = _conditions(draft, index)
    for metric, word, unit in _LATENCIES:
        where = (*base, word, "successful")
        draft.distribution(metric, where, _STATISTICS, unit=unit, at=at, n=completed, notes=notes)
        if reading.mapping(*where, "percentiles"):
            draft.distribution(
                metric, (*where, "percentiles"), _PERCENTILES, unit=unit, at=at, n=completed, notes=notes
            )
            reading.use(*where, "median")
        else:
            draft.figure(metric, "p50", (*where, "median"), unit=unit, at=at, n=completed, notes=notes)
    for metric, word, unit in _RATES:
        draft.figure(
            metric, "single", (*base, word, "successful", "mean"), unit=unit, at=at, n=completed, notes=notes
        )
    _errors(draft, base, at)
    draft.refuse(
        *base,
        "request_goodput",
        reason="its limits are settings of the client, and its TPOT limit is compared with its ITL",
    )
    per_chunk = reading.number(*base, "output_tokens_per_iteration", "successful", "mean")
    return per_chunk is not None and per_chunk > Decimal("1.2")


def _conditions(draft: Draft, index: int) -> tuple[At, tuple[str, ...]]:
    reading, base = draft.reading, ("benchmarks", index, "metrics")
    prompts, answers = (
        of_range(*(reading.number(*base, word, "successful", key) for key in ("min", "mean", "max")))
        for word in ("prompt_token_count", "output_token_count")
    )
    for word in ("prompt_token_count", "output_token_count"):
        reading.use(*base, word, "successful")
    fields, notes = length_conditions(prompts, answers)
    where = ("benchmarks", index, "config", "strategy")
    kind = reading.text(*where, "type_")
    if kind == "synchronous":
        fields["concurrency"] = 1
    elif kind == "concurrent":
        fields["concurrency"] = reading.count(*where, "streams") or reading.count(*where, "max_concurrency")
    elif kind in ("constant", "poisson", "async_constant", "async_poisson"):
        fields["request_rate_req_s"] = reading.number(*where, "rate")
    else:
        draft.flagged("strategy", "", f"the strategy {kind} sets neither a concurrency nor a rate")
    if reading.value("benchmarks", index, "config", "prefer_response_metrics") is False:
        draft.flagged(
            "prefer_response_metrics", "output_tok_s", "tokens were counted by the client, not by the server"
        )
    _load_reached(draft, index, fields.get("concurrency"))
    return draft.conditions(fields), notes


def _load_reached(draft: Draft, index: int, asked: int | None) -> None:
    """Flag a client that kept fewer requests in flight than it was told to."""
    where: Path = ("benchmarks", index, "metrics", "request_concurrency", "successful", "mean")
    reached = draft.reading.number(*where)
    if reached is not None and asked and reached < asked * _LOW_LOAD:
        reason = f"{reached} requests in flight on average of {asked} asked for: the load was lower than the conditions say"
        draft.flagged("request_concurrency", "output_tok_s", reason)


def _errors(draft: Draft, base: Path, at: At) -> None:
    reading = draft.reading
    counts = {
        key: reading.count(*base, "request_totals", key)
        for key in ("successful", "errored", "incomplete", "total")
    }
    failed, done = counts["errored"], counts["successful"]
    if failed is None or done is None or not failed + done:
        return
    draft.derived(
        "error_ratio", "single", share(Decimal(failed), Decimal(failed + done)), at=at,
        formula="errored / (errored + successful)",
        inputs=(f"benchmarks[{base[1]}].metrics.request_totals.errored", f"benchmarks[{base[1]}].metrics.request_totals.successful"),
    )  # fmt: skip
