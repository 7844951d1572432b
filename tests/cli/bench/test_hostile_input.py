"""Wrong, endless and hostile input to `kbtool bench`: refused within seconds, with a message, and nothing overwritten."""

import io
import json
import os
import platform
from pathlib import Path

import pytest
from rich.console import Console

from kbtool.cli.bench.display import display
from kbtool.cli.bench.planfaults import MOST_FAULTS
from kbtool.cli.bench.reading import state_folder
from kbtool.cli.bench.rows import print_table
from kbtool.errors import ExitCode
from kbtool.runner.report import Column, DataTable, Entry
from kbtool.runner.session.events import Remark
from tests.cli.bench.test_bench_verbs import PLAN, plan_file
from tests.cli.conftest import Run
from tests.fakes.engine import running
from tests.fakes.script import Script

RESULT = Path(__file__).resolve().parents[2] / "fixtures" / "ingest" / "vllm-bench-ngram.json"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep facts about this host out of the home folder."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            ("levels: [2]", "levels: [100000]"),
            "users.levels.0: the number `100000`; expected a number of at most 4,096",
        ),
        (("kind: single_stream", "kind: single_streem"), "the text `single_streem`; expected"),
        (("kind: single_stream, ", ""), "has no `kind`; expected one of"),
        (
            ("engines/base-engine", "Engine!"),
            "the text `Engine!`; expected a reference such as `engines/vllm`",
        ),
        (("workloads:", "notes: [1]\nworkloads:"), "notes: a list; expected text"),
        (("prompt_classes: [prose]", "prompt_classes: []"), "0 entries; expected at least 1"),
        (("id: small", "id: Small One"), "expected lower-case words of a-z and 0-9"),
        (('url: "{url}"', 'url: "http://127.0.0.1:99999/v1"'), "expected one of 1 to 65535"),
        (('url: "{url}"', 'url: "http://[::1/v1"'), "no web address"),
        (('url: "{url}"', 'url: "http://127.0.0.1/a b"'), "a character that no address has"),
    ],
)
def test_a_fault_says_what_was_found_and_what_is_expected(
    kbtool: Run, project: Path, change: tuple[str, str], said: str
) -> None:
    """Each message has place, found value, expectation and remedy; what follows from another fault is not said."""
    done = kbtool("bench", "plan", plan_file(project, text=PLAN.replace(*change)), "--no-ask")
    assert done.code == ExitCode.FINDINGS
    assert said.replace("users.", "").replace("4,096", "4096") in done.err
    assert len(done.err.strip().splitlines()) == 1
    assert "Input should" not in done.err


def test_a_list_is_no_plan(kbtool: Run, project: Path) -> None:
    """Another kind of YAML file gets one line that says what a plan looks like."""
    done = kbtool("bench", "plan", plan_file(project, text="- 1\n"))
    assert done.code == ExitCode.FINDINGS
    assert "a list; expected `key: value` lines" in done.err


def test_thousands_of_faults_are_counted_and_not_all_told(kbtool: Run, project: Path) -> None:
    """A file of another program with a key on each line is refused at once."""
    text = "".join(f"key_{number}: 1\n" for number in range(1500))
    done = kbtool("bench", "plan", plan_file(project, text=text))
    assert done.code == ExitCode.FINDINGS
    lines = done.err.strip().splitlines()
    assert len(lines) == MOST_FAULTS + 1
    assert "more faults: correct these first" in lines[-1]


@pytest.mark.parametrize("verb", ["plan", "run", "doctor", "import"])
@pytest.mark.parametrize("kind", ["pipe", "device", "under a file", "folder"])
def test_what_is_no_plain_file_is_not_read(kbtool: Run, project: Path, verb: str, kind: str) -> None:
    """A pipe would hang for ever, and a device would fill the memory."""
    os.mkfifo(project / "pipe")
    (project / "file").write_text("x", encoding="utf-8")
    path = {"pipe": "pipe", "device": "/dev/zero", "under a file": "file/x", "folder": "records"}[kind]
    done = kbtool("bench", verb, path)
    assert done.code == ExitCode.USAGE
    assert "give a " in done.err


@pytest.mark.parametrize("verb", ["resume", "report", "record", "verify", "compare"])
def test_a_run_folder_that_is_not_there_is_a_wrong_use(kbtool: Run, project: Path, verb: str) -> None:
    """A mistyped path is told from a damaged run."""
    (project / "file").write_text("x", encoding="utf-8")
    for path, said in (("nowhere", "does not exist"), ("file", "is no folder")):
        done = kbtool("bench", verb, path)
        assert done.code == ExitCode.USAGE
        assert said in done.err


ADDRESSES = [
    "http://127.0.0.1:99999",
    "http://127.0.0.1:abc",
    "http://[::1",
    "ftp://x",
    "http://u:verysecret@x",
]


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.usefixtures("project")
def test_an_address_that_is_none_is_refused_in_one_line(kbtool: Run, address: str) -> None:
    """No traceback, no words of a library, and a password in it is not printed."""
    found = [
        kbtool("bench", "doctor", address),
        kbtool("bench", "reproduce", "base-benchmark", "--url", address, "--out", "again.yaml"),
    ]
    for done in found:
        assert done.code == ExitCode.USAGE
        assert len(done.err.strip().splitlines()) == 1
        assert "pydantic" not in done.err
        assert "verysecret" not in done.err


@pytest.mark.parametrize("streams", ["0", "-1", "1,,2", "1,1", "99999999", "1e3", "", " 1", "\uff11"])
def test_a_calibration_that_measures_nothing_is_not_kept(kbtool: Run, state: Path, streams: str) -> None:
    """No stream has no error: kept, it would stand as a perfect client in every record of this host."""
    done = kbtool("bench", "calibrate", "--streams", streams, "--no-check")
    assert done.code == ExitCode.USAGE
    assert "--streams" in done.err
    assert not state.exists()


@pytest.mark.parametrize(
    "content", ["{", "[]", "{}", '{"levels": 5}', '{"version": 1, "levels": [], "checks": []}', "null"]
)
def test_a_damaged_calibration_is_said_before_anything_is_measured(
    kbtool: Run, project: Path, state: Path, content: str
) -> None:
    """Found when the record is written, it would cost the whole run."""
    path = state / "kbtool" / platform.node() / "calibration.json"
    path.parent.mkdir(parents=True)
    path.write_text(content, encoding="utf-8")
    with running(Script()) as engine:
        done = kbtool("bench", "run", plan_file(project, engine.url))
    assert done.code == ExitCode.FINDINGS
    assert "remove it, and run that again" in done.err
    assert list((project / "runs").iterdir()) == []


def test_a_calibration_that_cannot_be_kept_is_not_measured(
    kbtool: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A minute and a half is not spent on what is lost then."""
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    done = kbtool("bench", "calibrate")
    assert done.code == ExitCode.USAGE
    assert "XDG_STATE_HOME" in done.err


def test_a_relative_state_folder_is_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It would be another place in each folder that the program is run in."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", "relative/state")
    assert state_folder() == tmp_path / ".local" / "state" / "kbtool"


def test_a_display_that_nobody_reads_stops_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """`kbtool bench run | head` and a full disk under a log file do not end what is measured."""
    said = []

    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            said.append(text)
            raise BrokenPipeError

    monkeypatch.setattr("sys.stderr", Gone())
    with display() as tell:
        tell(Remark("one"))
        tell(Remark("two"))
    assert said == ["one\n"]


def test_a_narrow_terminal_gets_a_line_for_each_value(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A table whose words would be broken is unreadable."""
    table = DataTable(
        "latency",
        "Latency",
        (Column("Cell"), Column("Time to first token", "ms")),
        ((Entry("users-with-a-long-name"), Entry("12.5", detail="n 3")),),
        "note",
    )
    monkeypatch.setattr("kbtool.cli.bench.rows.console", lambda: Console(width=30))
    print_table(table)
    out = capsys.readouterr().out
    assert "Cell: users-with-a-long-name\n" in out
    assert "  Time to first token (ms): 12.5, n 3\n" in out


def test_records_of_others_are_not_written_over(kbtool: Run, project: Path) -> None:
    """Neither by the id of another record, nor where somebody has edited the draft; an id that is none is refused."""
    with running(Script(ttft_ms=20.0, step_ms=2.0)) as engine:
        assert kbtool("bench", "run", plan_file(project, engine.url)).code == ExitCode.CLEAN
    (folder,) = (project / "runs").iterdir()
    before = (project / "records" / "benchmarks" / "base-benchmark.yaml").read_bytes()
    for wrong in ("bad/id", "../../x", "Ev X", "a" * 300, ""):
        done = kbtool("bench", "record", str(folder), "--id", wrong)
        assert done.code == ExitCode.USAGE
        assert "cannot be an id" in done.err
    done = kbtool("bench", "record", str(folder), "--id", "base-benchmark")
    assert done.code == ExitCode.USAGE
    assert "holds something else" in done.err
    assert (project / "records" / "benchmarks" / "base-benchmark.yaml").read_bytes() == before
    for _ in range(2):
        assert kbtool("bench", "record", str(folder), "--id", "ev-mine").code == ExitCode.CLEAN
    path = project / "records" / "benchmarks" / "ev-mine.yaml"
    path.write_text(path.read_text(encoding="utf-8") + "# mine\n", encoding="utf-8")
    assert kbtool("bench", "record", str(folder), "--id", "ev-mine").code == ExitCode.USAGE
    assert path.read_text(encoding="utf-8").endswith("# mine\n")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--at", "nope=1"), "`nope`; expected one of"),
        (("--at", "concurrency=many"), "concurrency"),
        (("--accessed", "2999-01-01"), "has not come yet"),
        (("--id", "bad id"), "cannot be an id"),
        (("--id", "../x"), "cannot be an id"),
    ],
)
def test_an_import_with_a_wrong_answer_leaves_nothing(
    kbtool: Run, project: Path, options: tuple[str, str], said: str
) -> None:
    """No traceback, and no file under raw/ of a record that is never written."""
    done = kbtool(
        "bench", "import", str(RESULT), "--accelerator", "accelerators/base-accelerator", "--engine",
        "engines/base-engine", "--model", "models/base-model", "--publisher", "somebody", *options,
    )  # fmt: skip
    assert done.code in {ExitCode.USAGE, ExitCode.FINDINGS}
    assert said in done.err
    assert "Traceback" not in done.err
    assert not (project / "raw").exists()


def test_an_unfinished_run_is_no_record(kbtool: Run, project: Path) -> None:
    """The message says how to go on."""
    with running(Script(ttft_ms=20.0, step_ms=2.0)) as engine:
        assert kbtool("bench", "run", plan_file(project, engine.url)).code == ExitCode.CLEAN
    (folder,) = (project / "runs").iterdir()
    ledger = (folder / "ledger.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "ledger.jsonl").write_bytes(b"".join(ledger[:-1]))
    (folder / "manifest.json").unlink()
    done = kbtool("bench", "record", str(folder))
    assert done.code == ExitCode.FINDINGS
    assert "is not complete: go on with `kbtool bench resume" in done.err


def test_reproduce_writes_over_no_plan_that_was_edited(kbtool: Run, project: Path) -> None:
    """The same again is fine; what somebody filled in stays."""
    command = (
        "bench",
        "reproduce",
        "base-benchmark",
        "--out",
        "again.yaml",
        "--url",
        "http://127.0.0.1:9/v1",
    )
    assert kbtool(*command).code == ExitCode.CLEAN
    assert kbtool(*command).code == ExitCode.CLEAN
    path = project / "again.yaml"
    path.write_text(path.read_text(encoding="utf-8") + "# mine\n", encoding="utf-8")
    done = kbtool(*command)
    assert done.code == ExitCode.USAGE
    assert "is there already" in done.err
    assert path.read_text(encoding="utf-8").endswith("# mine\n")


@pytest.mark.usefixtures("project")
def test_another_kind_of_record_is_not_suggested_for_itself(kbtool: Run) -> None:
    """What exists and is no benchmark is not what was meant."""
    done = kbtool("bench", "reproduce", "engines/base-engine")
    assert done.code == ExitCode.FINDINGS
    assert "did you mean" not in done.err


def test_a_plan_of_thousands_of_millions_of_cells_is_refused_at_once(kbtool: Run, project: Path) -> None:
    """They are counted, not made."""
    launch = {"instances": [{"port": 8391, "arguments": ["x", "{model_name}"]}]}
    plan = {
        "plan_version": 1,
        "id": "huge",
        "title": "Huge",
        "subject": {"engine": "engines/base-engine", "model": "models/base-model"},
        "target": {"launch": launch},
        "workloads": [
            {"id": f"w{number}", "kind": "concurrency", "levels": list(range(1, 65))} for number in range(64)
        ],
        "sweeps": [
            {
                "id": f"s{number}",
                "setting": "serving.max_running_requests",
                "argument": "--x",
                "base": 1,
                "values": [{"value": value} for value in range(1, 65)],
                "order": "bracketed",
            }
            for number in range(8)
        ],
        "repeats": {"sessions": 50},
    }
    path = project / "huge.yaml"
    path.write_text(json.dumps(plan), encoding="utf-8")
    done = kbtool("bench", "plan", str(path))
    assert done.code == ExitCode.FINDINGS
    assert "expected at most 2,000" in done.err


def test_run_folders_do_not_go_into_a_file(kbtool: Run, project: Path) -> None:
    """The message says what is to be named."""
    (project / "file").write_text("", encoding="utf-8")
    with running(Script()) as engine:
        done = kbtool("bench", "run", plan_file(project, engine.url), "--out", "file")
    assert done.code == ExitCode.USAGE
    assert "--out file is no folder" in done.err


@pytest.mark.parametrize("verb", ["plan", "run"])
@pytest.mark.parametrize(
    ("content", "said"), [(None, "cannot be read"), (b"\xff\xfe\n", "not JSON"), (b"{}\n", "trace.jsonl:1")]
)
def test_a_trace_that_cannot_be_replayed_is_said_before_anything_is_started(
    kbtool: Run, project: Path, verb: str, content: bytes | None, said: str
) -> None:
    """A launched server takes half an hour, and a cell of a replay comes last perhaps."""
    if content is not None:
        (project / "trace.jsonl").write_bytes(content)
    head, rest = PLAN.split("workloads:\n")
    text = f"{head}workloads:\n  - {{{{id: again, kind: replay, path: trace.jsonl}}}}\nrepeats:{rest.split('repeats:')[1]}"
    done = kbtool("bench", verb, plan_file(project, text=text))
    assert done.code != ExitCode.CLEAN
    assert said in done.err
    assert "Traceback" not in done.err
    assert not (project / "runs").exists()
