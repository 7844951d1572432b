"""A against B: interleaved blocks, their ratios, and what may be claimed from them.

Legs alternate in blocks A B B A, so that a drift of the box at constant pace cancels in each block, and the order
of each block (or its mirror image, B A A B) is drawn.  A block gives one ratio, geometric mean of its B legs by
that of its A legs; blocks are independent of one another.

A difference is claimed only if all of these hold, and otherwise it reads "no difference shown":

* the t test of the log ratios is at most 3 % after Holm's correction over all comparisons of the sweep;
* the bootstrap interval of the ratio leaves 1 out (it is too narrow with few blocks, so it never decides alone);
* it is at least 3 %, or rests on at least 11 pairs: with the 2.4 % variation of speculative decoding, fewer
  pairs would find a difference of 3 % less than four times in five;
* it is larger than the noise floor of the box, as an A/A comparison found it, where one is known.

Simulated with 2.4 % variation (`tests/runner/stats/test_pairs.py`): a sweep of 12 comparisons of equals claims a
difference in at most 4 % of sweeps, with and without drift; 6 blocks find a difference of 10 % in over 95 %.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final, Literal

from kbtool.runner.stats.bootstrap import DRAWS, bootstrap_interval
from kbtool.runner.stats.samples import mean, stdev
from kbtool.runner.stats.student import t_quantile, t_two_sided_p

__all__ = ["Block", "Claim", "PairedRatio", "abba_order", "claims", "holm", "paired_ratio", "pairs_needed"]

Leg = Literal["a", "b"]
Reason = Literal["shown", "not_significant", "too_few_pairs", "within_noise"]

_LEVEL: Final = 0.05
"""Of intervals and of the power table."""
_CLAIM_LEVEL: Final = 0.03
"""Holm's correction uses its level up where comparisons are independent; the margin keeps what is seen in
some hundred sweeps below 5 %."""
_SMALL_RATIO: Final = 0.03
_PAIRS_FOR_SMALL: Final = 11


@dataclass(frozen=True, slots=True)
class Block:
    """Figures of the legs of one block, all above 0; as many of A as of B."""

    a: tuple[float, ...]
    b: tuple[float, ...]

    def __post_init__(self) -> None:
        """Refuse what gives no ratio."""
        if not self.a or len(self.a) != len(self.b) or min(self.a + self.b) <= 0:
            raise ValueError(
                f"block of {len(self.a)} legs of A and {len(self.b)} of B; expected as many of each, all above 0"
            )

    @property
    def log_ratio(self) -> float:
        """Logarithm of B / A."""
        return mean([math.log(each) for each in self.b]) - mean([math.log(each) for each in self.a])


@dataclass(frozen=True, slots=True)
class PairedRatio:
    """B / A over all blocks."""

    ratio: float
    """Geometric mean."""
    low: float
    """Of the 95 % interval by t on log ratios; 0 where a single block gives none."""
    high: float
    """Infinite where a single block gives none."""
    bootstrap_low: float
    bootstrap_high: float
    p: float
    """Two-sided, of the ratio being 1."""
    n_blocks: int
    n_pairs: int


@dataclass(frozen=True, slots=True)
class Claim:
    """What may be said of one comparison of a sweep."""

    comparison: PairedRatio
    p_holm: float
    """Corrected for all comparisons of the sweep."""
    reason: Reason

    @property
    def difference(self) -> bool:
        """Whether a difference may be claimed; if not, it reads "no difference shown"."""
        return self.reason == "shown"


def abba_order(n_blocks: int, seed: int) -> tuple[tuple[Leg, ...], ...]:
    """Return the order of legs: blocks of A B B A and B A A B, drawn by the seed, as near to half as can be."""
    generator = random.Random(seed)
    blocks: list[tuple[Leg, ...]] = [
        ("a", "b", "b", "a") if index % 2 else ("b", "a", "a", "b") for index in range(n_blocks)
    ]
    generator.shuffle(blocks)
    return tuple(blocks)


def paired_ratio(blocks: Sequence[Block], *, draws: int = DRAWS) -> PairedRatio:
    """Return B / A with its intervals.

    Args:
        blocks: At least one.
        draws: Of the bootstrap.

    Raises:
        ValueError: there is no block.
    """
    logs = [each.log_ratio for each in blocks]
    centre, deviation, n = mean(logs), stdev(logs), len(logs)
    pairs = sum([len(each.a) for each in blocks])
    drawn_low, drawn_high = bootstrap_interval([logs], draws=draws)
    if deviation is None:
        low, high, p = 0.0, math.inf, 1.0
    else:
        error = deviation / math.sqrt(n)
        reach = t_quantile(1 - _LEVEL / 2, n - 1) * error
        low, high = math.exp(centre - reach), math.exp(centre + reach)
        p = 1.0 if centre == 0 else t_two_sided_p(centre / error if error else math.inf, n - 1)
    return PairedRatio(
        math.exp(centre), low, high, math.exp(drawn_low), math.exp(drawn_high), p, n_blocks=n, n_pairs=pairs
    )


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return p values corrected by Holm's method, in the order given.

    Calling "difference" what is at most 5 % afterwards is wrong anywhere in at most 5 % of sweeps, whatever the
    comparisons have to do with one another.
    """
    corrected = [0.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, p_values[index] * (len(p_values) - rank)))
        corrected[index] = highest
    return tuple(corrected)


def claims(comparisons: Sequence[PairedRatio], *, noise_ratio: float = 0.0) -> tuple[Claim, ...]:
    """Return what may be said of each comparison of one sweep.

    Args:
        comparisons: All that were made, the unremarkable ones included: leaving those out undoes the correction.
        noise_ratio: Largest difference that the same box showed between A and A; 0 where not known.
    """
    corrected = holm([each.p for each in comparisons])
    return tuple(
        [
            Claim(each, p, _reason(each, p, noise_ratio))
            for each, p in zip(comparisons, corrected, strict=True)
        ]
    )


def pairs_needed(variation_ratio: float, effect_ratio: float, *, power: float = 0.8) -> int:
    """Return the pairs that find a difference of this size at the 5 % level with this chance.

    Args:
        variation_ratio: Standard deviation of one leg, as a share of its mean.
        effect_ratio: Difference to find, as a share.
        power: Chance to find it.
    """
    normal = NormalDist()
    reach = normal.inv_cdf(1 - _LEVEL / 2) + normal.inv_cdf(power)
    return max(2, math.ceil(2 * (reach * variation_ratio / effect_ratio) ** 2))


def _reason(comparison: PairedRatio, p_holm: float, noise_ratio: float) -> Reason:
    effect = abs(comparison.ratio - 1)
    if p_holm > _CLAIM_LEVEL or comparison.bootstrap_low <= 1 <= comparison.bootstrap_high:
        return "not_significant"
    if effect < _SMALL_RATIO and comparison.n_pairs < _PAIRS_FOR_SMALL:
        return "too_few_pairs"
    return "within_noise" if effect <= noise_ratio else "shown"
