"""What a ledger's entries amount to: pure functions from lines to the state of a run."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from kbtool.runner.folder.entries import (
    LEDGER_VERSION,
    Aborted,
    After,
    CellFailed,
    CellSealed,
    CellStarted,
    Entry,
    EnvironmentTaken,
    FileSeal,
    Interrupted,
    Resumed,
    RunFinished,
    RunStarted,
)
from kbtool.runner.folder.errors import NotARunError
from kbtool.runner.folder.ledger import Line

__all__ = ["CellState", "CellStatus", "RunState", "apply", "replay"]

_ENDINGS = {Interrupted.kind: After.INTERRUPTED, Aborted.kind: After.ABORTED}


class CellStatus(StrEnum):
    """How far a cell has come."""

    OPEN = "open"
    """Begun and not ended: half-written, if its runner is gone."""
    SEALED = "sealed"
    FAILED = "failed"
    ABANDONED = "abandoned"
    """Was half-written or damaged when the run was resumed; to be measured again."""


@dataclass(frozen=True, slots=True)
class CellState:
    """One attempt at a cell."""

    key: str
    status: CellStatus
    attempt: int
    folder: str
    """Relative to the run folder."""
    files: tuple[FileSeal, ...] = ()
    """Sealed files; none before the cell has ended."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Given when the cell was sealed."""
    reason: str = ""
    """Why it failed."""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class RunState:
    """A run as its ledger tells it."""

    started: RunStarted
    environment: tuple[FileSeal, ...] = ()
    cells: Mapping[str, CellState] = field(default_factory=dict)
    """The last attempt at each cell, in the order in which they were begun."""
    failed: tuple[CellState, ...] = ()
    """Every attempt that failed."""
    ending: After = After.KILLED
    """How it ended, if it has: nobody writes down a kill."""
    finished: RunFinished | None = None

    @property
    def seals(self) -> tuple[FileSeal, ...]:
        """Seals of every file that must still be as it was written."""
        cells = [cell for cell in self.cells.values() if cell.status is CellStatus.SEALED]
        logs = self.finished.files if self.finished else ()
        own = (*self.started.files, *self.environment, *logs)
        return (*own, *(seal for cell in (*self.failed, *cells) for seal in cell.files))

    @property
    def kept_folders(self) -> frozenset[str]:
        """Folders of cells that are sealed or failed: they stay where they are."""
        sealed = {cell.folder for cell in self.cells.values() if cell.status is CellStatus.SEALED}
        return frozenset(sealed | {cell.folder for cell in self.failed})

    def next_attempt(self, key: str) -> int:
        """Return the number of the next attempt at a cell: only failed ones are counted."""
        return 1 + sum(cell.key == key for cell in self.failed)


def replay(lines: Iterable[Line], place: object) -> RunState:
    """Return the state after all lines.

    Raises:
        NotARunError: The first line does not start a run, or one of a later version.
        DamagedError: An entry is not what its kind must be.
    """
    remaining = iter(lines)
    first = next(remaining, None)
    if first is None or first.kind != RunStarted.kind:
        raise NotARunError(
            f"{place}: the ledger starts no run: the runner ended before it could measure anything. "
            "Remove the folder, and start the run again"
        )
    version = first.data.get("ledger_version")
    if version != LEDGER_VERSION:
        raise NotARunError(
            f"{place}: version {version!r} of the run folder, and this kbtool reads {LEDGER_VERSION}: "
            "use the kbtool that wrote it, or a later one"
        )
    state = RunState(first.read(RunStarted))
    for line in remaining:
        kind = _STATEFUL.get(line.kind)
        if kind is not None:
            state = apply(state, line.read(kind))
    return state


_STATEFUL: Mapping[str, type[Entry]] = {
    kind.kind: kind
    for kind in (
        EnvironmentTaken,
        CellStarted,
        CellSealed,
        CellFailed,
        Interrupted,
        Aborted,
        Resumed,
        RunFinished,
    )
}


def apply(state: RunState, entry: Entry) -> RunState:
    """Return the state after one more entry; kinds that change nothing here are passed over."""
    match entry:
        case EnvironmentTaken():
            state = replace(state, environment=(*state.environment, *entry.files))
        case CellStarted():
            state = _with_cell(state, CellState(entry.cell, CellStatus.OPEN, entry.attempt, entry.folder))
        case CellSealed():
            state = _with_cell(state, _sealed(entry))
        case CellFailed():
            cell = _failed(entry)
            state = replace(_with_cell(state, cell), failed=(*state.failed, cell))
        case Interrupted() | Aborted():
            state = replace(state, ending=_ENDINGS[entry.kind])
        case Resumed():
            state = _after_resume(state, entry)
        case RunFinished():
            state = replace(state, finished=entry)
    return state


def _sealed(entry: CellSealed) -> CellState:
    status = CellStatus.SEALED
    return CellState(entry.cell, status, entry.attempt, entry.folder, entry.files, entry.facts)


def _failed(entry: CellFailed) -> CellState:
    return CellState(
        entry.cell,
        CellStatus.FAILED,
        entry.attempt,
        entry.folder,
        entry.files,
        reason=entry.reason,
        detail=entry.detail,
    )


def _with_cell(state: RunState, cell: CellState) -> RunState:
    return replace(state, cells={**state.cells, cell.key: cell})


def _after_resume(state: RunState, entry: Resumed) -> RunState:
    cells = {}
    for key, cell in state.cells.items():
        lost = cell.status is CellStatus.OPEN or key in entry.withdrawn
        cells[key] = replace(cell, status=CellStatus.ABANDONED, files=()) if lost else cell
    return replace(state, cells=cells, ending=After.KILLED)
