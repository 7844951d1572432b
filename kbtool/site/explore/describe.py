"""What the explorer says of its columns, and which of them do what: the one home for both languages."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from kbtool.analysis.rows import COLUMNS
from kbtool.analysis.sweeps import AXES, STATISTIC_KINDS
from kbtool.site.places import RESULTS_PER_PAGE, anchor_of
from kbtool.site.views.text import what_it_counts, words
from kbtool.vocab import METRICS
from kbtool.vocab.closed import FAMILIES, family_of
from kbtool.vocab.units import UNITS

__all__ = [
    "ADDED",
    "COLOURS",
    "FACETS",
    "FORMAT",
    "MEASURES",
    "NUMBERS",
    "OF_METRIC",
    "PARTS",
    "REFERENCES",
    "SEARCHED",
    "SHOWN",
    "TITLES",
    "UNGROUPED",
    "header",
    "metric_order",
    "title_of",
]

FORMAT: Final = 1
"""Version of the layout and of the header."""

TITLES: Final[Mapping[str, str]] = {
    "ref": "Record", "result": "Result", "metric": "Metric", "value": "Value", "low": "Low", "high": "High", "unit": "Unit",
    "scope": "Scope", "tokens": "Tokens counted", "statistic": "Statistic", "qualifier": "Qualifier",
    "as_published": "As published", "per_accelerator": "Per accelerator", "accelerators_serving": "Accelerators serving",
    "bound": "Bound", "bound_share": "Share of bound", "comparison_class": "Comparison class", "accelerator": "Accelerator",
    "accelerator_count": "Accelerators", "nodes": "Nodes", "power_limit_w": "Power limit, W", "engine": "Engine",
    "engine_version": "Engine version", "engine_commit": "Engine commit", "model": "Model", "weight_dtype": "Weights",
    "kv_cache_dtype": "KV cache", "tp": "TP", "pp": "PP", "dp": "DP", "ep": "EP", "instances": "Instances",
    "prefill_accelerators": "Prefill accelerators", "decode_accelerators": "Decode accelerators",
    "speculation": "Speculation", "draft_tok": "Draft tokens", "concurrency": "Concurrency",
    "request_rate_req_s": "Request rate, req/s", "input_tok": "Input tokens", "input_nominal": "Input as rounded",
    "output_tok": "Output tokens", "depth_tok": "Context before the input", "pool": "Pool",
    "prompt_class": "Prompt class", "prefix_cache": "Prefix cache",
    "measuring_path": "Measuring path", "with": "Changed settings", "repeats": "Repeats", "sessions": "Sessions",
    "samples": "Samples", "warnings": "Warnings", "standing": "Standing", "status": "Status", "confidence": "Confidence",
    "confidence_label": "Confidence label", "confidence_by": "Confidence by", "measured_by": "Measured by", "measured_day": "Measured on", "year": "Year",
    "publisher": "Publisher", "interest": "Interest", "group": "Group of sources", "source": "Source", "updated": "Updated",
    "title": "Title",
}  # fmt: skip
"""Column -> what it is called."""

_ADDED_TITLES: Final[Mapping[str, str]] = {"user_tok_s": "Speed per user, tok/s"}
"""The same for what the explorer adds and shows beside the throughput of the same configuration."""

FACETS: Final = (
    "accelerator", "model", "engine", "accelerators_serving", "tp", "weight_dtype", "speculation", "concurrency",
    "prompt_class", "scope", "statistic", "bound", "publisher", "measured_by", "year", "status", "standing",
    "confidence_label", "comparison_class",
)  # fmt: skip
"""What readers filter by, in this order, besides the metric."""

REFERENCES: Final = frozenset({"ref", "accelerator", "engine", "model", "source"})
"""Columns that name a record: the title of that record is shown in place of its reference."""

COLOURS: Final = (
    "accelerator", "model", "engine", "weight_dtype", "speculation", "prompt_class", "statistic", "publisher", "measured_by",
    "bound", "year",
)  # fmt: skip
"""Columns that points may be coloured by."""

NUMBERS: Final = (*AXES, "year", "bound_share", "confidence")
"""Columns that may be an x axis beside the per-accelerator figure."""

SHOWN: Final = (
    "value", "concurrency", "input_tok", "output_tok", "accelerator", "engine", "model", "weight_dtype", "status",
)  # fmt: skip
"""Columns of the table until a reader chooses others. Record and result stand in front, the number of accelerators that serve
with the accelerator; metric, statistic and comparison class come by themselves where the rows have more than one."""

UNGROUPED: Final = ("year",)
"""Numbers that are names: 2026 and not 2,026."""

MEASURES: Final = ("value", "low", "high", "per_accelerator", "bound_share", "user_tok_s")
"""Columns whose values compare only within one metric and one comparison class: sorting keeps those apart."""

SEARCHED: Final = (
    "ref", "metric", "accelerator", "model", "engine", "publisher", "weight_dtype", "speculation", "prompt_class",
    "comparison_class",
)  # fmt: skip
"""Columns that free text is looked for in."""

ADDED: Final = ("setup", "user_tok_s", "page")
"""What the explorer adds: the setup that rows of one sweep share, the speed per user of the same configuration, and the
page of its record that shows a result."""

OF_METRIC: Final = ("unit", "scope", "tokens")
"""Columns that follow from the metric and are not stored."""

_MAIN: Final = tuple(
    dict.fromkeys(
        ("metric", "value", "per_accelerator", "user_tok_s", "setup", *AXES, *FACETS, *COLOURS, *NUMBERS)
    )
)
_NAMES: Final = ("ref", "result", "page", "qualifier", "low", "high")
_STORED: Final = tuple(name for name in (*COLUMNS["benchmark"], *ADDED) if name not in {*OF_METRIC, "title"})
PARTS: Final[Mapping[str, tuple[str, ...]]] = {
    "main": tuple(name for name in _MAIN if name in _STORED),
    "names": _NAMES,
    "rest": tuple(name for name in _STORED if name not in {*_MAIN, *_NAMES}),
}
"""File -> its columns: what the first chart needs, what a row is called, and what a reader may ask for later."""


def title_of(column: str) -> str:
    """Return what a column is called."""
    return TITLES.get(column) or _ADDED_TITLES.get(column) or words(column).capitalize()


def header(metrics: Iterable[str]) -> dict[str, Any]:
    """Return what stands in the first file beside its columns.

    Args:
        metrics: Those that some result has.
    """
    return {
        "format": FORMAT,
        "parts": {name: list(columns) for name, columns in PARTS.items()},
        "exported": list(COLUMNS["benchmark"]),
        "titles": {name: title_of(name) for name in (*COLUMNS["benchmark"], *_ADDED_TITLES)},
        "facets": FACETS,
        "axes": AXES,
        "numbers": NUMBERS,
        "colours": COLOURS,
        "shown": SHOWN,
        "measures": MEASURES,
        "ungrouped": UNGROUPED,
        "searched": SEARCHED,
        "metrics": {each: _metric(each) for each in metrics},
        "statistics": {kind: list(members) for kind, members in STATISTIC_KINDS.items()},
        "families": [{"prefix": each.prefix, "name": each.name, "line": each.line} for each in FAMILIES],
        "results_per_page": RESULTS_PER_PAGE,
        "anchors": {each: anchor_of(each) for each in ("content",)},
    }


def _metric(metric_id: str) -> dict[str, str]:
    known = METRICS.get(metric_id)
    if known is None:
        return {
            "title": metric_id,
            "unit": "",
            "shown_unit": "",
            "scope": "",
            "tokens": "",
            "direction": "neither",
            "about": "",
        }
    unit = "" if known.unit in {"count", "ratio"} or known.unit not in UNITS else known.unit
    return {
        "title": known.title,
        "unit": known.unit,
        "shown_unit": unit,
        "scope": known.scope,
        "tokens": known.tokens,
        "direction": known.direction,
        "about": what_it_counts(known),
    }


def metric_order(metrics: Sequence[str], classes: Sequence[str | None]) -> list[tuple[str, int]]:
    """Return each metric and how many results it has: those that compare freely first, then by their number.

    Args:
        metrics: Of each result.
        classes: The comparison class of each result.
    """
    free: dict[str, int] = {}
    every: dict[str, int] = {}
    for metric, closed in zip(metrics, classes, strict=True):
        every[metric] = every.get(metric, 0) + 1
        free[metric] = free.get(metric, 0) + (family_of(closed) is None)
    return sorted(every.items(), key=lambda item: (-free[item[0]], -item[1], item[0]))
