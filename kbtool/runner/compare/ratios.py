"""Ratios of B to A: paired by session, or of two independent groups, and what may be claimed from them.

Unpaired, a ratio rests on Welch's t test of the logarithms, and a difference below 5 % is never claimed: the
machine itself may have changed in between, which pairs cancel and groups do not.  5 % is twice the variation of
identical runs with speculative decoding.  Rounds of single starts say nothing of how starts differ: there nothing
below 10 % is claimed, three times what two starts of equal settings differ by.
"""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from kbtool.runner.compare.figures import SessionValue
from kbtool.runner.compare.model import Claimed, Strength
from kbtool.runner.stats import (
    Block,
    Claim,
    PairedRatio,
    claims,
    mean,
    paired_ratio,
    stdev,
    t_quantile,
    t_two_sided_p,
)
from kbtool.vocab.metrics import METRICS

__all__ = ["DRAWS", "NOISE_RATIOS", "Made", "claimed", "order_of", "paired", "pairs_of", "unpaired_ratio"]

DRAWS: Final = 2_000
"""Of the bootstrap, a second opinion beside the t test."""
NOISE_RATIOS: Final[Mapping[Strength, float]] = {"paired": 0.0, "unpaired": 0.05, "these_starts": 0.10}
"""Differences up to these are never claimed, by what the ratio rests on."""
_SEED: Final = 20_261_130
_REASONS: Final = {
    "shown": "shown",
    "not_significant": "the difference is within what chance gives",
    "too_few_pairs": "a difference below 3 % takes at least 11 pairs of sessions",
    "within_noise": "the difference is within the noise of the machine",
}


@dataclass(frozen=True, slots=True)
class Made:
    """One ratio before its claim is known."""

    metric: str
    ratio: PairedRatio
    strength: Strength
    noise_ratio: float = 0.0
    """What equal settings differed by, measured beside it."""


def order_of(a: Sequence[SessionValue], b: Sequence[SessionValue]) -> str:
    """Return the order of the sessions of two runs, such as `ABBA`; empty where any two overlapped."""
    tagged = sorted(
        [*((each, "A") for each in a), *((each, "B") for each in b)], key=lambda each: each[0].start_ns
    )
    overlap = any(one.end_ns > two.start_ns for (one, _), (two, _) in pairwise(tagged))
    return "" if overlap else "".join(side for _, side in tagged)


def pairs_of(a: Sequence[SessionValue], b: Sequence[SessionValue]) -> tuple[Block, ...]:
    """Return neighbouring sessions of A and B as pairs, or none where they did not alternate evenly.

    Each pair holds one session of either, and A goes first as often as B, give or take one: a steady drift then
    weighs on both alike.
    """
    order = order_of(a, b)
    couples = [order[at : at + 2] for at in range(0, len(order), 2)]
    if len(couples) < 2 or not set(couples) <= {"AB", "BA"}:
        return ()
    if abs(couples.count("AB") - couples.count("BA")) > 1:
        return ()
    return tuple(Block((math.exp(one.log),), (math.exp(two.log),)) for one, two in zip(a, b, strict=True))


def unpaired_ratio(a: Sequence[float], b: Sequence[float], *, draws: int = DRAWS) -> PairedRatio:
    """Return B / A of two independent groups of logarithms, each of at least one value."""
    difference = mean(b) - mean(a)
    spread_a, spread_b = stdev(a), stdev(b)
    if spread_a is None or spread_b is None:
        return PairedRatio(math.exp(difference), 0.0, math.inf, 0.0, math.inf, 1.0, min(len(a), len(b)), 0)
    part_a, part_b = spread_a**2 / len(a), spread_b**2 / len(b)
    error = math.sqrt(part_a + part_b)
    if error == 0:
        reach, p = 0.0, 1.0 if difference == 0 else 0.0
    else:
        freedom = (part_a + part_b) ** 2 / (part_a**2 / (len(a) - 1) + part_b**2 / (len(b) - 1))
        reach = t_quantile(0.975, freedom) * error
        p = t_two_sided_p(difference / error, freedom)
    low, high = _redrawn(a, b, draws)
    return PairedRatio(
        math.exp(difference), math.exp(difference - reach), math.exp(difference + reach), low, high, p,
        n_blocks=min(len(a), len(b)), n_pairs=0,
    )  # fmt: skip


def paired(blocks: Sequence[Block], *, draws: int = DRAWS) -> PairedRatio:
    """Return B / A over pairs."""
    return paired_ratio(blocks, draws=draws)


def claimed(made: Sequence[Made], noise_ratio: float) -> tuple[tuple[Claimed, str, float], ...]:
    """Return claim, reason and corrected p of each ratio, corrected over all of them together."""
    found = []
    everything = claims([each.ratio for each in made])
    for at, each in enumerate(made):
        noise = max(noise_ratio, each.noise_ratio, NOISE_RATIOS[each.strength])
        claim = everything[at]
        if claim.difference and abs(each.ratio.ratio - 1) <= noise:
            claim = replace(claim, reason="within_noise")
        found.append((_word(each, claim), _REASONS[claim.reason], claim.p_holm))
    return tuple(found)


def _word(made: Made, claim: Claim) -> Claimed:
    if not claim.difference:
        return "no difference shown"
    more_is_faster = METRICS[made.metric].direction != "lower"
    return "faster" if (made.ratio.ratio > 1) == more_is_faster else "slower"


def _redrawn(a: Sequence[float], b: Sequence[float], draws: int) -> tuple[float, float]:
    """Return the bootstrap interval of the ratio."""
    generator = random.Random(_SEED)  # repeatable on purpose, no secret
    drawn = sorted(
        mean(generator.choices(b, k=len(b))) - mean(generator.choices(a, k=len(a))) for _ in range(draws)
    )
    outside = round(draws * 0.025)
    return math.exp(drawn[outside]), math.exp(drawn[draws - 1 - outside])
