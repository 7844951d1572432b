r"""Numbers as records write them: exact decimals, one spelling for each value and precision.

A number is written in full, `-?(0|[1-9][0-9]*)(\.[0-9]+)?`, never as `1e6`, `.5`, `+5`, `1_000`,
`012` or `-0`: readers of YAML, JSON and CSV disagree about those. Its digits are part of the
evidence (`0.10` is not `0.1`), so that a fraction becomes a `Decimal`, which keeps them.

The limits keep a number exact in a reader that has only 64-bit floats, such as JavaScript:
a float tells any two numbers of 15 significant digits apart.
"""

import re
from decimal import Decimal
from typing import Final

__all__ = ["MAX_DECIMALS", "MAX_DIGITS", "exact_number", "number_text", "parse_number"]

MAX_DIGITS: Final = 15
"""Significant digits; leading zeros are not counted, trailing ones are."""
MAX_DECIMALS: Final = 9
"""Digits after the decimal point."""

_NUMBER: Final = re.compile(r"(?!-[0.]*\Z)-?(0|[1-9][0-9]*)(?:\.([0-9]+))?")


def exact_number(text: str) -> int | Decimal | None:
    """Return the number that `text` writes, or None where `text` is not a number in full.

    Whole numbers become `int`, numbers with a fraction `Decimal`; `number_text` is the inverse.

    Raises:
        ValueError: It is a number, but has more digits than the limits allow.
    """
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    whole, fraction = match.groups()
    if len(text) > MAX_DECIMALS:  # a shorter text cannot break a limit
        _check_limits(whole, fraction or "")
    return int(text) if fraction is None else Decimal(text)


def parse_number(text: str) -> int | Decimal:
    """Return the number that `text` writes.

    Raises:
        ValueError: `text` is not a number in full, or has too many digits; the message says
            what was found, what is expected, and what to do.
    """
    number = exact_number(text)
    if number is None:
        found = text if len(text) <= 40 else f"{text[:40]}..."
        raise ValueError(
            f"`{found}` is not a number; expected digits with at most one decimal point, such as"
            " 6853 or 0.10: write it in full, without separators, units, signs of approximation or exponents"
        )
    return number


def number_text(number: int | Decimal) -> str:
    """Return the text of a number, digit for digit: the exact inverse of `parse_number`.

    A whole number held as `Decimal` is written like the `int` that it equals.

    Raises:
        TypeError: It is not an `int` or a `Decimal`; a float has no digits of its own to keep.
        ValueError: No text reads back as this number: it is infinite, not a number, minus zero,
            in exponent form or beyond the limits.
    """
    if type(number) is int:
        text = str(number) if abs(number) < 10**MAX_DIGITS else ""
    elif type(number) is Decimal:
        exponent = number.as_tuple().exponent
        # Written out, a large exponent would be as many digits.
        text = f"{number:f}" if isinstance(exponent, int) and -MAX_DECIMALS <= exponent <= 0 else ""
    else:
        raise TypeError(f"expected int or Decimal, found {type(number).__name__}")
    if exact_number(text) is None:
        raise ValueError(
            f"{_shown(number)} cannot be written exactly; expected a finite number of at most {MAX_DIGITS}"
            f" digits and {MAX_DECIMALS} decimals: round it to the digits that were measured"
        )
    return text


def _check_limits(whole: str, fraction: str) -> None:
    """Refuse more digits than a reader with floats keeps apart."""
    digits = len((whole + fraction).lstrip("0"))
    if digits > MAX_DIGITS:
        raise ValueError(
            f"a number of {digits} digits; expected at most {MAX_DIGITS}, because readers that know only floats"
            " change the rest: round it to what was measured, or quote it if it is text"
        )
    if len(fraction) > MAX_DECIMALS:
        raise ValueError(
            f"a number of {len(fraction)} decimals; expected at most {MAX_DECIMALS}:"
            " round it to what was measured, or quote it if it is text"
        )


def _shown(number: int | Decimal) -> str:
    """Return a short text of any number, however many digits it has."""
    if isinstance(number, int):
        return f"a whole number of {number.bit_length()} bits"
    text = str(number)
    return text if len(text) <= 40 else f"a number of {len(text)} characters"
