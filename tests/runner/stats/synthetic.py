"""Made-up sessions with a known truth, for measuring what the statistics do with them."""

import random
from collections.abc import Sequence

__all__ = ["TRUTH", "VARIATION", "sessions", "sweep"]

TRUTH = 100.0
VARIATION = 0.024
"""Standard deviation of a round as a share of the truth: six identical runs with speculative decoding had it."""


def sessions(
    generator: random.Random, *, count: int, rounds: int, between_share: float = 0.0
) -> list[list[float]]:
    """Return the rounds of some sessions, whose total variance is that of `VARIATION`.

    Args:
        generator: Seeded.
        count: Sessions.
        rounds: In each.
        between_share: Share of the variance that is between sessions, 0 to 1.
    """
    between = VARIATION * between_share**0.5
    within = VARIATION * (1 - between_share) ** 0.5
    levels = [generator.gauss(0, between) for _ in range(count)]
    return [[TRUTH * (1 + level + generator.gauss(0, within)) for _ in range(rounds)] for level in levels]


def sweep(generator: random.Random, curve: Sequence[float], *, rounds: int) -> dict[int, list[float]]:
    """Return rounds of each cell of a sweep over concurrency 1, 2, 3, ... with these true throughputs."""
    return {
        concurrency: [truth * generator.gauss(1, VARIATION) for _ in range(rounds)]
        for concurrency, truth in enumerate(curve, start=1)
    }
