"""Why a record stands where it stands, and what it still lacks to be called reviewed or verified.

The status itself is derived from a review file. This says what a reviewer will ask for before writing one,
and what keeps a review that exists from counting.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

from kbtool.analysis.completeness import completeness, missing
from kbtool.analysis.confidence import Factor, label_of, would_raise
from kbtool.analysis.confidence import assess as assess_confidence
from kbtool.analysis.limits import TITLES, NotChecked, limits
from kbtool.findings import Finding
from kbtool.schema import Benchmark, Record, Review, Source
from kbtool.schema.benchmark import Result
from kbtool.store import Corpus

__all__ = ["Lack", "Section", "assess", "lacks", "without_quote"]

Level = Literal["reviewed", "verified"]


@dataclass(frozen=True, slots=True)
class Lack:
    """One thing that is missing."""

    code: str
    """Stable word for it, such as `no-primary-source`."""
    message: str
    """What is missing and what to do."""


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the answer to "why?", as lines for a reader."""

    title: str
    lines: tuple[str, ...]


def assess(corpus: Corpus, ref: str, findings: Iterable[Finding] = ()) -> tuple[Section, ...]:
    """Return why a record has its status and confidence, and what would raise them.

    Args:
        corpus: The corpus.
        ref: A record of it.
        findings: What lint found in this record.

    Raises:
        KeyError: There is no valid record with this reference.
    """
    record = corpus.get(ref)
    if record is None:
        raise KeyError(ref)
    state = corpus.review_state(ref)
    digest = sha256(corpus.loaded(ref).data).hexdigest()
    sections = [Section("Status", (f"{state.status}{': the review is stale' if state.stale else ''}",))]
    if isinstance(record, Benchmark):
        sections += [_confidence(corpus, record), *_limits(corpus, record), _disclosure(record)]
    for level in _levels_above(state.status):
        lines = tuple(each.message for each in lacks(record, digest, state.review, level))
        sections.append(Section(f"Missing for {level}", lines or ("nothing",)))
    found = tuple(
        f"{each.line}:{each.column} {each.severity} {each.code}: {each.message}" for each in findings
    )
    if found:
        sections.append(Section("Findings to settle first", found))
    return tuple(sections)


def lacks(record: Record, digest: str, review: Review | None, level: Level = "reviewed") -> tuple[Lack, ...]:
    """Return what keeps a record from a level, in the order in which to deal with it.

    Args:
        record: The record.
        digest: SHA-256 of the record file's bytes.
        review: Its review, where there is one.
        level: The level aimed at.
    """
    own = _of_benchmark(record) if isinstance(record, Benchmark) else ()
    return (*_of_record(record), *own, *_of_review(digest, review, level))


def _levels_above(status: str) -> tuple[Level, ...]:
    if status == "verified":
        return ()
    return ("verified",) if status == "reviewed" else ("reviewed", "verified")


def _confidence(corpus: Corpus, record: Benchmark) -> Section:
    primary = record.primary_source
    source = corpus.get(primary) if primary else None
    rubric = assess_confidence(record, source.interest if isinstance(source, Source) else None)
    lines = [f"the rubric gives {rubric.score}, {rubric.label}:"]
    lines += [f"  {each.points:+d} {each.code}: {each.reason}" for each in rubric.factors]
    raising = would_raise(rubric)
    if raising:
        lines.append("what would raise it:")
        lines += [f"  {abs(each.points):+d} {_wanted(each)}" for each in raising]
    if record.confidence is not None:
        stated = record.confidence
        lines.insert(0, f"stated {stated.score}, {stated.label}")
        if stated.differs_because:
            lines.append(f"it differs because: {stated.differs_because}")
        if label_of(stated.score) != stated.label:
            lines.append(f"the label of {stated.score} is {label_of(stated.score)}, not {stated.label}")
    return Section("Confidence", tuple(lines))


def _wanted(factor: Factor) -> str:
    return f"{'' if factor.points > 0 else 'without '}{factor.code}: {factor.reason}"


def _limits(corpus: Corpus, record: Benchmark) -> Iterator[Section]:
    """Yield how near the headline is to what its hardware allows, and what keeps it from being held against that."""
    headline = next((each for each in record.results if each.id == record.headline), None)
    found = limits(record, headline, corpus.get) if headline else ()
    lines = []
    for each in found:
        title = TITLES[each.code].lower()
        if isinstance(each, NotChecked):
            lines.append(f"{title}: not checked because {each.reason}")
        else:
            kind = "hard" if each.hard else "soft"
            impossible = ", beyond what the hardware can do" if each.broken else ""
            lines.append(f"{title}: {each.share * 100:.1f} % of a {kind} bound{impossible}")
    if lines:
        yield Section("Limits of the headline", tuple(lines))


def _disclosure(record: Benchmark) -> Section:
    counts = completeness(record)
    lines = [
        f"{counts.given} of {counts.asked} fields given, {counts.explained} explained, {counts.missing} missing"
    ]
    lines += [f"{field.path}: {field.why}" for field in missing(record)]
    return Section("Disclosure", tuple(lines))


def _of_record(record: Record) -> Iterator[Lack]:
    if record.status != "draft":
        yield Lack("status", f"it is {record.status}: settle that first")
    if record.exceptions:
        yield Lack("exceptions", "findings are excepted for a while: settle them first")
    if isinstance(record, Source):
        return
    if not record.sources:
        yield Lack("no-source", "no source is named: list the sources that were read")
    elif record.primary_source is None:
        yield Lack("no-primary-source", "no source is primary: find whoever measured or published it first")


def _of_benchmark(record: Benchmark) -> Iterator[Lack]:
    for field in missing(record):
        yield Lack("not-looked-at", f"{field.path} is neither given nor listed: search the source for it")
    if record.confidence is None:
        yield Lack("no-confidence", "no confidence is stated: take the rubric's score, or say why another")
    for result in without_quote(record):
        yield Lack(
            "no-quote",
            f"result {result.id} has no quote: copy the words or the cell that hold the figure",
        )


def without_quote(record: Benchmark) -> tuple[Result, ...]:
    """Return the results that want a quote; none of a run of the runner's own, whose raw data has places and no words."""
    if record.measured.client is not None:
        return ()
    return tuple(
        each
        for each in record.results
        if each.basis == "stated" and all(one.quote is None for one in each.evidence)
    )


def _of_review(digest: str, review: Review | None, level: Level) -> Iterator[Lack]:
    if review is None:
        yield Lack(
            "no-review", "nobody has reviewed it: a maintainer other than the author writes the review file"
        )
        if level == "verified":
            yield Lack("not-measured-again", "nobody has measured it again or recomputed it from raw data")
        return
    if review.record_sha256 != digest:
        yield Lack(
            "stale-review", "the record changed after its review: review what changed, then renew the review"
        )
    if review.author.casefold() == review.reviewer.casefold():
        yield Lack("self-review", "author and reviewer are one person: somebody else has to review it")
    if level == "verified" and review.level != "verified":
        yield Lack("level", "the review says reviewed: measure again, or recompute from raw data, to verify")
    if level == "verified" and {"raw_data_recomputed", "replicated"}.isdisjoint(review.checked):
        yield Lack("not-measured-again", "the review lists neither raw_data_recomputed nor replicated")
