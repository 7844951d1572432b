"""What hand-written pages say, as plain data: tables, fenced blocks, and the fields of a model as a page lists them."""

import re
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, Literal, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

__all__ = ["SITE", "blocks", "codes", "field_rows", "page", "table_after"]

SITE: Final = Path(__file__).resolve().parent.parent.parent / "site"
_MOST_WORDS: Final = 12
"""Words of a field that are listed; longer lists stand in the schema."""
_CODE: Final = re.compile(r"`([^`]+)`")


def page(name: str) -> str:
    """Return the text of a page."""
    return (SITE / name).read_text(encoding="utf-8")


def table_after(text: str, heading: str) -> list[tuple[str, ...]]:
    """Return the cells of the first table below a heading, header and rule left out.

    Raises:
        AssertionError: the page has no such heading, or no table follows it.
    """
    lines = text.splitlines()
    assert heading in lines, f"no heading {heading!r}"
    below = lines[lines.index(heading) + 1 :]
    start = next((at for at, line in enumerate(below) if line.startswith(("|", "#"))), None)
    assert start is not None, f"no table below {heading!r}"
    assert below[start].startswith("|"), f"no table below {heading!r}"
    rows = []
    for line in below[start:]:
        if not line.startswith("|"):
            break
        cells = re.split(r"(?<!\\)\|", line.strip()[1:-1])
        rows.append(tuple(each.strip().replace("\\|", "|") for each in cells))
    return rows[2:]


def codes(cell: str) -> list[str]:
    """Return what stands in backticks in a cell."""
    return _CODE.findall(cell)


def blocks(text: str, language: str) -> list[str]:
    """Return the fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def field_rows(model: type[BaseModel]) -> list[tuple[str, str, str]]:
    """Return name, default and meaning of each field, as the page lists them."""
    return [(f"`{name}`", _default(info), _meaning(info)) for name, info in model.model_fields.items()]


def _default(info: FieldInfo) -> str:
    if info.is_required():
        return "required"
    value = info.get_default(call_default_factory=True)
    if value is None or value in ((), {}):
        return "-"
    if isinstance(value, BaseModel):
        return "its defaults"
    return f"`{_written(value)}`"


def _written(value: Any) -> str:
    """Return a value as a plan writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, tuple):
        return f"[{', '.join(_written(each) for each in value)}]"
    return str(value)


def _meaning(info: FieldInfo) -> str:
    """Return the description, with the words that a field may hold, where they are few."""
    words = [word for each in _literals(info.annotation) for word in get_args(each) if isinstance(word, str)]
    said = str(info.description)
    if not 1 < len(words) <= _MOST_WORDS:
        return said
    return f"{said} One of {', '.join(f'`{word}`' for word in words)}."


def _literals(annotation: Any) -> list[Any]:
    """Return the literals of a type, in whatever unions and annotations they stand."""
    if getattr(annotation, "__origin__", None) is Literal:
        return [annotation]
    return [found for each in get_args(annotation) for found in _literals(each)]
