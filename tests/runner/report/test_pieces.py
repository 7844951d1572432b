"""Axes, numbers, thinning and picking: the parts of a report that decide what is seen."""

import pytest

from kbtool.runner.report.figure import CsvData, csv_text, spaced
from kbtool.runner.report.numbers import cut, shown
from kbtool.runner.report.plots_cell import MAX_STEPS, thinned
from kbtool.runner.report.plots_latency import DRAWN, quantile_points
from kbtool.runner.report.scales import fitted, linear, logarithmic, share_scale, spread_ticks, tick_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.00012345, "0.000123"),
        (1.23456, "1.235"),
        (12.3456, "12.35"),
        (1234.5, "1,234"),
        (51056.9, "51,057"),
        (-3.5, "-3.500"),
        (None, "-"),
        (float("inf"), "-"),
    ],
)
def test_numbers_have_four_significant_digits(value: float | None, text: str) -> None:
    """Digits before the point are never rounded away."""
    assert shown(value) == text


def test_a_cut_text_shows_it() -> None:
    """A long text ends in an ellipsis."""
    assert cut("x" * 300, 10) == f"{'x' * 9}\N{HORIZONTAL ELLIPSIS}"
    assert cut("short") == "short"


@pytest.mark.parametrize(
    ("low", "high"), [(0, 1), (0, 3131), (-20, 80), (0.001, 0.002), (0, 1e9), (5, 5), (0, 0)]
)
def test_a_linear_axis_holds_its_values_between_few_round_ticks(low: float, high: float) -> None:
    """Ticks lie evenly, the first at or below the least and the last at or above the largest value."""
    axis = linear(low, high, 0, 100)
    assert axis.low <= low
    assert axis.high >= high
    assert 2 <= len(axis.ticks) <= 8
    assert axis(axis.low) == 0
    assert axis(axis.high) == 100


@pytest.mark.parametrize(("low", "high"), [(1, 1.01), (0.02, 540), (1e-3, 1e6), (7, 7), (99, 101)])
def test_a_logarithmic_axis_holds_its_values(low: float, high: float) -> None:
    """However near or far the values, both lie on the axis, which has two ticks at least."""
    axis = logarithmic(low, high, 100, 0)
    assert axis.holds(low)
    assert axis.holds(high)
    assert len(axis.ticks) >= 2
    assert 0 <= axis(high) <= axis(low) <= 100


def test_values_beyond_an_axis_are_drawn_at_its_end() -> None:
    """An interval that reaches below 0 does not leave the drawing."""
    axis = fitted([1.0, 4.0], 100, 0)
    assert axis(-1000) == 100
    assert axis(1000) == 0


def test_ticks_of_a_sweep_are_its_values_and_do_not_run_into_one_another() -> None:
    """Wide sweeps get a logarithmic axis; values too close to one another share a tick."""
    axis = spread_ticks([1, 2, 4, 8, 16, 32, 64], 0, 300)
    assert axis.is_log
    assert [text for _, text in axis.ticks] == ["1", "2", "4", "8", "16", "32", "64"]
    crowded = spread_ticks([float(each) for each in range(100, 160)], 0, 300)
    assert not crowded.is_log
    assert len(crowded.ticks) <= 12


@pytest.mark.parametrize(
    ("value", "text"), [(0.25, "0.25"), (5000, "5,000"), (12000, "12k"), (1.5e6, "1.5M"), (0.0001, "0.0001")]
)
def test_ticks_are_short(value: float, text: str) -> None:
    """Thousands and millions are abbreviated, small values written in full."""
    assert tick_text(value) == text


def test_shares_have_a_tick_for_each_further_nine() -> None:
    """Only as far as there are samples."""
    assert [text for _, text in share_scale(2.1, 0, 100).ticks] == ["0", "50", "90", "99"]


def test_a_curve_keeps_its_ends_and_is_bounded() -> None:
    """Of many values those are drawn that lie evenly along the axis, the least and the largest always."""
    values = [float(each) for each in range(100_000)]
    points = quantile_points(values)
    assert len(points) <= DRAWN + 2
    assert points[0][1] == 0
    assert points[-1][1] == 99_999
    assert all(value == pytest.approx(share * 100_000, abs=1) for share, value in points)
    assert quantile_points([3.0]) == [(0.5, 3.0)]


def test_a_stall_survives_thinning() -> None:
    """Both ends of the longest gaps are kept, whatever else is left out."""
    steps = [(each * 0.01 + (0.5 if each > 1234 else 0.0), each + 1) for each in range(5000)]
    kept = thinned(steps)
    assert len(kept) <= MAX_STEPS + 40
    assert steps[1234] in kept
    assert steps[1235] in kept
    assert kept[0] == steps[0]
    assert kept[-1] == steps[-1]


def test_evenly_spaced_items_hold_first_and_last() -> None:
    """Of nine settings, eight are drawn, and both ends are among them."""
    assert spaced(range(30), 8)[0] == 0
    assert spaced(range(30), 8)[-1] == 29
    assert len(spaced(range(30), 8)) == 8
    assert spaced([1, 2], 8) == [1, 2]


def test_csv_keeps_numbers_exact_and_text_inert() -> None:
    """Floats read back as they were, whole ones without a point; text that looks like a formula is quoted."""
    data = CsvData("x", ("a", "b"), ((0.1, 2.0), ("=1+1", None), ("a,b\n", True)), "all")
    assert csv_text(data) == 'a,b\n0.1,2\n\'=1+1,\n"a,b\n",true\n'
