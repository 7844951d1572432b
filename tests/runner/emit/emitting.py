"""Records of runs that tests made."""

from datetime import date
from pathlib import Path
from typing import Final

from kbtool.runner.emit import RecordGiven, records_of
from kbtool.runner.emit.record import Emitted
from kbtool.schema.benchmark import Benchmark, Result
from tests.runner.session.driving import loaded

__all__ = ["DAY", "emitted", "record_of", "result"]

DAY: Final = date(2026, 11, 30)


def emitted(root: Path) -> Emitted:
    """Return the records of a run."""
    return records_of(loaded(root), RecordGiven(DAY, "ev-short", "run-short", "0" * 64))


def record_of(root: Path) -> Benchmark:
    """Return the benchmark record of a run."""
    return emitted(root).benchmark


def result(record: Benchmark, metric: str, statistic: str | None = None, cell: str = "") -> Result | None:
    """Return the first result of a metric, or None where the record has none."""
    return next(
        (
            each
            for each in record.results
            if each.metric == metric and statistic in {None, each.statistic} and each.id.startswith(cell)
        ),
        None,
    )
