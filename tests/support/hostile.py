"""A corpus whose every free text, in every field of every kind, is a payload.

The models are walked, so that a new field is attacked the day it is added. Each record is right in
shape and nonsense in content: the site has to show it all the same, as text.
"""

import json
import re
import types
import typing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import yaml
from pydantic import StringConstraints
from pydantic.fields import FieldInfo

from kbtool.schema import KINDS, MODELS
from kbtool.schema.base import StrictModel
from tests.attacks.case import all_cases

__all__ = ["Payload", "payloads", "write_corpus"]

KEPT: Final = {
    ("Result", "metric"): "tok_s_per_user",
    ("Slo", "metric"): "ttft_ms",
    ("Record", "status"): "draft",
    ("Benchmark", "headline"): "result-1",
}
"""Fields whose text has to name something, whatever their type says."""
SIMPLE: Final = {bool: True, int: 3, Decimal: 0.5, date: "2026-10-04"}
REFERENCES: Final = {
    "benchmarks": "hostile-0#result-1",
    **dict.fromkeys(
        ("accelerators", "interconnects", "engines", "models", "sources", "gotchas"), "hostile-0"
    ),
}


@dataclass(frozen=True)
class Payload:
    """One hostile text, in one line and as its author wrote it."""

    name: str
    line: str
    text: str


def payloads() -> list[Payload]:
    """Return the texts of the accepted attack cases on text (X..., OK03)."""
    found = []
    for case in all_cases():
        if case.accepted and re.match("X|OK03", case.name):
            (path,) = case.stored
            record = yaml.safe_load(path.read_text(encoding="utf-8"))
            found.append(Payload(case.name, record["title"], record["notes"]))
    return found


def write_corpus(root: Path, hostile: Sequence[Payload]) -> dict[str, Payload]:
    """Write a record of each kind for each payload; return the payload of each reference.

    The files are JSON, which is YAML too.
    """
    expected: dict[str, Payload] = {}
    for number, payload in enumerate(hostile):
        for kind in KINDS:
            record_id = f"hostile-{number}"
            record = _Filler(payload, record_id).model(MODELS[kind])
            path = root / "records" / f"{kind}s" / f"{record_id}.yaml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(record, ensure_ascii=False) + "\n", encoding="utf-8")
            expected[f"{kind}s/{record_id}"] = payload
    return expected


@dataclass
class _Filler:
    """Fills models with one payload."""

    payload: Payload
    record_id: str
    numbers: Iterator[int] = field(default_factory=lambda: count(1))
    depth: int = 0

    def model(self, model: type[StrictModel]) -> dict[str, Any]:
        """Return data for every field of a model."""
        self.depth += 1
        filled = {
            info.alias or name: self.field(model, name, info) for name, info in model.model_fields.items()
        }
        self.depth -= 1
        return filled

    def field(self, model: type[StrictModel], name: str, info: FieldInfo) -> Any:
        """Return the data of one field of a model."""
        owners = [each.__name__ for each in model.__mro__]
        for owner in owners:
            if (owner, name) in KEPT:
                return KEPT[owner, name]
        if name == "id":
            return self.record_id if "Record" in owners else f"{model.__name__.lower()}-{next(self.numbers)}"
        return self.value(Annotated[(info.annotation, *info.metadata)] if info.metadata else info.annotation)

    def value(self, annotation: Any, constraints: Sequence[Any] = ()) -> Any:
        """Return a value of a type, as hostile as the type allows."""
        origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
        if origin is Annotated:
            return self.value(arguments[0], (*arguments[1:], *constraints))
        if origin in {typing.Union, types.UnionType}:
            return self._of_union(arguments, constraints)
        if origin is not None:
            return self._of_generic(origin, arguments)
        if isinstance(annotation, type) and issubclass(annotation, StrictModel):
            return self.model(annotation)
        return SIMPLE[annotation] if annotation in SIMPLE else self._text(constraints)

    def _of_generic(self, origin: Any, arguments: Sequence[Any]) -> Any:
        if origin is tuple:
            # Two of what the record itself lists, so that lists, tables and charts are drawn; one further inside.
            return [self.value(arguments[0]) for _ in range(2 if self.depth == 1 else 1)]
        if origin is dict:
            return {self._text(()): self.value(arguments[1])}
        assert origin is Literal
        return arguments[0]

    def _of_union(self, members: Sequence[Any], constraints: Sequence[Any]) -> Any:
        wanted = [each for each in members if each is not type(None)]
        return self.value(str if str in wanted else wanted[0], constraints)

    def _text(self, constraints: Sequence[Any]) -> str:
        """Return a text that fits the constraints and is the payload wherever they leave a choice."""
        pattern, limit = "", 300
        for each in constraints:
            if isinstance(each, StringConstraints):
                pattern, limit = str(each.pattern or ""), each.max_length or limit
            else:
                pattern = str(getattr(each, "pattern", None) or pattern)
        if "[0-9a-f]{64}" in pattern:
            return "0" * 64
        if pattern.startswith("^https?"):
            return "https://example.org/" + re.sub(r"\s", "", self.payload.line)[: limit - 30]
        if "a-z" in pattern:
            return self._name(pattern)
        return (self.payload.line if pattern else self.payload.text)[:limit].strip()

    def _name(self, pattern: str) -> str:
        """Return an id or a reference to a record that exists."""
        folder = next((name for name in REFERENCES if f"{name}/" in pattern), None)
        if folder is None and "benchmark" not in pattern:
            return f"name-{next(self.numbers)}"
        folder = folder or "benchmarks"
        reference = f"{folder}/{REFERENCES[folder]}"
        return reference if "#" in pattern else reference.partition("#")[0]
