"""What a record still lacks to be called reviewed or verified."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from kbtool.analysis.review_gate import assess, lacks
from kbtool.lint.examples import project_files
from kbtool.schema import Review
from kbtool.store import load
from tests.analysis.records import BASE, benchmark, plain_result

DIGEST = sha256(b"record").hexdigest()


def review(**over: object) -> Review:
    """Return a review of the bytes `record` by a second person."""
    plain = {**BASE["reviews/benchmarks/base-benchmark"], "record_sha256": DIGEST, **over}
    return Review.model_validate(plain)


def codes(review: Review | None = None, level: str = "reviewed", **over: Any) -> list[str]:
    """Return what the base benchmark lacks with something laid over it."""
    confidence = {"score": "0.80", "label": "medium"}
    record = benchmark(**{"confidence": confidence, **over})
    return [
        each.code for each in lacks(record, DIGEST, review, "verified" if level == "verified" else "reviewed")
    ]


def test_a_complete_record_lacks_its_review() -> None:
    """And with the review, nothing."""
    assert codes() == ["no-review"]
    assert codes(review()) == []


@pytest.mark.parametrize(
    ("over", "code"),
    [
        ({"status": "disputed"}, "status"),
        ({"exceptions": [{"rule": "T001", "reason": "x", "until": "2027-01-01"}]}, "exceptions"),
        ({"sources": []}, "no-source"),
        ({"sources": [{"source": "sources/s", "role": "secondary", "group": "g"}]}, "no-primary-source"),
        ({"system": {"driver": None}}, "not-looked-at"),
        ({"confidence": None}, "no-confidence"),
    ],
)
def test_what_the_record_lacks(over: dict[str, Any], code: str) -> None:
    """Each of these a reviewer asks for first."""
    assert codes(review(), **over) == [code]


def test_a_stated_figure_needs_a_quote() -> None:
    """A locator alone cannot be searched for."""
    quoted = [{"source": "sources/base-source", "locator": "Table 3", "quote": "93.9 tok/s"}]
    common = {"at": {"prompt_class": "prose", "measuring_path": "on_host"}, "repeats": 3}
    assert codes(review(), results=[plain_result(**common)]) == ["no-quote"]
    assert codes(review(), results=[plain_result(evidence=quoted, **common)]) == []


@pytest.mark.parametrize(
    ("over", "code"),
    [
        ({"record_sha256": "0" * 64}, "stale-review"),
        ({"author": "One", "reviewer": "one"}, "self-review"),
    ],
)
def test_what_keeps_a_review_from_counting(over: dict[str, object], code: str) -> None:
    """Other bytes, or the same person."""
    assert codes(review(**over)) == [code]


def test_verified_needs_a_second_measurement() -> None:
    """To find the figure in its source is not to check it."""
    assert codes(review(), "verified") == ["level", "not-measured-again"]
    assert codes(review(level="verified", checked=["raw_data_recomputed"]), "verified") == []
    assert codes(None, "verified") == ["no-review", "not-measured-again"]


def project(folder: Path, fragment: str) -> Path:
    """Write the base records with a fragment laid over them."""
    for path, data in project_files(BASE, frozenset(), fragment).items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return folder


def test_assess_explains_status_and_confidence(tmp_path: Path) -> None:
    """What the status rests on, the rubric's sum, and what each level still asks for."""
    corpus = load(
        project(tmp_path, "confidence: {score: 0.70, label: medium, differs_because: The log is short.}\n")
    )
    sections = {each.title: each.lines for each in assess(corpus, "benchmarks/base-benchmark")}
    assert sections["Status"] == ("draft",)
    assert sections["Confidence"][0] == "stated 0.70, medium"
    assert (
        "  +60 base-third-party: Measured by somebody who neither makes nor sells it."
        in sections["Confidence"]
    )
    assert sections["Confidence"][-1] == "it differs because: The log is short."
    assert sections["Missing for reviewed"][0].startswith("nobody has reviewed it")


def test_assess_of_a_reviewed_record_asks_for_verified_alone(tmp_path: Path) -> None:
    """The review is bound to the bytes, which the example machinery sees to."""
    corpus = load(project(tmp_path, "reviews/benchmarks/base-benchmark: {}\n"))
    titles = [each.title for each in assess(corpus, "benchmarks/base-benchmark")]
    assert titles == ["Status", "Confidence", "Limits of the headline", "Disclosure", "Missing for verified"]


def test_assess_says_what_would_raise_confidence_and_what_bounds_the_headline(tmp_path: Path) -> None:
    """What adds and does not hold, what lowers and holds; each bound with its share or the input that is missing."""
    corpus = load(project(tmp_path, "engine: {version: null, commit: null}\n"))
    sections = {each.title: each.lines for each in assess(corpus, "benchmarks/base-benchmark")}
    raising = sections["Confidence"][sections["Confidence"].index("what would raise it:") + 1 :]
    assert "  +5 without version-omitted: Neither version nor commit of the engine is stated." in raising
    assert "  +15 independent-repeat: It replicates another record's figure within 5 %." in raising
    assert not any("base-" in each for each in raising)
    assert sections["Limits of the headline"][0] == "memory bandwidth: 10.5 % of a hard bound"


def test_assess_of_an_unknown_record(tmp_path: Path) -> None:
    """The caller has resolved the name; what is not there is its mistake."""
    with pytest.raises(KeyError):
        assess(load(project(tmp_path, "{}\n")), "benchmarks/none")


def test_raw_data_of_our_own_runner_needs_no_words() -> None:
    """A figure of a measured run has a place in its raw data; there is nothing to quote."""
    common = {"at": {"prompt_class": "prose", "measuring_path": "on_host"}, "repeats": 3}
    measured = {"by": "operator", "day": "2026-11-30", "client": {"name": "kbtool bench", "clock": "kernel"}}
    assert codes(review(), results=[plain_result(**common)], measured=measured) == []
