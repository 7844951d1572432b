"""A run read back: what is put together from several visits, and what is said of cells that failed."""

from dataclasses import replace
from pathlib import Path

from kbtool.runner.engines import Counters
from kbtool.runner.metrics import RoundContext
from kbtool.runner.results.load import affinity_of, round_result, shares_of
from kbtool.runner.results.notes import ClockMark, EndpointCounters, RoundNote
from kbtool.runner.session.events import Event, VisitBegan
from kbtool.runner.target.topology import Split, TurnSeen
from tests.fakes.engine import running
from tests.runner.session.driving import CONCURRENCY, attached, fixed, loaded, measured, plan_of

MARK = ClockMark(0, 0, 0)
ONE = {**CONCURRENCY, "levels": [1], "requests_per_stream": 1}


def counted(requests: int | None, tokens: int) -> Counters:
    """Return totals of one server."""
    return Counters(t_ns=0, requests_finished=requests, generation_tok=tokens)


def split_over(*after: Counters | None) -> Split | None:
    """Return how a round was spread of which servers counted so much."""
    readings = tuple(EndpointCounters(f"i{at}", counted(0, 0), each) for at, each in enumerate(after))
    note = RoundNote(1, "measured", RoundContext(session="s", round=1), None, MARK, MARK, readings)
    return round_result(note, ()).split


def test_shares_are_sums_over_rounds() -> None:
    """What each instance served in all rounds together."""
    rounds = [split_over(counted(3, 30), counted(1, 10)), split_over(counted(2, 20), counted(2, 20))]
    assert dict(shares_of(rounds)) == {"i0": 5, "i1": 3}


def test_shares_are_none_where_one_is_not_known_or_something_else_was_counted() -> None:
    """Requests and tokens are not added up, and a part of a sum is no sum."""
    whole, tokens = split_over(counted(3, 30), counted(1, 10)), split_over(counted(None, 20), counted(2, 20))
    assert dict(shares_of([tokens])) == {"i0": 20, "i1": 20}
    assert shares_of([whole, tokens]) == ()
    assert shares_of([whole, split_over(counted(3, 30), None)]) == ()
    assert shares_of([split_over(counted(3, 30))]) == ()
    assert shares_of([]) == ()


def test_what_all_conversations_share_shows_no_affinity() -> None:
    """A turn that finds the system prompt alone has lost its conversation; one that finds its own text has kept it."""
    first = [TurnSeen(f"1/{at}", 1, 1000, 900) for at in range(2)]
    kept, lost = TurnSeen("1/0", 2, 1200, 1000), TurnSeen("1/1", 2, 1200, 900)
    seen = affinity_of([(*first, kept, lost)])
    assert (seen.turns, seen.kept, seen.kept_ratio) == (2, 1, 0.5)


def test_a_run_is_read_back_alike_each_time(tmp_path: Path) -> None:
    """Every figure is computed anew, and is the same."""
    with running() as engine:
        measured(plan_of(attached(engine.url), ONE, repeats=fixed(2)), tmp_path / "run")
    assert loaded(tmp_path / "run").cells == loaded(tmp_path / "run").cells


def test_a_cell_that_failed_is_named_with_its_reason(tmp_path: Path) -> None:
    """A run may be complete without it: what it came to stands beside the figures of the others."""
    with running() as engine:

        def spoil(event: Event) -> None:
            if isinstance(event, VisitBegan):
                mode = "server_error" if event.visit.cell.workload == "b" else "honest"
                engine.script = replace(engine.script, mode=mode)

        works = [{**ONE, "id": name} for name in ("a", "b")]
        measured(plan_of(attached(engine.url), *works), tmp_path / "run", on_event=spoil)
    run = loaded(tmp_path / "run")
    assert run.finished
    assert [each.cell.workload for each in run.cells] == ["a"]
    ((key, reason),) = run.failed
    assert "-b-c1-" in key
    assert reason.startswith("round_failed: none of 1 requests succeeded, 1 of them http_error")
