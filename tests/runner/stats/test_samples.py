"""Means, medians and percentiles of plain numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbtool.runner.stats.samples import mean, median, percentile, stdev, variation_ratio

_FLOATS = st.floats(min_value=-1e6, max_value=1e6)


def test_median_is_the_middle_or_between_two() -> None:
    """Odd and even counts, unordered."""
    assert median([3, 1, 2]) == 2
    assert median([4, 1, 3, 2]) == 2.5
    assert median([7]) == 7


def test_stdev_divides_by_one_less_and_needs_two() -> None:
    """The sample standard deviation of 2, 4, 4, 4, 5, 5, 7, 9 is 2.138."""
    assert stdev([2, 4, 4, 4, 5, 5, 7, 9]) == pytest.approx(2.13809, abs=1e-5)
    assert stdev([1.0]) is None
    assert variation_ratio([90, 110]) == pytest.approx(0.141421, abs=1e-6)
    assert variation_ratio([-1, 1]) is None


@pytest.mark.parametrize(
    ("percent", "least"), [(50, 20), (90, 100), (95, 200), (99, 1000), (10, 100), (1, 1000)]
)
def test_percentile_needs_ten_samples_beyond_it(percent: int, least: int) -> None:
    """With one sample less there is none, however regular the values."""
    assert percentile([float(each) for each in range(least - 1)], percent) is None
    assert percentile([float(each) for each in range(least)], percent) is not None


def test_percentile_is_interpolated_as_numpy_does() -> None:
    """Values 0 to 999: p99 lies at 989.01, p50 at 499.5."""
    values = [float(each) for each in range(1000)]
    assert percentile(values, 99) == pytest.approx(989.01)
    assert percentile(values, 50) == 499.5
    assert percentile([*values, 1000.0], 50) == 500


@pytest.mark.parametrize("percent", [0, 100, -5])
def test_impossible_percentile_is_refused(percent: int) -> None:
    """Smallest and largest have statistics of their own."""
    with pytest.raises(ValueError, match="expected 1 to 99"):
        percentile([1.0] * 100, percent)


def test_nothing_has_no_mean_and_no_median() -> None:
    """Absence is the caller's to handle; it is never 0."""
    with pytest.raises(ValueError, match="expected at least one"):
        mean([])
    with pytest.raises(ValueError, match="expected at least one"):
        median([])


@given(st.lists(_FLOATS, min_size=1), st.randoms())
def test_order_of_the_values_does_not_matter(values: list[float], shuffler: object) -> None:
    """To the last bit: figures are compared for equality when they are derived again."""
    other = sorted(values)
    shuffler.shuffle(other)  # type: ignore[attr-defined]  # hypothesis gives a random.Random
    assert mean(other) == mean(values)
    assert median(other) == median(values)
