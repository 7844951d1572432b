"""Where each value of a record stands in its file."""

from collections.abc import Sequence
from typing import cast

from yaml._yaml import Mark
from yaml.events import CollectionEndEvent, CollectionStartEvent, Event, ScalarEvent

__all__ = ["Node", "collection_node", "end_mark", "scalar_node", "start_mark"]


def start_mark(event: Event) -> Mark:
    """Return where an event begins: 0-based line, column and index, in code points."""
    mark = event.start_mark
    assert mark is not None  # the C parser always sets it
    return cast("Mark", mark)


def end_mark(event: Event) -> Mark:
    """Return where an event ends."""
    mark = event.end_mark
    assert mark is not None  # the C parser always sets it
    return cast("Mark", mark)


class Node:
    """The place of one value, and of its key where it has one.

    Lines and columns are 1-based, offsets 0-based; all count code points. Ends are exclusive and
    exclude the blank lines and comments that follow. An implied null has no extent: it begins and
    ends where it would stand, right behind its colon or dash.
    """

    __slots__ = (
        "children",
        "column",
        "end",
        "end_column",
        "end_line",
        "key_column",
        "key_end",
        "key_line",
        "key_start",
        "line",
        "plain",
        "start",
    )

    def __init__(
        self, event: Event, children: "dict[str, Node] | list[Node] | None" = None, *, plain: bool = False
    ) -> None:
        start, end = event.start_mark, event.end_mark
        assert start is not None
        assert end is not None
        self.start: int = start.index
        self.line: int = start.line + 1
        self.column: int = start.column + 1
        self.end: int = end.index
        self.end_line: int = end.line + 1
        self.end_column: int = end.column + 1
        self.key_start = self.key_end = self.key_line = self.key_column = 0
        """Where the key stands; `key_line` is 0 where there is none."""
        self.children = children
        """By key or by index; None for a scalar."""
        self.plain = plain
        """Whether it is an unquoted scalar."""

    def set_key(self, event: Event) -> None:
        """Take over the place of the key that `event` is."""
        start = start_mark(event)
        self.key_start = start.index
        self.key_end = end_mark(event).index
        self.key_line = start.line + 1
        self.key_column = start.column + 1

    def at(self, location: Sequence[str | int]) -> tuple["Node", int]:
        """Return the deepest node on the way to `location`, and how many of its parts that took.

        Parts that are not in the file are passed over when a later one is found below the same
        node: the locations of a pydantic error also name union members.
        """
        node, consumed = self, 0
        for index, part in enumerate(location, 1):
            child = node.child(part)
            if child is not None:
                node, consumed = child, index
        return node, consumed

    def child(self, part: str | int) -> "Node | None":
        """Return the node of a key or an index, or None where there is none."""
        if isinstance(self.children, dict):
            return self.children.get(part) if isinstance(part, str) else None
        if isinstance(self.children, list) and isinstance(part, int) and 0 <= part < len(self.children):
            return self.children[part]
        return None


def scalar_node(event: ScalarEvent, text: str) -> Node:
    """Return the place of a scalar of the file `text`."""
    node = Node(event, plain=event.style == "")
    if event.style in ("|", ">"):
        _trim_block(node, text)
    return node


def _trim_block(node: Node, text: str) -> None:
    """End a text block at its last line; libyaml ends it at the next value, behind any blank lines."""
    header_end = text.find("\n", node.start, node.end)
    if header_end < 0 or "+" in text[node.start : header_end].partition(" ")[0]:
        return  # with `+` the blank lines belong to the text
    end = node.end
    while (line_end := text.rfind("\n", header_end, end)) >= 0 and not text[line_end:end].strip(" \n"):
        end = line_end
    node.end = end
    node.end_line = node.line + text.count("\n", node.start, end)
    node.end_column = end - text.rfind("\n", 0, end)


def collection_node(
    start: CollectionStartEvent, end: CollectionEndEvent, children: dict[str, Node] | list[Node]
) -> Node:
    """Return the place of a list or mapping: from its bracket or first child to its bracket or last child."""
    node = Node(start, children)
    mark = end_mark(end)
    if start_mark(end).index < mark.index:
        node.end, node.end_line, node.end_column = mark.index, mark.line + 1, mark.column + 1
    else:  # without a bracket; libyaml ends it at the next token
        last = list(children.values())[-1] if isinstance(children, dict) else children[-1]
        node.end, node.end_line, node.end_column = last.end, last.end_line, last.end_column
    return node
