"""All records of a project, with the links between them and the status that follows from the reviews."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import NamedTuple, TypeVar

from kbtool.findings import Finding
from kbtool.schema import Record, Review, Withdrawn
from kbtool.schema.refs import FOLDERS
from kbtool.store.files import RecordFile, discover
from kbtool.store.read import Loaded, read_file
from kbtool.store.references import outgoing
from kbtool.store.suggest import nearest_reference
from kbtool.vocab.terms import Status

__all__ = ["Corpus", "Reference", "ReviewState", "load"]


R = TypeVar("R")


class Reference(NamedTuple):
    """One reference from one record to another."""

    source_ref: str
    target_ref: str
    """`<kind>s/<id>`, with `#<result>` where one result is meant."""
    pointer: str
    """JSON pointer of the field in the record that refers."""
    relation: str


@dataclass(frozen=True, slots=True)
class ReviewState:
    """Where a record stands, and the review that this rests on."""

    status: Status
    stale: bool
    """There is a review, but it does not count: the record has changed since, or its author reviewed it."""
    review: Review | None


def load(root: str | PathLike[str]) -> "Corpus":
    """Read every record below a project root, valid or not."""
    root = Path(root)
    found = list(discover(root))
    files = [read_file(each) for each in found if isinstance(each, RecordFile)]
    return Corpus(root, files, [each for each in found if isinstance(each, Finding)])


class Corpus:
    """The records of a project. It is never changed; load it again instead."""

    def __init__(self, root: Path, files: Iterable[Loaded], findings: Iterable[Finding] = ()) -> None:
        self.root = root
        self.files: tuple[Loaded, ...] = tuple(sorted(files, key=lambda each: (each.ref, each.file.relative)))
        """Every file, sorted by reference."""
        every = [*findings, *(finding for each in self.files for finding in each.findings)]
        self.findings: tuple[Finding, ...] = tuple(sorted(every, key=Finding.sort_key))
        """What keeps files from being records."""
        self._loaded: dict[str, Loaded] = {}
        for each in self.files:  # of two files with one id the first counts; lint reports the other
            self._loaded.setdefault(each.ref, each)
        self.records: Mapping[str, Record] = dict(self._of_type("", Record))
        """Reference -> valid record of the seven kinds, in the order of the references."""
        self.reviews: Mapping[str, Review] = dict(self._of_type("reviews/", Review))
        """Reference of the record -> review."""
        self.withdrawn: Mapping[str, Withdrawn] = dict(self._of_type("withdrawn/", Withdrawn))
        """Reference that the record had -> what is left of it."""

    def _of_type(self, prefix: str, model: type[R]) -> Iterator[tuple[str, R]]:
        for ref, each in self._loaded.items():
            if isinstance(each.record, model):
                yield ref.removeprefix(prefix), each.record

    def get(self, ref: str) -> Record | None:
        """Return a valid record; a result's anchor (`benchmarks/x#decode`) is ignored."""
        return self.records.get(ref.partition("#")[0])

    def by_kind(self, kind: str) -> tuple[Record, ...]:
        """Return the valid records of one kind, in the order of their references."""
        return self._by_kind.get(kind, ())

    def ref_of(self, record: Record) -> str:
        """Return the reference of a record of this corpus."""
        return self._refs[id(record)]

    def loaded(self, ref: str) -> Loaded:
        """Return the file of a record, also of one that is broken, of a review, or of a withdrawn record.

        Raises:
            KeyError: there is no such file.
        """
        return self._loaded[ref.partition("#")[0]]

    def references(self, ref: str) -> tuple[Reference, ...]:
        """Return the references that a record makes, in the order of its fields."""
        record = self.get(ref)
        if record is None:
            return ()
        return tuple(Reference(ref, each.target, each.pointer, each.relation) for each in outgoing(record))

    def backlinks(self, ref: str) -> tuple[Reference, ...]:
        """Return the references that are made to a record or one of its results, sorted."""
        return self._backlinks.get(ref.partition("#")[0], ())

    def status(self, ref: str) -> Status:
        """Return the status of a record: its own, or what a review that fits makes of a draft.

        Raises:
            KeyError: there is no such valid record.
        """
        return self.review_state(ref).status

    def review_state(self, ref: str) -> ReviewState:
        """Return the status of a record, and the review that it has.

        Raises:
            KeyError: there is no such valid record.
        """
        stated: Status = self.records[ref].status
        review = self.reviews.get(ref)
        if review is None:
            return ReviewState(stated, stale=False, review=None)
        if not self._fits(ref, review):
            return ReviewState(stated, stale=True, review=review)
        return ReviewState(review.level if stated == "draft" else stated, stale=False, review=review)

    def nearest(self, ref_text: str, kind: str | None = None) -> str | None:
        """Return the reference of a valid record that `ref_text` may have meant.

        Args:
            ref_text: A reference, or an id alone.
            kind: Only records of this kind.
        """
        bare = ref_text.partition("#")[0]
        return nearest_reference(
            bare, [ref for ref in self.records if kind is None or ref.startswith(f"{kind}s/")]
        )

    def _fits(self, ref: str, review: Review) -> bool:
        """Return whether a review is of this record's bytes, and by somebody other than its author."""
        return (
            review.record == ref
            and review.reviewer.casefold() != review.author.casefold()
            and review.record_sha256 == sha256(self._loaded[ref].data).hexdigest()
        )

    @cached_property
    def _refs(self) -> Mapping[int, str]:
        return {id(record): ref for ref, record in self.records.items()}

    @cached_property
    def _by_kind(self) -> Mapping[str, tuple[Record, ...]]:
        found: dict[str, list[Record]] = {}
        for ref, record in self.records.items():
            found.setdefault(FOLDERS[ref.partition("/")[0]], []).append(record)
        return {kind: tuple(records) for kind, records in found.items()}

    @cached_property
    def _backlinks(self) -> Mapping[str, tuple[Reference, ...]]:
        found: dict[str, list[Reference]] = {}
        for ref in self.records:
            for reference in self.references(ref):
                found.setdefault(reference.target_ref.partition("#")[0], []).append(reference)
        return {target: tuple(sorted(references)) for target, references in found.items()}
