"""An edit changes the value it is meant to change, and not one other character."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbtool.findings import Edit
from kbtool.store.edit import OverlapError, apply, insert_item, insert_key, replace_scalar
from kbtool.store.emit import emit
from kbtool.store.scalars import Scalar
from kbtool.store.yamlio import Node, Value, parse, parse_with_positions
from tests.store.dialect import RECORD, keys, scalars, values

Place = tuple[str | int, ...]

STYLES = """\
# first
a: plain text
b: "double" # behind quotes
c:
  # inside
  - 'single'
  -
  - k: 1 # behind a number
    l: |
      block

      text

  - {m: ~, p: [1, two, "3"]}
  - []
d: {}
# before e
e:
f: |+
  kept

g: >-
  folded
  text
h: last
"""


def at(root: Node, place: Place) -> Node:
    """Return the node at `place`, which must be there."""
    node, consumed = root.at(place)
    assert consumed == len(place)
    return node


def edited(text: str, edit: Edit) -> Any:
    """Return what `text` says after one edit; only its span may have changed."""
    result = apply(text, [edit])
    assert result.startswith(text[: edit.start])
    assert result.endswith(text[edit.end :])
    return parse(result.encode())


def places(value: Value, place: Place = ()) -> Iterator[tuple[Place, Value]]:
    """Yield every value with its place."""
    yield place, value
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for part, item in items:
        yield from places(item, (*place, part))


def changed(data: Value, place: Place, value: Value) -> Value:
    """Return a copy of `data` with another value at `place`."""
    if not place:
        return value
    result: Any = copy.deepcopy(data)
    inner = result
    for part in place[:-1]:
        inner = inner[part]
    inner[place[-1]] = value
    return result  # type: ignore[no-any-return]  # a place may lead into lists and mappings alike


# --- Applying -----------------------------------------------------------------------------------


def test_edits_are_applied_by_place_and_equal_ones_once() -> None:
    """Their order does not matter; they may touch."""
    edits = [Edit(4, 5, "E"), Edit(0, 1, "A"), Edit(1, 3, ""), Edit(4, 5, "E"), Edit(5, 5, "!")]
    assert apply("abcdef", edits) == "AdE!f"
    assert apply("abc", []) == "abc"


@pytest.mark.parametrize(
    "edits",
    [
        [Edit(0, 3, "x"), Edit(2, 4, "y")],
        [Edit(0, 3, "x"), Edit(0, 3, "y")],
        [Edit(1, 1, "x"), Edit(1, 1, "y")],
        [Edit(1, 1, "x"), Edit(1, 2, "y")],
        [Edit(0, 4, "x"), Edit(2, 2, "y")],
    ],
)
def test_overlapping_edits_are_refused(edits: list[Edit]) -> None:
    """No order of two such edits is the right one."""
    for order in (edits, edits[::-1]):
        with pytest.raises(OverlapError, match="overlap"):
            apply("abcdef", order)


@pytest.mark.parametrize("edit", [Edit(-1, 0, ""), Edit(3, 2, ""), Edit(0, 7, "")])
def test_edit_outside_of_the_text_is_refused(edit: Edit) -> None:
    """It was made for another text."""
    with pytest.raises(ValueError, match="outside"):
        apply("abcdef", [edit])


@given(st.text(max_size=30), st.data())
def test_disjoint_edits_equal_edits_made_one_by_one(text: str, data: st.DataObject) -> None:
    """Applied from the end, each leaves the offsets of the others alone."""
    cuts = data.draw(
        st.lists(st.integers(min_value=0, max_value=len(text)), max_size=8, unique=True).map(sorted)
    )
    edits = [
        Edit(start, end, data.draw(st.text(max_size=3)))
        for start, end in zip(cuts[::2], cuts[1::2], strict=False)
    ]
    expected = text
    for edit in reversed(edits):
        expected = expected[: edit.start] + edit.text + expected[edit.end :]
    assert apply(text, data.draw(st.permutations(edits))) == expected


# --- Replacing ----------------------------------------------------------------------------------


@given(st.sampled_from([RECORD, STYLES]), scalars, st.data())
def test_replaced_scalar_is_the_only_change(text: str, value: Scalar, data: st.DataObject) -> None:
    """Whatever its style was, and whatever it becomes."""
    before, root = parse_with_positions(text.encode())
    place, _ = data.draw(
        st.sampled_from([each for each in places(before) if not isinstance(each[1], dict | list)])
    )
    after = edited(text, replace_scalar(text, at(root, place), value))
    assert repr(after) == repr(changed(before, place, value))


@given(values.filter(lambda value: isinstance(value, dict | list)), scalars, st.data())
def test_scalar_is_replaced_in_any_record(record: Value, value: Scalar, data: st.DataObject) -> None:
    """Also deep inside, in records of any shape."""
    text = emit(record)
    leaves = [place for place, each in places(record) if not isinstance(each, dict | list)]
    if leaves:
        place = data.draw(st.sampled_from(leaves))
        after = edited(text, replace_scalar(text, at(parse_with_positions(text.encode())[1], place), value))
        assert repr(after) == repr(changed(record, place, value))


@pytest.mark.parametrize(
    ("place", "value", "line"),
    [
        (("a",), "other", "a: other"),
        (("a",), "yes", 'a: "yes"'),
        (("a",), None, "a: null"),
        (("b",), "other", 'b: "other" # behind quotes'),
        (("b",), 5, "b: 5 # behind quotes"),
        (("c", 0), "it's", '  - "it\'s"'),
        (("c", 1), "x", "  - x"),
        (("c", 2, "k"), "text", '  - k: "text" # behind a number'),
        (("c", 3, "p", 1), "a, b", '  - {m: ~, p: [1, "a, b", "3"]}'),
        (("e",), 7, "e: 7"),
    ],
)
def test_replaced_scalar_keeps_the_style_of_its_line(place: Place, value: Scalar, line: str) -> None:
    """Quotes stay quotes, and text in front of a comment gets them."""
    root = parse_with_positions(STYLES.encode())[1]
    assert line in apply(STYLES, [replace_scalar(STYLES, at(root, place), value)]).splitlines()


def test_replaced_block_stays_a_block() -> None:
    """With its own indentation, and with text that a block can hold."""
    root = parse_with_positions(STYLES.encode())[1]
    result = apply(STYLES, [replace_scalar(STYLES, at(root, ("c", 2, "l")), "one\n\ntwo\n")])
    assert "    l: |\n      one\n\n      two\n\n  - {m" in result


def test_only_scalars_are_replaced() -> None:
    """A whole list is not a scalar."""
    root = parse_with_positions(STYLES.encode())[1]
    with pytest.raises(ValueError, match="expected a scalar"):
        replace_scalar(STYLES, at(root, ("c",)), "x")


# --- Inserting ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "place", "key", "expected"),
    [
        ("a: 1\nc: 3\n", (), "b", "a: 1\nb: [x]\nc: 3\n"),
        ("a: 1 # one\n\n# three\nc: 3\n", (), "b", "a: 1 # one\nb: [x]\n\n# three\nc: 3\n"),
        ("b: 1\n", (), "a", "a: [x]\nb: 1\n"),
        ("# top\nb: 1\n", (), "a", "# top\na: [x]\nb: 1\n"),
        ("a: 1", (), "b", "a: 1\nb: [x]"),
        ("a:\nc:\n", (), "b", "a:\nb: [x]\nc:\n"),
        (
            "a:\n  k: 1\n  # deeper\n# level\nc: 1\n",
            (),
            "b",
            "a:\n  k: 1\n  # deeper\nb: [x]\n# level\nc: 1\n",
        ),
        ("a: |-\n  t\n\nc: 1\n", (), "b", "a: |-\n  t\nb: [x]\n\nc: 1\n"),
        ("a: |+\n  t\n\nc: 1\n", (), "b", "a: |+\n  t\n\nb: [x]\nc: 1\n"),
        ("l:\n  - b: 1\n    c: 2\n", ("l", 0), "a", "l:\n  - a: [x]\n    b: 1\n    c: 2\n"),
        ("l:\n  - a: 1\n    c: 2\n", ("l", 0), "b", "l:\n  - a: 1\n    b: [x]\n    c: 2\n"),
        ("m: {a: 1, c: 2} # x\n", ("m",), "b", "m: {a: 1, b: [x], c: 2} # x\n"),
        ("m: {b: 1}\n", ("m",), "a", "m: {a: [x], b: 1}\n"),
        ("m: {}\n", ("m",), "a", "m: {a: [x]}\n"),
        ("m: {a: 'é', }\n", ("m",), "b", "m: {a: 'é', b: [x], }\n"),
        ("z: 1\na: 1\nc: 3\n", (), "b", "z: 1\na: 1\nb: [x]\nc: 3\n"),
    ],
)
def test_key_is_inserted_behind_its_predecessor(text: str, place: Place, key: str, expected: str) -> None:
    """In the order of the model, on a line of its own or between braces."""
    node = at(parse_with_positions(text.encode())[1], place)
    assert apply(text, [insert_key(text, node, key, ["x"], ["a", "b", "c"])]) == expected


def test_inserted_text_may_be_a_block_or_a_mapping() -> None:
    """Indented like the keys around it."""
    text = "l:\n  - a: 1\n"
    node = at(parse_with_positions(text.encode())[1], ("l", 0))
    value: Value = {"k": "two\n\nlines", "m": []}
    result = apply(text, [insert_key(text, node, "b", value, ["a", "b"])])
    assert result == "l:\n  - a: 1\n    b:\n      k: |-\n        two\n\n        lines\n      m: []\n"
    assert parse(result.encode()) == {"l": [{"a": 1, "b": value}]}


@given(st.sampled_from([RECORD, STYLES]), keys, values, st.data())
def test_inserted_key_is_the_only_change(text: str, key: str, value: Value, data: st.DataObject) -> None:
    """In every mapping, at every place of the order."""
    before, root = parse_with_positions(text.encode())
    place, mapping = data.draw(
        st.sampled_from([each for each in places(before) if isinstance(each[1], dict)])
    )
    assert isinstance(mapping, dict)
    if key in mapping:
        return
    order = data.draw(st.permutations([key, *mapping]))
    after = edited(text, insert_key(text, at(root, place), key, value, order))
    earlier = [each for each in mapping if order.index(each) < order.index(key)]
    position = list(mapping).index(earlier[-1]) + 1 if earlier else 0
    items = list(mapping.items())
    expected = dict([*items[:position], (key, value), *items[position:]])
    assert repr(after) == repr(changed(before, place, expected))


@pytest.mark.parametrize(
    ("text", "index", "expected"),
    [
        ("l:\n  - a\n  - 2 # c\n", 2, "l:\n  - a\n  - 2 # c\n  - k: 1\n"),
        ("l:\n  - a\n  - b\n", 1, "l:\n  - a\n  - k: 1\n  - b\n"),
        ("l:\n  - a\n", 0, "l:\n  - k: 1\n  - a\n"),
        ("l:\n- a\nm: 1\n", 1, "l:\n- a\n- k: 1\nm: 1\n"),
        ("l: [a, b]\n", 2, "l: [a, b, {k: 1}]\n"),
        ("l: [a, b]\n", 0, "l: [{k: 1}, a, b]\n"),
        ("l: []\n", 0, "l: [{k: 1}]\n"),
    ],
)
def test_item_is_inserted_at_its_index(text: str, index: int, expected: str) -> None:
    """In the style of the list."""
    node = at(parse_with_positions(text.encode())[1], ("l",))
    assert apply(text, [insert_item(text, node, index, {"k": 1})]) == expected


@given(st.sampled_from([RECORD, STYLES]), values, st.data())
def test_inserted_item_is_the_only_change(text: str, value: Value, data: st.DataObject) -> None:
    """In every list, at every index."""
    before, root = parse_with_positions(text.encode())
    place, items = data.draw(st.sampled_from([each for each in places(before) if isinstance(each[1], list)]))
    assert isinstance(items, list)
    index = data.draw(st.integers(min_value=0, max_value=len(items)))
    after = edited(text, insert_item(text, at(root, place), index, value))
    assert repr(after) == repr(changed(before, place, [*items[:index], value, *items[index:]]))


def test_insertion_into_the_wrong_thing_is_refused() -> None:
    """A key that is there, an index that is not, a scalar."""
    root = parse_with_positions(STYLES.encode())[1]
    with pytest.raises(ValueError, match="expected a mapping"):
        insert_key(STYLES, root, "a", 1, ["a"])
    with pytest.raises(ValueError, match="expected a mapping"):
        insert_key(STYLES, at(root, ("c",)), "x", 1, ["x"])
    with pytest.raises(ValueError, match="expected a list"):
        insert_item(STYLES, at(root, ("c",)), 9, 1)
    with pytest.raises(ValueError, match="expected a list"):
        insert_item(STYLES, root, 0, 1)
