"""Rows of MLPerf Inference result tables, in the forms in which they were published.

`summary_results.json` of v4.1 to v6.0 is a list with one vocabulary of keys, `summary.json` of v6.1 an object with
another, and tables made of them have columns of their own. Counts come as numbers, as text, or empty.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from kbtool.ingest.document import Document
from kbtool.ingest.model import LeftOut
from kbtool.ingest.reading import Path, Reading, path_text

__all__ = ["Row", "is_table", "location_key", "read_rows"]


@dataclass(frozen=True, slots=True)
class Row:
    """One result: one system, one benchmark, one scenario."""

    place: str
    """Where it stands in its file."""
    round: str
    """Such as `v5.1`."""
    result_id: str | None
    submitter: str
    division: str
    availability: str
    suite: str
    """`datacenter` or `edge`."""
    system: str
    platform: str
    """Name of the system's files."""
    model: str
    """The benchmark, such as `llama2-70b-99.9`."""
    used_model: str
    """The model that ran: another one in the open division, or another spelling."""
    scenario: str
    value: Decimal
    units: str
    accelerator: str
    per_node: int | None
    total: int | None
    """None where the table has no such column or leaves it empty."""
    nodes: int | None
    processor: str
    sockets: int | None
    software: str
    os: str
    notes: str
    weight_types: str
    power: Decimal | None
    power_units: str
    location: str
    ttft_p99_ms: Decimal | None = None
    tpot_p99_ms: Decimal | None = None
    log_tokens_s: Decimal | None = None
    """Tokens a second of LoadGen's summary, where the table has them."""

    @property
    def name(self) -> str:
        """What messages call the row."""
        found = (
            f"{self.result_id or self.round} {self.submitter} {self.platform} {self.model} {self.scenario}"
        )
        return f"{found} ({self.place})"


_LIST_KEYS: Final[Mapping[str, str]] = {
    "round": "version", "result_id": "ID", "submitter": "Submitter", "division": "Category",
    "availability": "Availability", "suite": "Suite", "system": "System", "platform": "Platform", "model": "Model",
    "used_model": "UsedModel", "scenario": "Scenario", "value": "Performance_Result", "units": "Performance_Units",
    "accelerator": "Accelerator", "per_node": "a#", "total": "Total Accelerators", "nodes": "Nodes",
    "processor": "Processor", "sockets": "host_processors_per_node", "software": "Software",
    "os": "operating_system", "notes": "Notes", "weight_types": "weight_data_types", "power": "Power_Result",
    "power_units": "Power_Units", "location": "Location",
}  # fmt: skip
_OBJECT_KEYS: Final[Mapping[str, str]] = {
    "round": "version", "result_id": "ID", "submitter": "Organization", "division": "Division",
    "availability": "Availability", "suite": "SystemType", "system": "SystemName", "platform": "Platform",
    "model": "MlperfModel", "used_model": "Model", "scenario": "Scenario", "value": "Result", "units": "Units",
    "accelerator": "accelerator_model_name", "per_node": "accelerators_per_node", "total": "total_accelerators",
    "nodes": "number_of_nodes", "processor": "host_processor_model_name", "sockets": "host_processors_per_node",
    "software": "framework", "os": "operating_system", "notes": "notes", "weight_types": "weight_data_types",
    "power": "Power_Result", "power_units": "Power_Units", "location": "Location",
}  # fmt: skip
_TABLE_KEYS: Final[Mapping[str, str]] = {
    "round": "round", "result_id": "result_id", "submitter": "submitter", "division": "division",
    "availability": "availability", "suite": "suite", "system": "system", "platform": "platform", "model": "model",
    "used_model": "used_model", "scenario": "scenario", "value": "result", "units": "units",
    "accelerator": "accelerator", "per_node": "accelerators_per_node", "total": "total_accelerators",
    "nodes": "nodes", "processor": "processor", "sockets": "processors_per_node", "software": "software",
    "os": "operating_system", "notes": "notes", "weight_types": "weight_data_types", "power": "power_result",
    "power_units": "power_units", "location": "location", "ttft_p99_ms": "ttft_p99_ms", "tpot_p99_ms": "tpot_p99_ms",
    "log_tokens_s": "log_tokens_per_s",
}  # fmt: skip
_ALWAYS: Final = ("submitter", "division", "platform", "model", "scenario", "value")
_COUNTS: Final = frozenset({"per_node", "total", "nodes", "sockets"})
_FIGURES: Final = frozenset({"value", "power", "ttft_p99_ms", "tpot_p99_ms", "log_tokens_s"})
_NONE: Final = frozenset({"", "n/a", "na", "none", "-"})
_LEFT: Final = {
    "Accuracy": ("unmapped", "no metric holds the accuracy of an answer"),
    "accuracy": ("unmapped", "no metric holds the accuracy of an answer"),
    "host_processor_core_count": ("unmapped", "no field holds the cores of a processor"),
    "design_power_watts": ("unmapped", "a design figure, not a measured one"),
    "inferred": ("irrelevant", "1 in rows that have a valid summary of their own: says nothing that holds"),
    "inferred_flag": ("irrelevant", "1 in rows that have a valid summary of their own: says nothing that holds"),
    **dict.fromkeys(
        ("compliance", "errors", "has_power", "p#", "Details", "Code", "Unique ID (e.g. for Audit)", "ColorKey", "PrivateID",
         "log_in_repo", "log_valid", "index_in_summary_json"),
        ("irrelevant", "bookkeeping of the table"),
    ),
    **dict.fromkeys(
        ("valid", "metric", "ttft_limit_ms", "tpot_limit_ms"), ("irrelevant", "a rule of the benchmark, not a result")
    ),
}  # fmt: skip


def is_table(document: Document) -> bool:
    """Return whether a document is a table of results in one of the three forms."""
    first = _first(document.value)
    keys = None if first is None else _keys_of(first)
    return keys is not None


def read_rows(
    document: Document, name: str, *, benchmarks: tuple[str, ...]
) -> tuple[list[Row], int, tuple[LeftOut, ...]]:
    """Return the rows of some benchmarks, how many others there are, and the columns that no field holds.

    Args:
        document: A table for which `is_table` holds.
        name: What messages call it.
        benchmarks: Beginnings of the names of benchmarks to read.

    Raises:
        IngestError: A cell holds what no table holds.
    """
    root = document.value
    first = _first(root)
    keys = _keys_of(first) if first is not None else None
    reading = Reading(name, root, text_numbers=True)
    rows: list[Row] = []
    others = 0
    seen: set[str] = set()
    for place, entry in _entries(root):
        seen.update(map(str, entry))
        model = str(entry.get((keys or _LIST_KEYS)["model"], ""))
        if not model.startswith(benchmarks):
            others += 1
            continue
        rows.append(_row(reading, place, keys or _LIST_KEYS))
    known = set((keys or _LIST_KEYS).values())
    left = tuple(
        LeftOut(each, *_LEFT.get(each, ("unknown", "a column that this reader does not know")))  # type: ignore[arg-type]
        for each in sorted(seen - known)
    )
    return rows, others, left


def location_key(location: str) -> str:
    """Return the folder of a result, spelled one way: rounds differ in what they put before and behind it."""
    found = location.removeprefix("./").partition("/performance/")[0]
    return found.strip("/").casefold()


def _first(root: Any) -> Mapping[str, Any] | None:
    return next((each for _, each in _entries(root)), None)


def _entries(root: Any) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    items: Any = enumerate(root) if isinstance(root, list) else root.items() if isinstance(root, dict) else ()
    for key, value in items:
        if isinstance(value, dict):
            yield (key,), value


def _keys_of(entry: Mapping[str, Any]) -> Mapping[str, str] | None:
    for keys in (_LIST_KEYS, _OBJECT_KEYS, _TABLE_KEYS):
        if all(keys[each] in entry for each in _ALWAYS):
            return keys
    return None


def _row(reading: Reading, place: Path, keys: Mapping[str, str]) -> Row:
    found: dict[str, Any] = {}
    for name, key in keys.items():
        path = (*place, key)
        value = reading.value(*path)
        if name in _COUNTS:
            found[name] = None if _is_empty(value) else reading.count(*path)
        elif name in _FIGURES:
            found[name] = None if _is_empty(value) else reading.number(*path)
        else:
            found[name] = "" if value is None else _text(reading, path, value)
    if found["value"] is None:
        raise reading.wrong((*place, keys["value"]), "", "a figure")
    found["round"] = _round(found["round"])
    found["result_id"] = found["result_id"] or None
    found["used_model"] = found["used_model"] or found["model"]
    found["scenario"] = _scenario(found["scenario"])
    return Row(place=path_text(place), **found)


def _text(reading: Reading, path: Path, value: Any) -> str:
    if not isinstance(value, str):
        raise reading.wrong(path, value, "text")
    return value.strip()


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, str) and value.strip().casefold() in _NONE)


def _round(text: str) -> str:
    """Return the round as `v5.1`, however the table spells it."""
    match = re.fullmatch(r"v?(\d+\.\d+)", text)
    return f"v{match[1]}" if match else text


def _scenario(text: str) -> str:
    """Return the scenario in the rules' own spelling: some folders are in lower case."""
    known = {
        each.casefold(): each for each in ("Offline", "Server", "Interactive", "SingleStream", "MultiStream")
    }
    return known.get(text.casefold(), text)
