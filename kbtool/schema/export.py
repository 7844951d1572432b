"""JSON Schemas of all kinds, for editors and other programs: `schema/<kind>.schema.json`.

The files are made from the models and committed, so that an editor completes and checks a record without
kbtool.  Equal models give equal bytes.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, get_args

from pydantic import BaseModel

from kbtool.schema.kinds import MODELS
from kbtool.vocab.terms import DEFINITIONS

__all__ = ["FOLDER", "SUFFIX", "schema_for", "schema_text", "stale", "write"]

FOLDER: Final = "schema"
"""Below the project root."""
SUFFIX: Final = ".schema.json"

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_VERSION_FIELDS: Final = ("schema_version", "plan_version")
_MEANINGS: Final = {frozenset(words): words for words in DEFINITIONS.values()}


def schema_for(kind: str, model: type[BaseModel] | None = None) -> dict[str, Any]:
    """Return the JSON Schema of one kind, or of another model that has a version.

    Raises:
        KeyError: there is no such kind, and no model is given.
    """
    model = model or MODELS[kind]
    made = model.model_json_schema(by_alias=True)
    parts = {each.__name__: each for each in _models(model)}
    for name, part in {model.__name__: made, **made.get("$defs", {})}.items():
        _describe(part, parts[name])
    version = next(field.annotation for name, field in model.model_fields.items() if name in _VERSION_FIELDS)
    head = {
        "$schema": _DIALECT,
        "$id": f"urn:kbtool:schema:{_only_word(version)}:{kind}",
        "title": kind.capitalize(),
    }
    return {**head, **_refined(made)}


def schema_text(kind: str, model: type[BaseModel] | None = None) -> str:
    """Return the content of the schema file of one kind, or of another model."""
    return json.dumps(schema_for(kind, model), indent=2, ensure_ascii=False) + "\n"


def write(root: Path, others: Mapping[str, type[BaseModel]] = MappingProxyType({})) -> list[str]:
    """Write the schema files that are not current; return their names relative to the project root.

    Args:
        root: The project root.
        others: Models beside the records', by the name of their file, such as the plan's.
    """
    texts = dict(_files(others))
    changed = [name for name, text in texts.items() if _read(root / name) != text]
    for name in changed:
        path = root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(texts[name], encoding="utf-8", newline="\n")
    return changed


def stale(root: Path, others: Mapping[str, type[BaseModel]] = MappingProxyType({})) -> list[str]:
    """Return the schema files that are missing, differ from the models, or belong to no kind."""
    texts = dict(_files(others))
    strangers = {
        f"{FOLDER}/{path.name}"
        for path in (root / FOLDER).glob(f"*{SUFFIX}")
        if f"{FOLDER}/{path.name}" not in texts
    }
    return sorted(strangers | {name for name, text in texts.items() if _read(root / name) != text})


def _files(others: Mapping[str, type[BaseModel]]) -> Iterator[tuple[str, str]]:
    for kind, model in {**MODELS, **others}.items():
        yield f"{FOLDER}/{kind}{SUFFIX}", schema_text(kind, model)


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        return None


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield a model and every model inside it."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        for field in annotation.model_fields.values():
            yield from _models(field.annotation)
    for argument in get_args(annotation):
        yield from _models(argument)


def _describe(part: dict[str, Any], model: type[BaseModel]) -> None:
    """Give each key the description of its field: pydantic leaves it out beside a reference."""
    for name, field in model.model_fields.items():
        part["properties"][field.alias or name].setdefault("description", field.description)


def _only_word(literal: Any) -> Any:
    (word,) = literal.__args__
    return word


def _refined(node: Any, *, is_properties: bool = False) -> Any:
    """Drop the titles that pydantic makes up, and explain the words of closed sets."""
    if isinstance(node, list):
        return [_refined(each) for each in node]
    if not isinstance(node, dict):
        return node
    kept = {
        key: _refined(value, is_properties=key in {"properties", "$defs"} and not is_properties)
        for key, value in node.items()
        if key != "title" or is_properties
    }
    meanings = None if is_properties else _MEANINGS.get(frozenset(kept.get("enum", ())))
    if meanings:
        kept["enumDescriptions"] = [meanings[word] for word in kept["enum"]]
    return kept
