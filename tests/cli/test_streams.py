"""The program and its streams: readers that leave, closed descriptors, other encodings, Ctrl-C at a question."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from kbtool.errors import ExitCode
from tests.cli.conftest import Run

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = [sys.executable, "-c", "from kbtool.cli import main; main()"]


def environment(**changes: str) -> dict[str, str]:
    """Return the environment of a program of its own."""
    return {**os.environ, "PYTHONPATH": str(ROOT), **changes}


@pytest.mark.parametrize("verb", ["find", "why base-benchmark", "show base-benchmark", "lint"])
def test_a_reader_that_leaves_is_no_error(project: Path, verb: str) -> None:
    """A pipe that nobody reads any more, as behind `| head -1`, changes neither exit code nor stderr."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(
        [*PROGRAM, *verb.split()],
        cwd=project,
        env=environment(),
        stdout=write_end,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(write_end)
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr
    assert b"BrokenPipe" not in done.stderr


def test_nobody_who_hears_the_complaints_changes_no_exit_code(project: Path) -> None:
    """Behind `2>&1 | head -1`, what is said last is said to nobody: wrong usage is still wrong usage."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(
        [*PROGRAM, "bench", "report", "no-such-run"],
        cwd=project,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=write_end,
        check=False,
    )
    os.close(write_end)
    assert done.returncode == ExitCode.USAGE
    assert done.stdout == b""


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams_are_no_error(project: Path, closed: str) -> None:
    """A program that was started without one of its streams does its work all the same."""
    done = subprocess.run(
        [
            "/bin/sh",
            "-c",
            f'"$0" -c "from kbtool.cli import main; main()" find base {closed}',
            sys.executable,
        ],
        cwd=project,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
    )
    assert done.returncode == 0
    assert done.stderr == b""


def test_output_to_a_file_is_utf_8_whatever_the_locale(project: Path) -> None:
    """A locale without the characters of a record neither stops the program nor changes a byte."""
    path = project / "records" / "benchmarks" / "base-benchmark.yaml"
    path.write_text(path.read_text(encoding="utf-8") + "notes: 24 °C → 31 °C, 東京.\n", encoding="utf-8")
    done = subprocess.run(
        [*PROGRAM, "show", "base-benchmark", "--format", "yaml"],
        cwd=project,
        env=environment(LC_ALL="C", PYTHONUTF8="0", PYTHONIOENCODING="ascii"),
        capture_output=True,
        check=False,
    )
    assert done.stderr == b""
    assert done.stdout == path.read_bytes()


def test_a_full_disk_behind_stdout_is_said(project: Path) -> None:
    """A file that takes no more ends with exit code 2, the reason and what to do."""
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*PROGRAM, "find"],
            cwd=project,
            env=environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 2
    assert b"make room on the disk" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("leave", [KeyboardInterrupt, typer.Abort])
def test_a_question_can_be_left(
    kbtool: Run, project: Path, monkeypatch: pytest.MonkeyPatch, leave: type[BaseException]
) -> None:
    """Ctrl-C and Ctrl-D at a question end with exit code 130, and nothing is written."""

    def left(*_: object, **__: object) -> str:
        raise leave

    before = sorted(project.rglob("*"))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr(typer, "prompt", left)
    assert kbtool("new", "engine").code == 130
    assert sorted(project.rglob("*")) == before
