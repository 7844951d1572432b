"""Nothing of a file is dropped in silence."""

import json
from typing import Any

import pytest

from tests.ingest.files import NAMES, imported, value_of


@pytest.mark.parametrize("name", NAMES)
def test_no_key_of_a_real_file_is_unknown(name: str) -> None:
    """Every key of the tools' own files is used, or left out for a stated reason."""
    assert [each.place for each in imported(name).left_out if each.kind == "unknown"] == []


@pytest.mark.parametrize("name", [each for each in NAMES if each.endswith(".json")])
def test_new_key_is_listed_as_unknown(name: str) -> None:
    """A key of a later version of the tool shows up, wherever it stands."""
    value = value_of(name)
    holder = value[0] if isinstance(value, list) else value
    holder["brand_new_figure"] = 1.5
    found = {each.place: each.kind for each in imported(value).left_out}
    assert [kind for place, kind in found.items() if place.endswith("brand_new_figure")] == ["unknown"]


def _leaves(value: Any, path: str = "") -> set[str]:
    if value is None:
        return set()  # says nothing
    if isinstance(value, dict):
        return {
            leaf for key, each in value.items() for leaf in _leaves(each, f"{path}.{key}" if path else key)
        }
    return {path}


@pytest.mark.parametrize("name", ["vllm-bench-ngram.json", "vllm-bench-detailed.json", "evalscope.json"])
def test_every_key_is_somewhere(name: str) -> None:
    """Each key of a flat file is the place of a figure or a fact, was used for the conditions, or is listed."""
    result = imported(name)
    places = {each.place for each in result.measurements} | {each.place for each in result.facts}
    places |= {each.place for each in result.left_out}
    places |= {each.word for each in result.conversions}
    places |= {word for each in result.measurements for word in each.inputs}
    conditions = {
        "date", "backend", "model_id", "request_rate", "max_concurrency", "total_input_tokens", "total_output_tokens",
        "num_prompts", "completed", "failed", "itls", "input_lens", "output_lens",
        "Concurrency", "Request Rate (req/s)", "Success Requests", "Avg Input Tokens", "Avg Output Tokens",
        "Non-Stream Requests",
    }  # fmt: skip
    medians = {key for key in value_of(name) if key.startswith("median_")}  # equal to the p50 beside them
    assert _leaves(value_of(name)) - places - conditions - medians == set()


def test_parts_that_differ_in_an_index_are_listed_once() -> None:
    """Two tests of llama-bench leave out the same arguments."""
    places = [each.place for each in imported("llama-bench.json").left_out]
    assert "[*].cpu_mask" in places
    assert len(places) == len(set(places))


def test_reasons_are_sentences_for_a_reader() -> None:
    """Each left-out part has a reason of more than a word."""
    for name in NAMES:
        for each in imported(name).left_out:
            assert " " in each.reason, json.dumps([name, each.place])
