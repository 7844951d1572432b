"""A finished run as numbers: the sealed raw data read back, every figure computed anew."""

from kbtool.runner.results.load import (
    CellResult,
    RoundResult,
    Run,
    SweepCliff,
    VisitResult,
    load_run,
    load_visit,
)

__all__ = ["CellResult", "RoundResult", "Run", "SweepCliff", "VisitResult", "load_run", "load_visit"]
