"""The hierarchical bootstrap redraws sessions and, in them, rounds."""

from itertools import product

import pytest

from kbtool.runner.stats.bootstrap import bootstrap_interval, bootstrap_means
from kbtool.runner.stats.samples import mean, stdev


def test_equal_seeds_give_equal_intervals() -> None:
    """A published interval can be computed again to the last digit."""
    data = [[1.0, 2.0, 4.0], [3.0, 5.0, 5.5]]
    assert bootstrap_interval(data) == bootstrap_interval(data)
    assert bootstrap_means(data, seed=1) != bootstrap_means(data, seed=2)


def test_no_spread_gives_no_width() -> None:
    """All draws are alike."""
    assert bootstrap_interval([[7.0, 7.0], [7.0]]) == (7.0, 7.0)


def test_draws_have_the_spread_of_the_exact_two_level_redraw() -> None:
    """Mean and deviation of the draws are those of all redraws of sessions, then rounds, listed in full."""
    data = [[1.0, 2.0], [4.0, 8.0]]
    exact = [
        mean([mean(first), mean(second)])
        for chosen in product(data, repeat=2)
        for first in product(chosen[0], repeat=2)
        for second in product(chosen[1], repeat=2)
    ]
    drawn = bootstrap_means(data, draws=40_000)
    assert mean(drawn) == pytest.approx(mean(exact), rel=0.01)
    assert stdev(drawn) == pytest.approx(stdev(exact), rel=0.02)


def test_sessions_of_unequal_length_weigh_alike() -> None:
    """A session does not count for more because it had more rounds."""
    assert mean(bootstrap_means([[0.0], [10.0] * 9])) == pytest.approx(5, abs=0.15)


def test_long_sessions_are_redrawn_at_random() -> None:
    """Seven rounds have 823,543 redraws; a sample of those has the right spread."""
    values = [float(each) for each in range(7)]
    drawn = bootstrap_means([values])
    assert mean(drawn) == pytest.approx(3, abs=0.05)
    assert stdev(drawn) == pytest.approx(2 / 7**0.5, rel=0.05)


@pytest.mark.parametrize("data", [[], [[]], [[1.0], []]])
def test_missing_rounds_are_refused(data: list[list[float]]) -> None:
    """An empty session is a bug of the caller."""
    with pytest.raises(ValueError, match="expected at least one round"):
        bootstrap_means(data)
