"""JSON Schemas: current, explained, and of one mind with the models."""

import json
import random
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, FormatChecker

from benchmarks.faults import KINDS, internationalised, plant
from benchmarks.generate import project
from kbtool.runner.plan import Plan
from kbtool.schema import MODELS, export
from kbtool.store.validate import validate
from kbtool.store.yamlio import YamlFault, parse
from tests.schema.records import records

ROOT = Path(__file__).parents[2]

BEYOND_SCHEMA = {
    "key given twice": "YAML",
    "tab before a key": "YAML",
    "ambiguous word": "YAML",
    "anchor": "YAML",
}
"""Faults that keep a file from being read, so that there is no data to validate."""


@cache
def validator(kind: str) -> Draft202012Validator:
    """Return a validator that also checks formats, as editors do."""
    return Draft202012Validator(export.schema_for(kind), format_checker=FormatChecker())


def agree(kind: str, value: Any) -> bool:
    """Return whether a model accepts plain data, after checking that its schema says the same."""
    accepted = validate(kind, value).error is None
    errors = [error.message for error in validator(kind).iter_errors(value)]
    assert accepted == (not errors), errors or value
    return accepted


def test_committed_schemas_are_current() -> None:
    """What an editor reads is what the models say; `kbtool schema` writes it."""
    assert export.stale(ROOT, {"plan": Plan}) == []


def test_drift_is_noticed(tmp_path: Path) -> None:
    """A missing, changed or foreign schema file is named; writing mends all but the foreign one."""
    assert len(export.stale(tmp_path)) == len(MODELS)
    assert export.write(tmp_path) == [f"schema/{kind}.schema.json" for kind in MODELS]
    assert export.write(tmp_path) == []
    assert export.stale(tmp_path) == []
    (tmp_path / "schema" / "engine.schema.json").write_text("{}\n")
    (tmp_path / "schema" / "old.schema.json").write_text("{}\n")
    assert export.stale(tmp_path) == ["schema/engine.schema.json", "schema/old.schema.json"]
    assert export.write(tmp_path) == ["schema/engine.schema.json"]


@pytest.mark.parametrize("kind", list(MODELS))
def test_schema_is_valid_and_explained(kind: str) -> None:
    """It names its dialect and itself, and each key of each mapping has a description."""
    schema = export.schema_for(kind)
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"] == f"urn:kbtool:schema:1:{kind}"
    for part in (schema, *schema.get("$defs", {}).values()):
        assert part["description"]
        assert part["additionalProperties"] is False
        for name, field in part["properties"].items():
            assert field.get("description"), name
            assert "title" not in field
    assert json.loads(export.schema_text(kind)) == schema


def test_words_of_closed_sets_are_explained() -> None:
    """An editor shows what each word means while it is chosen."""
    at = export.schema_for("benchmark")["$defs"]["At"]["properties"]["prefix_cache"]["anyOf"][0]
    assert len(at["enumDescriptions"]) == len(at["enum"])


def test_schema_and_model_accept_generated_records() -> None:
    """Valid records pass both."""
    for path, text in project(5):
        assert agree(path.split("/")[1].removesuffix("s"), parse(text.encode()))


@pytest.mark.parametrize("fault", sorted(KINDS.keys() - BEYOND_SCHEMA.keys()))
def test_schema_and_model_refuse_the_same_faults(fault: str) -> None:
    """A planted fault is refused by both."""
    chance = random.Random(fault)
    files = [(path, variant) for path, text in project(8) for variant in (text, internationalised(text))]
    planted = 0
    for path, text in chance.sample(files, len(files)):
        kind = path.split("/")[1].removesuffix("s")
        faulty = plant(fault, text, kind, chance)
        if faulty is not None:
            planted += 1
            assert not agree(kind, parse(faulty.text.encode()))
    assert planted


@pytest.mark.parametrize("fault", sorted(BEYOND_SCHEMA))
def test_other_faults_keep_the_file_from_being_read(fault: str) -> None:
    """What is not listed above is no question of the shape."""
    (_, text), *_ = (each for each in project(1) if "/benchmarks/" in each[0])
    faulty = plant(fault, text, "benchmark", random.Random(1))
    assert faulty is not None
    with pytest.raises(YamlFault):
        parse(faulty.text.encode())


@pytest.mark.parametrize("kind", list(MODELS))
@settings(max_examples=12)
@given(data=st.data())
def test_schema_and_model_accept_the_same_data(kind: str, data: st.DataObject) -> None:
    """Data made from the model passes the schema."""
    assert agree(kind, data.draw(records(kind)))


@pytest.mark.parametrize(
    ("value", "accepted"),
    [
        ("0.00", False),
        ("0.0", False),
        ("-1", False),
        ("1", True),
        (Decimal("0.1"), True),
        (0, False),
        ("1e3", False),
    ],
)
def test_quoted_and_bare_numbers_have_the_same_bounds(value: object, accepted: bool) -> None:
    """A limit holds for a number in quotes too."""
    assert agree("benchmark", with_power_limit(value)) == accepted


def with_power_limit(value: object) -> dict[str, Any]:
    """Return a benchmark with this power limit."""
    (_, text), *_ = (each for each in project(1) if "/benchmarks/" in each[0])
    data = parse(text.encode())
    assert isinstance(data, dict)
    system = data["system"]
    assert isinstance(system, dict)
    return {**data, "system": {**system, "power_limit_w": value}}
