"""The state of speculation from two readings of counters."""

import pytest

from kbtool.runner.metrics.speculation import SpeculationCounters, speculation_verdict

_BEFORE = SpeculationCounters(100, 400, 150, (90, 40, 15, 5))
_AFTER = SpeculationCounters(200, 800, 400, (170, 110, 75, 45))
_NONE = SpeculationCounters()


def _state(
    before: SpeculationCounters | None,
    after: SpeculationCounters | None,
    *,
    speculates: bool | None = True,
    foreign_traffic: bool = False,
) -> str:
    return speculation_verdict(before, after, speculates=speculates, foreign_traffic=foreign_traffic).state


def test_differences_give_acceptance_with_the_bonus_token() -> None:
    """100 drafts of 4, 250 accepted: 3.5 tokens a step, 62.5 % of the drafts, first position 80 %."""
    verdict = speculation_verdict(_BEFORE, _AFTER, speculates=True, foreign_traffic=False)
    assert verdict.state == "enabled"
    assert (verdict.drafts, verdict.draft_tok, verdict.accepted_tok) == (100, 400, 250)
    assert verdict.acceptance_length == 3.5
    assert verdict.acceptance_ratio == 0.625
    assert verdict.acceptance_ratio_by_position == pytest.approx((0.8, 0.7, 0.6, 0.4))


@pytest.mark.parametrize(
    ("before", "after", "speculates", "state"),
    [
        (None, None, True, "unavailable"),
        (_NONE, _NONE, True, "unavailable"),
        (_NONE, None, None, "unavailable"),
        (_NONE, _NONE, False, "disabled"),
        (_BEFORE, _BEFORE, False, "disabled"),
        (None, _AFTER, True, "incomplete"),
        (_BEFORE, None, True, "incomplete"),
        (_BEFORE, SpeculationCounters(200, None, 400), True, "incomplete"),
        (_AFTER, _BEFORE, True, "counter_reset"),
        (_BEFORE, SpeculationCounters(150, 600, 10), True, "counter_reset"),
        (_BEFORE, SpeculationCounters(101, 401, 160), True, "contaminated"),
        (_BEFORE, SpeculationCounters(200, 410, 155), True, "contaminated"),
        (_BEFORE, _BEFORE, True, "no_drafts"),
        (_BEFORE, _BEFORE, None, "no_drafts"),
        (_BEFORE, _AFTER, None, "enabled"),
        (_BEFORE, _AFTER, False, "enabled"),
        (_NONE, _AFTER, True, "enabled"),
    ],
)
def test_state_follows_from_readings_and_settings(
    before: SpeculationCounters | None, after: SpeculationCounters | None, speculates: bool | None, state: str
) -> None:
    """What the counters show goes before what the settings say."""
    assert _state(before, after, speculates=speculates) == state


def test_foreign_traffic_contaminates() -> None:
    """Differences are then not those of our own requests; figures are left out."""
    verdict = speculation_verdict(_BEFORE, _AFTER, speculates=True, foreign_traffic=True)
    assert verdict.state == "contaminated"
    assert verdict.acceptance_length is None


def test_positions_that_do_not_match_are_left_out() -> None:
    """The totals still stand."""
    other = SpeculationCounters(200, 800, 400, (170, 110))
    verdict = speculation_verdict(_BEFORE, other, speculates=True, foreign_traffic=False)
    assert verdict.acceptance_length == 3.5
    assert verdict.acceptance_ratio_by_position == ()
