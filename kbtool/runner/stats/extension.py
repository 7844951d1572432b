"""When a cell has been repeated often enough, and by how much to go on."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kbtool.runner.stats.intervals import critical_t, units
from kbtool.runner.stats.samples import mean, stdev

__all__ = ["Extension", "extension"]


@dataclass(frozen=True, slots=True)
class Extension:
    """What to do next with a cell."""

    state: Literal["enough", "go_on", "limit_reached"]
    more: int
    """Rounds or sessions to add before asking again; 0 unless to go on."""
    unit: Literal["rounds", "sessions"]
    half_width_ratio: float | None
    """Of the interval that this was judged by, one of 98 %; None where there is none yet."""


def extension(
    sessions: Sequence[Sequence[float]],
    *,
    asked_ratio: float,
    at_least: int = 3,
    at_most: int = 10,
) -> Extension:
    """Return whether the interval is narrow enough, and how many more to measure if not.

    Judged by an interval of 98 %: `kbtool.runner.stats.intervals` says why.  The next batch is what would be enough
    if the spread stayed as it is, but never more than there is already: a spread from few values is a poor
    forecast.  Units are sessions where there are several, else rounds.

    Args:
        sessions: Values of the rounds of each session; none empty.
        asked_ratio: Half width to reach, as a share of the mean.
        at_least: Units before the first look; fewer give no fair spread.
        at_most: Units to stop at whatever the interval.

    Raises:
        ValueError: the ratio is not above 0, or the limits are not 2 <= at_least <= at_most.
    """
    if not asked_ratio > 0 or not 2 <= at_least <= at_most:
        raise ValueError(
            f"asked_ratio {asked_ratio}, at_least {at_least}, at_most {at_most}; "
            "expected a ratio above 0 and 2 <= at_least <= at_most"
        )
    values = units(sessions)
    unit: Literal["rounds", "sessions"] = "rounds" if len(sessions) == 1 else "sessions"
    deviation, centre = stdev(values), abs(mean(values))
    ratio = None if deviation is None else _half_width_ratio(deviation, centre, len(values))
    if len(values) < at_least or ratio is None or deviation is None:
        return Extension("go_on", at_least - len(values), unit, ratio)
    if ratio <= asked_ratio:
        return Extension("enough", 0, unit, ratio)
    if len(values) >= at_most:
        return Extension("limit_reached", 0, unit, ratio)
    enough = next(
        (
            n
            for n in range(len(values) + 1, at_most)
            if _half_width_ratio(deviation, centre, n) <= asked_ratio
        ),
        at_most,
    )
    return Extension("go_on", min(enough - len(values), len(values)), unit, ratio)


def _half_width_ratio(deviation: float, centre: float, n: int) -> float:
    """Return the half width of an interval from n values with this deviation, as a share of the centre."""
    if deviation == 0:
        return 0.0
    return critical_t(n, "judged") * deviation / math.sqrt(n) / centre if centre else math.inf
