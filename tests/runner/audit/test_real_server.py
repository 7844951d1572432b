"""The audits of a real llama.cpp server, the command, and restarts that only a server's own word shows."""

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import typer

from kbtool.cli.bench.audit import audit as command
from kbtool.errors import UsageError
from kbtool.runner.audit import Audit, AuditSpec, audit, opened
from kbtool.runner.client import Endpoint
from kbtool.runner.engines import Identity, adapter_for
from kbtool.runner.target.instances import Attached
from kbtool.runner.target.ports import listeners
from kbtool.runner.target.running import FaultKind, Running
from kbtool.runner.target.secrets import Secrets
from tests.fakes.script import Script
from tests.runner.audit.servers import SPEC, Audited, serving
from tests.runner.target.launching import ROOT, environment, free_port, plan
from tests.support.llama_server import LlamaServer, running_llama


@pytest.fixture(scope="module")
def llama() -> Iterator[LlamaServer]:
    """Run a real llama.cpp server with the tiny model, without drafts."""
    with running_llama(drafts=False) as server:
        yield server


def test_real_server_is_honest_and_its_random_weights_make_no_sense(llama: LlamaServer) -> None:
    """llama.cpp caches no answers, keeps lengths, counts truly and is one server; its prefix cache is allowed.

    The model's weights are random: whether its text passes for sense is chance, and is not required.  Structure is
    enforced by the engine whatever the weights are.
    """
    with opened(llama.url, own={}) as up:
        report = audit(
            up.running, up.adapter, AuditSpec(prompts=6, schema_prompts=2, schema_tok=160, answer_tok=60)
        )
    wrong = [each for each in report.checks if not each.passed]
    assert report.failed <= {Audit.SENSE}, wrong
    (structure,) = [each for each in report.checks if each.name == "structured answers"]
    assert structure.passed, structure
    assert report.model == "tiny"


def test_command_prints_checks_and_leaves_with_findings(capsys: pytest.CaptureFixture[str]) -> None:
    """What failed is printed with what was expected and what to do; the exit code says so."""
    with serving(
        Script(kind="vllm", step_ms=0.5),
        lambda _, call, answer: replace(answer, model="small" if call.measured else answer.model),
    ) as engine:
        with pytest.raises(typer.Exit) as left:
            command(engine.url, only=["identity"], users=4, prompts=5, output_tok=16)
        assert left.value.exit_code == 1
    out = capsys.readouterr().out
    assert "FAIL identity: model name: 'scripted', 'small'" in out
    assert "expected: 'scripted' in every answer" in out
    assert "ok   identity: no restart: the server is as it was" in out


def test_command_gives_data(capsys: pytest.CaptureFixture[str]) -> None:
    """The report can be read by a program."""
    with serving(Script(kind="vllm", step_ms=0.5)) as engine:
        command(engine.url, only=["identity"], users=4, prompts=5, output_tok=16, as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert found["passed"] is True
    assert {each["audit"] for each in found["checks"]} == {"identity"}


def test_unknown_audit_and_unknown_model_are_refused() -> None:
    """The message names what there is."""
    with pytest.raises(UsageError, match="give one of repeated, length, identity, sense"):
        command("http://127.0.0.1:9", only=["speed"])
    with pytest.raises(UsageError, match="is no web address"), opened("ftp://127.0.0.1"):
        pass
    nowhere = Running((), Endpoint("server", "127.0.0.1", 9), None, stop_s=0.0)
    with pytest.raises(UsageError, match="name the model"):
        audit(nowhere, adapter_for("openai"), SPEC)


def test_another_incarnation_is_a_restart() -> None:
    """A server that names each of its starts and tells no time is found to have started anew."""
    with serving(Script(kind="llama_cpp")) as engine:
        running = _attached(engine)
        adapter = adapter_for("llama_cpp")
        running.note_ready(adapter.identity)
        assert running.alive(adapter.identity) == ()
        engine.state.started_s += 1
        (fault,) = running.alive(adapter.identity)
    assert fault.kind is FaultKind.RESTARTED
    assert "names this start of it '<__media_" in fault.detail


def test_incarnation_that_was_never_told_shows_nothing() -> None:
    """A server that begins or ceases to name its starts was not shown to be another one."""
    with serving(Script(kind="openai")) as engine:
        running = _attached(engine)
        words = iter(["one", None, "one", "two"])

        def ask(_: object) -> Identity:
            return Identity("openai", ("scripted",), incarnation=next(words))

        running.note_ready(ask)
        assert [running.alive(ask), running.alive(ask)] == [(), ()]
        assert [fault.kind for fault in running.alive(ask)] == [FaultKind.RESTARTED]


def _attached(engine: Audited) -> Running:
    part = Attached(engine.endpoint, is_local=False, secrets=Secrets())
    return Running((part,), engine.endpoint, engine.script.model, stop_s=0.0)


LAUNCHED = """
import sys, threading
sys.path.insert(0, sys.argv[3])
from tests.fakes.engine import Engine, Script
Engine(Script(model=sys.argv[2]), port=int(sys.argv[1]))
threading.Event().wait()
"""


def test_plan_launches_its_server_for_the_audit_and_ends_it(tmp_path: Path) -> None:
    """A launched server is ready when it generates, is audited under its own name, and is gone afterwards."""
    port = free_port()
    program = [sys.executable, "-c", LAUNCHED, "{port}", "{model_name}", str(ROOT)]
    planned = plan({"port": port, "arguments": program}, stop_s=0.5)
    with opened(planned, own=environment(), log_dir=tmp_path) as up:
        assert up.running.model is not None
        assert up.running.model.startswith("kb-")
        report = audit(up.running, up.adapter, replace(SPEC, audits=frozenset({Audit.IDENTITY})))
    assert report.passed, report.checks
    assert report.model == up.running.model
    assert listeners(port) == ()
    assert any(tmp_path.iterdir())


def test_command_reads_a_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A plan that attaches is audited at its endpoint, while no run can use it."""
    with serving(Script(kind="vllm", step_ms=0.5)) as engine:
        file = tmp_path / "plan.yaml"
        file.write_text(
            "plan_version: 1\nid: one\ntitle: One\nsubject: {engine: engines/vllm, model: models/scripted}\n"
            f"target:\n  endpoints:\n    - url: {engine.url}\n"
            "workloads:\n  - {id: single, kind: single_stream}\n",
            encoding="utf-8",
        )
        command(str(file), only=["identity"], users=4, prompts=5, output_tok=16)
    assert "scripted: all 4 checks passed" in capsys.readouterr().out
