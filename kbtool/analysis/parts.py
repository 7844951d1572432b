"""Parts of a record by what they are: every piece of evidence, every figure, every text in our own words.

Which fields of a model lead to which parts is worked out once a model; a record is then walked along those
alone.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any, Final, NamedTuple, TypeVar, get_args

from kbtool.schema.base import StrictModel

__all__ = ["PROSE_FIELDS", "parts", "prose"]

T = TypeVar("T", bound=StrictModel)

PROSE_FIELDS: Final = frozenset(
    {
        "avoid", "cause", "caveat", "detect", "differs_because", "method", "note", "notes", "reason",
        "standing_reason", "statement", "status_reason", "symptom", "why",
    }
)  # fmt: skip
"""Fields whose text is ours and not the source's."""


class _Step(NamedTuple):
    """One field of a model that is, or leads to, what is looked for."""

    attribute: str
    key: str
    leads_on: bool


def parts(record: StrictModel, kind: type[T]) -> list[tuple[str, T]]:
    """Return every part of a record that is a `kind`, with its JSON pointer, in the order of the fields."""
    found: list[tuple[str, T]] = []
    _add_parts(record, "", kind, found)
    return found


def prose(record: StrictModel) -> list[tuple[str, str]]:
    """Return every text in our own words with its JSON pointer, in the order of the fields."""
    found: list[tuple[str, str]] = []
    _add_prose(record, "", found)
    return found


def _add_prose(model: StrictModel, pointer: str, found: list[tuple[str, str]]) -> None:
    """Add the texts of a model. Several rules read them of every record, so that it is kept lean."""
    for attribute, key, leads_on in _prose_steps(type(model)):
        value = getattr(model, attribute)
        if not value:
            continue
        if not leads_on:
            found.append((f"{pointer}/{key}", value))
        elif type(value) is tuple:
            for index, item in enumerate(value):
                _add_prose(item, f"{pointer}/{key}/{index}", found)
        else:
            _add_prose(value, f"{pointer}/{key}", found)


def _add_parts(model: StrictModel, pointer: str, kind: type[T], found: list[tuple[str, T]]) -> None:
    for attribute, key, leads_on in _part_steps(type(model), kind):
        value = getattr(model, attribute)
        if not value:
            continue
        here = f"{pointer}/{key}"
        for place, item in (
            [(f"{here}/{index}", item) for index, item in enumerate(value)]
            if type(value) is tuple
            else ((here, value),)
        ):
            if isinstance(item, kind):
                found.append((place, item))
            if leads_on:
                _add_parts(item, place, kind, found)


@cache
def _part_steps(model: type[StrictModel], kind: type[StrictModel]) -> tuple[_Step, ...]:
    steps = []
    for name, field in model.model_fields.items():
        inner = list(_models_in(field.annotation))
        leads_on = any(_part_steps(each, kind) for each in inner)
        if leads_on or any(issubclass(each, kind) for each in inner):
            steps.append(_Step(name, field.alias or name, leads_on))
    return tuple(steps)


@cache
def _prose_steps(model: type[StrictModel]) -> tuple[_Step, ...]:
    steps = []
    for name, field in model.model_fields.items():
        if name in PROSE_FIELDS and _is_text(field.annotation):
            steps.append(_Step(name, name, leads_on=False))
        elif any(_prose_steps(each) for each in _models_in(field.annotation)):
            steps.append(_Step(name, field.alias or name, leads_on=True))
    return tuple(steps)


def _is_text(annotation: Any) -> bool:
    """Return whether a field holds free text rather than a word of a closed set."""
    return annotation is str or any(_is_text(each) for each in get_args(annotation))


def _models_in(annotation: Any) -> Iterator[type[StrictModel]]:
    if isinstance(annotation, type) and issubclass(annotation, StrictModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)
