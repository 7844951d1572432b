"""Legs of one run: each value against the base at its own time."""

import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from kbtool.errors import RecordError
from kbtool.runner.compare import compare_legs, compare_runs
from kbtool.runner.results import CellResult, Run, VisitResult
from kbtool.vocab.warnings import WarningCode
from tests.runner.compare.made_runs import CELL, cell_result, run, visit, with_warning

SETTING = "serving.chunked_prefill_size_tok"
VALUES = (1024, 4096, 8192)


def _speed(level: float, number: int) -> float:
    return level * (1 + 0.001 * (number % 3))


def _swept(
    speeds: Callable[[int | None], float],
    *,
    sessions: int,
    vary: Callable[[], float] = lambda: 1.0,
    drift: float = 0.0,
    bracketed: bool = False,
) -> Run:
    """Return a run whose legs are base, values, base; every leg is a start of its own and may differ by `vary`."""
    visits: dict[int | None, list[VisitResult]] = {}
    number = 0
    for session in range(sessions):
        inner = [leg for value in VALUES for leg in ((value, None) if bracketed else (value,))]
        legs = [None, *inner] if bracketed else [None, *inner, None]
        for value in reversed(legs) if session % 2 else legs:
            level = speeds(value) * vary() * (1 - drift) ** number
            made = visit(
                partial(_speed, level),
                session=session, leg="base" if value is None else f"chunk-{value}", leg_number=number,
                setting=None if value is None else SETTING, value=value, start_s=100 * number,
            )  # fmt: skip
            visits.setdefault(value, []).append(made)
            number += 1
    return run("swept", [cell_result(each) for each in visits.values()])


def test_drift_of_the_machine_cancels_between_base_legs() -> None:
    """A box that loses 2 % a leg shows equal values as equal, bracketed or not."""
    for bracketed in (False, True):
        found = compare_legs(_swept(lambda _: 1.0, sessions=4, drift=0.02, bracketed=bracketed))
        assert [each.ratio for each in found.compared] == pytest.approx([1.0] * 9, abs=1e-9)


def test_drift_of_the_base_is_told_and_sets_the_noise() -> None:
    """A base that lost 20 % from first to last leg lets no difference of 12 % be claimed."""
    found = compare_legs(_swept(lambda value: 1.12 if value == 4096 else 1.0, sessions=1, drift=0.055))
    drifts = {round(each.drift_ratio or 0, 3) for each in found.compared if each.metric == "output_tok_s"}
    assert drifts == {round((1 - 0.055) ** 4, 3)}
    assert found.differences == ()
    assert any("the base itself went to" in line for line in found.lines())


def test_planted_difference_is_found_and_the_others_are_not() -> None:
    """Of three values one is 15 % faster, over six sessions of 2.4 % variation."""
    generator = random.Random(41)
    found = compare_legs(
        _swept(
            lambda value: 1.15 if value == 4096 else 1.0, sessions=6, vary=lambda: generator.gauss(1, 0.024)
        )
    )
    assert {each.value for each in found.differences} == {4096}
    assert {each.claim for each in found.differences} == {"faster"}
    assert all(each.setting == SETTING for each in found.compared)


@pytest.mark.parametrize("sessions", [1, 2, 6])
def test_sweeps_of_equals_claim_a_difference_in_at_most_5_percent(sessions: int) -> None:
    """Starts that differ by 2.4 %: from one session on, nine comparisons a sweep."""
    generator = random.Random(42)
    wrong = sum(
        bool(compare_legs(_swept(lambda _: 1.0, sessions=sessions, vary=lambda: generator.gauss(1, 0.024)), draws=100).differences)
        for _ in range(100)
    )  # fmt: skip
    assert wrong <= 5


def test_one_session_says_that_it_is_of_these_starts() -> None:
    """A large difference is claimed of a single session, and said to be of it."""
    found = compare_legs(_swept(lambda value: 1.5 if value == 1024 else 1.0, sessions=1))
    assert {each.strength for each in found.compared} == {"these_starts"}
    assert {each.value for each in found.differences} == {1024}
    assert any("another start may differ" in line for line in found.lines())


def _cells_changed(made: Run, change: Callable[[CellResult], CellResult]) -> Run:
    return replace(made, cells=tuple(change(each) for each in made.cells))


def test_spoilt_values_and_values_without_a_base_are_refused() -> None:
    """A value that others used the server under, and one whose load the base lacks, are named."""
    made = _swept(lambda _: 1.0, sessions=2)
    spoilt = _cells_changed(
        made, lambda each: with_warning(each, WarningCode.FOREIGN_TRAFFIC) if each.value == 1024 else each
    )
    other = replace(CELL, name="alone", streams=2)
    extra = cell_result(
        [visit(lambda _: 1.0, cell=other, leg="chunk-1", leg_number=9, setting=SETTING, value=1)]
    )
    found = compare_legs(replace(spoilt, cells=(*spoilt.cells, extra)))
    assert {each.condition for each in found.refused} == {"warning foreign_traffic", "load"}
    assert {each.value for each in found.compared} == {4096, 8192}


def test_broken_off_sweep_says_that_drift_does_not_cancel() -> None:
    """Without the last base leg a value is held against the first alone."""
    base = cell_result([visit(lambda number: 1 + number / 1000)])
    value = cell_result(
        [
            visit(
                lambda number: 1 + number / 1000,
                leg="chunk-1024",
                leg_number=1,
                setting=SETTING,
                value=1024,
                start_s=99,
            )
        ]
    )
    found = compare_legs(run("cut", [base, value]))
    assert any("one side alone" in each for each in found.compared[0].caveats)


def test_run_without_a_sweep_is_refused() -> None:
    """There is nothing to hold against the base."""
    with pytest.raises(RecordError, match="expected some of both"):
        compare_legs(run("plain", [cell_result([visit(lambda _: 1.0)])]))


def test_swept_runs_compare_value_by_value() -> None:
    """Two runs of one sweep: each value meets its like, and no other."""
    one, two = _swept(lambda _: 1.0, sessions=1), replace(_swept(lambda _: 1.0, sessions=1), run_id="other")
    found = compare_runs(one, two)
    assert found.refused == ()
    assert len(found.compared) == 4 * 3
