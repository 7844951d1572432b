"""What has been measured on what: counts by accelerator, engine and model, and the cells that are empty.

An empty cell among the most used accelerators, engines and models is a question that somebody asks and nobody has answered
here: it is on the list of what to measure next. Results of a closed class count in the table and stand apart in it, for they
answer no question outside their class.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

__all__ = ["Axis", "Cell", "Coverage", "Empty", "Measured", "coverage"]

Axis = Literal["engine", "model"]
_SHOWN: Final = 12


class Measured(NamedTuple):
    """What one record measured, and how often."""

    accelerator: str
    engine: str
    model: str
    results: int
    closed: bool
    """Whether its results are of a closed class."""


class Cell(NamedTuple):
    """How much there is of one pair."""

    records: int
    results: int
    closed: int
    """Records of the cell that are of a closed class."""


class Empty(NamedTuple):
    """A pair that nobody has measured here, though each of the two is measured often."""

    accelerator: str
    other: str
    weight: int
    """The smaller of the numbers of records of the two: the higher, the more it is missed."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """Accelerators against engines, or against models; the most used of both, first those with most open records."""

    axis: Axis
    accelerators: tuple[str, ...]
    others: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]
    """A row an accelerator, a cell an engine or model."""
    all_accelerators: int
    all_others: int
    empty: tuple[Empty, ...]
    """The most missed first."""


def coverage(measured: Iterable[Measured], axis: Axis, shown: int = _SHOWN) -> Coverage:
    """Return the table.

    Args:
        measured: One entry a record that stands.
        axis: What accelerators are held against.
        shown: Rows and columns at most.
    """
    entries = list(measured)
    pairs = [(each.accelerator, _other(each, axis), each) for each in entries]
    accelerators = _ranked([(one, each) for one, _, each in pairs])
    others = _ranked([(other, each) for _, other, each in pairs])
    found: dict[tuple[str, str], Cell] = {}
    for one, other, each in pairs:
        records, results, closed = found.get((one, other), Cell(0, 0, 0))
        found[one, other] = Cell(records + 1, results + each.results, closed + each.closed)
    rows, columns = list(accelerators)[:shown], list(others)[:shown]
    empty = [
        Empty(one, other, min(accelerators[one], others[other]))
        for one in rows
        for other in columns
        if (one, other) not in found
    ]
    nothing = Cell(0, 0, 0)
    return Coverage(
        axis,
        tuple(rows),
        tuple(columns),
        tuple([tuple([found.get((one, other), nothing) for other in columns]) for one in rows]),
        len(accelerators),
        len(others),
        tuple(sorted(empty, key=lambda each: (-each.weight, each.accelerator, each.other))),
    )


def _other(measured: Measured, axis: Axis) -> str:
    return measured.engine if axis == "engine" else measured.model


def _ranked(named: Sequence[tuple[str, Measured]]) -> dict[str, int]:
    """Return how many open records name each, the most named first; one that only closed classes name has 0."""
    counts = Counter({name: 0 for name, _ in named})
    for name, each in named:
        counts[name] += not each.closed
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
