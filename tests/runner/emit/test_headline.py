"""Which result stands for a record, and what it may not hide."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from kbtool.runner.emit.figures import results_of
from kbtool.runner.emit.headline import headline_of
from kbtool.runner.results import load_run
from kbtool.schema.benchmark import Result
from tests.runner.report.made_run import Shape, make_run, plan_of, workload


def _results(root: Path, *loads: dict[str, object], fast: str = "code") -> tuple[str, tuple[Result, ...]]:
    """Return the headline of a run in which cells with a word in their name are three times as fast, and all results."""
    shape = Shape(speed=lambda visit: 3.0 if fast in visit.cell.name else 1.0)
    run = load_run(make_run(root, plan_of(*loads), shape))
    results = results_of(run.cells, run.plan, "sources/made")
    return headline_of(run.cells, results, run.plan), results


def test_the_first_class_of_the_plan_stands_whatever_is_faster(tmp_path: Path) -> None:
    """Code drafts well; a plan that names prose first is about prose."""
    headline, _ = _results(tmp_path / "run", workload("single_stream", "one"))
    assert headline.startswith("one-prose-tok-s-per-user")


def test_of_several_loads_of_one_class_the_best_stands(tmp_path: Path) -> None:
    """A sweep over users has one class, and its best throughput is what it is for."""
    headline, results = _results(tmp_path / "run", workload("concurrency", "users"), fast="c16")
    assert headline.startswith("users-c16-output-tok-s")
    assert headline in {each.id for each in results}


def test_broken_answers_stand_for_a_record_only_where_all_are_broken(tmp_path: Path) -> None:
    """The next class that is sound stands instead."""
    run = load_run(make_run(tmp_path / "run", plan_of(workload("single_stream", "one"))))
    results = results_of(run.cells, run.plan, "sources/made")

    def broken(*classes: str) -> str:
        marked = [
            each.model_copy(update={"warnings": ("garbage_output",)})
            if each.at.prompt_class in classes
            else each
            for each in results
        ]
        return headline_of(run.cells, marked, run.plan)

    assert broken("prose").startswith("one-code-")
    assert broken("prose", "code").startswith("one-prose-")


def test_one_metric_of_a_workload_is_one_statistic(tmp_path: Path) -> None:
    """A lone user has too few requests for a median; a mean beside the medians of more users would be compared with them."""
    _, results = _results(tmp_path / "run", workload("concurrency", "users"), fast="none")
    for metric in ("tok_s_per_user", "ttft_ms"):
        central = {
            each.statistic
            for each in results
            if each.metric == metric and each.statistic in {"p50", "mean", "median"}
        }
        assert len(central) == 1, metric


def test_an_interval_beyond_what_can_be_is_left_out_and_said(tmp_path: Path) -> None:
    """Rounds that lie far apart give an interval below 0: the figure has none, fewer digits, and a note says why."""
    run = load_run(make_run(tmp_path / "run", plan_of(workload("concurrency", "users"))))
    first = run.cells[0]
    wide = tuple(
        replace(each, value=1276.91, low=-556.2, high=3110.0, spread_stdev=738.0)
        if each.metric == "output_tok_s"
        else each
        for each in first.summary.measurements
    )
    cell = replace(first, summary=replace(first.summary, measurements=wide))
    (found,) = [
        each for each in results_of((cell,), run.plan, "sources/made") if each.metric == "output_tok_s"
    ]
    assert (found.low, found.high, found.value) == (None, None, Decimal(1280))
    assert found.note is not None
    assert "too wide to give" in found.note
