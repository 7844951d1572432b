"""Numbers that know what they measure: adding tokens per second to tokens per second per accelerator is an error.

A dimension is a product of powers of bases. Time, tokens, bytes, operations, energy and money are bases, and so are the
things that a figure may be *per*: accelerator, instance, user, request, step. Output tokens, input tokens and both together
are three bases that do not mix, because a published total of the two once passed for output.

    >>> throughput = quantity("653", "tok[output]/s")
    >>> throughput / quantity(8, "accelerator")
    Quantity(81.625 tok[output]/s/accelerator)
"""

import re
from collections.abc import Mapping
from decimal import Decimal
from functools import cache, lru_cache
from typing import Final

from kbtool.vocab.metrics import Metric

__all__ = ["DimensionError", "Quantity", "of_metric", "quantity", "unit_of"]


class DimensionError(TypeError):
    """Two quantities were added, compared or converted that measure different things: a fault of the formula."""


Powers = tuple[tuple[str, int], ...]
"""Base -> power, sorted by base; no power is 0."""

_BASES: Final[Mapping[str, tuple[str, str]]] = {
    "s": ("1", "s"), "ms": ("0.001", "s"), "ns": ("0.000000001", "s"), "h": ("3600", "s"),
    "tok": ("1", "tok"), "tok[output]": ("1", "tok[output]"), "tok[input]": ("1", "tok[input]"),
    "tok[both]": ("1", "tok[both]"), "Mtok[output]": ("1000000", "tok[output]"), "Mtok[both]": ("1000000", "tok[both]"),
    "Mtok[input]": ("1000000", "tok[input]"), "Mtok": ("1000000", "tok"),
    "B": ("1", "B"), "GB": ("1000000000", "B"), "GiB": ("1073741824", "B"),
    "op": ("1", "op"), "TOP": ("1000000000000", "op"),
    "J": ("1", "J"), "USD": ("1", "USD"),
    "req": ("1", "req"), "samples": ("1", "samples"), "step": ("1", "step"), "count": ("1", ""), "ratio": ("1", ""),
    "accelerator": ("1", "accelerator"), "instance": ("1", "instance"), "user": ("1", "user"),
    "request": ("1", "request"), "param": ("1", "param"),
}  # fmt: skip
"""Symbol -> factor to the base, and the base; a pure number has none."""
_COMPOUNDS: Final[Mapping[str, str]] = {"W": "J/s", "TFLOPS": "TOP/s", "TOPS": "TOP/s"}
_TOKENS: Final = {
    "output": "tok[output]",
    "input": "tok[input]",
    "input_and_output": "tok[both]",
    "none": "tok",
}
_PER: Final = {"accelerator": "/accelerator", "instance": "/instance", "user": "/user", "request": "/request"}
_SCOPED: Final = frozenset({"tok/s", "req/s", "samples/s", "W"})
"""Units of rates, which belong to somebody; a time or a share is nobody's."""


class Quantity:
    """A number and what it measures, in bases: seconds, bytes, joules. It is never changed."""

    __slots__ = ("base_value", "powers")

    def __init__(self, base_value: Decimal, powers: Powers) -> None:
        """Take a number in bases, and the bases; `quantity` takes any unit."""
        self.base_value: Final = base_value
        self.powers: Final = powers

    def __eq__(self, other: object) -> bool:
        """Return whether both are the same number of the same thing."""
        return isinstance(other, Quantity) and (self.base_value, self.powers) == (
            other.base_value,
            other.powers,
        )

    def __hash__(self) -> int:
        """Return a hash that equal quantities share."""
        return hash((self.base_value, self.powers))

    def __add__(self, other: "Quantity") -> "Quantity":
        """Return the sum; both measure the same."""
        self._alike(other, "added to")
        return Quantity(self.base_value + other.base_value, self.powers)

    def __sub__(self, other: "Quantity") -> "Quantity":
        """Return the difference; both measure the same."""
        self._alike(other, "compared with")
        return Quantity(self.base_value - other.base_value, self.powers)

    def __mul__(self, other: "Quantity | Decimal | int") -> "Quantity":
        """Return the product."""
        if isinstance(other, Quantity):
            return Quantity(self.base_value * other.base_value, _times(self.powers, other.powers, 1))
        return Quantity(self.base_value * other, self.powers)

    __rmul__ = __mul__

    def __truediv__(self, other: "Quantity | Decimal | int") -> "Quantity":
        """Return the quotient.

        Raises:
            ZeroDivisionError: The divisor is 0.
        """
        if isinstance(other, Quantity):
            divisor, powers = other.base_value, _times(self.powers, other.powers, -1)
        else:
            divisor, powers = Decimal(other), self.powers
        if not divisor:
            raise ZeroDivisionError(f"{self} divided by 0")
        return Quantity(self.base_value / divisor, powers)

    def __lt__(self, other: "Quantity") -> bool:
        """Return whether it is less; both measure the same."""
        self._alike(other, "compared with")
        return self.base_value < other.base_value

    def __gt__(self, other: "Quantity") -> bool:
        """Return whether it is more; both measure the same."""
        return other < self

    def to(self, unit: str) -> Decimal:
        """Return the number in a unit such as `GB/s`.

        Raises:
            DimensionError: It does not measure that.
        """
        factor, powers = _read(unit)
        if powers != self.powers:
            raise DimensionError(f"{self} is not in {unit}")
        return self.base_value / factor

    def share_of(self, whole: "Quantity") -> Decimal:
        """Return how large a share of another quantity it is; both measure the same."""
        self._alike(whole, "held against")
        return (self / whole).base_value

    def __repr__(self) -> str:
        """Return the number with its bases."""
        return f"Quantity({self})"

    def __str__(self) -> str:
        """Return the number with its bases, such as `81.625 tok[output]/s/accelerator`."""
        over = [_power(base, power) for base, power in self.powers if power > 0]
        under = [_power(base, -power) for base, power in self.powers if power < 0]
        text = "·".join(over) + "".join(f"/{each}" for each in sorted(under, key=lambda each: each != "s"))
        return f"{self.base_value:f} {text}".rstrip()

    def _alike(self, other: "Quantity", verb: str) -> None:
        if self.powers != other.powers:
            raise DimensionError(f"{self} cannot be {verb} {other}: they measure different things")


def quantity(value: Decimal | int | str, unit: str) -> Quantity:
    """Return a number with a unit: symbols of `_BASES`, joined by `*` and `/`.

    Raises:
        ValueError: There is no such unit.
    """
    factor, powers = _read(unit)
    return Quantity(Decimal(value) * factor, powers)


def of_metric(metric: Metric, value: Decimal) -> Quantity:
    """Return a figure with all that its metric says of it: unit, tokens counted, and whose rate it is."""
    return quantity(value, unit_of(metric))


def unit_of(metric: Metric) -> str:
    """Return the unit of a metric's figures with tokens and scope, such as `tok[output]/s/accelerator`."""
    unit = re.sub(r"\btok\b", _TOKENS[metric.tokens], metric.unit)
    return unit + (_PER.get(metric.scope, "") if metric.unit in _SCOPED else "")


@cache
def _read(unit: str) -> tuple[Decimal, Powers]:
    factor, powers = Decimal(1), dict[str, int]()
    sign = 1
    for part in re.findall(r"[*/]|[^*/]+", unit):
        if part in "*/":
            sign = 1 if part == "*" else -1
            continue
        inner, base_powers = _symbol(part)
        factor = factor * inner if sign > 0 else factor / inner
        for base, power in base_powers:
            powers[base] = powers.get(base, 0) + sign * power
    return factor, _sorted(powers)


def _symbol(symbol: str) -> tuple[Decimal, Powers]:
    if symbol in _COMPOUNDS:
        return _read(_COMPOUNDS[symbol])
    if symbol not in _BASES:
        raise ValueError(f"there is no unit {symbol!r}")
    factor, base = _BASES[symbol]
    return Decimal(factor), ((base, 1),) if base else ()


@lru_cache(maxsize=1024)
def _times(one: Powers, other: Powers, sign: int) -> Powers:
    found = dict(one)
    for base, power in other:
        found[base] = found.get(base, 0) + sign * power
    return _sorted(found)


def _sorted(powers: Mapping[str, int]) -> Powers:
    return tuple(sorted((base, power) for base, power in powers.items() if power))


def _power(base: str, power: int) -> str:
    return base if power == 1 else f"{base}^{power}"
