"""Shape: whether a file's data fits the model of its kind, and if not, what is wrong where.

pydantic decides; its errors are turned into findings that a person can act on without knowing pydantic.
One slip gives one finding: a misspelt key is not also a missing one, and a value that fits no member of
a union is not one error a member.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from kbtool.findings import Edit, Finding
from kbtool.schema import model_for
from kbtool.schema.base import StrictModel
from kbtool.store import fields
from kbtool.store.faults import quoted
from kbtool.store.places import Place, join, key_place, place
from kbtool.store.positions import Node
from kbtool.store.shape import ShapeKind
from kbtool.store.suggest import nearest
from kbtool.store.teach import Lesson, key_list, teach

__all__ = ["Shape", "ShapeFile", "shape_findings", "validate"]

Location = tuple[str | int, ...]

_MISSING: Final = "missing"
_UNKNOWN: Final = "extra_forbidden"


@dataclass(frozen=True, slots=True)
class Shape:
    """The outcome of validation: a record, or what pydantic has against it."""

    record: StrictModel | None
    error: ValidationError | None = None


def validate(kind: str, value: object) -> Shape:
    """Read plain data as a record of `kind`."""
    try:
        return Shape(model_for(kind).model_validate(value, by_alias=True, by_name=False))
    except ValidationError as error:
        return Shape(None, error)


@dataclass(frozen=True, slots=True)
class ShapeFile:
    """A file with all that a finding about it needs."""

    path: str
    """Relative to the project root."""
    kind: str
    """Kind of record that the file should hold."""
    value: object
    text: str
    """The file, decoded."""
    root: Node
    """Positions of the data."""

    @property
    def model(self) -> type[StrictModel]:
        """The model of the kind."""
        return model_for(self.kind)

    def at(self, location: Location) -> Any:
        """Return the data at a place."""
        value: Any = self.value
        for part in location:
            value = value[part]
        return value

    def finding(
        self, spot: Place, location: Location, lesson: Lesson, edits: tuple[Edit, ...] = ()
    ) -> Finding:
        """Return a lesson as a finding."""
        return Finding(
            path=self.path,
            line=spot.line,
            column=spot.column,
            code=lesson.kind.code,
            name=lesson.kind.slug,
            severity="error",
            message=lesson.message,
            pointer=join(location),
            suggestion=lesson.suggestion,
            edits=edits,
            end_line=spot.end_line,
            end_column=spot.end_column,
        )


def shape_findings(file: ShapeFile, error: ValidationError) -> tuple[Finding, ...]:
    """Return what is wrong with the shape of a file, in the order of the file.

    Args:
        file: The file and its data.
        error: What `validate` returned for it.
    """
    if not isinstance(file.value, Mapping):
        message = (
            f"the file holds {fields.described(file.value)}; expected `key: value` lines, as a record has"
        )
        spot = Place(file.root.line, file.root.column, file.root.line, file.root.column + 1)
        return (file.finding(spot, (), Lesson(ShapeKind.NOT_A_MAPPING, message)),)
    errors = _grouped(file, error)
    findings = [*_key_findings(file, errors), *_value_findings(file, errors)]
    return tuple(sorted(findings, key=Finding.sort_key))


def _grouped(file: ShapeFile, error: ValidationError) -> dict[Location, list[ErrorDetails]]:
    """Return pydantic's errors by the place in the file."""
    grouped: dict[Location, list[ErrorDetails]] = {}
    for detail in error.errors(include_url=False):
        if detail["type"] == "too_short" and len(detail["input"]) >= detail.get("ctx", {})["min_length"]:
            continue  # long enough: pydantic has counted the entries without those that have errors of their own
        *above, last = detail["loc"] or [""]
        location = _in_file(file.model, above)
        if (
            detail["type"] in {_MISSING, _UNKNOWN}
            or fields.annotation_at(file.model, (*location, last)) is not None
        ):
            location = (*location, last)
        grouped.setdefault(location, []).append(detail)
    return grouped


def _in_file(model: type[StrictModel], location: Sequence[str | int]) -> Location:
    """Return the parts of a pydantic location that a file has; it also names members of unions."""
    kept: Location = ()
    for part in location:
        if fields.annotation_at(model, (*kept, part)) is not None:
            kept = (*kept, part)
    return kept


# --- Keys -------------------------------------------------------------------------------------


def _key_findings(file: ShapeFile, errors: Mapping[Location, Sequence[ErrorDetails]]) -> Iterator[Finding]:
    """Yield a finding for each unknown key, and for each missing one that no unknown key was meant to be."""
    unknown = [location for location, details in errors.items() if details[0]["type"] == _UNKNOWN]
    missing = {location for location, details in errors.items() if details[0]["type"] == _MISSING}
    for location in unknown:
        parent, key = location[:-1], str(location[-1])
        present = file.at(parent)
        owner = fields.model_at(file.model, parent)
        absent = [name for name in fields.keys(owner) if name not in present] if owner else []
        required = [name for name in absent if (*parent, name) in missing]
        hint = None if key in _NO_FIELD else _meant(key, required) or _meant(key, absent)
        if (
            hint is None
            and key not in _NO_FIELD
            and len(required) == 1
            and sum(each[:-1] == parent for each in unknown) == 1
        ):
            hint = required[0]  # the only key too many, the only one too few
        missing.discard((*parent, hint or ""))
        spot = key_place(file.root.at(location)[0])
        yield file.finding(spot, location, _unknown_key(file.model, location, absent, hint))
    for location in missing:
        yield file.finding(place(file.root, location), location, _missing_key(file.model, location))


_OTHER_NAMES: Final = {
    "isl": "input_tok",
    "input_len": "input_tok",
    "input_length": "input_tok",
    "prompt_tokens": "input_tok",
    "osl": "output_tok",
    "output_len": "output_tok",
    "output_length": "output_tok",
    "completion_tokens": "output_tok",
    "n_depth": "depth_tok",
    "max_concurrency": "concurrency",
    "num_users": "concurrency",
    "gpu": "accelerator",
    "gpus": "accelerator_count",
    "gpu_count": "accelerator_count",
    "num_gpus": "accelerator_count",
    "n_gpus": "accelerator_count",
    "quantization": "weight_dtype",
    "precision": "weight_dtype",
    "kv_dtype": "kv_cache_dtype",
    "spec_method": "method",
    "link": "url",
    "license": "licence",
    "organization": "organisation",
    "summarizes": "summarises",
}
"""Names that other tools and other English have for our keys."""
_NO_FIELD: Final = {
    "unit": "a metric or a field has one unit, which its name says: write the value in it, and remove this",
    "units": "a metric or a field has one unit, which its name says: write the value in it, and remove this",
    "reviewed": "a review is a file of its own under `records/reviews`: remove this",
    "verified": "a review is a file of its own under `records/reviews`: remove this",
    "reviewer": "a review is a file of its own under `records/reviews`: remove this",
}
"""Keys that are often looked for and are none, with the reason."""


def _meant(key: str, candidates: Sequence[str]) -> str | None:
    """Return the candidate that `key` is another name, another spelling or a slip of."""
    folded = {name.replace("_", ""): name for name in candidates}
    bare = re.sub(r"[^a-z0-9]", "", key.casefold())
    other = _OTHER_NAMES.get(re.sub(r"[^a-z0-9]+", "_", key.casefold()).strip("_"))
    return folded.get(bare) or (other if other in candidates else None) or nearest(key.strip(), candidates)


def _unknown_key(
    model: type[StrictModel], location: Location, absent: Sequence[str], hint: str | None
) -> Lesson:
    parent, key = location[:-1], str(location[-1])
    found = f"unknown key {quoted(key)} in {fields.place_name(parent)}"
    if key in _NO_FIELD:
        return Lesson(ShapeKind.UNKNOWN_KEY, f"{found}; {_NO_FIELD[key]}")
    if hint:
        return Lesson(ShapeKind.UNKNOWN_KEY, f"{found}; did you mean `{hint}`?", hint)
    homes = [home for home in fields.homes(model).get(key, ()) if home]
    if len(homes) == 1:
        return Lesson(ShapeKind.UNKNOWN_KEY, f"{found}; expected in `{homes[0]}`: move it there")
    expected = key_list(absent) if absent else "no other key"
    return Lesson(
        ShapeKind.UNKNOWN_KEY, f"{found}; expected {expected}: remove it, or say it in another field"
    )


def _missing_key(model: type[StrictModel], location: Location) -> Lesson:
    parent, key = location[:-1], str(location[-1])
    owner = fields.model_at(model, parent)
    meaning = fields.description(owner, key) if owner else ""
    message = f"no key `{key}` in {fields.place_name(parent)}; expected one: add it ({meaning})"
    return Lesson(ShapeKind.MISSING_KEY, message)


# --- Values -----------------------------------------------------------------------------------


def _value_findings(file: ShapeFile, errors: Mapping[Location, Sequence[ErrorDetails]]) -> Iterator[Finding]:
    for location, details in errors.items():
        if details[0]["type"] in {_MISSING, _UNKNOWN}:
            continue
        node = file.root.at(location)[0]
        source = file.text[node.start : node.end]
        lesson = teach(file.model, location, file.at(location), details, source)
        edits = () if lesson.replacement is None else (Edit(node.start, node.end, lesson.replacement),)
        yield file.finding(place(file.root, location), location, lesson, edits)
