"""Numbers as sources print them: `6,853`, `~7,196 tok/s`, `143-169 ms`, `87%`, `9.5 KiB/token`, `1.8 TB/s`.

The text that a source prints (`as_published`) and the number that a record holds are written down separately.
Whether the one says the other is what finds slips of the pen: digits that changed places, a factor of 1000.
"""

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from kbtool.vocab.numbers import MAX_DECIMALS, MAX_DIGITS

__all__ = [
    "Printed",
    "agree",
    "agrees_when_rounded",
    "in_unit",
    "last_place",
    "numbers_in",
    "states",
    "thousands_removed",
]

_SEPARATORS: Final = "[,\u00a0\u2009\u202f']"
_NUMBER: Final = re.compile(
    rf"(?<![\d.])(?P<digits>\d{{1,3}}(?:{_SEPARATORS}\d{{3}})+(?![\d])(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)"
    r"(?:[eE](?P<exponent>[+-]?\d{1,3})(?![\d\w]))?"
    r"\s?(?!to\b)(?P<unit>[%\u00d7\u00b5\u03bcA-Za-z]+)?"
)
"""A number with thousands separators or without, and the word behind it. A sign is not taken: `143-169` is a range."""
_RANGE: Final = re.compile(r"\s?(?:-|\u2013|\u2212|to)\s?")
"""What stands between the two ends of a range."""
_PREFIX_POWER: Final = {"k": 1, "m": 2, "g": 3, "b": 3, "t": 4, "p": 5}
_WORD_POWER: Final = {"thousand": 1, "million": 2, "mio": 2, "billion": 3, "bn": 3, "mrd": 3, "trillion": 4}
_SCALED_UNIT: Final = re.compile(
    r"([kmgtp])(i?)(b|bps|bit|byte|bytes|tok|tokens?|w|wh|j|flops?|op|ops|hz|s)?|(b)(?:il)?", re.IGNORECASE
)
_TIME_IN_MS: Final = {
    "ns": Decimal("0.000001"), "us": Decimal("0.001"), "\u00b5s": Decimal("0.001"), "\u03bcs": Decimal("0.001"),
    "ms": Decimal(1), "s": Decimal(1000), "sec": Decimal(1000), "secs": Decimal(1000), "second": Decimal(1000),
    "seconds": Decimal(1000), "min": Decimal(60_000), "minutes": Decimal(60_000), "h": Decimal(3_600_000),
}  # fmt: skip
_LEAST_KEPT: Final = 3
"""Decimals that a rounded figure keeps at least."""
_HUNDREDTH: Final = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Printed:
    """One number in a text."""

    value: Decimal
    """The digits as a number, without the unit behind them."""
    unit: str
    """The word directly behind the number, or empty."""
    start: int
    end: int

    def readings(self, unit: str = "") -> tuple[Decimal, ...]:
        """Return the numbers that it can stand for in a field of a unit; in any unit if it is empty.

        `0.25 s` is 250 in a field of ms, and nothing else; `1.8 TB/s` is 1,800 in one of GB/s. Where the unit is
        not given, or the word behind the number is none of its kind, the plain digits come first, and then what
        the word may make of them: `87%` is also 0.87, `128K` also 128,000 and 131,072.
        """
        exact = _factors_to(self.unit, unit)
        if exact:
            return tuple(self.value * factor for factor in exact)
        return (self.value, *(self.value * factor for factor in _factors(self.unit)))


def numbers_in(text: str) -> tuple[Printed, ...]:
    """Return the numbers that a text prints, in order."""
    found: list[Printed] = []
    unit, next_start = "", len(text)
    for match in reversed(list(_NUMBER.finditer(text))):
        digits, exponent, own_unit = match.group("digits", "exponent", "unit")
        if own_unit or not _RANGE.fullmatch(text, match.end(), next_start):
            unit = own_unit or ""  # else: in `1.2-1.5 s` the first number has the unit of the second
            if unit == "t" and text.startswith(("/s", " / s"), match.end()):
                unit = "tok"  # llama-bench and many others print tokens per second so
        plain = re.sub(_SEPARATORS, "", digits)
        value = Decimal(f"{plain}e{exponent}" if exponent else plain)
        next_start = match.start("digits")
        found.append(Printed(value, unit, next_start, match.end("digits")))
    return tuple(reversed(found))


def states(text: str, value: Decimal, unit: str = "") -> bool:
    """Return whether one of the numbers in `text` stands for `value`, which may be negative, in a unit."""
    if text.startswith(f"{value} {unit}"):
        return True  # the usual case, at a tenth of the cost
    size = abs(value)
    return any(_stands_for(size, reading) for each in numbers_in(text) for reading in each.readings(unit))


def _stands_for(value: Decimal, printed: Decimal) -> bool:
    """Return whether a value is a printed number, or that number rounded where a record cannot hold all of its digits.

    A program that prints a float to its last bit (`100.69986490153724`) prints more than anybody measured.
    """
    if value == printed:
        return True
    digits = printed.as_tuple()
    places = -int(digits.exponent)
    if places <= MAX_DECIMALS and len(digits.digits) <= MAX_DIGITS:
        return False
    kept = -int(value.as_tuple().exponent)
    return _LEAST_KEPT <= kept < places and round(printed, kept) == value


def in_unit(text: str, value: Decimal, unit: str) -> tuple[str, Decimal] | None:
    """Return the unit that `text` prints behind the digits of `value`, and what they are in `unit`; None if the same."""
    for each in numbers_in(text):
        exact = _factors_to(each.unit, unit)
        if each.value == abs(value) and exact and Decimal(1) not in exact:
            return each.unit, (each.value * exact[0]).normalize()
    return None


def thousands_removed(text: str) -> str:
    """Return `text` with `6,853` as `6853`, so that two spellings of one number are one."""
    return re.sub(rf"(?<=\d){_SEPARATORS}(?=\d{{3}}(?!\d))", "", text)


def last_place(value: Decimal) -> Decimal:
    """Return the size of one unit in the last digit: 0.1 for 93.9."""
    exponent = value.as_tuple().exponent
    return Decimal(1).scaleb(exponent if isinstance(exponent, int) else 0)


def agrees_when_rounded(printed: Decimal, computed: Decimal) -> bool:
    """Return whether `computed` can be printed as `printed`, rounded or cut off at its last digit.

    A source that divides 653 by 122 and prints 5.3 cut off; one that prints 5.4 rounded. Both agree.
    """
    place = last_place(printed)
    return -place / 2 <= abs(computed) - abs(printed) < place


def agree(one: Decimal, other: Decimal, tolerance: Decimal) -> bool:
    """Return whether two numbers differ by at most `tolerance` of the larger one."""
    return abs(one - other) <= tolerance * max(abs(one), abs(other))


_POWERS: Final[dict[str, dict[str, int]]] = {
    "GB": {"KB": 1, "MB": 2, "GB": 3, "TB": 4, "PB": 5, "KIB": 1, "MIB": 2, "GIB": 3, "TIB": 4},
    "TFLOPS": {
        "GFLOPS": 3,
        "TFLOPS": 4,
        "PFLOPS": 5,
        "GFLOP": 3,
        "TFLOP": 4,
        "PFLOP": 5,
        "TOPS": 4,
        "POPS": 5,
    },
    "W": {"W": 0, "WATT": 0, "WATTS": 0, "KW": 1},
    "MHz": {"KHZ": 1, "MHZ": 2, "GHZ": 3},
    "B/tok": {"B": 0, "BYTES": 0, "KB": 1, "MB": 2, "KIB": 1, "MIB": 2},
    "tok": {
        "K": 1,
        "M": 2,
        "B": 3,
        "BN": 3,
        "T": 4,
        "THOUSAND": 1,
        "MILLION": 2,
        "BILLION": 3,
        "TRILLION": 4,
    },
}
"""Unit of a field -> word behind a number, in capitals, that is of its kind -> its power of a thousand."""
_ALIKE: Final = {
    "GB/s": "GB", "GiB": "GB", "TOPS": "TFLOPS", "count": "tok", "tok/s": "tok", "req/s": "tok", "samples/s": "tok",
}  # fmt: skip
_OWN_POWER: Final = {"GB": 3, "TFLOPS": 4, "MHz": 2}
_FRACTIONS_OF_A_SECOND: Final = {"s": Decimal(1000), "ms": Decimal(1), "ns": Decimal("0.000001")}


def _factors_to(printed: str, unit: str) -> tuple[Decimal, ...]:
    """Return what turns a number with the word `printed` into one of `unit`; nothing where the two are of no one kind."""
    if not printed or not unit:
        return ()
    if printed == "%":
        return (_HUNDREDTH,) if unit == "ratio" else ()
    if unit in _FRACTIONS_OF_A_SECOND:
        to_ms = _TIME_IN_MS.get(printed.lower())
        return (to_ms / _FRACTIONS_OF_A_SECOND[unit],) if to_ms is not None else ()
    kind = _ALIKE.get(unit, unit)
    power = _POWERS.get(kind, {}).get(printed.upper())
    if power is None:
        return ()
    difference = power - _OWN_POWER.get(kind, 0)
    return tuple(dict.fromkeys(Decimal(base) ** difference for base in (1000, 1024)))


def _factors(unit: str) -> tuple[Decimal, ...]:
    """Return what a unit may multiply the digits by to reach the field's own unit."""
    if not unit:
        return ()
    if unit == "%":
        return (_HUNDREDTH,)
    if unit.lower() in _TIME_IN_MS:
        to_ms = _TIME_IN_MS[unit.lower()]
        return (to_ms, to_ms / 1000, to_ms * 1_000_000)
    power = _power_of_thousand(unit)
    if not power:
        return ()
    decimal, binary = Decimal(1000), Decimal(1024)
    # A field in GB holds 1.8 TB as 1,800: the unit of the field takes away some of the thousands.
    return tuple(
        factor
        for taken in range(5)
        for factor in (decimal ** (power - taken), binary ** (power - taken))
        if power != taken
    )


def _power_of_thousand(unit: str) -> int:
    word = unit.lower()
    if word in _WORD_POWER:
        return _WORD_POWER[word]
    scaled = _SCALED_UNIT.fullmatch(unit)
    if scaled is None:
        return 0
    return _PREFIX_POWER[(scaled[1] or scaled[4]).lower()]
