"""The 95 % interval of a figure that was measured in rounds, nested in server sessions.

Method.  A fresh start of a server moves its speed (memory layout, graph capture, clocks), so rounds of one
session are not independent; sessions are.

* `t_sessions`, from 2 sessions on: mean of the session means, plus and minus Student's t for one less than the
  number of sessions times their standard error.  Exact for normal effects, whatever their share of the spread.
* `t_rounds`, for one session: the same over its rounds.  It says how well this session is known and nothing
  about the next one, so the number carries the warning `single_session`.

The interval is for the long-run mean; the published value beside it is a median over rounds, which resists one
bad round.  For a spread that is not grossly skewed the two agree.

Coverage, simulated with a variation of 2.4 % (`tests/runner/stats/test_coverage.py`, 4,000 trials a design):
94 to 96 % for 3 or 6 sessions of 3 rounds with no, some or only variation between sessions, and for 1 session
of 3 or 5 rounds without any.  The hierarchical bootstrap covers 73 to 97 % of the same trials.

Extended cells.  Measuring on until the interval is narrow stops more readily when the spread came out small by
chance: intervals of 95 % then cover 91 to 95 %.  So whether to stop is judged by an interval of 98 %, and a cell
that was extended is given one of 97.5 %, which covers the truth in 94 to 97 % of such cells
(`kbtool.runner.stats.extension` has the rule).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from kbtool.runner.stats.samples import mean, stdev
from kbtool.runner.stats.student import t_quantile

__all__ = ["Interval", "critical_t", "mean_interval", "units"]

_SHARE: Final = {"fixed": 0.975, "extended": 0.9875, "judged": 0.99}
"""Of t below its quantile: for a cell of fixed length, an extended one, and the decision to stop."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95 % interval."""

    centre: float
    half_width: float
    method: Literal["t_sessions", "t_rounds"]
    n: int
    """Sessions or rounds that it was made from."""

    @property
    def low(self) -> float:
        """Lower end."""
        return self.centre - self.half_width

    @property
    def high(self) -> float:
        """Upper end."""
        return self.centre + self.half_width

    @property
    def half_width_ratio(self) -> float:
        """Half width as a share of the centre; infinite around 0, and 0 where there is no spread."""
        if self.half_width == 0:
            return 0.0
        return self.half_width / abs(self.centre) if self.centre else math.inf


def units(sessions: Sequence[Sequence[float]]) -> tuple[float, ...]:
    """Return what the interval treats as independent: session means, or the rounds of a single session.

    Raises:
        ValueError: there is no session, or one without rounds.
    """
    if not sessions or not all(sessions):
        raise ValueError("no sessions, or one without rounds; expected at least one round in each")
    return tuple(sessions[0]) if len(sessions) == 1 else tuple([mean(each) for each in sessions])


def critical_t(n: int, design: Literal["fixed", "extended", "judged"]) -> float:
    """Return the t by which a standard error is multiplied, for n independent values; n at least 2."""
    return t_quantile(_SHARE[design], n - 1)


def mean_interval(sessions: Sequence[Sequence[float]], *, extended: bool = False) -> Interval | None:
    """Return the 95 % interval of the mean, or None where a single round gives none.

    Args:
        sessions: Values of the rounds of each session; none empty.
        extended: Whether rounds were added because the interval was too wide.
    """
    values = units(sessions)
    deviation = stdev(values)
    if deviation is None:
        return None
    half_width = (
        critical_t(len(values), "extended" if extended else "fixed") * deviation / math.sqrt(len(values))
    )
    return Interval(mean(values), half_width, "t_rounds" if len(sessions) == 1 else "t_sessions", len(values))
