"""JSON that keeps the digits of a record."""

import json
from datetime import date
from decimal import Decimal

import pytest

from kbtool.store.exactjson import exact_json


def test_decimals_keep_their_digits() -> None:
    """`93.90` stays `93.90`, and is a number."""
    text = exact_json(
        {"a": Decimal("93.90"), "b": Decimal(6853), "c": [True, None, 3], "d": date(2026, 10, 4)}
    )
    assert text == '{"a":93.90,"b":6853,"c":[true,null,3],"d":"2026-10-04"}\n'
    assert json.loads(text, parse_float=Decimal)["a"] == Decimal("93.90")


def test_text_cannot_become_a_number() -> None:
    """The marks around decimals are no part of any record; a text that looks like one stays text."""
    hostile = {"x": "\\u00001\\u0000", "y": '"0"'}
    assert json.loads(exact_json(hostile)) == hostile


def test_what_json_does_not_have_is_refused() -> None:
    """A float has no digits of its own."""
    with pytest.raises(TypeError):
        exact_json({"x": {1, 2}})


def test_people_get_lines_and_their_own_letters() -> None:
    """Indented, and with the same digits."""
    assert (
        exact_json({"a": Decimal("3.10"), "b": "8\u00d7"}, indent=2)
        == '{\n  "a": 3.10,\n  "b": "8\u00d7"\n}\n'
    )


def test_what_does_not_show_is_escaped_for_people() -> None:
    """Letters of other alphabets stay; a mark that turns the reading order, or a blank that is none, is written out."""
    text = exact_json({"title": "Ωmega \u202eevil\u00a0\x1b[2J \U000e0041"}, indent=2)
    assert "Ωmega" in text
    assert [char for char in text if not char.isprintable() and char != "\n"] == []
    assert json.loads(text) == {"title": "Ωmega \u202eevil\u00a0\x1b[2J \U000e0041"}
