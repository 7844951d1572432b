"""What is wrong with a result file: one exception, with place, finding, expectation and remedy."""

from kbtool.errors import RecordError
from kbtool.escape import terminal

__all__ = ["IngestError", "shown"]

_LONGEST_SHOWN = 60


class IngestError(RecordError):
    """A result file cannot be read, or says something that no record can hold."""

    def __init__(self, name: str, place: str, found: str, expected: str, remedy: str) -> None:
        self.name = name
        self.place = place
        """Where in the file, such as `benchmarks[0].metrics` or `line 3`; empty for the whole file."""
        where = f"{name}: {place}" if place else name
        super().__init__(f"{where}: {found}; expected {expected}: {remedy}")


def shown(value: object) -> str:
    """Return a short text of any value of a file, safe to print."""
    text = repr(value) if isinstance(value, str) else str(value)
    short = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."
    return terminal(short)
