"""Interleaved comparisons: drift cancels, noise claims nothing, differences are found."""

import math
import random

import pytest

from kbtool.runner.stats.pairs import Block, abba_order, claims, holm, paired_ratio, pairs_needed
from tests.runner.stats.synthetic import VARIATION


def _blocks(generator: random.Random, *, count: int, ratio: float = 1.0, drift: float = 0.0) -> list[Block]:
    """Return blocks of an interleaved run in which B is `ratio` times A and each leg loses a share of speed."""
    speed, blocks = 100.0, []
    for order in abba_order(count, seed=generator.randrange(1_000_000)):
        legs: dict[str, list[float]] = {"a": [], "b": []}
        for leg in order:
            legs[leg].append(speed * (ratio if leg == "b" else 1) * generator.gauss(1, VARIATION))
            speed *= 1 - drift
        blocks.append(Block(tuple(legs["a"]), tuple(legs["b"])))
    return blocks


def test_order_is_balanced_inside_and_over_blocks() -> None:
    """Every block is A B B A or its mirror image, half of each, in an order that the seed fixes."""
    order = abba_order(8, seed=3)
    assert sorted(order) == [("a", "b", "b", "a")] * 4 + [("b", "a", "a", "b")] * 4
    assert order == abba_order(8, seed=3)
    assert any(order != abba_order(8, seed=other) for other in range(4, 9))


def test_steady_drift_cancels_in_a_block() -> None:
    """A box that loses the same share with every leg shows the ratio of 1 that there is, to the last digits."""
    legs = [100 * 0.9**step for step in range(4)]
    block = Block((legs[0], legs[3]), (legs[1], legs[2]))
    assert block.log_ratio == pytest.approx(0, abs=1e-12)


def test_ratio_is_geometric_and_counts_pairs() -> None:
    """Twice and half as fast come out as no difference."""
    found = paired_ratio([Block((100.0, 100.0), (200.0, 200.0)), Block((100.0, 100.0), (50.0, 50.0))])
    assert found.ratio == pytest.approx(1)
    assert (found.n_blocks, found.n_pairs) == (2, 4)
    assert found.p == pytest.approx(1)


def test_single_block_gives_a_ratio_and_no_interval() -> None:
    """It can claim nothing."""
    found = paired_ratio([Block((100.0,), (150.0,))])
    assert (found.low, found.high, found.p) == (0, math.inf, 1)
    assert not claims([found])[0].difference


@pytest.mark.parametrize("legs", [((), ()), ((1.0,), ()), ((1.0,), (0.0,))])
def test_block_without_a_ratio_is_refused(legs: tuple[tuple[float, ...], tuple[float, ...]]) -> None:
    """Missing legs and a speed of 0 are failed runs."""
    with pytest.raises(ValueError, match="expected as many of each"):
        Block(*legs)


def test_holm_corrects_step_by_step() -> None:
    """The textbook example: 0.01, 0.04, 0.03, 0.005 become 0.03, 0.06, 0.06, 0.02."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))
    assert holm([0.9, 0.8]) == (1, 1)
    assert holm([]) == ()


@pytest.mark.parametrize(("count", "drift"), [(4, 0.0), (6, 0.002), (12, 0.0)])
def test_sweep_of_equals_claims_a_difference_in_at_most_5_percent(count: int, drift: float) -> None:
    """Twelve comparisons of A with A, on a box that may slow down meanwhile."""
    generator = random.Random(21)
    sweeps = 1_000
    wrong = 0
    for _ in range(sweeps):
        made = [paired_ratio(_blocks(generator, count=count, drift=drift), draws=40) for _ in range(12)]
        wrong += any(each.difference for each in claims(made))
    assert wrong / sweeps <= 0.05


def test_difference_of_10_percent_is_found() -> None:
    """Six blocks of 2.4 % variation find it in at least 95 % of trials, among twelve comparisons of equals."""
    generator = random.Random(22)
    found = 0
    for _ in range(100):
        made = [paired_ratio(_blocks(generator, count=6, ratio=1.10), draws=200)]
        made += [paired_ratio(_blocks(generator, count=6), draws=200) for _ in range(11)]
        found += claims(made)[0].difference
    assert found >= 95


def test_small_difference_needs_eleven_pairs() -> None:
    """Two percent that are certain by t are not claimed from 10 pairs, and are from 12."""
    few = paired_ratio([Block((100.0, 100.0), (102.0, 102.0 + step / 100)) for step in range(5)])
    many = paired_ratio([Block((100.0, 100.0), (102.0, 102.0 + step / 100)) for step in range(6)])
    assert few.p < 1e-6
    assert claims([few])[0].reason == "too_few_pairs"
    assert claims([many])[0].reason == "shown"


def test_difference_inside_the_noise_floor_is_not_shown() -> None:
    """What A against A showed on the same box is no difference between A and B."""
    found = paired_ratio([Block((100.0, 100.0), (104.0, 104.0 + step / 100)) for step in range(8)])
    assert claims([found], noise_ratio=0.05)[0].reason == "within_noise"
    assert claims([found], noise_ratio=0.02)[0].difference


def test_pairs_needed_are_those_of_the_power_table() -> None:
    """At 2.4 % variation: 91 for 1 %, 23 for 2 %, 11 for 3 %, 4 for 5 %."""
    assert [pairs_needed(0.024, effect) for effect in (0.01, 0.02, 0.03, 0.05)] == [91, 23, 11, 4]
