"""Bytes of a hostile file to plain data: JSON, JSON lines, CSV, a Markdown table, or simple YAML.

Fractions become `Decimal` with the digits of the file. What a file can cost is bounded before and while it
is read: bytes, values, nesting, digits.
"""

import csv
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, Literal

from kbtool.ingest.fault import IngestError, shown
from kbtool.store.yamlio import YamlFault, parse

__all__ = ["MAX_BYTES", "MAX_DEPTH", "MAX_VALUES", "Document", "NotFinite", "parse_document"]

MAX_BYTES: Final = 64 * 1024**2
"""As much as a raw file kept beside a record may have."""
MAX_VALUES: Final = 3_000_000
MAX_DEPTH: Final = 40
MAX_ROWS: Final = 10_000
_LONGEST_NUMBER: Final = 60
_RULE: Final = re.compile(r"\s*\|[\s:|-]*-[\s:|-]*\|\s*")
"""The line below the header of a Markdown table."""
_LARGEST_EXPONENT: Final = 30

Kind = Literal["json", "jsonl", "csv", "markdown", "yaml"]


@dataclass(frozen=True, slots=True)
class NotFinite:
    """`NaN` or an infinity, which is an error only where a figure is expected."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed file. `value` is a list of mappings for lines and tables."""

    kind: Kind
    value: Any


class _HostileValueError(ValueError):
    """A value that no tool writes."""


def parse_document(data: bytes, name: str) -> Document:
    """Return the plain data of a result file.

    Raises:
        IngestError: It is too large, too deep, not text, or in none of the five forms.
    """
    text = _text(data, name)
    start = text.lstrip()[:1]
    if start in ("{", "["):
        return _json(text, name)
    if re.match(r"[A-Za-z_][\w ]*(,[\w ]+){2,}\r?\n", text):
        return Document("csv", _csv(text, name))
    if any(_RULE.fullmatch(line) for line in text.splitlines()[1:]):
        return Document("markdown", _markdown(text, name))
    if re.search(r"^[A-Za-z_]+:", text, re.MULTILINE):
        return Document("yaml", _yaml(text, name))
    raise IngestError(
        name, "", f"text that begins with {shown(text[:20])}", "JSON, JSON lines, CSV, a Markdown table or YAML",
        "name the result file of a benchmark tool",
    )  # fmt: skip


def _text(data: bytes, name: str) -> str:
    if len(data) > MAX_BYTES:
        raise IngestError(
            name, "", f"{len(data):,} bytes", f"at most {MAX_BYTES:,}", "save it without the lists of each request"
        )  # fmt: skip
    # Each value but the first of its list or mapping stands behind a comma: a bound before anything is built.
    values = data.count(b",") + data.count(b"[") + data.count(b"{") + data.count(b"\n")
    if values > MAX_VALUES:
        raise IngestError(
            name, "", f"about {values:,} values", f"at most {MAX_VALUES:,}", "save it without the lists of each request"
        )  # fmt: skip
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise IngestError(
            name, f"byte {error.start}", f"0x{data[error.start]:02x}", "UTF-8 text", "name the result file itself"
        ) from None  # fmt: skip
    if not text.strip():
        raise IngestError(name, "", "no content", "a result file", "look whether the tool finished its run")
    return text


def _json(text: str, name: str) -> Document:
    try:
        value = _loads(text)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and "\n" in text.strip():
            return Document("jsonl", list(_lines(text, name)))
        raise _not_json(name, f"line {error.lineno}, column {error.colno}", error.msg) from None
    except (RecursionError, _HostileValueError) as error:
        raise _hostile(name, "", error) from None
    _check_depth(value, name)
    return Document("json", value)


def _lines(text: str, name: str) -> Iterator[Any]:
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            value = _loads(line)
        except json.JSONDecodeError as error:
            raise _not_json(name, f"line {number}, column {error.colno}", error.msg) from None
        except (RecursionError, _HostileValueError) as error:
            raise _hostile(name, f"line {number}", error) from None
        _check_depth(value, name)
        yield value


def _loads(text: str) -> Any:
    return json.loads(
        text,
        parse_float=_decimal,
        parse_int=_whole,
        parse_constant=NotFinite,
        object_pairs_hook=_mapping,
    )


def _decimal(token: str) -> Decimal:
    number = Decimal(token) if len(token) <= _LONGEST_NUMBER else None
    if number is None or (abs(number.adjusted()) > _LARGEST_EXPONENT and number):
        raise _HostileValueError(f"the number {shown(token)}")
    return number


def _whole(token: str) -> int:
    if len(token) > _LONGEST_NUMBER:
        raise _HostileValueError(f"a number of {len(token)} digits")
    return int(token)


def _mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise _HostileValueError(f"the key {shown(twice)} twice in one object")
    return mapping


def _not_json(name: str, place: str, problem: str) -> IngestError:
    return IngestError(
        name, place, problem, "complete JSON", "look whether the tool finished writing the file"
    )


def _hostile(name: str, place: str, error: Exception) -> IngestError:
    if isinstance(error, RecursionError):
        return _too_deep(name, place)
    return IngestError(name, place, str(error), "what a benchmark tool writes", "do not import this file")


def _too_deep(name: str, place: str) -> IngestError:
    found = f"more than {MAX_DEPTH} lists and objects inside each other"
    return IngestError(name, place, found, "what a benchmark tool writes", "do not import this file")


def _check_depth(value: Any, name: str) -> None:
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise _too_deep(name, "")
        inner = (
            each.values() if isinstance(each, dict) else each
            for each in level
            if isinstance(each, dict | list)
        )
        level = [item for items in inner for item in items if isinstance(item, dict | list)]


def _csv(text: str, name: str) -> list[dict[str, str]]:
    try:
        header, *rows = csv.reader(text.splitlines())
    except csv.Error as error:
        raise IngestError(
            name, "", str(error), "a table of short cells", "name the file that the tool wrote"
        ) from None
    return _rows([each.strip() for each in header], rows, name, first_line=2)


def _markdown(text: str, name: str) -> list[dict[str, str]]:
    """Return the rows of the first table; prose around it belongs to nobody."""
    lines = text.splitlines()
    rule = next(index for index, line in enumerate(lines) if _RULE.fullmatch(line) and index)
    table = []
    for line in [lines[rule - 1], *lines[rule + 1 :]]:
        if not line.strip().startswith("|"):
            break
        table.append([cell.strip() for cell in line.strip().strip("|").split("|")])
    if not table:
        raise IngestError(
            name,
            f"line {rule}",
            "no header above the table's line",
            "a table",
            "name the file that the tool wrote",
        )
    return _rows(table[0], table[1:], name, first_line=rule + 2)


def _rows(header: list[str], rows: list[list[str]], name: str, *, first_line: int) -> list[dict[str, str]]:
    if len(rows) > MAX_ROWS:
        raise IngestError(
            name, "", f"{len(rows):,} rows", f"at most {MAX_ROWS:,}", "import a part of the table"
        )
    if len(set(header)) < len(header):
        raise IngestError(
            name, "header", "one column name twice", "each column once", "rename one of the two"
        )
    found = []
    for line, row in enumerate(rows, start=first_line):
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(header):
            raise IngestError(
                name, f"line {line}", f"{len(row)} cells", f"{len(header)} as in the header", "complete the row"
            )  # fmt: skip
        found.append(dict(zip(header, (cell.strip() for cell in row), strict=True)))
    return found


_YAML_NUMBER: Final = re.compile(
    r"(?m)^(?P<before>[ ]*(?:- )*(?:[\w.\"' -]+: |- ))"
    r"(?P<number>[-+]?(?:[0-9][0-9_]*)?\.?[0-9]*(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|nan|Inf|NaN))[ ]*$"
)


def _yaml(text: str, name: str) -> Any:
    """Read YAML as other programs write it: their long floats and `.inf` are kept as text, digit for digit."""
    quoted = _YAML_NUMBER.sub(lambda match: _quoted(match["before"], match["number"]), text)
    try:
        return parse(quoted.encode())
    except YamlFault as fault:
        raise IngestError(
            name, f"line {fault.line}", fault.message, "plain YAML without anchors and tags", "export it as JSON"
        ) from None  # fmt: skip


def _quoted(before: str, number: str) -> str:
    return (
        f'{before}"{number}"'
        if any(each.isdigit() or each in "iInN" for each in number)
        else f"{before}{number}"
    )
