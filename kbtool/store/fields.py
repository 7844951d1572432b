"""What stands where in a model: the type at a place of a record, read from the models' annotations."""

import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cache, lru_cache
from typing import Annotated, Any, Final, Literal, Union

from pydantic import BeforeValidator
from pydantic.fields import FieldInfo

from kbtool.schema.base import ExactText, StrictModel
from kbtool.store.faults import quoted

__all__ = [
    "ExactName",
    "annotation_at",
    "annotation_of",
    "described",
    "description",
    "homes",
    "is_optional",
    "keys",
    "model_at",
    "place_name",
    "required_keys",
    "value_type",
    "without_none",
    "words",
]


def model_at(model: type[StrictModel], location: Sequence[str | int]) -> type[StrictModel] | None:
    """Return the model of the mapping at `location`, or None where no model describes it."""
    annotation = annotation_at(model, location)
    for member in without_none(annotation):
        if isinstance(member, type) and issubclass(member, StrictModel):
            return member
    return None


def annotation_at(model: type[StrictModel], location: Sequence[str | int]) -> Any:
    """Return the annotation of the value at `location`, or None where the models do not say."""
    return _annotation_at(model, _any_item(location))


def _any_item(location: Sequence[str | int]) -> tuple[str | int, ...]:
    """Return a location for all items of a list at once: they have one annotation."""
    return tuple([0 if isinstance(part, int) else part for part in location])


@lru_cache(maxsize=4096)
def _annotation_at(model: type[StrictModel], location: tuple[str | int, ...]) -> Any:
    if not location:
        return model
    outer = _annotation_at(model, location[:-1])
    return next(_inside(outer, location[-1]), None) if outer is not None else None


def annotation_of(field: FieldInfo) -> Any:
    """Return the annotation of a field with its metadata, which pydantic keeps apart."""
    return Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation


def without_none(annotation: Any) -> tuple[Any, ...]:
    """Return the members of a union, or the annotation alone; without None and without metadata."""
    if typing.get_origin(annotation) is Annotated:
        return without_none(typing.get_args(annotation)[0])
    if isinstance(annotation, types.UnionType) or typing.get_origin(annotation) is Union:
        return tuple(inner for member in typing.get_args(annotation) for inner in without_none(member))
    return () if annotation is type(None) else (annotation,)


def words(annotation: Any) -> tuple[str | int, ...]:
    """Return the words that a closed set allows, or nothing where the annotation is no closed set."""
    members = without_none(annotation)
    if not members or any(typing.get_origin(member) is not Literal for member in members):
        return ()
    return tuple(word for member in members for word in typing.get_args(member))


def value_type(model: type[StrictModel], location: Sequence[str | int]) -> type | None:
    """Return the one type of the single value at `location`; None for lists, mappings, closed sets and unions.

    `str` stands for free text, `ExactName` for a text that looks like a number at times.
    """
    return _value_type(model, _any_item(location))


@lru_cache(maxsize=4096)
def _value_type(model: type[StrictModel], location: tuple[str | int, ...]) -> type | None:
    annotation = _annotation_at(model, location)
    members = without_none(annotation)
    if len(members) != 1 or typing.get_origin(members[0]) is not None or not isinstance(members[0], type):
        return None
    return ExactName if members[0] is str and _EXACT in _metadata(annotation) else members[0]


class ExactName(str):
    """Stands for `kbtool.schema.base.ExactText`, which is `str` at run time."""

    __slots__ = ()


_EXACT: Final = next(each for each in typing.get_args(ExactText) if isinstance(each, BeforeValidator))


@cache
def keys(model: type[StrictModel]) -> dict[str, str]:
    """Return key in the file -> attribute of the model, in the order of the file."""
    return {model.model_fields[name].alias or name: name for name in model.file_order()}


def required_keys(model: type[StrictModel]) -> list[str]:
    """Return the keys that a mapping of this model must have, in the order of the file."""
    return [key for key, name in keys(model).items() if model.model_fields[name].is_required()]


def is_optional(model: type[StrictModel], location: Sequence[str | int]) -> bool:
    """Return whether the key at `location` may be left out."""
    owner = model_at(model, location[:-1])
    key = str(location[-1]) if location else ""
    return owner is not None and key in keys(owner) and key not in required_keys(owner)


def _inside(annotation: Any, part: str | int) -> Iterator[Any]:
    """Yield the annotation of an item or key of a value."""
    for member in without_none(annotation):
        origin, arguments = typing.get_origin(member), typing.get_args(member)
        if origin is tuple and isinstance(part, int):
            yield arguments[0]
        elif origin is dict and isinstance(part, str):
            yield arguments[1]
        elif isinstance(member, type) and issubclass(member, StrictModel) and part in keys(member):
            yield annotation_of(member.model_fields[keys(member)[str(part)]])


def description(model: type[StrictModel], key: str) -> str:
    """Return what a key means."""
    return (model.model_fields[keys(model)[key]].description or "").removesuffix(".")


@cache
def homes(model: type[StrictModel]) -> dict[str, tuple[str, ...]]:
    """Return key -> dotted places below `model` where it may stand; empty for the top of the record."""
    found: dict[str, set[str]] = {}
    _find_homes(model, "", (), found)
    return {key: tuple(sorted(places)) for key, places in found.items()}


def place_name(location: Sequence[str | int]) -> str:
    """Return how a message calls the place: `results[0].at`, or `the record` for its top."""
    name = ""
    for part in location:
        name += f"[{part}]" if isinstance(part, int) else f".{part}" if name else part
    return f"`{name}`" if name else "the record"


def described(value: object) -> str:
    """Return a value in the words of a message: `the number 5`, `a list`."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, int | Decimal):
        return f"the number {quoted(str(value))}"
    if isinstance(value, str):
        return f"the text {quoted(value)}"
    return "a mapping" if isinstance(value, Mapping) else "a list"


def _find_homes(
    model: type[StrictModel], place: str, above: tuple[type[StrictModel], ...], found: dict[str, set[str]]
) -> None:
    for key, name in keys(model).items():
        found.setdefault(key, set()).add(place)
        for inner in _models(model.model_fields[name].annotation):
            if inner not in above:
                _find_homes(inner, f"{place}.{key}" if place else key, (*above, model), found)


def _models(annotation: Any) -> Iterator[type[StrictModel]]:
    for member in without_none(annotation):
        if isinstance(member, type) and issubclass(member, StrictModel):
            yield member
        for inner in typing.get_args(member) if typing.get_origin(member) in {tuple, dict} else ():
            yield from _models(inner)


def _metadata(annotation: Any) -> tuple[Any, ...]:
    """Return the metadata of a value's annotation, also inside an optional."""
    if typing.get_origin(annotation) is Annotated:
        inner, *metadata = typing.get_args(annotation)
        return (*metadata, *_metadata(inner))
    if isinstance(annotation, types.UnionType) or typing.get_origin(annotation) is Union:
        return tuple(each for member in typing.get_args(annotation) for each in _metadata(member))
    return ()
