"""Units: what a symbol measures, and how a number is written with it for a reader.

There is no conversion between units in records: a metric or a field has one unit, which its
name carries.  Decimal prefixes (GB) and binary ones (GiB) are different units.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

__all__ = ["QUALIFIER_SIGNS", "UNITS", "Unit", "figure_text", "format_number", "unit_in_name"]


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit of measurement."""

    symbol: str
    """As printed behind a number."""
    dimension: str
    """What it measures, such as `tokens per time`."""
    title: str
    """In words."""


UNITS: Final[dict[str, Unit]] = {
    unit.symbol: unit
    for unit in (
        Unit("tok/s", "tokens per time", "tokens per second"),
        Unit("ms", "time", "milliseconds"),
        Unit("s", "time", "seconds"),
        Unit("req/s", "requests per time", "requests per second"),
        Unit("samples/s", "samples per time", "samples per second"),
        Unit("tok", "tokens", "tokens"),
        Unit("tok/step", "tokens per step", "tokens per verify step"),
        Unit("ratio", "ratio", "ratio"),
        Unit("count", "count", "count"),
        Unit("W", "power", "watts"),
        Unit("J/tok", "energy per token", "joules per token"),
        Unit("B/tok", "bytes per token", "bytes per token"),
        Unit("GB", "bytes", "gigabytes (10^9 bytes)"),
        Unit("GiB", "bytes", "gibibytes (2^30 bytes)"),
        Unit("GB/s", "bytes per time", "gigabytes per second (10^9 bytes)"),
        Unit("TFLOPS", "operations per time", "tera floating-point operations per second"),
        Unit("TOPS", "operations per time", "tera integer operations per second"),
        Unit("MHz", "frequency", "megahertz"),
        Unit("USD", "money", "US dollars"),
        Unit("USD/h", "money per time", "US dollars per hour"),
    )
}


def format_number(value: Decimal | int) -> str:
    """Return `value` with thousands separators and exactly the digits it has.

    `Decimal("6853.0")` gives `6,853.0`: a digit that was published is never dropped, and none
    is added.
    """
    return f"{value:,f}" if isinstance(value, Decimal) else f"{value:,}"


QUALIFIER_SIGNS: Final[Mapping[str, str]] = {
    "approx": "\N{ALMOST EQUAL TO}",
    "at_least": "\N{GREATER-THAN OR EQUAL TO}",
    "at_most": "\N{LESS-THAN OR EQUAL TO}",
}
"""What stands before a number that is not exact."""


def figure_text(value: Decimal | int, unit: str, qualifier: str | None = None) -> str:
    """Return sign, number and unit as one text; ratios and counts have no unit."""
    known = UNITS.get(unit)
    symbol = "" if known is None or known.dimension in {"ratio", "count"} else known.symbol
    return " ".join(filter(None, (QUALIFIER_SIGNS.get(qualifier or ""), format_number(value), symbol)))


_IN_NAMES: Final = (
    ("tok_s", "tok/s"), ("gb_s", "GB/s"), ("gib", "GiB"), ("gb", "GB"), ("ms", "ms"), ("ns", "ns"), ("mhz", "MHz"),
    ("tflops", "TFLOPS"), ("tops", "TOPS"), ("bytes_per_tok", "B/tok"), ("tok", "tok"), ("w", "W"),
    ("ratio", "ratio"), ("parameters", "count"),
)  # fmt: skip


def unit_in_name(name: str) -> str:
    """Return the unit that a field's name carries, such as `GB/s` of `bandwidth_gb_s`; empty where it carries none."""
    return next((unit for end, unit in _IN_NAMES if f"_{name}".endswith(f"_{end}")), "")
