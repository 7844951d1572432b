"""Numbers as sources print them are read as what they mean."""

from decimal import Decimal

import pytest

from kbtool.analysis.published import (
    agree,
    agrees_when_rounded,
    in_unit,
    last_place,
    numbers_in,
    states,
    thousands_removed,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("93.9 tok/s", "93.9"),
        ("93.9 t/s", "93.9"),
        ("100.69986490153724", "100.700"),
        ("100.69986490153724", "100.69986"),
        ("2 t", "2000"),
        ("6,853", "6853"),
        ("1,048,576", "1048576"),
        ("6\u202f853 tok/s", "6853"),
        ("~7,196 tok/s", "7196"),
        ("143-169 ms", "143"),
        ("143-169 ms", "169"),
        ("143\u2013169", "169"),
        ("-1.3%", "-0.013"),
        ("87%", "0.87"),
        ("73 %", "73"),
        ("7.8\u00d7", "7.8"),
        ("5.3x", "5.3"),
        ("128K", "128000"),
        ("128K", "131072"),
        ("1 M", "1048576"),
        ("671B", "671000000000"),
        ("9.5 KiB/token", "9728"),
        ("1.8 TB/s", "1800"),
        ("1.2 PFLOPS", "1200"),
        ("0.25 s", "250"),
        ("1.2-1.5 s", "1200"),
        ("12.5 us", "12500"),
        ("1.04211e+06", "1042110"),
        ("3 kW", "3000"),
        ("50/49", "49"),
        ("DeepSeek-V4.1: 93.9", "93.9"),
        (".5", "0.5"),
        ("946.6 tok/s at 32-way", "32"),
    ],
)
def test_states(text: str, value: str) -> None:
    """Separators, signs of approximation, ranges, per cent and units are not part of the number."""
    assert states(text, Decimal(value))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("93.9 tok/s", "99.3"),
        ("93.9", "93"),
        ("6,853", "853"),
        ("6,853", "6835"),
        ("95.1", "5.1"),
        ("128K", "128001"),
        ("87%", "8.7"),
        ("0.25 s", "25"),
        ("very fast", "5"),
        ("", "0"),
        ("512 tokens", "512000"),
        ("600 W", "600000"),
        ("93.94", "93.9"),
        ("100.69986490153724", "100.7"),
        ("100.69986490153724", "100.698"),
    ],
)
def test_does_not_state(text: str, value: str) -> None:
    """Exchanged digits, a part of a number and a factor that no unit gives are other numbers."""
    assert not states(text, Decimal(value))


def test_tokens_per_second_are_no_tera() -> None:
    """`93.9 t/s` is 93.9 and nothing else."""
    assert numbers_in("93.9 t/s")[0].readings("tok/s") == (Decimal("93.9"),)


def test_the_usual_case_is_no_shortcut_to_another_number() -> None:
    """The quick look at the start of the text takes whole numbers alone."""
    assert not states("93.95 tok/s", Decimal("93.9"))
    assert not states("93.9.1 build", Decimal("3.9"))


def test_numbers_keep_place_and_digits() -> None:
    """A number is given with its place in the text and the digits that it is printed with."""
    first, second = numbers_in("from 6,853.0 to 7,196 tok/s")
    assert (str(first.value), first.unit, first.start, first.end) == ("6853.0", "tok", 5, 12)
    assert (str(second.value), second.unit) == ("7196", "tok")


def test_a_wall_of_digits_is_read_in_linear_time() -> None:
    """Hostile text costs no more than its length."""
    assert numbers_in("1," * 2000 + "x")
    assert len(numbers_in("1" * 4000)) == 1
    assert numbers_in("9e999 W")[0].value == Decimal("9e999")


def test_thousands_removed() -> None:
    """Two spellings of one number become one; a list of numbers stays a list."""
    assert thousands_removed("6,853 of 1,048,576") == "6853 of 1048576"
    assert thousands_removed("0,2,4,6 and 1,23") == "0,2,4,6 and 1,23"


@pytest.mark.parametrize(
    ("printed", "computed", "agrees"),
    [
        ("5.3", "5.352", True),
        ("5.4", "5.352", True),
        ("5.2", "5.352", False),
        ("7.8", "7.76", True),
        ("8", "7.01", False),
        ("-1.3", "-1.28", True),
    ],
)
def test_agrees_when_rounded(printed: str, computed: str, *, agrees: bool) -> None:
    """A source may round or cut off at its last digit, and no more."""
    assert agrees_when_rounded(Decimal(printed), Decimal(computed)) is agrees


def test_last_place() -> None:
    """The last digit's unit, whatever the size."""
    assert [last_place(Decimal(each)) for each in ("93.9", "6853", "0.10")] == [
        Decimal("0.1"),
        1,
        Decimal("0.01"),
    ]


def test_agree_is_symmetric() -> None:
    """The tolerance is a share of the larger number, so that the order does not matter."""
    one, other = Decimal(100), Decimal(98)
    assert agree(one, other, Decimal("0.02"))
    assert agree(other, one, Decimal("0.02"))
    assert not agree(one, other, Decimal("0.01"))


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("0.25 s", "250", "ms"),
        ("250 ms", "250", "ms"),
        ("1.8 TB/s", "1800", "GB/s"),
        ("96 GB", "96", "GB"),
        ("284B", "284000000000", "count"),
        ("128K", "131072", "tok"),
        ("128K", "128000", "tok"),
        ("6.9k tok/s", "6900", "tok/s"),
        ("87%", "0.87", "ratio"),
        ("890 B/token", "890", "B/tok"),
        ("9.5 KiB/token", "9728", "B/tok"),
        ("1.2 PFLOPS", "1200", "TFLOPS"),
        ("0.3 kW", "300", "W"),
        ("8 x 96 GB at 300 W", "8", "W"),
        ("0.36-0.45 us", "360", "ns"),
        ("7.8x", "7.8", "ratio"),
    ],
)
def test_a_number_is_read_in_the_unit_of_its_field(text: str, value: str, unit: str) -> None:
    """What the word behind it says, the field's unit taken into account."""
    assert states(text, Decimal(value), unit)
    assert in_unit(text, Decimal(value), unit) is None


@pytest.mark.parametrize(
    ("text", "value", "unit", "meant"),
    [
        ("0.25 s", "0.25", "ms", "250"),
        ("1.792 TB/s", "1.792", "GB/s", "1792"),
        ("284B", "284", "count", "284000000000"),
        ("6.9K tok/s", "6.9", "tok/s", "6900"),
        ("0.87 %", "0.87", "ratio", "0.0087"),
        ("300 kW", "300", "W", "300000"),
        ("9.5 KiB/token", "9.5", "B/tok", "9500"),
    ],
)
def test_digits_in_another_unit_do_not_state_a_value(text: str, value: str, unit: str, meant: str) -> None:
    """A factor of 1000 that was lost with its unit is no reading of the number."""
    assert not states(text, Decimal(value), unit)
    printed = in_unit(text, Decimal(value), unit)
    assert printed is not None
    assert f"{printed[1]:f}" == meant
