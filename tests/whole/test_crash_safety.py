"""Whatever happens while files are written, each of them is wholly old or wholly new, and the next run tidies up."""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.attacks.case import BASE
from tests.support.faulty import FaultySystem
from tests.support.programs import ROOT, run_here
from tests.support.trees import contents

FAULTY: Final = ROOT / "tests" / "support" / "faulty.py"
UNFORMATTED: Final = 2
"""Records that `kbtool fmt` has to rewrite."""


def run(project: Path, mode: str, call: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run kbtool in a process of its own; its `call`-th change of the file system goes wrong."""
    return subprocess.run(
        [sys.executable, str(FAULTY), mode, str(call), *arguments],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def calls_of(finished: subprocess.CompletedProcess[str]) -> int:
    """Return how many changes of the file system a whole run takes."""
    match = re.search(r"^(\d+) calls$", finished.stderr, re.MULTILINE)
    assert match is not None, finished.stderr
    return int(match[1])


def assert_old_or_new(now: dict[str, bytes], old: dict[str, bytes], new: dict[str, bytes]) -> None:
    """Every file is one of its two versions; files beside them are leftovers that say so by their name."""
    for path, data in now.items():
        if path in old or path in new:
            assert data in (old.get(path), new.get(path)), f"{path} is neither the old nor the new file"
        else:
            assert path.endswith(".kbtool-tmp"), path
    assert old.keys() & new.keys() <= now.keys(), "a file is gone"


# --- kbtool fmt and kbtool lint --fix ----------------------------------------------------------


@pytest.fixture
def unformatted(tmp_path: Path) -> Path:
    """Return a project whose records have a comment and are not in form."""
    template = (BASE / "templates" / "benchmark.yaml").read_text(encoding="utf-8")
    shutil.copytree(BASE / "records", tmp_path / "records")
    folder = tmp_path / "records" / "benchmarks"
    folder.mkdir()
    for number in range(UNFORMATTED):
        text = template.replace("id: ev-control", f"id: ev-{number}\n# a comment").replace('"0.5.3"', "0.10")
        (folder / f"ev-{number}.yaml").write_text(text.removesuffix("\n"), encoding="utf-8")
    return tmp_path


def test_fmt_on_a_full_disk_is_all_or_nothing(unformatted: Path) -> None:
    """When any one of its calls and all that follow fail, each file is old or new, and the next run finishes."""
    records = unformatted / "records"
    old = contents(records)
    counter = FaultySystem("full", 0)
    with counter.installed():
        assert run_here("fmt", cwd=unformatted).code == 0
    new = contents(records)
    assert sum(old[path] != new[path] for path in old) == UNFORMATTED
    for call in range(1, counter.calls + 1):
        restore(records, old)
        with FaultySystem("full", call).installed():
            full = run_here("fmt", cwd=unformatted)
        assert full.code != 0
        assert not full.crashed, full.err
        assert_old_or_new(contents(records), old, new)
        assert run_here("fmt", cwd=unformatted).code == 0
        assert contents(records) == new


@pytest.mark.parametrize("verb", [["fmt"], ["lint", "--fix", "--no-cache"]], ids=" ".join)
def test_killed_repair_is_all_or_nothing(unformatted: Path, verb: list[str]) -> None:
    """Killed at any of six points spread over it, it leaves old or new files, and the next run finishes."""
    records = unformatted / "records"
    old = contents(records)
    calls = calls_of(run(unformatted, "kill", 0, *verb))
    new = contents(records)
    assert new != old
    for call in random.Random(7).sample(range(1, calls + 1), min(6, calls)):
        restore(records, old)
        broken = run(unformatted, "kill", call, *verb)
        assert broken.returncode == -signal.SIGKILL, broken.stderr
        assert_old_or_new(contents(records), old, new)
        run_here(*verb, cwd=unformatted)
        assert contents(records) == new


def restore(folder: Path, files: dict[str, bytes]) -> None:
    """Make a folder hold exactly these files."""
    shutil.rmtree(folder)
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)


# --- kbtool build ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project with a built site and one record that has changed since."""
    project = tmp_path_factory.mktemp("crash")
    shutil.copy(ROOT / "mkdocs.yml", project)
    shutil.copytree(ROOT / "site", project / "site")
    shutil.copytree(BASE / "records", project / "records")
    (project / "records" / "benchmarks").mkdir()
    record = project / "records" / "benchmarks" / "ev-control.yaml"
    shutil.copy(BASE / "templates" / "benchmark.yaml", record)
    first = run(project, "kill", 0, "build")
    assert first.returncode == 0, first.stderr
    return project


def test_build_is_all_or_nothing_for_each_file(small_project: Path, tmp_path: Path) -> None:
    """Killed at any of eight points spread over it, a rebuild leaves old or new pages, and the next one finishes."""
    record = small_project / "records" / "benchmarks" / "ev-control.yaml"
    before, after = tmp_path / "before", tmp_path / "after"
    shutil.copytree(small_project / "build", before)
    record.write_text(record.read_text(encoding="utf-8").replace("93.9", "94.9"), encoding="utf-8")
    whole = run(small_project, "kill", 0, "build")
    assert whole.returncode == 0, whole.stderr
    shutil.copytree(small_project / "build", after)
    old, new = contents(before / "site"), contents(after / "site")
    assert old != new
    calls = calls_of(whole)
    points = random.Random(11).sample(range(1, calls + 1), min(8, calls))
    for call in points:
        shutil.rmtree(small_project / "build")
        shutil.copytree(before, small_project / "build", copy_function=shutil.copy2)
        broken = run(small_project, "kill", call, "build")
        assert broken.returncode == -signal.SIGKILL, broken.stderr
        assert_old_or_new(contents(small_project / "build" / "site"), old, new)
        again = run(small_project, "kill", 0, "build")
        assert again.returncode == 0, again.stderr
        assert contents(small_project / "build" / "site") == new
