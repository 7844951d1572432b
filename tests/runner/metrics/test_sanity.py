"""Whether answers make sense."""

import random

import pytest

from kbtool.runner.metrics.sanity import check_outputs, garbage, repeatable_ratio, truncated
from kbtool.runner.trace import Outcome
from kbtool.vocab.warnings import WarningCode
from tests.runner.metrics.traces import failed, trace

_PROSE = (
    "The river rose in the night, and by morning the lower road was under water. Nobody in the village was "
    "surprised; it had happened every few years for as long as anyone could remember, and the old mill had "
    "marks on its wall to prove it."
)
_CODE = "def area(w, h):\n    return w * h\n\n\nfor w in range(10):\n    for h in range(10):\n        print(w, h, area(w, h))\n"
_TABLE = "\n".join(f"| {row} | {row * 7 % 13} | {row * row} |" for row in range(40))


@pytest.mark.parametrize(
    "text", [_PROSE, _PROSE * 3, _CODE, _TABLE, "4", "", "Yes.", "ok " * 5, "日本語の文章です。"]
)
def test_sense_is_no_garbage(text: str) -> None:
    """Prose, code, tables and short answers pass."""
    assert garbage(text) is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("\ufffd\ufffd\ufffd and more", "replacement_characters"),
        ("!" * 60, "one_character"),
        ("0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0", "one_character"),
        ("the cat the cat " * 50, "tiny_vocabulary"),
        ("\n" * 50, "one_character"),
    ],
)
def test_garbage_is_named(text: str, why: str) -> None:
    """By what is wrong with it."""
    assert garbage(text) == why


def test_one_replacement_character_at_a_cut_is_no_garbage() -> None:
    """An answer that stops inside a character is not broken."""
    assert garbage(_PROSE + "\ufffd") is None


def test_random_words_are_beyond_these_checks() -> None:
    """They catch a stuck or broken decoder, and promise no more."""
    generator = random.Random(1)
    assert garbage(" ".join(generator.choice(_PROSE.split()) for _ in range(100))) is None


def test_truncation_is_a_stop_for_length_before_the_length() -> None:
    """The server's own limit ended it, not the plan's."""
    assert truncated(trace(osl=40, asked_output_tok=64, finish_reason="length"))
    assert not truncated(trace(osl=64, asked_output_tok=64, finish_reason="length"))
    assert not truncated(trace(osl=40, asked_output_tok=64, finish_reason="stop"))
    assert not truncated(failed(Outcome.NO_USAGE))


def test_repeats_are_compared_with_the_first_of_their_group() -> None:
    """Three of four repeats agree."""
    assert repeatable_ratio([["a", "a", "b"], ["c", "c", "c"], ["d"], []]) == 0.75
    assert repeatable_ratio([["a"], ["b"]]) is None


def test_unchecked_speed_is_speed_only() -> None:
    """No repeats, or no answers, are no check."""
    assert check_outputs([trace()]).warnings == (WarningCode.SPEED_ONLY,)
    assert check_outputs([failed(Outcome.EMPTY)]).warnings == (WarningCode.SPEED_ONLY,)


def test_good_outputs_leave_no_warning() -> None:
    """Answers looked at, and greedy repeats that agree."""
    repeats = [[trace(number=number) for number in range(3)]]
    assert check_outputs([trace(text=_PROSE, osl=8)], repeats).warnings == ()


def test_bad_outputs_are_counted_and_warned_of() -> None:
    """Each by its request; failed requests are left out."""
    answers = [
        trace(number=1, text="!" * 100),
        trace(number=2, osl=3),
        failed(Outcome.RESET, number=3, text="!" * 100),
    ]
    repeats = [[trace(text="a b"), trace(text="a c")]]
    found = check_outputs(answers, repeats)
    assert found.garbage == (("cell/1/1", "one_character"),)
    assert found.truncated == ("cell/1/2",)
    assert found.repeatable_ratio == 0
    assert found.warnings == (
        WarningCode.GARBAGE_OUTPUT,
        WarningCode.NOT_REPEATABLE,
        WarningCode.TRUNCATED_OUTPUT,
    )
