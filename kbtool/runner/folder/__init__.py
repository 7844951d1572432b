"""The run folder: what is measured is on the disk before it counts, and is never changed once it does.

The order of calls of a run::

    with BoxLock(["gpu:GPU-6f3c", "endpoint:127.0.0.1:30000"], holder=Holder.this_process(command, started)):
        folder = RunFolder.create(root, run_id=..., runner_version=..., plan=..., run={...},
                                  environment={"host": {...}}, fingerprint={...})
        folder.append(LegStarted("mtp-3", {...}))
        for key in planned:
            if key in folder.sealed:
                continue
            cell = folder.begin_cell(key, {...})        # on the disk before the first request
            cell.write_round(1, traces, {...})          # between rounds: waits for the disk
            cell.write_table("telemetry", table)
            cell.seal({...})                            # from here on it counts; or cell.fail(reason, detail)
            folder.check()                              # raises what the syncing thread has met; costs nothing
        folder.finish()                                 # manifest.json
        folder.close()

`folder.append` never waits for the disk and may be called from any thread at any time; everything else
belongs between rounds. After a kill, a crash or a power cut::

    folder = RunFolder.open(root, Mode.RESUME, runner_version=..., fingerprint={...})   # then as above

and to read, while the run is going on or ever after::

    folder = RunFolder.open(root, Mode.READ)
    for key in folder.sealed:
        traces = folder.cell(key).read_round(1)         # checked against the seal first

`verify(root)` lists what is not as it was sealed; `pack(root, file)` makes one deterministic archive.

Everything raised is a `FolderError`. A `StorageError` (full disk, failed disk, read-only or vanished folder)
ends the writing: an `aborted` entry is written if it can be, what was sealed stays as it is, and the run is
resumed once the disk is mended.
"""

from kbtool.runner.folder.bag import pack
from kbtool.runner.folder.cell import Cell, CellWriter
from kbtool.runner.folder.entries import (
    Aborted,
    After,
    CellFailed,
    CellSealed,
    CellStarted,
    Entry,
    EnvironmentTaken,
    FileSeal,
    Interrupted,
    LegStarted,
    Resumed,
    RoundDone,
    RunFinished,
    RunStarted,
    SetAside,
    Warned,
)
from kbtool.runner.folder.errors import (
    CellStateError,
    DamagedError,
    EnvironmentChangedError,
    FolderError,
    LedgerDamagedError,
    LockedError,
    NotARunError,
    RawFileError,
    RunFinishedError,
    StorageError,
)
from kbtool.runner.folder.fs import FileSystem
from kbtool.runner.folder.layout import cell_key, make_run_id, request_id, safe_name
from kbtool.runner.folder.ledger import Clock, Line, Stamp
from kbtool.runner.folder.lock import BoxLock, Holder, box_lock_folder
from kbtool.runner.folder.options import FolderOptions, Mode, OnDamage
from kbtool.runner.folder.run import RunFolder
from kbtool.runner.folder.seal import Damage, DamageKind
from kbtool.runner.folder.state import CellState, CellStatus, RunState
from kbtool.runner.folder.table import Column, ColumnType, Table
from kbtool.runner.folder.verify import verify

__all__ = [
    "Aborted",
    "After",
    "BoxLock",
    "Cell",
    "CellFailed",
    "CellSealed",
    "CellStarted",
    "CellState",
    "CellStateError",
    "CellStatus",
    "CellWriter",
    "Clock",
    "Column",
    "ColumnType",
    "Damage",
    "DamageKind",
    "DamagedError",
    "Entry",
    "EnvironmentChangedError",
    "EnvironmentTaken",
    "FileSeal",
    "FileSystem",
    "FolderError",
    "FolderOptions",
    "Holder",
    "Interrupted",
    "LedgerDamagedError",
    "LegStarted",
    "Line",
    "LockedError",
    "Mode",
    "NotARunError",
    "OnDamage",
    "RawFileError",
    "Resumed",
    "RoundDone",
    "RunFinished",
    "RunFinishedError",
    "RunFolder",
    "RunStarted",
    "RunState",
    "SetAside",
    "Stamp",
    "StorageError",
    "Table",
    "Warned",
    "box_lock_folder",
    "cell_key",
    "make_run_id",
    "pack",
    "request_id",
    "safe_name",
    "verify",
]
