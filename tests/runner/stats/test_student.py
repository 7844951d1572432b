"""Quantiles of Student's t are those of published tables."""

import math

import pytest

from kbtool.runner.stats.student import t_quantile, t_two_sided_p


@pytest.mark.parametrize(
    ("freedom", "two_sided_90", "two_sided_95", "two_sided_99"),
    [
        (1, 6.314, 12.706, 63.657),
        (2, 2.920, 4.303, 9.925),
        (3, 2.353, 3.182, 5.841),
        (4, 2.132, 2.776, 4.604),
        (5, 2.015, 2.571, 4.032),
        (6, 1.943, 2.447, 3.707),
        (8, 1.860, 2.306, 3.355),
        (10, 1.812, 2.228, 3.169),
        (15, 1.753, 2.131, 2.947),
        (20, 1.725, 2.086, 2.845),
        (30, 1.697, 2.042, 2.750),
        (60, 1.671, 2.000, 2.660),
        (120, 1.658, 1.980, 2.617),
    ],
)
def test_quantile_is_that_of_the_table(
    freedom: int, two_sided_90: float, two_sided_95: float, two_sided_99: float
) -> None:
    """Every digit of the NIST/SEMATECH table of critical values agrees."""
    assert round(t_quantile(0.95, freedom), 3) == two_sided_90
    assert round(t_quantile(0.975, freedom), 3) == two_sided_95
    assert round(t_quantile(0.995, freedom), 3) == two_sided_99


@pytest.mark.parametrize("share", [0.6, 0.9, 0.975, 0.995, 0.9995])
def test_quantile_agrees_with_closed_forms(share: float) -> None:
    """For 1 and 2 degrees of freedom there are formulas; they agree to 12 digits."""
    both = 2 * share - 1
    assert t_quantile(share, 1) == pytest.approx(math.tan(math.pi * both / 2), rel=1e-12)
    assert t_quantile(share, 2) == pytest.approx(both * math.sqrt(2 / (1 - both * both)), rel=1e-12)


def test_quantile_tends_to_the_normal_one() -> None:
    """With a million degrees of freedom, 1.959964 of the normal distribution."""
    assert t_quantile(0.975, 1_000_000) == pytest.approx(1.959966, abs=1e-6)


def test_lower_quantile_is_the_mirror_image() -> None:
    """The distribution is symmetric, and its median is 0."""
    assert t_quantile(0.025, 4) == pytest.approx(-t_quantile(0.975, 4), rel=1e-12)
    assert t_quantile(0.5, 4) == pytest.approx(0, abs=1e-12)


def test_p_value_inverts_the_quantile() -> None:
    """The chance to lie beyond a quantile is what was asked for, for whole and broken degrees of freedom."""
    for freedom in (1, 2, 3.7, 12, 99.5):
        assert t_two_sided_p(t_quantile(0.975, freedom), freedom) == pytest.approx(0.05, rel=1e-10)
    assert t_two_sided_p(0, 5) == 1
    assert t_two_sided_p(math.inf, 5) == 0


@pytest.mark.parametrize(("share", "freedom"), [(0, 3), (1, 3), (0.5, 0), (0.5, -1), (0.5, math.inf)])
def test_impossible_arguments_are_refused(share: float, freedom: float) -> None:
    """The message names what was given and what was expected."""
    with pytest.raises(ValueError, match="expected"):
        t_quantile(share, freedom)
