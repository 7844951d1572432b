"""Points and lines of throughput per accelerator against speed per user."""

from decimal import Decimal
from typing import Any

from kbtool.analysis.frontier import Frontier, frontiers, pareto
from kbtool.analysis.rows import rows_of
from tests.analysis.records import benchmark, plain_result


def pair(
    users: int | None, throughput: str, speed: str, *, metric: str = "tok_s_per_user", **more: Any
) -> list[dict[str, Any]]:
    """Return the two figures of one load."""
    at = {"concurrency": users, "input_tok": 1024, "output_tok": 512}
    whole = {
        "id": f"whole-{users}-{throughput}",
        "metric": "output_tok_s",
        "value": throughput,
        "as_published": throughput,
    }
    one = {"id": f"one-{users}-{speed}", "metric": metric, "value": speed, "as_published": speed}
    return [plain_result(**each, at=at, **more) for each in (whole, one)]


def found(*results: list[dict[str, Any]]) -> tuple[Frontier, ...]:
    """Return the sweeps of a record on two accelerators."""
    flat = [each for pairs in results for each in pairs]
    record = benchmark(results=flat, headline=flat[0]["id"])
    return frontiers(list(rows_of("benchmarks/base-benchmark", record, "draft")))


def test_points_are_per_accelerator_and_by_speed() -> None:
    """Two accelerators halve the throughput; the fastest per user comes first."""
    sweep = found(pair(16, "800", "50"), pair(1, "90", "90"))[0]
    assert [(each.per_user, each.per_accelerator, each.load[0]) for each in sweep.points] == [
        (Decimal(90), Decimal(45), 1), (Decimal(50), Decimal(400), 16),
    ]  # fmt: skip
    assert sweep.best == sweep.points
    assert sweep.is_line


def test_a_beaten_point_is_not_on_the_frontier() -> None:
    """64 users are slower for each and no faster in all than 16."""
    sweep = found(pair(1, "90", "90"), pair(16, "800", "50"), pair(64, "790", "12"))[0]
    assert [each.load[0] for each in sweep.best] == [1, 16]
    assert len(sweep.points) == 3


def test_one_configuration_is_no_line() -> None:
    """Two runs under one load, and points of one speed, were drawn as a vertical frontier."""
    assert not found(pair(16, "800", "50"))[0].is_line
    assert found(pair(16, "800", "50"), pair(16, "900", "50")) == ()
    one_speed = found(pair(16, "800", "50"), pair(32, "900", "50"))[0]
    assert not one_speed.is_line
    assert [each.load[0] for each in one_speed.best] == [32]


def test_other_settings_are_another_sweep() -> None:
    """A line joins points that differ in their load alone."""
    setting: dict[str, Any] = {"with": [{"field": "serving.chunked_prefill_size_tok", "value": 512}]}
    assert len(found(pair(1, "90", "90"), pair(16, "800", "50", **setting))) == 2


def test_a_tpot_stands_in_for_the_speed() -> None:
    """20 ms a token are 50 tok/s; the 99th percentile tells of no usual user."""
    assert found(pair(16, "800", "20", metric="tpot_ms"))[0].points[0].per_user == 50
    assert found(pair(16, "800", "20", metric="tpot_ms", statistic="p99")) == ()


def test_equal_points_stand_once() -> None:
    """The same point twice beats nothing."""
    points = found(pair(1, "90", "90"), pair(2, "90", "90"))[0].points
    assert len(pareto(points)) == 1
