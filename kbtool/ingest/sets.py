"""The published sets of results that are read: one visible list."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from kbtool.ingest import inferencex, mlperf, tensorrt_llm
from kbtool.ingest.published import Catalogue, Drafts, File, Origin

__all__ = ["SETS", "PublishedSet", "set_ids"]


@dataclass(frozen=True, slots=True)
class PublishedSet:
    """One publisher's set and what reads it."""

    id: str
    """Also the folder of its drafts below `records/benchmarks/` and `records/sources/`."""
    title: str
    wanted: Callable[[str], bool]
    """Whether a file of a folder belongs to the set, by its path."""
    drafts: Callable[[Sequence[File], Catalogue, Origin], Drafts]


SETS: Final = (
    PublishedSet(mlperf.ID, mlperf.TITLE, mlperf.wanted, mlperf.drafts),
    PublishedSet(tensorrt_llm.ID, tensorrt_llm.TITLE, tensorrt_llm.wanted, tensorrt_llm.drafts),
    PublishedSet(inferencex.ID, inferencex.TITLE, inferencex.wanted, inferencex.drafts),
)


def set_ids() -> tuple[str, ...]:
    """Return the ids of the sets."""
    return tuple(each.id for each in SETS)
