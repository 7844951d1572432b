"""What stands beside an MLPerf result in its repository: the description of the system and LoadGen's summary."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Any, Final

from kbtool.ingest.document import Document
from kbtool.ingest.fault import IngestError
from kbtool.ingest.mlperf_rows import location_key

__all__ = ["Summary", "SystemFile", "is_summary", "is_system", "read_summary", "read_systems"]

_MOST_SUMMARY_BYTES: Final = 256 * 1024
_HEAD: Final = b"MLPerf Results Summary"
_LINE: Final = re.compile(r"^\s*(?P<key>[^:]{1,80}?)\s*:\s*(?P<value>[^\s].{0,80}?)\s*$")
_NS: Final = re.compile(r"[0-9]{1,18}")
_NUMBER: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:e\+?[0-9]{1,2})?")


@dataclass(frozen=True, slots=True)
class SystemFile:
    """The description of a system, of the fields that a record can use."""

    path: str
    """Path in the repository, as far as it is known."""
    framework: str
    other_software: str
    host_memory: str
    link: str
    """The link between accelerators as the file names it. Such text is pasted from other systems at times."""


@dataclass(frozen=True, slots=True)
class Summary:
    """LoadGen's own summary of one run."""

    path: str
    valid: bool
    tokens_s: Decimal | None
    """Output tokens a second, however the scenario calls them."""
    ttft_p99_ns: int | None
    tpot_p99_ns: int | None
    estimate_p90_ns: int | None
    """The 90th percentile that a run of few queries is judged on: above that of the run itself."""
    target_req_s: Decimal | None
    """Rate at which the Server scenario sent requests."""
    inferred: bool
    """Whether tokens were computed from samples, and not counted."""

    def same_run(self, other: "Summary") -> bool:
        """Return whether two summaries are of one run: every figure is the same."""
        return replace(self, path="") == replace(other, path="")


def is_system(document: Document) -> bool:
    """Return whether a document describes systems."""
    value = document.value
    first = value[0] if isinstance(value, list) and value else value
    return isinstance(first, dict) and {"submitter", "accelerator_model_name", "framework"} <= set(first)


def read_systems(document: Document, name: str) -> Iterator[tuple[tuple[str, str, str], SystemFile]]:
    """Yield descriptions by division, submitter and platform."""
    value = document.value
    for entry in value if isinstance(value, list) else [value]:
        if not isinstance(entry, dict):
            continue
        path = _in_repository(str(entry.get("file") or name))
        platform = PurePosixPath(path).name.removesuffix(".json")
        parts = path.split("/")
        placed = len(parts) > 3 and parts[0] in ("closed", "open")
        division, submitter = parts[:2] if placed else (_cell(entry, "division"), _cell(entry, "submitter"))
        yield (
            (division.casefold(), submitter.casefold(), platform),
            SystemFile(
                path,
                _cell(entry, "framework"),
                _cell(entry, "other_software_stack"),
                _cell(entry, "host_memory_capacity"),
                _cell(entry, "accelerator_interconnect"),
            ),
        )


def is_summary(data: bytes) -> bool:
    """Return whether a file is LoadGen's summary."""
    return _HEAD in data[:400]


def read_summary(data: bytes, name: str) -> tuple[str, Summary]:
    """Return the key of the result's folder, and the summary.

    Raises:
        IngestError: It is too large, is not text, or its path does not say whose it is.
    """
    path = _in_repository(name)
    if not path.startswith(("closed/", "open/")):
        raise IngestError(
            name, "", "a summary whose path names no division", "closed/SUBMITTER/results/SYSTEM/... as in the repository",
            "give the path from the repository's root",
        )  # fmt: skip
    if len(data) > _MOST_SUMMARY_BYTES:
        raise IngestError(
            name, "", f"{len(data):,} bytes", f"at most {_MOST_SUMMARY_BYTES:,}", "give LoadGen's summary"
        )
    values: dict[str, str] = {}
    for text in data.decode("utf-8", "replace").splitlines():
        match = _LINE.match(text)
        if match:
            values.setdefault(match["key"].casefold(), match["value"])
    return location_key(path), Summary(
        path,
        values.get("result is", "").upper() == "VALID",
        _tokens(values),
        _nanoseconds(values, "99.00 percentile first token latency (ns)"),
        _nanoseconds(values, "99.00 percentile time to output token (ns)"),
        _nanoseconds(values, "* early stopping 90th percentile estimate"),
        _number(values.get("target_qps", "")),
        any(key.endswith("tokens per second (inferred)") for key in values),
    )


def _in_repository(name: str) -> str:
    """Return the part of a path that begins with the division; the name as it is where there is none."""
    match = re.search(r"(?:^|/)((?:closed|open)/.+)$", name.replace("\\", "/"))
    return match[1] if match else PurePosixPath(name).name


def _cell(entry: Mapping[str, Any], key: str) -> str:
    value = entry.get(key)
    text = "" if value is None else str(value).strip()
    return "" if text.casefold() in ("n/a", "none", "todo", "tbd") else text


def _tokens(values: Mapping[str, str]) -> Decimal | None:
    for key in ("tokens per second", "completed tokens per second", "tokens per second (inferred)", "completed tokens per second (inferred)"):  # fmt: skip
        found = _number(values.get(key, ""))
        if found is not None:
            return found
    return None


def _number(text: str) -> Decimal | None:
    return Decimal(text) if _NUMBER.fullmatch(text) else None


def _nanoseconds(values: Mapping[str, str], key: str) -> int | None:
    text = values.get(key, "")
    return int(text) if _NS.fullmatch(text) and int(text) > 0 else None
