"""Cells of a run: written once, sealed, and read back only as they were sealed."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

from kbtool.runner.folder import layout
from kbtool.runner.folder.entries import CellFailed, CellSealed, Entry, FileSeal, RoundDone, plain
from kbtool.runner.folder.errors import CellStateError, DamagedError
from kbtool.runner.folder.fs import FileSystem
from kbtool.runner.folder.raw import decode_traces, encode_traces
from kbtool.runner.folder.seal import read_sealed, seal_bytes
from kbtool.runner.folder.state import CellState
from kbtool.runner.folder.table import Table, decode, encode
from kbtool.runner.trace import RequestTrace

__all__ = ["CELL_FILE", "Cell", "CellWriter", "Store", "decode_json", "encode_json"]

CELL_FILE: Final = "cell.json"
"""What the cell is meant to be: written before its first request."""


def encode_json(value: Mapping[str, Any]) -> bytes:
    """Return facts as the bytes of a JSON file: keys in the order given, no NaN."""
    return (json.dumps(plain(value), indent=1, allow_nan=False) + "\n").encode()


def decode_json(data: bytes, place: Path) -> dict[str, Any]:
    """Return the facts in the bytes of a JSON file.

    Raises:
        DamagedError: They hold no JSON object.
    """
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"{place}: is no JSON ({error}): it was not written by kbtool") from error
    if not isinstance(found, dict):
        raise DamagedError(f"{place}: holds no JSON object: it was not written by kbtool")
    return found


class Store(Protocol):
    """What a cell needs of its run."""

    def put(self, path: str, data: bytes) -> None:
        """Write a file, durably."""

    def record(self, entry: Entry, *, durably: bool) -> None:
        """Append an entry to the ledger."""


class CellWriter:
    """One attempt at a cell, from its first round to its seal. Made by `RunFolder.begin_cell`.

    Every method that writes raises StorageError when the disk does not take it, and CellStateError once
    the cell has ended.
    """

    def __init__(self, store: Store, state: CellState, on_end: Callable[[], None]) -> None:
        self._store = store
        self._state = state
        self._on_end = on_end
        self._files: dict[str, FileSeal] = {}
        self._ended = False

    @property
    def key(self) -> str:
        """Key of the cell."""
        return self._state.key

    @property
    def attempt(self) -> int:
        """Number of this attempt, from 1."""
        return self._state.attempt

    def write_round(
        self, number: int, traces: Sequence[RequestTrace], facts: Mapping[str, Any] | None = None
    ) -> None:
        """Write a round: its requests, its events, and facts about it. All are on the disk when this returns.

        Args:
            number: From 1; 0 for a round before the measured ones.
            traces: Every request of the round, failed ones too.
            facts: What else belongs to the round, such as the client's health.
        """
        requests, events = encode_traces(traces)
        contents = {
            layout.requests_name(number): requests,
            layout.events_name(number): events,
            layout.round_name(number): encode_json(facts or {}),
        }
        own = tuple(self._put(name, data) for name, data in contents.items())
        n_events = sum(len(trace.chunks) for trace in traces)
        entry = RoundDone(self.key, self.attempt, number, len(traces), n_events, own, {})
        self._store.record(entry, durably=False)

    def write_table(self, name: str, table: Table) -> None:
        """Write a table, such as telemetry, as `NAME.parquet`."""
        self._put(f"{name}.parquet", encode(table))

    def write_json(self, name: str, facts: Mapping[str, Any]) -> None:
        """Write facts as `NAME.json`."""
        self._put(f"{name}.json", encode_json(facts))

    def write_bytes(self, name: str, data: bytes) -> None:
        """Write a file of any other kind, such as a server's answer to be kept."""
        self._put(name, data)

    def seal(self, facts: Mapping[str, Any] | None = None) -> None:
        """End the cell: from here on it counts, and nothing of it changes. The seal is on the disk when this returns."""
        self._check_open()
        files = tuple(self._files[name] for name in sorted(self._files))
        entry = CellSealed(self.key, self.attempt, self._state.folder, files, dict(facts or {}))
        self._store.record(entry, durably=True)
        self._end()

    def fail(self, reason: str, detail: str = "") -> None:
        """End the cell without a result. What was written is kept and sealed; a next attempt has its own folder."""
        self._check_open()
        files = tuple(self._files[name] for name in sorted(self._files))
        entry = CellFailed(self.key, self.attempt, self._state.folder, reason, detail, files)
        self._store.record(entry, durably=True)
        self._end()

    def _put(self, name: str, data: bytes) -> FileSeal:
        self._check_open()
        if layout.safe_name(name) != name:
            raise ValueError(
                f"{name!r} is no name for a file of a cell: use lower-case letters, digits, '.', '-' and '_'"
            )
        if name in self._files:
            raise CellStateError(
                f"cell {self.key!r} has a file {name} already: a cell's files are written once"
            )
        path = f"{self._state.folder}/{name}"
        self._store.put(path, data)
        self._files[name] = seal_bytes(path, data)
        return self._files[name]

    def _check_open(self) -> None:
        if self._ended:
            raise CellStateError(
                f"cell {self.key!r}, attempt {self.attempt}, has ended: begin another attempt"
            )

    def _end(self) -> None:
        self._ended = True
        self._on_end()


class Cell:
    """A cell that has ended, read back. Every file is checked against its seal before it is used."""

    def __init__(self, root: Path, state: CellState, fs: FileSystem) -> None:
        self._root = root
        self._fs = fs
        self.state = state
        self._seals = {seal.path.removeprefix(f"{state.folder}/"): seal for seal in state.files}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its files."""
        return tuple(sorted(self._seals))

    @property
    def rounds(self) -> tuple[int, ...]:
        """Numbers of its rounds."""
        suffix = layout.requests_name(0).removeprefix("round-00")
        stems = [name.removesuffix(suffix) for name in self._seals if name.endswith(suffix)]
        return tuple(
            sorted(int(number) for stem in stems if (number := stem.removeprefix("round-")).isdecimal())
        )

    def read_bytes(self, name: str) -> bytes:
        """Return a file.

        Raises:
            CellStateError: The cell has no such file.
            DamagedError: It is not what was sealed.
        """
        seal = self._seals.get(name)
        if seal is None:
            raise CellStateError(
                f"cell {self.state.key!r} has no file {name}: it has {', '.join(self.names)}"
            )
        return read_sealed(self._root, seal, self._fs)

    def read_json(self, name: str) -> dict[str, Any]:
        """Return the facts in `NAME.json`.

        Raises:
            CellStateError: The cell has no such file.
            DamagedError: It is not what was sealed, or no JSON object.
        """
        return decode_json(self.read_bytes(f"{name}.json"), self._root / self.state.folder / f"{name}.json")

    def read_round(self, number: int) -> tuple[RequestTrace, ...]:
        """Return the requests of a round.

        Raises:
            CellStateError: The cell has no such round.
            DamagedError: Its files are not what was sealed.
            RawFileError: This kbtool does not know their version.
        """
        requests = self.read_bytes(layout.requests_name(number))
        events = self.read_bytes(layout.events_name(number))
        return decode_traces(requests, events, place=f"{self._root / self.state.folder}, round {number}")

    def read_round_facts(self, number: int) -> dict[str, Any]:
        """Return the facts that were written with a round; raises as `read_json` does."""
        return self.read_json(layout.round_name(number).removesuffix(".json"))

    def read_table(self, name: str, *, kind: str, versions: Sequence[int]) -> Table:
        """Return the table in `NAME.parquet`; raises as `read_round` does."""
        place = f"{self._root / self.state.folder}/{name}.parquet"
        return decode(self.read_bytes(f"{name}.parquet"), kind=kind, versions=versions, place=place)
