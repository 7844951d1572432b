"""What a published set of results becomes: many drafts from one source, and a reason for each row that becomes none."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from types import MappingProxyType
from typing import Any, Final

from kbtool.escape import terminal
from kbtool.ingest.model import LeftOut
from kbtool.ingest.plain import left_out, validated
from kbtool.schema import Accelerator, Benchmark, Source

__all__ = [
    "Catalogue",
    "Drafts",
    "File",
    "Origin",
    "Refused",
    "RowRefusedError",
    "complete",
    "line",
    "slug",
]

_LONGEST_LINE: Final = 300


@dataclass(frozen=True, slots=True)
class File:
    """One file of a set."""

    name: str
    """Path as it was given: a set may tell from it which row a file belongs to."""
    data: bytes


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The records that drafts may refer to; nothing is referred to that is not there."""

    accelerators: Mapping[str, Accelerator] = field(default_factory=lambda: MappingProxyType({}))
    """By id."""
    engines: frozenset[str] = frozenset()
    models: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Origin:
    """What the files do not say about themselves."""

    accessed: date
    """Day on which they were read."""
    commit: str | None = None
    """Commit of the repository that they were read from."""
    path: str | None = None
    """Path in the repository, where a file's own name does not say it."""
    url: str | None = None
    """Where the files are published, where that is not told by repository and commit."""

    def reading(self) -> dict[str, Any]:
        """Return the fields of a source record that say when the files were read, and that they were."""
        return {
            "updated": self.accessed,
            "accessed": self.accessed,
            "last_checked": {"day": self.accessed, "outcome": "stored_copy_read"},
        }


@dataclass(frozen=True, slots=True)
class Refused:
    """One row that became no draft."""

    row: str
    reason: str


@dataclass(frozen=True, slots=True)
class Drafts:
    """All that one set became."""

    benchmarks: tuple[Benchmark, ...]
    sources: tuple[Source, ...]
    rows: int
    """Rows that the files hold."""
    taken: int
    """Rows that stand in a draft."""
    refused: tuple[Refused, ...]
    left_out: tuple[LeftOut, ...] = ()
    """Columns that say something which no field holds, or nothing about the system."""

    @property
    def results(self) -> int:
        """Number of results in all drafts."""
        return sum(len(each.results) for each in self.benchmarks)

    def reasons(self) -> dict[str, int]:
        """Return how many rows were refused for each reason, most first."""
        return dict(Counter(each.reason for each in self.refused).most_common())


class RowRefusedError(Exception):
    """A row that would say something false, or that needs a record which does not exist; the text is the reason."""


def line(text: str) -> str:
    """Return a text of a file as one line that a record holds."""
    return " ".join(terminal(text).split())[:_LONGEST_LINE] or "unnamed"


def slug(text: str) -> str:
    """Return a text as words joined by hyphens, fit for an id behind a letter."""
    words = "".join(each if each.isascii() and each.isalnum() else " " for each in text.lower()).split()
    return "-".join(words)


def complete(
    data: Mapping[str, Any], source: str, name: str, unsure: Mapping[str, str] = MappingProxyType({})
) -> Benchmark:
    """Return a benchmark in which everything that its source leaves out is listed.

    Args:
        data: The benchmark without `omitted_by_source`.
        source: Reference of the source that was searched.
        name: What messages call the file.
        unsure: Fields of which the source says something that gives no value -> why it gives none.
    """
    draft = validated(Benchmark, data, name)
    omitted = [{"field": path, "source": source} for path in left_out(draft) if path not in unsure]
    omitted += [{"field": path, "source": source, "searched": why} for path, why in unsure.items()]
    return validated(Benchmark, {**data, "omitted_by_source": omitted}, name)
