"""Numbers that know what they measure."""

from decimal import Decimal

import pytest

from kbtool.analysis.quantity import DimensionError, Quantity, of_metric, quantity, unit_of
from kbtool.vocab.metrics import METRICS
from kbtool.vocab.units import UNITS


def test_the_published_cost_comes_out() -> None:
    """$2.2712 an hour at 14,991.62 tok/s is $0.0421 per million tokens; a published page had it at 3,600 times that."""
    cost = quantity("2.2712", "USD/h") / quantity("14991.62", "tok[output]/s")
    assert round(cost.to("USD/Mtok[output]"), 4) == Decimal("0.0421")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("tok[output]/s", "tok[output]/s/accelerator"),
        ("tok[output]/s", "tok[both]/s"),
        ("tok[output]/s", "tok[input]/s"),
        ("tok[output]/s", "tok[output]/s/user"),
        ("USD/h", "USD"),
        ("GB", "GB/s"),
        ("W", "W/accelerator"),
    ],
)
def test_unlike_things_are_not_added_or_compared(one: str, other: str) -> None:
    """A scope, a count of tokens or a time too many is an error and no number."""
    for use in (Quantity.__add__, Quantity.__sub__, Quantity.__lt__, Quantity.__gt__, Quantity.share_of):
        with pytest.raises(DimensionError, match="measure different things"):
            use(quantity(1, one), quantity(1, other))


def test_products_and_quotients_carry_their_dimension() -> None:
    """Throughput over accelerators is per accelerator, and times accelerators is a throughput again."""
    whole, cards = quantity("653", "tok[output]/s"), quantity(8, "accelerator")
    share = whole / cards
    assert str(share) == "81.625 tok[output]/s/accelerator"
    assert share * cards == whole
    assert (share * 2).to("tok[output]/s/accelerator") == Decimal("163.25")
    assert whole.share_of(whole * 2) == Decimal("0.5")


def test_units_of_one_thing_convert_exactly() -> None:
    """GiB and GB, hours and milliseconds differ by a factor."""
    assert quantity(1, "GiB").to("GB") == Decimal("1.073741824")
    assert quantity(1, "h").to("ms") == 3_600_000
    assert quantity(2, "TFLOPS") == quantity(2, "TOPS")
    assert quantity(300, "W") * quantity(1, "h") == quantity(1_080_000, "J")
    with pytest.raises(DimensionError, match="is not in GB/s"):
        quantity(1, "GB").to("GB/s")


def test_nothing_is_divided_by_zero() -> None:
    """The message has what was to be divided."""
    with pytest.raises(ZeroDivisionError, match=r"1 tok\[output\]/s divided by 0"):
        quantity(1, "tok[output]/s") / quantity(0, "accelerator")


def test_unknown_units_are_refused() -> None:
    """A misspelt unit is no new base."""
    with pytest.raises(ValueError, match="there is no unit 'token'"):
        quantity(1, "token/s")


def test_every_metric_has_a_unit_here() -> None:
    """What a record may say can be computed with; two metrics of one unit differ by tokens or scope alone."""
    for metric in METRICS.values():
        assert of_metric(metric, Decimal(2)).to(unit_of(metric)) == 2
    assert unit_of(METRICS["total_tok_s_per_accelerator"]) == "tok[both]/s/accelerator"
    assert unit_of(METRICS["prefill_tok_s"]) != unit_of(METRICS["input_tok_s"])


@pytest.mark.parametrize("symbol", [each for each in UNITS if each != "MHz"])
def test_every_unit_of_the_vocabulary_is_known(symbol: str) -> None:
    """The two lists of units do not drift apart; a clock is computed with nowhere."""
    assert quantity(1, symbol).to(symbol) == 1
