"""Reading a stream back: while it grows, torn, and of another version."""

from pathlib import Path

import pytest

from kbtool.runner.telemetry import Event, Kind, StreamReader, TelemetryError, TelemetrySample, read_stream
from kbtool.runner.telemetry.sample import encode, header


def beat(second: int) -> TelemetrySample:
    """Return a beat."""
    return TelemetrySample(t_ns=second * 1_000_000_000, kind=Kind.BEAT)


def test_a_stream_is_read_as_it_grows(tmp_path: Path) -> None:
    """Half a line is kept until its other half comes."""
    file = tmp_path / "telemetry.jsonl"
    reader = StreamReader(file)
    assert reader.poll() == []
    line = encode(beat(2))
    file.write_bytes(header() + encode(beat(1)) + line[:7])
    assert reader.poll() == [beat(1)]
    assert reader.poll() == []
    with file.open("ab") as opened:
        opened.write(line[7:] + encode(beat(3)))
    assert reader.poll() == [beat(2), beat(3)]


def test_every_cut_of_a_stream_gives_its_whole_lines(tmp_path: Path) -> None:
    """Wherever the power went, the rows before the cut are right and none is made up."""
    whole = header() + b"".join(encode(beat(second)) for second in range(1, 4))
    file = tmp_path / "telemetry.jsonl"
    for cut in range(len(whole)):
        file.write_bytes(whole[:cut])
        assert read_stream(file) == [beat(second) for second in range(1, whole[:cut].count(b"\n"))]


def test_a_line_that_was_cut_in_the_middle_is_an_event(tmp_path: Path) -> None:
    """The sampler died while it wrote and was started again: both sides are kept."""
    file = tmp_path / "telemetry.jsonl"
    torn = encode(beat(2))[:9]
    file.write_bytes(header() + encode(beat(1)) + torn + b"\n" + header() + encode(beat(5)))
    rows = read_stream(file)
    assert [(row.kind, row.t_ns) for row in rows] == [
        ("beat", 1_000_000_000),
        ("event", 1_000_000_000),
        ("beat", 5_000_000_000),
    ]
    assert (rows[1].event, rows[1].detail) == (Event.TORN_LINE, "9 bytes of telemetry.jsonl are no row")


def test_a_stream_of_another_version_is_refused(tmp_path: Path) -> None:
    """The message names file, version, and what to do."""
    file = tmp_path / "telemetry.jsonl"
    file.write_bytes(header().replace(b'"version":1', b'"version":9'))
    with pytest.raises(
        TelemetryError, match=r"telemetry\.jsonl: telemetry version 9; .* use the kbtool that wrote it"
    ):
        read_stream(file)


def test_rubbish_is_bounded_and_named(tmp_path: Path) -> None:
    """A file that is no stream gives events, no memory without end and no crash."""
    file = tmp_path / "telemetry.jsonl"
    file.write_bytes(b"\xff" * 3_000_000 + b"\n[[[[\n" + encode(beat(1)))
    rows = read_stream(file)
    assert [row.event for row in rows] == [Event.TORN_LINE, Event.TORN_LINE, None]
