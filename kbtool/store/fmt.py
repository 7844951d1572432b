"""The one form of a record file: what `kbtool fmt` does, and a check that it lost nothing.

Formatting sets line ends, final newline and schema line, orders keys as the model lists them, unquotes
numbers and quotes dates and versions.  It moves and replaces stretches of the source text, so that
comments, prose and everything else stay byte for byte; a text whose data or comments would come out
different is refused.
"""

import difflib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final

from kbtool.errors import RecordError
from kbtool.findings import Edit, Finding
from kbtool.schema import model_for
from kbtool.store import fields
from kbtool.store.edit import apply
from kbtool.store.files import RECORDS, RecordFile, discover, read, remove_leftovers, write_atomic
from kbtool.store.order import order_edits
from kbtool.store.positions import Node
from kbtool.store.shape import ShapeKind
from kbtool.store.yamlio import YamlFault, parse_with_positions
from kbtool.vocab.numbers import exact_number, number_text

__all__ = [
    "FormatError",
    "Outcome",
    "format_files",
    "format_text",
    "modeline",
    "surface_edits",
    "surface_findings",
]

MOST_PASSES: Final = 64
"""Each pass repairs what the one before has brought to light; nothing needs as many."""

_MODELINE: Final = re.compile(r"#\s*yaml-language-server:.*\n?")


class FormatError(RecordError):
    """A file cannot be brought into form without a change of what it says."""


def modeline(kind: str, relative: str) -> str:
    """Return the first line of a record file, from which editors learn its schema."""
    return f"# yaml-language-server: $schema={'../' * relative.count('/')}schema/{kind}.schema.json"


def format_text(text: str, kind: str, relative: str) -> str:
    """Return the text of a record file in the one form.

    Args:
        text: The file, decoded without translation of line ends.
        kind: Kind of record.
        relative: Its path, relative to the project root.

    Raises:
        YamlFault: It cannot be read.
        FormatError: The form would change what it says.
    """
    before = _readable(text)
    after = apply(before, [*surface_edits(before, kind, relative), *_kept_open_end(before)])
    after = _settled(after, partial(_quoting_edits, kind))
    after = _settled(after, lambda root, source, _value: order_edits(model_for(kind), root, source))
    if after != before and _content(before, kind) != _content(after, kind):
        raise FormatError(
            f"{relative}: the one form would change what the file says: bring its keys into order by hand"
        )
    return after


def surface_edits(text: str, kind: str, relative: str) -> Iterator[Edit]:
    """Yield the edits that set the schema line and the final newline of a file with LF line ends."""
    wanted = modeline(kind, relative) + "\n"
    if not text.startswith(wanted):
        present = _MODELINE.match(text)
        yield Edit(0, present.end() if present else 0, wanted)
    if not text.endswith("\n"):
        yield Edit(len(text), len(text), "\n")


def surface_findings(text: str, file: RecordFile) -> Iterator[Finding]:
    """Yield a warning for a missing schema line and a missing final newline, each with its repair."""
    for edit in surface_edits(text, file.kind, file.relative):
        kind = ShapeKind.NO_FINAL_NEWLINE if edit.start else ShapeKind.NO_SCHEMA_LINE
        if edit.start:
            message = "no line end behind the last line; expected one: run `kbtool fmt`"
        else:
            found = "another schema line than" if edit.end else "no schema line;"
            message = f"{found} expected `{modeline(file.kind, file.relative)}` first: run `kbtool fmt`"
        line = text.count("\n", 0, edit.start) + 1
        column = edit.start - text.rfind("\n", 0, edit.start)
        yield Finding(
            file.relative, line, column, kind.code, kind.slug, "warning", message, edits=(edit,), end_line=line, end_column=column
        )  # fmt: skip


def _kept_open_end(text: str) -> Iterator[Edit]:
    """Yield the edit that keeps a text block at the very end without a line break, once the file gets one."""
    node = _parsed(text)[1]
    while node.children:
        node = list(node.children.values())[-1] if isinstance(node.children, dict) else node.children[-1]
    header = _BLOCK_HEADER.match(text, node.start)
    if header and not text.endswith("\n"):
        yield Edit(header.end(), header.end(), "-")


_BLOCK_HEADER: Final = re.compile(r"[|>][1-9]?(?=\n)")


def _readable(text: str) -> str:
    """Return the text with what kept it from being read, and can be mended without a decision, mended."""
    for _ in range(MOST_PASSES):
        try:
            _parsed(text)
        except YamlFault as fault:
            if not fault.edits:
                raise
            text = apply(text, fault.edits)
        else:
            break
    return text


Value = Any


@lru_cache(maxsize=2)
def _parsed(text: str) -> tuple[Value, Node]:
    """Return data and positions of a text; each step asks for those of the text that the one before has left."""
    return parse_with_positions(text.encode())


_EditFinder = Callable[[Node, str, Value], Sequence[Edit]]


def _settled(text: str, find: _EditFinder) -> str:
    """Return the text after as many passes of edits as it takes."""
    for _ in range(MOST_PASSES):
        value, root = _parsed(text)
        edits = find(root, text, value)
        if not edits:
            return text
        text = apply(text, edits)
    raise FormatError("the keys of the file do not come into order")


# --- Quotes -----------------------------------------------------------------------------------

_NEEDS_NO_ESCAPE: Final = re.compile(r"[^\"\\\n]*")


def _quoting_edits(kind: str, root: Node, text: str, value: Value) -> list[Edit]:
    """Return edits that unquote numbers, and put dates and versions into double quotes."""
    edits = []
    for location, node, plain in _scalars(value, root, ()):
        source = text[node.start : node.end]
        wanted = _wanted(fields.value_type(model_for(kind), location), plain, source, node)
        if wanted is not None and wanted != source:
            edits.append(Edit(node.start, node.end, wanted))
    return edits


def _wanted(expected: type | None, value: Value, source: str, node: Node) -> str | None:
    """Return how a value should be written, or None where it may stay as it is."""
    if expected in {Decimal, int} and isinstance(value, str) and not node.plain:
        return value if _is_number(value) else None
    if expected not in {date, fields.ExactName} or not source or "\n" in source:
        return None
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return f'"{source}"'
    starts_like_a_number = isinstance(value, str) and value[:1].isdecimal()
    return f'"{value}"' if starts_like_a_number and _NEEDS_NO_ESCAPE.fullmatch(value) else None


def _is_number(text: str) -> bool:
    try:
        return exact_number(text) is not None
    except ValueError:
        return False


def _scalars(
    value: Value, node: Node, location: tuple[str | int, ...]
) -> Iterator[tuple[tuple[str | int, ...], Node, Value]]:
    if isinstance(node.children, dict):
        for key, child in node.children.items():
            yield from _scalars(value[key], child, (*location, key))
    elif isinstance(node.children, list):
        for index, child in enumerate(node.children):
            yield from _scalars(value[index], child, (*location, index))
    else:
        yield location, node, value


# --- What must not change ---------------------------------------------------------------------


def _content(text: str, kind: str) -> tuple[object, list[str]]:
    """Return what a file says: its data, whatever the order and the quotes, and its comments."""
    value, root = _parsed(text)
    scalars = {
        location: _meaning(fields.value_type(model_for(kind), location), plain)
        for location, _, plain in _scalars(value, root, ())
    }
    return scalars, sorted(_comments(text, root))


def _meaning(expected: type | None, value: Value) -> object:
    """Return a value so that equal ones are those that the model reads as equal, digit for digit."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | Decimal):
        text = number_text(value)
        return text if expected is fields.ExactName else (text,)
    return (value,) if expected in {Decimal, int} and _is_number(value) else value


def _comments(text: str, root: Node) -> Iterator[str]:
    """Yield every comment but the schema line."""
    at = 0
    for start, end in [*sorted(_spans(root)), (len(text), len(text))]:
        for line in text[at:start].splitlines():
            hash_mark = line.find("#")
            comment = line[hash_mark:].strip()
            if hash_mark >= 0 and not _MODELINE.fullmatch(comment):
                yield comment
        at = max(at, end)


def _spans(node: Node) -> Iterator[tuple[int, int]]:
    """Yield the stretches of a file in which `#` begins no comment: keys and single values."""
    if node.key_line:
        yield node.key_start, node.key_end
    if node.children is None:
        yield node.start, node.end
    for child in node.children.values() if isinstance(node.children, dict) else node.children or ():
        yield from _spans(child)


# --- Files ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Outcome:
    """What formatting did, or would do, to one file."""

    relative: str
    before: str
    after: str
    fault: str = ""
    """Why the file was left alone; empty where it was not."""

    @property
    def changed(self) -> bool:
        """Whether the file was not in form."""
        return self.before != self.after

    def diff(self) -> str:
        """Return the change as a unified diff."""
        lines = difflib.unified_diff(
            self.before.splitlines(), self.after.splitlines(), self.relative, self.relative, lineterm=""
        )
        return "\n".join(lines)


def format_files(
    root: Path,
    *,
    paths: Sequence[Path] | None = None,
    write: bool = True,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Iterator[Outcome]:
    """Bring the record files of a project into form, one by one.

    Args:
        root: The project.
        paths: Files or folders to restrict it to.
        write: Whether to write what changed, each file as a whole or not at all, and to remove what a run that was
            interrupted has left.
        progress: Is told how many files are done, of how many.
    """
    if write:
        remove_leftovers(root / RECORDS)
    files = [each for each in discover(root) if isinstance(each, RecordFile) and _is_chosen(each, paths)]
    for done, file in enumerate(files):
        outcome = _format_file(file)
        if write and outcome.changed:
            write_atomic(file.path, outcome.after.encode())
        progress(done + 1, len(files))
        yield outcome


def _is_chosen(file: RecordFile, paths: Sequence[Path] | None) -> bool:
    return paths is None or any(file.path.absolute().is_relative_to(path.absolute()) for path in paths)


def _format_file(file: RecordFile) -> Outcome:
    before = ""
    try:
        before = read(file).decode()
        return Outcome(file.relative, before, format_text(before, file.kind, file.relative))
    except UnicodeDecodeError:
        return Outcome(file.relative, before, before, "it is not UTF-8: save it in that encoding")
    except RecordError as error:
        return Outcome(file.relative, before, before, str(error))
