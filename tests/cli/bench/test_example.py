"""The example run of the repository is what the code of today would make of it."""

import shutil
from pathlib import Path

import pytest

from kbtool.errors import ExitCode
from tests.cli.conftest import Run

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "examples" / "tiny-llama"
FOLDER = EXAMPLE / "run"
_OF_THE_DAY = ("# yaml-language-server:", "updated:", "accessed:")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work where the records of the example stand among the others."""
    imported = shutil.ignore_patterns("mlperf")
    shutil.copytree(ROOT / "records", tmp_path / "records", ignore=imported)
    shutil.copytree(EXAMPLE / "records", tmp_path / "records", dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KBTOOL_CACHE", str(tmp_path / "cache"))
    return tmp_path


def _lines(path: Path) -> list[str]:
    """Return what does not depend on the day or the place of the file."""
    return [line for line in path.read_text().splitlines() if not line.strip().startswith(_OF_THE_DAY)]


def test_every_sealed_byte_is_there(kbtool: Run) -> None:
    """A clone has the run as it was written, line ends included, and its figures come out again."""
    done = kbtool("bench", "verify", str(FOLDER))
    assert done.code == ExitCode.CLEAN, done.err
    assert "every sealed file is what it was" in done.out


def test_records_of_the_example_are_those_that_its_run_gives(kbtool: Run, project: Path) -> None:
    """They pass lint among the records of the project, and the emitter of today writes the same."""
    written = sorted((EXAMPLE / "records").glob("*/*tiny-llama-2*.yaml")) + sorted(
        (EXAMPLE / "records").glob("*/run-2*.yaml")
    )
    assert len(written) == 2
    made = [project / "records" / path.parent.name / path.name for path in written]
    assert kbtool("lint", *map(str, made)).code == ExitCode.CLEAN
    for path in made:
        path.unlink()
    done = kbtool("bench", "record", str(FOLDER), "--no-raw")
    assert done.code == ExitCode.CLEAN, done.err
    for ours, new in zip(written, made, strict=True):
        assert _lines(new) == _lines(ours)


def test_report_of_the_example_is_that_of_its_run(kbtool: Run, tmp_path: Path) -> None:
    """A reader of the repository sees the report as it is made today."""
    copied = shutil.copytree(FOLDER, tmp_path / "run")
    (copied / "derived" / "report.html").unlink()
    assert kbtool("bench", "report", str(copied)).code == ExitCode.CLEAN
    assert (copied / "derived" / "report.html").read_bytes() == (
        FOLDER / "derived" / "report.html"
    ).read_bytes()
