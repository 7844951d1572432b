"""Records as flat rows: one row a result for benchmarks, one row a record for every other kind.

The command line, the index tables and the data files show these rows; a column means the same in each.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Final

from kbtool.schema import Accelerator, Benchmark, Engine, Gotcha, Interconnect, Model, Record, Source
from kbtool.schema.benchmark import Result
from kbtool.schema.common import Figure
from kbtool.vocab import METRICS

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
        return self.cells.get("standing") != "withdrawn" and self.cells["status"] not in {
            "retracted",
            "superseded",
        }


COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    "benchmark": (
        "ref", "result", "metric", "value", "low", "high", "unit", "statistic", "qualifier", "as_published",
        "accelerator", "accelerator_count", "engine", "engine_version", "model", "tp", "instances", "concurrency",
        "input_tok", "input_nominal", "output_tok", "prompt_class", "prefix_cache", "measuring_path", "with",
        "repeats", "sessions", "samples", "warnings", "standing", "status", "confidence", "measured_by", "source", "updated", "title",
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
        "ref", "title", "source_kind", "publisher", "author", "interest", "published", "accessed", "group",
        "status", "updated",
    ),
    "gotcha": ("ref", "title", "trap_class", "engines", "status", "updated"),
}  # fmt: skip
"""Kind -> the columns of its rows, in reading order."""


def rows_of(ref: str, record: Record, status: str) -> Iterator[Row]:
    """Yield the rows of one record; `status` is the derived one.

    Raises:
        TypeError: the record is of a kind that has no rows.
    """
    if isinstance(record, Benchmark):
        shared = _benchmark_cells(ref, record, status)
        for result in record.results:
            yield Row(ref, result.id, shared | _result_cells(result))
        return
    yield Row(ref, "", _head_cells(ref, record, status) | _kind_cells(record))


def _head_cells(ref: str, record: Record, status: str) -> dict[str, Cell]:
    return {"ref": ref, "title": record.title, "status": status, "updated": record.updated}


def _benchmark_cells(ref: str, record: Benchmark, status: str) -> dict[str, Cell]:
    return _head_cells(ref, record, status) | {
        "accelerator": record.system.accelerator,
        "accelerator_count": record.system.accelerator_count,
        "engine": record.engine.engine,
        "engine_version": record.engine.version,
        "model": record.model.model,
        "tp": record.deployment.tp,
        "instances": record.deployment.instances,
        "confidence": record.confidence.score if record.confidence else None,
        "measured_by": record.measured.by,
    }


def _result_cells(result: Result) -> dict[str, Cell]:
    known = METRICS.get(result.metric)
    at = result.at
    return {
        "result": result.id,
        "metric": result.metric,
        "value": result.value,
        "low": result.low,
        "high": result.high,
        "unit": known.unit if known else None,
        "statistic": result.statistic,
        "qualifier": result.qualifier,
        "as_published": result.as_published,
        "concurrency": at.concurrency,
        "input_tok": at.input_tok,
        "input_nominal": at.input_nominal,
        "output_tok": at.output_tok,
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
            }
        case Gotcha():
            engines = ", ".join(each.engine for each in record.affected if each.engine)
            return {"trap_class": record.trap_class, "engines": engines or None}
    raise TypeError(f"no rows are defined for {type(record).__name__}")
