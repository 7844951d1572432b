"""Changes to a record file that leave every other character of it alone.

A change is a list of `Edit`s: spans of the decoded text and what replaces them. The functions here
make edits from the places of `yamlio.parse_with_positions`, so that comments, quoting and spacing
survive. Whoever applies edits parses the result again before writing it.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from kbtool.findings import Edit
from kbtool.store.emit import block_text, entry_lines, item_lines, key_text, scalar
from kbtool.store.positions import Node
from kbtool.store.scalars import Scalar, quoted_text
from kbtool.store.yamlio import Value

__all__ = ["OverlapError", "apply", "insert_item", "insert_key", "replace_scalar"]


class OverlapError(ValueError):
    """Two edits want to change the same place."""


def apply(text: str, edits: Iterable[Edit]) -> str:
    """Return `text` with all `edits` made; equal edits are made once.

    Raises:
        OverlapError: Two different edits overlap, or begin at the same place.
        ValueError: An edit lies outside of `text`.
    """
    parts: list[str] = []
    done = 0
    previous: Edit | None = None
    for edit in sorted(set(edits)):
        if not 0 <= edit.start <= edit.end <= len(text):
            raise ValueError(f"the edit {edit} lies outside of a text of {len(text)} characters")
        if previous is not None and (edit.start < previous.end or edit.start == previous.start):
            raise OverlapError(f"the edits {previous} and {edit} overlap")
        parts += text[done : edit.start], edit.text
        done = edit.end
        previous = edit
    return "".join((*parts, text[done:]))


def replace_scalar(text: str, node: Node, value: Scalar) -> Edit:
    """Return the edit that makes the scalar at `node` mean `value`.

    Quotes stay where there were quotes, and a text block stays one; else text is quoted where it
    has to be.
    """
    if node.children is not None:
        raise ValueError(f"expected a scalar at {node.line}:{node.column}, found a list or mapping")
    style = "" if node.plain else text[node.start]
    if not isinstance(value, str):
        written = scalar(value)
    elif style in ("|", ">"):
        written = _rewritten_block(text, node, value)
    elif style in ("'", '"') or _COMMENT_BEHIND.match(text, node.end):
        written = quoted_text(value)
    else:
        written = scalar(value)
    before = " " if node.start == node.end else ""  # an implied null stands right behind its colon
    after = "\n" if text[node.start : node.end].endswith("\n") else ""
    return Edit(node.start, node.end, f"{before}{written}{after}")


def insert_key(text: str, mapping: Node, key: str, value: Value, order: Sequence[str]) -> Edit:
    """Return the edit that adds `key: value` to `mapping`, where `order` puts it among the keys there.

    It goes behind the last key that precedes it in `order`, or else in front of all others.
    """
    children = mapping.children
    if not isinstance(children, dict) or key in children:
        raise ValueError(f"expected a mapping without the key `{key}` at {mapping.line}:{mapping.column}")
    earlier = frozenset(order[: order.index(key)])
    predecessor = next((node for name, node in reversed(children.items()) if name in earlier), None)
    if text.startswith("{", mapping.start):
        entry = f"{key_text(key)}: {_between_brackets(value)}"
        first = next((node.key_start for node in children.values()), None)
        return _insert_between_brackets(mapping, entry, first, predecessor)
    first_key = next(iter(children.values()))
    indent = first_key.key_column - 1
    lines = entry_lines(key, value, indent)
    if predecessor is None:
        return _insert_lines_before(first_key.key_start, lines, indent)
    return _insert_lines_after(text, predecessor, lines, indent)


def insert_item(text: str, sequence: Node, index: int, value: Value) -> Edit:
    """Return the edit that adds `value` to the list `sequence`, so that it becomes the item `index`."""
    children = sequence.children
    if not isinstance(children, list) or not 0 <= index <= len(children):
        raise ValueError(f"expected a list of at least {index} items at {sequence.line}:{sequence.column}")
    predecessor = children[index - 1] if index else None
    if text.startswith("[", sequence.start):
        first = children[0].start if children else None
        return _insert_between_brackets(sequence, _between_brackets(value), first, predecessor)
    indent = sequence.column - 1
    lines = item_lines(value, indent)
    if predecessor is None:
        return _insert_lines_before(sequence.start, lines, indent)
    return _insert_lines_after(text, predecessor, lines, indent)


_COMMENT_BEHIND: Final = re.compile(" *#")
_COMMENT_LINE: Final = re.compile(r"\n( *)#[^\n]*")


def _rewritten_block(text: str, node: Node, value: str) -> str:
    """Return a text block of `value`, indented like the one at `node`; quoted where a block cannot hold it."""
    block = block_text(value)
    old_lines = text[node.start : node.end].split("\n")[1:]
    indents = [len(line) - len(line.lstrip(" ")) for line in old_lines if line.strip(" ")]
    if block is None or not indents:
        return quoted_text(value)
    header, lines = block
    return f"{header}\n{' ' * indents[0]}{_joined(lines, indents[0])}"


def _joined(lines: Sequence[str], indent: int) -> str:
    """Return `lines` as text; the first stands at column `indent` already, empty ones stay empty."""
    first, *rest = lines
    return "\n".join([first, *(f"{' ' * indent}{line}" if line else "" for line in rest)])


def _insert_lines_before(offset: int, lines: Sequence[str], indent: int) -> Edit:
    """Put lines in front of what begins at `offset`, at column `indent`, perhaps behind a dash."""
    return Edit(offset, offset, f"{_joined(lines, indent)}\n{' ' * indent}")


def _insert_lines_after(text: str, node: Node, lines: Sequence[str], indent: int) -> Edit:
    """Put lines at column `indent` behind `node`, the comment on its line and deeper comments below it."""
    written = f"{' ' * indent}{_joined(lines, indent)}"
    if text.endswith("\n", 0, node.end):  # a text block that keeps its last line break
        return Edit(node.end, node.end, f"{written}\n")
    end = _line_end(text, node.end)
    while (comment := _COMMENT_LINE.match(text, end)) is not None and len(comment[1]) > indent:
        end = comment.end()
    return Edit(end, end, f"\n{written}")


def _line_end(text: str, offset: int) -> int:
    end = text.find("\n", offset)
    return len(text) if end < 0 else end


def _insert_between_brackets(
    collection: Node, written: str, first: int | None, predecessor: Node | None
) -> Edit:
    """Put an entry or item behind `predecessor`, or else in front of what begins at `first`."""
    if predecessor is not None:
        return Edit(predecessor.end, predecessor.end, f", {written}")
    if first is not None:
        return Edit(first, first, f"{written}, ")
    return Edit(collection.start + 1, collection.start + 1, written)


def _between_brackets(value: Value) -> str:
    """Return `value` on one line, fit to stand between brackets."""
    if isinstance(value, dict):
        return (
            f"{{{', '.join(f'{key_text(key)}: {_between_brackets(item)}' for key, item in value.items())}}}"
        )
    if isinstance(value, list):
        return f"[{', '.join(map(_between_brackets, value))}]"
    return scalar(value)
