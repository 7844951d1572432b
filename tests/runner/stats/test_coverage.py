"""What the 95 % interval covers, measured on sessions with a known truth and 2.4 % variation."""

import random
from collections.abc import Sequence

import pytest

from kbtool.runner.stats.bootstrap import bootstrap_interval
from kbtool.runner.stats.extension import extension
from kbtool.runner.stats.intervals import mean_interval
from tests.runner.stats.synthetic import TRUTH, VARIATION, sessions

_TRIALS = 4_000


def _covers(data: Sequence[Sequence[float]], *, extended: bool = False) -> bool:
    interval = mean_interval(data, extended=extended)
    assert interval is not None
    return interval.low <= TRUTH <= interval.high


@pytest.mark.parametrize(
    ("count", "rounds", "between_share"),
    [
        *[(3, 3, share) for share in (0.0, 0.5, 1.0)],
        *[(6, 3, share) for share in (0.0, 0.5, 1.0)],
        (2, 3, 0.5),
        (3, 5, 0.5),
        (10, 3, 0.5),
        (1, 3, 0.0),
        (1, 5, 0.0),
    ],
)
def test_interval_covers_the_truth_in_93_to_97_percent(count: int, rounds: int, between_share: float) -> None:
    """Whatever part of the variation lies between sessions; for one session, where none does."""
    generator = random.Random(20_240_229 + 100 * count + rounds)
    hits = sum(
        _covers(sessions(generator, count=count, rounds=rounds, between_share=between_share))
        for _ in range(_TRIALS)
    )
    assert 0.93 <= hits / _TRIALS <= 0.97


def test_one_session_says_nothing_of_the_next() -> None:
    """With half of the variance between sessions, one session's interval misses far too often: hence the warning."""
    generator = random.Random(7)
    hits = sum(_covers(sessions(generator, count=1, rounds=5, between_share=0.5)) for _ in range(_TRIALS))
    assert hits / _TRIALS < 0.85


def test_bootstrap_of_few_sessions_covers_too_little() -> None:
    """This is why published intervals are not the bootstrap's."""
    generator = random.Random(8)
    trials = 400
    hits = 0
    for _ in range(trials):
        low, high = bootstrap_interval(sessions(generator, count=3, rounds=3, between_share=0.5), draws=1_000)
        hits += low <= TRUTH <= high
    assert 0.70 <= hits / trials <= 0.90


@pytest.mark.parametrize(
    ("start", "asked_ratio"), [(3, 0.05), (3, 0.03), (3, 0.02), (5, 0.05), (5, 0.03), (5, 0.02), (5, 0.01)]
)
def test_cells_that_are_measured_until_narrow_are_covered_too(start: int, asked_ratio: float) -> None:
    """Stopping once the interval is narrow is allowed for: those that stop at once and those that go on together."""
    generator = random.Random(9 + start)
    trials = 2_000
    hits = 0
    for _ in range(trials):
        rounds = [TRUTH * generator.gauss(1, VARIATION) for _ in range(start)]
        while (step := extension([rounds], asked_ratio=asked_ratio, at_least=start)).state == "go_on":
            rounds += [TRUTH * generator.gauss(1, VARIATION) for _ in range(step.more)]
        hits += _covers([rounds], extended=len(rounds) > start)
    assert 0.93 <= hits / trials <= 0.975
