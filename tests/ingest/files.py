"""Result files for the tests: real ones, cut short, and small ones that a test makes itself."""

import json
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from kbtool.ingest import Given, Imported, read

__all__ = ["FIXTURES", "NAMES", "data_of", "figures", "given", "imported", "reasons", "value_of"]

FIXTURES: Final = Path(__file__).parent.parent / "fixtures" / "ingest"
NAMES: Final = tuple(sorted(path.name for path in FIXTURES.iterdir()))


def data_of(name: str) -> bytes:
    """Return the bytes of a fixture."""
    return (FIXTURES / name).read_bytes()


def value_of(name: str) -> Any:
    """Return the plain data of a JSON fixture; the first line of one of lines."""
    text = data_of(name).decode()
    return json.loads(text.splitlines()[0] if name.endswith("l") else text)


def imported(source: str | Mapping[str, Any] | list[Any], name: str = "result.json") -> Imported:
    """Return what a fixture, or plain data, says."""
    if isinstance(source, str):
        return read(None, data_of(source), source)
    return read(None, json.dumps(source).encode(), name)


def figures(result: Imported) -> dict[tuple[str, str | None], Decimal]:
    """Return the values by metric and statistic; of several conditions the first counts."""
    found: dict[tuple[str, str | None], Decimal] = {}
    for each in result.measurements:
        found.setdefault((each.metric, each.statistic), each.value)
    return found


def reasons(result: Imported, outcome: str) -> dict[str, str]:
    """Return word -> reason of what was converted, refused or flagged."""
    return {each.word: each.reason for each in result.conversions if each.outcome == outcome}


def given(name: str = "x", **changes: Any) -> Given:
    """Return the answers that go with the base records of the lint tests."""
    fields: dict[str, Any] = {
        "benchmark_id": f"ev-{name}",
        "source_id": f"src-{name}",
        "accelerator": "accelerators/base-accelerator",
        "engine": "engines/base-engine",
        "model": "models/base-model",
        "publisher": "Example Lab",
        "accessed": date(2026, 11, 30),
        "url": f"https://example.org/results/{name}",
    }
    return Given(**(fields | changes))
