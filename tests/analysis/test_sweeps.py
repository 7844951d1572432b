"""Sweeps join what differs in the swept condition alone, and a configuration is one point."""

from decimal import Decimal
from typing import Any

from kbtool.analysis.rows import COLUMNS, Cell, Row
from kbtool.analysis.sweeps import configurations, setups


def row(**cells: Any) -> Row:
    """Return a row of one record that states little."""
    known: dict[str, Cell] = dict.fromkeys(COLUMNS["benchmark"])
    known |= {
        "ref": "benchmarks/a",
        "metric": "output_tok_s",
        "value": Decimal(800),
        "standing": "stands",
        "status": "draft",
    }
    known |= {"per_accelerator": Decimal(100), "accelerators_serving": 8, **cells}
    return Row(str(known["ref"]), str(known["result"]), known)


def speed(value: str, **cells: Any) -> Row:
    """Return a row with a speed per user."""
    return row(**{"metric": "tok_s_per_user", "value": Decimal(value), "per_accelerator": None, **cells})


def points(*rows: Row) -> list[tuple[int, Decimal]]:
    """Return the configurations of some rows."""
    return [(each.row, each.user_tok_s) for each in configurations(rows, setups(rows))]


def test_results_that_differ_in_axes_and_outcome_share_a_setup() -> None:
    """Concurrency, metric and statistic set no two results apart."""
    rows = (row(concurrency=1), row(concurrency=8, statistic="mean"), speed("90", concurrency=8))
    assert setups(rows) == [0, 0, 0]
    assert setups((row(depth_tok=4096), row(depth_tok=8192))) == [0, 0]


def test_other_conditions_set_setups_apart() -> None:
    """Another record, prompt class, cache state or changed setting is another setup."""
    rows = (
        row(), row(ref="benchmarks/b"), row(prompt_class="code"), row(prefix_cache="cold"),
        row(**{"with": "serving.chunked_prefill_size_tok=2048"}), row(weight_dtype="fp8"),
    )  # fmt: skip
    assert setups(rows) == [0, 1, 2, 3, 4, 5]


def test_a_changed_setting_that_is_an_axis_is_told_by_its_column() -> None:
    """A sweep over draft tokens is one setup, also where the other settings are changed alike."""
    rows = (
        row(draft_tok=1, **{"with": "speculation.draft_tok=1; speculation.method=mtp"}),
        row(draft_tok=3, **{"with": "speculation.draft_tok=3; speculation.method=mtp"}),
        row(draft_tok=3, **{"with": "speculation.draft_tok=3; speculation.method=eagle3"}),
    )
    assert setups(rows) == [0, 0, 1]


def test_a_rounded_length_beside_an_exact_one_says_nothing_more() -> None:
    """`128K` beside 131,072 does not break a sweep over lengths; without an exact one it is a condition."""
    rows = (
        row(input_tok=1024, input_nominal="1K"), row(input_tok=131_072, input_nominal="128K"),
        row(input_nominal="1K"), row(input_nominal="128K"),
    )  # fmt: skip
    assert setups(rows) == [0, 0, 1, 2]


def test_a_configuration_has_one_point() -> None:
    """Throughput as a whole and per accelerator is one figure, not a vertical line."""
    rows = (
        row(metric="tok_s_per_accelerator", value=Decimal(100)),
        row(),
        speed("90"),
        speed("40", statistic="p99"),
    )
    assert points(*rows) == [(1, Decimal(90))]


def test_speed_per_user_follows_from_tpot_and_from_no_throughput() -> None:
    """1000 / TPOT in ms, where the record has no speed; nothing without either."""
    tpot = speed("12.5", metric="tpot_ms", statistic="mean")
    assert points(row(), tpot) == [(0, Decimal(80))]
    assert points(row(concurrency=8)) == []


def test_a_median_stands_in_for_a_mean_and_a_p99_for_nothing() -> None:
    """The kinds of statistic that tell of a usual request."""
    assert points(row(), speed("90", statistic="p50")) == [(0, Decimal(90))]
    assert points(row(), speed("90", statistic="p99")) == []


def test_two_figures_of_one_configuration_are_no_point() -> None:
    """Something that no column holds tells them apart: which of the two belongs to the throughput is unknown."""
    assert points(row(), speed("90"), speed("45")) == []
    assert points(row(), speed("90"), speed("90")) == [(0, Decimal(90))]


def test_what_does_not_stand_is_no_point() -> None:
    """Withdrawn figures and those of retracted records leave every chart."""
    assert points(row(standing="withdrawn"), speed("90")) == []
    assert points(row(status="retracted"), speed("90", status="retracted")) == []


def test_configurations_of_one_record_are_told_apart_by_their_load() -> None:
    """Each concurrency is a configuration of its own."""
    rows = (
        row(concurrency=1, per_accelerator=Decimal(10)), row(concurrency=8), speed("110", concurrency=1),
        speed("90", concurrency=8),
    )  # fmt: skip
    assert points(*rows) == [(0, Decimal(110)), (1, Decimal(90))]
