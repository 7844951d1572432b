"""Draws: the same on every machine, and distributed as they say."""

import subprocess
import sys
from statistics import fmean, pvariance

import pytest

from kbtool.runner.prompts import Draws
from kbtool.runner.prompts.draws import key_of, random_bytes


def test_draws_are_pinned() -> None:
    """A seed gives these numbers for ever: a change of them changes every prompt."""
    draws = Draws(7, "pinned")
    assert [draws.below(1000) for _ in range(6)] == [76, 228, 345, 277, 632, 855]
    assert random_bytes(key_of(7, "pinned"), 6).hex() == "c23fb8bab8ab"


def test_draws_do_not_depend_on_the_hash_seed() -> None:
    """Another process with another hash seed draws the same."""
    code = (
        "from kbtool.runner.prompts import Draws; d = Draws('a', 1); print([d.below(99) for _ in range(9)])"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


def test_keys_tell_parts_apart() -> None:
    """Parts that run together to the same text, or differ in type, have different keys."""
    assert len({key_of("ab", "c"), key_of("a", "bc"), key_of("abc"), key_of(1), key_of("1")}) == 5


def test_draws_run_past_their_first_block() -> None:
    """No draw comes again when a block is used up."""
    draws = Draws("blocks")
    assert len({draws.below(1 << 60) for _ in range(5000)}) == 5000


def test_between_reaches_both_ends() -> None:
    """Both limits are drawn, and nothing beyond them."""
    draws = Draws("ends")
    assert {draws.between(3, 5) for _ in range(200)} == {3, 4, 5}


def test_sample_holds_different_options() -> None:
    """No option comes twice, and no more than there are."""
    assert sorted(Draws("s").sample("abcd", 9)) == ["a", "b", "c", "d"]


@pytest.mark.parametrize("shape", [0.25, 0.5, 1.0, 2.0, 16.0])
def test_gamma_has_mean_one_and_the_variance_of_its_shape(shape: float) -> None:
    """Gaps have mean 1 and variance 1 / shape, bursty or even."""
    draws = Draws("gamma", str(shape))
    gaps = [draws.gamma(shape) for _ in range(40_000)]
    assert fmean(gaps) == pytest.approx(1, rel=0.04)
    assert pvariance(gaps) == pytest.approx(1 / shape, rel=0.1)
    assert min(gaps) >= 0


def test_exponential_and_normal_have_their_moments() -> None:
    """Waiting times have mean and variance 1; normal draws mean 0 and variance 1."""
    draws = Draws("moments")
    gaps = [draws.exponential() for _ in range(20_000)]
    normal = [draws.normal() for _ in range(20_000)]
    assert (fmean(gaps), pvariance(gaps)) == pytest.approx((1, 1), rel=0.05)
    assert fmean(normal) == pytest.approx(0, abs=0.03)
    assert pvariance(normal) == pytest.approx(1, rel=0.05)
