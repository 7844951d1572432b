"""The setup that was in force in one result: the record's, with what the result changed laid over it."""

from functools import cache
from typing import Annotated, Any

from pydantic import TypeAdapter, ValidationError

from kbtool.analysis.paths import RESULTS, is_known, is_open
from kbtool.schema import Benchmark
from kbtool.schema.base import StrictModel
from kbtool.schema.benchmark import Result
from kbtool.store.fields import without_none

__all__ = ["fits", "in_force"]


def in_force(record: Benchmark, result: Result) -> Benchmark:
    """Return the record as it was set up for one of its results.

    A changed setting whose path names no field is left out, and one whose value the field cannot hold is taken for unknown: a
    rule reports either.
    """
    changed: dict[str, dict[str, Any]] = {}
    for each in result.with_:
        section, _, name = each.field.partition(".")
        if is_known(each.field) and not each.field.startswith(RESULTS) and "." not in name:
            if _holder(each.field) is not None:
                changed.setdefault(section, {})[name] = each.value if fits(each.field, each.value) else None
        elif is_open(each.field):
            mapping, _, key = name.partition(".")
            before = getattr(record.engine, mapping)
            held = changed.setdefault(section, {}).setdefault(mapping, dict(before))
            held[key] = each.value
    if not changed:
        return record
    sections = {name: getattr(record, name).model_copy(update=update) for name, update in changed.items()}
    return record.model_copy(update=sections)


def fits(path: str, value: object) -> bool:
    """Return whether a field of the setup can hold a value.

    Null says that it is not known, which any field can. What is more than one value, such as a router or the list of patches,
    is changed in words, which are for the reader.

    Args:
        path: Section and field, such as `deployment.tp`.
        value: As a result states it.
    """
    holder = _holder(path)
    if value is None or holder is None:
        return True
    try:
        holder.validate_python(value)
    except ValidationError:
        return False
    return True


@cache
def _holder(path: str) -> TypeAdapter[Any] | None:
    """Return what takes the values of a field; None where it holds more than one value."""
    section, _, name = path.partition(".")
    model = Benchmark.model_fields[section].annotation
    assert isinstance(model, type)
    assert issubclass(model, StrictModel)
    field = model.model_fields[name]
    if any(_is_compound(each) for each in without_none(field.annotation)):
        return None
    annotation: Any = field.annotation
    whole: Any = Annotated[annotation, *field.metadata] if field.metadata else annotation
    return TypeAdapter(whole, config=StrictModel.model_config)


def _is_compound(member: Any) -> bool:
    return getattr(member, "__origin__", None) in {tuple, dict} or (
        isinstance(member, type) and issubclass(member, StrictModel)
    )
