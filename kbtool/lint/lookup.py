"""What a record rule may see beside its record: other records, and the file that it stands in."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar, overload

from kbtool.schema import Record
from kbtool.schema.base import StrictModel

__all__ = ["FileView", "Lookup", "strings"]

R = TypeVar("R", bound=StrictModel)


class Lookup:
    """Other records by reference, read when they are asked for.

    Every reference that is asked for is noted: when that record changes, the records whose rules
    looked at it are checked again.
    """

    def __init__(self, read: Callable[[str], StrictModel | None]) -> None:
        self._read = read
        self._asked: set[str] = set()

    @classmethod
    def over(cls, records: Mapping[str, StrictModel]) -> "Lookup":
        """Return a lookup over records that are already at hand."""
        return cls(records.get)

    @overload
    def get(self, ref: str | None) -> Record | None: ...
    @overload
    def get(self, ref: str | None, model: type[R]) -> R | None: ...

    def get(self, ref: str | None, model: type[Any] = Record) -> Any:
        """Return a record, or None where it does not exist, is broken, or is of another kind.

        A result's anchor (`benchmarks/x#decode`) is ignored; None gives None.
        """
        if ref is None:
            return None
        ref = ref.partition("#")[0]
        self._asked.add(ref)
        found = self._read(ref)
        return found if isinstance(found, model) else None

    def take_asked(self) -> frozenset[str]:
        """Return what was asked for since the last call."""
        asked = frozenset(self._asked)
        self._asked.clear()
        return asked


@dataclass(frozen=True)
class FileView:
    """The file of a record as it was read."""

    path: str
    """Relative to the project root."""
    kind: str
    text: str
    """The file decoded, comments included."""
    value: Mapping[str, Any]
    """The data as parsed, before the model."""

    @cached_property
    def strings(self) -> tuple[tuple[str, str], ...]:
        """Every text value with its JSON pointer, in the order of the file; keys are not among them."""
        return tuple(strings(self.value))


def strings(value: object, pointer: str = "") -> Iterator[tuple[str, str]]:
    """Yield every text inside plain data, with its JSON pointer."""
    if isinstance(value, str):
        yield pointer, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            escaped = key.replace("~", "~0").replace("/", "~1") if "/" in key or "~" in key else key
            yield from strings(inner, f"{pointer}/{escaped}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from strings(inner, f"{pointer}/{index}")
