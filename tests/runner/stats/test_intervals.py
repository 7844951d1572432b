"""The interval's arithmetic, and when a cell has been repeated often enough."""

import math

import pytest

from kbtool.runner.stats.extension import extension
from kbtool.runner.stats.intervals import mean_interval


def test_one_session_takes_t_of_its_rounds() -> None:
    """Rounds 9, 10, 11: deviation 1, t of 2 degrees of freedom 4.303."""
    interval = mean_interval([[9.0, 10.0, 11.0]])
    assert interval is not None
    assert (interval.method, interval.n, interval.centre) == ("t_rounds", 3, 10)
    assert interval.half_width == pytest.approx(4.302653 / math.sqrt(3), rel=1e-6)


def test_several_sessions_take_t_of_their_means() -> None:
    """However many rounds there are, the sessions are what is independent."""
    interval = mean_interval([[9.0, 9.0, 9.0], [10.0] * 5, [11.0]])
    assert interval is not None
    assert (interval.method, interval.n, interval.centre) == ("t_sessions", 3, 10)
    assert interval.half_width_ratio == pytest.approx(4.302653 / math.sqrt(3) / 10, rel=1e-6)


def test_one_round_has_no_interval() -> None:
    """A single figure says nothing of its spread."""
    assert mean_interval([[5.0]]) is None


def test_two_single_rounds_of_two_sessions_have_a_wide_one() -> None:
    """T of one degree of freedom is 12.7."""
    interval = mean_interval([[9.0], [11.0]])
    assert interval is not None
    assert interval.half_width == pytest.approx(12.7062, rel=1e-5)


def test_extended_interval_is_wider() -> None:
    """It pays for having looked before."""
    data = [[9.0, 10.0, 11.0, 10.0]]
    once, again = mean_interval(data), mean_interval(data, extended=True)
    assert once is not None
    assert again is not None
    assert again.half_width > once.half_width * 1.2


def test_half_width_around_zero_is_no_division() -> None:
    """Around 0 no share says anything; without spread there is nothing to be wide."""
    around, equal = mean_interval([[-1.0, 1.0]]), mean_interval([[0.0, 0.0]])
    assert around is not None
    assert equal is not None
    assert around.half_width_ratio == math.inf
    assert equal.half_width_ratio == 0


def test_extension_waits_for_the_least_number_of_rounds() -> None:
    """Two rounds that agree by chance are no reason to stop."""
    step = extension([[100.0, 100.1]], asked_ratio=0.05)
    assert (step.state, step.more, step.unit) == ("go_on", 1, "rounds")


def test_extension_stops_when_narrow_enough() -> None:
    """Nothing more is measured than was asked for."""
    step = extension([[100.0, 100.5, 99.5]], asked_ratio=0.05)
    assert (step.state, step.more) == ("enough", 0)
    assert step.half_width_ratio == pytest.approx(0.0201, abs=1e-4)


def test_extension_goes_on_by_what_the_spread_calls_for() -> None:
    """A deviation of 2.5 % needs 7 rounds for 3 %, but never more at once than there are already."""
    assert extension([[100.0, 102.5, 97.5]], asked_ratio=0.03, at_most=20).more == 3
    assert extension([[100.0, 102.0, 98.0, 100.0]], asked_ratio=0.025).more == 2


def test_extension_counts_sessions_where_there_are_several() -> None:
    """More rounds in a session would not narrow the interval."""
    step = extension([[100.0] * 3, [104.0] * 3, [96.0] * 3], asked_ratio=0.03)
    assert (step.state, step.unit, step.more) == ("go_on", "sessions", 3)


def test_extension_ends_at_its_limit() -> None:
    """The wide interval is then published as what it is."""
    step = extension([[50.0, 100.0, 150.0] * 4], asked_ratio=0.01)
    assert (step.state, step.more) == ("limit_reached", 0)


@pytest.mark.parametrize(("asked_ratio", "at_least", "at_most"), [(0, 3, 10), (0.05, 1, 10), (0.05, 5, 4)])
def test_impossible_limits_are_refused(asked_ratio: float, at_least: int, at_most: int) -> None:
    """The message names all three."""
    with pytest.raises(ValueError, match="expected a ratio above 0"):
        extension([[1.0]], asked_ratio=asked_ratio, at_least=at_least, at_most=at_most)
