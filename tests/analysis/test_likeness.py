"""Which results may be of one load on one kind of system."""

from decimal import Decimal
from typing import Any

import pytest

from kbtool.analysis.likeness import Load, far_apart, load_of, may_be_one
from tests.analysis.records import benchmark, plain_result


def load(of_result: dict[str, Any] | None = None, **over: Any) -> Load | None:
    """Return the load of one throughput of the base benchmark with something laid over both."""
    speed = {
        "metric": "output_tok_s",
        "at": {"concurrency": 64, "input_tok": 2048, "output_tok": 512, "prompt_class": "prose"},
    }
    record = benchmark(results=[plain_result(**{**speed, **(of_result or {})})], **over)
    return load_of(record, record.results[0])


def alike(*, at: dict[str, Any], **over: Any) -> bool:
    """Return whether a result under other conditions may be of the base's load."""
    one, other = load(), load({"at": at}, **over)
    assert one is not None
    assert other is not None
    assert may_be_one(one, other) == may_be_one(other, one)
    return may_be_one(one, other)


def test_what_is_stated_decides() -> None:
    """Near numbers and equal words are alike; what one of the two leaves out may be alike."""
    full = {"concurrency": 64, "input_tok": 2048, "output_tok": 512, "prompt_class": "prose"}
    assert alike(at=full)
    assert alike(at={**full, "concurrency": 128})
    assert not alike(at={**full, "concurrency": 129})
    assert not alike(at={**full, "input_tok": 32768})
    assert alike(at={"concurrency": 64, "input_tok": None, "input_nominal": "2K"})
    assert not alike(at={"concurrency": 64, "input_tok": None, "input_nominal": "32K"})
    assert alike(at={"concurrency": 64, "input_tok": None, "input_nominal": "8K to 32K"})
    assert not alike(at={**full, "output_tok": 64})
    assert not alike(at={**full, "prompt_class": "code"})
    assert not alike(at={**full, "depth_tok": 65536})
    assert alike(at={"concurrency": 64, "input_tok": None, "output_tok": None, "prompt_class": None})


def test_another_system_is_not_alike() -> None:
    """Accelerators in use, the method of speculation, weights and power are the system's."""
    full = {"concurrency": 64, "input_tok": 2048, "output_tok": 512, "prompt_class": "prose"}
    assert not alike(at={**full, "accelerators": 1})
    assert not alike(at=full, speculation={"method": "none", "draft_tok": None, "acceptance_length": None})
    assert not alike(at=full, model={"weight_dtype": "int4"})
    assert not alike(at=full, system={"power_limit_w": "200", "power_limit_as_published": "200 W"})


@pytest.mark.parametrize(
    ("of_result", "over"),
    [
        ({"metric": "ttft_ms", "statistic": "p50"}, {}),
        ({"standing": "disputed", "standing_reason": "x"}, {}),
        ({"with": [{"field": "serving.context_tok", "value": 4096}]}, {}),
        ({"at": {"concurrency": None, "input_tok": 2048}}, {}),
        ({}, {"comparison_class": "mlperf-inference-v6.1/llama2-70b-99/closed/offline"}),
        ({}, {"system": {"accelerator_count": None}}),
    ],
)
def test_what_is_held_against_nothing(of_result: dict[str, Any], over: dict[str, Any]) -> None:
    """No latency, nothing that fell, no changed setting, nothing without a load, no closed class, no unknown system."""
    assert load(of_result, **over) is None


def test_a_prefill_is_of_one_request() -> None:
    """Its metric says so, where the record does not."""
    found = load({"metric": "prefill_tok_s", "at": {"concurrency": None, "input_tok": 2048}})
    assert found is not None
    assert found.concurrency == 1


@pytest.mark.parametrize(
    ("one", "other", "far"),
    [("11218", "60131", True), ("180455", "11269", True), ("100", "300", False), ("100", "301", True)],
)
def test_far_is_more_than_three_times(one: str, other: str, *, far: bool) -> None:
    """The published cases are far; what versions and settings do is not."""
    assert far_apart(Decimal(one), Decimal(other)) is far
    assert far_apart(Decimal(other), Decimal(one)) is far
