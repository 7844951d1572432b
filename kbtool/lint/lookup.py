"""What a record rule may see beside its record: other records, and the file that it stands in."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeVar, overload

from kbtool.analysis.parts import prose
from kbtool.schema import Record
from kbtool.schema.base import StrictModel

__all__ = ["FileView", "Lookup", "strings"]

R = TypeVar("R", bound=StrictModel)

_PLAIN_ADDRESS: Final = re.compile(
    r"https://(?!xn--)(?:[a-z0-9](?:-?[a-z0-9])*\.)+(?:ai|cn|co|com|de|dev|edu|gov|net|org)(?=[/\s\"',\]}])"
)
"""https, a host in lower-case letters under a well-known domain, and nothing else before the path."""


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
    record: StrictModel | None = None

    @cached_property
    def strings(self) -> tuple[tuple[str, str], ...]:
        """Every text value with its JSON pointer, in the order of the file; keys are not among them."""
        return tuple(strings(self.value))

    @cached_property
    def prose(self) -> tuple[tuple[str, str], ...]:
        """Every text in our own words with its JSON pointer, in the order of the model."""
        return tuple(prose(self.record)) if self.record is not None else ()

    @cached_property
    def lowered_prose(self) -> str:
        """The prose in lower case: a look for a word in it is cheaper than a search for a pattern."""
        return "\n".join([text for _, text in self.prose]).lower()

    @cached_property
    def lowered_text(self) -> str:
        """The file in lower case."""
        return self.text.lower()

    @cached_property
    def unusual_addresses(self) -> tuple[tuple[str, str], ...]:
        """Text values that are web addresses, with their JSON pointers; none where all are of the plainest form."""
        count = self.text.count("://")
        if not count or (count == len(_PLAIN_ADDRESS.findall(self.text)) and "\\" not in self.text):
            return ()
        return tuple(each for each in self.strings if each[1][:4].lower() == "http")


def strings(value: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return every text inside plain data, with its JSON pointer, in order."""
    found: list[tuple[str, str]] = []
    _collect(value, "", found)
    return found


def _collect(value: Any, pointer: str, found: list[tuple[str, str]]) -> None:
    """Add the texts inside a mapping or a list. Every record is walked by this, so that it is kept lean."""
    for key, inner in value.items() if type(value) is dict else enumerate(value):
        kind = type(inner)
        if kind is str:
            found.append((f"{pointer}/{key}", inner))
        elif kind is dict:
            keys = "".join(inner)
            _collect(_escaped(inner) if "/" in keys or "~" in keys else inner, f"{pointer}/{key}", found)
        elif kind is list:
            _collect(inner, f"{pointer}/{key}", found)


def _escaped(mapping: Mapping[str, Any]) -> dict[str, Any]:
    """Return a mapping with its keys as a JSON pointer writes them."""
    return {key.replace("~", "~0").replace("/", "~1"): value for key, value in mapping.items()}
