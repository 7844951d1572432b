"""References: every field of a reference's type, and nothing else."""

import typing
from pathlib import Path

import pytest

from benchmarks.generate import project
from kbtool.schema import MODELS
from kbtool.schema.base import StrictModel
from kbtool.schema.refs import FOLDERS
from kbtool.store.files import RecordFile
from kbtool.store.places import split
from kbtool.store.read import load_bytes
from kbtool.store.references import outgoing

BASE = Path(__file__).parents[1] / "lint" / "base"


def record(kind: str, text: str) -> tuple[StrictModel, typing.Any]:
    """Return a record and its plain data."""
    path = f"records/{kind}s/x.yaml"
    loaded = load_bytes(RecordFile(Path(path), path, kind, "x", ""), text.encode())
    assert loaded.record is not None
    return loaded.record, loaded.value


def base(kind: str) -> tuple[StrictModel, typing.Any]:
    """Return the base record of a kind."""
    return record(kind, (BASE / f"{kind}s" / f"base-{kind}.yaml").read_text("utf-8"))


def texts_like_references(value: typing.Any) -> list[str]:
    """Return every text in plain data that begins with a folder of records."""
    if isinstance(value, dict):
        return [text for inner in value.values() for text in texts_like_references(inner)]
    if isinstance(value, list):
        return [text for inner in value for text in texts_like_references(inner)]
    return [value] if isinstance(value, str) and value.partition("/")[0] in FOLDERS else []


@pytest.mark.parametrize("kind", list(FOLDERS.values()))
def test_every_reference_of_base_records_is_found(kind: str) -> None:
    """What looks like a reference in the data is one of the model's, and the other way round."""
    model, value = base(kind)
    assert sorted(each.target for each in outgoing(model)) == sorted(texts_like_references(value))


def test_every_reference_of_generated_records_is_found() -> None:
    """Also in longer records, and each pointer leads to its target."""
    for path, text in project(5):
        model, value = record(path.split("/")[1].removesuffix("s"), text)
        references = outgoing(model)
        assert sorted(each.target for each in references) == sorted(texts_like_references(value))
        for each in references:
            assert at(value, each.pointer) == each.target


def at(value: typing.Any, pointer: str) -> typing.Any:
    """Return what a pointer leads to."""
    for part in split(pointer):
        value = value[int(part)] if isinstance(value, list) else value[part]
    return value


def test_relation_is_the_stated_one_or_the_field() -> None:
    """A link says what it is; elsewhere the field's name does."""
    fragment = 'links: [{relation: supersedes, target: "benchmarks/y#r"}]\nsuperseded_by: benchmarks/z\n'
    model, _ = record(
        "benchmark", (BASE / "benchmarks" / "base-benchmark.yaml").read_text("utf-8") + fragment
    )
    relations = {each.target: each.relation for each in outgoing(model)}
    assert relations["benchmarks/y#r"] == "supersedes"
    assert relations["benchmarks/z"] == "superseded_by"
    assert relations["accelerators/base-accelerator"] == "accelerator"
    assert relations["sources/base-source"] == "source"


def test_every_model_with_a_reference_is_walked() -> None:
    """The type of a reference is recognised in every model that has one."""
    for kind, model in MODELS.items():
        has_reference = "/[a-z]" in str(model.model_json_schema())
        from kbtool.store.references import _steps

        assert bool(_steps(model)) == has_reference, kind
