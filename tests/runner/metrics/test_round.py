"""Figures of a round: what counts, what does not, and which warnings come with it."""

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kbtool.errors import UsageError
from kbtool.runner.metrics import RoundContext, Slo, SpeculationVerdict, round_figures
from kbtool.runner.metrics.throughput import met
from kbtool.runner.trace import ClockSource, Outcome, RequestTrace, Usage
from kbtool.vocab.metrics import METRICS
from kbtool.vocab.terms import Statistic, members
from kbtool.vocab.warnings import WarningCode
from tests.runner.metrics.traces import MS, engine_trace, failed, trace


def _value(
    traces: list[RequestTrace], metric: str, statistic: Statistic = "single", **context: Any
) -> float | None:
    sample = round_figures(traces, RoundContext(**context)).sample(metric, statistic)
    return None if sample is None else sample.value


def _users(count: int = 4, **others: Any) -> list[RequestTrace]:
    """Return one request of each user: 8 tokens, first after 10 ms, last after 80."""
    return [trace(stream=user, number=user, **others) for user in range(count)]


def test_throughput_is_tokens_over_wall_time() -> None:
    """Four users, 8 tokens each, in 80 ms."""
    users = _users()
    assert _value(users, "output_tok_s") == pytest.approx(32 / 0.08)
    assert _value(users, "input_tok_s") == pytest.approx(400 / 0.08)
    assert _value(users, "total_tok_s") == pytest.approx(432 / 0.08)
    assert _value(users, "req_s") == pytest.approx(4 / 0.08)
    assert _value(users, "tok_s_per_accelerator", accelerators=8) == pytest.approx(32 / 0.08 / 8)
    assert _value(users, "tok_s_per_accelerator") is None


def test_throughput_at_full_concurrency_leaves_ramp_and_tail_out() -> None:
    """Ten tokens a user, one every 10 ms from 210 ms on; a straggler of 100 tokens is alone for most of the run."""
    users = [engine_trace(osl=10, per_chunk=1, number=user, stream=user) for user in range(3)]
    users.append(engine_trace(osl=100, per_chunk=1, number=9, stream=9))
    assert _value(users, "steady_output_tok_s", concurrency=4) == pytest.approx(400)
    whole = _value(users, "output_tok_s", concurrency=4)
    assert whole == pytest.approx(130 / 1.2)
    assert WarningCode.UNSTEADY in round_figures(users, RoundContext(concurrency=4)).warnings


def test_per_user_speed_is_a_distribution() -> None:
    """Mean, smallest and largest, over requests; percentiles only from enough of them."""
    users = [trace(chunks_ms=[10, 10 + 7 * pace], osl=8, number=pace) for pace in (5, 10, 20)]
    assert _value(users, "tok_s_per_user", "mean") == pytest.approx((200 + 100 + 50) / 3)
    assert _value(users, "tok_s_per_user", "min") == pytest.approx(50)
    assert _value(users, "tok_s_per_user", "max") == pytest.approx(200)
    assert _value(users, "tok_s_per_user", "p50") is None
    assert _value(users * 7, "tok_s_per_user", "p50") == pytest.approx(100)


def test_failures_are_counted_and_in_no_figure() -> None:
    """Neither their tokens nor their times; the share of them is a figure of its own."""
    good = _users()
    bad = [
        failed(Outcome.STALLED, number=10),
        failed(Outcome.RESET, number=11),
        failed(Outcome.RESET, number=12),
        trace(number=13, outcome=Outcome.WRONG_MODEL, osl=999, chunks_ms=[1, 500]),
    ]
    alone, mixed = round_figures(good, RoundContext()), round_figures(good + bad, RoundContext())
    assert mixed.outcomes == (
        (Outcome.OK, 4),
        (Outcome.STALLED, 1),
        (Outcome.RESET, 2),
        (Outcome.WRONG_MODEL, 1),
    )
    assert (mixed.n_requests, mixed.n_ok) == (8, 4)
    assert mixed.pools == alone.pools
    changed = {each.metric for each in set(mixed.samples) ^ set(alone.samples)}
    assert changed == {"error_ratio", "achieved_concurrency"}
    assert _value(good + bad, "error_ratio") == 0.5
    assert WarningCode.ERRORS in mixed.warnings
    assert WarningCode.ERRORS not in alone.warnings


def test_what_we_ended_ourselves_is_no_failure_of_the_server() -> None:
    """Cancelled and unsent requests are neither sent nor failed."""
    figures = round_figures([*_users(), failed(Outcome.CANCELLED), failed(Outcome.NOT_SENT)], RoundContext())
    assert figures.n_requests == 6
    assert figures.sample("error_ratio", "single") is not None
    assert _value([*_users(), failed(Outcome.CANCELLED)], "error_ratio") == 0
    assert WarningCode.ERRORS not in figures.warnings


def test_round_of_failures_has_an_error_ratio_alone() -> None:
    """No throughput of 0."""
    figures = round_figures([failed(Outcome.REFUSED)], RoundContext(concurrency=1))
    assert [(each.metric, each.value) for each in figures.samples] == [("error_ratio", 1.0)]
    assert (figures.wall_s, figures.window, figures.cache.state) == (None, None, "unproven")


def test_empty_round_has_nothing() -> None:
    """And no figure."""
    assert round_figures([], RoundContext()).samples == ()


def test_achieved_concurrency_is_time_in_flight_over_wall_time() -> None:
    """Two requests of 80 ms, one of them begun when the other was half done."""
    pair = [trace(number=0), trace(sent_ms=40, number=1)]
    assert _value(pair, "achieved_concurrency", "mean") == pytest.approx(160 / 120)
    assert _value(pair, "achieved_concurrency", "max") == 2


def test_goodput_counts_requests_that_met_every_limit() -> None:
    """Two of three within 15 ms to the first token, one of them also fast enough."""
    requests = [
        trace(chunks_ms=[10, 80], number=1),
        trace(chunks_ms=[15, 155], number=2),
        trace(chunks_ms=[16, 86], number=3),
    ]
    first = (Slo("ttft_ms", 15),)
    both = (*first, Slo("tok_s_per_user", 100))
    assert _value(requests, "goodput_req_s", slos=first) == pytest.approx(2 / 0.155)
    assert _value(requests, "goodput_req_s", slos=both) == pytest.approx(1 / 0.155)
    assert _value(requests, "goodput_req_s") is None


def test_limits_on_gaps_hold_for_the_largest() -> None:
    """And a request without gaps breaks none."""
    stalled = trace(chunks_ms=[10, 20, 1020], osl=3)
    assert met(stalled, [Slo("itl_ms", 1000)])
    assert not met(stalled, [Slo("itl_ms", 999)])
    assert met(trace(chunks_ms=[10], osl=1), [Slo("itl_ms", 1), Slo("tpot_ms", 1)])


def test_limit_on_a_metric_that_no_request_has_is_refused() -> None:
    """The message lists those it may be on."""
    with pytest.raises(
        UsageError, match="SLO on output_tok_s: no metric of one request; expected one of decode_tok"
    ):
        round_figures(_users(), RoundContext(slos=(Slo("output_tok_s", 5),)))


@pytest.mark.parametrize(
    ("concurrent", "expected", "given"),
    [
        (False, "cold", True),
        (False, "off", True),
        (False, "warm", False),
        (False, None, False),
        (True, "cold", False),
    ],
)
def test_prefill_speed_is_of_lone_cold_requests(concurrent: bool, expected: Any, given: bool) -> None:
    """Under load TTFT holds queueing, and on a warm cache it holds no prefill."""
    requests = [trace(sent_ms=0 if concurrent else 100 * at, number=at, cached=0) for at in range(3)]
    found = _value(requests, "prefill_tok_s", "mean", cache_expected=expected)
    assert found == (pytest.approx(10_000) if given else None)


def test_energy_per_token_is_that_of_all_accelerators() -> None:
    """64 J over 32 output tokens."""
    assert _value(_users(), "energy_j_per_tok", energy_j=64.0) == 2
    assert _value(_users(), "energy_j_per_tok") is None


def _drafted(**counts: int) -> list[RequestTrace]:
    usage = Usage(100, 8, draft_tok=12, accepted_draft_tok=6, verify_steps=counts.get("steps"))
    return [replace(each, usage=usage) for each in _users()]


def test_acceptance_is_taken_from_requests_where_they_tell_it() -> None:
    """Four requests, each 6 of 12 drafted tokens accepted in 4 steps, whatever the counters say."""
    counters = SpeculationVerdict("enabled", 10, 40, 10, 2.0, 0.25)
    assert _value(_drafted(steps=4), "acceptance_length", "mean", speculation=counters) == 2.5
    assert _value(_drafted(steps=4), "acceptance_ratio", "mean", speculation=counters) == 0.5
    assert _value(_drafted(), "acceptance_length", "mean") is None
    assert _value(_drafted(), "acceptance_ratio", "mean") == 0.5


def test_acceptance_is_taken_from_counters_only_when_enabled() -> None:
    """A contaminated difference gives no figure."""
    good = SpeculationVerdict("enabled", 10, 40, 10, 2.0, 0.25)
    assert _value(_users(), "acceptance_length", "mean", speculation=good) == 2
    assert _value(_users(), "acceptance_ratio", "mean", speculation=good) == 0.25
    bad = SpeculationVerdict("contaminated")
    assert _value(_users(), "acceptance_length", "mean", speculation=bad) is None


def test_reasoning_and_cached_tokens_are_counted_apart() -> None:
    """Totals are known only where every request says."""
    told = [replace(each, usage=Usage(100, 8, cached_tok=64, reasoning_tok=3)) for each in _users()]
    totals = round_figures(told, RoundContext()).totals
    assert (totals.input_tok, totals.output_tok, totals.cached_tok, totals.reasoning_tok) == (
        400,
        32,
        256,
        12,
    )
    assert _value(told, "reasoning_tok", "mean") == 3
    mixed = round_figures([*told, trace(number=9)], RoundContext()).totals
    assert (mixed.output_tok, mixed.cached_tok, mixed.reasoning_tok) == (40, None, None)


@pytest.mark.parametrize(
    ("context", "cached", "state", "warning"),
    [
        ({"cache_expected": "cold", "prompts_unique": True}, 0, "proven_cold", None),
        ({"cache_expected": "cold"}, 0, "unproven", WarningCode.UNPROVEN_COLD),
        ({"cache_expected": "cold", "prompts_unique": True}, None, "unproven", WarningCode.UNPROVEN_COLD),
        ({"cache_expected": "cold", "prompts_unique": True}, 16, "contaminated", WarningCode.CONTAMINATED),
        ({"cache_expected": "warm"}, 16, "warm", None),
    ],
)
def test_cache_verdict_becomes_a_warning(
    context: dict[str, Any], cached: int | None, state: str, warning: WarningCode | None
) -> None:
    """Only where cold was meant."""
    figures = round_figures(_users(cached=cached), RoundContext(**context))
    assert figures.cache.state == state
    assert {WarningCode.UNPROVEN_COLD, WarningCode.CONTAMINATED} & set(figures.warnings) == (
        {warning} if warning else set()
    )


def test_warm_conversation_is_judged_by_its_later_turns() -> None:
    """The first turn has nothing to reuse."""
    turns = [trace(number=0, cached=0), trace(sent_ms=100, number=1, cached=96, turn=2)]
    assert round_figures(turns, RoundContext(cache_expected="warm")).cache.state == "warm"


@pytest.mark.parametrize(
    ("traces", "context", "warning"),
    [
        (_users(4), {"running_limit": 3}, WarningCode.QUEUED),
        (_users(retries=1), {}, WarningCode.RETRIES),
        (_users(clock=ClockSource.USER), {}, WarningCode.USER_CLOCK),
        (_users(osl=7, asked_output_tok=8, output_tok_fixed=True), {}, WarningCode.SHORT_OUTPUTS),
        (_users(osl=4), {"output_tok": 8}, WarningCode.SHORT_OUTPUTS),
        (_users(sent_ms=20, due_ns=5 * MS), {"request_rate_req_s": 2.0}, WarningCode.SENT_LATE),
        (_users(2), {"concurrency": 4}, WarningCode.UNSTEADY),
        (_users(), {"observed": (WarningCode.THROTTLED,)}, WarningCode.THROTTLED),
    ],
)
def test_conditions_call_for_warnings(
    traces: list[RequestTrace], context: dict[str, Any], warning: WarningCode
) -> None:
    """Each by its own limit, and nothing else with it."""
    assert round_figures(traces, RoundContext(**context)).warnings == (warning,)


@pytest.mark.parametrize(
    ("traces", "context"),
    [
        (_users(4), {"running_limit": 4, "concurrency": 4}),
        (_users(osl=8, asked_output_tok=8, output_tok_fixed=True), {"output_tok": 8}),
        (_users(osl=4, asked_output_tok=4096), {}),
        (_users(sent_ms=5, due_ns=4 * MS), {"request_rate_req_s": 2.0}),
        (_users(1), {"concurrency": 1}),
    ],
)
def test_good_rounds_have_no_warnings(traces: list[RequestTrace], context: dict[str, Any]) -> None:
    """A warning that is always there is none."""
    assert round_figures(traces, RoundContext(**context)).warnings == ()


def test_stated_window_of_an_open_loop_bounds_its_throughput() -> None:
    """Tokens that arrived inside, over its length."""
    traces = [
        engine_trace(osl=10, per_chunk=1, prefill_ms=0, sent_ms=100 * at, number=at) for at in range(10)
    ]
    found = _value(traces, "steady_output_tok_s", request_rate_req_s=10.0, window_ns=(200 * MS, 800 * MS))
    assert found == pytest.approx(100)


def test_every_figure_is_in_the_words_of_the_vocabulary() -> None:
    """Metric ids and statistics, with a count behind each, and never a value of 0 where 0 is no result."""
    context = RoundContext(
        concurrency=1, cache_expected="cold", slos=(Slo("ttft_ms", 500),), accelerators=2, energy_j=5.0
    )
    drafted = [replace(engine_trace(osl=8, per_chunk=3), usage=Usage(100, 8, 0, 3, None, 12, 6, 4), due_ns=0)]
    figures = round_figures(drafted, context)
    for each in figures.samples:
        assert each.metric in METRICS
        assert each.statistic in members(Statistic)
        assert each.n > 0
        assert each.value > 0 or METRICS[each.metric].zero_is_valid
    missing = METRICS.keys() - {each.metric for each in figures.samples}
    assert missing == {
        *("output_tok_s_per_instance", "samples_s", "power_w", "system_power_w", "utilization_ratio"),
        *("instance_share_ratio", "kv_bytes_per_tok", "kv_capacity_tok", "throughput_ratio", "ttft_ratio"),
    }


_TRACES = st.builds(
    engine_trace,
    osl=st.integers(1, 40),
    per_chunk=st.integers(1, 16),
    token_ms=st.integers(1, 30),
    first_tok=st.integers(1, 4),
    told=st.booleans(),
    sent_ms=st.integers(0, 500),
    stream=st.integers(0, 4),
)


@settings(deadline=None, max_examples=50)
@given(traces=st.lists(_TRACES, max_size=8), failures=st.integers(0, 3), seed=st.integers())
def test_order_of_requests_does_not_matter(traces: list[RequestTrace], failures: int, seed: int) -> None:
    """Figures derived again, in whatever order the requests come, are equal to the last bit."""
    everything = [*traces, *[failed(Outcome.RESET, number=100 + each) for each in range(failures)]]
    context = RoundContext(concurrency=3, slos=(Slo("ttft_ms", 300),), cache_expected="cold")
    shuffled = list(everything)
    random.Random(seed).shuffle(shuffled)
    assert round_figures(shuffled, context) == round_figures(everything, context)
    assert round_figures(everything, context) == round_figures(everything, context)


@settings(deadline=None, max_examples=50)
@given(per_chunk=st.integers(1, 16), users=st.integers(1, 6), told=st.booleans())
def test_throughput_is_the_same_for_every_chunk_size(per_chunk: int, users: int, told: bool) -> None:
    """Tokens a second are counted by usage: 1 to 16 tokens a chunk change nothing."""
    traces = [
        engine_trace(osl=97, per_chunk=per_chunk, told=told, number=user, stream=user)
        for user in range(users)
    ]
    assert _value(traces, "output_tok_s", concurrency=users) == pytest.approx(97 * users / 1.17)
    assert _value(traces, "steady_output_tok_s", concurrency=users) == pytest.approx(100 * users)
    assert _value(traces, "tpot_ms", "mean", concurrency=users) == pytest.approx(10)
