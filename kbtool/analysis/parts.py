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


def parts(record: StrictModel, kind: type[T]) -> Iterator[tuple[str, T]]:
    """Yield every part of a record that is a `kind`, with its JSON pointer, in the order of the fields."""
    return _parts(record, "", kind)


def prose(record: StrictModel) -> Iterator[tuple[str, str]]:
    """Yield every text in our own words with its JSON pointer, in the order of the fields."""
    for attribute, key, leads_on in _prose_steps(type(record)):
        value = getattr(record, attribute)
        if not value:
            continue
        if not leads_on:
            yield f"/{key}", value
        elif type(value) is tuple:
            for index, item in enumerate(value):
                for pointer, text in prose(item):
                    yield f"/{key}/{index}{pointer}", text
        else:
            for pointer, text in prose(value):
                yield f"/{key}{pointer}", text


def _parts(model: StrictModel, pointer: str, kind: type[T]) -> Iterator[tuple[str, T]]:
    for attribute, key, leads_on in _part_steps(type(model), kind):
        value = getattr(model, attribute)
        if not value:
            continue
        here = f"{pointer}/{key}"
        places = (
            [(f"{here}/{i}", item) for i, item in enumerate(value)]
            if type(value) is tuple
            else [(here, value)]
        )
        for place, item in places:
            if isinstance(item, kind):
                yield place, item
            if leads_on:
                yield from _parts(item, place, kind)


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
        if name in PROSE_FIELDS:
            steps.append(_Step(name, name, leads_on=False))
        elif any(_prose_steps(each) for each in _models_in(field.annotation)):
            steps.append(_Step(name, field.alias or name, leads_on=True))
    return tuple(steps)


def _models_in(annotation: Any) -> Iterator[type[StrictModel]]:
    if isinstance(annotation, type) and issubclass(annotation, StrictModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)
