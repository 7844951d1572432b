"""All results as one table of columns: what the explorer, the comparison and the data files show.

A column means what `kbtool.analysis.rows` says, here and on the command line. Rows are in the order of the references and of
the results in their records, so that equal records give equal bytes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from kbtool.analysis.rows import COLUMNS, Cell, Row, rows_of
from kbtool.schema import Benchmark, Record
from kbtool.site.library import Library
from kbtool.site.products import key_of

__all__ = ["RESULT_COLUMNS", "ResultTable"]

RESULT_COLUMNS = COLUMNS["benchmark"]


@dataclass(frozen=True)
class ResultTable:
    """The results of all benchmarks, those of records that no longer stand included."""

    library: Library

    @cached_property
    def digest(self) -> str:
        """A hash of everything that the table depends on."""
        return key_of(self.library.digest(ref) for ref in self.library.cards)

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """One row a result."""
        return tuple(self._rows())

    def column(self, name: str) -> Sequence[Cell]:
        """Return one column, a cell a row."""
        return [row.cells[name] for row in self.rows]

    def _rows(self) -> Iterator[Row]:
        def find(ref: str) -> Record | None:
            return self.library.record(ref) if ref in self.library.cards else None

        for ref, card in self.library.cards.items():
            if card.kind == "benchmark":
                record = self.library.record(ref)
                assert isinstance(record, Benchmark)
                yield from rows_of(ref, record, card.status, find)
                self.library.forget(ref)
