"""Links of a run to what it measured again: made for the same statistic of a sound figure, and refused with a reason."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from kbtool.runner.emit import LinkTarget, RecordGiven, records_of
from kbtool.runner.results import Run
from kbtool.vocab.warnings import WarningCode
from tests.fakes.engine import Script, running
from tests.runner.emit.emitting import DAY
from tests.runner.session.driving import CONCURRENCY, attached, fixed, loaded, measured, plan_of

ONE = {**CONCURRENCY, "levels": [1], "requests_per_stream": 7}
OPEN = ("first point", "second point")


def _aim(name: str, metric: str, *points: str) -> dict[str, object]:
    return {
        "target": f"benchmarks/b#{name}",
        "workload": "load",
        "metric": metric,
        "open_points": list(points),
    }


def _warned(run: Run, *warnings: WarningCode) -> Run:
    """Return a run of one cell whose figures carry these warnings and no others."""
    (cell,) = run.cells
    figures = tuple(replace(each, warnings=warnings) for each in cell.summary.measurements)
    return replace(run, cells=(replace(cell, summary=replace(cell.summary, measurements=figures)),))


def test_a_link_is_of_the_same_statistic_and_what_is_not_linked_has_a_reason(tmp_path: Path) -> None:
    """A mean is published for a mean, points that are open are said once, and every other target is accounted for."""
    aims = [
        _aim("mean", "ttft_ms", *OPEN),
        _aim("p50", "ttft_ms", *OPEN, "third point"),
        _aim("again", "ttft_ms", *OPEN),
        _aim("peak", "output_tok_s"),
        _aim("prefill", "goodput_req_s"),
        _aim("none", "output_tok_s"),
    ]
    with running(Script(ttft_ms=20, step_ms=5)) as engine:
        measured(plan_of(attached(engine.url), ONE, replicates=aims, repeats=fixed(3)), tmp_path / "run")
    # On a busy machine the client may be too slow, which is not what is tested.
    run, ten = _warned(loaded(tmp_path / "run")), Decimal(10)
    targets = {
        "benchmarks/b#mean": LinkTarget(ten, ("mean",)),
        "benchmarks/b#p50": LinkTarget(ten, ("p50",)),
        "benchmarks/b#again": LinkTarget(ten, ("p50", "mean")),
        "benchmarks/b#peak": LinkTarget(ten, ()),
        "benchmarks/b#prefill": LinkTarget(ten, ("median",)),
    }
    given = RecordGiven(DAY, "ev-short", "run-short", "0" * 64, targets=targets)
    made = records_of(run, given)
    by_id = {each.id: each for each in made.benchmark.results}
    assert len(by_id) == len(made.benchmark.results)
    linked = {each.target: each for each in made.benchmark.links}
    assert set(linked) == {f"benchmarks/b#{name}" for name in ("mean", "p50", "again")}
    mean, p50 = linked["benchmarks/b#mean"], linked["benchmarks/b#p50"]
    assert by_id[mean.result or ""].statistic == "mean"
    assert by_id[p50.result or ""].statistic == "p50"
    assert None not in {mean.ratio, mean.ratio_low, mean.ratio_high}
    assert mean.note == "first point; second point"
    assert p50.note == "third point. What else is open is said beside the first link."
    assert made.benchmark.headline in by_id
    reasons = dict(each.split(": ", 1) for each in made.not_linked)
    assert set(reasons) == {f"benchmarks/b#{name}" for name in ("peak", "prefill", "none")}
    assert "statistic" in reasons["benchmarks/b#peak"]
    assert "gives no median of goodput_req_s" in reasons["benchmarks/b#prefill"]
    assert "no value" in reasons["benchmarks/b#none"]
    spoiled = _warned(run, WarningCode.GARBAGE_OUTPUT)
    again = records_of(spoiled, given)
    assert again.benchmark.links == ()
    assert sum("garbage_output" in each for each in again.not_linked) == 3
