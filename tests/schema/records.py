"""Strategies for plain data that the models accept, made from the models themselves."""

import typing
from datetime import date
from decimal import Decimal
from functools import cache
from typing import Any, Final, Literal

from annotated_types import Ge, Gt, Le, MaxLen, MinLen
from hypothesis import strategies as st
from pydantic import StringConstraints

from kbtool.schema import model_for
from kbtool.schema.base import ONE_LINE_PATTERN, StrictModel
from kbtool.store.fields import annotation_of, without_none
from tests.store.dialect import keys, scalars, texts

__all__ = ["records"]

MOST_OPTIONAL: Final = 3
_DIGITS: Final = 15
_DECIMALS: Final = 4
_NAME: Final = r"[a-z][a-z0-9]{0,5}(-[a-z0-9]{1,5}){0,2}"


def records(kind: str) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy for the plain data of valid records of one kind."""
    return _mapping(model_for(kind))


@cache
def _mapping(model: type[StrictModel]) -> st.SearchStrategy[dict[str, Any]]:
    required = [name for name, field in model.model_fields.items() if field.is_required()]
    optional = [name for name in model.model_fields if name not in required]

    @st.composite
    def mapping(draw: st.DrawFn) -> dict[str, Any]:
        # A few of the optional keys each time: with all of them, records would grow without end.
        chosen = (
            draw(st.lists(st.sampled_from(optional), max_size=MOST_OPTIONAL, unique=True)) if optional else []
        )
        fields = {name: model.model_fields[name] for name in (*required, *chosen)}
        return {field.alias or name: draw(_value(annotation_of(field), ())) for name, field in fields.items()}

    return mapping()


def _value(annotation: Any, metadata: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        inner = [each for part in arguments[1:] for each in getattr(part, "metadata", None) or [part]]
        return _value(arguments[0], (*inner, *metadata))
    members = without_none(annotation)
    if len(members) > 1 and all(typing.get_origin(each) is not Literal for each in members):
        return scalars  # a setting's value
    if origin is not None and type(None) in arguments:
        stated = next(each for each in arguments if each is not type(None))
        return st.none() | _value(stated, metadata)
    return _single(annotation, metadata) if origin is None else _collection(origin, arguments, metadata)


def _collection(origin: Any, arguments: tuple[Any, ...], metadata: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is dict:
        return st.dictionaries(keys, scalars, max_size=2)
    shortest = next((each.min_length for each in metadata if isinstance(each, MinLen)), 0)
    return st.lists(_value(arguments[0], ()), min_size=shortest, max_size=shortest + 1)


def _single(kind: type, metadata: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    if issubclass(kind, StrictModel):
        return _mapping(kind)
    if kind is bool:
        return st.booleans()
    if kind is date:
        return st.dates(min_value=date(1990, 1, 1)).map(date.isoformat)
    if kind is int:
        return st.integers(min_value=1, max_value=10**_DIGITS - 1)
    return _numbers(metadata) if kind is Decimal else _texts(metadata)


def _numbers(metadata: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    names = {Ge: "ge", Gt: "gt", Le: "le"}
    bounds = [each for each in metadata if type(each) in names]
    limits = {type(each): Decimal(getattr(each, names[type(each)])) for each in bounds}
    step = Decimal(1) / 10**_DECIMALS
    largest = Decimal(10 ** (_DIGITS - _DECIMALS)) - 1
    low = limits[Gt] + step if Gt in limits else limits.get(Ge, -largest)
    high = limits.get(Le, largest)
    places = st.integers(min_value=0, max_value=_DECIMALS)
    numbers = places.flatmap(lambda each: st.decimals(low, high, places=each)).filter(
        lambda number: not (number.is_signed() and number == 0)
    )
    return numbers | numbers.map(lambda number: f"{number:f}")


def _texts(metadata: tuple[Any, ...]) -> st.SearchStrategy[str]:
    constraints = [each for each in metadata if isinstance(each, StringConstraints)]
    patterns = [each.pattern for each in constraints if each.pattern]
    patterns += [each.pattern for each in metadata if hasattr(each, "pattern") and each not in constraints]
    longest = min([each.max_length for each in constraints if each.max_length], default=400)
    longest = min([longest, *(each.max_length for each in metadata if isinstance(each, MaxLen))])
    pattern = str(next(iter(patterns), ""))
    if pattern in {"", ONE_LINE_PATTERN}:
        fitting = texts.filter(lambda text: 0 < len(text) <= longest)
        return fitting.filter(lambda text: "\n" not in text) if pattern else fitting
    if pattern.startswith("^https?"):
        return st.from_regex(r"https://[a-z]{1,9}\.org/[a-z0-9/._-]{0,20}", fullmatch=True)
    short = pattern.strip("^$").replace("[a-z][a-z0-9]*(-[a-z0-9]+)*", _NAME)
    return st.from_regex(short, fullmatch=True)
