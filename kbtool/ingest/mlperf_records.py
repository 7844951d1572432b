"""A row of MLPerf Inference as the draft of a record: one run of LoadGen, in one class of comparison.

MLCommons allows comparison only inside one round, benchmark, division and scenario, so that each scenario is a record
of its own and its class holds all four. What is computed from a row says that nobody verified it.
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from textwrap import fill
from typing import Any, Final

from kbtool.ingest.draft import fit, plain_digits, share
from kbtool.ingest.mlperf_files import Summary
from kbtool.ingest.mlperf_names import benchmark_of
from kbtool.ingest.mlperf_rows import Row
from kbtool.ingest.mlperf_run import Run, evidence_at
from kbtool.ingest.mlperf_system import link_claims, system_of
from kbtool.ingest.published import RowRefusedError, complete, line, slug
from kbtool.schema import Accelerator, Benchmark
from kbtool.vocab.closed import MLPERF_TRADEMARK
from kbtool.vocab.terms import Dtype

__all__ = ["benchmark_record", "comparison_class", "record_id"]

NOT_VERIFIED: Final = "Derived here; not verified by MLCommons Association."
_WIDTH: Final = 110
_NEAR: Final = Decimal("0.002")
_DTYPES: Final[dict[str, Dtype]] = {
    "fp8": "fp8", "fp4": "fp4", "mxfp4": "mxfp4", "int8": "int8", "int4": "int4", "uint4": "int4", "bf16": "bf16",
    "fp16": "fp16",
}  # fmt: skip
_UNTRUSTED: Final = {
    "v4.1": frozenset({"fp16", "fp32"}),
    "v5.1": frozenset({"fp32"}),
    "v6.0": frozenset({"fp32"}),
}
"""Types that a round's table gives for weights that may have run in another: those of the published checkpoint, before it
was quantised. A B200 preview of v4.1 that ran FP4 says fp16."""


def comparison_class(row: Row) -> str:
    """Return the class inside which MLCommons allows comparison."""
    return f"mlperf-inference-{row.round}/{row.model}/{row.division}/{row.suite}/{row.scenario.lower()}"


def record_id(run: Run) -> str:
    """Return the id of a run's record: the result id, the benchmark, what ran where that differs, and the scenario."""
    row = run.row
    number = slug((row.result_id or "").removeprefix("v"))
    used = (
        ""
        if slug(row.used_model) in (slug(row.model), slug(benchmark_of(row.model)))
        else slug(row.used_model)
    )
    return "-".join(part for part in ("mlperf", number, slug(row.model), used, slug(row.scenario)) if part)


def benchmark_record(
    run: Run, accelerator: Accelerator, source_id: str, group: str, *, accessed: Any, sibling: str | None
) -> Benchmark:
    """Return the draft of a run.

    Args:
        run: The run.
        accelerator: The accelerator record, for its links and its power limit.
        source_id: Id of the source record.
        group: Its independence group.
        accessed: Day on which the table was read.
        sibling: Id of another record of the same system and model, which this one links to.

    Raises:
        RowRefusedError: Its figure has a unit that means nothing here, or contradicts LoadGen's summary.
    """
    row = run.row
    source = f"sources/{source_id}"
    at_table = evidence_at(source, _place(run))
    results = list(_results(run, source))
    data: dict[str, Any] = {
        "schema_version": 1,
        "id": record_id(run),
        "title": _title(run),
        "status": "draft",
        "updated": accessed,
        "sources": [{"source": source, "role": "primary", "group": group}],
        "measured": {
            "by": run.submitter.measured_by,
            "tool": "LoadGen",
            "method": f"Run by the submitter, {line(row.submitter)[:100]}, and reviewed under the rules of MLCommons.",
        },
        "reproducible": {},
        "system": system_of(run, accelerator),
        "engine": {
            "engine": f"engines/{run.engine.id}",
            "version": run.engine.version,
            "commit": run.engine.commit,
            "build": line(row.software) if row.software else None,
        },
        "deployment": {},
        "model": _model(run),
        "serving": {},
        "speculation": {},
        "headline": results[0]["id"],
        "results": results,
        "comparison_class": comparison_class(row),
        "tags": _tags(run),
        "claims": list(link_claims(run, accelerator, source)),
        "links": [{"relation": "same_system_as", "target": f"benchmarks/{sibling}"}] if sibling else [],
        "notes": _notes(run, accessed),
    }
    data["setup_evidence"] = list(_setup_evidence(data, at_table, run, source))
    _, unsure = _weight_dtype(row)
    return complete(data, source, row.name, {"model.weight_dtype": unsure} if unsure else {})


def _title(run: Run) -> str:
    row = run.row
    name = line(row.accelerator)[:80]
    count = f"{run.device.count} x {name}" if run.device.count > 1 else name
    division = "" if row.division == "closed" else f", {row.division} division"
    return f"MLPerf Inference {row.round} {row.model} {row.scenario}: {line(row.submitter)[:40]}, {count} ({row.result_id}{division})"[
        :200
    ]


def _footnote(run: Run, accessed: Any) -> str:
    """Return what MLCommons asks to stand below each result."""
    row = run.row
    models = " and ".join(each.model for each in run.rows)
    preview = "" if row.availability == "available" else f", {row.availability}"
    return (
        f"MLPerf\N{REGISTERED SIGN} Inference {row.round}, {row.division} division, {row.suite}{preview}, {models}, "
        f"{row.scenario}. Retrieved from github.com/mlcommons/inference_results_{row.round} on {accessed}, entry "
        f"{row.result_id}. Result verified by MLCommons Association. {MLPERF_TRADEMARK}"
    )


def _notes(run: Run, accessed: Any) -> str:
    parts = [_footnote(run, accessed)]
    if run.device.remark:
        parts.append(run.device.remark)
    if run.engine.id == "tensorrt-llm" and "TensorRT-LLM" not in run.row.software:
        parts.append("Engine: the harness of these LLM runs is TensorRT-LLM; its version stands nowhere.")
    return fill(" ".join(parts), _WIDTH)


def _place(run: Run) -> str:
    row = run.row
    models = " and ".join(each.model for each in run.rows)
    return f"summary_results.json, ID {row.result_id}, {models}, {row.scenario}"


def _results(run: Run, source: str) -> Iterator[dict[str, Any]]:
    """Yield the published figure, its share, the latencies of LoadGen's summary, and measured power."""
    row, summary = run.row, run.summary
    name = slug(row.scenario)
    metric, statistic, remark = _metric(row, summary)
    at = _conditions(row, summary)
    where = evidence_at(source, _place(run))
    short = f"MLPerf entry {row.result_id}, {row.division}, {row.scenario}: see the footnote."
    value = _fitted(row.value)
    main = {
        "id": name, "metric": metric, "value": value, "statistic": statistic,
        "as_published": f"{plain_digits(row.value)} {line(row.units)[:40]}", "repeats": 1, "at": at, "evidence": [where],
        "note": " ".join(part for part in (remark, short) if part),
    }  # fmt: skip
    yield main | _rounding(row.value, value, "Performance_Result")
    if metric == "output_tok_s" and run.device.shared:
        each = _fitted(share(row.value, Decimal(run.device.count)))
        yield {
            "id": f"{name}-per-accelerator", "metric": "tok_s_per_accelerator", "value": each, "statistic": statistic,
            "as_published": f"{plain_digits(each)} tok/s", "repeats": 1, "at": at, "evidence": [where], "basis": "derived",
            "derivation": {"formula": "output throughput / accelerators of the system", "inputs": [name, "system.accelerator_count"]},
            "note": f"{NOT_VERIFIED} {short}",
        }  # fmt: skip
    for found, metric_id in ((_ttft(row, summary), "ttft_ms"), (_tpot(row, summary), "tpot_ms")):
        if found is not None and row.scenario in ("Server", "Interactive"):
            value, printed = found
            place = summary.path if summary else _place(run)
            yield {
                "id": f"{name}-{metric_id.partition('_')[0]}-p99", "metric": metric_id, "value": value, "statistic": "p99",
                "as_published": printed, "repeats": 1, "at": at, "evidence": [evidence_at(source, place)], "note": short,
            }  # fmt: skip
    if row.power is not None and row.power > 0:
        value = _fitted(row.power)
        yield {
            "id": f"{name}-power", "metric": "system_power_w", "value": value, "statistic": "mean",
            "as_published": f"{plain_digits(row.power)} {line(row.power_units or 'Watts')[:20]}", "repeats": 1,
            "at": at | {"interval": "the performance run"}, "evidence": [where], "note": short,
        } | _rounding(row.power, value, "Power_Result")  # fmt: skip


def _rounding(printed: Decimal, value: Decimal, column: str) -> dict[str, Any]:
    if printed == value:
        return {}
    formula = "the figure of the table, rounded to the digits that a record holds"
    return {"basis": "derived", "derivation": {"formula": formula, "inputs": [f"{column} of the table"]}}


def _fitted(value: Decimal) -> Decimal:
    found = fit(value)
    if found is None or found <= 0:
        raise RowRefusedError(f"figure {value:.6g}: nothing was measured, or more than a record holds")
    return found


def _metric(row: Row, summary: Summary | None) -> tuple[str, str, str | None]:
    """Return metric, statistic and what must be said of the unit.

    Raises:
        RowRefusedError: The unit is not known, or the table and LoadGen's summary contradict each other.
    """
    tokens = summary.tokens_s if summary else row.log_tokens_s
    agrees = tokens is not None and abs(row.value - tokens) <= tokens * _NEAR
    if row.units == "Tokens/s":
        if tokens is not None and not agrees:
            raise RowRefusedError("the table's tokens a second are not those of LoadGen's summary")
        inferred = summary is not None and summary.inferred
        remark = "LoadGen infers the tokens from the samples of this benchmark." if inferred else None
        return "output_tok_s", "single", remark
    if row.units in ("Queries/s", "Samples/s") and agrees:
        return (
            "output_tok_s",
            "single",
            f"The table prints {row.units}; LoadGen's summary shows that it is tokens a second.",
        )
    if row.units in ("Queries/s", "Samples/s") and row.model.startswith(
        ("llama", "mixtral", "deepseek", "gpt")
    ):
        raise RowRefusedError(
            f"{row.units} for a benchmark that counts tokens, and no LoadGen summary that settles it"
        )
    if row.units in ("Samples/s", "Queries/s"):
        return (
            "samples_s",
            "single",
            None if row.units == "Samples/s" else "A query of LoadGen is one sample.",
        )
    if row.units == "Latency (ms)" and row.scenario == "SingleStream":
        return "e2el_ms", "p90", _judged(row, summary)
    raise RowRefusedError(f"unit {row.units!r} is none that is known for {row.scenario}")


def _judged(row: Row, summary: Summary | None) -> str:
    """Return which 90th percentile a single stream's figure is: LoadGen's estimate lies above that of the run."""
    estimate = summary.estimate_p90_ns if summary else None
    if estimate is not None and Decimal(estimate).scaleb(-6) == row.value:
        return "LoadGen's early-stopping estimate of the 90th percentile, on which the scenario is judged."
    return "The 90th percentile, on which the scenario is judged."


def _conditions(row: Row, summary: Summary | None) -> dict[str, Any]:
    if row.scenario == "SingleStream":
        return {"concurrency": 1}
    rate = summary.target_req_s if summary else None
    if row.scenario in ("Server", "Interactive") and rate:
        found = fit(rate)
        return {"request_rate_req_s": found} if found else {}
    return {}


def _ttft(row: Row, summary: Summary | None) -> tuple[Decimal, str] | None:
    return _latency(summary.ttft_p99_ns if summary else None, row.ttft_p99_ms)


def _tpot(row: Row, summary: Summary | None) -> tuple[Decimal, str] | None:
    return _latency(summary.tpot_p99_ns if summary else None, row.tpot_p99_ms)


def _latency(nanoseconds: int | None, table_ms: Decimal | None) -> tuple[Decimal, str] | None:
    if nanoseconds is not None:
        return _fitted(Decimal(nanoseconds).scaleb(-6)), f"{nanoseconds} ns"
    return None if table_ms is None else (_fitted(table_ms), f"{plain_digits(table_ms)} ms")


def _model(run: Run) -> dict[str, Any]:
    row = run.row
    dtype, _ = _weight_dtype(row)
    return {
        "model": f"models/{run.model.id}",
        "as_published": line(run.model.as_published),
        "weight_dtype": dtype,
        "quantization_as_published": f"weight_data_types: {line(row.weight_types)[:100]}"
        if _says_types(row)
        else None,
    }


def _weight_dtype(row: Row) -> tuple[Dtype | None, str | None]:
    """Return the data type of the weights by the column and the model's name; or why what they say gives none."""
    column = row.weight_types.casefold()
    named: Dtype | None = "fp8" if "fp8" in row.used_model.casefold() else None
    if not _says_types(row):
        return named, None
    if column in _UNTRUSTED.get(row.round, frozenset()):
        why = f"{column} in this round's table may be that of the weights before they were quantised."
        return named, None if named else why
    found = _DTYPES.get(column)
    if named and found != named:
        return None, f"The model's name says {named}, the column {column}."
    return found, None if found else "The column names no single type."


def _says_types(row: Row) -> bool:
    return bool(row.weight_types) and row.weight_types.casefold() not in ("unset", "n/a")


def _tags(run: Run) -> list[str]:
    row = run.row
    found = ["mlperf", f"mlperf-{slug(row.round)}", slug(row.division), slug(row.suite), slug(row.scenario)]
    if row.availability != "available":
        found.append(slug(row.availability))
    return list(dict.fromkeys([*found, *(slug(each.model) for each in run.rows)]))


_OF_TABLE: Final = (
    "system.accelerator", "system.accelerator_count", "system.accelerators_present", "system.nodes",
    "system.power_limit_w", "system.host_cpu", "system.host_sockets", "system.os", "engine.build",
    "model.weight_dtype", "model.quantization_as_published",
)  # fmt: skip
_OF_SYSTEM: Final = (
    "system.host_memory_as_published",
    "system.driver",
    "system.cuda",
    "engine.version",
    "engine.commit",
)


def _setup_evidence(
    data: dict[str, Any], at_table: dict[str, Any], run: Run, source: str
) -> Iterator[dict[str, Any]]:
    parts: list[tuple[Sequence[str], dict[str, Any]]] = [(_OF_TABLE, at_table)]
    if run.system is not None:
        parts.append(
            (_OF_SYSTEM, evidence_at(source, f"{run.system.path}, framework and other_software_stack"))
        )
    else:
        parts.append((_OF_SYSTEM, at_table))
    for paths, evidence in parts:
        given = [
            each for each in paths if data[each.partition(".")[0]].get(each.partition(".")[2]) is not None
        ]
        if given:
            yield {"fields": given, "evidence": evidence}
