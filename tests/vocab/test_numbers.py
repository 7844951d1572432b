"""A number keeps its digits, has one spelling, and is refused beyond what every reader can hold."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbtool.vocab.numbers import exact_number, number_text, parse_number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("-5", -5),
        ("6853", 6853),
        ("999999999999999", 999_999_999_999_999),
        ("0.10", Decimal("0.10")),
        ("-0.5", Decimal("-0.5")),
        ("0.000000001", Decimal("0.000000001")),
        ("123456.123456789", Decimal("123456.123456789")),
    ],
)
def test_number_in_full_is_read_with_all_its_digits(text: str, number: int | Decimal) -> None:
    """The value, the type and the written form survive."""
    read = parse_number(text)
    assert repr(read) == repr(number)
    assert number_text(read) == text


@pytest.mark.parametrize(
    "text",
    [
        *("", "-", "-0", "-0.0", "-0.00", "+5", ".5", "5.", "012", "1_000", "6,853", "1e6", "0x1F", "nan"),
        *(" 5", "5 ", "5\n", "٥", "５", "−5", "~93.9", "93.9 tok/s", "1.2.3"),
    ],
)
def test_anything_else_is_no_number(text: str) -> None:
    """No second spelling, no other script, no unit."""
    assert exact_number(text) is None
    with pytest.raises(ValueError, match="expected digits"):
        parse_number(text)


@pytest.mark.parametrize("text", ["1234567890123456", "1" * 5000, "12345678.123456789", "0.1234567890"])
def test_number_beyond_the_limits_is_refused(text: str) -> None:
    """A reader with floats would show other digits; thousands of digits are no special case."""
    with pytest.raises(ValueError, match="expected at most"):
        exact_number(text)


@pytest.mark.parametrize(
    "number",
    [
        10**15,
        -(10**15),
        pytest.param(10**5000, id="5001 digits"),
        *map(Decimal, ("NaN", "sNaN", "Infinity", "-0", "-0.0", "7E+3", "1E-10", "1E+999999")),
    ],
)
def test_number_without_an_exact_text_is_not_written(number: int | Decimal) -> None:
    """What could not be read back is not written."""
    with pytest.raises(ValueError, match="expected"):
        number_text(number)


@pytest.mark.parametrize("value", [1.0, True, None, "5"])
def test_what_is_no_exact_number_is_a_type_error(value: object) -> None:
    """A float has no digits of its own, and a boolean is not 1."""
    with pytest.raises(TypeError, match="expected int or Decimal"):
        number_text(value)  # type: ignore[arg-type]  # the mistake under test


def test_whole_decimal_is_written_like_the_int_that_it_equals() -> None:
    """Models hold every number as Decimal."""
    assert number_text(Decimal(6853)) == "6853"


@given(st.integers(min_value=-(10**15) + 1, max_value=10**15 - 1), st.integers(min_value=0, max_value=9))
def test_text_and_number_are_inverse(digits: int, decimals: int) -> None:
    """Every number within the limits is written and read as itself."""
    if decimals and digits:
        number: int | Decimal = Decimal(digits).scaleb(-decimals)
    else:
        number = digits
    assert repr(parse_number(number_text(number))) == repr(number)
