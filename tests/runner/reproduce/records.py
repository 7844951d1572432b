"""Benchmark records made by hand, and those of the knowledge base itself."""

from functools import cache
from pathlib import Path
from typing import Any

from kbtool.schema import Benchmark
from kbtool.store import load

__all__ = ["benchmark", "corpus", "result"]

ROOT = Path(__file__).resolve().parents[3]


@cache
def corpus() -> dict[str, Benchmark]:
    """Return the benchmark records of the knowledge base that a plan may be held against, by id."""
    every = (record for record in load(str(ROOT)).records.values() if isinstance(record, Benchmark))
    return {record.id: record for record in every if not record.comparison_class}


def result(name: str = "output-c8", metric: str = "output_tok_s", **changes: Any) -> dict[str, Any]:
    """Return a result of eight users, some parts replaced; `at` replaces all conditions."""
    return {
        "id": name,
        "metric": metric,
        "value": 100,
        "statistic": "median",
        "as_published": "100",
        "at": {"concurrency": 8, "input_tok": 1024, "output_tok": 256, "prompt_class": "prose", "temperature": 0},
        "evidence": [{"source": "sources/s", "locator": "table 1"}],
        **changes,
    }  # fmt: skip


def benchmark(*results: dict[str, Any], **changes: Any) -> Benchmark:
    """Return a record of vLLM on four accelerators; its first result is the headline."""
    rows = results or (result(),)
    said: dict[str, Any] = {
        "schema_version": 1,
        "id": "demo",
        "title": "Demo",
        "status": "draft",
        "updated": "2026-01-01",
        "measured": {"by": "operator"},
        "reproducible": {},
        "system": {"accelerator": "accelerators/a", "accelerator_count": 4, "power_limit_w": 300},
        "engine": {"engine": "engines/vllm", "version": "0.32.0", "arguments": {"--seed": 7}},
        "deployment": {"instances": 1, "tp": 4},
        "model": {"model": "models/m", "checkpoint": "maker/Model-1"},
        "serving": {"context_tok": 4096, "max_running_requests": 16},
        "speculation": {"method": "none"},
        "headline": rows[0]["id"],
        "results": rows,
    }
    return Benchmark.model_validate({**said, **changes})
