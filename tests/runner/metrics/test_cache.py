"""The verdict on the prefix cache: its whole truth table."""

from itertools import product
from typing import Literal

import pytest

from kbtool.runner.metrics.cache import cache_verdict
from kbtool.runner.metrics.figures import CacheVerdict, CacheVerdictState

Expected = Literal["cold", "warm", "off"] | None
_ANY = (True, False)
_REPORTS: dict[str, list[int | None]] = {
    "zero": [0, 0, 0],
    "hit": [64, 64, 64],
    "part": [0, 64, 0],
    "unknown": [None, None, None],
    "zero or unknown": [0, None, 0],
    "hit or unknown": [64, None, 64],
    "none": [],
}


def _truth(
    expected: Expected, report: str, *, unique: bool, reset_checked: bool, restarted: bool
) -> CacheVerdictState:
    """Return what the rules say, written the other way round: by what was seen."""
    if report == "none":
        return "unproven"
    if expected in {"cold", "off"}:
        if report in {"hit", "part", "hit or unknown"}:
            return "contaminated"
        if expected == "off":
            return "off"
        return "proven_cold" if report == "zero" and (unique or reset_checked) else "unproven"
    if report == "hit":
        return "restart_warm" if restarted else "warm"
    return "unproven"


@pytest.mark.parametrize("expected", ["cold", "warm", "off", None])
@pytest.mark.parametrize("report", list(_REPORTS))
def test_verdict_follows_its_truth_table(expected: Expected, report: str) -> None:
    """Every expectation with every report and every proof."""
    for unique, reset_checked, restarted in product(_ANY, _ANY, _ANY):
        verdict = cache_verdict(
            _REPORTS[report],
            expected=expected,
            unique=unique,
            reset_checked=reset_checked,
            restarted=restarted,
        )
        assert verdict.state == _truth(
            expected, report, unique=unique, reset_checked=reset_checked, restarted=restarted
        )


def test_cold_names_its_proofs() -> None:
    """In the words of a record."""
    verdict = cache_verdict([0, 0], expected="cold", unique=True, reset_checked=True)
    assert verdict.proofs == ("cached_tokens_zero", "unique_prompt", "cache_reset")
    assert cache_verdict([0], expected="off").proofs == ("cached_tokens_zero",)
    assert cache_verdict([None], expected="cold", unique=True).proofs == ("unique_prompt",)
    assert cache_verdict([5], expected="cold", unique=True).proofs == ()


def test_record_says_cold_only_where_proven() -> None:
    """An unproven state is null in a record; all others are its words."""
    assert CacheVerdict("proven_cold").record_state == "cold"
    assert CacheVerdict("unproven").record_state == "unproven"
    states: tuple[CacheVerdictState, ...] = ("contaminated", "warm", "restart_warm", "off")
    for state in states:
        assert CacheVerdict(state).record_state == state


def test_tokens_of_the_chat_template_are_no_reuse() -> None:
    """An engine that caches by the token reuses the template's opening of every prompt, and nothing else."""
    verdict = cache_verdict([0, 4, 4], expected="cold", unique=True, template_tok=4)
    assert verdict == CacheVerdict("proven_cold", ("template_tokens_only", "unique_prompt"))
    assert cache_verdict([0, 5], expected="cold", unique=True, template_tok=4).state == "contaminated"
