"""Whether a plan's subject is what is there: a run of the wrong engine under the right name is worse than none."""

from typing import Any

import pytest

from kbtool.runner.doctor import Severity
from kbtool.runner.doctor.subject import accelerator_remarks, model_remarks, plan_remarks
from kbtool.runner.engines.records import KIND_OF_RECORD, PROGRAM_OF
from kbtool.runner.engines.remedies import remedy_for
from kbtool.runner.plan.target import EngineKind
from kbtool.runner.telemetry import read_inventory
from tests.fakes.engine import Script, running
from tests.runner.doctor.examining import NO_CARDS, diagnosis_of, field, only_server, plan_for, said
from tests.support.llama_server import LlamaServer
from tests.support.programs import ROOT

CARD = "accelerators/scripted"
MODEL = "models/scripted"


def test_records_of_kinds_exist() -> None:
    """The table names records of the knowledge base."""
    assert [ref for ref in KIND_OF_RECORD if not (ROOT / "records" / f"{ref}.yaml").is_file()] == []


@pytest.mark.parametrize(
    ("engine", "record", "wrong"),
    [
        ("auto", "engines/vllm", "subject.engine"),
        ("vllm", "engines/llama-cpp", "target.engine"),
        ("vllm", "engines/vllm", "target.engine and subject.engine"),
    ],
)
def test_another_engine_than_the_plan_says_is_a_problem(engine: str, record: str, wrong: str) -> None:
    """A plan of vLLM ran against llama.cpp to the end, and the record said vLLM."""
    with running(Script(kind="llama_cpp")) as server:
        target = {"engine": engine, "endpoints": [{"url": server.url}]}
        found = diagnosis_of(plan_for(target, engine=record, accelerator=CARD))
    remark = said(
        found, "it shows itself as llama_cpp (GET /v1/models says owned_by llamacpp", Severity.PROBLEM
    )
    assert remark is not None
    assert remark.found.endswith("but the plan says vllm")
    assert remark.remedy == f"correct {wrong}"
    assert remark.place == "server"


@pytest.mark.parametrize(
    ("kind", "engine", "record"),
    [
        ("llama_cpp", "llama_cpp", "engines/ik-llama-cpp"),
        ("llama_cpp", "openai", "engines/ollama"),
        ("vllm", "auto", "engines/aphrodite-engine"),
        ("openai", "vllm", "engines/vllm"),
    ],
)
def test_what_may_be_so_is_not_refused(kind: EngineKind, engine: str, record: str) -> None:
    """A fork shows itself as what it came from, and a server that shows nothing may be anything."""
    with running(Script(kind=kind)) as server:
        target = {"engine": engine, "endpoints": [{"url": server.url}]}
        found = diagnosis_of(plan_for(target, engine=record, accelerator=CARD))
    assert said(found, "shows itself as") is None
    assert found.usable


def test_a_plan_may_not_contradict_itself() -> None:
    """The adapter of one engine reads nothing of another."""
    target = {"engine": "vllm", "endpoints": [{"url": "http://127.0.0.1:9"}]}
    (remark,) = plan_remarks(plan_for(target, engine="engines/sglang"))
    assert remark.found == "the plan says vllm, and the record engines/sglang stands for sglang"
    assert not list(plan_remarks(plan_for(target, engine="engines/vllm")))


@pytest.mark.parametrize(
    ("names", "served", "warned"),
    [
        (("qwen3-32b", "Qwen3 32B"), "org/Qwen3-32B-Instruct-AWQ", False),
        (("llama-3-1-8b", "Llama 3.1 8B Instruct"), "org/Qwen3-32B-Instruct", True),
        ((), "anything", False),
    ],
)
def test_a_model_of_another_name_is_a_warning(names: tuple[str, ...], served: str, *, warned: bool) -> None:
    """A served name is anybody's choice: it is said, and nothing is refused."""
    with running(Script(model=served)) as server:
        plan = plan_for({"endpoints": [{"url": server.url}]}, accelerator=CARD)
        found = list(model_remarks(diagnosis_of(plan).servers, plan, names))
    assert [each.severity for each in found] == ([Severity.WARNING] if warned else [])


def test_no_accelerator_and_no_driver_is_a_problem() -> None:
    """It was found when the record was to be written, after the run."""
    target: dict[str, Any] = {"endpoints": [{"url": "http://127.0.0.1:9"}]}
    remark = said(diagnosis_of(plan_for(target)), "no NVIDIA driver answers here", Severity.PROBLEM)
    assert remark is not None
    assert remark.place == "subject.accelerator"
    assert said(diagnosis_of(plan_for(target, accelerator=CARD)), "and no record can be made") is None


def test_of_another_machine_no_driver_is_asked() -> None:
    """The cards of this machine are not those of the server."""
    target = {"endpoints": [{"url": "http://192.0.2.1:9"}], "allow_hosts": ["192.0.2.1"]}
    (remark,) = accelerator_remarks(plan_for(target), read_inventory(NO_CARDS, ()))
    assert "the server runs on another machine" in remark.found


def test_a_wrapper_on_this_machine_is_named(llama: LlamaServer) -> None:
    """It said to go to the server's machine, on that machine: an interpreter held the port, whose arguments say nothing."""
    found = diagnosis_of(llama.url)
    (holder,) = only_server(found).holders
    assert holder.program not in PROGRAM_OF["llama_cpp"]
    assert field(found, "deployment.tp").remedy == (
        f"pid {holder.pid} ({holder.program}) is no llama-server: start llama-server itself, or give `subject.tp`"
    )
    assert "run this on the server's machine" in remedy_for("deployment.tp", "llama_cpp")


def test_host_memory_has_its_unit() -> None:
    """A bare 23.5 might be anything."""
    with running(Script()) as server:
        assert field(diagnosis_of(server.url), "system.host_memory_gib").value.endswith(" GiB")
