"""A benchmark as flat rows: what stands in each of them is what the record's page says."""

from decimal import Decimal
from typing import Any

from kbtool.analysis.confidence import assess
from kbtool.analysis.rows import Cell, rows_of
from kbtool.schema import Benchmark, Record, Source
from tests.analysis.records import benchmark, plain_result

STATED: dict[str, Any] = {"score": "0.50", "label": "low", "reasons": [], "differs_because": "one day only"}
COLUMNS = ("confidence", "confidence_label", "confidence_by")


def vendors_source(_ref: str) -> Record:
    """Return the source of every record: that of a vendor."""
    return Source.model_validate(
        {
            "schema_version": 1,
            "id": "base-source",
            "title": "t",
            "status": "draft",
            "updated": "2026-11-30",
            "source_kind": "article",
            "publisher": "Maker",
            "interest": "vendor",
            "accessed": "2026-11-30",
            "group": "g",
        }
    )


def confidence_of(record: Benchmark, *, knows_sources: bool = True) -> set[tuple[Cell, ...]]:
    """Return what the rows of a record say of confidence."""
    rows = rows_of("benchmarks/b", record, "draft", vendors_source if knows_sources else None)
    return {tuple(row.cells[name] for name in COLUMNS) for row in rows}


def test_confidence_that_a_curator_stated_is_the_curators() -> None:
    """The rubric may differ; the page shows the curator's first, and so do the rows."""
    record = benchmark(confidence=STATED)
    assert assess(record, "vendor").score != Decimal("0.50")
    assert confidence_of(record) == {(Decimal("0.50"), "low", "curator")}
    assert confidence_of(record, knows_sources=False) == {(Decimal("0.50"), "low", "curator")}


def test_confidence_that_nobody_stated_is_the_rubrics() -> None:
    """Pages showed 0.75 where the rows of the same record were empty: a filter on confidence lost all imported results."""
    record = benchmark(confidence=None)
    rubric = assess(record, "vendor")
    assert "vendor-interest" in rubric.codes
    assert confidence_of(record) == {(rubric.score, rubric.label, "rubric")}


def test_rubric_is_not_worked_out_without_the_source() -> None:
    """Its score depends on the interest of whoever published the figures."""
    assert confidence_of(benchmark(confidence=None), knows_sources=False) == {(None, None, None)}


def test_confidence_is_the_records_in_every_row() -> None:
    """A result with a setting of its own is no better known for it."""
    results = [
        plain_result(),
        plain_result(id="other", value="80", **{"with": [{"field": "deployment.tp", "value": None}]}),
    ]
    assert len(confidence_of(benchmark(confidence=None, results=results))) == 1
