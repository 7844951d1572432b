"""Traces: both formats are read, and what makes no sense is refused with its line."""

from pathlib import Path

import pytest

from kbtool.runner.prompts import (
    Bounds,
    LengthModel,
    ReplayText,
    TraceFileError,
    count_pieces,
    read_trace,
    replay_prompt,
    trace_lines,
)

MOONCAKE = b"""\
{"timestamp": 0, "input_length": 6755, "output_length": 500, "hash_ids": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]}
{"timestamp": 0, "input_length": 1319, "output_length": 490, "hash_ids": [0, 14, 15]}
{"timestamp": 3052, "input_length": 287, "output_length": 316, "hash_ids": [46]}
"""
OURS = b"""\
{"format": "kbtool-trace", "version": 1, "block_tok": 64}

{"timestamp_ms": 200.5, "input_length": 300, "output_length": 10, "session": "a"}
{"timestamp_ms": 100, "input_length": 100, "output_length": 10, "hash_ids": [1]}
{"session": "a", "input_length": 500, "output_length": 10, "delay_ms": 250}
"""
HOW = ReplayText(seed=1, salt="run", lengths=LengthModel(1.0, 8.0), block_tok=512)


def lines(raw: bytes) -> list[bytes]:
    """Return the lines of a file."""
    return raw.splitlines(keepends=True)


def test_the_public_format_is_read() -> None:
    """Times, lengths and blocks of 512 tokens."""
    trace = read_trace(lines(MOONCAKE), "t.jsonl")
    assert trace.block_tok == 512
    assert [(r.at_ms, r.input_tok, r.output_tok, len(r.block_ids)) for r in trace.requests] == [
        (0, 6755, 500, 14),
        (0, 1319, 490, 3),
        (3052, 287, 316, 1),
    ]


def test_our_format_is_read_and_ordered() -> None:
    """The header gives the block size; requests are ordered by time from 0, a turn without one after its session's last."""
    trace = read_trace(lines(OURS), "t.jsonl")
    assert trace.block_tok == 64
    assert [(r.line, r.at_ms, r.session, r.delay_ms) for r in trace.requests] == [
        (4, 0.0, None, 0.0),
        (3, 100.5, "a", 0.0),
        (5, None, "a", 250.0),
    ]


def test_a_part_of_a_trace_starts_at_zero() -> None:
    """`first` skips requests and `most` bounds them; times count from the first one taken."""
    trace = read_trace(lines(MOONCAKE), "t.jsonl", first=2, most=1)
    assert [(r.at_ms, r.input_tok) for r in trace.requests] == [(0.0, 287)]


def test_lines_behind_the_part_are_not_read() -> None:
    """What lies behind the requests asked for may be anything."""
    assert len(read_trace([*lines(MOONCAKE), b"{broken"], "t.jsonl", most=3).requests) == 3


def test_a_turn_whose_session_began_before_the_part_comes_where_it_stands() -> None:
    """A session's turn without a time of its own is not moved to the start of the part."""
    raw = [
        b'{"timestamp": 9000, "input_length": 5, "output_length": 1}',
        b'{"session": "a", "input_length": 6, "output_length": 1}',
        b'{"timestamp": 9900, "input_length": 7, "output_length": 1}',
    ]
    trace = read_trace(raw, "t")
    assert [(r.at_ms, r.input_tok) for r in trace.requests] == [(0.0, 5), (0.0, 6), (900.0, 7)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{", r"t:1: not JSON"),
        (b"[1]", r"t:1: found a list"),
        (
            b'{"timestamp": 1, "input_length": "5", "output_length": 1}',
            r"`input_length` is '5'; expected a whole number",
        ),
        (b'{"timestamp": 1, "input_length": 0, "output_length": 1}', r"`input_length` is 0"),
        (b'{"timestamp": 1, "input_length": true, "output_length": 1}', r"`input_length` is True"),
        (b'{"timestamp": 1, "input_length": 5}', r"`output_length` is missing"),
        (b'{"timestamp": -1, "input_length": 5, "output_length": 1}', r"`timestamp_ms` is -1"),
        (b'{"timestamp": 1e99, "input_length": 5, "output_length": 1}', r"`timestamp_ms` is 1e\+99"),
        (b'{"input_length": 5, "output_length": 1}', r"no time"),
        (
            b'{"timestamp": 1, "input_length": 5, "output_length": 1, "hash_ids": [1.5]}',
            r"`hash_ids` is not a list",
        ),
        (b'{"timestamp": 1, "input_length": 5, "output_length": 1, "session": [1]}', r"session is a list"),
        (
            b'{"chat_id": 1, "timestamp": 1, "input_length": 5, "output_length": 1}',
            r"whose times are seconds",
        ),
        (b'{"format": "kbtool-trace", "version": 9}', r"version 9; expected 'kbtool-trace', 1"),
        (b'{"format": "kbtool-trace", "version": 1, "block_tok": 0}', r"`block_tok` is 0"),
        (b"   ", r"no request"),
        (b'{"a": "' + b"x" * 2000 + b'"}', r"longer than 1000 bytes"),
    ],
)
def test_what_makes_no_sense_is_refused(line: bytes, message: str) -> None:
    """Each fault is named with its line and what was expected."""
    with pytest.raises(TraceFileError, match=message):
        read_trace([line], "t", bounds=Bounds(line_bytes=1000))


def test_a_trace_beyond_the_bounds_is_refused() -> None:
    """More requests or tokens than memory should hold need a choice of a part."""
    for bounds in (Bounds(requests=2), Bounds(total_input_tok=7000)):
        with pytest.raises(TraceFileError, match="replay a part of it"):
            read_trace(lines(MOONCAKE), "t", bounds=bounds)


def test_a_line_without_end_is_not_held(tmp_path: Path) -> None:
    """Reading stops right behind the longest line that is allowed."""
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"x" * 10_000)
    assert [len(line) for line in trace_lines(path, line_bytes=100)] == [101]


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    """The path is named."""
    with pytest.raises(TraceFileError, match=r"nothing\.jsonl: cannot be read"):
        list(trace_lines(tmp_path / "nothing.jsonl"))


def test_equal_blocks_are_equal_text() -> None:
    """Two requests share the text of their common beginning, about its length in tokens, and nothing behind it."""
    first, second, third = (replay_prompt(r, HOW) for r in read_trace(lines(MOONCAKE), "t").requests)
    common = next(at for at, (a, b) in enumerate(zip(first.text, second.text, strict=False)) if a != b)
    assert count_pieces(first.text[:common]) == pytest.approx(504, abs=8)
    assert third.text[30:60] != first.text[30:60]
    assert [p.salt for p in (first, second, third)] == ["run"] * 3


def test_replayed_prompts_have_the_recorded_length() -> None:
    """The prompt is as long as recorded, whatever its blocks cover."""
    for request in read_trace(lines(MOONCAKE), "t").requests:
        assert replay_prompt(request, HOW).expected_tok == pytest.approx(request.input_tok, abs=5)


def test_a_session_without_blocks_grows_from_one_text() -> None:
    """A later turn begins with an earlier one's prompt; a request that is alone has a salt of its own."""
    alone_raw = b'{"timestamp": 1, "input_length": 50, "output_length": 1}\n'
    alone, turn_1, turn_2 = read_trace([*lines(OURS)[2:3], *lines(OURS)[4:5], alone_raw], "t").requests
    assert replay_prompt(turn_2, HOW).text.startswith(replay_prompt(turn_1, HOW).text.rstrip())
    assert replay_prompt(alone, HOW).salt != replay_prompt(turn_1, HOW).salt
