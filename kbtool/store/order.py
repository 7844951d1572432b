"""Keys in the order of the model: which stretches of a file to move where.

Comments above a key belong to it and move with it, except above the first key of a mapping, where they may be
about the whole of it and stay.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from kbtool.findings import Edit
from kbtool.schema.base import StrictModel
from kbtool.store import fields
from kbtool.store.positions import Node

__all__ = ["order_edits"]

Location = tuple[str | int, ...]


def order_edits(model: type[StrictModel], root: Node, text: str) -> list[Edit]:
    """Return edits, none inside another, that bring mappings nearer to the order of the model.

    Where a mapping stands inside another, the outer one waits: apply the edits and ask again until there are none.
    """
    return list(_edits(model, root, text, ()))


def _edits(model: type[StrictModel], node: Node, text: str, location: Location) -> Iterator[Edit]:
    inner: list[Edit] = []
    if isinstance(node.children, dict):
        for key, child in node.children.items():
            inner += _edits(model, child, text, (*location, key))
    elif isinstance(node.children, list):
        for index, child in enumerate(node.children):
            inner += _edits(model, child, text, (*location, index))
    if inner:
        yield from inner
    elif isinstance(node.children, dict):
        yield from _reordered(fields.model_at(model, location), node, text)


def _reordered(model: type[StrictModel] | None, node: Node, text: str) -> Iterator[Edit]:
    """Yield the edit that orders one mapping, where that is needed and every key is known."""
    assert isinstance(node.children, dict)
    known = list(fields.keys(model)) if model else []
    present = list(node.children)
    if not set(present) <= set(known):
        return
    wanted = sorted(present, key=known.index)
    if wanted == present:
        return
    children = [node.children[key] for key in present]
    turn = [present.index(key) for key in wanted]
    is_flow = text.startswith("{", node.start)
    yield _flow_edit(children, turn, text) if is_flow else _block_edit(children, turn, text)


def _flow_edit(children: Sequence[Node], turn: Sequence[int], text: str) -> Edit:
    """Exchange the entries of a mapping in braces; what stands between them stays."""
    spans = [(child.key_start, max(child.end, child.key_end)) for child in children]
    start, end = spans[0][0], spans[-1][1]
    pieces = []
    for slot, index in enumerate(turn):
        pieces.append(text[spans[index][0] : spans[index][1]])
        if slot + 1 < len(spans):
            pieces.append(text[spans[slot][1] : spans[slot + 1][0]])
    return Edit(start, end, "".join(pieces))


class _Entry(NamedTuple):
    """The lines of one key of a block."""

    above: list[str]
    """Blank lines and comments that belong to it."""
    first: str
    """From the key on."""
    rest: list[str]


_COMMENT: Final = re.compile(r"( *)#")


def _block_edit(children: Sequence[Node], turn: Sequence[int], text: str) -> Edit:
    """Exchange the entries of a mapping that stands one key a line."""
    lines = text.split("\n")
    column = children[0].key_column - 1
    lead = lines[children[0].key_line - 1][:column]
    entries = [_entry(children, index, lines) for index in range(len(children))]
    made: list[str] = []
    for slot, index in enumerate(turn):
        entry = entries[index]
        prefix = lead if slot == 0 else " " * column
        # Above the first entry of a list item, a comment stands at the item's dash.
        shift = len(lead) - len(lead.lstrip()) if slot == 0 else None
        made += [_shifted(line, shift) for line in entry.above]
        made += [prefix + entry.first, *entry.rest]
    first_line, last_line = children[0].key_line - 1, children[0].key_line - 2 + sum(map(_height, entries))
    start = sum(len(line) + 1 for line in lines[:first_line])
    end = start + sum(len(line) + 1 for line in lines[first_line : last_line + 1]) - 1
    return Edit(start, end, "\n".join(made))


def _height(entry: _Entry) -> int:
    return len(entry.above) + 1 + len(entry.rest)


def _shifted(line: str, column: int | None) -> str:
    return line if column is None or not line.strip() else " " * column + line.lstrip()


def _entry(children: Sequence[Node], index: int, lines: Sequence[str]) -> _Entry:
    child = children[index]
    top = child.key_line - 1
    above_from = _bottom(children, index - 1, lines) + 1 if index else top
    bottom = _bottom(children, index, lines)
    return _Entry(
        list(lines[above_from:top]), lines[top][child.key_column - 1 :], list(lines[top + 1 : bottom + 1])
    )


def _bottom(children: Sequence[Node], index: int, lines: Sequence[str]) -> int:
    """Return the last line, from 0, of an entry with the comments behind it that are indented deeper than its key."""
    child = children[index]
    ends_before_line = child.end_column == 1 and child.end_line > child.key_line
    bottom = max(child.end_line - (2 if ends_before_line else 1), child.key_line - 1)
    if index + 1 == len(children):
        return bottom
    for number in range(bottom + 1, children[index + 1].key_line - 1):
        comment = _COMMENT.match(lines[number])
        if comment is None or len(comment[1]) < child.key_column:
            break
        bottom = number
    return bottom
