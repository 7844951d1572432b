"""Measure what the runner's statistics do with made-up sessions of 2.4 % variation whose truth is known.

The simulations of `tests/runner/stats`, with other seeds and more trials.

Usage: python -m benchmarks.runner_statistics [TRIALS]
"""

import random
import sys
import time
from collections.abc import Sequence
from typing import Final

from kbtool.runner.stats.cliffs import find_cliffs
from kbtool.runner.stats.extension import extension
from kbtool.runner.stats.intervals import mean_interval
from kbtool.runner.stats.pairs import Block, abba_order, claims, paired_ratio
from tests.runner.stats.synthetic import TRUTH, VARIATION, sessions, sweep

__all__ = ["main"]

SATURATED: Final = [100.0] * 12
GROWING: Final = [min(each, 6) ** 0.8 for each in range(1, 13)]
DESIGNS: Final = ((1, 3, 0.0), (1, 5, 0.0), (3, 3, 0.0), (3, 3, 0.5), (3, 3, 1.0), (6, 3, 0.5), (10, 3, 0.5))
"""Sessions, rounds in each, and the share of the variance that lies between sessions."""


def main(arguments: Sequence[str] = ()) -> None:
    """Print a row a figure."""
    trials = int(arguments[0]) if arguments else 10_000
    begun_s = time.process_time()
    print("| figure | measured | bar |")
    print("|---|---|---|")
    for count, rounds, share in DESIGNS:
        hits = _coverage(random.Random(f"coverage {count} {rounds} {share}"), trials, (count, rounds, share))
        print(
            f"| 95 % interval covers the truth: {count} x {rounds} rounds, {share:.0%} of the variance between sessions "
            f"| {hits:.1%} | 93-97 % |"
        )
    print(
        f"| the same, extended until within 3 % | {_extended(random.Random('extended'), trials // 2):.1%} | 93-97 % |"
    )
    for blocks in (4, 6, 12):
        share = _false_alarms(random.Random(f"a/a {blocks}"), trials // 10, blocks)
        print(
            f"| A/A sweep of 12 comparisons, {blocks} blocks each, claims a difference | {share:.2%} | 5 % |"
        )
    for name, curve in (("saturated", SATURATED), ("growing", GROWING)):
        for rounds in (3, 5):
            found = _cliffs(curve, 0.85, rounds, trials, at=7)
            dipped = _cliffs(curve, 0.95, rounds, trials, at=None)
            print(f"| cliff of 15 % found, {name}, {rounds} rounds | {found:.2%} | 95 % |")
            print(f"| dip of 5 % not called a cliff, {name}, {rounds} rounds | {1 - dipped:.2%} | 95 % |")
    print(f"\n{trials} trials (A/A {trials // 10} sweeps), {time.process_time() - begun_s:.0f} s CPU")


def _coverage(generator: random.Random, trials: int, design: tuple[int, int, float]) -> float:
    count, rounds, share = design
    return (
        sum(
            _covers(sessions(generator, count=count, rounds=rounds, between_share=share))
            for _ in range(trials)
        )
        / trials
    )


def _covers(data: Sequence[Sequence[float]], *, extended: bool = False) -> bool:
    interval = mean_interval(data, extended=extended)
    assert interval is not None
    return interval.low <= TRUTH <= interval.high


def _extended(generator: random.Random, trials: int) -> float:
    """Return the cover of cells that start with 3 rounds and go on until the interval is narrow."""
    hits = 0
    for _ in range(trials):
        rounds = [TRUTH * generator.gauss(1, VARIATION) for _ in range(3)]
        while (step := extension([rounds], asked_ratio=0.03, at_least=3)).state == "go_on":
            rounds += [TRUTH * generator.gauss(1, VARIATION) for _ in range(step.more)]
        hits += _covers([rounds], extended=len(rounds) > 3)
    return hits / trials


def _false_alarms(generator: random.Random, sweeps: int, blocks: int) -> float:
    wrong = 0
    for _ in range(sweeps):
        made = [paired_ratio(_equals(generator, blocks), draws=40) for _ in range(12)]
        wrong += any(each.difference for each in claims(made))
    return wrong / sweeps


def _equals(generator: random.Random, count: int) -> list[Block]:
    """Return blocks of A against A on a machine that loses 0.2 % of its speed from leg to leg."""
    speed, blocks = TRUTH, []
    for order in abba_order(count, seed=generator.randrange(1_000_000)):
        legs: dict[str, list[float]] = {"a": [], "b": []}
        for leg in order:
            legs[leg].append(speed * generator.gauss(1, VARIATION))
            speed *= 0.998
        blocks.append(Block(tuple(legs["a"]), tuple(legs["b"])))
    return blocks


def _cliffs(curve: Sequence[float], kept: float, rounds: int, trials: int, *, at: int | None) -> float:
    """Return the share of sweeps with a cliff; with one between the right two cells, where `at` says which."""
    generator = random.Random(f"cliffs {kept} {rounds} {curve[-1]}")
    planted = [value * (kept if number > 6 else 1) for number, value in enumerate(curve, start=1)]
    hits = 0
    for _ in range(trials):
        found = find_cliffs(sweep(generator, planted, rounds=rounds))
        hits += any((each.last_good, each.first_bad) == (at - 1, at) for each in found) if at else bool(found)
    return hits / trials


if __name__ == "__main__":
    main(sys.argv[1:])
