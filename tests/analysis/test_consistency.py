"""What was measured together has to add up."""

from decimal import Decimal

import pytest

from kbtool.analysis.consistency import (
    acceptance_length_from_ratio,
    conditions,
    expected_acceptance_length,
    falling_percentiles,
    figures_by_conditions,
    graph_rows,
    longest_acceptance,
    relative_difference,
    verify_rows,
)
from kbtool.schema.benchmark import Serving, Speculation
from tests.analysis.records import result


def test_expected_acceptance_length_is_leviathans_equation_1() -> None:
    """73 % with 6 drafts gives 3.29, 33 % gives 1.49; certainty gives all drafts and the bonus token."""
    assert round(expected_acceptance_length(Decimal("0.73"), 6), 2) == Decimal("3.29")
    assert round(expected_acceptance_length(Decimal("0.33"), 6), 2) == Decimal("1.49")
    assert expected_acceptance_length(Decimal(1), 5) == 6
    assert expected_acceptance_length(Decimal(0), 5) == 1


def test_acceptance_length_from_ratio() -> None:
    """All drafted tokens accepted is draft tokens + 1; none is the bonus token alone."""
    assert acceptance_length_from_ratio(Decimal(1), 5) == 6
    assert acceptance_length_from_ratio(Decimal(0), 5) == 1


@pytest.mark.parametrize(
    ("speculation", "longest", "rows"),
    [
        ({"method": "none"}, 1, 1),
        ({"method": "mtp", "draft_tok": 3}, 4, 4),
        ({"method": "dspark", "block_size": 6}, 7, None),
        ({"method": "eagle", "draft_tok": 1, "verify_rows": 2}, 2, 2),
        ({"method": "eagle"}, None, None),
        ({}, None, None),
    ],
)
def test_bounds_of_speculation(speculation: dict[str, object], longest: int | None, rows: int | None) -> None:
    """What a step can give and what it takes; None where a setting is missing."""
    known = Speculation.model_validate(speculation)
    assert longest_acceptance(known) == longest
    assert verify_rows(known) == rows


def test_graph_rows_explains_the_cliff() -> None:
    """32 requests of 2 rows are 64 rows, beyond graphs captured to 32; 16 requests are just on them."""
    eagle = Speculation(method="eagle", draft_tok=1)
    assert graph_rows(Serving(max_running_requests=32), eagle) == 64
    assert graph_rows(Serving(max_running_requests=16), eagle) == 32
    assert graph_rows(Serving(), eagle) is None


def test_conditions_tell_settings_and_load_apart() -> None:
    """Equal conditions have equal keys; load can be left out of them."""
    one, other = result(at={"concurrency": 1}), result(id="b", at={"concurrency": 8})
    changed = result(id="c", **{"with": [{"field": "serving.context_tok", "value": 4096}]})
    assert conditions(one) != conditions(other)
    assert conditions(one, load=False) == conditions(other, load=False)
    assert conditions(one) != conditions(changed)


def test_figures_are_grouped_by_conditions() -> None:
    """A disputed figure and one without a value stand in no group; of a repeat the first counts."""
    results = [
        result(id="a", value="1"),
        result(id="b", value="2", repeat_of="a"),
        result(id="c", value="3", metric="tpot_ms"),
        result(id="d", value="4", metric="itl_ms", standing="disputed", standing_reason="x"),
        result(id="e", value=None, low="1", high="2", metric="ttft_ms"),
    ]
    assert [dict(group) for group in figures_by_conditions(results)] == [
        {("tok_s_per_user", None): 0, ("tpot_ms", None): 2}
    ]


def test_falling_percentiles() -> None:
    """Neighbours are compared, gaps between them are skipped, and a mean stays between minimum and maximum."""
    values = {"min": "10", "p50": "30", "p99": "20", "max": "25", "mean": "5"}
    results = [
        result(id=name, metric="e2el_ms", statistic=name, value=value) for name, value in values.items()
    ]
    names = [(results[low].id, results[high].id) for low, high in falling_percentiles(results)]
    assert names == [("p50", "p99"), ("min", "mean")]


def test_percentiles_of_other_conditions_are_not_compared() -> None:
    """A p99 at one user may well be below the p50 at eight."""
    results = [
        result(id="a", metric="e2el_ms", statistic="p50", value="900", at={"concurrency": 8}),
        result(id="b", metric="e2el_ms", statistic="p99", value="100", at={"concurrency": 1}),
    ]
    assert list(falling_percentiles(results)) == []


def test_relative_difference() -> None:
    """The repeat of 6,853 that reads 6,765 is 1.28 % lower."""
    assert round(relative_difference(Decimal(6765), Decimal(6853)), 4) == Decimal("-0.0128")
    with pytest.raises(ZeroDivisionError):
        relative_difference(Decimal(1), Decimal(0))
