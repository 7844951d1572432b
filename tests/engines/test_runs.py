"""Whole runs against a real vLLM: doctor, run, report and record, and what is left after a kill."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from kbtool.runner.target.procfs import ProcessId
from tests.engines.vllm_server import (
    ENVIRONMENT,
    ROOT,
    VllmServer,
    alive,
    end,
    family,
    free_port,
    servers_at,
    serving,
)

KBTOOL: Final = Path(sys.executable).with_name("kbtool")
SHORT: Final[Mapping[str, Any]] = {
    "plan_version": 1,
    "id": "tiny-vllm",
    "title": "Tiny model on a real vLLM on a CPU",
    "subject": {
        "engine": "engines/vllm",
        "model": "models/tiny-random-llama",
        "accelerator": "accelerators/test-host",
        "accelerator_count": 1,
    },
    "workloads": [
        {
            "id": "single", "kind": "single_stream", "prompt_classes": ["prose"], "input_tok": 256, "output_tok": 32,
            "requests": 3,
        },
        {
            "id": "users", "kind": "concurrency", "levels": [4], "input_tok": 256, "output_tok": 32,
            "requests_per_stream": 3,
        },
    ],
    "repeats": {"rounds": 3, "max_rounds": 3, "interval_ratio": None, "warm_up_rounds": 2},
    "sanity": {"greedy_repeats": 2},
    "deadlines": {"ready_s": 900},
}  # fmt: skip
PATIENCE_S: Final = 1200.0


def kbtool(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run the program to its end."""
    return subprocess.run(
        [KBTOOL, *arguments], cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )


def write_plan(folder: Path, target: Mapping[str, Any]) -> Path:
    """Write a plan as JSON, which is YAML."""
    path = folder / "plan.yaml"
    path.write_text(json.dumps({**SHORT, "target": target}))
    return path


def launched(port: int) -> dict[str, Any]:
    """Return a target that launches vLLM."""
    instance = {"port": port, "arguments": serving("{port}", "{model_name}"), "environment": ENVIRONMENT}
    return {"engine": "vllm", "launch": {"instances": [instance]}}


@pytest.fixture
def knowledge(tmp_path: Path) -> Path:
    """Return a knowledge base with our records, and with those that the tiny model needs."""
    shutil.copytree(ROOT / "records", tmp_path / "records")
    for folder in ("accelerators", "models", "sources"):
        for path in (Path(__file__).parent / "records" / folder).iterdir():
            shutil.copy(path, tmp_path / "records" / folder / path.name)
    return tmp_path


def test_doctor_says_what_there_is(vllm: VllmServer, tmp_path: Path) -> None:
    """Engine, version, cached tokens, usage per chunk, drafts, and a warning of what slows it down."""
    done = kbtool(tmp_path, "bench", "doctor", vllm.url)
    said = done.stdout + done.stderr
    assert "vllm (GET /v1/models says owned_by vllm; GET /version answered 0.32" in said
    for line in ("usage per chunk:", "cached tokens:", "prefix cache:", "same answer twice:"):
        assert any(line in each and ": " in each and " on (" in each for each in said.splitlines()), said
    assert "speculation.method" in said
    assert "take out --enforce-eager" in said


def test_a_run_makes_a_record_that_lint_accepts(vllm: VllmServer, knowledge: Path) -> None:
    """Token counts agree with the server's, speculation is enabled, the cache is proven cold, and lint is silent."""
    write_plan(knowledge, {"endpoints": [{"url": f"{vllm.url}/v1"}]})
    done = kbtool(knowledge, "bench", "run", "plan.yaml", "--out", "runs")
    assert done.returncode == 0, done.stdout + done.stderr
    run = next((knowledge / "runs").iterdir())
    report = kbtool(knowledge, "bench", "report", str(run))
    assert report.returncode == 0, report.stderr
    assert "agrees" in report.stdout
    assert "enabled" in report.stdout
    record = kbtool(knowledge, "bench", "record", str(run))
    assert record.returncode == 0, record.stdout + record.stderr
    written = next((knowledge / "records" / "benchmarks").glob("ev-tiny-vllm-*.yaml")).read_text()
    assert "omitted_by_source" not in written
    assert "method: ngram" in written
    assert "prefix_cache: cold" in written
    lint = kbtool(knowledge, "lint")
    assert lint.returncode == 0, lint.stdout
    verify = kbtool(knowledge, "bench", "verify", str(run))
    assert verify.returncode == 0, verify.stdout + verify.stderr


@contextmanager
def measuring(knowledge: Path) -> Iterator[tuple["subprocess.Popen[str]", tuple[ProcessId, ...]]]:
    """Run a plan that launches vLLM until it has measured something; give the runner, and all processes of vLLM."""
    port = free_port()
    write_plan(knowledge, launched(port))
    parts: tuple[ProcessId, ...] = ()
    with subprocess.Popen(
        [KBTOOL, "bench", "run", "plan.yaml", "--out", "runs"], cwd=knowledge, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True,
    ) as runner:  # fmt: skip
        try:
            until_said(runner, "warm_up 1")
            parts = family(servers_at(port)[0])
            # Server, engine, worker, and a helper of Python's.
            assert len(parts) >= 3
            yield runner, parts
            assert not servers_at(port)
        finally:
            runner.kill()
            end(parts)


def soon_ended(parts: tuple[ProcessId, ...]) -> bool:
    """Return whether all of them are gone within a minute."""
    until_s = time.monotonic() + 60
    while alive(parts) and time.monotonic() < until_s:
        time.sleep(0.2)
    return not alive(parts)


def test_a_launched_server_is_ours_and_is_ended(knowledge: Path) -> None:
    """When the run is over none of its processes lives, and what was measured makes a record."""
    with measuring(knowledge) as (runner, parts):
        said, _ = runner.communicate(timeout=PATIENCE_S)
        assert runner.returncode == 0, said
        assert not alive(parts)
    run = next((knowledge / "runs").iterdir())
    record = kbtool(knowledge, "bench", "record", str(run))
    assert record.returncode == 0, record.stdout + record.stderr


def test_nothing_is_left_running_after_the_runner_is_killed(knowledge: Path) -> None:
    """Its keeper ends server, engine and worker."""
    with measuring(knowledge) as (runner, parts):
        runner.kill()
        said, _ = runner.communicate(timeout=300)
        assert soon_ended(parts), said


def test_a_killed_server_leaves_no_engine_and_is_started_again(knowledge: Path) -> None:
    """An engine outlives its killed server: it is ended, the cell is failed with the reason, and the run goes on."""
    with measuring(knowledge) as (runner, parts):
        os.kill(parts[0].pid, signal.SIGKILL)
        said, _ = runner.communicate(timeout=PATIENCE_S)
        assert not alive(parts), said
        assert "it was ended by SIGKILL" in said
        assert "start 2 of" in said


def until_said(process: "subprocess.Popen[str]", word: str) -> str:
    """Read the output until a line has the word."""
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line)
        if word in line:
            return "".join(said)
    pytest.fail(f"it ended before it said {word!r}: {''.join(said)}")
