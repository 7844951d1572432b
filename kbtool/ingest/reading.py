"""One file being read: values by path with their types checked, and an account of what was used.

Whatever a reader does not ask for is found at the end and listed, so that nothing of a file is dropped
in silence.
"""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

from kbtool.ingest.document import NotFinite
from kbtool.ingest.fault import IngestError, shown
from kbtool.ingest.model import LeftOut

__all__ = ["Path", "Reading", "Reasons", "path_text"]

Path = tuple[str | int, ...]
Reasons = Mapping[str, tuple[str, str]]
"""Pattern of a path, with `*` for any part -> kind (`irrelevant` or `unmapped`) and reason."""
_NUMBER_TEXT: Final = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,2})?")
_LONGEST_NUMBER: Final = 60


def path_text(path: Path) -> str:
    """Return a path as it is written in an evidence: `benchmarks[0].metrics.mean`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif re.fullmatch(r"[\w./ ()%-]{1,80}", part) and ("." not in part or len(path) == 1):
            text += f".{part}" if text else part
        else:
            text += f"[{shown(part)}]"
    return text


class Reading:
    """The data of one file, and which parts of it have been used."""

    def __init__(self, name: str, root: Any, *, text_numbers: bool = False) -> None:
        self.name = name
        self.root = root
        self._text_numbers = text_numbers
        """Whether numbers may be written as text, as in a table or in our reading of YAML."""
        self._used: set[Path] = set()
        self._above: set[Path] = set()

    def use(self, *path: str | int) -> None:
        """Mark a part as accounted for."""
        self._used.add(path)
        self._above.update(path[:end] for end in range(len(path)))

    def peek(self, *path: str | int) -> Any:
        """Return a value without using it; None where there is none."""
        value = self.root
        for part in path:
            if isinstance(part, str) and isinstance(value, dict):
                value = value.get(part)
            elif isinstance(part, int) and isinstance(value, list) and part < len(value):
                value = value[part]
            else:
                return None
        return value

    def value(self, *path: str | int) -> Any:
        """Return a value and mark it as used; None where there is none."""
        value = self.peek(*path)
        if value is not None or self._is_there(path):
            self.use(*path)
        return value

    def number(self, *path: str | int) -> Decimal | None:
        """Return a finite number; None where it is absent or null.

        Raises:
            IngestError: It is something else.
        """
        value = self.value(*path)
        if value is None:
            return None
        if isinstance(value, Decimal):
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return Decimal(value)
        if (
            self._text_numbers
            and isinstance(value, str)
            and len(value) <= _LONGEST_NUMBER
            and _NUMBER_TEXT.fullmatch(value)
        ):
            return Decimal(value)
        raise self.wrong(path, value, "a finite number")

    def count(self, *path: str | int) -> int | None:
        """Return a whole number of at least 0; None where it is absent or null.

        Raises:
            IngestError: It is something else.
        """
        number = self.number(*path)
        if number is None:
            return None
        if number < 0 or number != number.to_integral_value():
            raise self.wrong(path, number, "a whole number of at least 0")
        return int(number)

    def text(self, *path: str | int) -> str | None:
        """Return a text; None where it is absent, null or empty.

        Raises:
            IngestError: It is something else.
        """
        value = self.value(*path)
        if value is None or value == "":
            return None
        if not isinstance(value, str):
            raise self.wrong(path, value, "text")
        return value

    def mapping(self, *path: str | int) -> dict[str, Any]:
        """Return a mapping without using it; empty where it is absent or null.

        Raises:
            IngestError: It is something else.
        """
        value = self.peek(*path)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self.wrong(path, value, "an object")
        return value

    def sequence(self, *path: str | int) -> list[Any]:
        """Return a list without using it; empty where it is absent or null.

        Raises:
            IngestError: It is something else.
        """
        value = self.peek(*path)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.wrong(path, value, "a list")
        return value

    def numbers(self, *path: str | int) -> list[Decimal]:
        """Return a list of finite numbers and mark it as used; empty where it is absent or null.

        Raises:
            IngestError: It is something else.
        """
        items = self.sequence(*path)
        if items or self._is_there(path):
            self.use(*path)
        for index, item in enumerate(items):
            if isinstance(item, bool) or not isinstance(item, int | Decimal):
                raise self.wrong((*path, index), item, "a finite number")
        return [Decimal(each) for each in items]

    def wrong(self, path: Path, value: Any, expected: str) -> IngestError:
        """Return the error for a value of the wrong type."""
        kind = "text " if isinstance(value, str) else ""
        if isinstance(value, dict | list):
            found = "an object" if isinstance(value, dict) else f"a list of {len(value)}"
        else:
            found = f"{kind}{shown(value)}"
        remedy = (
            "look whether the run succeeded"
            if isinstance(value, NotFinite)
            else "check that the file is unchanged"
        )
        return IngestError(self.name, path_text(path), found, expected, remedy)

    def left_out(self, reasons: Reasons) -> tuple[LeftOut, ...]:
        """Return the parts that were not used, each as high up as possible, with the reason where one is known."""
        alike: dict[Path, list[Path]] = {}
        for path in self._unused((), self.root):
            alike.setdefault(tuple("*" if isinstance(part, int) else part for part in path), []).append(path)
        found = []
        for paths in alike.values():
            kind, reason = _reason(paths[0], reasons)
            place = path_text(paths[0]) if len(paths) == 1 else _general_text(paths[0])
            found.append(LeftOut(place, kind, reason))  # type: ignore[arg-type]
        return tuple(found)

    def _is_there(self, path: Path) -> bool:
        above = self.peek(*path[:-1])
        return isinstance(above, dict) and path[-1] in above

    def _unused(self, path: Path, value: Any) -> Iterator[Path]:
        if path in self._used:
            return
        if path and path not in self._above:
            yield path
            return
        items: Any = (
            value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        )
        for part, inner in items:
            yield from self._unused((*path, part), inner)


def _general_text(first: Path) -> str:
    """Return a path that stands for all that differ in an index alone."""
    marked = tuple(-1 if isinstance(part, int) else part for part in first)
    return path_text(marked).replace("[-1]", "[*]")


_UNKNOWN: Final = ("unknown", "a key that this reader does not know")


def _reason(path: Path, reasons: Reasons) -> tuple[str, str]:
    """Return the reason of the longest pattern that fits the path or a part above it."""
    for end in range(len(path), 0, -1):
        for pattern, reason in reasons.items():
            parts = pattern.split("/")
            if len(parts) == end and all(
                wanted in ("*", str(part)) for wanted, part in zip(parts, path[:end], strict=True)
            ):
                return reason
    return _UNKNOWN
