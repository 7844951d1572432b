"""Which figures of a cell are shown, and which of them stands for it."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from kbtool.runner.metrics import Measurement, RoundFigures, Sample
from kbtool.runner.results import CellResult, Run
from kbtool.vocab.terms import Statistic
from kbtool.vocab.warnings import WarningCode

__all__ = [
    "CENTRAL",
    "TAIL",
    "Group",
    "Wanted",
    "central",
    "common_warnings",
    "head_metric",
    "head_of",
    "round_value",
    "statistics_for",
    "wanted",
]

Group = tuple[Statistic, ...]
"""Statistics that say the same, of which a cell has one: a figure of one round alone is its median over rounds."""
Wanted = tuple[str, tuple[Group, ...]]
"""A metric and the statistics that are shown of it, the preferred ones first."""

CENTRAL: Final[tuple[Group, ...]] = (("p50",), ("median", "single"), ("mean",))
TAIL: Final[tuple[Group, ...]] = (("p99",), ("p95",), ("max",))

_HEADS: Final[Mapping[str, str]] = MappingProxyType(
    {"single_stream": "tok_s_per_user", "long_decode": "tok_s_per_user", "prefill": "prefill_tok_s"}
)
_LONE: Final[tuple[Wanted, ...]] = (
    ("ttft_ms", CENTRAL),
    ("tpot_ms", CENTRAL),
    ("step_gap_ms", TAIL),
    ("tok_per_step", CENTRAL),
    ("acceptance_length", CENTRAL),
    ("acceptance_ratio", CENTRAL),
    ("energy_j_per_tok", CENTRAL),
)
_MANY: Final[tuple[Wanted, ...]] = (
    ("tok_s_per_user", CENTRAL),
    ("ttft_ms", CENTRAL),
    ("ttft_ms", TAIL),
    ("tpot_ms", CENTRAL),
    ("step_gap_ms", TAIL),
    ("achieved_concurrency", CENTRAL),
    ("energy_j_per_tok", CENTRAL),
)
_OPEN: Final[tuple[Wanted, ...]] = (
    ("req_s", CENTRAL),
    ("goodput_req_s", CENTRAL),
    ("e2el_ms", CENTRAL),
    *_MANY,
)
_OTHERS: Final[Mapping[str, tuple[Wanted, ...]]] = MappingProxyType(
    {
        "single_stream": _LONE,
        "long_decode": _LONE,
        "concurrency": _MANY,
        "rate": _OPEN,
        "replay": _OPEN,
        "prefill": (("ttft_ms", CENTRAL), ("ttft_ms", TAIL), ("isl_tok", CENTRAL), ("cached_tok", CENTRAL)),
        "conversation": (
            ("tok_s_per_user", CENTRAL),
            ("ttft_ms", CENTRAL),
            ("ttft_ms", TAIL),
            ("cached_tok", CENTRAL),
            ("isl_tok", CENTRAL),
            ("e2el_ms", CENTRAL),
        ),
    }
)


def head_metric(kind: str) -> str:
    """Return the metric that stands for a cell of this kind: the one that decided how often it was repeated."""
    return _HEADS.get(kind, "output_tok_s")


def wanted(kind: str) -> tuple[Wanted, ...]:
    """Return what else is shown of a cell of this kind, the most telling first."""
    return _OTHERS.get(kind, _MANY)


def statistics_for(cells: Iterable[CellResult], metric: str, groups: Sequence[Group]) -> Group | None:
    """Return the first statistics that every cell with this metric has, else the first that any has.

    One column holds one statistic: a p50 beside a mean would be compared with it.
    """
    having = [
        found
        for cell in cells
        if (found := {each.statistic for each in cell.summary.measurements if each.metric == metric})
    ]
    held = [group for group in groups if any(found & set(group) for found in having)]
    return next(
        (group for group in held if all(found & set(group) for found in having)), held[0] if held else None
    )


def central(cell: CellResult, metric: str, groups: Sequence[Group] = CENTRAL) -> Measurement | None:
    """Return a number of a cell by the first statistic that it has."""
    for group in groups:
        for statistic in group:
            found = cell.summary.measurement(metric, statistic)
            if found is not None:
                return found
    return None


def head_of(cell: CellResult) -> Measurement | None:
    """Return the number that stands for a cell.

    A warm prefill has no prefill speed, and a cell whose answers came in one piece has no decode speed: their
    first token stands for them.
    """
    return central(cell, head_metric(cell.cell.kind)) or central(cell, "ttft_ms")


def round_value(figures: RoundFigures, metric: str) -> Sample | None:
    """Return the value of one round that goes with the number of the cell: its own, else the mean of its requests."""
    words: tuple[Statistic, ...] = ("single", "mean")
    for statistic in words:
        found = figures.sample(metric, statistic)
        if found is not None:
            return found
    return None


def common_warnings(run: Run) -> frozenset[WarningCode]:
    """Return the warnings that every cell carries; none for a single cell, where they stand with it."""
    if len(run.cells) < 2:
        return frozenset()
    return frozenset.intersection(*(frozenset(cell.summary.warnings) for cell in run.cells))
