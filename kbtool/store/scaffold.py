"""A first draft of a record file: every required field, and comments that explain what else may stand there.

The text comes from the models, so that a field added there appears here by itself.
"""

import typing
from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Any, Final

from pydantic.fields import FieldInfo

from kbtool.schema import MODELS
from kbtool.schema.base import StrictModel
from kbtool.store.emit import scalar
from kbtool.store.fields import keys
from kbtool.vocab.disclosure import DISCLOSURE_FIELDS

__all__ = ["scaffold", "unanswered_disclosure"]

COMMENT_WIDTH: Final = 100
FOLDERS_DEEP: Final = 2
"""A record lies in `records/<kind>s/`; `schema/` is as many folders up."""
OMISSION_ADVICE: Final = (
    "What a reader needs to know and this record does not say yet. Fill a field in above, or, once you have searched the "
    "source for it in vain, take the mark off its line here. Until then lint counts it as not looked for."
)


def scaffold(kind: str, answers: Mapping[str, Any]) -> str:
    """Return the text of a new record file.

    Args:
        kind: One of the seven kinds.
        answers: Plain data as the record will hold it, as far as it is known. Its values are written as they are;
            what is missing is written as a comment.
    """
    modeline = f"# yaml-language-server: $schema={'../' * FOLDERS_DEEP}schema/{kind}.schema.json"
    return "\n".join([modeline, *_mapping(MODELS[kind], answers, "")]) + "\n"


def unanswered_disclosure(answers: Mapping[str, Any]) -> list[str]:
    """Return the paths of the disclosure fields that the answers leave open."""
    return [each.path for each in DISCLOSURE_FIELDS if not _given(answers, each.path.split("."))]


def _given(value: object, path: Sequence[str]) -> bool:
    if not path:
        return value is not None
    if isinstance(value, list):
        return bool(value) and all(_given(each, path) for each in value)
    return isinstance(value, Mapping) and path[0] in value and _given(value[path[0]], path[1:])


def _mapping(model: type[StrictModel], answers: Mapping[str, Any], pad: str) -> Iterator[str]:
    """Yield the lines of one mapping: answered and required fields live, the others as comments."""
    for key, name in keys(model).items():
        field = model.model_fields[name]
        inner = _inner_model(field)
        if key in answers:
            yield from _explained(field, pad)
            lines = _value(key, answers[key], inner, pad)
            if key == "omitted_by_source":
                # Nobody has searched yet: a line that stood there live would say that somebody had.
                yield from (f"{pad}# {line}" for line in wrap(OMISSION_ADVICE, COMMENT_WIDTH))
                lines = (f"{pad}# {line}" for line in lines)
            yield from lines
        elif field.is_required() and inner is not None:
            yield from _explained(field, pad)
            yield f"{pad}{key}: {{}}  # replace {{}} by those of these fields that the source states"
            yield from (f"{pad}#   {line}" for line in _optional_fields(inner))
        else:
            yield f"{pad}# {key}:  # {field.description}"


def _explained(field: FieldInfo, pad: str) -> Iterator[str]:
    yield from (f"{pad}# {line}" for line in wrap(field.description or "", COMMENT_WIDTH))


def _optional_fields(model: type[StrictModel]) -> Iterator[str]:
    for key, name in keys(model).items():
        yield f"{key}:  # {model.model_fields[name].description}"


def _value(key: str, value: Any, inner: type[StrictModel] | None, pad: str) -> Iterator[str]:
    if isinstance(value, Mapping) and inner is not None and value:
        yield f"{pad}{key}:"
        yield from _mapping(inner, value, pad + "  ")
    elif isinstance(value, list) and value:
        yield f"{pad}{key}:"
        for item in value:
            yield from _item(item, inner, pad + "  ")
    elif isinstance(value, Mapping | list):
        yield f"{pad}{key}: {'{}' if isinstance(value, Mapping) else '[]'}"
    else:
        yield f"{pad}{key}: {scalar(value)}"


def _item(item: Any, inner: type[StrictModel] | None, pad: str) -> Iterator[str]:
    """Yield one list item; short mappings of an omission stay on one line."""
    if not isinstance(item, Mapping):
        yield f"{pad}- {scalar(item)}"
    elif inner is None or set(item) <= {"field", "source"}:
        yield f"{pad}- {{{', '.join(f'{key}: {scalar(value)}' for key, value in item.items())}}}"
    else:
        yield f"{pad}-"
        yield from _mapping(inner, item, pad + "  ")


def _inner_model(field: FieldInfo) -> type[StrictModel] | None:
    """Return the model inside a field's type, also inside a list or an optional."""
    pending: list[Any] = [field.annotation]
    while pending:
        each = pending.pop()
        if isinstance(each, type) and issubclass(each, StrictModel):
            return each
        pending += typing.get_args(each)
    return None
