"""Rules about status, confidence and reviews: what a record claims of itself, and who has checked it."""

from collections.abc import Iterator
from typing import Final

from kbtool.analysis.confidence import FACTORS, assess, label_of
from kbtool.lint.facts import Facts
from kbtool.lint.lookup import FileView, Lookup
from kbtool.lint.rule import CorpusProblem, Problem, corpus_rule, rule
from kbtool.schema import Benchmark, Record, Review, Source
from kbtool.store.suggest import nearest

_CODES: Final = frozenset(each.code for each in FACTORS)
_MEASURED_AGAIN: Final = frozenset({"raw_data_recomputed", "replicated"})


@rule("R001", "status-without-reason")
def status_without_reason(record: Record) -> Iterator[Problem]:
    """Flag a disputed, superseded or retracted record that does not say why.

    The record keeps its page, and the reason is what a reader comes for.

    Bad:
        status: disputed

    Good:
        status: disputed
        status_reason: Another table of the same report gives 79.4 tok/s.
    """
    if record.status != "draft" and record.status_reason is None:
        yield Problem("/status", f"{record.status} without a reason: add `status_reason`")


@rule("R002", "superseded-without-successor")
def superseded_without_successor(record: Record) -> Iterator[Problem]:
    """Flag a superseded record that does not name its successor, or a successor of a record that still stands.

    Bad:
        status: superseded
        status_reason: Measured again.

    Good:
        status: superseded
        status_reason: Measured again.
        superseded_by: benchmarks/later
        benchmarks/later: {title: Measured again}
    """
    if record.status == "superseded" and record.superseded_by is None:
        yield Problem("/status", "superseded, but by what? Add `superseded_by`, or say retracted")
    elif record.superseded_by is not None and record.status not in ("superseded", "retracted"):
        message = (
            f"a successor is named, but the status is {record.status}: say superseded, or drop the successor"
        )
        yield Problem("/superseded_by", message)


@rule("R003", "dispute-without-reason")
def dispute_without_reason(record: Benchmark) -> Iterator[Problem]:
    """Flag a disputed or withdrawn result that does not say why, or a reason on a result that stands.

    Bad:
        results:
          - {id: decode-prose-1, metric: req_s, value: 3, as_published: "3", standing: disputed,
             at: {concurrency: 8, input_tok: 1024, output_tok: 512, prompt_class: prose},
             evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        results:
          - {id: decode-prose-1, metric: req_s, value: 3, as_published: "3", standing: disputed,
             standing_reason: Table 4 gives 5., evidence: [{source: sources/base-source, locator: Table 3}],
             at: {concurrency: 8, input_tok: 1024, output_tok: 512, prompt_class: prose}}
    """
    for index, result in enumerate(record.results):
        if result.standing != "stands" and result.standing_reason is None:
            yield Problem(
                f"/results/{index}/standing", f"{result.standing} without a reason: add `standing_reason`"
            )
        elif result.standing == "stands" and result.standing_reason is not None:
            message = "a reason, but the result stands: say disputed or withdrawn, or move the text to `note`"
            yield Problem(f"/results/{index}/standing_reason", message)


@rule("R004", "headline-withdrawn")
def headline_withdrawn(record: Benchmark) -> Iterator[Problem]:
    """Flag a headline that was withdrawn, in a record that was not.

    The figure that stands for a record has to stand.

    Bad:
        results:
          - {id: decode-prose-1, metric: req_s, value: 3, as_published: "3", standing: withdrawn,
             standing_reason: A cache hit., evidence: [{source: sources/base-source, locator: Table 3}],
             at: {concurrency: 8, input_tok: 1024, output_tok: 512, prompt_class: prose}}

    Good:
        headline: other
        results:
          - {id: decode-prose-1, metric: req_s, value: 3, as_published: "3", standing: withdrawn,
             standing_reason: A cache hit., evidence: [{source: sources/base-source, locator: Table 3}],
             at: {concurrency: 8, input_tok: 1024, output_tok: 512, prompt_class: prose}}
          - {id: other, metric: req_s, value: 2, as_published: "2",
             evidence: [{source: sources/base-source, locator: Table 3}],
             at: {concurrency: 8, input_tok: 1024, output_tok: 512, prompt_class: prose}}
    """
    if record.status in ("retracted", "superseded"):
        return
    if any(each.id == record.headline and each.standing == "withdrawn" for each in record.results):
        message = "the headline was withdrawn: choose a result that stands, or retract the record"
        yield Problem("/headline", message)


@rule("R005", "label-not-from-score")
def label_not_from_score(record: Record) -> Iterator[Problem]:
    """Flag a confidence label that its own score does not give.

    low below 0.60, medium below 0.85, high from there.

    Bad:
        confidence: {score: 0.80, label: high, reasons: [base-third-party, artifacts, config-complete]}

    Good:
        confidence: {score: 0.80, label: medium, reasons: [base-third-party, artifacts, config-complete]}
    """
    confidence = record.confidence
    if confidence is not None and confidence.label != label_of(confidence.score):
        label = label_of(confidence.score)
        message = f"the label of {confidence.score} is {label}, not {confidence.label}: correct the label or the score"
        yield Problem("/confidence/label", message, suggestion=label)


@rule("R006", "score-not-from-rubric", severity="warning")
def score_not_from_rubric(record: Benchmark, refs: Lookup) -> Iterator[Problem]:
    """Flag a confidence score that the published rubric does not give, without a reason.

    A curator may know better, and then says why (`differs_because`); both scores are shown.

    Bad:
        confidence: {score: 0.84, label: medium, reasons: [base-third-party, artifacts, config-complete]}

    Good:
        confidence: {score: 0.84, label: medium, reasons: [base-third-party, artifacts, config-complete],
          differs_because: The author showed us the raw log.}
    """
    confidence = record.confidence
    if confidence is None or confidence.differs_because is not None:
        return
    primary = record.primary_source
    source = refs.get(primary, Source)
    rubric = assess(record, source.interest if source else None)
    if rubric.score != confidence.score:
        sums = " ".join(f"{each.points:+d} {each.code}" for each in rubric.factors)
        message = f"score is {confidence.score}, the rubric gives {rubric.score} ({sums}): take it, or add `differs_because`"
        yield Problem("/confidence/score", message)
        return
    for index, code in enumerate(confidence.reasons):
        if code in _CODES and code not in rubric.codes:
            yield Problem(
                f"/confidence/reasons/{index}", f"{code} does not hold for this record: drop the reason"
            )


@rule("R007", "unknown-confidence-reason")
def unknown_confidence_reason(record: Record) -> Iterator[Problem]:
    """Flag a reason for confidence that the rubric does not have.

    Bad:
        confidence: {score: 0.80, label: medium, reasons: [base-third-party, artefacts, config-complete]}

    Good:
        confidence: {score: 0.80, label: medium, reasons: [base-third-party, artifacts, config-complete]}
    """
    if record.confidence is None:
        return
    for index, code in enumerate(record.confidence.reasons):
        if code not in _CODES:
            near = nearest(code, _CODES)
            hint = (
                f": did you mean `{near}`?"
                if near
                else ": take codes of the rubric, and tell others in a note"
            )
            yield Problem(
                f"/confidence/reasons/{index}", f"the rubric has no `{code}`{hint}", suggestion=near
            )


@rule("R008", "reviewed-by-its-author")
def reviewed_by_its_author(review: Review) -> Iterator[Problem]:
    """Flag a review by the author of the record.

    A second pair of eyes is the whole of what a review adds.

    Bad:
        reviews/benchmarks/base-benchmark: {author: One, reviewer: one}

    Good:
        reviews/benchmarks/base-benchmark: {author: One, reviewer: Two}
    """
    if review.author.casefold().strip() == review.reviewer.casefold().strip():
        yield Problem("/reviewer", f"{review.reviewer!r} wrote the record: somebody else has to review it")


@rule("R009", "review-of-another-record")
def review_of_another_record(review: Review, view: FileView) -> Iterator[Problem]:
    """Flag a review file that is about another record than its path says.

    A review is found by its path; one that is about something else gives a record a status that nobody
    checked.

    Bad:
        reviews/benchmarks/base-benchmark: {record: engines/base-engine}

    Good:
        reviews/engines/base-engine: {record: engines/base-engine}
    """
    named = view.path.removeprefix("records/reviews/").removesuffix(".yaml")
    if named != review.record:
        yield Problem(
            "/record", f"the file is for {named}, but says {review.record}: move the file, or correct it"
        )


@rule("R010", "verified-without-measuring")
def verified_without_measuring(review: Review) -> Iterator[Problem]:
    """Flag a review that says verified, while nothing was measured or recomputed.

    To find the figure in its source again makes a record reviewed; verified says that the figure itself was
    checked.

    Bad:
        reviews/benchmarks/base-benchmark: {level: verified, checked: [source_opened, quotes_found]}

    Good:
        reviews/benchmarks/base-benchmark: {level: verified, checked: [source_opened, raw_data_recomputed]}
    """
    if review.level == "verified" and _MEASURED_AGAIN.isdisjoint(review.checked):
        message = (
            "verified, but neither raw_data_recomputed nor replicated was checked: say reviewed, or check one"
        )
        yield Problem("/level", message)


@corpus_rule("R011", "review-out-of-date", severity="warning", partial=True)
def review_out_of_date(facts: Facts) -> Iterator[CorpusProblem]:
    """Flag a review of bytes that the record no longer has.

    The record is a draft again, by itself, until somebody reviews what changed.

    Bad:
        reviews/benchmarks/base-benchmark:
          record_sha256: 5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9

    Good:
        reviews/benchmarks/base-benchmark: {reviewed: "2026-09-22"}
    """
    for target, review in facts.reviews.items():
        record = facts.records.get(target)
        stated = review.review
        if record is None or stated is None or stated.record != target:
            continue
        if stated.record_sha256 != record.sha256:
            message = f"{target} has changed since {stated.reviewed}: review what changed, and renew the hash"
            yield CorpusProblem(review.ref, "/record_sha256", message)


@corpus_rule("R012", "review-of-nothing", partial=True)
def review_of_nothing(facts: Facts) -> Iterator[CorpusProblem]:
    """Flag a review of a record that does not exist.

    The record was renamed or removed. A record that comes under its name would find a review waiting.

    Bad:
        reviews/engines/gone: {}

    Good:
        reviews/engines/base-engine: {}
    """
    for target, review in facts.reviews.items():
        if not facts.exists(target):
            message = f"there is no record {target}: move the review with the record, or remove it"
            yield CorpusProblem(review.ref, "/record", message)
