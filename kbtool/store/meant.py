"""What was probably meant by a number, a day, an address or a hash that is written as people print it.

Each function returns the one form that a record takes, or None where there is more than one it could be.
"""

import re
from datetime import date
from decimal import Decimal
from typing import Final

from kbtool.vocab.numbers import exact_number, number_text

__all__ = ["UNKNOWN", "address_meant", "day_meant", "hash_meant", "number_meant"]

UNKNOWN: Final = re.compile(
    r"\W*(?:unknown|unspecified|undisclosed|none|n/?a|n\.a\.|tbd|todo|\?+|-+|not (?:stated|given|known|available|disclosed|specified))?\W*",
    re.IGNORECASE,
)
"""Words for a value that nobody knows; in a record it is left out, and listed as a gap."""

# --- Numbers ----------------------------------------------------------------------------------

_PRINTED_NUMBER: Final = re.compile(
    r"[~≈<>=±+ ]*(-?(?:\d{1,3}(?:[, \u00a0\u202f]\d{3})+|\d+))(\.\d+)?[ \u00a0\u202f]?([^\d.,]*)"
)
_SCALED: Final = {"k": 3, "bn": 9, "b": 9, "t": 12, "%": -2}
"""Powers of ten that a suffix stands for wherever it is printed."""
_UNCLEAR: Final = re.compile(
    r"[KMG]|[kKMGT]i?[Bb](?:it|yte|ps)?s?(?:/\w+)?|[KMGT]i\w*|thousand|million|n?s|µs|us|min|h"
)
"""Suffixes whose factor, or whose unit, is for a person to settle: `128K` is 128,000 or 131,072."""


def number_meant(text: str) -> str | None:
    """Return the bare number that a printed one stands for: `6,853 tok/s` is 6853, `6.9k` is 6900, `87%` is 0.87."""
    printed = _PRINTED_NUMBER.fullmatch(text.strip())
    if printed is None or _UNCLEAR.fullmatch(printed[3].strip()):
        return None
    digits = re.sub(r"[^\d-]", "", printed[1]) + (printed[2] or "")
    power = _SCALED.get(printed[3].strip().lower(), 0)
    try:
        number = exact_number(digits)
        if number is None:
            return None
        return number_text(_shifted(Decimal(number), power)) if power else digits
    except ValueError:
        return None


def _shifted(number: Decimal, power: int) -> Decimal:
    """Return the number times a power of ten, with the digits that it has."""
    moved = number.scaleb(power)
    return moved.quantize(Decimal(1)) if power > 0 and moved == moved.to_integral_value() else moved


# --- Days -------------------------------------------------------------------------------------

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_YEAR_FIRST: Final = re.compile(r"([0-9]{4})[-/. ]?([0-9]{1,2})[-/. ]?([0-9]{1,2})(?:[T ].*)?")
_YEAR_LAST: Final = re.compile(r"([0-9]{1,2})[-/. ]([0-9]{1,2})[-/. ]([0-9]{4})")
_DAY_MONTH_YEAR: Final = re.compile(r"([0-9]{1,2})(?:st|nd|rd|th)?\.? ([A-Za-z]{3,9})\.?,? ([0-9]{4})")
_MONTH_DAY_YEAR: Final = re.compile(r"([A-Za-z]{3,9})\.? ([0-9]{1,2})(?:st|nd|rd|th)?,? ([0-9]{4})")


def day_meant(text: str) -> str | None:
    """Return the day that a printed date stands for: `2026/10/4`, `Oct 4, 2026`; not `04/10/2026`, which is two days."""
    text = text.strip()
    if found := _YEAR_FIRST.fullmatch(text):
        year, month, day = map(int, found.groups())
        return _day(year, month, day) or _day(year, day, month)
    if found := _YEAR_LAST.fullmatch(text):
        one, other, year = map(int, found.groups())
        days = {_day(year, one, other), _day(year, other, one)} - {None}
        return days.pop() if len(days) == 1 else None
    if found := _DAY_MONTH_YEAR.fullmatch(text):
        return _day(int(found[3]), _month(found[2]), int(found[1]))
    if found := _MONTH_DAY_YEAR.fullmatch(text):
        return _day(int(found[3]), _month(found[1]), int(found[2]))
    return None


def _day(year: int, month: int, day: int) -> str | None:
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return None


def _month(name: str) -> int:
    """Return the number of an English month; 0, which no day has, for another word."""
    short = name[:3].lower()
    return _MONTHS.index(short) + 1 if short in _MONTHS else 0


# --- Addresses and hashes ---------------------------------------------------------------------

_ADDRESS_INSIDE: Final = re.compile(r"https?://[^\s<>()\[\]\"'`]+", re.IGNORECASE)
_BARE_HOST: Final = re.compile(
    r"(?:[a-z0-9](?:-?[a-z0-9])*\.)+[a-z]{2,}(?:/[^\s<>()\[\]\"'`]*)?", re.IGNORECASE
)
_HASH: Final = re.compile(r"\W*(?:sha-?256[:= ])?\W*([0-9a-fA-F]{64})\W*", re.IGNORECASE)


def address_meant(text: str) -> str | None:
    """Return the address in a Markdown link or brackets, or with the scheme that is missing."""
    inside = _ADDRESS_INSIDE.findall(text)
    if len(inside) == 1 and not re.search(r"[^\s<>()\[\]\"'`] [^\s<>()\[\]\"'`]", text):
        scheme, _, rest = inside[0].partition("://")
        return f"{scheme.lower()}://{rest}"
    return f"https://{text.strip()}" if not inside and _BARE_HOST.fullmatch(text.strip()) else None


def hash_meant(text: str) -> str | None:
    """Return the SHA-256 in capitals, or behind its name, as a record writes it."""
    found = _HASH.fullmatch(text)
    return found[1].lower() if found else None
