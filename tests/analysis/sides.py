"""Sides of comparisons for tests: a throughput of the base benchmark with something laid over it."""

from typing import Any

from kbtool.analysis.sides import Side, SideFacts
from tests.analysis.records import benchmark, plain_result

LOAD = {"concurrency": 64, "input_tok": 2048, "output_tok": 512, "prompt_class": "prose"}
SYSTEM = {"metric": "output_tok_s", "at": LOAD, "statistic": "mean"}


def side(
    name: str = "one", result: dict[str, Any] | None = None, *, status: str = "draft", **over: Any
) -> Side:
    """Return a throughput of a record of this name."""
    record = benchmark(
        results=[plain_result(**{**SYSTEM, **(result or {})})], headline="decode-prose-1", **over
    )
    return Side(f"benchmarks/{name}", record, record.results[0], status)


def facts(
    name: str = "one", result: dict[str, Any] | None = None, *, status: str = "draft", **over: Any
) -> SideFacts:
    """Return what a comparison looks at in it."""
    return side(name, result, status=status, **over).facts


def speed(value: str, **more: Any) -> dict[str, Any]:
    """Return a result of this value."""
    return {"value": value, "as_published": value, **more}
