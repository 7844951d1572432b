"""The corpus: records, links both ways, and the status that follows from reviews."""

from hashlib import sha256
from pathlib import Path

import pytest

import kbtool
from kbtool.store import Corpus, load
from tests.lint.projects import BENCHMARK, edit, write

REF = "benchmarks/base-benchmark"
REVIEW = "reviews/benchmarks/base-benchmark: {level: verified}\n"


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    """Return the corpus of the base records."""
    return load(write(tmp_path))


def test_records_are_found_by_reference_and_kind(corpus: Corpus) -> None:
    """A reference, a kind and a record lead to one another; an anchor is ignored."""
    record = corpus.get(REF)
    assert record is not None
    assert corpus.get(f"{REF}#decode-prose-1") is record
    assert corpus.by_kind("benchmark") == (record,)
    assert corpus.ref_of(record) == REF
    assert corpus.loaded(REF).file.relative == BENCHMARK
    assert corpus.get("benchmarks/none") is None
    assert corpus.by_kind("none") == ()
    assert corpus.findings == ()


def test_files_are_sorted_by_reference(corpus: Corpus) -> None:
    """Same records, same order, whatever the file system says."""
    refs = [each.ref for each in corpus.files]
    assert refs == sorted(refs)
    assert list(corpus.records) == sorted(corpus.records)
    assert set(corpus.withdrawn) == {"benchmarks/base-withdrawn"}


def test_links_lead_both_ways(corpus: Corpus) -> None:
    """Each reference is a backlink of its target."""
    for ref in corpus.records:
        for reference in corpus.references(ref):
            assert reference in corpus.backlinks(reference.target_ref)
    sources = {each.source_ref for each in corpus.backlinks("sources/base-source")}
    assert sources == set(corpus.records) - {"sources/base-source"}
    assert corpus.backlinks("models/none") == ()
    assert corpus.references("models/none") == ()


def test_broken_files_stay_in_the_corpus(tmp_path: Path) -> None:
    """A file that is no record has its findings and hides no other."""
    write(tmp_path)
    edit(tmp_path, "metric: tok_s_per_user", "metrik: tok_s_per_user")
    edit(tmp_path, "title: Base Engine\n", "title: [\n", "records/engines/base-engine.yaml")
    corpus = load(tmp_path)
    assert corpus.get(REF) is None
    assert corpus.loaded(REF).value is not None
    assert corpus.loaded("engines/base-engine").value is None
    assert corpus.get("models/base-model") is not None
    assert [finding.path for finding in corpus.findings] == [BENCHMARK, "records/engines/base-engine.yaml"]


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("benchmarks/base-bencmark", None, REF),
        ("base-bencmark", None, REF),
        ("base-modl", "model", "models/base-model"),
        ("engines/base-engin#x", None, "engines/base-engine"),
        ("entirely-different", None, None),
    ],
)
def test_nearest_reference(corpus: Corpus, text: str, kind: str | None, expected: str | None) -> None:
    """A slip in a reference or an id leads to the record that was meant."""
    assert corpus.nearest(text, kind) == expected


def test_review_makes_a_draft_reviewed(tmp_path: Path) -> None:
    """A review of exactly these bytes, by somebody else, decides the status."""
    corpus = load(write(tmp_path, REVIEW))
    assert corpus.status(REF) == "verified"
    state = corpus.review_state(REF)
    assert (state.stale, state.review) == (False, corpus.reviews[REF])


def test_any_edit_makes_a_review_stale(tmp_path: Path) -> None:
    """One blank more, and the record is a draft again."""
    write(tmp_path, REVIEW)
    edit(tmp_path, "  nodes: 1", "  nodes:  1")
    state = load(tmp_path).review_state(REF)
    assert (state.status, state.stale) == ("draft", True)


def test_author_cannot_review(tmp_path: Path) -> None:
    """A review by the record's author does not count, however the name is written."""
    write(tmp_path, REVIEW)
    edit(tmp_path, "reviewer: second-person", "reviewer: First-Person", f"records/reviews/{REF}.yaml")
    state = load(tmp_path).review_state(REF)
    assert (state.status, state.stale) == ("draft", True)


def test_review_of_another_record_does_not_count(tmp_path: Path) -> None:
    """The record that a review names is the one under whose name it lies."""
    write(tmp_path, REVIEW)
    edit(tmp_path, f"record: {REF}", "record: engines/base-engine", f"records/reviews/{REF}.yaml")
    assert load(tmp_path).status(REF) == "draft"


def test_what_is_not_a_draft_keeps_its_status(tmp_path: Path) -> None:
    """A review does not lift a dispute."""
    corpus = load(write(tmp_path, f"status: disputed\nstatus_reason: Another run differs.\n{REVIEW}"))
    assert corpus.status(REF) == "disputed"


def test_of_two_files_with_one_id_the_first_counts(tmp_path: Path) -> None:
    """Both are among the files; which one answers does not depend on the file system."""
    write(tmp_path, "benchmarks/group/base-benchmark: {title: The other}\n")
    corpus = load(tmp_path)
    assert [each.ref for each in corpus.files].count(REF) == 2
    assert corpus.loaded(REF).file.relative == BENCHMARK


def test_loaded_file_keeps_its_bytes(corpus: Corpus) -> None:
    """Pages show the file as it is, and reviews are bound to it."""
    data = (corpus.root / BENCHMARK).read_bytes()
    assert corpus.loaded(REF).data == data
    assert len(sha256(data).hexdigest()) == 64


def test_public_names_lead_here() -> None:
    """`kbtool.load` is this function."""
    assert kbtool.load is load
    assert kbtool.Corpus is Corpus
