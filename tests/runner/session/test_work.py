"""From every kind of workload to the requests of a round."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest

from kbtool.errors import UsageError
from kbtool.runner.client import Endpoint, Outgoing
from kbtool.runner.engines import adapter_for
from kbtool.runner.plan import Plan
from kbtool.runner.plan.cells import Cell, cells_of
from kbtool.runner.plan.check import Known, remarks
from kbtool.runner.prompts import DEFAULT_LENGTHS, PROMPT_CLASSES, LengthModel
from kbtool.runner.session.work import Load, Sender, asked_lengths, load_of, require_lengths
from tests.runner.session.driving import attached, plan_of

HERE = Endpoint("server", "127.0.0.1", 9)
TRACE = '{"timestamp": 0, "input_length": 300, "output_length": 5, "hash_ids": [1]}\n'
SMALL = {"input_tok": 300, "output_tok": 5}
WORKLOADS: Mapping[str, Mapping[str, Any]] = {
    "single_stream": {**SMALL, "prompt_classes": ["prose"], "requests": 2},
    "concurrency": {**SMALL, "levels": [3], "requests_per_stream": 1},
    "rate": {**SMALL, "rates_req_s": [50], "duration_s": 1},
    "prefill": {"lengths_tok": [300], "output_tok": 5, "caches": ["cold"], "requests": 1},
    "conversation": {"agents": [2], "turns": 2, "system_tok": 900, "turn_tok": 100, "output_tok": 5},
    "long_decode": {**SMALL, "streams": 2},
    "replay": {"path": "trace.jsonl", "requests": 1},
}


def sender(plan: Mapping[str, Any], folder: Path) -> tuple[Sender, tuple[Cell, ...]]:
    """Return what rounds of a plan share, and its cells."""
    read = Plan.model_validate_json(orjson.dumps(plan))
    lengths = dict.fromkeys(PROMPT_CLASSES, DEFAULT_LENGTHS)
    return Sender(read, folder, "run", "m", adapter_for("vllm").options(), lengths), cells_of(read)


def first_of(load: Load) -> list[Outgoing]:
    """Return the requests that a driver begins with."""
    return [each.outgoing for each in load.driver.begin(0)]


def body_of(outgoing: Outgoing) -> dict[str, Any]:
    """Return the JSON of a request."""
    found: dict[str, Any] = orjson.loads(outgoing.payload.partition(b"\r\n\r\n")[2])
    return found


@pytest.mark.parametrize("kind", WORKLOADS)
def test_every_kind_of_workload_becomes_requests(tmp_path: Path, kind: str) -> None:
    """Each kind sends what its cell says: the model, the length of the answer, and a prompt of its class."""
    (tmp_path / "trace.jsonl").write_text(TRACE)
    shared, (found, *_) = sender(
        plan_of(attached("http://127.0.0.1:9"), {"id": "w", "kind": kind, **WORKLOADS[kind]}), tmp_path
    )
    load = load_of(shared, found, HERE, session="0-1", number=1)
    sent = first_of(load)
    assert sent
    assert all(each.id.startswith(f"{found.name}/1/") for each in sent)
    body = body_of(sent[0])
    assert (body["model"], body["max_tokens"], body["stream"]) == ("m", 5, True)
    assert load.concurrency == (None if kind in {"rate", "replay"} else found.streams)


@pytest.mark.parametrize("kind", ["single_stream", "concurrency", "prefill", "long_decode"])
def test_cold_cells_promise_prompts_that_nothing_has_seen(tmp_path: Path, kind: str) -> None:
    """A cold cell says that it expects a cold cache, and no two rounds or attempts send the same prompt."""
    shared, (found, *_) = sender(
        plan_of(attached("http://127.0.0.1:9"), {"id": "w", "kind": kind, **WORKLOADS[kind]}), tmp_path
    )
    loads = [
        load_of(shared, found, HERE, session=session, number=number)
        for session, number in (("0-1", 1), ("0-1", 2), ("0-2", 1), ("1-1", 1))
    ]
    assert {(each.expects, each.unique) for each in loads} == {("cold", True)}
    prompts = [str(body_of(first_of(each)[0])["messages"])[:120] for each in loads]
    assert len(set(prompts)) == 4


def test_prompts_that_share_a_beginning_or_grow_are_not_called_cold(tmp_path: Path) -> None:
    """A shared prefix, turns and a replayed trace reuse the cache on purpose."""
    (tmp_path / "trace.jsonl").write_text(TRACE)
    plan = plan_of(
        attached("http://127.0.0.1:9"),
        {"id": "a", "kind": "concurrency", "levels": [1], "shared_prefix_tok": 100, **SMALL},
        {"id": "b", "kind": "conversation", **WORKLOADS["conversation"]},
        {"id": "c", "kind": "replay", **WORKLOADS["replay"]},
    )
    shared, cells = sender(plan, tmp_path)
    loads = [load_of(shared, each, HERE, session="0-1", number=1) for each in cells]
    assert [(each.expects, each.unique) for each in loads] == [(None, False)] * 3


def test_a_schema_ends_an_answer_by_itself(tmp_path: Path) -> None:
    """Prose is held to its length with `ignore_eos`; an object that follows a schema is not."""
    plan = plan_of(
        attached("http://127.0.0.1:9"),
        {"id": "w", "kind": "single_stream", "prompt_classes": ["prose", "structured"], "input_tok": 900},
    )
    shared, cells = sender(plan, tmp_path)
    bodies = [body_of(first_of(load_of(shared, each, HERE, session="s", number=1))[0]) for each in cells]
    assert [each.get("ignore_eos") for each in bodies] == [True, None]
    assert "response_format" in bodies[1]


def test_the_affinity_of_the_plan_is_sent_with_each_request(tmp_path: Path) -> None:
    """A session's key stands in the header that the router looks at."""
    target = attached("http://127.0.0.1:9", affinity={"header": "X-Session-ID"})
    plan = plan_of(target, {"id": "w", "kind": "conversation", **WORKLOADS["conversation"]})
    shared, (found,) = sender(plan, tmp_path)
    sent = first_of(load_of(shared, found, HERE, session="s", number=1))
    keys = {each.payload.lower().partition(b"x-session-id: ")[2].partition(b"\r\n")[0] for each in sent}
    assert len(keys) == 2
    assert b"" not in keys


def test_classes_to_calibrate_are_those_that_are_sent(tmp_path: Path) -> None:
    """A replayed trace is sent as synthetic text; each class is named once, in a fixed order."""
    plan = plan_of(
        attached("http://127.0.0.1:9"),
        {"id": "a", "kind": "replay", **WORKLOADS["replay"]},
        {"id": "b", "kind": "prefill", **WORKLOADS["prefill"]},
        {"id": "c", "kind": "single_stream", "prompt_classes": ["prose", "code"]},
    )
    _, cells = sender(plan, tmp_path)
    assert list(asked_lengths(cells)) == ["code", "prose", "synthetic"]


@pytest.mark.parametrize(
    "work",
    [
        {"id": "w", "kind": "concurrency", "levels": [1], "input_tok": 20},
        {"id": "w", "kind": "concurrency", "levels": [1], "input_tok": 300, "shared_prefix_tok": 290},
        {"id": "w", "kind": "single_stream", "prompt_classes": ["structured"], "input_tok": 60},
        {"id": "w", "kind": "conversation", "agents": [1], "system_tok": 100},
        {"id": "w", "kind": "conversation", "agents": [1], "turn_tok": 10},
    ],
)
def test_prompts_without_room_for_what_they_hold_are_refused_before_the_run(work: Mapping[str, Any]) -> None:
    """The plan's check says which workload is too short, and how long it has to be."""
    plan = Plan.model_validate_json(orjson.dumps(plan_of(attached("http://127.0.0.1:9"), work)))
    refused = [each for each in remarks(plan, Known()) if each.severity == "refused"]
    assert [each.place for each in refused] == ["w"]
    assert "ask for" in refused[0].message


def test_lengths_that_only_this_server_s_count_shows_too_short_are_refused_too() -> None:
    """Prompts that would do with one token a piece have no room where the server counts eight."""
    work = {"id": "w", "kind": "concurrency", "levels": [1], "input_tok": 200}
    plan = Plan.model_validate_json(orjson.dumps(plan_of(attached("http://127.0.0.1:9"), work)))
    assert not [each for each in remarks(plan, Known()) if each.severity == "refused"]
    require_lengths(plan, {"prose": LengthModel(1.0)})
    with pytest.raises(UsageError, match=r"cell w-c1: prompt of class prose"):
        require_lengths(plan, {"prose": LengthModel(8.0)})


def test_long_prompts_are_no_work_to_check() -> None:
    """Prompts of a million tokens are known to have room without making one."""
    work = {"id": "w", "kind": "prefill", "lengths_tok": [1_000_000]}
    plan = Plan.model_validate_json(orjson.dumps(plan_of(attached("http://127.0.0.1:9"), work)))
    require_lengths(plan, {"synthetic": DEFAULT_LENGTHS})
