"""Which results belong to one sweep, and which two describe one configuration.

A line joins results that differ in the swept condition and in nothing else that their record states: same record, same
settings in force, same conditions. Two figures of one condition that nothing tells apart are no sweep.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Final, NamedTuple

from kbtool.analysis.rows import COLUMNS, Cell, Row

__all__ = ["AXES", "STATISTIC_KINDS", "Configuration", "configurations", "setups"]

AXES: Final = (
    "concurrency", "request_rate_req_s", "input_tok", "output_tok", "depth_tok", "draft_tok", "tp", "instances",
    "accelerators_serving", "power_limit_w",
)  # fmt: skip
"""Columns that a sweep may go over."""
STATISTIC_KINDS: Final[Mapping[str, tuple[str | None, ...]]] = {
    "mean": (None, "single", "mean"),
    "median": ("median", "p50"),
    "p90": ("p90",),
    "p95": ("p95",),
    "p99": ("p99",),
    "min": ("min",),
    "max": ("max",),
    "peak": ("peak",),
}
"""Statistics that tell of the same thing: a single run is a small sample of what a mean tells, and most figures without
a word are of one run. Every other kind stands by itself."""

_OUTCOMES: Final = frozenset(
    {
        "result", "metric", "value", "low", "high", "unit", "scope", "tokens", "statistic", "qualifier", "as_published",
        "per_accelerator", "bound", "bound_share", "repeats", "sessions", "samples", "warnings", "standing", "source",
        "accelerator_count", "with", "input_nominal",
    }
)  # fmt: skip
"""Columns that say what came out, or that others say better: accelerators that serve, and settings in force."""
_CONDITIONS: Final = tuple(name for name in COLUMNS["benchmark"] if name not in {*_OUTCOMES, *AXES})
_FIELDS_OF_AXES: Final = (
    "speculation.draft_tok=", "deployment.tp=", "deployment.instances=", "system.accelerator_count=",
    "system.power_limit_w=",
)  # fmt: skip
_THROUGHPUTS: Final = ("output_tok_s", "tok_s_per_accelerator")
"""Output throughput, as a whole or a share of it; the first counts where a configuration has both."""
_SPEEDS: Final = ("tok_s_per_user", "tpot_ms")
_MS_PER_S: Final = 1000


def setups(rows: Sequence[Row]) -> list[int]:
    """Return a number for each row that rows share which differ in metric, statistic, outcome and axes alone."""
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(_setup(row.cells), len(numbers)) for row in rows]


def _setup(cells: Mapping[str, Cell]) -> Hashable:
    changed = cells["with"]
    others = ""
    if isinstance(changed, str):
        others = "; ".join(each for each in changed.split("; ") if not each.startswith(_FIELDS_OF_AXES))
    # A rounded length that stands beside an exact one says nothing more.
    nominal = cells["input_nominal"] if cells["input_tok"] is None else None
    return (*[cells[name] for name in _CONDITIONS], others, nominal)


class Configuration(NamedTuple):
    """One configuration under one load: its output throughput per accelerator and its speed per user."""

    row: int
    """The row of the throughput."""
    user_tok_s: Decimal


def configurations(rows: Sequence[Row], setup: Sequence[int]) -> Iterator[Configuration]:
    """Yield each configuration with both figures once, in the order of the rows of its throughput.

    The speed per user is what the record gives, its mean before its median; else 1000 / TPOT in ms. It is never made
    from a throughput. A configuration with two different figures of one kind is left out: something that no column
    holds tells them apart.
    """
    speeds: dict[Hashable, list[int]] = {}
    throughputs: dict[Hashable, list[int]] = {}
    for index, row in enumerate(rows):
        cells = row.cells
        if cells["value"] is None or not row.stands:
            continue
        key = (setup[index], *[cells[axis] for axis in AXES])
        if cells["metric"] in _SPEEDS:
            speeds.setdefault(key, []).append(index)
        elif cells["metric"] in _THROUGHPUTS and cells["per_accelerator"] is not None:
            throughputs.setdefault(key, []).append(index)
    for load, found in throughputs.items():
        throughput = _one(rows, found, _THROUGHPUTS)
        speed = _one(rows, speeds.get(load, ()), _SPEEDS)
        if throughput is None or speed is None:
            continue
        value = _speed(rows[speed].cells)
        if value is not None:
            yield Configuration(throughput, value)


def _one(rows: Sequence[Row], found: Sequence[int], metrics: Sequence[str]) -> int | None:
    """Return the row of the first metric, as a mean or else as a median; None where that has two values."""
    for metric in metrics:
        for kind in ("mean", "median"):
            of_kind = STATISTIC_KINDS[kind]
            alike = [
                each
                for each in found
                if rows[each].cells["metric"] == metric and rows[each].cells["statistic"] in of_kind
            ]
            if alike:
                return alike[0] if len({rows[each].cells["value"] for each in alike}) == 1 else None
    return None


def _speed(cells: Mapping[str, Cell]) -> Decimal | None:
    value = cells["value"]
    assert isinstance(value, int | Decimal)
    if value <= 0:
        return None
    if cells["metric"] == "tpot_ms":
        return Decimal(f"{_MS_PER_S / Decimal(value):.5g}")
    return Decimal(value)
