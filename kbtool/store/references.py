"""The references that a record makes, found by the types of its fields.

Which fields of a model hold references is worked out once a model; a record is then walked along those
fields alone.
"""

import typing
from functools import cache
from typing import Annotated, Any, Final, NamedTuple

from pydantic import StringConstraints

from kbtool.schema import refs
from kbtool.schema.base import StrictModel
from kbtool.store.fields import annotation_of, without_none

__all__ = ["Outgoing", "outgoing"]


class Outgoing(NamedTuple):
    """One reference of a record."""

    pointer: str
    """JSON pointer of the field."""
    target: str
    """`<kind>s/<id>`, with `#<result>` where one result is meant."""
    relation: str
    """The owner's stated relation (`supersedes`, `quotes`), else the field's name (`accelerator`)."""


def outgoing(record: StrictModel) -> list[Outgoing]:
    """Return every reference of a record, in the order of its fields."""
    found: list[Outgoing] = []
    _walk(record, "", found)
    return found


_PATTERNS: Final = frozenset(
    constraint.pattern
    for name in refs.__all__
    if name.endswith("Ref")
    for constraint in typing.get_args(getattr(refs, name))
    if isinstance(constraint, StringConstraints)
)


class _Step(NamedTuple):
    """One field that is, or leads to, references."""

    attribute: str
    key: str
    is_list: bool
    is_reference: bool
    relation: str
    """What the reference is; empty where the model states it in a field `relation`."""


@cache
def _steps(model: type[StrictModel]) -> tuple[_Step, ...]:
    """Return the fields of a model through which references are reached."""
    steps = []
    for name, field in model.model_fields.items():
        is_list, item = _item(annotation_of(field))
        is_reference = _is_reference(item)
        if is_reference or any(map(_leads_to_references, without_none(item))):
            steps.append(_Step(name, field.alias or name, is_list, is_reference, _relation(model, name)))
    return tuple(steps)


def _walk(model: StrictModel, pointer: str, found: list[Outgoing]) -> None:
    for attribute, key, is_list, is_reference, relation in _steps(type(model)):
        value = getattr(model, attribute)
        if not value:
            continue
        here = f"{pointer}/{key}"
        if is_reference:
            meaning = relation or model.relation  # type: ignore[attr-defined]  # `_steps` has looked
            places = enumerate(value) if is_list else ((None, value),)
            for index, target in places:
                found.append(Outgoing(here if index is None else f"{here}/{index}", target, meaning))
        elif is_list:
            for index, each in enumerate(value):
                _walk(each, f"{here}/{index}", found)
        else:
            _walk(value, here, found)


def _relation(model: type[StrictModel], attribute: str) -> str:
    if "relation" in model.model_fields:
        return ""
    return model.__name__.lower() if attribute == "target" else attribute


def _leads_to_references(member: Any) -> bool:
    return isinstance(member, type) and issubclass(member, StrictModel) and bool(_steps(member))


def _item(annotation: Any) -> tuple[bool, Any]:
    """Return whether the annotation is a list, and what one item of it, or the value itself, is."""
    for member in without_none(annotation):
        if typing.get_origin(member) is tuple:
            return True, typing.get_args(member)[0]
    return False, annotation


def _is_reference(annotation: Any) -> bool:
    if typing.get_origin(annotation) is Annotated:
        inner, *metadata = typing.get_args(annotation)
        found = any(isinstance(each, StringConstraints) and each.pattern in _PATTERNS for each in metadata)
        return found or _is_reference(inner)
    return any(map(_is_reference, typing.get_args(annotation)))
