"""The plain data of a report: what the terminal and the page both show, decided once.

An entry of a table is a text that is ready to be shown and not yet escaped: whoever prints it picks the function
of `kbtool.escape` for the place. Nothing in here is markup.
"""

from dataclasses import dataclass, field
from typing import Literal

from kbtool.vocab.warnings import WarningCode

__all__ = ["Align", "Column", "DataTable", "Entry", "Fact", "Met", "RunRows"]

Align = Literal["left", "right"]


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table."""

    title: str
    unit: str = ""
    align: Align = "right"
    main: bool = False
    """Holds the number that the row is there for."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a table."""

    text: str
    detail: str = ""
    """Second line: the interval, n, or why there is no number."""
    value: float | None = None
    """The exact number behind the text."""
    warnings: tuple[WarningCode, ...] = ()
    """Those that stand with this entry."""
    cell: int | None = None
    """Number in `Run.cells` of the cell that it names."""


@dataclass(frozen=True, slots=True)
class DataTable:
    """A table."""

    key: str
    """Unique in the report; letters, digits and `-`."""
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Entry, ...], ...]
    note: str = ""
    """How to read it."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A line about the run or what it ran on."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Met:
    """A warning that the run met."""

    code: WarningCode
    means: str
    remedy: str
    cells: tuple[str, ...]
    """Names of the cells that carry it."""
    everywhere: bool
    """Whether every cell does."""


@dataclass(frozen=True, slots=True)
class RunRows:
    """A run for a terminal, and the top of the page."""

    title: str
    run_id: str
    verdict: str
    """One sentence: how much was measured, and whether the run is complete."""
    complete: bool
    facts: tuple[Fact, ...]
    results: tuple[DataTable, ...]
    """One table a workload."""
    comparisons: tuple[DataTable, ...]
    """Sweeps, drift of the base, control cells, cliffs; those that there are."""
    checks: tuple[DataTable, ...]
    """Failures, checks of the server's word, instances, the client itself."""
    warnings: tuple[Met, ...]
    remarks: tuple[str, ...] = field(default=())
    """What happened during the run, in words."""

    @property
    def tables(self) -> tuple[DataTable, ...]:
        """Every table, the most telling first."""
        return (*self.results, *self.comparisons, *self.checks)
