"""Figures of one request: from events and usage to numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbtool.runner.metrics.request import (
    connect_ms,
    decode_tok_s_per_user,
    e2el_ms,
    icl_ms,
    itl_ms,
    normalized_tpot_ms,
    prefill_tok_s,
    send_late_ms,
    step_gap_ms,
    tok_per_step,
    tok_s_per_user,
    tpot_ms,
    ttfb_ms,
    ttft_content_ms,
    ttft_ms,
)
from kbtool.runner.trace import ChunkKind
from tests.runner.metrics.traces import MS, chunks, engine_trace, trace

_ROLE, _TEXT, _THINK, _TOOL = ChunkKind.ROLE, ChunkKind.CONTENT, ChunkKind.REASONING, ChunkKind.TOOL
_FINISH, _USAGE, _DONE, _COMMENT = ChunkKind.FINISH, ChunkKind.USAGE, ChunkKind.DONE, ChunkKind.COMMENT


def test_tpot_counts_tokens_not_chunks() -> None:
    """Eight tokens over 70 ms are 10 ms each, however they were chunked."""
    assert tpot_ms(trace(chunks_ms=[10, 80], osl=8)) == 10.0
    assert tpot_ms(trace(chunks_ms=[10, 20, 40, 80], osl=8)) == 10.0
    assert tok_s_per_user(trace(chunks_ms=[10, 80], osl=8)) == 100.0


def test_tpot_runs_to_the_last_byte() -> None:
    """(E2EL - TTFT) / (OSL - 1): usage and end mark belong to E2EL."""
    assert tpot_ms(trace(chunks_ms=[10, 80], osl=8, done_ms=87)) == 11.0


@pytest.mark.parametrize("osl", [None, 0, 1])
def test_tpot_of_less_than_two_tokens_is_undefined(osl: int | None) -> None:
    """Never 0, which would read as an infinitely fast decoder."""
    assert tpot_ms(trace(chunks_ms=[10, 80], osl=osl)) is None
    assert tok_s_per_user(trace(chunks_ms=[10, 80], osl=osl)) is None


def test_answer_in_one_piece_has_no_decode_time() -> None:
    """A proxy that buffers the stream is no fast decoder."""
    buffered = trace(chunks_ms=[80, 80], osl=8, done_ms=81)
    assert tpot_ms(buffered) is None
    assert decode_tok_s_per_user(buffered) is None
    assert ttft_ms(buffered) == 80


def test_one_token_answer_has_ttft_and_no_gaps() -> None:
    """What can be said of it is said, the rest is absent."""
    one = trace(chunks_ms=[12], osl=1, done_ms=13)
    assert (ttft_ms(one), e2el_ms(one), normalized_tpot_ms(one)) == (12, 13, 13)
    assert (tpot_ms(one), decode_tok_s_per_user(one)) == (None, None)
    assert (itl_ms(one), icl_ms(one), step_gap_ms(one)) == ((), (), ())
    assert tok_per_step(one) == 1


def test_early_role_chunk_is_no_first_token() -> None:
    """It comes with the headers, a second before any token, and is no gap either."""
    early = trace(chunks_ms=[1, 1000, 1010], kinds=[_ROLE, _TEXT, _TEXT], osl=2)
    assert ttfb_ms(early) == 1
    assert ttft_ms(early) == 1000
    assert icl_ms(early) == (10,)


def test_comments_empty_choices_and_ends_are_no_text() -> None:
    """Only events with characters of generated text count."""
    kinds = [_COMMENT, ChunkKind.EMPTY, _TEXT, _COMMENT, _TEXT, _FINISH, _USAGE, _DONE]
    noisy = trace(chunks_ms=[1, 2, 50, 55, 60, 61, 62, 63], kinds=kinds, osl=2)
    assert ttft_ms(noisy) == 50
    assert icl_ms(noisy) == (10,)
    assert itl_ms(noisy) == (10,)
    assert e2el_ms(noisy) == 63


def test_content_event_without_characters_is_no_text() -> None:
    """Some engines send empty content first."""
    base = chunks([5, 50, 60])
    hollow = trace(chunks=type(base)(base.t_ns, base.kind, base.n_bytes, (0, 5, 5), base.cumulative_tok))
    assert ttft_ms(hollow) == 50


def test_reasoning_is_a_first_token_and_no_first_content() -> None:
    """A reader of the answer waits for longer than the engine needs."""
    thinking = trace(chunks_ms=[100, 200, 300], kinds=[_THINK, _THINK, _TEXT], osl=3)
    assert ttft_ms(thinking) == 100
    assert ttft_content_ms(thinking) == 300
    assert ttft_content_ms(trace(chunks_ms=[100], kinds=[_THINK], osl=1)) is None


def test_tool_call_is_an_answer() -> None:
    """Its parts are generated text."""
    assert ttft_content_ms(trace(chunks_ms=[100, 200], kinds=[_TOOL, _TOOL], osl=2)) == 100


def test_itl_is_absent_where_tokens_of_a_chunk_are_not_known() -> None:
    """Three chunks for eight tokens may hold 1, 3, 4 or 4, 3, 1: nothing is guessed."""
    unknown = trace(chunks_ms=[10, 40, 80], osl=8)
    assert itl_ms(unknown) == ()
    assert decode_tok_s_per_user(unknown) is None
    assert icl_ms(unknown) == (30, 40)
    assert tok_per_step(unknown) == pytest.approx(8 / 3)


def test_itl_shares_a_gap_over_the_tokens_of_its_chunk() -> None:
    """Chunks of 1, 3 and 4 tokens: three values of 10 and four of 10."""
    told = trace(chunks_ms=[10, 40, 80], tok=[1, 3, 4], osl=8)
    assert itl_ms(told) == (10,) * 7
    assert icl_ms(told) == (30, 40)
    assert decode_tok_s_per_user(told) == pytest.approx(100)


def test_itl_is_known_where_each_chunk_must_hold_one_token() -> None:
    """As many events as completion tokens prove one token in each."""
    assert itl_ms(trace(chunks_ms=[10, 20, 35], osl=3)) == (10, 15)


def test_stall_stays_visible() -> None:
    """One second among gaps of 10 ms is the largest gap, not a mean of 36 ms."""
    stalled = trace(chunks_ms=[10, 20, 1020, 1030], osl=4)
    assert max(itl_ms(stalled)) == 1000
    assert max(step_gap_ms(stalled)) == 1000


def test_events_with_one_stamp_are_one_step() -> None:
    """An engine that sends four accepted tokens as four events sends one step of four."""
    burst = trace(chunks_ms=[10, 50, 50, 50, 50, 90, 90, 90, 90], osl=9)
    assert icl_ms(burst) == (40, 0, 0, 0, 40, 0, 0, 0)
    assert step_gap_ms(burst) == (40, 40)
    assert itl_ms(burst) == (10,) * 8
    assert tok_per_step(burst) == 3


def test_running_count_may_rise_on_events_without_text() -> None:
    """A token whose text is held back, and an end token on the finish event, are tokens."""
    held = trace(
        chunks_ms=[1, 10, 20, 30, 40, 41],
        kinds=[_ROLE, _TEXT, ChunkKind.EMPTY, _TEXT, _FINISH, _USAGE],
        tok=[0, 1, 1, 1, 1, 0],
        osl=4,
    )
    assert itl_ms(held) == (10, 10, 10)


@pytest.mark.parametrize(
    ("tok", "osl"), [([1, 3, 3], 8), ([1, 8, -1], 8), ([-1, 5, 4], 8)], ids=["short", "falls", "negative"]
)
def test_running_count_that_does_not_add_up_is_not_believed(tok: list[int], osl: int) -> None:
    """Neither one that ends elsewhere than usage, nor one that falls, nor one below 0."""
    assert itl_ms(trace(chunks_ms=[10, 40, 80], tok=tok, osl=osl)) == ()


def test_running_count_with_holes_is_not_believed() -> None:
    """Text without a count leaves the tokens of the next one open."""
    base = chunks([10, 40, 80], tok=[1, 3, 4])
    holes = type(base)(base.t_ns, base.kind, base.n_bytes, base.n_chars, (1, None, 8))
    assert itl_ms(trace(chunks=holes, osl=8)) == ()


def test_missing_usage_leaves_tokens_unknown_and_times_known() -> None:
    """Chunks are never counted in its place."""
    silent = trace(chunks_ms=[10, 20, 30], osl=None)
    assert (ttft_ms(silent), e2el_ms(silent)) == (10, 30)
    assert icl_ms(silent) == (10, 10)
    assert (tpot_ms(silent), normalized_tpot_ms(silent), tok_per_step(silent)) == (None, None, None)
    assert (itl_ms(silent), decode_tok_s_per_user(silent), prefill_tok_s(silent)) == ((), None, None)


def test_prefill_leaves_cached_tokens_out() -> None:
    """1,000 tokens of which 200 were cached, in 100 ms: 8,000 a second."""
    assert prefill_tok_s(trace(chunks_ms=[100, 110], isl=1000, cached=200)) == pytest.approx(8000)
    assert prefill_tok_s(trace(chunks_ms=[100, 110], isl=1000)) == pytest.approx(10_000)
    assert prefill_tok_s(trace(chunks_ms=[100, 110], isl=1000, cached=1000)) is None


def test_connecting_lies_before_the_request() -> None:
    """Half a millisecond, in no other latency."""
    assert connect_ms(trace()) == 0.5
    assert connect_ms(trace(connect_start_ns=None)) is None


def test_lateness_is_that_of_a_schedule() -> None:
    """Absent in a closed loop, 0 where the request left early."""
    assert send_late_ms(trace()) is None
    assert send_late_ms(trace(sent_ms=5, due_ns=2 * MS)) == 3
    assert send_late_ms(trace(sent_ms=5, due_ns=6 * MS)) == 0


def test_request_that_got_nothing_has_no_figures() -> None:
    """Unknown is absent, never 0."""
    nothing = trace(sent_ns=None, first_byte_ns=None, done_ns=None, chunks=chunks([]), usage=None)
    for each in (ttfb_ms, ttft_ms, ttft_content_ms, e2el_ms, tpot_ms, tok_per_step, prefill_tok_s):
        assert each(nothing) is None


@given(
    whole=st.integers(1, 12), per_chunk=st.integers(1, 16), token_ms=st.integers(1, 100), told=st.booleans()
)
def test_tpot_is_the_same_for_every_chunk_size(whole: int, per_chunk: int, token_ms: int, told: bool) -> None:
    """After a first chunk of one token, as prefill gives it."""
    made = engine_trace(osl=1 + whole * 16, per_chunk=per_chunk, token_ms=token_ms, told=told)
    assert tpot_ms(made) == pytest.approx(token_ms, rel=1e-12)
    assert tok_s_per_user(made) == pytest.approx(1000 / token_ms, rel=1e-12)


@given(
    osl=st.integers(33, 200),
    first_tok=st.integers(1, 16),
    per_chunk=st.integers(1, 16),
    token_ms=st.integers(1, 100),
)
def test_decode_speed_and_mean_itl_are_the_same_for_every_chunk_size(
    osl: int, first_tok: int, per_chunk: int, token_ms: int
) -> None:
    """Whatever the first chunk holds, and however many tokens the others do."""
    made = engine_trace(osl=osl, first_tok=first_tok, per_chunk=per_chunk, token_ms=token_ms)
    assert decode_tok_s_per_user(made) == pytest.approx(1000 / token_ms, rel=1e-9)
    gaps = itl_ms(made)
    assert len(gaps) == osl - first_tok
    assert sum(gaps) / len(gaps) == pytest.approx(token_ms, rel=1e-9)
