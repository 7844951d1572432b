"""Student's t distribution, for intervals from few samples.

The distribution function is the regularised incomplete beta function, by Lentz's continued fraction; the
quantile is found by bisection, to the last bits of a float.
"""

import math
from functools import lru_cache
from typing import Final

__all__ = ["t_quantile", "t_two_sided_p"]

_TINY: Final = 1e-300
_STEPS: Final = 10_000


def t_two_sided_p(t: float, freedom: float) -> float:
    """Return the chance that |T| is at least |t|.

    Args:
        t: Value of the statistic; infinite gives 0.
        freedom: Degrees of freedom, above 0; need not be whole.
    """
    _checked(freedom)
    if math.isinf(t):
        return 0.0
    return _beta_ratio(freedom / 2, 0.5, freedom / (freedom + t * t), t * t / (freedom + t * t))


@lru_cache(maxsize=1024)
def t_quantile(share: float, freedom: float) -> float:
    """Return the value that T stays below with this chance.

    Args:
        share: Above 0 and below 1, such as 0.975 for a two-sided interval of 95 %.
        freedom: Degrees of freedom, above 0; need not be whole.
    """
    _checked(freedom)
    if not 0 < share < 1:
        raise ValueError(f"share {share}; expected above 0 and below 1")
    if share < 0.5:
        return -t_quantile(1 - share, freedom)
    outside = 2 * (1 - share)
    low, high = 0.0, 1.0
    while t_two_sided_p(high, freedom) > outside:
        low, high = high, high * 2
    while (middle := (low + high) / 2) not in {low, high}:
        if t_two_sided_p(middle, freedom) > outside:
            low = middle
        else:
            high = middle
    return high


def _checked(freedom: float) -> None:
    if not freedom > 0 or math.isinf(freedom):
        raise ValueError(f"{freedom} degrees of freedom; expected a number above 0")


def _beta_ratio(a: float, b: float, x: float, rest: float) -> float:
    """Return I_x(a, b); `rest` is 1 - x, given apart so that it keeps its digits near x = 1."""
    if x <= 0:
        return 0.0
    if rest <= 0:
        return 1.0
    scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(rest)
    if x < (a + 1) / (a + b + 2):
        return math.exp(scale) * _fraction(a, b, x) / a
    return 1.0 - math.exp(scale) * _fraction(b, a, rest) / b


def _fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of the incomplete beta function (Lentz's method)."""
    c, d = 1.0, 1.0 / _away(1.0 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, _STEPS):
        change = 1.0
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1.0 / _away(1.0 + term * d)
            c = _away(1.0 + term / c)
            change = c * d
            value *= change
        if abs(change - 1.0) < 1e-15:
            return value
    raise ArithmeticError(
        f"incomplete beta function of {a}, {b}, {x}; expected to converge in {_STEPS} steps"
    )


def _away(value: float) -> float:
    """Return the value, moved off zero: Lentz's method divides by it."""
    return value if abs(value) > _TINY else _TINY
