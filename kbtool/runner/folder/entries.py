"""What the ledger says: one frozen dataclass for each kind of entry.

To add a kind, write another subclass of `Entry` with a `kind` of its own: nothing needs to be told about
it. A reader asks a line for the class it expects, `line.read(RoundDone)`, and passes over kinds that it
does not know.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from functools import cache
from typing import Any, ClassVar, Final, TypeVar, cast

from pydantic import ConfigDict, TypeAdapter

__all__ = [
    "LEDGER_VERSION",
    "Aborted",
    "After",
    "CellFailed",
    "CellSealed",
    "CellStarted",
    "Entry",
    "EnvironmentTaken",
    "FileSeal",
    "Interrupted",
    "LegStarted",
    "Resumed",
    "RoundDone",
    "RunFinished",
    "RunStarted",
    "SetAside",
    "Warned",
    "parse",
    "plain",
]

LEDGER_VERSION: Final = 1
"""Version of the ledger and of the folder's layout. A reader refuses a later one."""

E = TypeVar("E")


def parse(kind: type[E], text: str | bytes) -> E:
    """Return a dataclass from JSON, checked strictly: no key too many, none missing, no type taken for another.

    Raises:
        pydantic.ValidationError: The JSON is not what the class has.
    """
    # JSON mode, so that arrays may stand for tuples, and nothing else for anything else.
    checked: E = _adapter(cast("Hashable", kind)).validate_json(text, strict=True)
    return checked


@cache
def _adapter(kind: Hashable) -> TypeAdapter[Any]:
    return TypeAdapter(cast("type[Any]", kind))


def plain(value: Any) -> Any:
    """Return a value as JSON can say it: dataclasses and mappings as objects, tuples as arrays.

    Lone surrogates, which a hostile server can put into a text and UTF-8 cannot hold, become visible escapes.

    Raises:
        TypeError: JSON has no such thing, or a key is no text.
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise TypeError(f"a key of {sorted(map(repr, value))[:5]} is no text")
        return {plain(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if value is None or isinstance(value, (bool, int, float)):
        return value
    raise TypeError(
        f"{type(value).__name__} cannot be written to the ledger: give text, numbers, lists or mappings"
    )


@dataclass(frozen=True, slots=True)
class FileSeal:
    """The exact bytes of a file."""

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")

    path: str
    """Relative to the run folder, with `/`."""
    size_bytes: int
    sha256: str
    """64 hexadecimal digits."""


class After(StrEnum):
    """How the run had ended before it was resumed."""

    KILLED = "killed"
    """Without a word: kill -9, a crash, or a power cut."""
    INTERRUPTED = "interrupted"
    ABORTED = "aborted"


@dataclass(frozen=True, slots=True)
class SetAside:
    """A cell's folder that is moved out of the way, right after the entry that says so."""

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")

    source: str
    target: str
    reason: str
    n_files: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the ledger; its fields hold what JSON can say, and `FileSeal` for files."""

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")
    kind: ClassVar[str] = ""


@dataclass(frozen=True, slots=True)
class RunStarted(Entry):
    """First entry: what the run is, and where it is measured. It is on the disk before anything is sent."""

    kind: ClassVar[str] = "run_started"

    run_id: str
    ledger_version: int
    runner_version: str
    fingerprint: Mapping[str, Any]
    """Facts that must be the same when the run is resumed."""
    files: tuple[FileSeal, ...]


@dataclass(frozen=True, slots=True)
class EnvironmentTaken(Entry):
    """A file about the environment was written."""

    kind: ClassVar[str] = "environment"

    name: str
    files: tuple[FileSeal, ...]


@dataclass(frozen=True, slots=True)
class LegStarted(Entry):
    """A leg began: one state of the server under test, such as one value of a setting."""

    kind: ClassVar[str] = "leg_started"

    leg: str
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CellStarted(Entry):
    """A cell began."""

    kind: ClassVar[str] = "cell_started"

    cell: str
    attempt: int
    folder: str
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RoundDone(Entry):
    """A round's raw data is on the disk; it counts once its cell is sealed."""

    kind: ClassVar[str] = "round_done"

    cell: str
    attempt: int
    number: int
    n_requests: int
    n_events: int
    files: tuple[FileSeal, ...]
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CellSealed(Entry):
    """A cell is complete. From here on its bytes do not change."""

    kind: ClassVar[str] = "cell_sealed"

    cell: str
    attempt: int
    folder: str
    files: tuple[FileSeal, ...]
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CellFailed(Entry):
    """A cell came to nothing; what was measured of it is kept, sealed, and in no statistic."""

    kind: ClassVar[str] = "cell_failed"

    cell: str
    attempt: int
    folder: str
    reason: str
    detail: str
    files: tuple[FileSeal, ...]


@dataclass(frozen=True, slots=True)
class Warned(Entry):
    """Something that a reader of the figures must know."""

    kind: ClassVar[str] = "warning"

    code: str
    detail: str
    cell: str | None = None


@dataclass(frozen=True, slots=True)
class Interrupted(Entry):
    """The operator, or the system, asked the run to end."""

    kind: ClassVar[str] = "interrupted"

    signal: str
    detail: str


@dataclass(frozen=True, slots=True)
class Aborted(Entry):
    """The run could not go on."""

    kind: ClassVar[str] = "aborted"

    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class Resumed(Entry):
    """The run goes on, after the folder was put in order."""

    kind: ClassVar[str] = "resumed"

    runner_version: str
    after: After
    cut_bytes: int
    """Bytes after the last whole line that were cut off."""
    torn: str | None
    """The file that keeps them."""
    withdrawn: tuple[str, ...]
    """Cells that were sealed and are damaged: to be measured again."""
    set_aside: tuple[SetAside, ...]


@dataclass(frozen=True, slots=True)
class RunFinished(Entry):
    """Last entry: everything that was planned is sealed or failed."""

    kind: ClassVar[str] = "run_finished"

    n_sealed: int
    n_failed: int
    files: tuple[FileSeal, ...]
    """Logs, whose bytes change no more."""
    facts: Mapping[str, Any]
