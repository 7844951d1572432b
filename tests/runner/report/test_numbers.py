"""Numbers as texts of a report."""

import pytest

from kbtool.runner.metrics import Measurement
from kbtool.runner.report.checks import client_error
from kbtool.runner.report.numbers import (
    NONE,
    TOO_WIDE,
    counted,
    end_of,
    interval_of,
    rounds_of,
    short_title,
    unit_of,
)
from kbtool.runner.report.page import _coded
from kbtool.runner.report.surroundings import _in_force


def _number(metric: str, value: float, low: float | None, high: float | None) -> Measurement:
    return Measurement(
        metric=metric,
        statistic="median",
        value=value,
        low=low,
        high=high,
        interval=None if low is None else "ci95",
        method=None if low is None else "t_rounds",
        spread_stdev=None,
        n_samples=8,
        n_rounds=3,
        n_sessions=1,
        warnings=(),
    )


@pytest.mark.parametrize(
    ("metric", "low", "high", "text"),
    [
        ("output_tok_s", 900.0, 1100.0, "900.0 to 1,100"),
        ("output_tok_s", -556.2, 3110.0, TOO_WIDE),
        ("acceptance_ratio", 0.5, 1.162, TOO_WIDE),
        ("ttft_ms", None, None, NONE),
    ],
)
def test_an_interval_lies_where_its_metric_can(
    metric: str, low: float | None, high: float | None, text: str
) -> None:
    """Below 0, or above 1 for a share, it says that nothing is known; so it is said, in the table of all numbers too."""
    found = _number(metric, 0.8, low, high)
    assert interval_of(found) == text
    assert (end_of(found, low) == TOO_WIDE) is (text == TOO_WIDE)


def test_one_is_no_plural() -> None:
    """Counts read as a person would write them."""
    assert (counted(1, "cell"), counted(2, "cell")) == ("1 cell", "2 cells")
    assert (rounds_of(1, 1), rounds_of(3, 3), rounds_of(3, 9)) == ("1 round", "3 rounds", "3 to 9 rounds")
    level = {"streams": 1, "throughput_error_ratio": -0.00001}
    assert client_error({"levels": [level]}, 1) == "throughput 0.00 % at 1 stream"


def test_arrivals_are_not_steps() -> None:
    """What the client counts between arrivals of text has another name and unit than the steps of the engine."""
    assert (short_title("tok_per_step"), unit_of("tok_per_step")) == ("Tokens per arrival", "tok/arrival")


def test_a_setting_stands_in_the_unit_of_its_field() -> None:
    """Bytes are not printed under the name of a field in GB."""
    said = {"field": "model.weights_gb", "value": "0.000611072", "as_published": "611072"}
    assert _in_force(said) == "0.000611072 GB (written as 611072)"
    assert _in_force({"field": "serving.context_tok", "value": 8192, "as_published": "8192"}) == "8192"
    assert _in_force({"field": "engine.arguments.jinja", "value": True, "as_published": "true"}) == "true"


def test_backticks_become_code_and_nothing_else_gets_through() -> None:
    """What a server said is escaped in and outside of them."""
    assert (
        str(_coded("run `kbtool bench calibrate` on it")) == "run <code>kbtool bench calibrate</code> on it"
    )
    assert "<b>" not in _coded("<b> `<b>` <b>")
