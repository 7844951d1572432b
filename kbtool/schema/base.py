"""The base of all models and the scalar types that records are made of.

Models are strict and frozen and refuse unknown keys.  Every field carries a description, which the JSON
Schema, the editor and the site show.  `None` means that the source does not say, and only that.
"""

import re
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, Strict, StringConstraints, WithJsonSchema
from pydantic_core import PydanticCustomError

from kbtool.vocab.numbers import number_text, parse_number

__all__ = [
    "Count",
    "ExactText",
    "IsoDate",
    "Line",
    "ModelVersion",
    "Number",
    "PositiveNumber",
    "Prose",
    "Ratio",
    "Scalar",
    "Seq",
    "Short",
    "Slug",
    "StrictModel",
    "Title",
    "Url",
    "has_default",
    "need",
    "opt",
    "seq",
]

T = TypeVar("T")

SLUG_PATTERN: Final = r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$"
NUMBER_PATTERN: Final = r"^(?!-0(\.0*)?$)-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,9})?$"
_POSITIVE_PATTERN: Final = r"^(?!0(\.0*)?$)(0|[1-9][0-9]{0,14})(\.[0-9]{1,9})?$"
_RATIO_PATTERN: Final = r"^(0(\.[0-9]{1,9})?|1(\.0{1,9})?)$"
DATE_PATTERN: Final = r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$"
ONE_LINE_PATTERN: Final = r"^[^\n]*$"


class StrictModel(BaseModel):
    """Base of every model: strict types, no unknown keys, no changes after reading."""

    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, populate_by_name=True, hide_input_in_errors=True
    )

    @classmethod
    def file_order(cls) -> list[str]:
        """Return the names of the fields in the order in which a file has them."""
        return list(cls.model_fields)


def _number(value: object) -> object:
    """Turn an int, a Decimal or the text of a number into an exact Decimal."""
    if isinstance(value, Decimal):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return Decimal(value)
    if isinstance(value, str):
        try:
            return Decimal(parse_number(value))
        except ValueError as error:
            raise PydanticCustomError("number_text", "{reason}", {"reason": str(error)}) from None
    raise PydanticCustomError("number_type", "expected a number")


def _exact_text(value: object) -> object:
    """Give an unquoted number its text back, digit for digit: version 0.10 is not 0.1."""
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return number_text(value)
    return value


def _iso_date(value: object) -> object:
    """Turn `2026-10-04` into a date."""
    if isinstance(value, date):
        return value
    if isinstance(value, str) and re.match(DATE_PATTERN, value):
        try:
            return date.fromisoformat(value)
        except ValueError:
            raise PydanticCustomError("date_value", "there is no such day") from None
    raise PydanticCustomError("date_text", 'expected a date such as "2026-10-04"')


def _whole(value: object) -> object:
    """Refuse what Python calls equal to a whole number: `true` is not 1, nor is 1.0."""
    if type(value) is not int:
        raise PydanticCustomError("int_type", "expected a whole number")
    return value


ModelVersion = Annotated[Literal[1], BeforeValidator(_whole)]
"""Version of the record model that a file is written for."""
Number = Annotated[
    Decimal,
    BeforeValidator(_number),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "string", "pattern": NUMBER_PATTERN}]}),
]
"""An exact decimal with the digits it was written with; quoted or not."""
PositiveNumber = Annotated[
    Decimal,
    BeforeValidator(_number),
    Field(gt=0),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "exclusiveMinimum": 0},
                {"type": "string", "pattern": _POSITIVE_PATTERN},
            ]
        }
    ),
]
"""A number above 0."""
Ratio = Annotated[
    Decimal,
    BeforeValidator(_number),
    Field(ge=0, le=1),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "minimum": 0, "maximum": 1},
                {"type": "string", "pattern": _RATIO_PATTERN},
            ]
        }
    ),
]
"""A share between 0 and 1."""
Count = Annotated[int, Field(ge=1, le=10**15)]
"""A whole number of at least 1."""
ExactText = Annotated[
    str,
    BeforeValidator(_exact_text),
    StringConstraints(min_length=1, max_length=200, pattern=ONE_LINE_PATTERN),
    WithJsonSchema(
        {"type": ["string", "number"], "minLength": 1, "maxLength": 200, "pattern": ONE_LINE_PATTERN}
    ),
]
"""A version, commit or similar name that looks like a number at times: kept as written."""
IsoDate = Annotated[
    date,
    BeforeValidator(_iso_date),
    WithJsonSchema({"type": "string", "format": "date", "pattern": DATE_PATTERN}),
]
"""A day, `"2026-10-04"`."""
Slug = Annotated[str, StringConstraints(max_length=100, pattern=SLUG_PATTERN)]
"""Lower-case words joined by single hyphens; the name of a file, a page and an anchor."""
Title = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=ONE_LINE_PATTERN)]
Line = Annotated[str, StringConstraints(min_length=1, max_length=300, pattern=ONE_LINE_PATTERN)]
Short = Annotated[str, StringConstraints(min_length=1, max_length=600)]
Prose = Annotated[str, StringConstraints(min_length=1, max_length=4000)]
Url = Annotated[str, StringConstraints(min_length=1, max_length=2000, pattern=r"^https?://[^\s]+$")]
"""A web address; what may stand in it beyond its form is for the rules W1xx."""
Scalar = str | bool | int | Number | None
"""A setting's value as its source writes it."""
Seq = Annotated[tuple[T, ...], Strict(strict=False)]
"""A list in YAML, a tuple here."""


def need(description: str, **extra: Any) -> Any:
    """Declare a field that every record of the kind must have."""
    return Field(description=description, **extra)


def opt(description: str, **extra: Any) -> Any:
    """Declare a field that is `None` where the source does not say."""
    return Field(default=None, description=description, **extra)


def seq(description: str, **extra: Any) -> Any:
    """Declare a list that is empty where there is nothing to list."""
    return Field(default=(), description=description, **extra)


def has_default(value: object, description: str, **extra: Any) -> Any:
    """Declare a field with a value of its own when it is left out."""
    return Field(default=value, description=description, **extra)
