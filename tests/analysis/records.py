"""Records for the tests of analysis: a complete benchmark, and what a test lays over it."""

from pathlib import Path
from typing import Any

from kbtool.lint.examples import overlaid, read_base
from kbtool.schema import Benchmark
from kbtool.schema.benchmark import Result

BASE = read_base(Path(__file__).parents[1] / "lint" / "base")


def benchmark(**over: Any) -> Benchmark:
    """Return the complete benchmark with sections of `over` laid over it; mappings merge, the rest replaces."""
    return Benchmark.model_validate(overlaid(BASE["benchmarks/base-benchmark"], over))


def plain_result(**over: Any) -> dict[str, Any]:
    """Return a result as plain data: 93.9 tok/s for one user, with `over` laid over it."""
    result = {
        "id": "decode-prose-1",
        "metric": "tok_s_per_user",
        "value": "93.9",
        "as_published": "93.9 tok/s",
        "at": {"concurrency": 1, "input_tok": 1024, "output_tok": 512},
        "evidence": [{"source": "sources/base-source", "locator": "Table 3"}],
    }
    merged = overlaid(result, over)
    assert isinstance(merged, dict)
    return merged


def result(**over: Any) -> Result:
    """Return a result as a model."""
    return Result.model_validate(plain_result(**over))
