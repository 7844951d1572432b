"""Drift and outliers: found where planted, seldom where not."""

import random

import pytest

from kbtool.runner.stats.checks import drift, outliers
from tests.runner.stats.synthetic import sessions


def test_drift_is_the_slope_within_sessions() -> None:
    """Sessions on different levels that each rise by 10 % drift by 10 %."""
    found = drift([[95.0, 100.1, 104.9], [190.0, 199.9, 210.1]])
    assert found is not None
    assert found.change_ratio == pytest.approx(0.1, abs=0.005)
    assert found.alarm


def test_levels_of_sessions_are_no_drift() -> None:
    """A later session may be faster throughout."""
    found = drift([[100.0, 101.0, 100.0], [120.0, 119.0, 120.0], [140.0, 141.0, 140.0]])
    assert found is not None
    assert not found.alarm


def test_small_change_is_no_drift_however_sure() -> None:
    """An exact line that rises by 1 % is no reason to doubt a figure."""
    found = drift([[100.0, 100.25, 100.5, 100.75, 101.0]])
    assert found is not None
    assert found.p < 0.001
    assert not found.alarm


def test_exact_line_and_exact_level_have_their_p_values() -> None:
    """Without any residual the slope is certain, and without any slope there is none."""
    line, level = drift([[100.0, 110.0, 120.0, 130.0]]), drift([[100.0] * 4])
    assert line is not None
    assert level is not None
    assert line.p == pytest.approx(0, abs=1e-12)
    assert (level.p, level.change_ratio) == (1, 0)


def test_times_of_the_rounds_count() -> None:
    """Two rounds a minute apart and one an hour later lie on a line in time, not in number."""
    found = drift([[100.0, 101.0, 160.0]], [[0.0, 1.0, 60.0]])
    assert found is not None
    assert found.p == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("data", [[[1.0, 2.0]], [[1.0], [2.0], [3.0]], [[1.0, -1.0, 0.0]]])
def test_too_few_rounds_say_nothing_of_drift(data: list[list[float]]) -> None:
    """A line through two points always fits."""
    assert drift(data) is None
    assert drift([[1.0, 2.0, 3.0]], [[5.0, 5.0, 5.0]]) is None


@pytest.mark.parametrize(("count", "rounds"), [(3, 3), (1, 5), (6, 3)])
def test_steady_systems_seldom_drift(count: int, rounds: int) -> None:
    """A false alarm in about 1 % of figures, with 2.4 % variation."""
    generator = random.Random(11)
    trials = 3_000
    alarms = 0
    for _ in range(trials):
        found = drift(sessions(generator, count=count, rounds=rounds, between_share=0.5))
        assert found is not None
        alarms += found.alarm
    assert alarms / trials <= 0.015


def test_heating_box_is_found() -> None:
    """A loss of 20 % over five rounds with half a percent of noise alarms nearly always."""
    generator = random.Random(12)
    found = [
        drift([[100 * (1 - 0.05 * step) * generator.gauss(1, 0.005) for step in range(5)]])
        for _ in range(500)
    ]
    assert sum(each is not None and each.alarm for each in found) / 500 >= 0.95


def test_outlier_among_three_rounds_is_found() -> None:
    """Two that agree and one that does not."""
    assert outliers([100.0, 101.0, 130.0]) == (2,)
    assert outliers([70.0, 101.0, 100.0]) == (0,)


def test_close_rounds_and_noisy_rounds_have_no_outliers() -> None:
    """Neither two that agree by chance nor a cell that is noisy all over."""
    assert outliers([100.0, 100.0, 104.0]) == ()
    assert outliers([100.0, 60.0, 140.0, 80.0, 125.0]) == ()
    assert outliers([100.0, 500.0]) == ()


@pytest.mark.parametrize(("count", "rounds"), [(3, 3), (1, 3), (1, 5)])
def test_steady_systems_seldom_have_outliers(count: int, rounds: int) -> None:
    """A false alarm in less than 1 % of cells."""
    generator = random.Random(13)
    alarms = sum(
        bool(outliers([value for each in sessions(generator, count=count, rounds=rounds) for value in each]))
        for _ in range(3_000)
    )
    assert alarms / 3_000 < 0.01
