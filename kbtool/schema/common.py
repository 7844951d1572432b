"""What all kinds of record share: identity, provenance, claims, gaps, links and changes."""

from typing import Literal

from kbtool.schema.base import (
    ExactText,
    IsoDate,
    Line,
    ModelVersion,
    Number,
    Prose,
    Ratio,
    Scalar,
    Seq,
    Short,
    Slug,
    StrictModel,
    Title,
    has_default,
    need,
    opt,
    seq,
)
from kbtool.schema.refs import AnyRef, SourceRef, TargetRef
from kbtool.vocab.terms import Basis, ClaimVerdict, GapReason, Qualifier, Relation, SourceRole, StatedStatus

__all__ = [
    "Change",
    "Claim",
    "Confidence",
    "Counter",
    "Derivation",
    "Evidence",
    "Fact",
    "Figure",
    "Gap",
    "Link",
    "LintException",
    "Omission",
    "Record",
    "SourceUse",
]


class Evidence(StrictModel):
    """Where a reader finds a statement in its source."""

    source: SourceRef = need("The source record.")
    locator: Line = need("Where in the source: section, table and row, line, paragraph or field.")
    quote: Short | None = opt(
        "The source's own words, short; null where the place is a table cell or a file."
    )
    second_hand: bool = has_default(False, "The source repeats somebody else's figure.")


class Derivation(StrictModel):
    """How a value was computed or filled in."""

    formula: Line = need("The formula or the rule, with the names of its inputs.")
    inputs: Seq[Line] = seq("What went in: result ids, record references or field paths.")


class _Stated(StrictModel):
    """What stands beside every stated value."""

    as_published: Line | None = opt("The value as the source prints it, with its unit and signs.")
    basis: Basis = has_default("stated", "Whether the source says it, or a rule or formula gave it.")
    derivation: Derivation | None = opt("The rule or formula of a value that was inferred or derived.")
    convention: Line | None = opt("What the source counts by, such as `per direction` or `dense`.")
    evidence: Seq[Evidence] = seq("Where the value stands.")
    caveat: Short | None = opt("What a reader must know before using the value.")


class _Number(StrictModel):
    """A number that may be known as a range alone. A base of its own, so that its keys come first in a file."""

    value: Number | None = opt("The number; null where the source prints only a range.")
    low: Number | None = opt("Lower end of a range.")
    high: Number | None = opt("Upper end of a range.")
    qualifier: Qualifier | None = opt("Approximate, or a bound.")


class _ExactNumber(StrictModel):
    """A number."""

    value: Number = need("The number, in the unit of the field's name.")


class _Words(StrictModel):
    """A fact in words or names."""

    value: ExactText = need("The fact.")


class OtherFigure(_Stated, _ExactNumber):
    """A number that another source gives for the same fact."""

    why_not: Line = need("Why this is not the value that the record uses.")


class Figure(_Stated, _Number):
    """A number about a thing, in the unit that the field's name carries."""

    others: Seq[OtherFigure] = seq("What other sources say, where they disagree.")


class OtherFact(_Stated, _Words):
    """A text that another source gives for the same fact."""

    why_not: Line = need("Why this is not the value that the record uses.")


class Fact(_Stated, _Words):
    """A fact in words or names."""

    others: Seq[OtherFact] = seq("What other sources say, where they disagree.")


class SourceUse(StrictModel):
    """A source and what it is to this record."""

    source: SourceRef = need("The source record.")
    role: SourceRole = need("Primary, a cross-post of it, an account of it, or later evidence.")
    group: Slug = need("Sources of one group report one measurement and count once.")


class Confidence(StrictModel):
    """How far to trust a record, as stated by its curator."""

    score: Ratio = need("0 to 1. The published rubric gives the expected score; `kbtool why` shows it.")
    label: Literal["low", "medium", "high"] = need("low below 0.60, medium below 0.85, high from there.")
    reasons: Seq[Slug] = seq("Codes of the rubric's factors that hold, such as `repeat-within-2pct`.")
    differs_because: Short | None = opt("Why the score is not the rubric's, where it is not.")


class Omission(StrictModel):
    """A disclosure field that a source was searched for and does not give."""

    field: Line = need("Path of the field, such as `engine.version` or `results.at.input_tok`.")
    source: SourceRef = need("The source that was searched.")
    searched: Line | None = opt("What was searched, where it was less than the whole source.")
    resolved_by: TargetRef | None = opt("A source or record that gives what this source leaves out.")
    resolved_value: ExactText | None = opt("What that source says.")


class Gap(StrictModel):
    """A disclosure field for which no value can be given, with the reason."""

    field: Line = need("Path of the field.")
    reason: GapReason = need("Why there is no value.")
    note: Short | None = opt("What was tried.")


class Counter(StrictModel):
    """What other evidence says about a claim."""

    evidence: Evidence = need("Where it stands.")
    value: Line | None = opt("The value it gives.")


class Claim(StrictModel):
    """A statement of a source that is more than a measurement, with what speaks for and against it."""

    id: Slug = need("Anchor on the record's page.")
    statement: Short = need("The claim in our words.")
    value: Line | None = opt("The value claimed, as published.")
    verdict: ClaimVerdict = need("What the evidence says.")
    evidence: Seq[Evidence] = seq("Where the source makes the claim.")
    counter: Seq[Counter] = seq("What other evidence says.")
    fields: Seq[Line] = seq("Fields or results of this record that the claim is about.")
    resolved_by: TargetRef | None = opt("The record that settles it.")
    note: Short | None = opt("Why the verdict is what it is.")


class Link(StrictModel):
    """A relation to another record."""

    relation: Relation = need("What this record is to the target.")
    target: TargetRef = need("The other record, or one result of it.")
    result: Slug | None = opt("The result of this record that the relation is about.")
    ratio: Number | None = opt("For `replicates`: this value divided by the target's.")
    ratio_low: Number | None = opt("Lower end of the 95 % interval of the ratio.")
    ratio_high: Number | None = opt("Upper end of the 95 % interval of the ratio.")
    note: Short | None = opt("What a reader must know about the relation.")


class Change(StrictModel):
    """One dated change of content by a person."""

    date: IsoDate = need("Day of the change.")
    fields: Seq[Line] = need("Paths that changed; `.` for the whole record.")
    old: Scalar = opt("The old value, where one field changed.")
    new: Scalar = opt("The new value, where one field changed.")
    why: Short = need("The reason.")


class LintException(StrictModel):
    """A finding that is accepted for a while."""

    rule: Line = need("Code or name of the rule.")
    at: Line | None = opt("JSON pointer of the place; null for the whole record.")
    reason: Short = need("Why the finding is right to stand.")
    until: IsoDate = need("Last day on which it is accepted.")


class Record(StrictModel):
    """The head and the provenance that every record has."""

    schema_version: ModelVersion = need("Version of the record model.")
    id: Slug = need("Name of the record: the file's name without `.yaml`. Never changes, never comes back.")
    title: Title = need("What a reader sees first.")
    status: StatedStatus = need(
        "`reviewed` and `verified` are derived from review files and never written here."
    )
    status_reason: Short | None = opt("Why the record is disputed, superseded or retracted.")
    superseded_by: AnyRef | None = opt("The record that replaces this one.")
    confidence: Confidence | None = opt("How far to trust the record.")
    updated: IsoDate = need("Day of the last change of content by a person.")
    last_verified: IsoDate | None = opt("Day on which the sources were last read again.")
    sources: Seq[SourceUse] = seq("Every source of the record; the first is the one the headline comes from.")
    claims: Seq[Claim] = seq("Statements of the sources, with what speaks for and against them.")
    omitted_by_source: Seq[Omission] = seq("Disclosure fields that the source leaves out.")
    gaps: Seq[Gap] = seq("Disclosure fields without a value for another reason.")
    links: Seq[Link] = seq("Relations to other records.")
    changes: Seq[Change] = seq("What was changed, when and why; oldest first.")
    exceptions: Seq[LintException] = seq("Findings accepted for a while.")
    notes: Prose | None = opt("What no field can hold, in our words; at most a paragraph.")

    @property
    def primary_source(self) -> str | None:
        """Reference of the first source that measured or published the record's figures; None where none is named."""
        return next((each.source for each in self.sources if each.role == "primary"), None)

    @classmethod
    def file_order(cls) -> list[str]:
        """Return head, then what is the kind's own, then the tail: a reader sees the figures before the claims."""
        shared = list(Record.model_fields)
        tail = shared.index("sources") + 1
        own = [name for name in cls.model_fields if name not in Record.model_fields]
        return [*shared[:tail], *own, *shared[tail:]]
