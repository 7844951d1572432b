"""The tools whose files are read: one visible list, and the two functions that everything goes through."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Final

from kbtool.ingest import (
    aiperf,
    aiperf_records,
    ds4_bench,
    evalscope,
    guidellm,
    inference_perf,
    inference_perf_requests,
    llama_bench,
    llmd_report,
    sglang,
    vllm,
)
from kbtool.ingest.document import Document, Kind, parse_document
from kbtool.ingest.fault import IngestError
from kbtool.ingest.model import Imported

__all__ = ["READERS", "Reader", "detect", "read", "tool_ids"]


@dataclass(frozen=True, slots=True)
class Reader:
    """What reads one kind of file of one tool."""

    tool: str
    title: str
    kinds: tuple[Kind, ...]
    detect: Callable[[Any], bool]
    read: Callable[[Any, bytes, str], Imported]


READERS: Final = (
    Reader(vllm.TOOL, vllm.TITLE, ("json",), vllm.detect, vllm.read),
    Reader(sglang.TOOL, sglang.TITLE, ("json", "jsonl"), sglang.detect, sglang.read),
    Reader(guidellm.TOOL, guidellm.TITLE, ("json",), guidellm.detect, guidellm.read),
    Reader(aiperf.TOOL, aiperf.TITLE, ("json",), aiperf.detect, aiperf.read),
    Reader(
        aiperf_records.TOOL,
        aiperf_records.TITLE,
        ("json", "jsonl"),
        aiperf_records.detect,
        aiperf_records.read,
    ),
    Reader(inference_perf.TOOL, inference_perf.TITLE, ("json",), inference_perf.detect, inference_perf.read),
    Reader(
        inference_perf_requests.TOOL,
        inference_perf_requests.TITLE,
        ("json",),
        inference_perf_requests.detect,
        inference_perf_requests.read,
    ),
    Reader(evalscope.TOOL, evalscope.TITLE, ("json",), evalscope.detect, evalscope.read),
    Reader(llama_bench.TOOL, llama_bench.TITLE, ("json", "jsonl"), llama_bench.detect, llama_bench.read),
    Reader(
        llama_bench.TOOL, llama_bench.TITLE, ("markdown",), llama_bench.detect_table, llama_bench.read_table
    ),
    Reader(ds4_bench.TOOL, ds4_bench.TITLE, ("csv",), ds4_bench.detect, ds4_bench.read),
    Reader(llmd_report.TOOL, llmd_report.TITLE, ("yaml", "json"), llmd_report.detect, llmd_report.read),
)
"""In the order in which they are asked; no two of them take the same file."""


def tool_ids() -> tuple[str, ...]:
    """Return the ids of the tools, each once."""
    return tuple(dict.fromkeys(each.tool for each in READERS))


def detect(data: bytes, name: str) -> str | None:
    """Return the id of the tool that wrote a file, by its keys; None where no reader knows it.

    Raises:
        IngestError: The bytes cannot be read at all.
    """
    reader = _reader(parse_document(data, name), None)
    return None if reader is None else reader.tool


def read(tool: str | None, data: bytes, name: str) -> Imported:
    """Return what a result file says.

    Args:
        tool: Id of the tool; None to recognise it by the file's keys.
        data: The file.
        name: What messages and the record call it; folders in it are dropped.

    Raises:
        IngestError: It cannot be read, is of another tool, or holds what no tool writes.
    """
    name = PurePath(name).name or name
    if tool is not None and tool not in tool_ids():
        raise IngestError(
            name, "", f"the tool `{tool}`", f"one of {', '.join(tool_ids())}", "name one of them, or none"
        )
    document = parse_document(data, name)
    reader = _reader(document, tool)
    if reader is None:
        expected = f"a result of {tool}" if tool else f"a result of {', '.join(tool_ids())}"
        raise IngestError(
            name,
            "",
            f"{document.kind} with {_keys(document.value)}",
            expected,
            "name the file that the tool saved",
        )
    return reader.read(document.value, data, name)


def _reader(document: Document, tool: str | None) -> Reader | None:
    wanted = (each for each in READERS if document.kind in each.kinds and tool in (None, each.tool))
    return next((each for each in wanted if each.detect(document.value)), None)


def _keys(value: Any) -> str:
    first = value[0] if isinstance(value, list) and value else value
    if not isinstance(first, dict):
        return "no keys"
    return "the keys " + ", ".join(sorted(map(str, first))[:6])
