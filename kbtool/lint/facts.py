"""What corpus rules know: a few compact facts of each record, and the questions they answer.

Facts are plain data, made once per version of a file and cached, so that rules over all records need
neither the files nor the models.  A rule that needs another fact adds a field here and fills it in
`kbtool.lint.collect`.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from sys import intern
from typing import Any, Final, NamedTuple, Self

from kbtool.analysis.likeness import Load
from kbtool.store.suggest import nearest_reference

__all__ = [
    "ExceptionFact",
    "Facts",
    "FileFact",
    "Measurement",
    "Paragraph",
    "RecordFacts",
    "ReferenceFact",
    "ReviewFacts",
    "SourceFact",
]


class ReferenceFact(NamedTuple):
    """One reference of a record."""

    pointer: str
    target: str
    """`<kind>s/<id>`, with `#<result>` where one result is meant."""
    relation: str
    """What the record says of the target, such as `source`, `accelerator` or `supersedes`."""


class SourceFact(NamedTuple):
    """One entry of a record's `sources`."""

    source: str
    role: str
    group: str


class Paragraph(NamedTuple):
    """One long paragraph of prose; equal hashes mean equal words."""

    pointer: str
    hash: str


class Measurement(NamedTuple):
    """One result; equal hashes mean equal conditions, or one place in a source."""

    pointer: str
    metric: str
    conditions: str
    """Hash of setup, metric, statistic and conditions."""
    place: str
    """Hash of metric and first evidence: source and locator."""
    value: str
    """The figure, or `low..high`, as decimal text."""
    standing: str
    load: Load | None
    """What a speed may be held against others by."""

    @classmethod
    def from_row(cls, row: Sequence[Any]) -> Self:
        """Return the measurement whose plain JSON data is `row`."""
        *plain, load = row
        return cls._make((*plain, Load(*load) if load else None))


class ExceptionFact(NamedTuple):
    """One entry of a record's `exceptions`."""

    rule: str
    at: str
    until: str


class ReviewFacts(NamedTuple):
    """What a review file says."""

    record: str
    record_sha256: str
    author: str
    reviewer: str
    level: str
    reviewed: str


class FileFact(NamedTuple):
    """A file under `records/`, readable or not."""

    ref: str
    path: str


class RecordFacts(NamedTuple):
    """The facts of one valid file."""

    ref: str
    """`<kind>s/<id>`; `reviews/<kind>s/<id>` and `withdrawn/<kind>s/<id>` for those files."""
    kind: str
    id: str
    path: str
    title: str
    status: str
    """As stated: `draft`, `disputed`, `superseded` or `retracted`; empty for reviews and withdrawn records."""
    sha256: str
    """Of the file's bytes."""
    updated: str = ""
    latest_date: str = ""
    """Latest day that the record gives for anything that has already happened."""
    latest_date_at: str = ""
    """JSON pointer of that day."""
    group: str = ""
    """Independence group of a source."""
    url: str = ""
    """Address of a source."""
    content_sha256: str = ""
    """Hash of what was read of a source."""
    result_ids: Sequence[str] = ()
    names: Sequence[str] = ()
    """Other names of a thing."""
    references: Sequence[ReferenceFact] = ()
    sources: Sequence[SourceFact] = ()
    paragraphs: Sequence[Paragraph] = ()
    measurements: Sequence[Measurement] = ()
    exceptions: Sequence[ExceptionFact] = ()
    review: ReviewFacts | None = None

    @classmethod
    def from_row(cls, row: Sequence[Any]) -> Self:
        """Return the facts whose plain JSON data (a tuple is a list there) is `row`."""
        references, sources, paragraphs, measurements, exceptions, review = row[_PLAIN_FIELDS:]
        return cls._make(
            (
                *row[:_PLAIN_FIELDS],
                [ReferenceFact(intern(at), intern(target), intern(what)) for at, target, what in references],
                [SourceFact._make(each) for each in sources],
                [Paragraph._make(each) for each in paragraphs],
                [Measurement.from_row(each) for each in measurements],
                [ExceptionFact._make(each) for each in exceptions],
                ReviewFacts._make(review) if review else None,
            )
        )


_SETTLED_BY: Final = frozenset(
    {"same_run_as", "replicates", "supersedes", "corrects", "contradicts", "superseded_by"}
)
"""Relations that say how the figures of two records stand to one another."""
_PLAIN_FIELDS: Final = RecordFacts._fields.index("references")
"""Fields before this one are plain text or lists of it."""


@dataclass(frozen=True)
class Facts:
    """The facts of all records, and what follows from them."""

    files: tuple[FileFact, ...] = ()
    """Every record file, the broken ones too, sorted by reference and path."""
    records: Mapping[str, RecordFacts] = field(default_factory=dict)
    """Valid records of the seven kinds by reference; of two files with one id the first."""
    reviews: Mapping[str, RecordFacts] = field(default_factory=dict)
    """Review files by the reference of the record whose folder and name they carry."""
    withdrawn: Mapping[str, RecordFacts] = field(default_factory=dict)
    """Withdrawn records by the reference that they had."""
    as_of: date | None = None
    """The day that date rules count from; None leaves them silent. There is no clock here."""

    @classmethod
    def of(
        cls, records: Iterable[RecordFacts], files: Collection[FileFact] = (), *, as_of: date | None = None
    ) -> Self:
        """Sort facts by what they are about."""
        ordered = sorted(records, key=lambda each: (each.ref, each.path))
        by_ref: dict[str, RecordFacts] = {}
        reviews: dict[str, RecordFacts] = {}
        withdrawn: dict[str, RecordFacts] = {}
        for each in ordered:
            head, _, rest = each.ref.partition("/")
            if head == "reviews":
                reviews.setdefault(rest, each)
            elif head == "withdrawn":
                withdrawn.setdefault(rest, each)
            else:
                by_ref.setdefault(each.ref, each)
        listed = sorted(files) if files else [FileFact(each.ref, each.path) for each in ordered]
        return cls(tuple(listed), by_ref, reviews, withdrawn, as_of)

    def exists(self, ref: str) -> bool:
        """Return whether there is a file for `ref`, valid or not; a result's anchor is ignored."""
        return ref.partition("#")[0] in self._refs

    def nearest(self, ref: str) -> str | None:
        """Return the existing reference of the same kind that `ref` may have meant."""
        record, hash_mark, result = ref.partition("#")
        if (
            record not in self._nearest
        ):  # many records may share one dead reference, and a search takes a while
            folder = record.partition("/")[0]
            self._nearest[record] = nearest_reference(record, self._refs_by_folder.get(folder, ()))
        found = self._nearest[record]
        return f"{found}{hash_mark}{result}" if found else None

    def status(self, ref: str) -> str:
        """Return the derived status: a draft with a valid review is `reviewed` or `verified`.

        Empty where there is no valid record.
        """
        record = self.records.get(ref)
        if record is None:
            return ""
        review = self.review_of(ref)
        if record.status == "draft" and review is not None and self.review_fits(ref):
            return review.level
        return record.status

    def review_of(self, ref: str) -> ReviewFacts | None:
        """Return the review of a record, whether it still fits or not."""
        found = self.reviews.get(ref)
        return found.review if found else None

    def review_fits(self, ref: str) -> bool:
        """Return whether the review is of these bytes, and by somebody other than the author."""
        review = self.review_of(ref)
        record = self.records.get(ref)
        return (
            review is not None
            and record is not None
            and review.record == ref
            and review.record_sha256 == record.sha256
            and review.author.casefold() != review.reviewer.casefold()
        )

    def settled(self, one: RecordFacts, other: RecordFacts) -> bool:
        """Return whether one of two records says how its figures stand to those of the other."""
        return any(
            each.relation in _SETTLED_BY and each.target.partition("#")[0] == target.ref
            for holder, target in ((one, other), (other, one))
            for each in holder.references
        )

    @cached_property
    def backlinks(self) -> Mapping[str, tuple[tuple[str, ReferenceFact], ...]]:
        """Target without anchor -> (reference of the record that points at it, how), in order."""
        found: dict[str, list[tuple[str, ReferenceFact]]] = {}
        for ref, record in self.records.items():
            for reference in record.references:
                found.setdefault(reference.target.partition("#")[0], []).append((ref, reference))
        return {target: tuple(each) for target, each in found.items()}

    def of_kind(self, kind: str) -> tuple[RecordFacts, ...]:
        """Return the valid records of one kind by reference."""
        return self._by_kind.get(kind, ())

    @cached_property
    def _by_kind(self) -> Mapping[str, tuple[RecordFacts, ...]]:
        found: dict[str, list[RecordFacts]] = {}
        for record in self.records.values():
            found.setdefault(record.kind, []).append(record)
        return {kind: tuple(each) for kind, each in found.items()}

    @cached_property
    def _nearest(self) -> dict[str, str | None]:
        return {}

    @cached_property
    def _refs(self) -> frozenset[str]:
        return frozenset(each.ref for each in self.files)

    @cached_property
    def _refs_by_folder(self) -> Mapping[str, tuple[str, ...]]:
        found: dict[str, list[str]] = {}
        for ref in sorted(self._refs):
            found.setdefault(ref.partition("/")[0], []).append(ref)
        return {folder: tuple(refs) for folder, refs in found.items()}
