"""A planted cliff is found, a dip is not called one, and the cliff is narrowed down."""

import random
from collections.abc import Sequence

import pytest

from kbtool.runner.stats.cliffs import Cliff, bisect_next, find_cliffs
from tests.runner.stats.synthetic import sweep

_SATURATED = [100.0] * 12
_GROWING = [min(each, 6) ** 0.8 for each in range(1, 13)]
_TRIALS = 1_500


def _planted(curve: Sequence[float], kept: float, *, last: int = 6) -> list[float]:
    return [value * (kept if number > last else 1) for number, value in enumerate(curve, start=1)]


def _share_with_cliff(curve: Sequence[float], *, at: int | None, rounds: int) -> float:
    """Return the share of sweeps with a cliff, or with one from `at - 1` to `at`."""
    generator = random.Random(17)
    hits = 0
    for _ in range(_TRIALS):
        found = find_cliffs(sweep(generator, curve, rounds=rounds))
        hits += any((each.last_good, each.first_bad) == (at - 1, at) for each in found) if at else bool(found)
    return hits / _TRIALS


@pytest.mark.parametrize("rounds", [3, 5])
@pytest.mark.parametrize("curve", [_SATURATED, _GROWING], ids=["saturated", "growing"])
def test_fall_of_15_percent_is_found_where_it_is(curve: Sequence[float], rounds: int) -> None:
    """In at least 95 % of sweeps, between the right two concurrencies."""
    assert _share_with_cliff(_planted(curve, 0.85), at=7, rounds=rounds) >= 0.95


@pytest.mark.parametrize("rounds", [3, 5])
@pytest.mark.parametrize("last", [6, 11], ids=["lasting", "at the end"])
@pytest.mark.parametrize("curve", [_SATURATED, _GROWING], ids=["saturated", "growing"])
def test_dip_of_5_percent_is_no_cliff(curve: Sequence[float], last: int, rounds: int) -> None:
    """In at least 95 % of sweeps no cell is called a cliff."""
    assert _share_with_cliff(_planted(curve, 0.95, last=last), at=None, rounds=rounds) <= 0.05


def test_level_sweep_has_no_cliff() -> None:
    """The highest of many equal cells is high by luck, and is no measure for the others."""
    assert _share_with_cliff(_SATURATED, at=None, rounds=3) <= 0.002


def test_cliff_names_its_edges_and_its_depth() -> None:
    """A fall at 17 streams to a quarter is one cliff, not one for every cell beyond it."""
    found = find_cliffs({1: [90.0], 8: [300.0], 16: [349.0], 17: [78.0], 32: [80.0], 64: [85.0]})
    assert [(each.last_good, each.first_bad) for each in found] == [(16, 17)]
    assert found[0].ratio == pytest.approx(78 / 349)
    assert found[0].severe


def test_second_fall_after_a_recovery_is_a_second_cliff() -> None:
    """Batches may outgrow one captured graph and fit the next."""
    found = find_cliffs({1: [100.0], 2: [70.0], 3: [100.0], 4: [60.0]})
    assert [(each.last_good, each.first_bad) for each in found] == [(1, 2), (3, 4)]


def test_noisy_sweep_needs_a_deeper_fall() -> None:
    """With 10 % variation between rounds, a fall of 15 % is not told from noise."""
    assert find_cliffs({1: [90.0, 110.0, 100.0], 2: [76.0, 94.0, 85.0]}) == ()


def test_cells_without_rounds_and_empty_sweeps_have_no_cliffs() -> None:
    """A cell that failed says nothing of throughput."""
    assert find_cliffs({}) == ()
    assert find_cliffs({1: [100.0], 2: [], 3: [99.0]}) == ()


def test_bisection_ends_at_neighbours() -> None:
    """From 16 and 32 by 24 on, until the edge is exact."""
    assert bisect_next(Cliff(16, 32, 0.5)) == 24
    assert bisect_next(Cliff(16, 18, 0.5)) == 17
    assert bisect_next(Cliff(16, 17, 0.5)) is None
