"""Results held against their hardware, in short."""

from typing import Any

from kbtool.analysis.checks import Check, Unchecked, checks_of, unchecked_reasons
from tests.analysis.records import benchmark, plain_result
from tests.analysis.test_limits import FOUR, things


def check(**over: Any) -> Check:
    """Return the check of a speed of one user."""
    record = benchmark(results=[plain_result(value="448", as_published="448", **over)], **FOUR)
    return next(checks_of(record, things().get))


def test_the_binding_bound_is_named_with_its_share() -> None:
    """448 of 896 tok/s that the memory allows is a half."""
    found = check(at={"concurrency": 1, "input_tok": None, "output_tok": None})
    assert (found.code, found.share) == ("bandwidth", "0.5")


def test_a_metric_without_a_bound_has_no_check() -> None:
    """A time to first token is not held against a bound, and is no gap."""
    record = benchmark(results=[plain_result(metric="ttft_ms")], **FOUR)
    assert list(checks_of(record, things().get)) == []


def test_reasons_are_counted_without_the_record_that_they_name() -> None:
    """Two models that lack a figure are one reason, which names both and the benchmarks that miss it."""
    x = Check("a", "m", "", "", (("compute", "models/x does not give active parameters"),))
    y = Check("b", "m", "", "", (("compute", "models/y does not give active parameters"), ("bandwidth", "z")))
    assert unchecked_reasons([("benchmarks/one", x), ("benchmarks/two", y), ("benchmarks/two", y)]) == (
        Unchecked(
            "compute", "the model's record does not give active parameters", 3, ("benchmarks/two", "benchmarks/one"),
            ("models/y", "models/x"),
        ),
        Unchecked("bandwidth", "z", 2, ("benchmarks/two",), ()),
    )  # fmt: skip
