"""One cell after another: warm-up, rounds, extension, deadlines, checks of the answers."""

from pathlib import Path

import pytest

from kbtool.runner.metrics import CacheVerdict
from kbtool.runner.session import run as run_module
from kbtool.runner.session import visits
from kbtool.runner.session.events import RoundDone, VisitSealed
from kbtool.runner.session.single import calibrated_lengths
from kbtool.vocab.warnings import WarningCode
from tests.fakes import state
from tests.fakes.engine import running
from tests.runner.session.driving import (
    CONCURRENCY,
    attached,
    cell,
    fixed,
    loaded,
    measured,
    plan_of,
)

ONE = {**CONCURRENCY, "levels": [1], "requests_per_stream": 1}


def test_a_warm_up_ends_as_soon_as_two_rounds_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds of 100, 200, 204 and 400 tok/s warm up in three, and the fourth is the first that counts."""
    speeds = iter([100.0, 200.0, 204.0, 400.0])
    monkeypatch.setattr(visits, "_main_value", lambda _visit, _result: [next(speeds)])
    with running() as engine:
        driven = measured(plan_of(attached(engine.url), ONE, repeats=fixed(warm_up=8)), tmp_path / "run")
    phases = [(each.number, each.phase) for each in driven.of(RoundDone)]
    assert phases == [(1, "warm_up"), (2, "warm_up"), (3, "warm_up"), (4, "measured")]


def test_a_warm_up_that_never_agrees_ends_at_its_limit_and_is_kept_and_marked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two warm-up rounds are on the disk, read back as such, and in no figure."""
    speeds = iter([100.0, 200.0, 100.0])
    monkeypatch.setattr(visits, "_main_value", lambda _visit, _result: [next(speeds)])
    with running() as engine:
        measured(plan_of(attached(engine.url), ONE, repeats=fixed(warm_up=2)), tmp_path / "run")
    (visit,) = cell(loaded(tmp_path / "run"), "load-c1").visits
    assert [each.note.number for each in visit.warm_up] == [1, 2]
    assert [each.note.number for each in visit.rounds] == [3]


@pytest.mark.parametrize(
    ("speeds", "rounds", "because"),
    [
        ([100.0, 100.0, 100.1], 3, "interval_reached"),
        ([100.0, 150.0, 60.0, 140.0, 80.0, 120.0], 6, "most_rounds"),
    ],
)
def test_rounds_go_on_until_the_interval_is_narrow_or_the_limit_is_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, speeds: list[float], rounds: int, because: str
) -> None:
    """Equal rounds are enough at once; wild ones go on to the most that the plan allows, and the cell says which."""
    values = iter([1.0, *speeds])
    monkeypatch.setattr(visits, "_main_value", lambda _visit, _result: [next(values)])
    repeats = {**fixed(3), "max_rounds": 6, "interval_ratio": "0.05"}
    with running() as engine:
        measured(plan_of(attached(engine.url), ONE, repeats=repeats), tmp_path / "run")
    (visit,) = cell(loaded(tmp_path / "run"), "load-c1").visits
    assert (len(visit.rounds), visit.note.ended_because) == (rounds, because)


def test_a_fixed_number_of_rounds_says_that_they_are_done(tmp_path: Path) -> None:
    """Without an interval to reach a cell ends after the rounds that were asked for."""
    with running() as engine:
        driven = measured(plan_of(attached(engine.url), ONE, repeats=fixed(2)), tmp_path / "run")
    (sealed,) = driven.of(VisitSealed)
    assert (len(sealed.result.rounds), sealed.result.note.ended_because) == (2, "rounds_done")


def test_a_cell_past_its_deadline_keeps_the_rounds_it_has_and_says_so(tmp_path: Path) -> None:
    """A cell of 0.001 s has one measured round, though three were asked for."""
    with running() as engine:
        plan = plan_of(attached(engine.url), ONE, repeats=fixed(3))
        plan["deadlines"]["cell_s"] = "0.001"
        measured(plan, tmp_path / "run")
    (visit,) = cell(loaded(tmp_path / "run"), "load-c1").visits
    assert (len(visit.rounds), visit.note.ended_because) == (1, "deadline")


def test_equal_answers_to_one_greedy_prompt_are_repeatable(tmp_path: Path) -> None:
    """Three answers alike: the cell is no mere speed, and the repeats are in no figure of it."""
    with running() as engine:
        plan = plan_of(attached(engine.url), ONE, sanity={"greedy_repeats": 3})
        measured(plan, tmp_path / "run")
        asked = engine.truth()
    found = cell(loaded(tmp_path / "run"), "load-c1")
    assert found.visits[0].sanity.repeatable_ratio == 1.0
    assert WarningCode.SPEED_ONLY not in found.summary.warnings
    assert sum(each.figures.n_requests for each in found.rounds) == 1
    assert [each.body["messages"] for each in asked[-3:]] == [asked[-1].body["messages"]] * 3


def test_answers_that_are_not_checked_leave_a_speed_only(tmp_path: Path) -> None:
    """Without repeats nothing shows that the model is right, and the record says so."""
    with running() as engine:
        measured(plan_of(attached(engine.url), ONE), tmp_path / "run")
    assert cell(loaded(tmp_path / "run"), "load-c1").visits[0].sanity.repeatable_ratio is None


def test_prompts_that_fill_the_cache_are_kept_apart_from_what_is_measured(tmp_path: Path) -> None:
    """A warm prefill has the second sending of each prompt in its figures, and the first under a number of its own."""
    work = {
        "id": "read", "kind": "prefill", "lengths_tok": [400], "caches": ["cold", "warm"], "output_tok": 2,
        "requests": 2,
    }  # fmt: skip
    with running() as engine:
        measured(plan_of(attached(engine.url), work), tmp_path / "run")
    run = loaded(tmp_path / "run")
    cold, warm = cell(run, "read-400-cold"), cell(run, "read-400-warm")
    assert (cold.summary.cache.state, warm.summary.cache.state) == ("proven_cold", "warm")
    (visit,) = warm.visits
    assert [(each.note.number, each.figures.n_requests) for each in visit.rounds] == [(2, 2)]
    primed = [each for each in visit.warm_up if each.note.number > 1000]
    assert [(each.note.number, each.figures.totals.cached_tok) for each in primed] == [(1001, 0), (1002, 0)]
    assert all((each.figures.totals.cached_tok or 0) > 0 for each in visit.rounds)


def test_the_opening_of_a_chat_template_is_no_reuse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that caches by the token reuses the template's two tokens of every prompt: known beforehand, still cold."""
    monkeypatch.setattr(state, "BLOCK_TOK", 1)
    monkeypatch.setattr(run_module, "calibrated_lengths", calibrated_lengths)
    with running() as engine:
        measured(plan_of(attached(engine.url), ONE), tmp_path / "run")
    found = cell(loaded(tmp_path / "run"), "load-c1")
    # Of some fifty probes, one or another begins with the token that the one before began with, too.
    assert 2 <= found.rounds[0].note.context.template_tok <= 4
    assert 2 <= (found.rounds[0].figures.totals.cached_tok or 0) <= 4
    assert found.summary.cache == CacheVerdict("proven_cold", ("template_tokens_only", "unique_prompt"))
