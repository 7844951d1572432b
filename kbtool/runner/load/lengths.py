"""Lengths by stated distributions, seeded."""

import math
from dataclasses import dataclass
from typing import Final, assert_never

from kbtool.errors import UsageError
from kbtool.runner.prompts import Draws

__all__ = ["FixedLength", "Length", "LognormalLength", "UniformLength", "draw_length", "longest"]


@dataclass(frozen=True, slots=True)
class FixedLength:
    """Always the same."""

    tok: int


@dataclass(frozen=True, slots=True)
class UniformLength:
    """Every whole number from low to high is as likely as any other."""

    low_tok: int
    high_tok: int


@dataclass(frozen=True, slots=True)
class LognormalLength:
    """The logarithm is normally distributed, as lengths of real requests about are; drawn again outside the limits."""

    median_tok: int
    sigma: float
    """Standard deviation of the natural logarithm: 1 is usual for chat."""
    low_tok: int
    high_tok: int


Length = FixedLength | UniformLength | LognormalLength

_MOST_TRIES: Final = 1000


def draw_length(length: Length, draws: Draws) -> int:
    """Return a length in tokens, at least 1.

    Raises:
        UsageError: The limits hold next to nothing of the distribution.
    """
    match length:
        case FixedLength():
            return max(1, length.tok)
        case UniformLength():
            return max(1, draws.between(length.low_tok, length.high_tok))
        case LognormalLength():
            for _ in range(_MOST_TRIES):
                tok = round(length.median_tok * math.exp(length.sigma * draws.normal()))
                if max(1, length.low_tok) <= tok <= length.high_tok:
                    return tok
            raise UsageError(
                f"lognormal length: none of {_MOST_TRIES} draws with median {length.median_tok} lies between "
                f"{length.low_tok} and {length.high_tok} tokens: widen the limits"
            )
        case _:
            assert_never(length)


def longest(length: Length) -> int:
    """Return the longest that can be drawn, in tokens."""
    return length.tok if isinstance(length, FixedLength) else length.high_tok
