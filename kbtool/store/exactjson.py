"""JSON that keeps the digits of a record: `3.10` stays `3.10`, and never becomes `3.1`."""

import json
import re
from datetime import date
from decimal import Decimal
from typing import Any, Final

from kbtool.vocab.numbers import number_text

__all__ = ["exact_json"]


def exact_json(value: Any, *, indent: int | None = None) -> str:
    """Return strict JSON in which a decimal keeps its digits: `93.90` stays `93.90`.

    The standard encoder knows no such number. It is given a text instead, between two marks that no record can
    hold, and the marks are taken off again with the quotes.

    Args:
        value: Plain data with decimals and days.
        indent: Blanks a level, for people, who read letters of all alphabets as they are, and characters that do not show as
            escapes: no record steers a terminal. For programs, none.

    Raises:
        TypeError: There is something in it that JSON has no form for.
    """
    if indent is None:
        text = json.dumps(value, default=_plain, ensure_ascii=True, separators=(",", ":"))
    else:
        text = json.dumps(value, default=_plain, ensure_ascii=False, indent=indent)
        text = "".join(
            [char if char.isprintable() or char == "\n" else json.dumps(char)[1:-1] for char in text]
        )
    return _MARKED.sub(r"\1", text) + "\n"


_MARKED: Final = re.compile(r'"\\u0000([-.0-9]+)\\u0000"')


def _plain(value: object) -> str:
    if isinstance(value, Decimal):
        return f"\0{number_text(value)}\0"
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} has no form in JSON")
