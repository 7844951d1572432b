"""Seeded draws that are the same on every machine and in every version of Python.

Bits come from SHAKE-128 (FIPS 202) over a key that names what they are for; Python's own generator promises
stability for a part of its methods alone, and `hash()` differs from process to process.  Whole numbers, choices and
`unit` are exact everywhere.  `exponential`, `normal` and `gamma` go through the C library's logarithm, which may
differ in the last bit: what is made of them is rounded to whole tokens or nanoseconds.
"""

import hashlib
import math
import struct
from collections.abc import Iterator, Sequence
from statistics import NormalDist
from typing import Final, TypeVar

__all__ = ["Draws", "key_of", "random_bytes"]

T = TypeVar("T")

_FIRST_BLOCK_BYTES: Final = 1 << 11
_LARGEST_BLOCK_BYTES: Final = 1 << 19
_BITS_OF_DOUBLE: Final = 53
_NORMAL: Final = NormalDist()


def key_of(*parts: str | int) -> bytes:
    """Return a key of 16 bytes for what the parts name together; no two lists of parts share one.

    Each part carries its type and length, so that ("a", "bc") and ("ab", "c"), or 1 and "1", differ.
    """
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        raw = str(part).encode()
        kind = b"i" if isinstance(part, int) else b"s"
        digest.update(b"%b%d:%b" % (kind, len(raw), raw))
    return digest.digest()


def random_bytes(key: bytes, n_bytes: int) -> bytes:
    """Return that many bytes that look random and follow from the key alone."""
    return hashlib.shake_128(b"bytes" + key).digest(n_bytes)


def _numbers(key: bytes) -> Iterator[int]:
    """Yield 64-bit numbers without end, in blocks that grow: a short text should not pay for a long one."""
    size = _FIRST_BLOCK_BYTES
    block = 0
    while True:
        raw = hashlib.shake_128(b"draws" + key + block.to_bytes(8, "little")).digest(size)
        yield from struct.unpack(f"<{size // 8}Q", raw)
        block += 1
        size = min(size * 2, _LARGEST_BLOCK_BYTES)


class Draws:
    """An endless series of draws that follows from its name.

    Two series with different names are independent of each other, so that one more draw in one place changes
    nothing elsewhere.
    """

    __slots__ = ("_next",)

    def __init__(self, *parts: str | int) -> None:
        """Start the series that the parts name: a seed, then words that say what it is for."""
        self._next = _numbers(key_of(*parts)).__next__

    def below(self, n: int) -> int:
        """Return a whole number from 0 to n - 1; the bias is under n / 2**64."""
        return (self._next() * n) >> 64

    def between(self, low: int, high: int) -> int:
        """Return a whole number from low to high, both included."""
        return low + self.below(high - low + 1)

    def pick(self, options: Sequence[T]) -> T:
        """Return one of the options."""
        return options[(self._next() * len(options)) >> 64]

    def sample(self, options: Sequence[T], n: int) -> list[T]:
        """Return n different ones of the options, in random order; all of them if there are fewer."""
        rest = list(options)
        return [rest.pop(self.below(len(rest))) for _ in range(min(n, len(rest)))]

    def chance(self, ratio: float) -> bool:
        """Return True in that share of all draws."""
        return self.unit() < ratio

    def unit(self) -> float:
        """Return a number from 0 (included) to 1 (excluded)."""
        return (self._next() >> (64 - _BITS_OF_DOUBLE)) * 2.0**-_BITS_OF_DOUBLE

    def exponential(self) -> float:
        """Return a waiting time with mean 1, as between arrivals of a Poisson process."""
        return -math.log1p(-self.unit())

    def normal(self) -> float:
        """Return a number of the standard normal distribution."""
        return _NORMAL.inv_cdf((self._next() + 1) / (2**64 + 1))

    def gamma(self, shape: float) -> float:
        """Return a waiting time with mean 1 and squared coefficient of variation 1 / shape (Marsaglia and Tsang).

        Args:
            shape: Above 0. 1 is the exponential distribution; below 1 arrivals come in bursts, above 1 they are
                more even than those of a Poisson process.
        """
        if shape < 1:
            # Gamma(a) is Gamma(a + 1) * U**(1/a); the scale makes the mean 1 in both.
            boosted = self.gamma(shape + 1) * (shape + 1)
            return boosted * math.pow(1.0 - self.unit(), 1.0 / shape) / shape
        d = shape - 1.0 / 3.0
        c = 1.0 / math.sqrt(9.0 * d)
        while True:
            x = self.normal()
            v = (1.0 + c * x) * (1.0 + c * x) * (1.0 + c * x)
            if v > 0 and math.log(1.0 - self.unit()) < 0.5 * x * x + d - d * v + d * math.log(v):
                return float(d * v / shape)
