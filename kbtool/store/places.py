"""Where to point for a place of a record: the line and column that a reader should look at."""

from collections.abc import Sequence
from typing import NamedTuple

from kbtool.store.positions import Node
from kbtool.store.yamlio import parse_with_positions

__all__ = ["Place", "join", "key_place", "locate", "place", "split"]


class Place(NamedTuple):
    """A stretch of a file: 1-based, in code points, the end exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


def locate(data: bytes, pointer: str) -> Place:
    """Return where the value that a JSON pointer names stands in a file.

    Raises:
        YamlFault: the file cannot be read.
    """
    return place(parse_with_positions(data)[1], split(pointer))


def place(root: Node, location: Sequence[str | int]) -> Place:
    """Return where to point for `location`.

    A single value is shown itself; a mapping or list that begins on the line of its key too, and else its key.
    A key that is missing is shown at its parent's key; what concerns the whole record, at its first key.
    """
    node, exact = root, True
    for part in location:
        child = node.child(int(part) if isinstance(node.children, list) and str(part).isdecimal() else part)
        if child is None:
            exact = False
            break
        node = child
    has_key = node.key_line > 0
    is_empty = node.start == node.end
    if has_key and (is_empty or not exact or (node.children is not None and node.line != node.key_line)):
        return key_place(node)
    if node.children is not None and (not exact or node.end_line != node.line):
        return _first_inside(node)
    return Place(node.line, node.column, node.end_line, node.end_column)


def key_place(node: Node) -> Place:
    """Return where the key of a node stands."""
    return Place(
        node.key_line, node.key_column, node.key_line, node.key_column + node.key_end - node.key_start
    )


def split(pointer: str) -> tuple[str, ...]:
    """Return the parts of a JSON pointer."""
    parts = pointer.split("/")[1:]
    return (
        tuple(part.replace("~1", "/").replace("~0", "~") for part in parts)
        if "~" in pointer
        else tuple(parts)
    )


def join(location: Sequence[str | int]) -> str:
    """Return the JSON pointer of a location."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in location)


def _first_inside(node: Node) -> Place:
    """Return the place of the first key of a mapping, or of the first character of anything else."""
    if isinstance(node.children, dict) and node.children:
        return key_place(next(iter(node.children.values())))
    return Place(node.line, node.column, node.line, node.column + 1)
