"""Parts of a record are found by what they are."""

from kbtool.analysis.parts import PROSE_FIELDS, parts, prose
from kbtool.schema import MODELS, Accelerator
from kbtool.schema.common import Evidence, Figure
from tests.analysis.records import BASE, benchmark, plain_result


def test_every_piece_of_evidence_is_found() -> None:
    """Deep in lists, and inside claims and their counters."""
    record = benchmark(
        claims=[
            {
                "id": "fast",
                "statement": "It is fast.",
                "verdict": "contradicted",
                "counter": [{"evidence": {"source": "sources/base-source", "locator": "Table 9"}}],
            }
        ],
        results=[plain_result()],
    )
    found = dict(parts(record, Evidence))
    assert list(found) == [
        "/claims/0/counter/0/evidence",
        "/setup_evidence/0/evidence",
        "/results/0/evidence/0",
    ]
    assert found["/claims/0/counter/0/evidence"].locator == "Table 9"


def test_figures_of_a_thing() -> None:
    """Each figure of an accelerator, with its place."""
    record = Accelerator.model_validate(BASE["accelerators/base-accelerator"])
    assert [pointer for pointer, _ in parts(record, Figure)] == [
        "/memory/capacity_gb",
        "/memory/bandwidth_gb_s",
        "/compute/0/tflops",
        "/power/default_w",
        "/power/min_limit_w",
        "/power/max_limit_w",
    ]


def test_prose_is_ours_and_quotes_are_not() -> None:
    """Notes, reasons and statements are ours; quotes, locators and titles are not."""
    record = benchmark(
        notes="In short.",
        changes=[{"date": "2026-09-20", "fields": ["."], "why": "First version."}],
        results=[plain_result(note="Warm.")],
    )
    assert prose(record) == [
        ("/changes/0/why", "First version."),
        ("/notes", "In short."),
        ("/results/0/note", "Warm."),
    ]


def test_prose_fields_exist() -> None:
    """A field that is renamed would silently leave the list."""
    schemas = [model.model_json_schema(by_alias=True) for model in MODELS.values()]
    names = {
        name
        for schema in schemas
        for part in (schema, *schema.get("$defs", {}).values())
        for name in part.get("properties", {})
    }
    assert names >= PROSE_FIELDS
