"""What a record says after the server did something: each ability of the scripted engine, down to the record."""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from kbtool.errors import KbtoolError, RecordError
from kbtool.runner.session import run as run_module
from kbtool.runner.session.events import Event, RoundDone, VisitBegan, VisitFailed
from kbtool.runner.session.single import calibrated_lengths
from tests.fakes.engine import Engine, Script, running
from tests.fakes.hostile import MODES
from tests.runner.emit.emitting import emitted, record_of, result
from tests.runner.session.driving import (
    CONCURRENCY,
    Driven,
    attached,
    cell,
    fixed,
    loaded,
    measured,
    plan_of,
    session_of,
)

ONE = {**CONCURRENCY, "levels": [1], "requests_per_stream": 2}


def run_of(engine: Engine, root: Path, *workloads: Mapping[str, Any], **more: Any) -> Driven:
    """Measure a running engine."""
    return measured(plan_of(attached(engine.url), *(workloads or (ONE,)), **more), root)


def test_an_honest_server_gives_a_record_whose_figures_are_its_own(tmp_path: Path) -> None:
    """The times and tokens of an exact schedule are found again, and nothing is missing that the server says."""
    script = Script(ttft_ms=40, step_ms=10)
    with running(script) as engine:
        run_of(engine, tmp_path / "run", repeats=fixed(3))
    record = record_of(tmp_path / "run")
    ttft, tpot = result(record, "ttft_ms", "mean"), result(record, "tpot_ms")
    assert ttft is not None
    assert ttft.value is not None
    assert tpot is None or tpot.value is not None
    assert 40 <= ttft.value < 60
    assert ttft.at.prefix_cache == "cold"
    assert set(ttft.at.cache_proof) == {"cached_tokens_zero", "unique_prompt"}
    assert ttft.at.output_tok == 8
    assert ttft.repeats == 3
    assert record.engine.version == "0.32.0"
    assert record.serving.max_running_requests == 64
    assert "omitted_by_source" not in {str(gap.reason) for gap in record.gaps}


def test_tokens_are_the_server_s_count_however_they_are_cut_into_chunks(tmp_path: Path) -> None:
    """16 tokens are 16 tokens, in chunks of 1 or of 8."""
    sizes = (1, 2, 3, 5, 8)
    with running(Script(ttft_ms=2, step_ms=1)) as engine:

        def cut(event: Event) -> None:
            if isinstance(event, VisitBegan):
                engine.script = replace(engine.script, chunk_tok=(int(event.visit.cell.workload[-1]),))

        works = [{**ONE, "id": f"by-{size}", "output_tok": 16} for size in sizes]
        measured(plan_of(attached(engine.url), *works), tmp_path / "run", on_event=cut)
        truth = [sorted(set(each.chunk_tok)) for each in engine.truth()[-4 * len(sizes) :: 4]]
    assert truth == [[1], [2], [1, 3], [1, 5], [8]]
    assert {each.at.output_tok for each in record_of(tmp_path / "run").results} == {16}
    totals = [each.rounds[0].figures.totals.output_tok for each in loaded(tmp_path / "run").cells]
    assert totals == [32] * len(sizes)


def test_hidden_usage_stops_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the server's count there is no length, no token and no record; the message says what to run."""
    monkeypatch.setattr(run_module, "calibrated_lengths", calibrated_lengths)
    driven = Driven(tmp_path / "run")
    with (
        running(Script(usage="none")) as engine,
        session_of(plan_of(attached(engine.url)), driven) as session,
        pytest.raises(KbtoolError, match="token"),
    ):
        session.run()
    with pytest.raises(RecordError, match="not complete"):
        record_of(tmp_path / "run")


def test_usage_that_vanishes_later_leaves_failures_and_no_figure(tmp_path: Path) -> None:
    """A cell whose answers have no usage fails as a whole, and the run has nothing to publish."""
    with running() as engine:

        def hide(event: Event) -> None:
            if isinstance(event, VisitBegan):
                engine.script = replace(engine.script, usage="none")

        driven = measured(plan_of(attached(engine.url)), tmp_path / "run", on_event=hide)
    (failed,) = driven.of(VisitFailed)
    assert "no_usage" in failed.detail
    with pytest.raises(RecordError, match="no cell has a figure"):
        record_of(tmp_path / "run")


def test_hidden_cached_tokens_leave_the_cache_unproven(tmp_path: Path) -> None:
    """Where a server does not report reuse, unique prompts alone prove nothing, and each result says so."""
    with running(Script(cached_tokens=False)) as engine:
        run_of(engine, tmp_path / "run")
    found = record_of(tmp_path / "run").results
    assert {each.at.prefix_cache for each in found} == {"unproven"}
    assert all("unproven_cold" in each.warnings for each in found)


def test_models_that_are_listed_before_they_can_answer_are_waited_for(tmp_path: Path) -> None:
    """A server that refuses its first requests is not ready; no refused request is in the record."""
    with running(Script(ready_after=2)) as engine:
        run_of(engine, tmp_path / "run")
    error = result(record_of(tmp_path / "run"), "error_ratio")
    assert error is not None
    assert error.value == 0


def test_a_key_that_is_asked_for_and_missing_is_named(tmp_path: Path) -> None:
    """A server that asks for a key is up: the message says that the key is missing, not that the server is."""
    driven = Driven(tmp_path / "run")
    script = Script(api_key="kb-test-4711")
    with (
        running(script) as engine,
        session_of(plan_of(attached(engine.url)), driven) as session,
        pytest.raises(KbtoolError, match=r"(?i)key"),
    ):
        session.run()


def test_prompts_over_the_context_fail_under_that_name(tmp_path: Path) -> None:
    """A server whose limit is below what it says refuses; the cell is over the context, and the others stand."""
    long = {**ONE, "id": "long", "input_tok": 1800}
    with running(Script(context_tok=1500, advertised_context_tok=1500)) as engine:
        driven = run_of(engine, tmp_path / "run", ONE, long)
    (failed,) = driven.of(VisitFailed)
    assert (failed.visit.cell.workload, "over_context" in failed.detail) == ("long", True)
    made = emitted(tmp_path / "run")
    assert {each.id.partition("-")[0] for each in made.benchmark.results} == {"load"}
    assert made.source.notes is not None
    assert "over_context" in made.source.notes


def test_a_counter_reset_in_mid_round_publishes_no_acceptance(tmp_path: Path) -> None:
    """Counters that fall are no difference: what is made of them is left out, and the round says why."""
    with running(Script(draft_tok=2, chunk_tok=(1, 3), reset_counters_after=8)) as engine:
        run_of(engine, tmp_path / "run", {**ONE, "requests_per_stream": 6}, repeats=fixed(1, warm_up=1))
    rounds = cell(loaded(tmp_path / "run"), "load-c1")
    states = [
        each.reconciliation.state for visit in rounds.visits for each in (*visit.warm_up, *visit.rounds)
    ]
    assert "counter_reset" in states


def test_traffic_of_others_stands_beside_every_figure(tmp_path: Path) -> None:
    """Tokens that the server counted and we did not ask for mark the whole cell."""
    with running(Script(foreign_tok=5000)) as engine:
        run_of(engine, tmp_path / "run")
    assert all("foreign_traffic" in each.warnings for each in record_of(tmp_path / "run").results)


def test_a_server_that_grows_hot_shows_as_drift(tmp_path: Path) -> None:
    """Rounds that get slower and slower are marked as drifting."""
    with running(Script(ttft_ms=8, step_ms=4)) as engine:
        factor = 1.0

        def heat(event: Event) -> None:
            nonlocal factor
            if isinstance(event, RoundDone):
                factor *= 1.4
                engine.script = replace(engine.script, ttft_ms=8 * factor, step_ms=4 * factor)

        plan = plan_of(attached(engine.url), repeats=fixed(8))
        measured(plan, tmp_path / "run", on_event=heat)
    speed = result(record_of(tmp_path / "run"), "output_tok_s")
    assert speed is not None
    assert "drift" in speed.warnings


def test_a_cliff_is_found_bisected_and_published(tmp_path: Path) -> None:
    """Speed that falls above 5 users is narrowed down from 4 and 6 to 5 and 6."""
    work = {**CONCURRENCY, "levels": [2, 4, 6], "find_cliff": True, "output_tok": 5, "requests_per_stream": 1}
    with running(Script(ttft_ms=10, step_ms=20, cliff_above=5, cliff_factor=12)) as engine:
        run_of(engine, tmp_path / "run", work, repeats=fixed(3))
    (cliff,) = record_of(tmp_path / "run").cliffs
    assert (cliff.last_good, cliff.first_bad) == (5, 6)
    marked = {
        each.at.concurrency for each in record_of(tmp_path / "run").results if "graph_cliff" in each.warnings
    }
    assert marked == {6}


def test_a_setting_that_was_ignored_is_published_as_it_is_in_force(tmp_path: Path) -> None:
    """The record has what the running server says, not what was meant."""
    with running(Script(settings={"scheduler_config.max_num_seqs": 7})) as engine:
        run_of(engine, tmp_path / "run")
    record = record_of(tmp_path / "run")
    assert record.serving.max_running_requests == 7
    (place,) = [
        each.evidence.locator
        for each in record.setup_evidence
        if "serving.max_running_requests" in each.fields
    ]
    assert place is not None
    assert "server_info" in place


BAD = (
    "stall", "broken_utf8", "endless_line", "usage_too_many", "usage_sum_wrong", "close_mid_stream",
    "reset_mid_stream", "redirect", "error_mid_stream", "other_model", "no_end_mark", "empty_content",
)  # fmt: skip


def test_bad_answers_are_failures_of_named_classes_and_in_no_figure(tmp_path: Path) -> None:
    """Cells whose requests are answered badly come to nothing, each under its name; the one between them stands."""
    with running(Script(ttft_ms=1)) as engine:

        def misbehave(event: Event) -> None:
            if isinstance(event, VisitBegan):
                engine.script = replace(engine.script, mode="honest")
            if isinstance(event, RoundDone) and event.phase == "warm_up":
                mode = event.visit.cell.workload.replace("-", "_")
                engine.script = replace(engine.script, mode=mode)

        works = [
            {**ONE, "id": mode.replace("_", "-"), "requests_per_stream": 1}
            for mode in (*BAD[:6], "honest", *BAD[6:])
        ]
        plan = plan_of(attached(engine.url), *works, repeats=fixed(1))
        plan["deadlines"] |= {"progress_s": "0.5", "first_token_s": 1, "request_s": 2}
        driven = measured(plan, tmp_path / "run", on_event=misbehave)
    reasons = {each.visit.cell.workload.replace("-", "_"): each.detail for each in driven.of(VisitFailed)}
    assert {mode: MODES[mode].outcome in reason for mode, reason in reasons.items()} == dict.fromkeys(
        BAD, True
    )
    made = emitted(tmp_path / "run")
    assert {each.id.partition("-")[0] for each in made.benchmark.results} == {"honest"}
    assert made.source.notes is not None
    assert made.source.notes.count("round_failed") > 5


def test_more_failures_than_allowed_leave_their_share_alone(tmp_path: Path) -> None:
    """With one of four requests failing, the share of failures is all that the record has of the cell."""
    with running(Script(ttft_ms=1)) as engine:
        start = 0

        def spoil(event: Event) -> None:
            nonlocal start
            if isinstance(event, RoundDone) and event.phase == "warm_up":
                start = engine.state.asked
                engine.script = replace(engine.script, ready_after=start + 1)

        plan = plan_of(attached(engine.url), {**ONE, "requests_per_stream": 4})
        measured(plan, tmp_path / "run", on_event=spoil)
    (only,) = record_of(tmp_path / "run").results
    assert (only.metric, only.value) == ("error_ratio", Decimal("0.25"))
    assert "errors" in only.warnings


def test_a_server_that_restarts_under_its_port_ends_the_run_and_leaves_no_false_cell(tmp_path: Path) -> None:
    """Another start of the server under the same port is not the server that the run began with."""
    with running() as engine:

        def restart(event: Event) -> None:
            if isinstance(event, RoundDone) and event.phase == "measured":
                engine.restart()
                engine.state.started_s += 100

        driven = Driven(tmp_path / "run", on_event=restart)
        with (
            session_of(plan_of(attached(engine.url)), driven) as session,
            pytest.raises(KbtoolError, match=r"the server was lost.*bench resume"),
        ):
            session.run()
    (failed,) = driven.of(VisitFailed)
    assert failed.reason == "target_lost"
    run = loaded(tmp_path / "run")
    assert (run.cells, run.finished) == ((), False)
    with pytest.raises(RecordError, match="not complete"):
        record_of(tmp_path / "run")
