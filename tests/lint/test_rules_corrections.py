"""A correction that was merged stays, or a new entry says why not."""

from typing import Any

import pytest

from kbtool.lint.rules.corrections import corrected_value_back
from kbtool.schema import Accelerator, Record
from tests.analysis.records import BASE, benchmark, plain_result


def change(field: str, old: Any, new: Any, day: int = 19) -> dict[str, Any]:
    """Return an entry of `changes`."""
    return {
        "date": f"2026-09-{day}",
        "fields": [field],
        "old": old,
        "new": new,
        "why": "The source corrected it.",
    }


def places(record: Record) -> list[str]:
    """Return the entries that were taken back in silence."""
    return [each.at for each in corrected_value_back(record)]


@pytest.mark.parametrize(
    "field",
    ["decode-prose-1", "results.decode-prose-1", "results.decode-prose-1.value", "decode-prose-1.value"],
)
def test_a_merged_correction_reverted_later(field: str) -> None:
    """The figure is 93.9 again, which was corrected to 95.1; whatever spelling the entry has."""
    assert places(benchmark(results=[plain_result()], changes=[change(field, "93.90", "95.1")])) == [
        "/changes/0"
    ]
    kept = plain_result(value="95.1", as_published="95.1")
    assert places(benchmark(results=[kept], changes=[change(field, "93.9", "95.1")])) == []


def test_the_last_entry_is_in_force() -> None:
    """A correction that is taken back with a reason is no fault; one that is corrected again and reverted is."""
    there, back = change("decode-prose-1", "93.9", "95.1"), change("decode-prose-1", "95.1", "93.9", 20)
    assert places(benchmark(results=[plain_result()], changes=[there, back])) == []
    again = change("results.decode-prose-1", "93.9", "96", 21)
    assert places(benchmark(results=[plain_result()], changes=[there, back, again])) == ["/changes/2"]


def test_settings_and_words_are_guarded_too() -> None:
    """A version that comes back is one as well; 0.10 is not 0.1."""
    other = benchmark(engine={"version": "0.1"}, changes=[change("engine.version", "0.10", "0.11")])
    assert places(other) == []
    record = benchmark(engine={"version": "0.10"}, changes=[change("engine.version", "0.10", "0.11")])
    assert places(record) == ["/changes/0"]
    assert (
        places(benchmark(engine={"version": "0.11"}, changes=[change("engine.version", "0.10", "0.11")]))
        == []
    )


def test_a_value_taken_away_stays_away() -> None:
    """What was withdrawn to null and stands there again is reverted."""
    limit = {"power_limit_w": "600", "power_limit_as_published": "600 W"}
    assert places(benchmark(system=limit, changes=[change("system.power_limit_w", 600, None)])) == [
        "/changes/0"
    ]


def test_figures_of_things_are_guarded() -> None:
    """A board's bandwidth that was corrected stays corrected."""
    plain = BASE["accelerators/base-accelerator"]
    value = plain["memory"]["bandwidth_gb_s"]["value"]
    entry = change("memory.bandwidth_gb_s", value, 1344)
    assert places(Accelerator.model_validate({**plain, "changes": [entry]})) == ["/changes/0"]


def test_what_names_no_one_field_guards_nothing() -> None:
    """An entry of several fields, of the whole record, or of a field that is not there cannot be held against a value."""
    both = {**change("x", 1, 2), "fields": ["decode-prose-1", "ttft"]}
    entries = [both, change(".", 1, 2), change("results.gone", 1, 2), change("serving.no_such_field", 1, 2)]
    assert places(benchmark(results=[plain_result()], changes=entries)) == []
