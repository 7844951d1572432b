"""Facts: what corpus rules know of each record, and that the cache gives it back unchanged."""

import json
from datetime import date
from pathlib import Path

import pytest

from kbtool.lint.collect import collect_facts
from kbtool.lint.facts import Facts, FileFact, RecordFacts
from kbtool.lint.lookup import FileView
from kbtool.store import load
from tests.lint.projects import BENCHMARK, edit, write

REF = "benchmarks/base-benchmark"
REVIEW = "reviews/benchmarks/base-benchmark: {level: verified}\n"


def facts_of(root: Path) -> dict[str, RecordFacts]:
    """Return the facts of every valid file of a project."""
    found = {}
    for each in load(root).files:
        assert each.record is not None
        assert each.value is not None
        view = FileView(each.file.relative, each.file.kind, each.data.decode(), each.value, each.record)
        found[each.ref] = collect_facts(each.record, view, ref=each.ref, sha256="0" * 64)
    return found


def whole(root: Path, as_of: date | None = None) -> Facts:
    """Return the facts of a project as corpus rules see them."""
    corpus = load(root)
    names = [FileFact(each.ref, each.file.relative) for each in corpus.files]
    return Facts.of(facts_of(root).values(), names, as_of=as_of)


def test_facts_survive_the_cache(tmp_path: Path) -> None:
    """Through JSON and back, facts are equal, but that a tuple may be a list."""
    for facts in facts_of(write(tmp_path, REVIEW)).values():
        again = RecordFacts.from_row(json.loads(json.dumps(facts)))
        assert json.dumps(again) == json.dumps(facts)
        assert again.references == facts.references
        assert again.review == facts.review


def test_facts_of_a_benchmark(tmp_path: Path) -> None:
    """Head, references, results and dates of the base record."""
    facts = facts_of(write(tmp_path))[REF]
    assert (facts.kind, facts.path, facts.status) == ("benchmark", BENCHMARK, "draft")
    assert list(facts.result_ids) == ["decode-prose-1", "ttft-1k-1"]
    assert ("/engine/engine", "engines/base-engine", "engine") in facts.references
    assert (facts.latest_date, facts.latest_date_at) == (facts.updated, "/updated")
    assert [each.value for each in facts.measurements] == ["93.9", "143"]
    assert len({each.conditions for each in facts.measurements}) == 2


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("  tp: 2\n  pp: 1\n", "  pp: 1\n  tp: 2\n", True),
        (
            "accelerator_as_published: Base Accelerator",
            "accelerator_as_published: The Base Accelerator",
            True,
        ),
        ("  tp: 2\n", "  tp: 1\n", False),
        ("chunked_prefill_size_tok: 2048", "chunked_prefill_size_tok: 4096", False),
        ("      input_tok: 1024\n", "      input_tok: 1025\n", False),
    ],
)
def test_conditions_are_about_the_run(tmp_path: Path, old: str, new: str, *, same: bool) -> None:
    """Order and wording make no difference; a setting does."""
    before = facts_of(write(tmp_path))[REF].measurements[0].conditions
    edit(tmp_path, old, new)
    assert (facts_of(tmp_path)[REF].measurements[0].conditions == before) == same


def test_long_paragraphs_are_known_by_their_words(tmp_path: Path) -> None:
    """Spacing and capitals make no difference; quotes of sources and short texts are left out."""
    words = "a paragraph that is long enough to be told from chance " * 4
    write(tmp_path, f"notes: |-\n  short\n\n  {words.strip()}\n")
    (paragraph,) = facts_of(tmp_path)[REF].paragraphs
    assert paragraph.pointer == "/notes"
    edit(tmp_path, "a paragraph", "A  Paragraph")
    assert facts_of(tmp_path)[REF].paragraphs == [paragraph]


def test_status_follows_the_review(tmp_path: Path) -> None:
    """The same rules as the corpus: these bytes, another person, a draft."""
    write(tmp_path, REVIEW)
    corpus = load(tmp_path)
    review = corpus.reviews[REF]
    facts = {ref: each._replace(sha256=review.record_sha256) for ref, each in facts_of(tmp_path).items()}
    assert Facts.of(facts.values()).status(REF) == corpus.status(REF) == "verified"
    assert whole(tmp_path).status(REF) == "draft"
    assert whole(tmp_path).status("benchmarks/none") == ""


def test_links_and_names_are_answered(tmp_path: Path) -> None:
    """What exists, what points at it, what is of a kind, and what was meant."""
    facts = whole(write(tmp_path))
    assert facts.exists(f"{REF}#anything")
    assert not facts.exists("benchmarks/none")
    assert facts.nearest("engines/base-engin#x") == "engines/base-engine#x"
    assert facts.nearest("engines/entirely-different") is None
    assert [each.ref for each in facts.of_kind("engine")] == ["engines/base-engine"]
    assert {ref for ref, _ in facts.backlinks["engines/base-engine"]} == {REF, "gotchas/base-gotcha"}
    assert set(facts.withdrawn) == {"benchmarks/base-withdrawn"}
