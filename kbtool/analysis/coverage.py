"""What has been measured on what: counts by accelerator, engine and model, and the cells that are empty.

An empty cell among the most used accelerators, engines and models is a question that somebody asks and nobody has answered
here: it is on the list of what to measure next, if something shows that it can be measured at all. An engine is proposed for an
accelerator only where it ran on another one of the same vendor, a model only where an engine that serves it runs on the accelerator, and a
combination of all three only where each two of them were measured together. Results of a closed class count in the table and stand
apart in it, for they answer no question outside their class.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

__all__ = ["Axis", "Cell", "Coverage", "Empty", "Measured", "Missing", "coverage", "missing"]

Axis = Literal["engine", "model"]
_SHOWN: Final = 12
_FEWEST_COLUMNS: Final = 4
_Reasons = Callable[[str, str], tuple[str, ...]]
"""Accelerator and engine or model -> what shows that the two can be measured together."""


class Measured(NamedTuple):
    """What one record measured with one setup, and how often."""

    record: str
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
    of_accelerator: int
    """Open records of the accelerator."""
    of_other: int
    because: tuple[str, ...]
    """Why it can be measured: accelerators of the same vendor that the engine ran on, or engines that run on the accelerator and serve the model."""

    @property
    def weight(self) -> int:
        """The smaller of the numbers of records of the two: the higher, the more it is missed."""
        return min(self.of_accelerator, self.of_other)


class Missing(NamedTuple):
    """An accelerator, an engine and a model that were each measured with both others, and never together."""

    accelerator: str
    engine: str
    model: str
    engine_on_accelerator: int
    """Open records of these two, of any model."""
    model_on_accelerator: int
    engine_with_model: int

    @property
    def weight(self) -> int:
        """The smallest of the three: the higher, the more it is missed."""
        return min(self.engine_on_accelerator, self.model_on_accelerator, self.engine_with_model)


@dataclass(frozen=True, slots=True)
class Coverage:
    """Accelerators against engines, or against models.

    Accelerators are those with most open records, engines and models those that were measured on most of these: a column is
    there to be compared along.
    """

    axis: Axis
    accelerators: tuple[str, ...]
    others: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]
    """A row an accelerator, a cell an engine or model."""
    all_accelerators: int
    all_others: int
    empty: tuple[Empty, ...]
    """The most missed first."""


def coverage(
    measured: Iterable[Measured], axis: Axis, vendors: Mapping[str, str], shown: int | None = _SHOWN
) -> Coverage:
    """Return the table.

    Args:
        measured: One entry a setup of a record that stands.
        axis: What accelerators are held against.
        vendors: Accelerator -> who makes it.
        shown: Rows and columns at most; None for all.
    """
    entries = list(measured)
    pairs = [(each.accelerator, _other(each, axis), each) for each in entries]
    accelerators = _ranked([(one, each) for one, _, each in pairs])
    others = _ranked([(other, each) for _, other, each in pairs])
    rows = list(accelerators)[:shown]
    breadth = _breadth([(one, other) for one, other, each in pairs if not each.closed], rows)
    ordered = sorted(others, key=lambda other: (-breadth.get(other, 0), -others[other], other))
    # What one accelerator alone has compares nothing along its column.
    shared = [other for other in ordered if breadth.get(other, 0) > 1]
    columns = ordered if shown is None or len(shared) < _FEWEST_COLUMNS else shared
    columns = columns[:shown]
    found = _cells(pairs)
    reasons = _ran_on(entries, vendors) if axis == "engine" else _served_on(entries)
    empty = [
        Empty(one, other, accelerators[one], others[other], because)
        for one in rows
        for other in columns
        if (one, other) not in found and (because := reasons(one, other))
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


def missing(measured: Iterable[Measured]) -> tuple[Missing, ...]:
    """Return the combinations that are missing, the most missed first.

    Args:
        measured: One entry a setup of a record that stands.
    """
    entries = list(measured)
    known = {(each.accelerator, each.engine, each.model) for each in entries}
    open_ones = [each for each in entries if not each.closed]
    engines = _counts([((each.accelerator, each.engine), each.record) for each in open_ones])
    models = _counts([((each.accelerator, each.model), each.record) for each in open_ones])
    served = _counts([((each.engine, each.model), each.record) for each in open_ones])
    models_of: dict[str, list[str]] = {}
    for accelerator, model in models:
        models_of.setdefault(accelerator, []).append(model)
    found = [
        Missing(accelerator, engine, model, count, models[accelerator, model], served[engine, model])
        for (accelerator, engine), count in engines.items()
        for model in models_of[accelerator]
        if (engine, model) in served and (accelerator, engine, model) not in known
    ]
    return tuple(sorted(found, key=lambda each: (-each.weight, each[:3])))


def _ran_on(entries: Iterable[Measured], vendors: Mapping[str, str]) -> _Reasons:
    """Return what says which accelerators of the same vendor an engine ran on."""
    found: dict[tuple[str, str], set[str]] = {}
    for each in entries:
        vendor = vendors.get(each.accelerator)
        if vendor:
            found.setdefault((vendor, each.engine), set()).add(each.accelerator)
    return lambda accelerator, engine: tuple(sorted(found.get((vendors.get(accelerator, ""), engine), ())))


def _served_on(entries: Sequence[Measured]) -> _Reasons:
    """Return what says which engines that run on an accelerator serve a model elsewhere, the most used there first."""
    counts = _counts([((each.accelerator, each.engine), each.record) for each in entries])
    served = {(each.engine, each.model) for each in entries}
    engines: dict[str, list[str]] = {}
    for accelerator, engine in sorted(counts, key=lambda pair: (-counts[pair], pair)):
        engines.setdefault(accelerator, []).append(engine)
    return lambda accelerator, model: tuple(
        [each for each in engines.get(accelerator, ()) if (each, model) in served]
    )


def _cells(pairs: Iterable[tuple[str, str, Measured]]) -> dict[tuple[str, str], Cell]:
    """Return how much there is of each pair; a record of several setups counts once."""
    records: dict[tuple[str, str], dict[str, bool]] = {}
    results: dict[tuple[str, str], int] = {}
    for one, other, each in pairs:
        records.setdefault((one, other), {})[each.record] = each.closed
        results[one, other] = results.get((one, other), 0) + each.results
    return {pair: Cell(len(refs), results[pair], sum(refs.values())) for pair, refs in records.items()}


def _counts(named: Iterable[tuple[tuple[str, str], str]]) -> dict[tuple[str, str], int]:
    """Return how many records name each pair."""
    refs: dict[tuple[str, str], set[str]] = {}
    for pair, record in named:
        refs.setdefault(pair, set()).add(record)
    return {pair: len(found) for pair, found in refs.items()}


def _breadth(pairs: Iterable[tuple[str, str]], rows: Sequence[str]) -> dict[str, int]:
    """Return on how many of the accelerators shown each engine or model was measured."""
    shown = set(rows)
    found: dict[str, set[str]] = {}
    for one, other in pairs:
        if one in shown:
            found.setdefault(other, set()).add(one)
    return {other: len(ones) for other, ones in found.items()}


def _other(measured: Measured, axis: Axis) -> str:
    return measured.engine if axis == "engine" else measured.model


def _ranked(named: Sequence[tuple[str, Measured]]) -> dict[str, int]:
    """Return how many open records name each, the most named first; one that only closed classes name has 0."""
    refs: dict[str, set[str]] = {name: set() for name, _ in named}
    for name, each in named:
        if not each.closed:
            refs[name].add(each.record)
    counts = {name: len(found) for name, found in refs.items()}
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
