"""llm-d Benchmark Report v0.2.x, as YAML or JSON: what it says in our words.

The report keeps the words of the tool that measured. Its TPOT excludes the first token for every tool; its ITL
means what that tool means by it.
"""

import re
from decimal import Decimal
from typing import Any, Final

from kbtool.ingest.document import NotFinite
from kbtool.ingest.draft import NO_WORD, Draft, share
from kbtool.ingest.fault import IngestError, shown
from kbtool.ingest.lengths import Length, length_conditions, of_range
from kbtool.ingest.model import Imported
from kbtool.ingest.reading import Path, Reading, Reasons
from kbtool.schema.benchmark import At
from kbtool.vocab.terms import Statistic

__all__ = ["TITLE", "TOOL", "detect", "read"]

TOOL: Final = "llmd-report"
TITLE: Final = "llm-d Benchmark Report"
_STATISTICS: Final[dict[str, Statistic]] = {
    "mean": "mean", "p50": "p50", "p90": "p90", "p95": "p95", "p99": "p99", "min": "min", "max": "max",
}  # fmt: skip
_LATENCIES: Final = (
    ("ttft_ms", "time_to_first_token"),
    ("tpot_ms", "time_per_output_token"),
    ("normalized_tpot_ms", "normalized_time_per_output_token"),
    ("e2el_ms", "request_latency"),
)
_RATES: Final = (
    ("req_s", "request_rate"),
    ("input_tok_s", "input_token_rate"),
    ("output_tok_s", "output_token_rate"),
    ("total_tok_s", "total_token_rate"),
)
_GAPS: Final = {
    "vllm-benchmark": ("icl_ms", "one sample an event of the stream: chunks are counted"),
    "inferencemax": ("icl_ms", "one sample an event of the stream: chunks are counted"),
    "guidellm": ("tpot_ms", "a mean per request, not a distribution of gaps"),
    "aiperf": ("tpot_ms", "a mean per request, not a distribution of gaps"),
    "inference-perf": ("itl_ms", "tokens of one chunk get gaps of 0: only the mean is one of tokens"),
    "kbtool": ("itl_ms", "gaps between tokens"),
}
"""Tool that measured -> what its ITL is here."""
_BIAS_OF: Final = {
    "vllm-benchmark": "vllm-bench",
    "guidellm": "guidellm",
    "aiperf": "aiperf",
    "inference-perf": "inference-perf",
}
_UNITS: Final = {
    "ms": "ms", "s": "s", "ms/token": "ms", "s/token": "s", "tokens/s": "tok/s", "queries/s": "req/s", "count": "tok",
}  # fmt: skip
_AGGREGATE: Final = ("results", "request_performance", "aggregate")
_LOAD: Final = ("scenario", "load", "standardized")
_VERSION: Final = re.compile(r"0\.2(\.\d{1,3})?")
_REASONS: Final[Reasons] = {
    "version": ("irrelevant", "version of the report"),
    "run": ("irrelevant", "names and clocks of the run"),
    "run/description": ("unmapped", "the operator's own words"),
    "run/keywords": ("unmapped", "the operator's own words"),
    "scenario/load/metadata": ("irrelevant", "names of the workload"),
    "scenario/load/native": ("unmapped", "settings of the client in its own words"),
    "scenario/load/standardized": ("unmapped", "a detail of the workload that no condition holds"),
    "scenario/stack": ("unmapped", "a component, or a part of one, that no field holds"),
    "results/request_performance/time_series": ("unmapped", "values over time; a record holds those of the whole run"),
    "results/session_performance": ("unmapped", "figures of whole conversations; no metric holds them"),
    "results/observability": ("unmapped", "series of the servers' own metrics"),
    "results/component_health": ("unmapped", "restarts of components"),
    "results/profiling": ("unmapped", "profiles of the run"),
    "results/request_performance/aggregate/requests": ("irrelevant", "counts and lengths of the requests"),
    "results/request_performance/aggregate/latency/*/stddev": ("unmapped", "spread over requests; a record holds the spread over runs"),
    "results/request_performance/aggregate/latency/*/*": ("unmapped", NO_WORD),
    "results/request_performance/aggregate/throughput/*/*": ("unmapped", "of rates in instants; the mean is that of the run"),
    "results/request_performance/aggregate/throughput": ("irrelevant", "rates of images, videos or sounds"),
}  # fmt: skip


def detect(value: Any) -> bool:
    """Return whether this is a Benchmark Report."""
    return isinstance(value, dict) and value.keys() >= {"version", "run", "results"}


def read(value: Any, data: bytes, name: str) -> Imported:
    """Return what the report says.

    Raises:
        IngestError: It is of another version, or a value has the wrong type or unit.
    """
    reading = Reading(name, value, text_numbers=True)
    version = reading.value("version")
    if not isinstance(version, str | Decimal) or not _VERSION.fullmatch(str(version)):
        raise IngestError(
            name, "version", shown(version), "0.2 or 0.2.x", "export the report in that version"
        )
    draft = Draft(reading, TOOL, TITLE)
    tool = reading.text(*_LOAD, "tool") or ""
    tool_version = reading.text(*_LOAD, "tool_version")
    draft.tool_version = (
        f"{version}, measured with {' '.join(filter(None, (tool, tool_version)))}" if tool else str(version)
    )
    draft.day = draft.iso_day(reading.text("run", "time", "start") or reading.text("run", "time", "end"))
    at, notes = _conditions(draft)
    total = reading.count(*_AGGREGATE, "requests", "total")
    failures = reading.count(*_AGGREGATE, "requests", "failures")
    n = None if total is None else total - (failures or 0)
    for metric, word in _LATENCIES:
        where = (*_AGGREGATE, "latency", word)
        draft.distribution(metric, where, _STATISTICS, unit=_unit(draft, where), at=at, n=n, notes=notes)
    _gaps(draft, tool, at, notes)
    for metric, word in _RATES:
        where = (*_AGGREGATE, "throughput", word)
        draft.figure(metric, "single", (*where, "mean"), unit=_unit(draft, where), at=at, n=n, notes=notes)
    if failures is not None and total:
        draft.derived(
            "error_ratio", "single", share(Decimal(failures), Decimal(total)), at=at, formula="failures / total",
            inputs=("results.request_performance.aggregate.requests.failures", "results.request_performance.aggregate.requests.total"),
        )  # fmt: skip
    _stack(draft)
    return draft.finish(data, _REASONS, client=_BIAS_OF.get(tool))


def _unit(draft: Draft, where: Path) -> str:
    if not draft.reading.mapping(*where):
        return ""
    unit = draft.reading.text(*where, "units")
    if unit not in _UNITS:
        raise draft.reading.wrong((*where, "units"), unit, f"one of {', '.join(_UNITS)}")
    return _UNITS[unit]


def _conditions(draft: Draft) -> tuple[At, tuple[str, ...]]:
    reading = draft.reading
    prompt, answer = (
        of_range(*(reading.number(*_AGGREGATE, "requests", word, key) for key in ("min", "mean", "max")))
        for word in ("input_length", "output_length")
    )
    prompt, answer = _asked(draft, prompt, "input_seq_len"), _asked(draft, answer, "output_seq_len")
    fields, notes = length_conditions(prompt, answer)
    concurrency, rate = reading.value(*_LOAD, "concurrency"), reading.value(*_LOAD, "rate_qps")
    if concurrency is not None and not _is_unlimited(concurrency):
        fields["concurrency"] = reading.count(*_LOAD, "concurrency") or None
    if rate is not None and not _is_unlimited(rate):
        fields["request_rate_req_s"] = reading.number(*_LOAD, "rate_qps")
    if reading.text(*_LOAD, "source") == "random":
        fields["prompt_class"] = "random_tokens"
    return draft.conditions(fields), notes


def _is_unlimited(value: Any) -> bool:
    return isinstance(value, NotFinite) or (
        isinstance(value, str) and value.lower().lstrip("+") in (".inf", "inf")
    )


def _asked(draft: Draft, measured: Length, word: str) -> Length:
    """Return the length asked for where it is fixed and nothing else is known."""
    reading = draft.reading
    kind, value = reading.text(*_LOAD, word, "distribution"), reading.number(*_LOAD, word, "value")
    if measured.exact is not None or value is None:
        return measured
    if kind == "fixed" and value == value.to_integral_value() and measured.mean in (None, value):
        return Length(int(value), value)
    return measured if measured.mean is not None else Length(None, value)


def _gaps(draft: Draft, tool: str, at: At, notes: tuple[str, ...]) -> None:
    where = (*_AGGREGATE, "latency", "inter_token_latency")
    if not draft.reading.mapping(*where):
        return
    unit, word = _unit(draft, where), "inter_token_latency"
    known = _GAPS.get(tool) or _GAPS.get(
        tool.partition(" ")[0]
    )  # our own runner writes its verb behind its name
    if known is None:
        draft.refuse(
            *where,
            reason=f"what {tool or 'an unnamed tool'} means by ITL is not known: gaps of tokens, of chunks, or a mean",
        )
        return
    metric, reason = known
    if metric == "tpot_ms" and draft.reading.mapping(*_AGGREGATE, "latency", "time_per_output_token"):
        draft.refuse(*where, reason=f"{reason}, and the report has a TPOT of its own", metric=metric)
        return
    only_mean = (
        metric == "itl_ms"
        and draft.reading.peek(*where, "min") is not None
        and not draft.reading.number(*where, "min")
    )
    for key, statistic in _STATISTICS.items():
        if only_mean and key != "mean":
            draft.refuse(*where, key, reason=reason, metric=metric)
        else:
            draft.figure(metric, statistic, (*where, key), unit=unit, at=at, notes=notes)
    draft.converted(word, metric, f"{tool}: {reason}")


def _stack(draft: Draft) -> None:
    """Take the layout where one inference engine serves; prefill and decode apart have no single one."""
    reading = draft.reading
    engines = [
        index
        for index, _ in enumerate(reading.sequence("scenario", "stack"))
        if reading.peek("scenario", "stack", index, "standardized", "kind") == "inference_engine"
    ]
    if len(engines) != 1:
        if engines:
            draft.flagged(
                "scenario.stack", "", f"{len(engines)} inference engines: their layout is not taken"
            )
        return
    where: Path = ("scenario", "stack", engines[0], "standardized")
    reading.use(*where, "kind")
    draft.model = reading.text(*where, "model", "name")
    draft.fact("engine.version", reading.text(*where, "tool_version"), *where, "tool_version")
    draft.fact("deployment.instances", reading.count(*where, "replicas"), *where, "replicas")
    draft.fact(
        "system.accelerator_count",
        reading.count(*where, "accelerator", "count") or None,
        *where,
        "accelerator",
        "count",
    )
    draft.fact(
        "system.accelerator_as_published",
        reading.text(*where, "accelerator", "model"),
        *where,
        "accelerator",
        "model",
    )
    for key in ("tp", "pp", "ep"):
        draft.fact(
            f"deployment.{key}",
            reading.count(*where, "accelerator", "parallelism", key) or None,
            *where,
            "accelerator",
            "parallelism",
            key,
        )
    ranks = reading.count(*where, "accelerator", "parallelism", "dp")
    if ranks == 1:
        draft.fact("deployment.dp", 1, *where, "accelerator", "parallelism", "dp")
    elif ranks:
        draft.refused(
            "parallelism.dp",
            f"{ranks} ranks of data parallelism: whether they own accelerators or share those of tensor parallelism is not said",
        )
