"""What a plan may not hold: names that clash, secrets, headers of ours, more cells than anybody waits for."""

from typing import Any

import pytest
from pydantic import ValidationError

from kbtool.errors import RecordError
from kbtool.runner.plan.cells import count_visits, legs, schedule
from kbtool.runner.plan.check import Known, remarks
from kbtool.runner.plan.published import secret_arguments
from tests.runner.plan.test_plan import plan, sweep

ENDPOINT = {"url": "http://127.0.0.1:8000/v1"}


def launch(*arguments: str, **more: Any) -> dict[str, Any]:
    """Return a target that starts one engine."""
    return {"launch": {"instances": [{"port": 8001, "arguments": [*arguments, "{model_name}"], **more}]}}


def refused(made: Any) -> str:
    """Return what is refused of a plan."""
    return " ".join(each.message for each in remarks(made, Known()) if each.severity == "refused")


@pytest.mark.parametrize(
    "workloads",
    [
        [{"id": "a", "kind": "concurrency", "levels": [1, 1]}],
        [{"id": "a", "kind": "rate", "rates_req_s": [1, 1]}],
        [{"id": "a", "kind": "single_stream", "prompt_classes": ["prose", "prose"]}],
        [{"id": "a", "kind": "prefill", "lengths_tok": [500], "caches": ["cold", "cold"]}],
        [{"id": "a", "kind": "concurrency", "levels": [1]}, {"id": "a-c1", "kind": "long_decode"}],
    ],
)
def test_two_cells_of_one_name_are_refused(workloads: list[dict[str, Any]]) -> None:
    """Their results could not be told apart."""
    assert "two cells are called a-" in refused(plan(workloads=workloads))


@pytest.mark.parametrize(
    "values", [(2048, 2048, 4096, 4096), (2048, "A b", "a-b"), (2048, "x" * 300, "x" * 299)]
)
def test_two_legs_of_one_name_are_refused(values: tuple[Any, ...]) -> None:
    """A leg is a file and part of a result's name."""
    made = plan(target=launch("x"), sweeps=[sweep(values=[{"value": each} for each in values])])
    assert "two legs are called chunk-" in refused(made)
    assert all(len(leg.name) < 80 for leg in legs(made, 0))


def test_visits_are_counted_as_they_are_made() -> None:
    """With sweeps that run some of the workloads, sessions and bracketed bases."""
    workloads = [
        {"id": "a", "kind": "concurrency", "levels": [1, 2, 3]},
        {"id": "b", "kind": "single_stream", "prompt_classes": ["prose"]},
    ]
    for order in ("shuffled", "bracketed", "as_given"):
        for named in ([], ["b"]):
            made = plan(
                target=launch("x"),
                workloads=workloads,
                sweeps=[sweep(order=order, workloads=named)],
                repeats={"sessions": 3},
            )
            assert count_visits(made) == len(schedule(made))


def test_too_many_visits_are_not_made() -> None:
    """The count comes first: making them would take all memory."""
    made = plan(
        target=launch("x"),
        workloads=[{"id": "a", "kind": "concurrency", "levels": list(range(1, 65))}],
        repeats={"sessions": 50},
    )
    assert "3,200 cells" in refused(made)
    with pytest.raises(RecordError, match="expected at most 2,000"):
        schedule(made)


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ({"endpoints": [ENDPOINT], "affinity": {"header": "Content-Length"}}, "belongs to the request"),
        ({"endpoints": [ENDPOINT], "affinity": {"header": "AUTHORIZATION"}}, "belongs to the request"),
        ({"endpoints": [ENDPOINT], "affinity": {"field": "max_tokens"}}, "says what is measured"),
        ({"endpoints": [{"url": "http://127.0.0.1:0/v1"}]}, "1 to 65535"),
        ({"endpoints": [{"url": "http://127.0.0.1:8000/a b"}]}, "a character that no address has"),
        ({"endpoints": [{"url": "http://127.0.0.1:8000/\u00e4"}]}, "a character that no address has"),
        (launch("x", accelerators=[0, 0]), "named twice"),
        (launch("x", environment={"GLIBC_TUNABLES": "x"}), "before the engine starts"),
        (launch("x", environment={"NODE_OPTIONS": "x"}), "before the engine starts"),
        (launch("x", environment={"CUDA_INJECTION64_PATH": "x"}), "before the engine starts"),
        (launch("x", environment={"DB_PWD": "x"}), "looks like a secret"),
        (launch("x", "--api-key", "verysecret"), "the value of `--api-key` is a secret"),
        (launch("x", "--hf-token=verysecret"), "the value of `--hf-token` is a secret"),
        (launch("x", "hf_" + "a" * 24), "what begins with `hf_a` is a secret"),
    ],
)
def test_what_would_mislead_or_leak_is_refused(target: dict[str, Any], said: str) -> None:
    """The message names the part, and never the secret."""
    with pytest.raises(ValidationError, match=said) as refusal:
        plan(target=target)
    assert "verysecret" not in str(refusal.value)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--max-num-batched-tokens", "8192"],
        ["--eos-token", "</s>"],
        ["--tokenizer", "x"],
        ["--skip-tokenizer-init"],
        ["--ssl-keyfile", "/x"],
        ["--api-key", "--port"],
        ["--token"],
        [],
        ["serve", "m; touch PWNED #", "$(touch PWNED)", "`id`"],
    ],
)
def test_ordinary_arguments_are_no_secrets(arguments: list[str]) -> None:
    """What only sounds like one, and what a shell would read, is handed over as it is."""
    assert list(secret_arguments(arguments)) == []


def test_a_variable_of_the_engine_is_allowed() -> None:
    """Settings of engines are published."""
    made = plan(
        target=launch("x", environment={"NODE_RANK": "0", "VLLM_USE_V1": "1", "NCCL_P2P_LEVEL": "SYS"})
    )
    assert refused(made) == ""


def test_a_launch_without_its_word_is_refused_before_it_is_tried() -> None:
    """Nothing would show that the server is ours."""
    made = plan(target={"launch": {"instances": [{"port": 8001, "arguments": ["x"]}]}})
    assert "holds {model_name}" in refused(made)
    assert (
        refused(plan(target={"launch": {"instances": [{"port": 8001, "arguments": ["x"]}], "nonce": False}}))
        == ""
    )


def test_several_servers_need_a_router() -> None:
    """Without one they are no one system."""
    two = [{**ENDPOINT, "name": "a"}, {"name": "b", "url": "http://127.0.0.1:8001/v1"}]
    assert "no router" in refused(plan(target={"endpoints": two}))
    assert refused(plan(target={"endpoints": two, "router": {"kind": "haproxy", "port": 9000}})) == ""


def test_a_replication_names_a_workload_of_the_plan() -> None:
    """Else no result would carry the link."""
    aim = {"target": "benchmarks/x#y", "workload": "other", "metric": "output_tok_s"}
    with pytest.raises(ValidationError, match="which the plan does not have"):
        plan(replicates=[aim])


def test_a_sweep_and_a_router_hold_no_secret_either() -> None:
    """Their arguments are published as well."""
    values = [{"value": 2048}, {"value": 4096, "arguments": ["--api-key", "verysecret"]}]
    with pytest.raises(ValidationError, match="`--api-key` is a secret"):
        plan(target=launch("x"), sweeps=[sweep(values=values)])
    router = {"kind": "vllm_router", "port": 9000, "arguments": ["--api-key=verysecret"]}
    with pytest.raises(ValidationError, match="`--api-key` is a secret"):
        plan(target={"endpoints": [ENDPOINT], "router": router})
