"""Whatever records can hold is written so that it is read back exactly; nothing else is written."""

from decimal import Decimal
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbtool.store.emit import emit, scalar
from kbtool.store.scalars import Scalar, scalar_text
from kbtool.store.yamlio import Value, parse
from tests.store.dialect import keys, scalars, values

SAMPLE: Final[Value] = {
    "id": "ev-sglang-decode",
    "title": "SGLang: prose, on 8x RTX PRO 6000",
    "updated": "2026-10-04",
    "score": Decimal("0.80"),
    "ratios": {},
    "engine": {"version": "0.10", "commit": None, "url": "https://example.org/a#b"},
    "tags": ["production", "moe", "yes"],
    "results": [
        {
            "id": "prose",
            "value": Decimal("93.90"),
            "repeats": 2,
            "at": {"cold": True, "note": 'says "~93.9"'},
        },
        ["a", ["b: c"]],
        [],
        "Two lines,\nin a list.\n",
    ],
    "commands": ["python -m sglang.launch_server --model-path deepseek --tp 8 --ep 8", "x " * 30 + "y"],
    "methodology": "One concurrent user; thirty runs of the same prompt, of which the first two were left out as warm-up.",
    "notes": "First paragraph: text # kept.\n\n  indented\nlast",
}
WRITTEN: Final = """\
id: ev-sglang-decode
title: "SGLang: prose, on 8x RTX PRO 6000"
updated: "2026-10-04"
score: 0.80
ratios: {}
engine:
  version: "0.10"
  commit: null
  url: https://example.org/a#b
tags: [production, moe, "yes"]
results:
  - id: prose
    value: 93.90
    repeats: 2
    at:
      cold: true
      note: says "~93.9"
  - - a
    - ["b: c"]
  - []
  - |
    Two lines,
    in a list.
commands:
  - python -m sglang.launch_server --model-path deepseek --tp 8 --ep 8
  - x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x y
methodology: |-
  One concurrent user; thirty runs of the same prompt, of which the first two were left out as warm-up.
notes: |-
  First paragraph: text # kept.

    indented
  last
"""


def test_record_is_written_the_way_a_person_would_write_it() -> None:
    """Keys in order, quotes where they are needed, prose in blocks, decimals with their digits."""
    assert emit(SAMPLE) == WRITTEN
    assert repr(parse(WRITTEN.encode())) == repr(SAMPLE)


@given(values.filter(lambda value: value is not None))
def test_written_data_is_read_back_exactly(value: Value) -> None:
    """With types, digits and order; and the text is a fixed point."""
    text = emit(value)
    read = parse(text.encode())
    assert repr(read) == repr(value)
    assert emit(read) == text


@given(scalars, keys)
def test_scalar_is_one_line_and_means_itself(value: Scalar, key: str) -> None:
    """Behind a key, in a list, and between brackets."""
    for written in (scalar_text(value), scalar(value)):
        assert "\n" not in written
        assert repr(parse(f"k: {written}\nl:\n  - {written}\n".encode())) == repr({"k": value, "l": [value]})
    assert repr(parse(f"[{scalar(value)}, {{k: {scalar(value)}}}]".encode())) == repr([value, {"k": value}])
    assert repr(parse(emit({key: value}).encode())) == repr({key: value})


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("draft", "draft"),
        ("tok/s per user", "tok/s per user"),
        ("nvidia-rtx-pro-6000", "nvidia-rtx-pro-6000"),
        ("/engine/commit", "/engine/commit"),
        ("https://example.org/a?b=c#d", "https://example.org/a?b=c#d"),
        ("a, b", "a, b"),
        ("modèle", "modèle"),
        ("", '""'),
        ("yes", '"yes"'),
        ("Null", '"Null"'),
        ("0.10", '"0.10"'),
        ("0.5.3", '"0.5.3"'),
        ("2026-10-04", '"2026-10-04"'),
        ("8x RTX", '"8x RTX"'),
        ("SGLang: fast", '"SGLang: fast"'),
        ("RTX #4", '"RTX #4"'),
        ("- a", '"- a"'),
        ("a ", '"a "'),
        ("a:", '"a:"'),
        ('"quoted"', "'\"quoted\"'"),
        ("C:\\temp", "C:\\temp"),
        ("\\d it's", "'\\d it''s'"),
        ("two\nlines", '"two\\nlines"'),
    ],
)
def test_text_is_quoted_only_where_it_has_to_be(text: str, written: str) -> None:
    """Or where a person might take it for a number or a date."""
    assert scalar_text(text) == written


@pytest.mark.parametrize(
    "text",
    [
        *("\n", "\n\n", "a\n\n", "\na", " a\nb", "a \nb", "a\nb ", "a\n \nb", "a\n\n\nb", "a\n- b", "a\n# b"),
        *(
            "a\n---\nb",
            "a\n...\n",
            "a\n  b\n c\n",
            "#a\nb",
            "- a\nb",
            "'\n",
            '"\n\\',
            "|\n>",
            "word " * 50 + "end",
        ),
        *(
            "word " * 50,
            "x" * 500,
            " " + "word " * 30,
            "é — “x”\n模型 👩‍🔬\n",
            "a: b\nc: d\n",
            "%a\nb",
            "? a\n: b",
        ),
    ],
)
@pytest.mark.parametrize("place", ["entry", "item", "root", "deep"])
def test_text_of_any_shape_survives_in_any_place(text: str, place: str) -> None:
    """Blocks keep every blank and line break that they are used for."""
    shapes: dict[str, Value] = {
        "entry": {"k": text, "l": 1},
        "item": [text, 1],
        "root": text,
        "deep": {"a": [[{"b": [text]}]]},
    }
    value = shapes[place]
    assert repr(parse(emit(value).encode())) == repr(value)


@pytest.mark.parametrize(
    "value",
    [
        None,
        {"a": "\x00"},
        {"a": "\t"},
        {"a": "\ud800"},
        {"a": "\u202e"},
        {"a": "e\u0301"},
        {"a": "\n" * 50},
        {"a": "<<<<<<< HEAD\n"},
        {"a\x00": 1},
        {"a": 10**15},
        {"a": Decimal("NaN")},
        {"a": Decimal("-0.0")},
        {"a": "x" * 40_000},
        {"k" * 2000: 1},
        [[[[[[[[[[[[[[1]]]]]]]]]]]]]],
        ["x" * 30_000] * 9,
    ],
)
def test_what_records_cannot_hold_is_not_written(value: Value) -> None:
    """It is an error while writing, not a loss while reading."""
    with pytest.raises(ValueError, match="cannot"):
        emit(value)


@pytest.mark.parametrize("value", [{"a": 1.5}, {"a": (1, 2)}, {1: "a"}, {"a": b"x"}, {"a": {None: 1}}])
def test_what_is_no_plain_data_is_a_type_error(value: object) -> None:
    """A float has no digits of its own; keys are text."""
    with pytest.raises(TypeError, match="expected"):
        emit(value)  # type: ignore[arg-type]  # the mistake under test


def test_bottomless_data_ends_in_an_error() -> None:
    """A list that holds itself does not exhaust the stack."""
    endless: list[Value] = []
    endless.append({"a": endless})
    with pytest.raises(ValueError, match="inside each other"):
        emit(endless)


@given(st.lists(scalars.filter(lambda value: not isinstance(value, str) or len(value) < 20), max_size=30))
def test_no_line_of_short_values_is_long(values_of_list: list[Scalar]) -> None:
    """A list that does not fit its line is written one item a line."""
    text = emit({"key": list(values_of_list)})
    assert max(map(len, text.splitlines())) <= 110
