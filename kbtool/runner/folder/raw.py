"""Request traces as two Parquet tables, and back, without any loss.

`requests` has one row a request, in the order given; `events` has one row an event of a stream, in order of
request and arrival. All times are ns of CLOCK_MONOTONIC. What each column means is in `REQUEST_COLUMNS` and
`EVENT_COLUMNS`, and in the files themselves.

Texts are UTF-8 and integers have 64 bits, so that any Parquet reader can use them. What a hostile server can
make that neither holds, a lone surrogate or an enormous number, is null there and stands, as JSON, in `exact`.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any, Final

from kbtool.runner.folder.errors import RawFileError
from kbtool.runner.folder.table import Column, ColumnType, Table, decode, encode
from kbtool.runner.trace import FORMAT_VERSION, ChunkKind, Chunks, ClockSource, Outcome, RequestTrace, Usage

__all__ = ["EVENT_COLUMNS", "REQUEST_COLUMNS", "RawColumn", "decode_traces", "encode_traces"]

_BOOL, _UINT8, _INT32 = ColumnType.BOOL, ColumnType.UINT8, ColumnType.INT32
_INT64, _TEXT = ColumnType.INT64, ColumnType.TEXT

_REQUESTS: Final = "requests"
_EVENTS: Final = "events"


@dataclass(frozen=True, slots=True)
class RawColumn:
    """One column of a raw table.

    Attributes:
        name: That of the field; `usage.` before those of `Usage`.
        type: What its values are.
        meaning: What a value is, with its unit.
        delta: See `Column.delta`.
    """

    name: str
    type: ColumnType
    meaning: str
    delta: bool = False


REQUEST_COLUMNS: Final = (
    RawColumn("id", _TEXT, "unique in the run: cell/round/number"),
    RawColumn("endpoint", _TEXT, "name of the endpoint in the plan"),
    RawColumn("stream", _INT64, "closed loop: number of the user; open loop: 0"),
    RawColumn("turn", _INT64, "turn of the conversation, from 1"),
    RawColumn("asked_model", _TEXT, "model asked for"),
    RawColumn("asked_output_tok", _INT64, "output tokens asked for"),
    RawColumn("output_tok_fixed", _BOOL, "whether the engine was told to generate exactly that many"),
    RawColumn("prompt_class", _TEXT, "class of the prompt's text"),
    RawColumn("prompt_salt", _TEXT, "what makes the prompt unique; equal: a prefix shared on purpose"),
    RawColumn("due_ns", _INT64, "when the schedule wanted it sent; null in a closed loop", delta=True),
    RawColumn("connect_start_ns", _INT64, "connecting began", delta=True),
    RawColumn("connected_ns", _INT64, "connection established", delta=True),
    RawColumn(
        "sent_ns",
        _INT64,
        "just before the first byte was handed to the kernel: t0 of every latency",
        delta=True,
    ),
    RawColumn("sent_all_ns", _INT64, "the last byte was handed to the kernel", delta=True),
    RawColumn("first_byte_ns", _INT64, "first byte of the answer", delta=True),
    RawColumn("done_ns", _INT64, "last byte of the body", delta=True),
    RawColumn("outcome", _TEXT, "ok, or the class of failure"),
    RawColumn("detail", _TEXT, "what was found, for a failure"),
    RawColumn("status", _INT64, "HTTP status"),
    RawColumn("headers", _TEXT, "answer's headers on the allow list: JSON array of [name, value]"),
    RawColumn("clock", _TEXT, "who took the receive times: kernel, or user (the client itself)"),
    RawColumn("finish_reason", _TEXT, "as the server gave it"),
    RawColumn("model", _TEXT, "model name in the answer"),
    RawColumn("system_fingerprint", _TEXT, "as the server gave it"),
    RawColumn("text", _TEXT, "the answer's text, content only"),
    RawColumn("reasoning_text", _TEXT, "the answer's reasoning text"),
    RawColumn("n_body_bytes", _INT64, "bytes of the answer's body"),
    RawColumn("server_timings", _TEXT, "numbers of the server on this request: JSON array of [name, value]"),
    RawColumn("retries", _INT64, "connections that failed before a byte was sent"),
    RawColumn("usage.prompt_tok", _INT64, "prompt tokens, as the server counts"),
    RawColumn("usage.completion_tok", _INT64, "output tokens, as the server counts"),
    RawColumn("usage.cached_tok", _INT64, "prompt tokens taken from the prefix cache"),
    RawColumn("usage.reasoning_tok", _INT64, "output tokens that were reasoning"),
    RawColumn("usage.cache_write_tok", _INT64, "prompt tokens written to the prefix cache"),
    RawColumn("usage.draft_tok", _INT64, "draft tokens of this request"),
    RawColumn("usage.accepted_draft_tok", _INT64, "draft tokens that were accepted"),
    RawColumn("usage.verify_steps", _INT64, "verify steps of this request"),
    RawColumn("n_events", _INT64, "rows of this request in the table of events"),
    RawColumn(
        "exact", _TEXT, "fields that the other columns cannot hold, as a JSON object; null almost always"
    ),
)

EVENT_COLUMNS: Final = (
    RawColumn("request", _INT32, "row of the request in its table, from 0", delta=True),
    RawColumn(
        "t_ns", _INT64, "when it was received; equal times: one segment, one step of the engine", delta=True
    ),
    RawColumn("kind", _UINT8, ", ".join(f"{kind.value} {kind.name.lower()}" for kind in ChunkKind)),
    RawColumn("n_bytes", _INT64, "bytes on the wire, without the framing of the transfer coding"),
    RawColumn("n_chars", _INT64, "characters of generated text"),
    RawColumn(
        "cumulative_tok", _INT64, "output tokens so far, where the server says so with each event", delta=True
    ),
)

_USAGE: Final = "usage."
_JSON_FIELDS: Final = frozenset({"headers", "server_timings"})
_DERIVED: Final = frozenset({"n_events", "exact"})
_CHUNK_COLUMNS: Final = tuple(column for column in EVENT_COLUMNS if column.name != "request")
_ENUMS: Final[dict[str, Callable[[Any], Any]]] = {"outcome": Outcome, "clock": ClockSource, "kind": ChunkKind}
_INT64_MIN: Final = -(2**63)
_INT64_MAX: Final = 2**63 - 1


def encode_traces(traces: Sequence[RequestTrace]) -> tuple[bytes, bytes]:
    """Return the bytes of the two files, requests and events, of one round.

    Raises:
        ValueError: The columns of a stream's events differ in length.
    """
    rows = [_request_row(trace) for trace in traces]
    requests = tuple(_column(column, [row[column.name] for row in rows]) for column in REQUEST_COLUMNS)
    events: dict[str, list[Any]] = {column.name: [] for column in EVENT_COLUMNS}
    for number, trace in enumerate(traces):
        events["request"].extend([number] * len(trace.chunks))
        for column in _CHUNK_COLUMNS:
            events[column.name].extend(
                _storable(column.name, value) for value in getattr(trace.chunks, column.name)
            )
    return (
        encode(Table(_REQUESTS, FORMAT_VERSION, requests)),
        encode(
            Table(
                _EVENTS,
                FORMAT_VERSION,
                tuple(_column(column, events[column.name]) for column in EVENT_COLUMNS),
            )
        ),
    )


def decode_traces(requests: bytes, events: bytes, *, place: str) -> tuple[RequestTrace, ...]:
    """Return the traces of one round from the bytes of its two files.

    Args:
        requests: The file of requests.
        events: The file of events.
        place: The round, for messages.

    Raises:
        RawFileError: A file is damaged, of an unknown version, or not the other's companion.
    """
    request_table = _decode_table(requests, _REQUESTS, REQUEST_COLUMNS, place)
    event_table = _decode_table(events, _EVENTS, EVENT_COLUMNS, place)
    starts = _event_starts(request_table["n_events"], event_table["request"], place)
    rows = zip(*(column.values for column in request_table.columns), strict=True)
    names = [column.name for column in request_table.columns]
    chunk_columns = {column.name: event_table[column.name] for column in _CHUNK_COLUMNS}
    traces = []
    for start, values in zip(starts, rows, strict=True):
        row = dict(zip(names, values, strict=True))
        end = start + row["n_events"]
        own: dict[str, Sequence[Any]] = {name: column[start:end] for name, column in chunk_columns.items()}
        try:
            traces.append(_trace(row, own))
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise RawFileError(
                f"{place}: request {row['id']!r}: {error}: it was written by another version of kbtool, "
                "or by another program"
            ) from error
    return tuple(traces)


def _column(column: RawColumn, values: Sequence[Any]) -> Column:
    return Column(column.name, column.type, column.meaning, values, column.delta)


def _fields_of(trace: RequestTrace) -> Iterable[tuple[str, Any]]:
    """Yield name and value of every field that a column of the table of requests holds."""
    for column in REQUEST_COLUMNS:
        name = column.name
        if name in _DERIVED:
            continue
        if name.startswith(_USAGE):
            yield name, None if trace.usage is None else getattr(trace.usage, name.removeprefix(_USAGE))
        else:
            yield name, getattr(trace, name)


def _request_row(trace: RequestTrace) -> dict[str, Any]:
    lengths = {column.name: len(getattr(trace.chunks, column.name)) for column in _CHUNK_COLUMNS}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"request {trace.id!r}: the columns of its events differ in length: {lengths}")
    exact: dict[str, Any] = {}
    row: dict[str, Any] = {"n_events": len(trace.chunks)}
    for name, value in _fields_of(trace):
        row[name] = _storable(name, value)
        if row[name] is None and value is not None:
            exact[name] = value
    for column in _CHUNK_COLUMNS:
        values = getattr(trace.chunks, column.name)
        if any(_storable(column.name, value) is None and value is not None for value in values):
            exact[f"chunks.{column.name}"] = values
    row["exact"] = json.dumps(exact) if exact else None
    return row


def _storable(name: str, value: Any) -> Any:
    """Return the value as its column holds it, or None where no column can."""
    if name in _JSON_FIELDS:
        return json.dumps(value, separators=(",", ":"))
    if isinstance(value, str):
        return str(value) if value.isascii() or _is_utf8(value) else None
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value) if _INT64_MIN <= value <= _INT64_MAX else None
    return value


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _decode_table(data: bytes, kind: str, columns: Sequence[RawColumn], place: str) -> Table:
    table = decode(data, kind=kind, versions=(FORMAT_VERSION,), place=f"{place}, {kind}")
    found = {column.name: column.type for column in table.columns}
    expected = {column.name: column.type for column in columns}
    if found != expected:
        odd = sorted(set(found.items()) ^ set(expected.items()))
        raise RawFileError(
            f"{place}: the table of {kind} has other columns than version {FORMAT_VERSION}: {odd}"
        )
    return table


def _event_starts(n_events: Sequence[int], owners: Sequence[int], place: str) -> list[int]:
    """Return where the events of each request begin, once the two tables agree."""
    counted = {owner: sum(1 for _ in group) for owner, group in groupby(owners)}
    said = {row: count for row, count in enumerate(n_events) if count}
    if None in n_events or counted != said or any(a > b for a, b in pairwise(owners)):
        raise RawFileError(
            f"{place}: the tables of requests and events do not belong together: was one renamed?"
        )
    starts, position = [], 0
    for count in n_events:
        starts.append(position)
        position += count
    return starts


def _trace(row: dict[str, Any], chunks: dict[str, Sequence[Any]]) -> RequestTrace:
    exact = json.loads(row.pop("exact") or "{}")
    del row["n_events"]
    for name in _JSON_FIELDS:
        row[name] = tuple((key, value) for key, value in json.loads(row[name]))
    for name, value in exact.items():
        if name.startswith("chunks."):
            chunks[name.removeprefix("chunks.")] = tuple(value)
        else:
            row[name] = value
    usage = {name.removeprefix(_USAGE): row.pop(name) for name in list(row) if name.startswith(_USAGE)}
    chunks["kind"] = tuple(map(_ENUMS["kind"], chunks["kind"]))
    for name in ("outcome", "clock"):
        row[name] = _ENUMS[name](row[name])
    return RequestTrace(
        **row,
        chunks=Chunks(**chunks),  # type: ignore[arg-type] # the columns are those of the class: see the tests
        usage=None if usage["prompt_tok"] is None else Usage(**usage),
    )
