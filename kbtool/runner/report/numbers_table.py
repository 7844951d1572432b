"""Every number of a cell, exact: as a table and as CSV."""

from typing import Final

from kbtool.runner.report.figure import CsvData, CsvValue
from kbtool.runner.report.model import Column, DataTable, Entry
from kbtool.runner.report.numbers import end_of, shown, statistic_words, unit_of
from kbtool.runner.results import CellResult
from kbtool.vocab.metrics import METRICS

__all__ = ["all_numbers", "all_numbers_csv"]

_COLUMNS: Final = (
    Column("Metric", align="left"),
    Column("Statistic", align="left"),
    Column("Value", main=True),
    Column("Unit", align="left"),
    Column("95 % low"),
    Column("95 % high"),
    Column("SD of rounds"),
    Column("n"),
    Column("Rounds"),
    Column("Warnings", align="left"),
)


def all_numbers(key: str, cell: CellResult) -> DataTable:
    """Return every number of a cell; warnings are those that the cell as a whole does not carry."""
    rows = tuple(
        (
            Entry(METRICS[each.metric].title, each.metric),
            Entry(statistic_words(each.statistic)),
            Entry(shown(each.value), value=each.value),
            Entry(unit_of(each.metric) or METRICS[each.metric].unit),
            Entry(end_of(each, each.low)),
            Entry(end_of(each, each.high)),
            Entry(shown(each.spread_stdev)),
            Entry(f"{each.n_samples:,}"),
            Entry(f"{each.n_rounds}"),
            Entry(
                ", ".join(
                    code.value.replace("_", " ")
                    for code in each.warnings
                    if code not in cell.summary.warnings
                ),
                warnings=tuple(code for code in each.warnings if code not in cell.summary.warnings),
            ),
        )
        for each in cell.summary.measurements
    )
    return DataTable(f"{key}-numbers", "All numbers", _COLUMNS, rows)


def all_numbers_csv(key: str, cell: CellResult) -> CsvData:
    """Return every number of a cell with all its digits and all its warnings."""
    columns = (
        "cell",
        "metric",
        "statistic",
        "value",
        "unit",
        "ci95_low",
        "ci95_high",
        "method",
        "spread_stdev",
        "n",
        "rounds",
        "sessions",
        "warnings",
    )
    rows: tuple[tuple[CsvValue, ...], ...] = tuple(
        (
            cell.name, each.metric, each.statistic, each.value, METRICS[each.metric].unit, each.low, each.high, each.method,
            each.spread_stdev, each.n_samples, each.n_rounds, each.n_sessions, " ".join(code.value for code in each.warnings),
        )
        for each in cell.summary.measurements
    )  # fmt: skip
    return CsvData(f"{key}-numbers", columns, rows, "Every number of the cell, with all digits.")
