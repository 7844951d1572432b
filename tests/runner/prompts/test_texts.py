"""Texts by class: well formed, varied, and without the repetition that speculation and compression live on."""

import ast
import lzma
import zlib
from collections import Counter

import pytest

from kbtool.runner.prompts import Draws
from kbtool.runner.prompts.code import c_function, python_function, sources
from kbtool.runner.prompts.prose import prose
from kbtool.runner.prompts.structured import records
from kbtool.runner.prompts.synthetic import synthetic


def repeated_share(words: list[str], n: int) -> float:
    """Return the share of runs of n words that stand elsewhere in the text too."""
    runs = Counter(tuple(words[at : at + n]) for at in range(len(words) - n))
    return sum(times for times in runs.values() if times > 1) / sum(runs.values())


def test_python_functions_parse() -> None:
    """Every Python function is valid Python."""
    draws = Draws("python")
    for _ in range(300):
        ast.parse(python_function(draws))


def test_c_functions_balance() -> None:
    """Every C function closes what it opens, and its statements end."""
    draws = Draws("c")
    for _ in range(300):
        text = c_function(draws)
        assert text.count("{") == text.count("}")
        assert text.count("(") == text.count(")")
        for line in text.strip().splitlines()[1:]:
            assert line.strip().endswith((";", "{", "}", "*/"))


def test_code_has_few_functions_twice() -> None:
    """Names of functions hardly ever repeat, bodies never."""
    draws = Draws("functions")
    found = [python_function(draws) for _ in range(500)]
    assert len({text.split("(")[0] for text in found}) > 450
    assert len({text.partition("\n")[2] for text in found}) == 500


def test_prose_has_no_sentence_twice() -> None:
    """100,000 characters of prose hold no sentence a second time, and use many words."""
    text = prose(Draws("prose"), 100_000)
    sentences = [each for paragraph in text.split("\n\n") for each in paragraph.split(". ")]
    assert len(set(sentences)) == len(sentences)
    assert len(set(text.split())) > 2000


@pytest.mark.parametrize(
    ("text", "least_zlib", "least_lzma"),
    [
        (synthetic("ratio", n_chars=2_000_000), 0.34, 0.34),
        (prose(Draws("ratio"), 500_000), 0.30, 0.29),
        (sources(Draws("ratio"), 500_000), 0.29, 0.29),
        (records(Draws("ratio"), 500_000), 0.26, 0.24),
    ],
    ids=["synthetic", "prose", "code", "structured"],
)
def test_texts_compress_no_better_than_written_ones(text: str, least_zlib: float, least_lzma: float) -> None:
    """Compressed size over size: measured 0.346, 0.309, 0.300, 0.270 (zlib); Python's own library has 0.25."""
    raw = text.encode()
    assert len(zlib.compress(raw, 9)) / len(raw) > least_zlib
    assert len(lzma.compress(raw, preset=1)) / len(raw) > least_lzma


def test_synthetic_text_offers_ngram_speculation_nothing() -> None:
    """In a million characters no run of five words comes twice, and of three in under 1 %."""
    words = synthetic("ngram", n_chars=1_000_000).split()
    assert repeated_share(words, 5) == 0
    assert repeated_share(words, 3) < 0.01


def test_synthetic_text_has_the_length_asked_for() -> None:
    """At least as many characters as asked for, and not many more."""
    for n_chars in (1, 10, 999, 100_000):
        assert n_chars <= len(synthetic("length", n_chars=n_chars)) < n_chars * 1.2 + 100


def test_texts_are_plain_ascii() -> None:
    """One character is one byte, whatever a server does with encodings."""
    draws = Draws("ascii")
    for text in (
        prose(draws, 9000),
        sources(draws, 9000),
        records(draws, 9000),
        synthetic("a", n_chars=9000),
    ):
        assert text.isascii()
