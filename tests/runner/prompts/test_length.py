"""Lengths: calibrated from what a server counted, and checked against it."""

import pytest

from kbtool.runner.prompts import LengthError, LengthModel, calibrate_ratio, length_check
from kbtool.runner.prompts.pieces import count_pieces, cut_pieces, fit_pieces
from kbtool.runner.trace import Usage


def test_calibration_finds_slope_and_fixed_part() -> None:
    """Exact counts of a straight line give the line back."""
    model = calibrate_ratio([(n, round(30 + 1.25 * n)) for n in (400, 1200, 4000, 16_000)])
    assert model.tok_per_piece == pytest.approx(1.25, rel=1e-3)
    assert model.fixed_tok == pytest.approx(30, abs=1)


def test_calibration_takes_a_negative_fixed_part() -> None:
    """Fixed texts that have fewer tokens a piece than the rest make the line start below zero."""
    assert calibrate_ratio([(500, 440), (5000, 5390)]).fixed_tok == pytest.approx(-110, abs=1)


def test_calibration_with_one_length_takes_the_share() -> None:
    """A fixed part cannot be told from the rest where lengths are alike."""
    assert calibrate_ratio([(1000, 1100), (1010, 1111)]) == LengthModel(1.1, 0.0)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([], "no probe"),
        ([(100, 0)], "expected both above 0"),
        ([(1000, 3)], "do not count the prompt"),
        ([(10, 900)], "do not count the prompt"),
    ],
)
def test_calibration_refuses_counts_that_no_tokenizer_gives(
    pairs: list[tuple[int, int]], message: str
) -> None:
    """A server that lies about prompt tokens calibrates nothing."""
    with pytest.raises(LengthError, match=message):
        calibrate_ratio(pairs)


@pytest.mark.parametrize(
    ("counted", "held"), [(1000, True), (1020, True), (980, True), (1021, False), (979, False)]
)
def test_length_check_holds_within_two_percent(counted: int, held: bool) -> None:
    """Two percent either way is what was asked for; more is not."""
    assert length_check(1000, Usage(prompt_tok=counted, completion_tok=1)).held is held


def test_a_model_goes_both_ways() -> None:
    """Pieces for a length have that length."""
    model = LengthModel(1.3, 20)
    for target in (100, 1000, 77_777):
        assert model.expected_tok(model.pieces_for(target)) == pytest.approx(target, abs=1)


def test_pieces_are_words_digits_signs_and_line_ends() -> None:
    """A long word is two pieces, each digit one, a run of signs one, blanks none."""
    assert count_pieces("one extraordinary") == 3
    assert count_pieces("a 123") == 4
    assert count_pieces("f(x) -> None:\n\n") == 8


def test_cutting_keeps_words_whole() -> None:
    """A cut never lies within a word, and more pieces than there are give None."""
    assert cut_pieces("one two three", 2) == "one two"
    assert cut_pieces("extraordinary case", 1) == "extraordinary"
    assert cut_pieces("one two", 3) is None
    assert cut_pieces("one", 0) == ""


def test_fitting_makes_more_where_a_guess_was_short() -> None:
    """A wrong guess of characters a piece costs another try, nothing else."""
    text = fit_pieces(lambda n_chars: "word " * (n_chars // 5 + 1), 1000, chars_per_piece=1.0)
    assert count_pieces(text) == 1000


def test_long_texts_are_counted_by_a_sample() -> None:
    """Beyond a quarter of a million characters a sample stands for the whole, within 1 %."""
    text = "plain words, and 42 more. " * 30_000
    assert count_pieces(text) == pytest.approx(30_000 * 8, rel=0.01)
