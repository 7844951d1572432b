"""The same records give the same bytes, whatever the folder, zone, locale, hash seed, umask, clock and machine."""

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.attacks.case import BASE, all_cases
from tests.support.programs import ROOT
from tests.support.trees import contents, modes

OTHER_WORLD: Final = """
import os, time

def later(clock, by):
    return lambda *given: clock(*given) + by

def reversed_names(listdir):
    return lambda *given: sorted(listdir(*given), reverse=True)

class Reversed:
    def __init__(self, entries):
        with entries:
            self.entries = iter(sorted(entries, key=lambda entry: entry.name, reverse=True))
    def __enter__(self):
        return self
    def __exit__(self, *given):
        self.entries = iter(())
    def __iter__(self):
        return self
    def __next__(self):
        return next(self.entries)
    def close(self):
        self.entries = iter(())

year_and_more_s = 400 * 86400
time.time = later(time.time, year_and_more_s)
time.time_ns = later(time.time_ns, year_and_more_s * 10**9)
os.listdir = reversed_names(os.listdir)
scandir = os.scandir
os.scandir = lambda *given: Reversed(scandir(*given))
os.cpu_count = lambda: 7
os.sched_getaffinity = lambda pid: set(range(7))
"""
"""A `sitecustomize` module: another time, another file system, another machine."""
THIS_WORLD: Final = {"TZ": "UTC", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "1"}
CLOCKS: Final = frozenset(
    {"now", "today", "utcnow", "localtime", "gmtime", "ctime", "strftime", "time", "time_ns"}
)
CLOCK_OWNERS: Final = frozenset({"date", "datetime", "time"})
AGE_OF_FILES: Final = ROOT / "kbtool" / "lint" / "cache.py"
"""The cache of lint may ask how old a file is; what it answers does not depend on it."""


def lay_out(project: Path, *, backwards: bool) -> None:
    """Make a small project; `backwards` creates its files in the other order."""
    project.mkdir(parents=True)
    shutil.copy(ROOT / "mkdocs.yml", project)
    sources = {
        Path("site") / path.relative_to(ROOT / "site"): path
        for path in (ROOT / "site").rglob("*")
        if path.is_file()
    }
    sources |= {path.relative_to(BASE): path for path in (BASE / "records").rglob("*.yaml")}
    for case in all_cases():
        if case.accepted and case.name.startswith(("OK", "X0")):
            sources |= {path.relative_to(case.folder): path for path in case.stored}
    for path in sorted(sources, reverse=backwards):
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(sources[path], project / path)


def run(
    project: Path, *arguments: str, world: Mapping[str, str] = THIS_WORLD, umask: int = 0o022, code: int = 0
) -> str:
    """Run kbtool in a process of its own, and return what it prints."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    finished = subprocess.run(
        [sys.executable, "-c", "from kbtool.cli import main; main()", *arguments],
        cwd=project,
        env={**kept, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", **world},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        umask=umask,
        check=False,
    )
    assert finished.returncode == code, finished.stdout + finished.stderr
    return finished.stdout


def build(project: Path, world: Mapping[str, str] = THIS_WORLD, umask: int = 0o022) -> Path:
    """Build the site of a project."""
    run(project, "build", "--site-url", "https://example.org/kb/", world=world, umask=umask)
    return project / "build" / "site"


@pytest.fixture
def other_world(tmp_path: Path) -> dict[str, str]:
    """Return the environment of a process for which as much as possible is different."""
    world = tmp_path / "world"
    world.mkdir()
    (world / "sitecustomize.py").write_text(OTHER_WORLD, encoding="utf-8")
    return {
        "TZ": "Pacific/Kiritimati",
        "LC_ALL": "C",
        "LANG": "tr_TR.UTF-8",
        "PYTHONHASHSEED": "2",
        "PYTHONUTF8": "0",
        "SOURCE_DATE_EPOCH": "1",
        "PYTHONPATH": f"{world}{os.pathsep}{ROOT}",
    }


def test_two_builds_are_byte_identical(tmp_path: Path, other_world: dict[str, str]) -> None:
    """Two clean builds that differ in everything but the records are the same files with the same permissions."""
    one, other = tmp_path / "one", tmp_path / "another place" / "with a longer name"
    lay_out(one, backwards=False)
    lay_out(other, backwards=True)
    first = build(one)
    second = build(other, other_world, 0o077)
    assert contents(first).keys() == contents(second).keys()
    assert [path for path, data in contents(first).items() if contents(second)[path] != data] == []
    assert modes(first) == modes(second)


def test_lint_says_the_same_everywhere(tmp_path: Path, other_world: dict[str, str]) -> None:
    """Findings, their order and their words depend on the records alone."""
    one, other = tmp_path / "one", tmp_path / "other"
    lay_out(one, backwards=False)
    lay_out(other, backwards=True)
    # The records are variations of one: that the same figure stands in all of them is what lint finds.
    for form in ("json", "sarif", "github"):
        said = run(one, "lint", "--format", form, code=1)
        assert run(other, "lint", "--format", form, world=other_world, code=1) == said


def test_rebuild_equals_a_clean_build(tmp_path: Path) -> None:
    """A site that was brought up to date, over changes and removals, is the site that is built from nothing."""
    grown, clean = tmp_path / "grown", tmp_path / "clean"
    lay_out(grown, backwards=False)
    extra = grown / "records" / "benchmarks" / "ev-extra.yaml"
    template = (BASE / "templates" / "benchmark.yaml").read_text(encoding="utf-8")
    extra.write_text(template.replace("ev-control", "ev-extra"), encoding="utf-8")
    record = grown / "records" / "models" / "example-model.yaml"
    original = record.read_text(encoding="utf-8")
    record.write_text(original.replace("Example Lab", "Another Lab"), encoding="utf-8")
    build(grown)
    extra.unlink()
    record.write_text(original, encoding="utf-8")
    lay_out(clean, backwards=False)
    assert contents(build(grown)) == contents(build(clean))


@pytest.mark.parametrize("layer", ["vocab", "schema", "store", "analysis", "lint", "site"])
def test_no_layer_reads_a_clock(layer: str) -> None:
    """What depends on a day is given one: a repository that is green today is green tomorrow."""
    found = []
    for path in set((ROOT / "kbtool" / layer).rglob("*.py")) - {AGE_OF_FILES}:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Attribute)
                and node.attr in CLOCKS
                and isinstance(node.value, ast.Name | ast.Attribute)
            ):
                owner = node.value.id if isinstance(node.value, ast.Name) else node.value.attr
                if owner in CLOCK_OWNERS:
                    found.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert found == []
