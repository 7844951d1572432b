"""Raw tables: exact there and back, small, and refused when they are not what they were."""

import hashlib
import random
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kbtool.runner.folder import Column, ColumnType, RawFileError, Table
from kbtool.runner.folder.raw import EVENT_COLUMNS, REQUEST_COLUMNS, decode_traces, encode_traces
from kbtool.runner.folder.table import decode, encode
from kbtool.runner.trace import ChunkKind, Chunks, ClockSource, Outcome, RequestTrace, Usage
from tests.runner.folder.scenario import make_trace

_TEXT = st.text(st.characters(codec=None), max_size=12)
_TIME = st.none() | st.integers(0, 2**63 - 1)
_COUNT = st.integers(-1, 2**31) | st.integers()
_SOME = st.none() | _COUNT
_NUMBER = st.floats(allow_nan=False) | st.integers(-(10**6), 10**6)


@st.composite
def _chunks(draw: st.DrawFn) -> Chunks:
    n_events = draw(st.integers(0, 5))

    def column(values: st.SearchStrategy[Any]) -> tuple[Any, ...]:
        return tuple(draw(st.lists(values, min_size=n_events, max_size=n_events)))

    return Chunks(
        column(st.integers(0, 2**62)),
        column(st.sampled_from(ChunkKind)),
        column(_COUNT),
        column(_COUNT),
        column(_SOME),
    )


_USAGES = st.builds(
    Usage,
    **{
        field.name: _COUNT if field.name in {"prompt_tok", "completion_tok"} else _SOME
        for field in fields(Usage)
    },
)
_PARTS: dict[str, st.SearchStrategy[Any]] = {
    "output_tok_fixed": st.booleans(),
    "outcome": st.sampled_from(Outcome),
    "status": _SOME,
    "headers": st.lists(st.tuples(_TEXT, _TEXT), max_size=3).map(tuple),
    "clock": st.sampled_from(ClockSource),
    "chunks": _chunks(),
    "usage": st.none() | _USAGES,
    "finish_reason": st.none() | _TEXT,
    "model": st.none() | _TEXT,
    "system_fingerprint": st.none() | _TEXT,
    "server_timings": st.lists(st.tuples(_TEXT, _NUMBER), max_size=3).map(tuple),
}
_INTEGERS = {"stream", "turn", "asked_output_tok", "n_body_bytes", "retries"}


def _part(name: str) -> st.SearchStrategy[Any]:
    if name.endswith("_ns"):
        return _TIME
    return _PARTS.get(name, _COUNT if name in _INTEGERS else _TEXT)


_TRACES = st.builds(RequestTrace, **{field.name: _part(field.name) for field in fields(RequestTrace)})


@given(st.lists(_TRACES, max_size=4))
@settings(max_examples=150)
def test_traces_come_back_exactly(traces: list[RequestTrace]) -> None:
    """Whatever a server answered, lone surrogates and enormous numbers too, is read as it was seen."""
    requests, events = encode_traces(traces)
    assert decode_traces(requests, events, place="round") == tuple(traces)


def test_every_field_of_a_trace_has_a_column() -> None:
    """A field that is added to a trace is not forgotten on the disk, and each column says what it holds."""
    columns = {column.name for column in REQUEST_COLUMNS}
    own = {field.name for field in fields(RequestTrace)} - {"chunks", "usage"}
    assert columns == own | {f"usage.{field.name}" for field in fields(Usage)} | {"n_events", "exact"}
    assert {column.name for column in EVENT_COLUMNS} == {field.name for field in fields(Chunks)} | {"request"}
    assert all(column.meaning for column in (*REQUEST_COLUMNS, *EVENT_COLUMNS))


def test_equal_traces_give_equal_bytes() -> None:
    """Two writers of the same round write the same files."""
    traces = [make_trace(number) for number in range(5)]
    assert encode_traces(traces) == encode_traces(traces)


def test_an_event_takes_at_most_12_bytes() -> None:
    """64 streams of 256 events with jitter and one to four tokens a chunk: requests and events together."""
    traces = [make_trace(number, n_events=256) for number in range(64)]
    requests, events = encode_traces(traces)
    assert (len(requests) + len(events)) / (64 * 256) <= 12


def test_events_of_unequal_columns_are_refused() -> None:
    """A stream whose columns differ in length is a mistake of the client, and is named."""
    broken = replace(make_trace(3), chunks=Chunks(t_ns=(1, 2), kind=(ChunkKind.CONTENT,)))
    with pytest.raises(ValueError, match=r"'c/1/3'.*differ in length"):
        encode_traces([broken])


def test_tables_of_different_rounds_are_not_mixed() -> None:
    """Requests of one round with the events of another are refused."""
    one, two = encode_traces([make_trace(1)]), encode_traces([make_trace(1, n_events=6)])
    with pytest.raises(RawFileError, match=r"round 1: .*do not belong together"):
        decode_traces(one[0], two[1], place="round 1")
    with pytest.raises(RawFileError, match="holds the table 'events', and 'requests' was expected"):
        decode_traces(one[1], one[0], place="round 1")


def test_every_flipped_bit_is_refused() -> None:
    """No byte of a file can change without the reader saying so."""
    rng = random.Random(3)
    for data in encode_traces([make_trace(1, n_events=2)]):
        kind = "requests" if b"kbtool-table/requests" in data else "events"
        for position in range(len(data)):
            flipped = bytearray(data)
            flipped[position] ^= 1 << rng.randrange(8)
            with pytest.raises(RawFileError):
                decode(bytes(flipped), kind=kind, versions=(1,), place="x")


def test_every_cut_file_is_refused() -> None:
    """A file that a crash cut short is refused before the parser sees it."""
    _, events = encode_traces([make_trace(1)])
    for cut in range(len(events)):
        with pytest.raises(RawFileError, match="x: "):
            decode(events[:cut], kind="events", versions=(1,), place="x")


def test_unknown_versions_are_refused() -> None:
    """A later version is not guessed at; the message says what reads it."""
    data = encode(Table("events", 2, (Column("x", ColumnType.INT64, "x", (1,)),)))
    with pytest.raises(
        RawFileError, match=r"version 2 of the table 'events', and this kbtool reads 1: .*a later one"
    ):
        decode(data, kind="events", versions=(1,), place="x")


def test_a_sealed_file_that_is_no_parquet_is_refused() -> None:
    """A stranger may seal anything: what makes the parser panic comes back as an error."""
    seal = b"kbtool-table/events/1/sha256:"
    for body in (b"", b"\xff" * 50, seal * 3):
        start = b"PAR1" + body + seal
        rest = len(seal + b"0" * 64).to_bytes(4, "little") + b"PAR1"
        digest = hashlib.sha256(start + b"0" * 64 + rest).hexdigest().encode()
        with pytest.raises(RawFileError, match="the Parquet parser refuses it"):
            decode(start + digest + rest, kind="events", versions=(1,), place="x")


def test_hostile_text_that_looks_like_a_seal_changes_nothing() -> None:
    """A server may answer with the text of a seal: the file's own is the last one in its footer."""
    text = "kbtool-table/requests/9/sha256:" + "0" * 64
    trace = replace(make_trace(1), text=text, detail=text, id=text)
    assert decode_traces(*encode_traces([trace]), place="x") == (trace,)


def test_tables_keep_gaps_names_and_meanings() -> None:
    """A missing sample is None and not 0, and a reader is told what each column is."""
    columns = (
        Column("t_ns", ColumnType.INT64, "sampled", (1, 2, 3), delta=True),
        Column("power_w", ColumnType.FLOAT64, "board power", (None, 0.0, 300.25)),
        Column("throttled", ColumnType.BOOL, "clocks held down", (True, None, False)),
        Column("reason", ColumnType.TEXT, "as the driver says", ("", None, "é")),
        Column("fan", ColumnType.UINT8, "percent", (0, 255, None)),
        Column("pid", ColumnType.INT32, "process", (1, None, 2**31 - 1)),
    )
    table = Table("telemetry", 3, columns, (("accelerator", "GPU-1"),))
    found = decode(encode(table), kind="telemetry", versions=(2, 3), place="x")
    assert found == table
    assert found["power_w"] == (None, 0.0, 300.25)
    assert len(found) == 3


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ((), "needs a plain name and columns"),
        (
            (Column("a", ColumnType.INT64, "", (1,)), Column("a", ColumnType.INT64, "", (1,))),
            "different names",
        ),
        (
            (Column("a", ColumnType.INT64, "", (1,)), Column("b", ColumnType.INT64, "", ())),
            "differ in length",
        ),
        ((Column("a", ColumnType.INT64, "", (2**63,)),), r"column a \(int64\)"),
        ((Column("a", ColumnType.TEXT, "", ("\ud800",)),), r"column a \(text\)"),
        ((Column("a", ColumnType.INT64, "", ("x",)),), r"column a \(int64\)"),
    ],
)
def test_tables_that_cannot_be_written_are_refused(columns: tuple[Column, ...], message: str) -> None:
    """The message names the table and the column."""
    with pytest.raises(ValueError, match=message):
        encode(Table("telemetry", 1, columns))
