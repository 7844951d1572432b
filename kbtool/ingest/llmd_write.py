"""A benchmark record as llm-d Benchmark Reports v0.2.1, one for each set of conditions.

Only what the report has a word for is written; the rest is named beside it. Nothing that the record does not say
is filled in: where the schema asks for it, the part is left away.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from hashlib import sha256
from typing import Any, Final

from kbtool.analysis.consistency import conditions
from kbtool.analysis.published import numbers_in
from kbtool.ingest.draft import fit
from kbtool.schema import Benchmark
from kbtool.schema.benchmark import At, Result
from kbtool.store.emit import emit
from kbtool.vocab.metrics import METRICS

__all__ = ["VERSION", "Report", "report_json", "report_yaml", "write_reports"]

VERSION: Final = "0.2.1"
_LATENCIES: Final = {
    "ttft_ms": ("time_to_first_token", "ms"),
    "tpot_ms": ("time_per_output_token", "ms/token"),
    "normalized_tpot_ms": ("normalized_time_per_output_token", "ms/token"),
    "itl_ms": ("inter_token_latency", "ms/token"),
    "e2el_ms": ("request_latency", "ms"),
}
_RATES: Final = {
    "input_tok_s": ("input_token_rate", "tokens/s"),
    "output_tok_s": ("output_token_rate", "tokens/s"),
    "total_tok_s": ("total_token_rate", "tokens/s"),
    "req_s": ("request_rate", "queries/s"),
}
_STATISTICS: Final = ("mean", "min", "p50", "p90", "p95", "p99", "max")
_WHOLE_RUN: Final = frozenset({"single", "mean", "median"})


@dataclass(frozen=True, slots=True)
class Report:
    """One report."""

    data: Mapping[str, Any]
    """Plain data with numbers as `Decimal` or `int`."""
    not_written: tuple[str, ...]
    """Ids of results that the report has no word for, each with the reason."""


def write_reports(record: Benchmark) -> tuple[Report, ...]:
    """Return one report for each set of conditions and settings, in the order of the results.

    Conditions under which nothing can be written give a report without figures, which names what is missing.
    """
    groups: dict[Any, list[Result]] = {}
    for result in record.results:
        if result.standing == "stands":
            groups.setdefault(conditions(result), []).append(result)
    return tuple(_report(record, index, results) for index, results in enumerate(groups.values()))


def report_json(report: Report) -> bytes:
    """Return the report as JSON."""
    return (json.dumps(_plain(report.data), indent=2, ensure_ascii=False, sort_keys=True) + "\n").encode()


def report_yaml(report: Report) -> bytes:
    """Return the report as YAML, with the digits of the record."""
    return emit(_sorted(report.data)).encode()


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() and "." not in str(value) else float(value)
    return value


def _sorted(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(each) for each in value] if isinstance(value, list) else value


def _report(record: Benchmark, index: int, results: Sequence[Result]) -> Report:
    latency, throughput, missing = _figures(results)
    aggregate = {key: value for key, value in (("latency", latency), ("throughput", throughput)) if value}
    scenario: dict[str, Any] = {"stack": [_component(record)]}
    load = _load(record, results[0].at)
    if load is not None:
        scenario["load"] = load
    run: dict[str, Any] = {"uid": f"{record.id}-{index + 1}", "eid": record.id, "description": record.title}
    if record.tags:
        run["keywords"] = list(record.tags)
    settings = [f"{each.field}={each.value}" for each in results[0].with_]
    if settings:
        run["description"] = f"{record.title} ({', '.join(settings)})"
    data = {
        "version": VERSION,
        "run": run,
        "scenario": scenario,
        "results": {"request_performance": {"aggregate": aggregate}} if aggregate else {},
    }
    return Report(data, tuple(missing))


def _figures(results: Sequence[Result]) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    latency: dict[str, Any] = {}
    throughput: dict[str, Any] = {}
    missing: list[str] = []
    for result in results:
        if result.value is None:
            missing.append(f"{result.id}: a range without a value")
        elif result.metric in _LATENCIES and result.statistic in _STATISTICS:
            word, units = _LATENCIES[result.metric]
            latency.setdefault(word, {"units": units}).setdefault(str(result.statistic), result.value)
        elif result.metric in _RATES and result.statistic in _WHOLE_RUN:
            word, units = _RATES[result.metric]
            throughput.setdefault(word, {"units": units, "mean": result.value})
        else:
            missing.append(f"{result.id}: {_why(result)}")
    for word in [each for each in latency if "mean" not in latency[each]]:
        missing.append(f"{word}: the report requires a mean, and the record has none")
        del latency[word]
    return latency, throughput, missing


def _why(result: Result) -> str:
    if result.metric == "icl_ms":
        return "gaps between chunks; the report's inter_token_latency is one of tokens"
    if result.metric in _LATENCIES or result.metric in _RATES:
        return f"the report has no place for the statistic {result.statistic}"
    title = METRICS[result.metric].title if result.metric in METRICS else result.metric
    return f"the report has no word for {title}"


def _component(record: Benchmark) -> dict[str, Any]:
    native: dict[str, Any] = {}
    if record.engine.arguments:
        native["args"] = dict(sorted(record.engine.arguments.items()))
    if record.engine.environment:
        native["envars"] = dict(sorted(record.engine.environment.items()))
    standardized = _engine(record)
    identity = json.dumps(
        _plain({"standardized": standardized, "native": native}), sort_keys=True, default=str
    )
    return {
        "metadata": {
            "schema_version": "0.0.1",
            "label": _last(record.engine.engine),
            "cfg_id": sha256(identity.encode()).hexdigest(),
        },
        "standardized": standardized,
        "native": native,
    }


def _engine(record: Benchmark) -> dict[str, Any]:
    """Return the engine; of the schema's free kind where the record lacks what its own kind requires."""
    layout, count = record.deployment, record.system.accelerator_count
    ranks = {key: getattr(layout, key) for key in ("tp", "pp", "dp", "ep")}
    engine: dict[str, Any] = {
        "tool": _last(record.engine.engine),
        "tool_version": record.engine.version or record.engine.commit or "",
    }
    known = {key: value for key, value in ranks.items() if value is not None}
    accelerator = record.system.accelerator_as_published or _last(record.system.accelerator)
    if count is None or layout.instances is None or len(known) < len(ranks):
        facts = {
            "accelerator_model": accelerator,
            "accelerator_count": count,
            "replicas": layout.instances,
            **known,
        }
        named = {key: value for key, value in facts.items() if value is not None}
        return engine | {"kind": "generic", "model": _model_name(record)} | named
    return engine | {
        "kind": "inference_engine",
        "role": "replica",
        "replicas": layout.instances,
        "model": {"name": _model_name(record)},
        "accelerator": {"model": accelerator, "count": count, "parallelism": known},
    }


def _model_name(record: Benchmark) -> str:
    return record.model.checkpoint or record.model.as_published or _last(record.model.model)


def _load(record: Benchmark, at: At) -> dict[str, Any] | None:
    """Return the workload; None where its input length is not known, which the schema requires."""
    length = at.input_tok if at.input_tok is not None else next(_mean_length(at.input_nominal or ""), None)
    if length is None:
        return None
    exact = at.input_tok is not None
    tool, version = _tool(record.measured.tool or "")
    standardized: dict[str, Any] = {
        "tool": tool,
        "tool_version": version,
        "source": "random" if at.prompt_class == "random_tokens" else "unknown",
        "input_seq_len": {"distribution": "fixed" if exact else "other", "value": length},
    }
    if at.output_tok is not None:
        standardized["output_seq_len"] = {"distribution": "other", "value": at.output_tok}
    if at.concurrency is not None:
        standardized["concurrency"] = at.concurrency
    if at.request_rate_req_s is not None:
        standardized["rate_qps"] = at.request_rate_req_s
    return {"metadata": {"schema_version": "0.0.1"}, "standardized": standardized, "native": {}}


def _mean_length(nominal: str) -> Iterator[Decimal]:
    """Yield the length that a nominal one names in plain digits: `128K` is two lengths, and none of them is given."""
    lengths = (fit(each.value) for each in numbers_in(nominal) if each.unit in ("", "on"))
    yield from (each for each in lengths if each)


_TOOL: Final = re.compile(r"(?P<name>[A-Za-z][\w. -]*?)(?: v?(?P<version>\d[\w.+-]*))?(?:[ ,(;].*)?")


def _tool(line: str) -> tuple[str, str]:
    """Return name and version of a line such as `vllm bench serve 0.32.0`."""
    match = _TOOL.fullmatch(line)
    return (match["name"], match["version"] or "") if match else ("unknown", "")


def _last(ref: str) -> str:
    return ref.rpartition("/")[2]
