"""Every broken, hostile or tricky record ends in its outcome, whatever it tries."""

import json
import os
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

import kbtool
from kbtool.lint import run as lint_run
from kbtool.lint.report import render
from kbtool.vocab.numbers import number_text
from tests.attacks.case import Case, all_cases
from tests.attacks.materialize import lay_out
from tests.support.programs import Finished, run_apart, run_here
from tests.support.watch import watching

CPU_S: Final = 2.0
"""For one bad file and its neighbours; start of the program included where it is a process of its own."""
CPU_S_OF_MANY_FILES: Final = 20.0
SHOWN: Final = 50
MOST_LINES: Final = 200
ANNOTATION: Final = re.compile(r"::(error|warning|notice) (file=[^:,]+,|title=kbtool lint)[^:]*::\S.*")
FINDING: Final = re.compile(
    r"^(?P<path>\S.*?):(?P<line>\d+):(?P<column>\d+): (?P<severity>error|warning|info) (?P<code>[A-Z]\d{3}) "
)


@dataclass(frozen=True)
class Line:
    """One finding as the text report shows it."""

    path: str
    line: int
    column: int
    severity: str
    code: str


def findings(report: str) -> list[Line]:
    """Read the text report back."""
    matches = (FINDING.match(line) for line in report.splitlines())
    return [Line(m["path"], int(m["line"]), int(m["column"]), m["severity"], m["code"]) for m in matches if m]


def lint(case: Case, project: Path, scratch: Path) -> Finished:
    """Run `kbtool lint` over the case, in a process of its own where the case is dangerous."""
    base = ["--base", "HEAD"] if case.before else []
    arguments = ["lint", "--limit", "0", *base, *case.arguments]
    if case.separate_process:
        return run_apart(*arguments, cwd=project, scratch=scratch)
    return run_here(*arguments, cwd=project)


def tree(folder: Path) -> dict[str, bytes | str]:
    """Return everything in a folder but what kbtool builds and what git keeps."""
    found: dict[str, bytes | str] = {}
    for path, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in {"build", ".git"}]
        for name in files + folders:
            each = Path(path, name)
            relative = os.fsdecode(each.relative_to(folder))
            if each.is_symlink():
                found[relative] = f"link to {each.readlink()}"
            elif each.is_file():
                found[relative] = (
                    each.read_bytes() if each.stat().st_size < 10**7 else f"{each.stat().st_size} bytes"
                )
            else:
                found[relative] = "something else"
    return found


@pytest.fixture
def project(case: Case, tmp_path: Path) -> Path:
    """Return the case laid out as a project."""
    folder = tmp_path / "project"
    folder.mkdir()
    lay_out(case, folder)
    return folder


CASES: Final = all_cases()
each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
each_accepted_case = pytest.mark.parametrize(
    "case", [case for case in CASES if case.accepted], ids=lambda case: case.name
)


@each_case
def test_lint_gives_the_outcome(case: Case, project: Path, tmp_path: Path) -> None:
    """Exactly the errors that are due, at a place that exists; nothing is run, sent, changed or left behind."""
    before = tree(project)
    with watching() as deeds:
        finished = lint(case, project, tmp_path)

    assert not finished.crashed, finished.err
    assert finished.code == (0 if case.accepted else 1), finished.out + finished.err
    assert finished.cpu_s < (CPU_S_OF_MANY_FILES if "times" in str(case.materialize) else CPU_S)
    if not case.separate_process:
        assert deeds.connected == []
        assert deeds.written_outside(tmp_path) == []
        assert deeds.read_through_links(project) == []
        assert [each for each in deeds.started if "git'" not in each or case.before is None] == []
    assert tree(project) == before
    assert not list(tmp_path.rglob("PWNED*"))

    found = [each for each in findings(finished.out) if each.severity == "error"]
    if not case.arguments:
        assert {each.code for each in found} == case.codes, finished.out
    for each in found:
        assert_place_exists(each, project)
    if case.at is not None:
        assert case.at in {f"{each.line}:{each.column}" for each in found}, finished.out
    if case.says is not None:
        assert case.says in finished.out


def assert_place_exists(finding: Line, project: Path) -> None:
    """A finding points into the text that an editor shows; in a file that is no text, at its start."""
    path = project / finding.path
    assert finding.line >= 1
    assert finding.column >= 1
    if not path.is_file() or path.is_symlink() or path.stat().st_size > 10**6:
        return
    lines = path.read_bytes().decode("utf-8", "replace").split("\n")
    assert finding.line <= max(len(lines), 1)
    assert finding.column <= len(lines[finding.line - 1]) + 1


@each_case
def test_output_is_safe_to_print(project: Path) -> None:
    """In no form does the report carry control or hidden characters, commands to a CI, or too many lines."""
    report = lint_run(project)
    for form in ("text", "github"):
        text = render(report, form, limit=SHOWN)
        assert_printable(text)
        assert text.count("\n") < MOST_LINES
    for line in render(report, "github", limit=SHOWN).splitlines():
        assert ANNOTATION.fullmatch(line) or not line.lstrip().startswith(("::", "##[")), line
    for form in ("json", "sarif"):
        json.loads(render(report, form, limit=SHOWN), parse_constant=pytest.fail)


def assert_printable(text: str) -> None:
    """Nothing in the text moves the cursor, hides, reorders, or cannot be encoded."""
    odd = {char for char in text if not char.isprintable() and char != "\n"}
    assert odd == set(), sorted(map(ascii, odd))


@each_case
def test_fmt_and_fix_lose_nothing(case: Case, project: Path, tmp_path: Path) -> None:
    """A good file keeps its bytes; a bad one is repaired without loss, or left alone and reported."""
    if case.separate_process:
        return
    before = tree(project)
    with watching() as deeds:
        runs = [run_here("fmt", cwd=project), run_here("lint", "--fix", cwd=project)]
        after = tree(project)
        runs += [run_here("fmt", cwd=project), run_here("lint", "--fix", cwd=project)]
    assert tree(project) == after, "the second run changes something"
    assert not any(each.crashed for each in runs), [each.err for each in runs]
    assert deeds.connected == []
    assert deeds.written_outside(tmp_path) == []
    assert not list(tmp_path.rglob("PWNED*"))
    assert {path for path in before if not path.endswith(".kbtool-tmp")} == after.keys()
    changed = sorted(path for path in after if before[path] != after[path])
    if case.fmt_rewrites:
        assert changed != []
    elif case.accepted:
        assert changed == []
    for path in changed:
        assert_same_content(before[path], after[path])


def assert_same_content(before: bytes | str, after: bytes | str) -> None:
    """Two versions of a file say the same; an unquoted text may have become a quoted one."""
    assert isinstance(before, bytes)
    assert isinstance(after, bytes)
    assert normalised(plain_yaml(before)) == normalised(plain_yaml(after))


def plain_yaml(data: bytes) -> Any:
    """Return what another reader of YAML finds in a file, every scalar as text."""
    return yaml.load(data.decode(), Loader=yaml.BaseLoader)  # noqa: S506 - it makes nothing but text


def normalised(value: Any) -> Any:
    """Return plain data with its texts composed, as `kbtool fmt` composes them."""
    if isinstance(value, dict):
        return {normalised(key): normalised(each) for key, each in value.items()}
    if isinstance(value, list):
        return [normalised(each) for each in value]
    return unicodedata.normalize("NFC", value) if isinstance(value, str) else value


@each_accepted_case
def test_accepted_text_is_loaded_unchanged(project: Path) -> None:
    """Each value is the very text that another YAML reader finds in the file, digits included."""
    corpus = kbtool.load(project)
    assert [each for each in corpus.findings if each.severity == "error"] == []
    for loaded in corpus.files:
        assert as_texts(loaded.value) == null_as_null(plain_yaml(loaded.data))
        assert loaded.record is not None


def null_as_null(value: Any) -> Any:
    """Return texts with every way to write nothing as `null`; the records that are compared hold no empty text."""
    if isinstance(value, dict):
        return {key: null_as_null(each) for key, each in value.items()}
    if isinstance(value, list):
        return [null_as_null(each) for each in value]
    return "null" if value in {"", "~"} else value


def as_texts(value: Any) -> Any:
    """Return plain data with every scalar as the text that writes it."""
    if isinstance(value, dict):
        return {key: as_texts(each) for key, each in value.items()}
    if isinstance(value, list):
        return [as_texts(each) for each in value]
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else number_text(value)
