"""Field paths name what a benchmark can hold."""

import pytest

from kbtool.analysis.paths import benchmark_paths, is_given, is_known, is_open, pointer_of, value_at
from kbtool.vocab.disclosure import DISCLOSURE_FIELDS
from tests.analysis.records import benchmark, result


def test_every_disclosure_field_is_a_field() -> None:
    """The vocabulary and the models name the same things."""
    assert {each.path for each in DISCLOSURE_FIELDS} <= benchmark_paths()


def test_paths_are_those_of_the_file() -> None:
    """A key that is a word of Python is named as in the file, and the common head is not among the paths."""
    assert "results.with.field" in benchmark_paths()
    assert "results.with_.field" not in benchmark_paths()
    assert "sources" not in benchmark_paths()
    assert "deployment.router.policy" in benchmark_paths()


@pytest.mark.parametrize("path", ["engine.arguments.tp-size", "engine.environment.VLLM_USE_X"])
def test_open_mappings_hold_any_name(path: str) -> None:
    """Only the engine knows its arguments."""
    assert is_open(path)
    assert is_known(path)
    assert not is_known("engine.argument.tp-size")


def test_value_at() -> None:
    """Setup paths read records, result paths read results, and what is not there is None."""
    record = benchmark()
    assert value_at(record, "serving.context_tok") == 65536
    assert value_at(record, "engine.arguments.schedule-policy") == "fcfs"
    assert value_at(record, "engine.arguments.other") is None
    assert value_at(record, "deployment.router.policy") is None
    assert value_at(result(), "results.at.concurrency") == 1
    assert value_at(result(), "results.with") == ()
    with pytest.raises(AttributeError):
        value_at(record, "serving.context")


def test_is_given() -> None:
    """False and 0 are answers."""
    assert not any(map(is_given, (None, (), {})))
    assert all(map(is_given, (False, 0, "x")))


def test_pointer_of() -> None:
    """Paths and pointers name the same place."""
    assert pointer_of("serving.context_tok") == "/serving/context_tok"
