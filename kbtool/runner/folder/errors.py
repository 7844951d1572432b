"""What can be wrong with a run folder.

The tree, below `kbtool.errors.KbtoolError`::

    FolderError
    |-- StorageError             the disk is full, failed, became read-only, or the folder vanished (sysexits 74)
    |-- DamagedError             bytes are not those that were sealed
    |   `-- LedgerDamagedError   the ledger has intact lines after broken ones: no torn write looks so
    |-- NotARunError             there is no run here, or one that this version does not know
    |-- EnvironmentChangedError  the run was measured elsewhere than where it is to go on
    |-- RunFinishedError         the run is sealed as a whole: nothing may be added
    |-- CellStateError           the cell is sealed, open or unknown, and the call needs it otherwise
    |-- LockedError              another process works with the folder, the accelerators or the endpoint
    `-- RawFileError             a raw table cannot be read
"""

from kbtool.errors import ExitCode, KbtoolError

__all__ = [
    "CellStateError",
    "DamagedError",
    "EnvironmentChangedError",
    "FolderError",
    "LedgerDamagedError",
    "LockedError",
    "NotARunError",
    "RawFileError",
    "RunFinishedError",
    "StorageError",
]


class FolderError(KbtoolError):
    """Root of what can be wrong with a run folder."""


class StorageError(FolderError):
    """The disk did not take, or does not give, what belongs to the run.

    What was sealed before is untouched. Whether an `aborted` entry could still be written is said in
    `abort_recorded`. A program that ends with this says 74, EX_IOERR of sysexits.
    """

    exit_code = ExitCode.STORAGE
    abort_recorded: bool = False


class DamagedError(FolderError):
    """Bytes of the run are not those that were sealed."""


class LedgerDamagedError(DamagedError):
    """Lines of the ledger are broken, and lines after them are not."""


class NotARunError(FolderError):
    """There is no run here, or one of a version that is not known."""


class EnvironmentChangedError(FolderError):
    """The environment is not the one that the run was started in.

    Attributes:
        differences: One text for each fact that differs, with the old and the new value.
    """

    def __init__(self, message: str, differences: tuple[str, ...]) -> None:
        super().__init__(message)
        self.differences = differences


class RunFinishedError(FolderError):
    """The run is sealed as a whole: nothing may be added to it."""


class CellStateError(FolderError):
    """A cell is sealed, open or unknown, and the call needs it otherwise."""


class LockedError(FolderError):
    """Another process holds the lock."""


class RawFileError(FolderError):
    """A raw table is damaged, of an unknown version, or no raw table at all."""
