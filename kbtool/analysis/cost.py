"""What a million tokens cost, from a price seen at some time and the throughput of a result.

USD per million tokens = price of one accelerator for an hour x accelerators / (tokens per second x 3,600) x 1,000,000.

A published page was wrong by 3,600 because nothing held an hour against a second: here the price is USD per hour and
accelerator, the throughput tokens per second and accelerator, and a quantity that is not USD per token is an error.

Only whole systems under load have a cost: the speed of one user says nothing of the others on the same machine. A figure that
counts output tokens gives a price of output tokens, one that counts both a price of both; the two are never ranked together.
What is bought (a card, a box, an hour of several cards without their number) and power are not spread over time here: that
takes a lifetime and a use that nobody observed.

Source: the dimensions; the division by all accelerators that serve is `kbtool.analysis.normalise`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Final

from kbtool.analysis.quantity import Quantity, quantity
from kbtool.analysis.sides import SideFacts
from kbtool.schema.things import Price
from kbtool.vocab.metrics import METRICS, Tokens
from kbtool.vocab.units import format_number

__all__ = ["Cost", "HourlyPrice", "NotComputed", "costs", "hourly_prices", "usd_per_million"]

_SCOPES: Final = frozenset({"accelerator", "instance", "system"})
_COUNTED: Final[dict[Tokens, str]] = {
    "output": "tok[output]",
    "input": "tok[input]",
    "input_and_output": "tok[both]",
}
"""Tokens that a metric counts -> the dimension of what is priced."""


@dataclass(frozen=True, slots=True)
class NotComputed:
    """Why there is no cost."""

    reason: str
    """A clause that follows "because"."""


@dataclass(frozen=True, slots=True)
class HourlyPrice:
    """An observed price of accelerators for an hour."""

    price: Price
    accelerators: int
    """Accelerators that the amount pays for."""

    @property
    def of_one(self) -> Quantity:
        """The price of one accelerator for an hour."""
        return quantity(self.price.amount, "USD/h") / quantity(self.accelerators, "accelerator")


@dataclass(frozen=True, slots=True)
class Cost:
    """What a million tokens of one result cost at one observed price, with every step."""

    usd_per_mtok: Decimal
    tokens: Tokens
    """Which tokens are counted."""
    accelerators: int | None
    """Accelerators that serve; None where the figure is per accelerator and needs no number."""
    formula: str
    """With the numbers in place."""
    basis: str
    """What kind of price it is, such as `cloud_on_demand`."""
    seen: date | None
    """Day on which the price was seen."""
    price: Price


def costs(side: SideFacts, prices: Sequence[Price]) -> tuple[Cost, ...] | NotComputed:
    """Return what a million tokens of a result cost, once for each price by the hour that was seen.

    Args:
        side: What a comparison looks at in the result; it has the figure per accelerator.
        prices: Prices seen of its accelerator.
    """
    metric = METRICS.get(side.metric)
    if (
        metric is None
        or metric.unit != "tok/s"
        or metric.tokens not in _COUNTED
        or metric.scope not in _SCOPES
    ):
        return NotComputed("it is no throughput of tokens of a whole system")
    if not side.per_accelerator:
        return NotComputed(side.why_not)
    rate = quantity(side.per_accelerator, f"{_COUNTED[metric.tokens]}/s/accelerator")
    if rate.base_value <= 0:
        return NotComputed("no token came out")
    found = hourly_prices(prices)
    if isinstance(found, NotComputed):
        return found
    return tuple([_cost(each, side, rate) for each in found])


def hourly_prices(prices: Sequence[Price]) -> tuple[HourlyPrice, ...] | NotComputed:
    """Return the prices by the hour in USD; or why there is none."""
    by_hour = [each for each in prices if each.per == "hour"]
    if not by_hour:
        return NotComputed("no price by the hour was seen for its accelerator")
    in_usd = [each for each in by_hour if each.currency == "USD"]
    if not in_usd:
        return NotComputed("no price by the hour was seen in USD for its accelerator")
    counted = tuple(
        [HourlyPrice(each, each.accelerators) for each in in_usd if each.accelerators is not None]
    )
    return counted or NotComputed("the price by the hour does not say how many accelerators it pays for")


def usd_per_million(price: Quantity, rate: Quantity, tokens: Tokens) -> Decimal:
    """Return the price of a million tokens in USD.

    Args:
        price: USD per time, of what the rate is of.
        rate: Tokens of the kind that is priced per time, of the same accelerator or system.
        tokens: Which tokens the rate counts.

    Raises:
        DimensionError: The two are not of the same thing, or the tokens are others.
    """
    return (price / rate).to(f"USD/M{_COUNTED[tokens]}")


def _cost(price: HourlyPrice, side: SideFacts, rate: Quantity) -> Cost:
    metric = METRICS[side.metric]
    return Cost(
        usd_per_mtok=usd_per_million(price.of_one, rate, metric.tokens),
        tokens=metric.tokens,
        accelerators=None if metric.scope == "accelerator" else side.accelerators,
        formula=_formula(price, side, rate),
        basis=price.price.basis,
        seen=price.price.seen,
        price=price.price,
    )


def _formula(price: HourlyPrice, side: SideFacts, rate: Quantity) -> str:
    metric = METRICS[side.metric]
    amount = f"{format_number(price.price.amount)} USD"
    of_one = amount if price.accelerators == 1 else f"{amount} / {price.accelerators}"
    speed, many = side.figure, ""
    if metric.scope == "system":
        many = " x 1 accelerator" if side.accelerators == 1 else f" x {side.accelerators} accelerators"
    elif metric.scope == "instance":
        each = rate.to(f"{_COUNTED[metric.tokens]}/s/accelerator")
        speed = f"{format_number(round(each, 2))} tok/s of one accelerator"
    return f"{of_one}{many} / ({speed} x 3,600 s) x 1,000,000"
