"""What to say about a value that its field cannot hold.

A lesson says what was found, what is expected, and what to do, in that order.  Where one correction is far
more likely than any other, it is suggested; where it cannot change what the record says, it is also an edit.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from pydantic_core import ErrorDetails

from kbtool.schema import FOLDERS
from kbtool.schema.base import ONE_LINE_PATTERN, SLUG_PATTERN, StrictModel
from kbtool.store import fields
from kbtool.store.faults import quoted
from kbtool.store.meant import UNKNOWN, address_meant, day_meant, hash_meant, number_meant
from kbtool.store.scalars import scalar_text
from kbtool.store.shape import ShapeKind
from kbtool.store.suggest import nearest

__all__ = ["Lesson", "key_list", "teach"]

Location = Sequence[str | int]

MOST_WORDS_LISTED: Final = 12


@dataclass(frozen=True, slots=True)
class Lesson:
    """One fault, explained."""

    kind: ShapeKind
    message: str
    suggestion: str | None = None
    replacement: str | None = None
    """Source text that may safely stand in the place of the value's."""


def teach(
    model: type[StrictModel], location: Location, value: Any, details: Sequence[ErrorDetails], source: str
) -> Lesson:
    """Explain why the value at `location` of a record does not fit.

    Args:
        model: The model of the record.
        location: Where the value stands.
        value: The value as parsed.
        details: What pydantic has against it: one error, or one for each member of a union.
        source: The value as it is written in the file.
    """
    detail = details[0]
    words = fields.words(fields.annotation_at(model, location))
    if value is None:
        return _null(location, details, words)
    if value == "":
        advice = (
            " or remove the key where the source does not say" if fields.is_optional(model, location) else ""
        )
        return Lesson(ShapeKind.EMPTY_TEXT, f"an empty text; expected a value: write it,{advice}".rstrip(","))
    if words:
        return _unknown_word(location, value, words)
    expected = _expected(details)
    if expected:
        return _wrong_type(value, _Expected(expected, fields.model_at(model, location)), source)
    explain = _EXPLAIN.get(detail["type"])
    if explain is None:
        return Lesson(ShapeKind.INVALID_VALUE, f"{fields.described(value)} does not fit: {detail['msg']}")
    return explain(location, value, detail)


def key_list(names: Sequence[str]) -> str:
    """Return names for a message: all of them where they are few."""
    if len(names) <= MOST_WORDS_LISTED:
        return "one of " + ", ".join(f"`{name}`" for name in names)
    shown = ", ".join(f"`{name}`" for name in names[:MOST_WORDS_LISTED])
    return f"one of {shown} and {len(names) - MOST_WORDS_LISTED} more"


# --- Types ------------------------------------------------------------------------------------

_TYPES: Final[dict[str, str]] = {
    "string_type": "text",
    "int_type": "a whole number",
    "number_type": "a number",
    "date_text": 'a date such as `"2026-10-04"`',
    "bool_type": "`true` or `false`",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "none_required": "`null`",
}
"""pydantic's complaint about a type -> what the field takes."""


def _expected(details: Sequence[ErrorDetails]) -> str:
    """Return which types the field takes, or nothing where the type is right."""
    types = [_TYPES[detail["type"]] for detail in details if detail["type"] in _TYPES]
    is_date_text = details[0]["type"] == "date_text" and isinstance(details[0]["input"], str)
    if is_date_text or len(types) < len(details):
        return ""
    *head, last = dict.fromkeys(types)
    return f"{', '.join(head)} or {last}" if head else last


def _null(location: Location, details: Sequence[ErrorDetails], words: Sequence[str | int]) -> Lesson:
    expected = key_list([str(word) for word in words]) if words else _expected(details) or "a value"
    advice = "remove the key" if expected in {"a list", "a mapping"} else "write it"
    name = fields.place_name(location)
    return Lesson(ShapeKind.NULL_VALUE, f"nothing in {name}; expected {expected}: {advice}")


@dataclass(frozen=True, slots=True)
class _Expected:
    """What a field takes."""

    words: str
    """Such as `a whole number`."""
    model: type[StrictModel] | None
    """Of the mapping, where one is expected."""

    @property
    def needed(self) -> list[str]:
        """The keys that the mapping must have."""
        return (
            fields.required_keys(self.model) if self.model is not None and "a mapping" in self.words else []
        )

    @property
    def shown(self) -> list[str]:
        """Keys for an example of the mapping: those that it must have, or else the first one."""
        return self.needed or (list(fields.keys(self.model))[:1] if self.model is not None else ["key"])

    @property
    def in_full(self) -> str:
        """The words, with the keys that a mapping must have."""
        return f"{self.words} with {_all_of(self.needed)}" if self.needed else self.words


def _wrong_type(value: Any, expected: _Expected, source: str) -> Lesson:
    found = fields.described(value)
    lesson = _convertible(value, expected.words, source)
    if lesson is not None:
        return lesson
    if isinstance(value, str) and UNKNOWN.fullmatch(value):
        advice = "leave the field out, and list it in `omitted_by_source` or `gaps`"
    elif "a list" in expected.words:
        advice = _list_advice(value)
    elif isinstance(value, list):
        advice = (
            "take what stands in it out of the list" if len(value) == 1 else "join the entries, or choose one"
        )
    elif "a mapping" in expected.words:
        advice = f"write it as `{{{', '.join(f'{key}: ...' for key in expected.shown)}}}`"
    else:
        advice = "write it so, or move it to another field"
    return Lesson(ShapeKind.WRONG_TYPE, f"{found}; expected {expected.in_full}: {advice}")


def _convertible(value: Any, expected: str, source: str) -> Lesson | None:
    """Return the lesson about a value that says what is expected in another form; None for others."""
    found = fields.described(value)
    if expected == "text" and isinstance(value, int | Decimal):
        text = f'"{source}"'
        message = f"{found} where text is expected; a reader of YAML sees no text here: quote it, {text}"
        return Lesson(ShapeKind.UNQUOTED_TEXT, message, text, text)
    if expected == "a whole number" and isinstance(value, str) and re.fullmatch(r"0|[1-9][0-9]{0,14}", value):
        message = f"{found} where a whole number is expected: remove the quotes"
        return Lesson(ShapeKind.WRONG_TYPE, message, value, value)
    meant = _meant(value, expected)
    if meant is None:
        return None
    return Lesson(ShapeKind.WRONG_TYPE, f"{found}; expected {expected}: did you mean `{meant}`?", meant)


def _meant(value: Any, expected: str) -> str | None:
    """Return the value of the expected type that another one stands for, if there is just one."""
    if expected == "`true` or `false`":
        return _BOOLEANS.get(str(value).lower())
    if expected == "a whole number" and isinstance(value, str | Decimal):
        number = number_meant(str(value))
        is_whole = number is not None and re.fullmatch(r"-?[0-9]+(\.0+)?", number)
        return number.partition(".")[0] if number and is_whole else None
    if expected == _TYPES["date_text"] and isinstance(value, int):
        day = day_meant(str(value))
        return f'"{day}"' if day else None
    return None


def _list_advice(value: Any) -> str:
    if isinstance(value, Mapping):
        return "begin its first key with `- `, and indent the others to stand below that key"
    shown = scalar_text(value, flow=True)
    example = f"[{shown}]" if len(shown) <= _LONGEST_EXAMPLE else "[...]"
    return f"write it as `{example}`, or one `- ` line an entry"


def _all_of(names: Sequence[str]) -> str:
    *head, last = [f"`{name}`" for name in names]
    return f"{', '.join(head)} and {last}" if head else last


_LONGEST_EXAMPLE: Final = 60
_BOOLEANS: Final = {
    "yes": "true",
    "on": "true",
    "true": "true",
    "no": "false",
    "off": "false",
    "false": "false",
    "1": "true",
    "0": "false",
}


# --- Words ------------------------------------------------------------------------------------


def _unknown_word(location: Location, value: Any, words: Sequence[str | int]) -> Lesson:
    if location == ("schema_version",):
        message = f"{fields.described(value)}; this kbtool reads `schema_version: {words[-1]}`: update kbtool, or correct it"
        return Lesson(ShapeKind.UNKNOWN_VERSION, message, str(words[-1]))
    names = [str(word) for word in words]
    expected = key_list(names)
    if not isinstance(value, str):
        return Lesson(
            ShapeKind.WRONG_TYPE, f"{fields.described(value)}; expected {expected}: write the one that holds"
        )
    folded = {_folded(name): name for name in names}
    hint = folded.get(_folded(value)) or nearest(value, names)
    if hint:
        message = f"unknown word {quoted(value)}; did you mean `{hint}`? Expected {expected}"
        return Lesson(ShapeKind.UNKNOWN_WORD, message, hint)
    return Lesson(
        ShapeKind.UNKNOWN_WORD, f"unknown word {quoted(value)}; expected {expected}: write the one that holds"
    )


def _folded(word: str) -> str:
    return re.sub(r"[\s_.-]", "", word.casefold())


# --- Numbers and dates ------------------------------------------------------------------------

_LIMITS: Final = {
    "greater_than": ("gt", "above"),
    "greater_than_equal": ("ge", "of at least"),
    "less_than": ("lt", "below"),
    "less_than_equal": ("le", "of at most"),
}


def _out_of_range(_location: Location, value: Any, detail: ErrorDetails) -> Lesson:
    key, words = _LIMITS[detail["type"]]
    limit = detail.get("ctx", {}).get(key)
    message = f"{fields.described(value)}; expected a number {words} {limit}: correct it, or check its unit"
    return Lesson(ShapeKind.OUT_OF_RANGE, message)


def _malformed_number(_location: Location, value: Any, detail: ErrorDetails) -> Lesson:
    reason = str(detail.get("ctx", {}).get("reason", ""))
    if UNKNOWN.fullmatch(value):
        message = f"{fields.described(value)}; expected a number: leave the field out, and list it in `omitted_by_source` or `gaps`"
        return Lesson(ShapeKind.MALFORMED_NUMBER, message)
    return _with_hint(ShapeKind.MALFORMED_NUMBER, reason, number_meant(value))


def _malformed_date(_location: Location, value: Any, _detail: ErrorDetails) -> Lesson:
    message = f"{fields.described(value)} is not a date; expected a date such as `2026-10-04`: write year, month and day"
    return _with_hint(ShapeKind.MALFORMED_DATE, message, day_meant(value))


def _no_such_day(_location: Location, value: Any, _detail: ErrorDetails) -> Lesson:
    message = (
        f"there is no day {quoted(value)}; expected a day of the calendar: look it up again in the source"
    )
    return Lesson(ShapeKind.MALFORMED_DATE, message)


# --- Text -------------------------------------------------------------------------------------


def _too_long(_location: Location, value: Any, detail: ErrorDetails) -> Lesson:
    limit = detail.get("ctx", {}).get("max_length")
    message = f"a text of {len(value):,} characters; expected at most {limit:,}: shorten it, or move parts to other fields"
    return Lesson(ShapeKind.TEXT_TOO_LONG, message)


def _too_few(_location: Location, value: Any, detail: ErrorDetails) -> Lesson:
    limit = detail.get("ctx", {}).get("min_length")
    message = f"a list of {len(value)} entries; expected at least {limit}: add what belongs here"
    return Lesson(ShapeKind.TOO_FEW_ENTRIES, message)


def _too_many(_location: Location, value: Any, detail: ErrorDetails) -> Lesson:
    limit = detail.get("ctx", {}).get("max_length")
    message = f"a list of {len(value):,} entries; expected at most {limit:,}: split the record"
    return Lesson(ShapeKind.TOO_MANY_ENTRIES, message)


def _wrong_pattern(location: Location, value: Any, detail: ErrorDetails) -> Lesson:
    pattern = str(detail.get("ctx", {}).get("pattern", ""))
    if pattern == SLUG_PATTERN:
        return _malformed_slug(location, value)
    if pattern == ONE_LINE_PATTERN:
        message = "a text of several lines; expected one line: join them, or move the rest to `notes`"
        return Lesson(ShapeKind.SEVERAL_LINES, message)
    if pattern.startswith("^https?"):
        message = f"{quoted(value)} is not an address; expected one that begins with `https://`, without blanks: copy it again"
        return _with_hint(ShapeKind.MALFORMED_ADDRESS, message, address_meant(value))
    if pattern.startswith("^[0-9a-f]"):
        message = f"{quoted(value)} is not a SHA-256; expected 64 characters of 0-9 and a-f: compute it again"
        return _with_hint(ShapeKind.MALFORMED_HASH, message, hash_meant(value))
    return _malformed_reference(value, pattern)


def _with_hint(kind: ShapeKind, message: str, hint: str | None) -> Lesson:
    return Lesson(kind, f"{message}; did you mean `{hint}`?" if hint else message, hint)


def _malformed_slug(location: Location, value: str) -> Lesson:
    slug = re.sub(r"[^a-z0-9]+", "-", value.casefold()).strip("-")
    hint = slug if re.match(SLUG_PATTERN, slug) else None
    asked = f"; did you mean `{hint}`?" if hint else ""
    form = "lower-case words of a-z and 0-9, joined by single hyphens, the first beginning with a letter"
    if location == ("id",):
        message = (
            f"{quoted(value)} cannot be an id; expected the name of the file without `.yaml`: {form}{asked}"
        )
        return Lesson(ShapeKind.MALFORMED_ID, message, hint)
    return Lesson(
        ShapeKind.MALFORMED_NAME, f"{quoted(value)} cannot be a name here; expected {form}{asked}", hint
    )


def _malformed_reference(value: str, pattern: str) -> Lesson:
    folders = [folder for folder in FOLDERS if folder in pattern]
    forms = f"`{folders[0]}/<id>`" if len(folders) == 1 else "`<kind>s/<id>`, such as `sources/some-article`"
    hint = _repaired_reference(value, folders, pattern)
    asked = f"; did you mean `{hint}`?" if hint else ""
    message = f"{quoted(value)} is not a reference that can stand here; expected {forms}{asked}"
    return Lesson(ShapeKind.MALFORMED_REFERENCE, message, hint)


def _repaired_reference(value: str, folders: Sequence[str], pattern: str) -> str | None:
    """Return the reference that was meant, where its form alone is wrong."""
    path = re.sub(r"^[./]*(records/)?|\.ya?ml(?=#|$)", "", value.strip().casefold())
    folder, slash, rest = path.rpartition("/")
    if not slash:
        folder, rest = (folders[0] if len(folders) == 1 else ""), path
    folder = folder if folder in FOLDERS else nearest(folder, folders) or folder
    record, mark, result = rest.partition("#")
    names = [re.sub(r"[^a-z0-9]+", "-", name).strip("-") for name in (record, result)]
    hint = f"{folder}/{names[0]}{mark}{names[1]}"
    return hint if re.match(pattern, hint) and hint != value else None


_EXPLAIN: Final[dict[str, Callable[[Location, Any, ErrorDetails], Lesson]]] = {
    **dict.fromkeys(_LIMITS, _out_of_range),
    "number_text": _malformed_number,
    "date_text": _malformed_date,
    "date_value": _no_such_day,
    "string_too_long": _too_long,
    "too_short": _too_few,
    "too_long": _too_many,
    "string_pattern_mismatch": _wrong_pattern,
}
"""pydantic's error type -> what to say."""
