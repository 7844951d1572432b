"""Lengths as sources round them: `128K`, `~8,482`, `4.7K`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Final

__all__ = ["Length", "read_nominal"]

_NOMINAL: Final = re.compile(
    r"[^0-9]{0,10}([0-9][0-9,]{0,12}(?:\.[0-9]{1,3})?)\s?([kKmM])?(?:\s?(?:tok|tokens))?"
)
_UNITS: Final = {"k": (1000, 1024), "m": (1000**2, 1024**2)}


@dataclass(frozen=True, slots=True)
class Length:
    """A length in tokens, and how it was read."""

    tok: int
    why: str


def read_nominal(text: str, exact: Sequence[int] = ()) -> Length | None:
    """Return the tokens that a rounded length stands for, or None where it cannot be read.

    A power of two before `K` or `M` is taken in units of 1,024, as engines count contexts; any other number in units
    of 1,000.  One exact length in the same record that rounds to it goes before either.

    Args:
        text: Such as `128K`.
        exact: Exact lengths that the same record states.
    """
    match = _NOMINAL.fullmatch(text.strip())
    if match is None:
        return None
    number, unit = Decimal(match.group(1).replace(",", "")), match.group(2)
    if unit is None:
        whole = int(number)
        return Length(whole, "the number as printed") if whole and whole == number else None
    thousand, binary = _UNITS[unit.lower()]
    known = {each for each in exact if _rounds_to(each, number, thousand) or _rounds_to(each, number, binary)}
    if len(known) == 1:
        return Length(known.pop(), f"the one exact length of the record that rounds to {text}")
    if number == int(number) and int(number).bit_count() == 1:
        return Length(int(number) * binary, f"a power of two in units of {binary:,}, not of {thousand:,}")
    return Length(int(number * thousand), f"in units of {thousand:,}, not of {binary:,}") if number else None


def _rounds_to(exact: int, number: Decimal, unit: int) -> bool:
    """Return whether an exact length, in the unit and with the digits printed, is this number."""
    return (Decimal(exact) / unit).quantize(number, ROUND_HALF_UP) == number
