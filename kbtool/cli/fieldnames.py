"""Fields of records by their names, as their models describe them: what `kbtool explain form` prints."""

from collections.abc import Iterator
from typing import Any

__all__ = ["field_names", "field_texts"]


def field_names() -> frozenset[str]:
    """Return the names of all fields of all kinds of records."""
    return frozenset(name for _, properties in _places() for name in properties)


def field_texts(name: str) -> list[tuple[str, str]]:
    """Return where a field of this name stands, and what it holds; fields that say the same are one."""
    found: dict[str, list[str]] = {}
    for place, properties in _places():
        if name in properties:
            found.setdefault(_said(properties[name]), []).append(place)
    return [(", ".join(dict.fromkeys(places)), said) for said, places in found.items() if said]


def _places() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every mapping of the records: the kind, or the part of it, and its fields."""
    from kbtool.schema import MODELS

    for kind, model in MODELS.items():
        schema = model.model_json_schema()
        yield kind, schema["properties"]
        for part, inner in schema.get("$defs", {}).items():
            if "properties" in inner:
                yield f"{kind} {part}", inner["properties"]


def _said(field: dict[str, Any]) -> str:
    words = [str(each) for each in _values(field)]
    values = f" One of {', '.join(words)}." if words else ""
    return f"{field.get('description', '')}{values}"


def _values(field: dict[str, Any]) -> list[Any]:
    return [
        each
        for one in (field, field.get("items", {}), *field.get("anyOf", ()))
        for each in one.get("enum", ())
    ]
