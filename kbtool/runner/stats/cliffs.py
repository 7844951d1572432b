"""Cliffs: throughput that falls, instead of levelling off, as concurrency rises.

A cell is a cliff if its throughput is below (1 - max(10 %, 3 x variation)) of the best at lower concurrency.

Two choices keep noise from making cliffs.  The variation is that of all cells of the sweep together, since three
rounds alone tell little of theirs.  And "the best" is the mean of those lower cells that cannot be told from the
highest (within two standard errors): the highest of many equal cells is high by luck.

Simulated with 12 cells of 3 rounds and a variation of 2.4 % (`tests/runner/stats/test_cliffs.py`): a fall of 15 %
is found in at least 98 % of sweeps, a lasting one of 5 % is called a cliff in at most 3 %, none in none.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kbtool.runner.stats.samples import mean

__all__ = ["Cliff", "bisect_next", "find_cliffs", "pooled_variation_ratio"]

_LEAST_FALL_RATIO: Final = 0.10
_DEVIATIONS: Final = 3.0
_SEVERE_RATIO: Final = 0.70
_SAME_ERRORS: Final = 2.0


@dataclass(frozen=True, slots=True)
class Cliff:
    """One fall of throughput."""

    last_good: int
    """Highest lower concurrency that is not past the cliff."""
    first_bad: int
    """Concurrency of the cell that fell."""
    ratio: float
    """Its throughput / the best at lower concurrency."""

    @property
    def severe(self) -> bool:
        """Whether more than 30 % is lost."""
        return self.ratio < _SEVERE_RATIO


def pooled_variation_ratio(cells: Sequence[Sequence[float]]) -> float | None:
    """Return the standard deviation of rounds around their cell's mean, as a share of it, over all cells.

    Returns:
        None where no cell has 2 rounds.
    """
    freedom = sum([len(each) - 1 for each in cells if each])
    if freedom < 1:
        return None
    squares = [(value / mean(each) - 1) ** 2 for each in cells if each for value in each]
    return math.sqrt(math.fsum(squares) / freedom)


def find_cliffs(sweep: Mapping[int, Sequence[float]]) -> tuple[Cliff, ...]:
    """Return the cliffs of a sweep, lowest concurrency first; cells past a cliff are not reported again.

    A cell past a cliff counts as recovered, and later ones may fall anew, once it is good again.

    Args:
        sweep: Concurrency -> output throughput of each round, all above 0.
    """
    cells = [(concurrency, list(sweep[concurrency])) for concurrency in sorted(sweep) if sweep[concurrency]]
    variation = pooled_variation_ratio([rounds for _, rounds in cells]) or 0.0
    limit = 1 - max(_LEAST_FALL_RATIO, _DEVIATIONS * variation)
    cliffs: list[Cliff] = []
    lower: list[tuple[float, int]] = []
    last_good: int | None = None
    fallen = False
    for concurrency, rounds in cells:
        reached = mean(rounds)
        ratio = reached / _best(lower, variation) if lower else 1.0
        if ratio >= limit:
            last_good, fallen = concurrency, False
        elif not fallen and last_good is not None:
            cliffs.append(Cliff(last_good, concurrency, ratio))
            fallen = True
        lower.append((reached, len(rounds)))
    return tuple(cliffs)


def bisect_next(cliff: Cliff) -> int | None:
    """Return the concurrency to measure next to narrow the cliff down, or None where it is exact."""
    middle = (cliff.last_good + cliff.first_bad) // 2
    return middle if cliff.last_good < middle < cliff.first_bad else None


def _best(lower: Sequence[tuple[float, int]], variation: float) -> float:
    """Return the mean of the cells that cannot be told from the highest one."""
    highest, rounds = max(lower)
    floor = highest * (1 - _SAME_ERRORS * variation / math.sqrt(rounds))
    return mean([reached for reached, _ in lower if reached >= floor])
