"""Requests in flight, the window at full concurrency, and the tokens inside it."""

import pytest

from kbtool.runner.metrics.occupancy import (
    in_flight_integral_ns,
    peak_in_flight,
    steady_window,
    tokens_within,
    wall_ns,
    window_of,
)
from kbtool.runner.trace import Outcome
from tests.runner.metrics.traces import MS, engine_trace, failed, trace


def test_window_of_one_wave_runs_from_last_first_token_to_first_end() -> None:
    """Four users, all needed: prefill and tail are left out."""
    wave = [
        trace(chunks_ms=[10 + 5 * user, 100 + 10 * user], osl=8, stream=user, number=user)
        for user in range(4)
    ]
    window = steady_window(wave, 4)
    assert window is not None
    assert (window.start_ns, window.end_ns) == (25 * MS, 100 * MS)
    assert window.mean_in_flight == 4
    assert window.share_ratio == pytest.approx(75 / 130)


def test_window_allows_for_a_tenth_missing() -> None:
    """Of ten users, nine make it full: the slowest to start and the first to end do not bound it."""
    wave = [trace(chunks_ms=[10 + user, 100 + user], osl=8, stream=user, number=user) for user in range(10)]
    window = steady_window(wave, 10)
    assert window is not None
    assert (window.start_ns, window.end_ns) == (18 * MS, 101 * MS)


def test_window_spans_many_waves_and_keeps_their_dips() -> None:
    """Users that send again at once hold the concurrency; a pause in between belongs to it."""
    waves = [
        trace(sent_ms=start, chunks_ms=[10, 100], osl=8, stream=user, number=int(start) + user)
        for user in range(2)
        for start in (0, 100, 250)
    ]
    window = steady_window(waves, 2)
    assert window is not None
    assert (window.start_ns, window.end_ns) == (10 * MS, 350 * MS)
    assert window.mean_in_flight == pytest.approx(2 * (340 - 50) / 340)


def test_later_requests_of_fast_users_do_not_stand_for_slow_ones() -> None:
    """The first wave is over when enough users, not enough requests, have had their first token."""
    fast = [trace(sent_ms=at, chunks_ms=[5, 20], stream=0, number=at) for at in (0, 20, 40, 60, 80)]
    slow = trace(chunks_ms=[60, 100], stream=1, number=99)
    window = steady_window([*fast, slow], 2)
    assert window is not None
    assert window.start_ns == 60 * MS


def test_concurrency_that_was_never_reached_has_no_window() -> None:
    """Three requests are not four users."""
    assert steady_window([trace(stream=user, number=user) for user in range(3)], 4) is None
    assert steady_window([], 1) is None


def test_wave_that_ends_before_all_began_has_no_window() -> None:
    """A first wave of prefills that outlasts the full concurrency leaves nothing steady."""
    wave = [trace(chunks_ms=[10, 50], stream=0, number=0), trace(chunks_ms=[60, 100], stream=1, number=1)]
    assert steady_window(wave, 2) is None


def test_failed_requests_take_up_the_server() -> None:
    """They are in flight until their last event, and their tokens count nowhere."""
    stalled = failed(Outcome.STALLED, chunks_ms=[10, 60], done_ns=None, stream=1, number=1)
    good = trace(chunks_ms=[10, 100], stream=0, number=0)
    assert in_flight_integral_ns([good, stalled], 0, 100 * MS) == 160 * MS
    assert peak_in_flight([good, stalled]) == 2
    assert tokens_within(stalled, 0, 100 * MS) == 0
    assert wall_ns([good, stalled]) == (0, 100 * MS)


def test_request_never_sent_is_never_in_flight() -> None:
    """It waited in the client."""
    assert peak_in_flight([failed(Outcome.CONNECT_FAILED, sent_ns=None, done_ns=None)]) == 0
    assert wall_ns([failed(Outcome.CONNECT_FAILED)]) is None


def test_request_that_follows_at_once_does_not_raise_the_peak() -> None:
    """The end of one makes room for the next."""
    assert peak_in_flight([trace(sent_ms=at, number=at) for at in (0, 80, 160)]) == 1


def test_tokens_of_a_cut_request_are_placed_by_its_steps() -> None:
    """Ten tokens, one every 10 ms: the window takes those after its start and up to its end."""
    made = engine_trace(osl=10, per_chunk=1, prefill_ms=0)
    assert tokens_within(made, 20 * MS, 50 * MS) == 3
    assert tokens_within(made, 0, 100 * MS) == 10


def test_tokens_of_unknown_chunks_are_placed_by_characters() -> None:
    """Two of four equal chunks hold half of the tokens; all of them hold exactly all."""
    made = trace(chunks_ms=[10, 20, 30, 40], osl=9)
    assert tokens_within(made, 0, 20 * MS) == 4.5
    assert tokens_within(made, 0, 40 * MS) == 9


def test_stated_window_needs_length_and_a_success() -> None:
    """An empty one has no throughput."""
    good = trace(chunks_ms=[10, 100])
    assert window_of([good], 50 * MS, 50 * MS) is None
    assert window_of([failed(Outcome.RESET)], 0, 50 * MS) is None
    window = window_of([good], -100 * MS, 100 * MS)
    assert window is not None
    assert (window.mean_in_flight, window.share_ratio) == (0.5, 1)
