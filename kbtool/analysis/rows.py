"""Records as flat rows: one row a result for benchmarks, one row a record for every other kind.

The command line, the index tables and the data files show these rows; a column means the same in each.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Final

from kbtool.analysis.confidence import assess
from kbtool.analysis.limits import Find, binding, hard_limits
from kbtool.analysis.normalise import Normalised, accelerators_serving, per_accelerator, pool_of
from kbtool.analysis.settings import in_force
from kbtool.schema import Accelerator, Benchmark, Engine, Gotcha, Interconnect, Model, Record, Source
from kbtool.schema.benchmark import Result
from kbtool.schema.common import Figure
from kbtool.vocab import METRICS
from kbtool.vocab.terms import WITHDRAWN

__all__ = ["COLUMNS", "Cell", "Row", "rows_of"]

Cell = str | int | Decimal | bool | date | None


@dataclass(frozen=True, slots=True)
class Row:
    """One row: where it comes from and its cells by column name."""

    ref: str
    anchor: str
    """Result id, or empty for a whole record."""
    cells: Mapping[str, Cell]

    @property
    def stands(self) -> bool:
        """Whether it may take part in a ranking: neither withdrawn nor of a retracted or superseded record."""
        return self.cells.get("standing") != "withdrawn" and self.cells["status"] not in WITHDRAWN


COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    "benchmark": (
        "ref", "result", "metric", "value", "low", "high", "unit", "scope", "tokens", "statistic", "qualifier", "as_published",
        "per_accelerator", "accelerators_serving", "bound", "bound_share", "comparison_class",
        "accelerator", "accelerator_count", "nodes", "power_limit_w", "engine", "engine_version", "engine_commit", "model",
        "weight_dtype", "kv_cache_dtype", "tp", "pp", "dp", "ep", "instances", "prefill_accelerators", "decode_accelerators",
        "speculation", "draft_tok", "concurrency", "request_rate_req_s", "input_tok", "input_nominal", "output_tok",
        "depth_tok", "pool", "prompt_class", "prefix_cache", "measuring_path", "with", "repeats", "sessions", "samples", "warnings", "standing",
        "status", "confidence", "confidence_label", "confidence_by", "measured_by", "measured_day", "year", "publisher", "interest", "group",
        "source", "updated", "title",
    ),
    "accelerator": (
        "ref", "title", "vendor", "form", "memory_gb", "bandwidth_gb_s", "power_w", "status", "updated",
    ),
    "interconnect": ("ref", "title", "vendor", "role", "generation", "status", "updated"),
    "engine": ("ref", "title", "maintainer", "repository", "licence", "status", "updated"),
    "model": (
        "ref", "title", "organisation", "architecture", "total_parameters", "active_parameters", "context_tok",
        "status", "updated",
    ),
    "source": (
        "ref", "title", "source_kind", "publisher", "author", "interest", "published", "accessed", "group", "url", "archive_url",
        "status", "updated",
    ),
    "gotcha": ("ref", "title", "trap_class", "engines", "status", "updated"),
}  # fmt: skip
"""Kind -> the columns of its rows, in reading order."""


def rows_of(ref: str, record: Record, status: str, find: Find | None = None) -> Iterator[Row]:
    """Yield the rows of one record.

    Args:
        ref: Its reference.
        record: The record.
        status: Its derived status.
        find: Returns the record of a reference. Without it the publisher, the bound of a result, and a
            confidence that no curator stated stay empty.

    Raises:
        TypeError: the record is of a kind that has no rows.
    """
    if isinstance(record, Benchmark):
        own = _benchmark_cells(ref, record, status, find)
        trust = _confidence_cells(record, find)
        for result in record.results:
            setup = in_force(record, result)
            shared = own if setup is record else _benchmark_cells(ref, setup, status, find)
            yield Row(ref, result.id, shared | trust | _result_cells(setup, result, find))
        return
    yield Row(ref, "", _head_cells(ref, record, status) | _kind_cells(record))


def _head_cells(ref: str, record: Record, status: str) -> dict[str, Cell]:
    return {"ref": ref, "title": record.title, "status": status, "updated": record.updated}


def _benchmark_cells(ref: str, record: Benchmark, status: str, find: Find | None) -> dict[str, Cell]:
    system, engine, model, layout = record.system, record.engine, record.model, record.deployment
    source = _primary(record, find)
    day = record.measured.day
    return _head_cells(ref, record, status) | {
        "comparison_class": record.comparison_class,
        "accelerator": system.accelerator,
        "accelerator_count": system.accelerator_count,
        "nodes": system.nodes,
        "power_limit_w": system.power_limit_w,
        "engine": engine.engine,
        "engine_version": engine.version,
        "engine_commit": engine.commit,
        "model": model.model,
        "weight_dtype": model.weight_dtype,
        "kv_cache_dtype": record.serving.kv_cache_dtype,
        "tp": layout.tp,
        "pp": layout.pp,
        "dp": layout.dp,
        "ep": layout.ep,
        "instances": layout.instances,
        "prefill_accelerators": layout.prefill_accelerators,
        "decode_accelerators": layout.decode_accelerators,
        "speculation": record.speculation.method,
        "draft_tok": record.speculation.draft_tok,
        "measured_by": record.measured.by,
        "measured_day": day,
        "year": _year(day, source),
        "publisher": source.publisher if source else None,
        "interest": source.interest if source else None,
        "group": source.group if source else None,
    }


def _primary(record: Benchmark, find: Find | None) -> Source | None:
    primary = find(record.primary_source) if find and record.primary_source else None
    return primary if isinstance(primary, Source) else None


def _confidence_cells(record: Benchmark, find: Find | None) -> dict[str, Cell]:
    """Return what the record's page shows: the curator's confidence, else the rubric's, which needs the source's interest."""
    stated = record.confidence
    if stated is not None:
        return {"confidence": stated.score, "confidence_label": stated.label, "confidence_by": "curator"}
    if find is None:
        return dict.fromkeys(("confidence", "confidence_label", "confidence_by"))
    source = _primary(record, find)
    rubric = assess(record, source.interest if source else None)
    return {"confidence": rubric.score, "confidence_label": rubric.label, "confidence_by": "rubric"}


def _year(day: date | None, source: Source | None) -> int | None:
    """Return the year of the measurement, else that of its publication; None where neither is known."""
    known = day or (source.published if source else None)
    return known.year if known else None


def _result_cells(setup: Benchmark, result: Result, find: Find | None) -> dict[str, Cell]:
    known = METRICS.get(result.metric)
    at = result.at
    shared = per_accelerator(setup, result)
    bound = binding(hard_limits(setup, result, find)) if find else None
    return {
        "result": result.id,
        "metric": result.metric,
        "value": result.value,
        "low": result.low,
        "high": result.high,
        "unit": known.unit if known else None,
        "scope": known.scope if known else None,
        "tokens": known.tokens if known else None,
        "statistic": result.statistic,
        "qualifier": result.qualifier,
        "as_published": result.as_published,
        "per_accelerator": _rounded(shared.value.base_value) if isinstance(shared, Normalised) else None,
        "accelerators_serving": accelerators_serving(setup, result),
        "bound": bound.code if bound else None,
        "bound_share": _rounded(bound.share) if bound else None,
        "concurrency": at.concurrency,
        "request_rate_req_s": at.request_rate_req_s,
        "input_tok": at.input_tok,
        "input_nominal": at.input_nominal,
        "output_tok": at.output_tok,
        "depth_tok": at.depth_tok,
        "pool": pool_of(setup, result),
        "prompt_class": at.prompt_class,
        "prefix_cache": at.prefix_cache,
        "measuring_path": at.measuring_path,
        "with": "; ".join(f"{setting.field}={setting.value}" for setting in result.with_) or None,
        "repeats": result.repeats,
        "sessions": result.sessions,
        "samples": result.samples,
        "warnings": "; ".join(result.warnings) or None,
        "standing": result.standing,
        "source": result.evidence[0].source,
    }


def _rounded(value: Decimal) -> Decimal:
    """Return a computed value with five significant digits, which is more than any published figure has."""
    return Decimal(f"{value:.5g}")


def _figure(figure: Figure | None) -> Decimal | None:
    return figure.value if figure else None


def _kind_cells(record: Record) -> dict[str, Cell]:
    match record:
        case Accelerator():
            return {
                "vendor": record.vendor,
                "form": record.form,
                "memory_gb": _figure(record.memory.capacity_gb),
                "bandwidth_gb_s": _figure(record.memory.bandwidth_gb_s),
                "power_w": _figure(record.power.default_w),
            }
        case Interconnect():
            return {"vendor": record.vendor, "role": record.role, "generation": record.generation}
        case Engine():
            licence = record.licence.value if record.licence else None
            return {"maintainer": record.maintainer, "repository": record.repository, "licence": licence}
        case Model():
            return {
                "organisation": record.organisation,
                "architecture": record.architecture,
                "total_parameters": _figure(record.total_parameters),
                "active_parameters": _figure(record.active_parameters),
                "context_tok": _figure(record.context_tok),
            }
        case Source():
            return {
                "source_kind": record.source_kind,
                "publisher": record.publisher,
                "author": record.author,
                "interest": record.interest,
                "published": record.published,
                "accessed": record.accessed,
                "group": record.group,
                "url": record.url,
                "archive_url": record.archive_url,
            }
        case Gotcha():
            engines = ", ".join(each.engine for each in record.affected if each.engine)
            return {"trap_class": record.trap_class, "engines": engines or None}
    raise TypeError(f"no rows are defined for {type(record).__name__}")
