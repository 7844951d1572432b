"""Places: what a pointer shows to a reader."""

import pytest

from kbtool.store import locate
from kbtool.store.places import join, split

TEXT = """\
# comment
title: "größer \N{ROCKET}"
at: {a: 1, b: [2, 3]}
list:
  - id: x
    deep:
      value: |
        text
  - plain
empty:
"""


@pytest.mark.parametrize(
    ("pointer", "line", "column"),
    [
        ("", 2, 1),
        ("/title", 2, 8),
        ("/at", 3, 5),
        ("/at/b/1", 3, 19),
        ("/at/b/7", 3, 12),
        ("/at/missing", 3, 1),
        ("/list", 4, 1),
        ("/list/0", 5, 5),
        ("/list/0/id", 5, 9),
        ("/list/0/missing", 5, 5),
        ("/list/0/deep", 6, 5),
        ("/list/0/deep/value", 7, 14),
        ("/list/1", 9, 5),
        ("/empty", 10, 1),
        ("/missing", 2, 1),
    ],
)
def test_place_of_pointer(pointer: str, line: int, column: int) -> None:
    """Values for what is there, keys for blocks and empty values, parents' keys for what is missing."""
    assert locate(TEXT.encode(), pointer)[:2] == (line, column)


def test_end_is_behind_the_last_character() -> None:
    """A place has the extent of what it shows, in code points."""
    assert locate(TEXT.encode(), "/title") == (2, 8, 2, 18)


def test_pointers_join_and_split() -> None:
    """Slashes and tildes in keys survive."""
    for location in ((), ("a",), ("a/b", "~", "c~1"), ("results", "0", "at")):
        assert split(join(location)) == location
