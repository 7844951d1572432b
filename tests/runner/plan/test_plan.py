"""The plan file: what it refuses, which cells it stands for, and what is said before anything is measured."""

from decimal import Decimal
from typing import Any

import pytest
from pydantic import ValidationError

from kbtool.runner.plan import Plan
from kbtool.runner.plan.cells import cells_of, legs, schedule, visit_key
from kbtool.runner.plan.check import Known, Speeds, estimate, remarks

LAUNCH: dict[str, Any] = {
    "instances": [{"name": "a", "port": 8001, "arguments": ["engine", "--port", "{port}"]}],
}


def plan(**changes: Any) -> Plan:
    """Return a plan of one attached server and one single-stream workload, some parts replaced."""
    said: dict[str, Any] = {
        "plan_version": 1,
        "id": "demo",
        "title": "Demo",
        "subject": {"engine": "engines/llama-cpp", "model": "models/tiny"},
        "target": {"endpoints": [{"url": "http://127.0.0.1:8000/v1"}]},
        "workloads": [{"id": "single", "kind": "single_stream", "requests": 4}],
    }
    return Plan.model_validate({**said, **changes})


def sweep(**changes: Any) -> dict[str, Any]:
    """Return a sweep over three chunk sizes."""
    return {
        "id": "chunk",
        "setting": "serving.chunked_prefill_size_tok",
        "argument": "--chunk",
        "base": 2048,
        "values": [{"value": 2048}, {"value": 4096}, {"value": 8192}],
        **changes,
    }


def test_a_plan_of_one_server_has_a_cell_a_prompt_class() -> None:
    """Without sweeps there is one leg, and each class of the single stream is a cell."""
    visits = schedule(plan(repeats={"order": "as_given"}))
    assert [each.cell.name for each in visits] == ["single-prose", "single-code", "single-structured"]
    assert {each.leg.name for each in visits} == {"base"}


def test_the_base_leg_comes_first_and_last() -> None:
    """Drift of the machine shows between two measurements of the same thing."""
    made = plan(target={"launch": LAUNCH}, sweeps=[sweep()])
    names = [leg.name for leg in legs(made, 0)]
    assert names[0] == names[-1] == "base"
    assert sorted(names[1:-1]) == ["chunk-4096", "chunk-8192"]


def test_bracketed_legs_alternate_with_the_base() -> None:
    """Each value stands between two measurements of the base."""
    made = plan(target={"launch": LAUNCH}, sweeps=[sweep(order="bracketed")])
    assert [leg.role for leg in legs(made, 0)] == ["base", "value", "base", "value", "base"]


def test_every_second_session_runs_backwards() -> None:
    """A steady drift then weighs on both ends alike."""
    made = plan(target={"launch": LAUNCH}, sweeps=[sweep()], repeats={"sessions": 2})
    assert [leg.name for leg in legs(made, 1)] == [leg.name for leg in reversed(legs(made, 0))]


def test_a_warm_prefill_follows_its_cold_one() -> None:
    """The warm cell sends the prompts of the cold one again, so nothing may come between."""
    made = plan(
        workloads=[
            {"id": "pre", "kind": "prefill", "lengths_tok": [1000, 2000, 4000]},
            {"id": "conc", "kind": "concurrency", "levels": [1, 2, 4, 8]},
        ]
    )
    names = [each.cell.name for each in schedule(made)]
    for length in (1000, 2000, 4000):
        assert names.index(f"pre-{length}-warm") == names.index(f"pre-{length}-cold") + 1


def test_equal_plans_give_equal_schedules_and_keys() -> None:
    """The order is random by the seed alone, and a key changes with anything that matters."""
    made = plan(workloads=[{"id": "conc", "kind": "concurrency", "levels": list(range(1, 20))}])
    first, again = schedule(made), schedule(made)
    assert first == again
    assert [each.cell.streams for each in first] != sorted(each.cell.streams for each in first)
    keys = {visit_key(each, "plan", "1") for each in first}
    assert len(keys) == len(first)
    assert keys.isdisjoint(visit_key(each, "plan", "2") for each in first)


def test_a_router_gets_a_control_past_it() -> None:
    """One cell goes straight at an instance, so that the router's own cost shows."""
    made = plan(
        target={
            "endpoints": [
                {"name": "a", "url": "http://127.0.0.1:1"},
                {"name": "b", "url": "http://127.0.0.1:2"},
            ],
            "router": {"kind": "attached", "url": "http://127.0.0.1:3", "name": "smg"},
        }
    )
    (control,) = [cell for cell in cells_of(made) if cell.straight_to]
    assert (control.name, control.straight_to) == ("single-prose-straight", "a")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"target": {"endpoints": [{"url": "http://169.254.169.254/v1"}]}}, "another machine"),
        ({"target": {"endpoints": [{"url": "http://user:word@127.0.0.1/v1"}]}}, "api_key_env"),
        ({"target": {"endpoints": [{"url": "file:///etc/passwd"}]}}, "no web address"),
        ({"target": {}}, "attach to servers or start them"),
        ({"sweeps": [sweep()]}, "does not start"),
        ({"repeats": {"sessions": 2}}, "cannot be restarted"),
        ({"target": {"launch": {"instances": [{"port": 22, "arguments": ["x"]}]}}}, "1024"),
        ({"target": {"launch": {"instances": [{"port": 8000}]}}}, "how the engine is started"),
        (
            {"target": {"launch": {"instances": [{"port": 8000, "arguments": ["x"], "environment": {"LD_PRELOAD": "x"}}]}}},
            "before the engine starts",
        ),
        (
            {"target": {"launch": {"instances": [{"port": 8000, "arguments": ["x"], "environment": {"HF_TOKEN": "x"}}]}}},
            "env_from",
        ),
        (
            {
                "target": {
                    "launch": {
                        "instances": [
                            {"port": 8000, "container": {"runtime": "docker", "image": "--privileged -v /:/host alpine"}}
                        ]
                    }
                }
            },
            "pattern",
        ),
        ({"workloads": [{"id": "x", "kind": "concurrency", "levels": [100_000]}]}, "4096"),
        ({"workloads": [{"id": "x", "kind": "single_stream", "requests": 10**12}]}, "1000000"),
        ({"workloads": [{"id": "x", "kind": "replay", "path": "../../etc/passwd"}]}, "outside the plan"),
        ({"surprise": 1}, "Extra inputs"),
    ],
)  # fmt: skip
def test_what_is_unsafe_or_makes_no_sense_is_refused(changes: dict[str, Any], said: str) -> None:
    """The message names what to do."""
    with pytest.raises(ValidationError, match=said):
        plan(**changes)


def test_the_estimate_counts_tokens_exactly() -> None:
    """Three classes of four requests in three rounds and one to warm up."""
    work = estimate(plan(repeats={"rounds": 3}), Speeds(prefill_tok_s=1000, decode_tok_s_per_user=100))
    assert (work.visits, work.requests) == (3, 48)
    assert (work.input_tok, work.output_tok) == (48 * 1024, 48 * 512)
    assert work.least_s == pytest.approx(48 * (1.024 + 5.12))
    assert work.starts == 0


def test_what_cannot_work_is_refused_before_it_is_tried() -> None:
    """Refusals come first; a queue and a cliff are warned of."""
    made = plan(
        workloads=[
            {"id": "pre", "kind": "prefill", "lengths_tok": [200_000]},
            {"id": "conc", "kind": "concurrency", "levels": [16]},
        ]
    )
    known = Known(context_tok=131_072, max_running_requests=8, graph_max_batch=16, verify_rows=4)
    found = remarks(made, known)
    assert (found[0].severity, found[0].place) == ("refused", "pre")
    assert {each.place for each in found if each.severity == "refused"} == {"pre"}
    texts = " ".join(each.message for each in found)
    assert "marked `queued`" in texts
    assert "expect a cliff" in texts


def test_a_number_keeps_its_digits_in_names() -> None:
    """A rate of 0.5 is a name that an address may hold."""
    made = plan(workloads=[{"id": "open", "kind": "rate", "rates_req_s": [Decimal("0.5"), 4]}])
    assert [cell.name for cell in cells_of(made)] == ["open-r0p5", "open-r4"]
