"""Replay: a trace's times, lengths, shared beginnings and sessions."""

import pytest

from kbtool.errors import UsageError
from kbtool.runner.client import Endpoint
from kbtool.runner.load import EndpointChoice, Replay, ReplaySpec
from kbtool.runner.load.schedule import LEAD_NS
from kbtool.runner.prompts import RecordedTrace, read_trace
from kbtool.runner.trace import Outcome
from tests.runner.load.script import MS, body_of, play, prompt_of, work


def trace(*rows: str) -> RecordedTrace:
    """Return a trace of these lines."""
    return read_trace([row.encode() for row in rows], "t")


def row(at_ms: float, tok: int = 100, *, more: str = "") -> str:
    """Return one line."""
    return f'{{"timestamp_ms": {at_ms}, "input_length": {tok}, "output_length": 9{more}}}'


def since_start(played_ms: list[float]) -> list[float]:
    """Return times in ms from the start of the schedule."""
    return [at_ms - LEAD_NS / MS for at_ms in played_ms]


def test_requests_leave_at_recorded_times() -> None:
    """Times, lengths of answers and numbers are those of the trace."""
    played = play(Replay(work(), ReplaySpec(trace(row(0), row(40), row(50)))), lambda *_: 500 * MS)
    assert since_start(played.at_ms) == [0, 40, 50]
    assert played.ids == ["cell/1/0", "cell/1/1", "cell/1/2"]
    assert {body_of(o)["max_tokens"] for _, o in played.sent} == {9}


def test_a_faster_replay_has_shorter_gaps() -> None:
    """At speed 4 a gap of 40 ms is 10 ms, and a pause within a session a fourth."""
    rows = (
        row(0, more=', "session": "a"'),
        row(40),
        '{"session": "a", "delay_ms": 80, "input_length": 9, "output_length": 9}',
    )
    played = play(Replay(work(), ReplaySpec(trace(*rows), speed=4)))
    assert since_start(played.at_ms) == [0, 10, 30]


def test_a_turn_waits_for_the_one_before() -> None:
    """However early it is due, a turn follows its session's last answer and pause; others go on meanwhile."""
    more = ', "session": "a", "delay_ms": 5'
    rows = (row(0, more=more), row(10, 200, more=more), row(20))
    played = play(Replay(work(), ReplaySpec(trace(*rows))), lambda *_: 100 * MS)
    assert since_start(played.at_ms) == [0, 20, 105]
    assert [o.turn for _, o in played.sent] == [1, 1, 2]
    assert [o.due_ns for _, o in played.sent] == [at_ns for at_ns, _ in played.sent]


def test_a_turn_is_not_early() -> None:
    """A turn whose recorded time lies far behind the last answer waits for that time."""
    rows = (row(0, more=', "session": "a"'), row(900, more=', "session": "a"'))
    assert since_start(play(Replay(work(), ReplaySpec(trace(*rows)))).at_ms) == [0, 900]


def test_a_waiting_turn_takes_nobodys_place() -> None:
    """With room for two, a turn that waits for its session does not keep others from leaving when due."""
    session = ', "session": "a"'
    rows = (row(0, more=session), row(1, more=session), row(2, more=session), row(30), row(60))
    driver = Replay(work(), ReplaySpec(trace(*rows), max_in_flight=2))
    played = play(driver, lambda *_: 20 * MS)
    assert since_start(played.at_ms) == [0, 20, 30, 40, 60]
    assert driver.n_held_back == 0


def test_sessions_keep_their_endpoint_and_grow() -> None:
    """Turns of one session go to one endpoint and begin with the last prompt; requests alone take turns."""
    endpoints = (Endpoint("a", "127.0.0.1", 1), Endpoint("b", "127.0.0.1", 2))
    rows = [row(n, 100 + 50 * n, more=f', "session": "{n % 2}"') for n in range(6)]
    driver = Replay(work(endpoints=endpoints, choice=EndpointChoice.STICKY), ReplaySpec(trace(*rows)))
    sent = [o for _, o in play(driver).sent]
    assert [o.endpoint.name for o in sent] == ["a", "b"] * 3
    assert prompt_of(sent[2]).startswith(prompt_of(sent[0]).rstrip())
    assert sent[0].prompt_salt == sent[2].prompt_salt


def test_blocks_are_shared_text() -> None:
    """Requests with equal first ids begin alike."""
    rows = (row(0, 700, more=', "hash_ids": [1, 2]'), row(1, 900, more=', "hash_ids": [1, 3]'))
    a, b = (prompt_of(o) for _, o in play(Replay(work(), ReplaySpec(trace(*rows)))).sent)
    assert a[:2000] == b[:2000]
    assert a[-300:] != b[-300:]


def test_a_bound_makes_requests_late_and_loses_none() -> None:
    """Beyond the bound requests leave as others end, with the time at which they were due."""
    driver = Replay(work(), ReplaySpec(trace(*(row(n) for n in range(5))), max_in_flight=1))
    played = play(driver)
    assert since_start(played.at_ms) == [0, 10, 20, 30, 40]
    assert [((o.due_ns or 0) - LEAD_NS) / MS for _, o in played.sent] == [0, 1, 2, 3, 4]
    assert driver.n_held_back == 4


def test_requests_beyond_the_memory_allowed_are_built_late() -> None:
    """They are the same requests, and how many were built late is told."""
    rows = tuple(row(n * 10) for n in range(6))
    early = Replay(work(), ReplaySpec(trace(*rows)))
    late = Replay(work(), ReplaySpec(trace(*rows), max_in_flight=2, prebuilt_bytes=0))
    assert play(early).sent == play(late).sent
    assert (early.n_built_late, late.n_built_late) == (0, 5)
    assert set(late.expected_tok) == {f"cell/1/{n}" for n in range(6)}


def test_failures_do_not_stop_a_replay() -> None:
    """What was recorded came whatever happened; a failed turn is followed all the same."""
    rows = [row(n, more=', "session": "a"') for n in range(20)]
    played = play(Replay(work(), ReplaySpec(trace(*rows))), fails=lambda *_: Outcome.RESET)
    assert len(played.sent) == 20


def test_a_speed_of_nothing_is_refused() -> None:
    """Time has to pass."""
    with pytest.raises(UsageError, match="above 0"):
        Replay(work(), ReplaySpec(trace(row(0)), speed=0))
