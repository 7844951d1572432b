"""A record made by a program as the text of its file, in the form that `kbtool fmt` keeps."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from kbtool.schema.base import StrictModel
from kbtool.store.emit import emit
from kbtool.store.fmt import format_text, modeline

__all__ = ["plain_data", "record_text"]


def record_text(record: StrictModel, kind: str, relative: str) -> str:
    """Return the text of a record's file.

    Args:
        record: The record; what holds its default is left out.
        kind: Kind of the file, such as `benchmark`.
        relative: Path of the file below the project root, which the first line points to the schema from.

    Raises:
        ValueError: a record's file cannot hold it, such as a control character in a text.
    """
    text = f"{modeline(kind, relative)}\n{emit(plain_data(record))}"
    return format_text(text, kind, relative)


def plain_data(value: Any) -> Any:
    """Return models as mappings in the order of a file, dates as text; defaults and empty parts are left out."""
    if isinstance(value, StrictModel):
        return dict(_entries(value))
    if isinstance(value, Mapping):
        return {str(key): plain_data(each) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain_data(each) for each in value]
    return value.isoformat() if isinstance(value, date) else value


def _entries(model: StrictModel) -> Any:
    for name in model.file_order():
        field = type(model).model_fields[name]
        value = getattr(model, name)
        if not field.is_required() and (value == field.default or value in ((), {})):
            continue
        yield field.alias or name, plain_data(value)
