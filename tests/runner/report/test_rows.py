"""The tables of a report: what stands in them, and that it is what the summaries say."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kbtool.runner.metrics import Measurement
from kbtool.runner.plan.cells import Visit
from kbtool.runner.report import DataTable, Entry, rows_of
from kbtool.runner.report.choose import head_metric, head_of
from kbtool.runner.results import Run, load_run
from kbtool.runner.trace import Outcome, RequestTrace
from kbtool.vocab.warnings import WarningCode
from tests.runner.report.made_run import Shape, make_run, plan_of, workload

SWEEP: dict[str, Any] = {
    "id": "power",
    "setting": "system.power_limit_w",
    "values": [{"value": 600}, {"value": 450}, {"value": 300}],
    "base": 600,
    "command": ["set-power", "{value}"],
    "order": "as_given",
}


def _run(root: Path, plan: dict[str, Any], shape: Shape | None = None) -> Run:
    return load_run(make_run(root, plan, shape))


def _table(tables: tuple[DataTable, ...], key: str) -> DataTable:
    return next(each for each in tables if each.key == key)


def _column(table: DataTable, title: str) -> list[Entry]:
    at = next(at for at, column in enumerate(table.columns) if column.title == title)
    return [row[at] for row in table.rows]


@pytest.mark.parametrize("kind", ["single_stream", "concurrency", "rate", "prefill", "conversation"])
def test_every_number_of_a_results_table_is_one_of_the_summary(tmp_path: Path, kind: str) -> None:
    """A table computes nothing: each number is the value of a measurement of the row's cell."""
    run = _run(tmp_path / "run", plan_of(workload(kind, "load")))
    (table,) = rows_of(run).results
    for row in table.rows:
        assert row[0].cell is not None
        cell = run.cells[row[0].cell]
        known = {each.value for each in cell.summary.measurements}
        known |= {each.spread_stdev for each in cell.summary.measurements if each.spread_stdev is not None}
        shown = [
            each.value
            for each, column in zip(row, table.columns, strict=True)
            if each.value is not None and column.title != "Requests ok"
        ]
        assert set(shown) <= known
        head = head_of(cell)
        assert head is None or head.metric != head_metric(kind) or head.value in shown


def test_a_number_stands_with_interval_spread_and_n(tmp_path: Path) -> None:
    """The number that stands for a cell has its interval and its standard deviation beside it, and n below."""
    run = _run(tmp_path / "run", plan_of(workload("concurrency", "users", levels=[4])))
    (table,) = rows_of(run).results
    head = head_of(run.cells[0])
    assert isinstance(head, Measurement)
    main = next(at for at, column in enumerate(table.columns) if column.main)
    row = table.rows[0]
    assert row[main].value == head.value
    assert row[main].detail == f"n {head.n_samples}"
    assert row[main + 1].text.split(" to ")[0] != "-"
    assert row[main + 2].value == head.spread_stdev


def test_a_column_holds_one_statistic(tmp_path: Path) -> None:
    """Where some cells have too few samples for a p50, all show the mean: unlike numbers are not put side by side."""
    run = _run(tmp_path / "run", plan_of(workload("concurrency", "users", levels=[1, 16])))
    (table,) = rows_of(run).results
    assert any(column.title == "TTFT, mean" for column in table.columns)
    alone = _run(tmp_path / "alone", plan_of(workload("concurrency", "users", levels=[16])))
    (table,) = rows_of(alone).results
    assert any(column.title == "TTFT, p50" for column in table.columns)


def test_a_warning_of_every_cell_stands_once_and_others_in_their_row(tmp_path: Path) -> None:
    """Rows carry what tells them from others; what all share is said at the top, with its definition."""

    def change(visit: Visit, trace: RequestTrace) -> RequestTrace:
        broken = visit.cell.streams == 4 and trace.id.endswith("/1")
        return replace(trace, outcome=Outcome.STALLED, detail="no token for 120 s") if broken else trace

    rows = rows_of(_run(tmp_path / "run", plan_of(), Shape(change=change)))
    met = {each.code: each for each in rows.warnings}
    assert met[WarningCode.SPEED_ONLY].everywhere
    assert met[WarningCode.SPEED_ONLY].means.startswith("Nobody checked")
    assert met[WarningCode.ERRORS].cells == ("users-c4",)
    warned = {
        row[0].text: entry.warnings
        for row, entry in zip(rows.results[0].rows, _column(rows.results[0], "Warnings"), strict=True)
    }
    assert WarningCode.ERRORS in warned["users-c4"]
    assert not any(WarningCode.SPEED_ONLY in each for each in warned.values())
    assert _column(rows.results[0], "Requests ok")[1].text == "21 of 24"


def test_failures_are_counted_by_class(tmp_path: Path) -> None:
    """What failed stands in a table of its own, with its share of all that was sent, and an example where one was read."""

    def change(_: Visit, trace: RequestTrace) -> RequestTrace:
        return replace(trace, outcome=Outcome.HTTP_ERROR) if trace.id.endswith("/0") else trace

    run = _run(tmp_path / "run", plan_of(workload("concurrency", "users", levels=[4])), Shape(change=change))
    table = _table(rows_of(run).checks, "failures")
    assert [entry.text for entry in table.rows[0]] == ["users-c4", "http error", "3", "12.5 %"]
    table = _table(rows_of(run, {(0, Outcome.HTTP_ERROR): "status 500, no"}).checks, "failures")
    assert table.rows[0][-1].text == "status 500, no"


def test_a_sweep_stands_between_its_first_and_last_base(tmp_path: Path) -> None:
    """Settings stand side by side with their ratio to the base, whose drift shows beside them."""
    shape = Shape(speed=lambda visit: {"power-450": 0.9, "power-300": 0.5}.get(visit.leg.name, 1.0))
    run = _run(tmp_path / "run", plan_of(workload("concurrency", "users", levels=[4]), sweeps=[SWEEP]), shape)
    rows = rows_of(run)
    table = _table(rows.comparisons, "sweep-0")
    assert [column.title for column in table.columns] == [
        "Cell",
        "Metric",
        "base first: 600",
        "450",
        "300",
        "base last: 600",
    ]
    base = run.cells[0].summary.measurement("output_tok_s", "median")
    slow = next(cell for cell in run.cells if cell.leg == "power-300").summary.measurement(
        "output_tok_s", "median"
    )
    assert base is not None
    assert slow is not None
    assert table.rows[0][4].value == slow.value
    assert table.rows[0][4].detail.startswith(f"{slow.value / base.value:.3f} x base")
    drift = _table(rows.comparisons, "drift")
    first, last = drift.rows[0][3].value, drift.rows[0][4].value
    assert first is not None
    assert last is not None
    assert drift.rows[0][5].value == last / first
    assert (table.rows[0][2].value, table.rows[0][5].value) == (first, last)


def test_router_is_set_against_one_instance(tmp_path: Path) -> None:
    """The control cell gives the ratio of what goes through the router to what goes straight at an instance."""
    shape = Shape(straight=True, shares=(("one", 30), ("two", 10)), affinity_ratio=0.75)
    rows = rows_of(_run(tmp_path / "run", plan_of(workload("concurrency", "users", levels=[4])), shape))
    table = _table(rows.comparisons, "control")
    through, straight = table.rows[0][2].value, table.rows[0][3].value
    assert through
    assert straight
    assert table.rows[0][4].value == through / straight
    instances = _table(rows.checks, "instances")
    assert [(row[1].text, row[3].text, row[4].text) for row in instances.rows[:2]] == [
        ("one", "75.0 %", "75.0 %"),
        ("two", "25.0 %", "75.0 %"),
    ]


def test_a_cliff_is_named_with_what_is_left(tmp_path: Path) -> None:
    """Throughput that falls with more users is in a table of its own."""
    shape = Shape(speed=lambda visit: 0.25 if visit.cell.streams == 16 else 1.0)
    run = _run(tmp_path / "run", plan_of(), shape)
    table = _table(rows_of(run).comparisons, "cliffs")
    assert [entry.text for entry in table.rows[0]][:4] == ["users", "base", "4", "16"]
    assert table.rows[0][4].value == run.cliffs[0].cliff.ratio
    assert table.rows[0][5].text.startswith("severe")


def test_client_and_its_known_error_are_told(tmp_path: Path) -> None:
    """Each cell says how the client did, and which error was found at the calibrated number of streams next above."""
    levels = [{"streams": count, "ttft_mean_error_ratio": 0.001 * count} for count in (1, 4, 64)]
    shape = Shape(calibration={"levels": [*levels, "junk", {"streams": "many"}]})
    table = _table(rows_of(_run(tmp_path / "run", plan_of(), shape)).checks, "client")
    assert [entry.text for entry in _column(table, "Known error of this client")] == [
        "TTFT +0.10 % at 1 stream",
        "TTFT +0.40 % at 4 streams",
        "TTFT +6.40 % at 64 streams",
    ]
    assert _column(table, "Read lag p99")[0].value == pytest.approx(0.09)


def test_surroundings_are_told_in_a_few_lines(tmp_path: Path) -> None:
    """Engine, model, cards, host and client each have a line."""
    facts = {
        each.label: each.text for each in rows_of(_run(tmp_path / "run", plan_of(), Shape(cards=2))).facts
    }
    assert facts["Engine"] == "llama.cpp, 1.2.3, b77, engines/llama-cpp"
    assert facts["Cards"] == "2 x NVIDIA RTX PRO 6000 Blackwell Server Edition, 600 W limit, driver 580.10"
    assert facts["Host"] == "AMD EPYC, 64 cores, 512 GiB, Debian, kernel 6.1"
    assert facts["Client"] == "1.0, not calibrated on this host"


def test_a_run_that_only_failed_says_why(tmp_path: Path) -> None:
    """No number, no table of results, and each failed cell with its reason."""
    rows = rows_of(_run(tmp_path / "run", plan_of(), Shape(fail=lambda _: "every request was refused")))
    assert rows.results == ()
    assert rows.verdict == "0 cells, 0 rounds, 0 of 0 requests ok, 3 attempts failed."
    failed = _table(rows.checks, "failed-cells")
    assert failed.rows[0][1].text == "round_failed: every request was refused"


def test_an_unfinished_run_says_so(tmp_path: Path) -> None:
    """What was sealed so far is shown, and is not taken for the whole."""
    rows = rows_of(_run(tmp_path / "run", plan_of(), Shape(finished=False)))
    assert not rows.complete
    assert rows.verdict.endswith("The run is not complete: this is what was sealed so far.")
