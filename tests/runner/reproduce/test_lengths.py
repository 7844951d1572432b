"""Rounded lengths are read one way, and say which."""

import pytest

from kbtool.runner.reproduce.lengths import read_nominal


@pytest.mark.parametrize(
    ("text", "tok"),
    [
        ("128K", 131_072), ("32k", 32_768), ("1M", 1_048_576), ("209K", 209_000), ("4.7K", 4_700), ("1.5M", 1_500_000),
        ("~8,482", 8_482), ("~362", 362), ("about 900K tokens", 900_000), ("128 K", 131_072),
    ],
)  # fmt: skip
def test_nominal_length_is_read(text: str, tok: int) -> None:
    """Powers of two count in 1,024, other numbers in 1,000, and numbers without a unit as they are."""
    found = read_nominal(text)
    assert found is not None
    assert found.tok == tok
    assert found.why


@pytest.mark.parametrize("text", ["long", "8K-16K", "0K", "12.5", "", "1,5 GB"])
def test_text_without_one_length_is_not_guessed_at(text: str) -> None:
    """A range or a word is no length."""
    assert read_nominal(text) is None


def test_exact_length_of_the_same_record_goes_first() -> None:
    """A record that says 906K in one place and 905,885 in another means the same prompt."""
    found = read_nominal("906K", [402_625, 905_885])
    assert found is not None
    assert found.tok == 905_885
    assert read_nominal("128K", [131_072]) is not None


def test_two_exact_lengths_that_fit_settle_nothing() -> None:
    """Which one was meant is not known: the rule decides."""
    found = read_nominal("906K", [905_885, 906_100])
    assert found is not None
    assert found.tok == 906_000
