"""The setup that was in force in one result."""

import pytest

from kbtool.analysis.settings import fits, in_force
from kbtool.schema import Benchmark
from tests.analysis.records import benchmark, plain_result


def setup(*changes: dict[str, object]) -> Benchmark:
    """Return the base benchmark as it was set up for a result with changed settings."""
    record = benchmark(results=[plain_result(**{"with": list(changes)})])
    return in_force(record, record.results[0])


def test_a_change_is_in_force_and_the_rest_stays() -> None:
    """One field of one section changes."""
    found = setup({"field": "deployment.tp", "value": 2})
    assert found.deployment.tp == 2
    assert found.system == benchmark().system


def test_nothing_changed_is_the_record_itself() -> None:
    """No copy is made."""
    record = benchmark(results=[plain_result()])
    assert in_force(record, record.results[0]) is record


def test_an_argument_of_the_engine_is_laid_over_the_others() -> None:
    """Open mappings keep what is not changed."""
    record = benchmark(
        engine={"arguments": {"--a": 1}},
        results=[plain_result(**{"with": [{"field": "engine.arguments.--b", "value": 2}]})],
    )
    assert in_force(record, record.results[0]).engine.arguments == {
        **record.engine.arguments,
        "--b": 2,
    }


@pytest.mark.parametrize("value", ["5", "many", True, 0, -1])
def test_what_no_count_is_is_not_known(value: object) -> None:
    """A count in quotes, a zero or a word would break every formula behind it."""
    assert not fits("speculation.draft_tok", value)
    found = setup({"field": "speculation.draft_tok", "value": value})
    assert found.speculation.draft_tok is None


def test_null_and_words_for_more_than_one_value_are_taken() -> None:
    """Null says that it is not known; a router is changed in words and stays as it was."""
    assert fits("speculation.draft_tok", None)
    assert fits("engine.patches", "none: main")
    assert (
        setup({"field": "engine.patches", "value": "none: main"}).engine.patches == benchmark().engine.patches
    )
