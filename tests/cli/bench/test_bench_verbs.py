"""`kbtool bench` as somebody types it: what it says to wrong input, and what a whole run leaves behind."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kbtool.cli.bench.app import app
from kbtool.errors import ExitCode
from kbtool.lint import check
from tests.cli.conftest import Run
from tests.fakes.engine import running
from tests.fakes.script import Script

VERBS = [
    "doctor", "audit", "calibrate", "plan", "reproduce", "run", "resume", "report", "record", "compare", "verify",
    "import", "crosscheck",
]  # fmt: skip

PLAN = """\
plan_version: 1
id: small
title: A small run
subject:
  engine: engines/base-engine
  model: models/base-model
  accelerator: accelerators/base-accelerator
  accelerator_count: 1
target:
  endpoints: [{{url: "{url}"}}]
workloads:
  - {{id: single, kind: single_stream, prompt_classes: [prose], input_tok: 200, output_tok: 16, requests: 3}}
  - {{id: users, kind: concurrency, levels: [2], input_tok: 200, output_tok: 16, requests_per_stream: 3}}
repeats: {{rounds: 3, max_rounds: 3, warm_up_rounds: 2}}
deadlines: {{first_token_s: 5, progress_s: 5, request_s: 10}}
"""


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep facts about this host out of the home folder."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def url() -> Iterator[str]:
    """Return the address of a scripted engine."""
    # As fast as an engine may be: what is faster is taken for a slip of the unit.
    with running(Script(ttft_ms=20.0, step_ms=2.0)) as engine:
        yield engine.url


def plan_file(folder: Path, url: str = "http://127.0.0.1:9/v1", *, text: str = PLAN) -> str:
    """Write a plan and return its path."""
    path = folder / "plan.yaml"
    path.write_text(text.format(url=url), encoding="utf-8")
    return str(path)


def test_verbs_are_those_of_the_documentation() -> None:
    """Each has help that begins with what it does."""
    assert [command.name for command in app.registered_commands] == VERBS
    assert all(
        ((command.callback and command.callback.__doc__) or "").strip() for command in app.registered_commands
    )


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(kbtool: Run, verb: str) -> None:
    """Asking for help is no error."""
    assert kbtool("bench", verb, "--help").code == ExitCode.CLEAN


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("plan_version: 1", "plan_version: 2"), "plan.yaml:1:15: plan_version"),
        (
            ("title: A small run", "titel: A small run"),
            "plan.yaml:3:1: titel: there is no such key here; did you mean `title`?",
        ),
        (("requests: 3}}\n  -", "requests: 0}}\n  -"), "plan.yaml:12:"),
        (("id: small", "id: &a small"), "plan.yaml:2:"),
        (('endpoints: [{{url: "{url}"}}]', "{{}}"), "attach to servers or start them"),
    ],
)
def test_a_fault_of_a_plan_has_its_place_and_remedy(
    kbtool: Run, project: Path, change: tuple[str, str], said: str
) -> None:
    """A plan is checked as strictly as a record, with line and column."""
    path = plan_file(project, text=PLAN.replace(*change))
    done = kbtool("bench", "plan", path, "--no-ask")
    assert done.code == ExitCode.FINDINGS
    assert said in done.err


@pytest.mark.usefixtures("project")
def test_what_is_not_there_is_a_wrong_use(kbtool: Run) -> None:
    """A missing plan, a folder and a run that is none are told apart from findings."""
    for arguments in (("plan", "no.yaml"), ("plan", "records"), ("import", "no.json")):
        assert kbtool("bench", *arguments).code == ExitCode.USAGE
    done = kbtool("bench", "report", "records")
    assert done.code in {ExitCode.FINDINGS, ExitCode.USAGE}
    assert "ledger.jsonl" in done.err


def test_a_plan_lists_its_cells_and_refuses_what_cannot_work(kbtool: Run, project: Path, url: str) -> None:
    """The server's context is asked for; a prompt beyond it is refused before anything is sent."""
    done = kbtool("bench", "plan", plan_file(project, url))
    assert done.code == ExitCode.CLEAN
    assert "single-prose" in done.out
    assert "users-c2" in done.out
    long = PLAN.replace(
        "input_tok: 200, output_tok: 16, requests: 3", "input_tok: 900000, output_tok: 16, requests: 3"
    )
    done = kbtool("bench", "plan", plan_file(project, url, text=long))
    assert done.code == ExitCode.FINDINGS
    assert "is over the" in done.err


def test_the_doctor_says_what_a_record_would_lack(kbtool: Run, url: str) -> None:
    """Every disclosure field is filled, or a gap with a remedy."""
    done = kbtool("bench", "doctor", url)
    assert done.code == ExitCode.CLEAN
    assert "Engine version" in done.out
    assert "fields would be filled" in done.out


def test_from_a_plan_to_a_record_that_lints(kbtool: Run, project: Path, url: str) -> None:
    """Run, verify, report and record need no hand edit, and what they write is clean."""
    done = kbtool("bench", "run", plan_file(project, url), "--out", "runs")
    assert done.code == ExitCode.CLEAN, done.err
    (folder,) = (project / "runs").iterdir()
    assert kbtool("bench", "verify", str(folder)).code == ExitCode.CLEAN
    done = kbtool("bench", "report", str(folder))
    assert done.code == ExitCode.CLEAN
    assert (folder / "derived" / "report.html").read_bytes().startswith(b"<!doctype html>")
    done = kbtool("bench", "record", str(folder), "--root", str(project))
    assert done.code == ExitCode.CLEAN, done.err
    # The server of the tests answers faster than any accelerator could: that alone is found.
    assert {each.code for each in check(project) if each.severity != "info"} <= {"U216"}
    written = next((project / "records" / "benchmarks").glob("ev-small-*.yaml")).read_text(encoding="utf-8")
    assert "omitted_by_source" not in written
    assert "gaps:" in written
    paths = [line.removeprefix("wrote ") for line in done.out.splitlines() if line.startswith("wrote ")]
    assert [path.split("/")[0] for path in paths] == ["records", "records", "raw", "raw"]
    assert all((project / path).is_file() for path in paths)


def test_a_record_that_fails_leaves_nothing_new(kbtool: Run, project: Path, url: str) -> None:
    """A reference that leads nowhere is found after everything was made; none of it stays.

    The run is then damaged step by step, and each time it is said what is wrong and what to do.
    """
    text = PLAN.replace("accelerators/base-accelerator", "accelerators/nonsense")
    run = ("bench", "run", plan_file(project, url, text=text), "--out", "runs", "--without-record")
    assert kbtool(*run).code == ExitCode.CLEAN
    (folder,) = (project / "runs").iterdir()
    (project / "raw").mkdir(exist_ok=True)
    before = {path for path in project.rglob("*") if "build" not in path.parts}
    done = kbtool("bench", "record", str(folder), "--root", str(project))
    assert done.code == ExitCode.FINDINGS
    assert "L001" in done.err
    assert "nothing was written" in done.err
    assert "wrote" not in done.out
    assert {path for path in project.rglob("*") if "build" not in path.parts} - before == set()
    done = kbtool("bench", "resume", str(folder), "--set-aside")
    assert done.code == ExitCode.USAGE
    assert "the run is complete: nothing of it is measured again" in done.err
    (folder / "manifest.json").unlink()
    done = kbtool("bench", "record", str(folder), "--root", str(project))
    assert done.code == ExitCode.FINDINGS
    assert "manifest.json is missing, and the run is complete: restore it from a copy" in done.err
    done = kbtool("bench", "verify", str(folder))
    assert done.code == ExitCode.FINDINGS
    assert "manifest.json: missing" in done.err
    # As a run is left that was stopped in its first cell.
    ledger = (folder / "ledger.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "ledger.jsonl").write_bytes(b"".join(ledger[:3]))
    done = kbtool("bench", "verify", str(folder))
    assert done.code == ExitCode.CLEAN
    assert "every sealed file is what it was; 0 cells" in done.out
    assert "the run is not complete: go on with `kbtool bench resume" in done.out
    (folder / "plan.yaml").write_text("plan_version: 1\n", encoding="utf-8")
    assert kbtool("bench", "verify", str(folder)).code == ExitCode.FINDINGS


def test_two_runs_of_one_plan_can_be_compared(kbtool: Run, project: Path, url: str) -> None:
    """The words and the data come from one object; a run is not compared with itself."""
    for _ in range(2):
        assert kbtool("bench", "run", plan_file(project, url), "--out", "runs").code == ExitCode.CLEAN
    first, second = sorted((project / "runs").iterdir())
    done = kbtool("bench", "compare", str(first), str(second), "--json")
    found = json.loads(done.out)
    assert len(found["compared"]) + len(found["refused"]) > 0
    in_words = kbtool("bench", "compare", str(first), str(second))
    # A busy machine may bound the client in every cell: then there is nothing to compare, and the verb says so.
    expected = ExitCode.CLEAN if found["compared"] else ExitCode.FINDINGS
    assert done.code == in_words.code == expected, done.err
    assert ("nothing could be compared" in in_words.out) is (not found["compared"])
    assert "is given twice" in kbtool("bench", "compare", str(first), str(first)).err


def test_reproduce_writes_a_plan_that_is_one(kbtool: Run, project: Path) -> None:
    """What the record leaves open is listed, and the plan can be checked."""
    (record,) = (project / "records" / "benchmarks").glob("base-benchmark.yaml")
    record.write_text(record.read_text("utf-8").replace("statistic: mean", "statistic: single"), "utf-8")
    done = kbtool(
        "bench", "reproduce", "base-benchmark", "--out", "again.yaml", "--url", "http://127.0.0.1:9/v1"
    )
    assert done.code == ExitCode.CLEAN, done.err
    assert "open: " in done.out
    assert kbtool("bench", "plan", "again.yaml", "--no-ask").code == ExitCode.CLEAN


@pytest.mark.usefixtures("project")
def test_a_record_that_is_none_gets_the_nearest_name(kbtool: Run) -> None:
    """A slip of a letter is answered with what was meant."""
    done = kbtool("bench", "reproduce", "base-benchmrk")
    assert done.code == ExitCode.FINDINGS
    assert "did you mean benchmarks/base-benchmark?" in done.err
