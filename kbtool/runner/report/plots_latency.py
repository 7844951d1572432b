"""Plots of distributions: every value of every request of a workload's cells."""

from collections.abc import Iterator, Sequence
from math import log10
from typing import Final

from kbtool.runner.report.charts import About, tails
from kbtool.runner.report.figure import SERIES, CsvData, Figure, legend_of, spaced
from kbtool.runner.report.model import Column, DataTable, Entry
from kbtool.runner.report.numbers import NONE, short_title, shown, unit_of
from kbtool.runner.report.raw import pool_of
from kbtool.runner.results import CellResult
from kbtool.runner.stats.samples import percentile_of_sorted
from kbtool.vocab.metrics import METRICS

__all__ = ["DRAWN", "latency_figures", "quantile_points"]

DRAWN: Final = 90
"""Points of a curve."""
_METRICS: Final = ("ttft_ms", "tpot_ms", "step_gap_ms")
_PERCENTS: Final = (50, 90, 99)


def latency_figures(workload: str, cells: Sequence[tuple[int, CellResult]]) -> Iterator[Figure]:
    """Yield the distributions of TTFT, TPOT and step gap over the cells of a workload."""
    for metric in _METRICS:
        pools = [
            (index, cell, values)
            for index, cell in cells
            if (values := [each for each in pool_of(cell, metric) if each > 0])
        ]
        if pools:
            yield _figure(f"{workload}-{metric.replace('_', '-')}-tail", metric, pools)


def _figure(key: str, metric: str, pools: Sequence[tuple[int, CellResult, list[float]]]) -> Figure:
    base = [each for each in pools if each[1].setting is None and each[1].cell.straight_to is None] or pools
    kept = spaced(base, SERIES)
    curves = [(cell, quantile_points(values), len(values)) for _, cell, values in kept]
    title = f"{short_title(metric)}, distribution"
    about = About(
        key,
        title,
        f"{_what(metric)} at or below, %",
        f"{short_title(metric)}, {unit_of(metric)}, logarithmic",
    )
    limits = sorted({limit for _, cell, _ in pools for name, limit in cell.cell.slo if name == metric})
    svg = tails(
        about, [[(_place(share), value) for share, value in points] for _, points, _ in curves], limits
    )
    left = f" {len(pools) - len(kept)} more cells are in the table alone." if len(pools) > len(kept) else ""
    thinned = any(n > len(points) for _, points, n in curves)
    caption = (
        f"{METRICS[metric].title}: {METRICS[metric].formula}. All measured rounds together; each further nine takes the same room. "
        f"The last mark is the largest value.{' Dashed: the SLO.' if limits else ''}{left}"
    )
    rows = tuple((cell.name, share, value) for cell, points, _ in curves for share, value in points)
    rule = (
        f"at most {DRAWN} of a cell's values, evenly spaced along the axis, the least and the largest always"
        if thinned
        else "every value"
    )
    data = CsvData(
        key,
        ("cell", "share_at_or_below", f"{metric}"),
        rows,
        f"Here: {rule}. All: cells/*/round-*.events.parquet and round-*.requests.parquet",
    )
    legend = legend_of(f"{cell.name}, n {n:,}" for cell, _, n in curves)
    return Figure(key, title, caption, svg, legend, _table(key, metric, pools), data)


def _what(metric: str) -> str:
    return "Gaps" if metric == "step_gap_ms" else "Requests"


def _table(key: str, metric: str, pools: Sequence[tuple[int, CellResult, list[float]]]) -> DataTable:
    unit = unit_of(metric)
    columns = (
        Column("Cell", align="left"),
        Column("Least", unit),
        *(Column(f"p{percent}", unit) for percent in _PERCENTS),
        Column("Largest", unit),
        Column("n"),
    )
    rows = tuple(
        (
            Entry(cell.name, cell=index),
            Entry(shown(values[0]), value=values[0]),
            *(_percentile(values, percent) for percent in _PERCENTS),
            Entry(shown(values[-1]), value=values[-1]),
            Entry(f"{len(values):,}", value=float(len(values))),
        )
        for index, cell, values in pools
    )
    return DataTable(
        f"{key}-table",
        "Figures",
        columns,
        rows,
        "A percentile is left out where fewer than 10 values lie beyond it.",
    )


def _percentile(values: Sequence[float], percent: int) -> Entry:
    value = percentile_of_sorted(values, percent)
    return Entry(NONE, "too few") if value is None else Entry(shown(value), value=value)


def quantile_points(values: Sequence[float]) -> list[tuple[float, float]]:
    """Return shares and values of an ascending sequence; of a long one, those evenly spaced along the axis of nines."""
    n = len(values)
    if n <= DRAWN:
        chosen = list(range(n))
    else:
        most = _place((n - 0.5) / n)
        spots = {round(n * (1 - 10 ** (-most * step / (DRAWN - 1))) - 0.5) for step in range(DRAWN)}
        chosen = sorted({min(max(spot, 0), n - 1) for spot in spots} | {0, n - 1})
    return [((at + 0.5) / n, values[at]) for at in chosen]


def _place(share: float) -> float:
    return -log10(1 - share)
