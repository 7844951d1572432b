"""The run folder as a whole: made, opened again, added to, finished."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from kbtool.runner.folder import layout
from kbtool.runner.folder.begin import begin_journal, check_new, lock_folder, write_first_files
from kbtool.runner.folder.cell import CELL_FILE, Cell, CellWriter, decode_json, encode_json
from kbtool.runner.folder.entries import (
    LEDGER_VERSION,
    CellStarted,
    Entry,
    EnvironmentTaken,
    RunFinished,
    RunStarted,
    plain,
)
from kbtool.runner.folder.errors import CellStateError, FolderError, NotARunError, RunFinishedError
from kbtool.runner.folder.fs import make_folder, write_whole
from kbtool.runner.folder.journal import Journal
from kbtool.runner.folder.ledger import NO_LINES, Line, Scan
from kbtool.runner.folder.lock import FileLock
from kbtool.runner.folder.options import (
    FolderOptions,
    Mode,
    OnDamage,
    guarded,
    make_reserve,
    read_ledger,
    read_run,
)
from kbtool.runner.folder.recover import recover
from kbtool.runner.folder.seal import files_below, read_sealed, seal_bytes, seal_file, write_manifest
from kbtool.runner.folder.state import CellState, CellStatus, RunState, apply

__all__ = ["RunFolder"]


class RunFolder:
    """A run on the disk. Make one with `create` or `open`, and close it."""

    def __init__(
        self,
        root: Path,
        *,
        options: FolderOptions,
        state: RunState,
        lock: FileLock | None,
        journal: Journal | None,
        ledger: Scan,
    ) -> None:
        self._root = root
        self._options = options
        self._fs = options.fs
        self._state = state
        self._lock = lock
        self._journal = journal
        self._ledger = ledger
        self._open_cell: str | None = None
        self._entering = threading.Lock()
        """Held while an entry is added, so that state and ledger have the same order."""

    @classmethod
    def create(
        cls,
        root: Path,
        *,
        run_id: str,
        runner_version: str,
        plan: bytes,
        run: Mapping[str, Any],
        environment: Mapping[str, Mapping[str, Any]],
        fingerprint: Mapping[str, Any],
        options: FolderOptions | None = None,
    ) -> Self:
        """Make a run folder: plan, environment and the first entry of the ledger are on the disk when this returns.

        Args:
            root: The folder; it must be missing or empty, and the one it is in must exist.
            run_id: See `layout.make_run_id`.
            runner_version: Version of kbtool.
            plan: The plan file, byte by byte.
            run: What the run is, for `run.json`.
            environment: Facts for `environment/NAME.json`, by name.
            fingerprint: The facts that must be the same when the run is resumed.
            options: How to write.

        Raises:
            FolderError: The folder is not empty, or the one it should be in is missing.
            LockedError: Another process works in it.
            StorageError: The disk did not take it; remove the folder and start again.
        """
        options = options or FolderOptions()
        check_new(root)
        with guarded(root, "making the run folder"):
            if not root.exists():
                make_folder(options.fs, root)
            lock = lock_folder(root, options)
            try:
                entry = RunStarted(
                    run_id=run_id,
                    ledger_version=LEDGER_VERSION,
                    runner_version=runner_version,
                    fingerprint=plain(fingerprint),
                    files=write_first_files(root, options.fs, plan, run, environment),
                )
                make_reserve(root, options)
                write_whole(options.fs, root / layout.LEDGER, b"")
                journal = begin_journal(root, options, entry)
            except BaseException:
                lock.release()
                raise
        return cls(root, options=options, state=RunState(entry), lock=lock, journal=journal, ledger=NO_LINES)

    @classmethod
    def open(
        cls,
        root: Path,
        mode: Mode,
        *,
        runner_version: str = "",
        fingerprint: Mapping[str, Any] | None = None,
        on_damage: OnDamage = OnDamage.REFUSE,
        options: FolderOptions | None = None,
    ) -> Self:
        """Open a run that exists.

        To resume it, the folder is locked, the environment compared, sealed files checked. Only then bytes
        after the last whole line are cut off, into `ledger.jsonl.torn.N`, half-written cells move to `aside/`,
        and a `resumed` entry says all that. A finished run takes nothing more; a missing manifest is completed.

        Args:
            root: The folder.
            mode: What for.
            runner_version: Version of kbtool; needed to resume.
            fingerprint: As given to `create`; needed to resume.
            on_damage: What to do with damaged cells.
            options: How to write.

        Raises:
            NotARunError: There is no run, or one of an unknown version.
            LockedError: Another process works with it.
            EnvironmentChangedError: The fingerprint differs. Nothing was changed.
            LedgerDamagedError: The ledger is broken before its end. Nothing was changed.
            DamagedError: A sealed file is not what it was. Nothing was changed.
            StorageError: The disk did not take what putting in order wrote; try again once that is mended.
        """
        options = options or FolderOptions()
        if mode is Mode.READ:
            ledger, state = read_run(root, options.fs)
            return cls(root, options=options, state=state, lock=None, journal=None, ledger=ledger)
        if fingerprint is None or not runner_version:
            raise ValueError(
                "to resume a run, give the fingerprint of the environment and the runner's version"
            )
        read_ledger(root, options.fs)  # before a lock file is put into a folder that is none of ours
        with guarded(root, "resuming the run"):
            lock = lock_folder(root, options)
            try:
                found = recover(root, runner_version, plain(fingerprint), on_damage, options)
                folder = cls(
                    root,
                    options=options,
                    state=found.state,
                    lock=lock,
                    journal=found.journal,
                    ledger=found.ledger,
                )
                if folder.finished:
                    folder._complete()
            except BaseException:
                lock.release()
                raise
        return folder

    @property
    def root(self) -> Path:
        """The folder."""
        return self._root

    @property
    def run_id(self) -> str:
        """See `layout.make_run_id`."""
        return self._state.started.run_id

    @property
    def state(self) -> RunState:
        """What the ledger tells up to now."""
        return self._state

    @property
    def lines(self) -> tuple[Line, ...]:
        """Every line of the ledger as it was when the folder was opened, for entries of any kind."""
        return self._ledger.lines

    @property
    def finished(self) -> bool:
        """Whether the run is sealed as a whole."""
        return self._state.finished is not None

    @property
    def plan(self) -> bytes:
        """The sealed copy of the plan; DamagedError where it is not what was sealed."""
        return self._read_first(layout.PLAN)

    def read_facts(self) -> dict[str, Any]:
        """Return what `run.json` says; DamagedError where it is not what was sealed."""
        return decode_json(self._read_first(layout.RUN), self._root / layout.RUN)

    def read_environment(self) -> dict[str, dict[str, Any]]:
        """Return every sealed file about the environment, by its name without `.json`, in the order written.

        Raises:
            DamagedError: One is not what was sealed.
        """
        return {
            Path(seal.path).stem: decode_json(read_sealed(self._root, seal, self._fs), self._root / seal.path)
            for seal in (*self._state.started.files, *self._state.environment)
            if seal.path.startswith(f"{layout.ENVIRONMENT}/")
        }

    @property
    def logs(self) -> Path:
        """Where logs go, redacted by whoever writes them; they are sealed when the run is finished."""
        return self._root / layout.LOGS

    @property
    def sealed(self) -> tuple[str, ...]:
        """Keys of the sealed cells, in the order in which they were begun."""
        return tuple(key for key, cell in self._state.cells.items() if cell.status is CellStatus.SEALED)

    def cell(self, key: str) -> Cell:
        """Return a cell that is sealed, or whose last attempt failed.

        Raises:
            CellStateError: There is none.
        """
        state = self._state.cells.get(key)
        if state is None or state.status not in {CellStatus.SEALED, CellStatus.FAILED}:
            found = "is unknown" if state is None else f"is {state.status}"
            raise CellStateError(
                f"{self._root}: cell {key!r} {found}: sealed are {', '.join(self.sealed) or 'none'}"
            )
        return Cell(self._root, state, self._fs)

    def append(self, entry: Entry) -> None:
        """Append an entry to the ledger; it is on the disk within `sync_interval_s`. Does not wait for the disk.

        Raises:
            StorageError: The disk did not take it.
            RunFinishedError: The run is finished.
        """
        self.record(entry, durably=False)

    def check(self) -> None:
        """Raise StorageError if the disk failed since, or the folder vanished. Cheap: call it at every step."""
        self._writable().check()

    def write_environment(self, name: str, facts: Mapping[str, Any]) -> str:
        """Write facts about the environment to a file of its own, seal it, and return its path in the run.

        Raises:
            StorageError: The disk did not take it.
        """
        self._writable()
        stem = f"{layout.ENVIRONMENT}/{layout.safe_name(name)}"
        taken = (self._root / f"{stem}.json").exists()
        path = layout.free_path(self._root, stem, ".json") if taken else f"{stem}.json"
        data = encode_json(facts)
        self.put(path, data)
        self.record(EnvironmentTaken(name, (seal_bytes(path, data),)), durably=True)
        return path

    def begin_cell(self, key: str, facts: Mapping[str, Any] | None = None) -> CellWriter:
        """Begin a cell: what it is meant to be is on the disk, in `cell.json`, before its first request.

        Args:
            key: What tells the cell from all others; see `layout.cell_key`.
            facts: What the cell is meant to be.

        Raises:
            CellStateError: It is sealed already, or another cell has not ended.
            StorageError: The disk did not take it.
        """
        self._writable()
        known = self._state.cells.get(key)
        if known is not None and known.status is CellStatus.SEALED:
            raise CellStateError(f"{self._root}: cell {key!r} is sealed: skip it")
        self._check_no_open_cell()
        attempt = self._state.next_attempt(key)
        state = CellState(key, CellStatus.OPEN, attempt, layout.cell_folder(key, attempt))
        about = encode_json({"cell": key, "attempt": attempt, "facts": dict(facts or {})})
        with self._failing(f"beginning cell {key!r}"):
            make_folder(self._fs, self._root / state.folder)
        self.record(CellStarted(key, attempt, state.folder, dict(facts or {})), durably=True)
        self._open_cell = key
        writer = CellWriter(self, state, self._end_cell)
        writer.write_bytes(CELL_FILE, about)
        return writer

    def finish(self, facts: Mapping[str, Any] | None = None) -> Path:
        """Seal the run as a whole, and return the path of its manifest. Logs must be closed by now.

        Raises:
            CellStateError: A cell has not ended.
            StorageError: The disk did not take it; open the run again to complete it.
        """
        self._writable()
        self._check_no_open_cell()
        with self._failing("sealing the logs"):
            logs = tuple(
                seal_file(self._root, path, self._fs) for path in files_below(self._root, layout.LOGS)
            )
        entry = RunFinished(len(self.sealed), len(self._state.failed), logs, dict(facts or {}))
        self.record(entry, durably=True)
        with guarded(self._root, "sealing the run"):
            self._complete()
        return self._root / layout.MANIFEST

    def close(self) -> None:
        """Sync what is left and give the folder back; a second call does nothing.

        Raises:
            StorageError: What is left did not reach the disk.
        """
        journal, self._journal = self._journal, None
        lock, self._lock = self._lock, None
        try:
            if journal is not None:
                with guarded(self._root, "closing the ledger"):
                    journal.close()
        finally:
            if lock is not None:
                lock.release()

    def __enter__(self) -> Self:
        """Return the folder."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the folder."""
        self.close()

    def put(self, path: str, data: bytes) -> None:
        """Write a file of the run, durably; it counts once an entry seals it."""
        self._writable()
        with self._failing(f"writing {path}"):
            write_whole(self._fs, self._root / path, data)

    def record(self, entry: Entry, *, durably: bool) -> None:
        """Append an entry, and wait for the disk if asked to."""
        journal = self._writable()
        with self._entering:
            journal.append(entry)
            self._state = apply(self._state, entry)
        if durably:
            journal.sync()

    def _writable(self) -> Journal:
        if self.finished:
            raise RunFinishedError(f"{self._root}: the run is finished and sealed: start another one")
        if self._journal is None:
            raise FolderError(f"{self._root}: is closed, or open for reading: open it with Mode.RESUME")
        self._journal.check()
        return self._journal

    def _check_no_open_cell(self) -> None:
        if self._open_cell is not None:
            key = self._open_cell
            raise CellStateError(f"{self._root}: cell {key!r} has not ended: seal it, or let it fail, first")

    def _end_cell(self) -> None:
        self._open_cell = None

    def _read_first(self, path: str) -> bytes:
        for seal in self._state.started.files:
            if seal.path == path:
                return read_sealed(self._root, seal, self._fs)
        raise NotARunError(f"{self._root}: the ledger names no {path}: it was not written by kbtool")

    @contextmanager
    def _failing(self, doing: str) -> Iterator[None]:
        """Turn a failure of the disk into the end of the run's writing."""
        try:
            yield
        except OSError as error:
            raise self._writable().give_up(error, doing, self._root) from error

    def _complete(self) -> None:
        """Close the ledger, free the reserve and write the manifest, unless it is there."""
        journal, self._journal = self._journal, None
        if journal is not None:
            journal.close()
        if not (self._root / layout.MANIFEST).exists():
            head = journal.head if journal is not None else self._ledger.lines[-1].sha256
            write_manifest(self._root, self._state.started, head, self._fs)
