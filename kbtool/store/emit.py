"""Plain data as YAML in our dialect, one canonical text for equal data.

Mappings are written in the order given, one key a line; a list of short values stands in brackets
where it fits on the line; text of several lines or of more than a line becomes a block (`|-`),
which keeps every character. What is written is read back before it is returned, so that a value
that records cannot hold is an error here and not a loss later.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from kbtool.store.faults import YamlFault
from kbtool.store.limits import MAX_DEPTH
from kbtool.store.scalars import Scalar, quoted_text, read_plain, scalar_text
from kbtool.store.yamlio import Value, parse
from kbtool.vocab.numbers import number_text

__all__ = ["block_text", "emit", "entry_lines", "item_lines", "key_text", "scalar"]

MAX_COLUMNS: Final = 100
"""Up to here a list or a text stays on the line of its key."""
INDENT: Final = "  "


def emit(value: Value) -> str:
    """Return `value` as the text of a record file, without comments.

    Raises:
        TypeError: It is not made of dict, list, str, int, Decimal, bool and None.
        ValueError: Records cannot hold it: a number of too many digits, a control character, too
            deep a nesting; `kbtool.store.faults` lists what they cannot hold.
    """
    text = "".join(f"{line}\n" for line in _lines(value, 0))
    try:
        read = parse(text.encode("utf-8", "surrogatepass"))
    except YamlFault as fault:
        raise ValueError(f"records cannot hold this: {fault.message}") from fault
    if not _is_same(value, read):
        raise ValueError("records cannot hold this: it would be read back as something else")
    return text


def scalar(value: Scalar) -> str:
    """Return `value` on one line, fit for a line of its own as well as between brackets."""
    return scalar_text(value, flow=True)


def key_text(key: str) -> str:
    """Return `key` as it is written before its colon."""
    if not isinstance(key, str):
        raise TypeError(f"expected a key of text, found {type(key).__name__}")
    return key if _PLAIN_KEY.fullmatch(key) and _reads_as(key) else quoted_text(key)


def entry_lines(key: str, value: Value, indent: int) -> list[str]:
    """Return the lines of one mapping entry that stands `indent` columns from the left, without that indent."""
    prefix = f"{key_text(key)}:"
    inline = _inline(value, indent + len(prefix) + 1)
    if inline is not None:
        return [f"{prefix} {inline}"]
    if isinstance(value, str):
        header, *content = _lines(value, indent)
        return [f"{prefix} {header}", *content]
    return [prefix, *_indented(_lines(value, indent + len(INDENT)))]


def item_lines(value: Value, indent: int) -> list[str]:
    """Return the lines of one list item that stands `indent` columns from the left, without that indent."""
    inline = _inline(value, indent + len(INDENT))
    if inline is not None:
        return [f"- {inline}"]
    if isinstance(value, str):
        header, *content = _lines(value, indent)
        return [f"- {header}", *content]
    first, *rest = _lines(value, indent + len(INDENT))
    return [f"- {first}", *_indented(rest)]


def block_text(text: str) -> tuple[str, list[str]] | None:
    """Return the header and the lines, not indented, of a block that is read as `text`.

    None where `text` begins or a line ends in a way that a block could not show or an editor would
    not keep; such text goes between quotes.
    """
    if not text or text[0] in " \n" or text.endswith("\n\n") or _BLANK_LINE_END.search(text):
        return None
    header = "|" if text.endswith("\n") else "|-"
    return header, text.removesuffix("\n").split("\n")


_PLAIN_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")
_BLANK_LINE_END: Final = re.compile(r" $", re.MULTILINE)


def _lines(value: Value, indent: int) -> list[str]:
    """Return the lines of `value`, `indent` columns from the left, without that indent."""
    if indent > len(INDENT) * MAX_DEPTH:
        raise ValueError(
            f"records cannot hold this: more than {MAX_DEPTH} lists and mappings inside each other"
        )
    inline = _inline(value, indent)
    if inline is not None:
        return [inline]
    if isinstance(value, dict):
        return [line for key, item in value.items() for line in entry_lines(key, item, indent)]
    if isinstance(value, list):
        return [line for item in value for line in item_lines(item, indent)]
    assert isinstance(value, str)
    block = block_text(value)
    assert block is not None
    header, lines = block
    return [header, *_indented(lines)]


def _indented(lines: list[str]) -> Iterator[str]:
    return (INDENT + line if line else "" for line in lines)


def _inline(value: Value, column: int) -> str | None:
    """Return `value` on one line if it belongs on the line that is written up to `column`."""
    if isinstance(value, dict):
        return None if value else "{}"
    if isinstance(value, list):
        return _inline_list(value, column) if value else "[]"
    if isinstance(value, str):
        return scalar_text(value) if block_text(value) is None or not _is_long(value, column) else None
    return scalar_text(value)


def _inline_list(items: list[Value], column: int) -> str | None:
    if any(isinstance(item, dict | list) or (isinstance(item, str) and _is_long(item, 0)) for item in items):
        return None
    text = f"[{', '.join(scalar(item) for item in items if not isinstance(item, dict | list))}]"
    return text if column + len(text) <= MAX_COLUMNS else None


def _is_long(text: str, column: int) -> bool:
    """Return whether `text` needs lines of its own; a long word, such as a URL, does not."""
    return "\n" in text or (" " in text and column + len(text) > MAX_COLUMNS)


def _reads_as(text: str) -> bool:
    """Return whether unquoted `text` is read as itself."""
    try:
        return read_plain(text) == text
    except ValueError:
        return False


def _is_same(value: Value, read: Value) -> bool:
    """Return whether two values are equal in content, order, type and digits."""
    if isinstance(value, dict):
        return (
            isinstance(read, dict)
            and list(value) == list(read)
            and all(_is_same(value[key], read[key]) for key in value)
        )
    if isinstance(value, list):
        return (
            isinstance(read, list)
            and len(value) == len(read)
            and all(_is_same(one, other) for one, other in zip(value, read, strict=True))
        )
    if value is None or isinstance(value, bool):
        return value is read
    if isinstance(value, str):
        return value == read
    return isinstance(read, int | Decimal) and number_text(value) == number_text(read)
