"""Instances behind a router: shares, affinity, and a control cell straight at one of them."""

from pathlib import Path
from typing import Any

import pytest

from kbtool.runner.client import Endpoint
from tests.fakes.engine import Engine, Script, running
from tests.runner.emit.emitting import record_of, result
from tests.runner.session.driving import cell, fixed, loaded, measured, plan_of
from tests.runner.session.spreading import spreading

TALK = {
    "id": "talk", "kind": "conversation", "agents": [3], "turns": 3, "system_tok": 900, "turn_tok": 200, "output_tok": 4,
}  # fmt: skip


def routed(first: Engine, second: Engine, port: int, **more: Any) -> dict[str, Any]:
    """Return a target of two instances behind a router that runs already."""
    return {
        "endpoints": [{"name": "one", "url": first.url}, {"name": "two", "url": second.url}],
        "router": {"kind": "attached", "url": f"http://127.0.0.1:{port}", "name": "spreading 1"},
        **more,
    }


def test_one_cell_is_measured_straight_at_an_instance_as_well(tmp_path: Path) -> None:
    """The control cell reaches the first instance alone, past the router, and is a cell of its own."""
    with running() as one, running() as two, spreading((one.port, two.port)) as port:
        measured(plan_of(routed(one, two, port)), tmp_path / "run")
    run = loaded(tmp_path / "run")
    through, straight = cell(run, "load-c2"), cell(run, "load-c2-straight")
    (visit,) = through.visits
    assert dict(visit.note.shares) == {"one": 2, "two": 2}
    assert dict(straight.visits[0].note.shares) == {"one": 4, "two": 0}
    record = record_of(tmp_path / "run")
    paths = {each.at.measuring_path for each in record.results if each.id.startswith("load-c2-straight")}
    assert paths == {"on_host"}
    assert {each.at.instances for each in record.results if each.id.startswith("load-c2-straight")} == {1}
    share = result(record, "instance_share_ratio", "max")
    assert share is not None
    assert float(share.value or 0) == 0.5
    assert not [
        each for each in record.results if each.metric == "instance_share_ratio" and "straight" in each.id
    ]


@pytest.mark.parametrize(("header", "kept"), [("X-Session-ID", True), ("X-Nothing", False)])
def test_affinity_is_what_later_turns_find_cached(tmp_path: Path, header: str, kept: bool) -> None:
    """Where the router follows the session all later turns find their cache; where it takes turns, not all do."""
    script = Script()
    with (
        running(script) as one,
        running(script) as two,
        spreading((one.port, two.port), header=header) as port,
    ):
        target = routed(one, two, port, affinity={"header": "X-Session-ID"})
        measured(plan_of(target, TALK, control_cell=False, repeats=fixed(2)), tmp_path / "run")
    found = cell(loaded(tmp_path / "run"), "talk-a3")
    ratio = found.visits[0].note.affinity_ratio
    assert ratio is not None
    assert (ratio == 1.0) is kept
    cached = result(record_of(tmp_path / "run"), "cached_tok", "mean")
    assert cached is not None
    assert cached.at.turn == 2


def test_shares_are_left_out_where_an_instance_does_not_count(tmp_path: Path) -> None:
    """A part of a sum is no sum: one instance without counters leaves no share at all."""
    with (
        running() as one,
        running(Script(metrics=False)) as two,
        spreading((one.port, two.port)) as port,
    ):
        measured(plan_of(routed(one, two, port), control_cell=False), tmp_path / "run")
    (visit,) = cell(loaded(tmp_path / "run"), "load-c2").visits
    assert visit.note.shares == ()
    assert result(record_of(tmp_path / "run"), "instance_share_ratio") is None
    assert isinstance(one.endpoint, Endpoint)
