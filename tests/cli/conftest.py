"""A small project to run the program in, and the program."""

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from kbtool.cli import main

BASE = Path(__file__).resolve().parents[1] / "lint" / "base"


@dataclass(frozen=True)
class Finished:
    """What one run of the program left behind."""

    code: int
    out: str
    err: str


Run = Callable[..., Finished]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project with the clean base records, and stand in it."""
    shutil.copytree(BASE, tmp_path / "records", ignore=shutil.ignore_patterns("reviews"))
    for path in (tmp_path / "records").rglob("*.yaml"):
        # The records lie two folders less deep here, and so does their schema line; a review would be stale by that.
        path.write_text(
            path.read_text(encoding="utf-8").replace("../../../../", "../../", 1), encoding="utf-8"
        )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    return tmp_path


@pytest.fixture
def kbtool(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return the program as a function of its arguments."""

    def run(*arguments: str) -> Finished:
        monkeypatch.setattr(sys, "argv", ["kbtool", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main()
        said = capsys.readouterr()
        return Finished(int(stopped.value.code or 0), said.out, said.err)

    return run
