"""What a check found, and the edit that would mend it: plain data without behaviour.

Every layer that looks at records reports in this one form, so that a printer, the site and
an editor extension read the same thing.
"""

from dataclasses import dataclass
from typing import Literal

__all__ = ["Edit", "Finding", "Severity"]

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """Replace the code points `start` to `end` (exclusive) of a file's decoded text by `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault at one place.

    `message` may quote hostile text from a record; whoever prints it escapes it
    (`kbtool.escape`).
    """

    path: str
    """POSIX path relative to the project root."""
    line: int
    """1-based."""
    column: int
    """1-based, counted in code points."""
    code: str
    """Stable code, such as `T001`."""
    name: str
    """The thing flagged, such as `layout-larger-than-system`."""
    severity: Severity
    message: str
    """What was found, what was expected, what to do; in this order."""
    pointer: str = ""
    """JSON pointer of the place inside the record; empty for the whole file."""
    suggestion: str | None = None
    """The nearest valid name, where there is one; the message quotes it too."""
    edits: tuple[Edit, ...] = ()
    """A mechanical repair that cannot change meaning; empty where a person must decide."""
    end_line: int = 0
    end_column: int = 0

    def sort_key(self) -> tuple[str, int, int, str, str]:
        """Return the order in which findings are always reported."""
        return (self.path, self.line, self.column, self.code, self.message)
