"""All results as one table of columns: what the explorer, the comparison and the data files show.

A column means what `kbtool.analysis.rows` says, here and on the command line. Rows are in the order of the references and of
the results in their records, so that equal records give equal bytes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from kbtool.analysis.rows import COLUMNS, Cell, Row
from kbtool.site.library import Library
from kbtool.site.record_rows import RecordRows

__all__ = ["RESULT_COLUMNS", "ResultTable"]

RESULT_COLUMNS = COLUMNS["benchmark"]
_PLACES: Final = {name: place for place, name in enumerate(RESULT_COLUMNS)}


class _Cells(Mapping[str, Cell]):
    """The cells of one row by column name, in a fifth of the memory of a dictionary."""

    __slots__ = ("_cells",)

    def __init__(self, cells: tuple[Cell, ...]) -> None:
        self._cells = cells

    def __getitem__(self, name: str) -> Cell:
        return self._cells[_PLACES[name]]

    def __iter__(self) -> Iterator[str]:
        return iter(RESULT_COLUMNS)

    def __len__(self) -> int:
        return len(RESULT_COLUMNS)


@dataclass(frozen=True)
class ResultTable:
    """The results of all benchmarks, those of records that no longer stand included."""

    library: Library

    @cached_property
    def digest(self) -> str:
        """A hash of everything that the table depends on."""
        return self._records.digest("benchmark")

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """One row a result."""
        rows = zip(*self._columns.values(), strict=True)
        return tuple(
            Row(str(cells[_PLACES["ref"]]), str(cells[_PLACES["result"]]), _Cells(cells)) for cells in rows
        )

    def column(self, name: str) -> Sequence[Cell]:
        """Return one column, a cell a row."""
        return self._columns[name]

    @cached_property
    def _records(self) -> RecordRows:
        return RecordRows(self.library)

    @cached_property
    def _columns(self) -> dict[str, list[Cell]]:
        return self._records.columns("benchmark")
