"""Checks of a cell's rounds: did they repeat one state of the system, and does one stand apart?"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kbtool.runner.stats.samples import mean, median
from kbtool.runner.stats.student import t_two_sided_p

__all__ = ["DRIFT_P", "DRIFT_RATIO", "OUTLIER_RATIO", "Drift", "drift", "outliers"]

DRIFT_P: Final = 0.01
"""Chance of a false alarm for one figure of a steady system. For many, put the p values through `holm`."""
DRIFT_RATIO: Final = 0.02
"""A smaller change over a session is no drift, however sure it is."""
OUTLIER_RATIO: Final = 0.10
"""A round nearer to the median is no outlier, however close the others lie."""
_OUTLIER_DEVIATIONS: Final = 5.0
_MAD_TO_DEVIATION: Final = 1.4826
"""Standard deviation / median absolute deviation, for normal values."""


@dataclass(frozen=True, slots=True)
class Drift:
    """How a figure changes from the first to the last round of a session."""

    change_ratio: float
    """Of the fitted lines, over the longest session, as a share of the mean; positive rises."""
    p: float
    """Chance of a slope at least as steep from a steady system."""

    @property
    def alarm(self) -> bool:
        """Whether the cell is to be called drifting."""
        return self.p <= DRIFT_P and abs(self.change_ratio) >= DRIFT_RATIO


def drift(
    sessions: Sequence[Sequence[float]], times: Sequence[Sequence[float]] | None = None
) -> Drift | None:
    """Return the common slope over time of the rounds inside each session, with its two-sided t test.

    Rounds count as shares of their session's mean, so that a difference between starts of the server is no drift.  A rank
    correlation would need 6 rounds before it could say anything at this level; a line needs 4.

    Args:
        sessions: Values of the rounds of each session, in order of time.
        times: When each round ran, in any unit; None: evenly spaced.

    Returns:
        None where there are too few rounds (rounds - sessions - 1 below 1), all at one time, or a mean is 0.
    """
    if times is None:
        times = [[float(index) for index in range(len(each))] for each in sessions]
    freedom = sum(map(len, sessions)) - len(sessions) - 1
    levels = [mean(each) for each in sessions]
    t = [at - mean(each) for each in times for at in each]
    t_squares = math.fsum([at * at for at in t])
    if freedom < 1 or t_squares == 0 or 0 in levels:
        return None
    y = [value / level - 1 for each, level in zip(sessions, levels, strict=True) for value in each]
    slope = math.fsum([at * value for at, value in zip(t, y, strict=True)]) / t_squares
    if slope == 0:
        return Drift(0.0, 1.0)
    rest = math.fsum([(value - slope * at) ** 2 for at, value in zip(t, y, strict=True)])
    error = math.sqrt(rest / freedom / t_squares)
    length = max([max(each) - min(each) for each in times])
    return Drift(slope * length, t_two_sided_p(slope / error if error else math.inf, freedom))


def outliers(values: Sequence[float]) -> tuple[int, ...]:
    """Return the positions of values that stand apart from the others, whichever way.

    One stands apart that is further from the median than 10 % of it and than 5 standard deviations, as the median
    absolute deviation gives them.  The first limit is what makes this work for three rounds, of which two may
    agree by chance; the second keeps a noisy cell from being all outliers: it has the warning `wide_spread`.
    """
    if len(values) < 3:
        return ()
    centre = median(values)
    far = [abs(each - centre) for each in values]
    limit = max(OUTLIER_RATIO * abs(centre), _OUTLIER_DEVIATIONS * _MAD_TO_DEVIATION * median(far))
    return tuple([index for index, distance in enumerate(far) if distance > limit])
