"""The `kbtool` program over a small knowledge base, as a process that can be killed."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psutil

from kbtool.runner.folder import Mode, RunFolder
from tests.runner.session.driving import fixed, plan_of

__all__ = [
    "ROOT",
    "Finished",
    "Program",
    "cells",
    "make_project",
    "ours",
    "plan_text",
    "run_folder",
    "sealed",
    "until",
]

ROOT: Final = Path(__file__).resolve().parents[3]
BASE: Final = ROOT / "tests" / "lint" / "base"
WAIT_S: Final = 60.0
"""Ends a test that waits for ever; no test depends on how long one takes."""
ENTRY: Final = "from kbtool.cli import main; main()"
CELL: Final[Mapping[str, Any]] = {
    "kind": "concurrency", "levels": [2], "input_tok": 200, "output_tok": 6, "requests_per_stream": 2,
    "find_cliff": False,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Finished:
    """How the program ended."""

    code: int
    out: str
    err: str


@dataclass(slots=True)
class Program:
    """One start of the program in a project."""

    process: subprocess.Popen[str]
    stderr: Path

    @classmethod
    def start(cls, project: Path, *arguments: str, environment: Mapping[str, str] | None = None) -> "Program":
        """Start it; what it says on stderr goes to a file that can be read meanwhile."""
        number = len(list(project.glob("stderr-*")))
        stderr = project / f"stderr-{number}"
        with stderr.open("wb") as err:
            project.joinpath("home").mkdir(exist_ok=True)
            process = subprocess.Popen(
                [sys.executable, "-c", ENTRY, *arguments],
                cwd=project,
                env=_environment(project, environment or {}),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=err,
                text=True,
                start_new_session=True,
            )
        return cls(process, stderr)

    def said(self) -> str:
        """Return what it said on stderr so far."""
        return self.stderr.read_text(encoding="utf-8", errors="replace")

    def wait_for(self, text: str, times: int = 1) -> None:
        """Wait until it said something so many times."""
        until(lambda: self.said().count(text) >= times or self.process.poll() is not None)
        assert self.said().count(text) >= times, self.said()

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the program alone."""
        self.process.send_signal(number)

    def end(self) -> Finished:
        """Wait until it has ended."""
        out, _ = self.process.communicate(timeout=WAIT_S * 2)
        return Finished(self.process.returncode, out, self.said())


def _environment(project: Path, more: Mapping[str, str]) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TZ") if name in os.environ}
    return {
        **kept,
        "HOME": str(project / "home"),
        "XDG_STATE_HOME": str(project / "state"),
        "PYTHONPATH": str(ROOT),
        "COLUMNS": "120",
        **more,
    }


def make_project(folder: Path) -> Path:
    """Make a knowledge base with the records that a plan names."""
    shutil.copytree(BASE, folder / "records", ignore=shutil.ignore_patterns("reviews", "withdrawn"))
    for path in (folder / "records").rglob("*.yaml"):
        path.write_text(
            path.read_text(encoding="utf-8").replace("../../../../", "../../", 1), encoding="utf-8"
        )
    return folder


def plan_text(target: Mapping[str, Any], *names: str, rounds: int = 1, **more: Any) -> str:
    """Return a plan of cells with these names."""
    plan = plan_of(target, *({**CELL, "id": name} for name in names), repeats=fixed(rounds), **more)
    plan["subject"] = {
        "engine": "engines/base-engine",
        "model": "models/base-model",
        "accelerator": "accelerators/base-accelerator",
        "accelerator_count": 1,
    }
    plan["telemetry"] = {"accelerators": False, "interval_ms": 50}
    return json.dumps(plan)


def run_folder(project: Path) -> Path:
    """Return the only run of a project."""
    (found,) = sorted((project / "runs").iterdir())
    return found


def sealed(root: Path) -> dict[str, bytes]:
    """Return every byte of the sealed cells of a run, by path; empty where it never started."""
    if not (root / "ledger.jsonl").exists():
        return {}
    folder = RunFolder.open(root, Mode.READ)
    return {
        str(path.relative_to(root)): path.read_bytes()
        for key in folder.sealed
        for path in sorted((root / folder.state.cells[key].folder).iterdir())
    }


def cells(root: Path) -> list[str]:
    """Return the workloads of the sealed cells, in the order of the plan."""
    folder = RunFolder.open(root, Mode.READ)
    return [key.split("-")[2] for key in sorted(folder.sealed)]


def until(condition: Callable[[], Any]) -> None:
    """Wait until something is true."""
    end_s = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < end_s, "it did not come true"
        time.sleep(0.01)


def ours(text: str) -> list[str]:
    """Return the command lines of the processes that name something."""
    found = []
    for each in psutil.process_iter(["cmdline", "status"]):
        line = " ".join(each.info["cmdline"] or ())
        if text in line and each.info["status"] != psutil.STATUS_ZOMBIE and each.pid != os.getpid():
            found.append(line)
    return found
