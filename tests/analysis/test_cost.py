"""What a million tokens cost: worked by hand, and refused where an input is missing."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from kbtool.analysis.cost import Cost, NotComputed, costs, usd_per_million
from kbtool.analysis.quantity import DimensionError, quantity
from kbtool.schema.things import Price
from tests.analysis.sides import facts, speed


def price(amount: str = "2.50", accelerators: int | None = 1, **over: Any) -> Price:
    """Return a price by the hour."""
    plain = {
        "amount": amount, "currency": "USD", "per": "hour", "accelerators": accelerators, "basis": "cloud_on_demand",
        "seen": "2026-04-20", "as_published": f"${amount}/hr", "evidence": [{"source": "sources/base-source", "locator": "p. 1"}],
    }  # fmt: skip
    return Price.model_validate({**plain, **over})


def cost(found: tuple[Cost, ...] | NotComputed) -> Cost:
    """Return the one cost that was worked out."""
    assert not isinstance(found, NotComputed), found
    assert len(found) == 1
    return found[0]


def test_an_hour_has_3600_seconds() -> None:
    """$2.2712 an hour at 14,991.62 tok/s is $0.0421 a million tokens, where a page printed $151.50."""
    found = usd_per_million(quantity("2.2712", "USD/h"), quantity("14991.62", "tok[output]/s"), "output")
    assert round(found, 4) == Decimal("0.0421")
    assert round(found * 3600, 2) == Decimal("151.50")


def test_a_price_of_another_thing_is_an_error_and_no_number() -> None:
    """Per hour against per accelerator-hour, and output tokens against both, do not mix."""
    with pytest.raises(DimensionError):
        usd_per_million(quantity(2, "USD/h"), quantity(9, "tok[output]/s/accelerator"), "output")
    with pytest.raises(DimensionError):
        usd_per_million(quantity(2, "USD/h"), quantity(9, "tok[both]/s"), "output")
    with pytest.raises(DimensionError):
        usd_per_million(quantity(2, "USD"), quantity(9, "tok[output]/s"), "output")


def test_every_step_is_shown() -> None:
    """8 x $2.50 an hour over 2,000 tok/s: 20 / 7.2 million tokens an hour is $2.78 a million."""
    found = cost(costs(facts(result=speed("2000"), system={"accelerator_count": 8}), [price()]))
    assert round(found.usd_per_mtok, 4) == Decimal("2.7778")
    assert found.formula == "2.50 USD x 8 accelerators / (2,000 tok/s x 3,600 s) x 1,000,000"
    assert (found.basis, found.seen, found.accelerators) == ("cloud_on_demand", date(2026, 4, 20), 8)


def test_an_instance_of_four_cards_is_not_the_price_of_one() -> None:
    """$10 an hour for four cards is $2.50 for one; without the number nothing is worked out."""
    eight = facts(result=speed("2000"), system={"accelerator_count": 8})
    found = cost(costs(eight, [price("10", 4)]))
    assert round(found.usd_per_mtok, 4) == Decimal("2.7778")
    assert found.formula.startswith("10 USD / 4 x 8 accelerators")
    refused = costs(eight, [price(accelerators=None)])
    assert refused == NotComputed("the price by the hour does not say how many accelerators it pays for")


def test_disaggregated_systems_pay_for_all_their_accelerators() -> None:
    """8 that prefill and 16 that decode are paid for, all 24."""
    pools = {"prefill_accelerators": 8, "decode_accelerators": 16}
    found = cost(
        costs(facts(result=speed("2000"), system={"accelerator_count": 24}, deployment=pools), [price()])
    )
    assert found.accelerators == 24
    assert round(found.usd_per_mtok, 4) == Decimal("8.3333")


def test_a_share_needs_no_count() -> None:
    """A figure per accelerator is priced as it is."""
    share = facts(result=speed("250", metric="tok_s_per_accelerator"), system={"accelerator_count": None})
    found = cost(costs(share, [price()]))
    assert round(found.usd_per_mtok, 4) == Decimal("2.7778")
    assert found.formula == "2.50 USD / (250 tok/s x 3,600 s) x 1,000,000"


def test_both_kinds_of_tokens_are_another_price() -> None:
    """Input and output together are priced as such."""
    assert (
        cost(costs(facts(result=speed("2000", metric="total_tok_s")), [price()])).tokens == "input_and_output"
    )


@pytest.mark.parametrize(
    ("result", "over", "prices", "reason"),
    [
        (speed("93.9", metric="tok_s_per_user"), {}, [price()], "it is no throughput of tokens of a whole system"),
        (speed("93.9", metric="ttft_ms"), {}, [price()], "it is no throughput of tokens of a whole system"),
        (speed("2000"), {}, [], "no price by the hour was seen for its accelerator"),
        (speed("2000"), {}, [price(per="unit")], "no price by the hour was seen for its accelerator"),
        (speed("2000"), {}, [price(currency="EUR")], "no price by the hour was seen in USD for its accelerator"),
        (speed("2000"), {"system": {"accelerator_count": None}}, [price()], "the number of accelerators is not stated"),
        ({"value": None, "low": "1", "high": "2"}, {}, [price()], "it has no single value of a known metric"),
    ],
)  # fmt: skip
def test_what_is_not_computed_says_why(
    result: dict[str, Any], over: dict[str, Any], prices: list[Price], reason: str
) -> None:
    """No input is made up."""
    assert costs(facts(result=result, **over), prices) == NotComputed(reason)
