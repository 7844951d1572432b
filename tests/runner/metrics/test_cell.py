"""Numbers of a cell: rounds put together, intervals, and the warnings that travel along."""

import math
import random
from collections.abc import Sequence
from typing import Any

import pytest

from kbtool.runner.metrics import (
    CellSummary,
    Measurement,
    RoundContext,
    RoundFigures,
    round_figures,
    summarize,
)
from kbtool.runner.metrics.sanity import Sanity
from kbtool.runner.trace import Outcome, RequestTrace
from kbtool.vocab.terms import Statistic
from kbtool.vocab.warnings import WarningCode
from tests.runner.metrics.traces import engine_trace, failed, trace

_SANE = Sanity(n_checked=10, garbage=(), truncated=(), repeatable_ratio=1.0)
_PACES_MS = ((10, 10.1, 9.9), (10.2, 10.0, 10.1), (9.9, 9.8, 10.0))
"""Time of a token in three rounds of three sessions."""


def _round(
    token_ms: float, *, session: int = 1, number: int = 1, extra: Sequence[RequestTrace] = (), **context: Any
) -> RoundFigures:
    """Return a round of four users whose tokens take this long."""
    users = [
        trace(
            chunks_ms=[20 + token_ms * step for step in range(65)], osl=65, stream=user, number=user, cached=0
        )
        for user in range(4)
    ]
    return round_figures(
        [*users, *extra], RoundContext(session=str(session), round=number, concurrency=4, **context)
    )


def _rounds(paces_ms: Sequence[Sequence[float]] = _PACES_MS, **context: Any) -> list[RoundFigures]:
    return [
        _round(pace, session=session, number=number, **context)
        for session, paces in enumerate(paces_ms, start=1)
        for number, pace in enumerate(paces, start=1)
    ]


def _number(cell: CellSummary, metric: str, statistic: Statistic) -> Measurement:
    found = cell.measurement(metric, statistic)
    assert found is not None
    return found


def test_number_is_the_median_of_rounds_with_the_interval_of_sessions() -> None:
    """Means of sessions 10, 10.1, 9.9: deviation 0.1, t of 2 degrees of freedom 4.303."""
    found = _number(summarize(_rounds(), sanity=_SANE), "tpot_ms", "mean")
    assert found.value == pytest.approx(10)
    assert (found.interval, found.method) == ("ci95", "t_sessions")
    assert found.low == pytest.approx(10 - 4.302653 * 0.1 / math.sqrt(3), rel=1e-6)
    assert found.high == pytest.approx(10 + 4.302653 * 0.1 / math.sqrt(3), rel=1e-6)
    assert (found.n_rounds, found.n_sessions, found.n_samples) == (9, 3, 36)
    assert found.spread_stdev == pytest.approx(0.1225, abs=1e-4)
    assert found.warnings == ()


def test_figure_of_a_round_as_a_whole_becomes_the_median_of_several() -> None:
    """`single` in one round, `median` over rounds."""
    assert _number(summarize(_rounds(), sanity=_SANE), "output_tok_s", "median").n_rounds == 9
    one = summarize([_round(10)], sanity=_SANE)
    assert one.measurement("output_tok_s", "median") is None
    single = _number(one, "output_tok_s", "single")
    assert (single.low, single.interval, single.method, single.spread_stdev) == (None, None, None, None)
    assert WarningCode.FEW_SAMPLES in single.warnings


def test_one_session_is_warned_of() -> None:
    """Its interval knows nothing of the next start."""
    cell = summarize(_rounds(((10, 10.1, 9.9),)), sanity=_SANE)
    found = _number(cell, "tpot_ms", "mean")
    assert (found.method, found.warnings) == ("t_rounds", (WarningCode.SINGLE_SESSION,))
    assert cell.warnings == (WarningCode.SINGLE_SESSION,)


def test_percentiles_are_of_all_rounds_together() -> None:
    """Nine rounds of 256 gaps give a p99, with no interval since no round has its own; p90 has one."""
    cell = summarize(_rounds(), sanity=_SANE)
    tail = _number(cell, "itl_ms", "p99")
    assert tail.n_samples == 9 * 256
    assert tail.value == pytest.approx(10.2)
    assert (tail.low, tail.spread_stdev, tail.n_rounds) == (None, None, 9)
    assert _number(cell, "itl_ms", "p90").interval == "ci95"
    assert cell.measurement("ttft_ms", "p50") is not None
    assert cell.measurement("ttft_ms", "p90") is None


def test_extremes_are_those_of_all_rounds() -> None:
    """Without an interval."""
    cell = summarize(_rounds(), sanity=_SANE)
    assert _number(cell, "itl_ms", "max").value == pytest.approx(10.2)
    assert _number(cell, "itl_ms", "min").value == pytest.approx(9.8)
    assert _number(cell, "itl_ms", "max").interval is None


def test_error_ratio_is_that_of_all_requests() -> None:
    """A median over rounds would hide the one that failed."""
    rounds = [_round(10, number=1), _round(10, number=2)]
    rounds.append(_round(10, number=3, extra=[failed(Outcome.RESET, number=each) for each in (8, 9)]))
    cell = summarize(rounds, sanity=_SANE)
    found = _number(cell, "error_ratio", "single")
    assert found.value == pytest.approx(2 / 14)
    assert found.n_samples == 14
    assert cell.outcomes == ((Outcome.OK, 12), (Outcome.RESET, 2))
    assert WarningCode.ERRORS in found.warnings


def test_warnings_of_any_round_travel_with_every_number() -> None:
    """Whoever quotes one number gets them."""
    rounds = [*_rounds(), _round(10, session=3, number=4, observed=(WarningCode.THROTTLED,))]
    cell = summarize(rounds, sanity=_SANE, observed=[WarningCode.GRAPH_CLIFF])
    assert cell.warnings == (WarningCode.GRAPH_CLIFF, WarningCode.THROTTLED)
    assert all(
        {WarningCode.GRAPH_CLIFF, WarningCode.THROTTLED} <= set(each.warnings) for each in cell.measurements
    )


def test_speed_without_checks_is_labelled() -> None:
    """No checks, and checks that found something, stand with every number."""
    assert WarningCode.SPEED_ONLY in summarize(_rounds()).warnings
    bad = Sanity(n_checked=10, garbage=(("a", "one_character"),) * 3, truncated=(), repeatable_ratio=1.0)
    assert summarize(_rounds(), sanity=bad).warnings == (WarningCode.GARBAGE_OUTPUT,)


def test_wide_interval_is_warned_of_where_it_is_wide() -> None:
    """The decode speed varies, the time to the first token does not."""
    cell = summarize(_rounds(((10, 10, 10), (12, 12, 12), (9, 9, 9))), sanity=_SANE)
    assert WarningCode.WIDE_SPREAD in _number(cell, "tpot_ms", "mean").warnings
    assert WarningCode.WIDE_SPREAD not in _number(cell, "ttft_ms", "mean").warnings
    assert WarningCode.WIDE_SPREAD in cell.warnings


def test_drift_and_outliers_are_warned_of() -> None:
    """A box that heats up, and a round that stands apart."""
    heating = summarize(_rounds(((10, 10.5, 11, 11.5), (10, 10.5, 11, 11.52))), sanity=_SANE)
    assert WarningCode.DRIFT in _number(heating, "tpot_ms", "mean").warnings
    apart = summarize(_rounds(((10, 10.1, 15),)), sanity=_SANE)
    assert WarningCode.OUTLIERS in _number(apart, "tpot_ms", "mean").warnings


def test_extended_cell_has_the_wider_interval() -> None:
    """It pays for having been looked at before."""
    once = _number(summarize(_rounds(), sanity=_SANE), "tpot_ms", "mean")
    again = _number(summarize(_rounds(), sanity=_SANE, extended=True), "tpot_ms", "mean")
    assert once.high is not None
    assert again.high is not None
    assert again.high - again.value > 1.3 * (once.high - once.value)


def test_interval_holds_its_own_value() -> None:
    """A median that one bad session left alone may lie outside the interval of means."""
    paces = [[10.0] * 3 for _ in range(12)] + [[5.0] * 9]
    found = _number(summarize(_rounds(paces), sanity=_SANE), "tpot_ms", "mean")
    assert found.low is not None
    assert found.high is not None
    assert found.low <= found.value <= found.high


def test_cell_is_as_cold_as_its_worst_round() -> None:
    """One contaminated round contaminates it; proofs are those that all rounds share."""
    cold: dict[str, Any] = {"cache_expected": "cold", "prompts_unique": True}
    rounds = [_round(10, number=1, **cold), _round(10, number=2, **cold, cache_reset_checked=True)]
    proven = summarize(rounds, sanity=_SANE).cache
    assert (proven.state, proven.proofs) == ("proven_cold", ("cached_tokens_zero", "unique_prompt"))
    hit = round_figures([trace(cached=16)], RoundContext(round=3, cache_expected="cold"))
    assert summarize([*rounds, hit], sanity=_SANE).cache.state == "contaminated"
    unknown = round_figures([trace()], RoundContext(round=3, cache_expected="cold"))
    assert summarize([*rounds, unknown], sanity=_SANE).cache.state == "unproven"


def test_order_of_rounds_does_not_matter() -> None:
    """And summing up again gives the same to the last bit."""
    rounds = _rounds()
    shuffled = list(rounds)
    random.Random(4).shuffle(shuffled)
    assert summarize(shuffled, sanity=_SANE) == summarize(rounds, sanity=_SANE)


def test_numbers_stand_in_the_order_of_the_vocabulary_once_each() -> None:
    """First TTFT, last the failures; no number twice."""
    cell = summarize(_rounds(), sanity=_SANE)
    keys = [(each.metric, each.statistic) for each in cell.measurements]
    assert len(set(keys)) == len(keys)
    assert keys[0] == ("ttft_ms", "mean")
    assert keys[-1] == ("error_ratio", "single")


def test_cell_of_failures_has_its_error_ratio_alone() -> None:
    """Three rounds in which nothing worked are no speed of 0."""
    rounds = [round_figures([failed(Outcome.REFUSED)], RoundContext(round=number)) for number in (1, 2, 3)]
    cell = summarize(rounds)
    assert [(each.metric, each.value) for each in cell.measurements] == [("error_ratio", 1)]


def test_round_without_a_figure_is_left_out_of_its_count() -> None:
    """Two of three rounds have a time per token."""
    rounds = [_round(10, number=1), _round(10, number=2)]
    rounds.append(round_figures([engine_trace(osl=1, per_chunk=1)], RoundContext(round=3)))
    found = _number(summarize(rounds, sanity=_SANE), "tpot_ms", "mean")
    assert found.n_rounds == 2
    assert WarningCode.FEW_SAMPLES in found.warnings


@pytest.mark.parametrize("rounds", [[], [_round(10), _round(11)]], ids=["none", "one twice"])
def test_impossible_sets_of_rounds_are_refused(rounds: list[RoundFigures]) -> None:
    """The caller mixed them up."""
    with pytest.raises(ValueError, match="expected"):
        summarize(rounds)
