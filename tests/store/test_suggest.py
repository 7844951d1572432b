"""A misspelt name leads to the one that was meant, and always to the same one."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbtool.store.suggest import nearest, nearest_reference

FIELDS = [
    "reproducible",
    "results",
    "repeats",
    "engine",
    "engine_version",
    "ttft_ms",
    "tpot_ms",
    "tp",
    "pp",
    "title",
]


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("reproducable", "reproducible"),
        ("enigne", "engine"),
        ("engine-version", "engine_version"),
        ("TTFT_MS", "ttft_ms"),
        ("titel", "title"),
        ("result", "results"),
        ("engine", "engine"),
        ("colour", None),
        ("x", None),
        ("", None),
        ("r" * 300, None),
    ],
)
def test_nearest_name_is_the_one_that_was_meant(word: str, name: str | None) -> None:
    """Swapped letters count as one slip, and case as none."""
    assert nearest(word, FIELDS) == name


@pytest.mark.parametrize(
    ("word", "candidates", "name"),
    [
        ("abcd", ["xbcd", "abcx"], "abcx"),
        ("abcd", ["abcy", "abcx"], "abcx"),
        ("abcd", ["ABCD", "abcd"], "ABCD"),
        ("tp", ["pp", "tq"], "tq"),
    ],
)
def test_ties_go_to_the_longest_prefix_and_then_to_the_alphabet(
    word: str, candidates: list[str], name: str
) -> None:
    """In whatever order the candidates come."""
    assert nearest(word, candidates) == nearest(word, candidates[::-1]) == name


@given(st.text("abcxyz", max_size=6), st.lists(st.text("abcxyz", max_size=6), max_size=8))
def test_answer_does_not_depend_on_the_order(word: str, candidates: list[str]) -> None:
    """Nor on how often a name is given."""
    answer = nearest(word, candidates)
    assert nearest(word, set(candidates)) == answer
    assert nearest(word, sorted(candidates * 2, reverse=True)) == answer
    assert answer is None or answer in candidates


def test_library_is_imported_only_once_a_name_is_looked_for() -> None:
    """A lint without findings does not pay for it."""
    code = "import sys, kbtool.store.suggest; sys.exit('rapidfuzz' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("word", "candidates", "name"),
    [
        ("same_run", ["same_run_as", "same_system_as"], "same_run_as"),
        ("TTFT", ["ttft_ms", "ttft_ratio", "tpot_ms"], "ttft_ms"),
        ("none", ["none_stated", "vendor"], "none_stated"),
        ("self-reported", ["self", "third_party"], "self"),
        ("nvidia-h100", ["nvidia-l40s", "nvidia-h100-sxm"], "nvidia-h100-sxm"),
        ("approximately", ["approx", "at_least"], "approx"),
        ("concurr", ["concurrency", "context_tok"], "concurrency"),
        ("pcie", ["pcie_card", "module"], "pcie_card"),
        ("vllm", ["vllm-a", "vllm-b", "vllm-c", "vllm-d"], None),
        ("ab", ["abcdef"], None),
    ],
)
def test_more_or_fewer_words_are_no_misspelling(word: str, candidates: list[str], name: str | None) -> None:
    """A name cut short at the end of a word, or drawn out, leads to the whole one; not to one of many."""
    assert nearest(word, candidates) == name


@pytest.mark.parametrize(
    ("ref", "refs", "found"),
    [
        ("sources/zed-issue-62362", ["sources/vllm-issue-49369"], None),
        ("sources/vllm-issue-49368", ["sources/vllm-issue-49369"], "sources/vllm-issue-49369"),
        ("engines/vlm", ["engines/vllm", "models/vlm"], "engines/vllm"),
        ("vlm", ["models/vlm", "engines/vllm"], "models/vlm"),
    ],
)
def test_references_are_compared_by_their_ids(ref: str, refs: list[str], found: str | None) -> None:
    """The folder, which all have in common, makes no two ids alike."""
    assert nearest_reference(ref, refs) == found
