"""What would be lost after a run is refused before it: wrong records, the wrong engine, no accelerator, a dead server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kbtool.errors import ExitCode
from tests.cli.bench.test_bench_verbs import PLAN, plan_file
from tests.cli.conftest import Run
from tests.fakes.engine import running
from tests.fakes.script import Script

NO_CARD = PLAN.replace("  accelerator: accelerators/base-accelerator\n", "")
DEAD = "http://127.0.0.1:9/v1"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep facts about this host out of the home folder."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def url() -> Iterator[str]:
    """Return the address of a scripted engine that shows itself as llama.cpp."""
    with running(Script(kind="llama_cpp", ttft_ms=20.0, step_ms=2.0)) as engine:
        yield engine.url


@pytest.mark.parametrize(
    ("ref", "said"),
    [
        ("engines/base-engin", "did you mean engines/base-engine?"),
        ("models/nothing-like-it", "`ls records/models` shows those that exist"),
        ("accelerators/base-acelerator", "did you mean accelerators/base-accelerator?"),
    ],
)
def test_a_record_that_is_none_is_found_before_the_run(
    kbtool: Run, project: Path, url: str, ref: str, said: str
) -> None:
    """It came up at `bench record`, and the run was lost."""
    field = ref.partition("s/")[0]
    path = plan_file(project, url, text=PLAN.replace(f"{field}s/base-{field}", ref))
    for verb in ("plan", "run", "doctor"):
        done = kbtool("bench", verb, path)
        assert done.code == ExitCode.FINDINGS
        text, severity = (done.out, "problem") if verb == "doctor" else (done.err, "refused")
        assert f"{severity}: subject.{field}: there is no record {ref}" in text
        assert said in text
    assert not (project / "runs").exists()


def test_outside_a_knowledge_base_a_run_goes_on(
    kbtool: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    """The runner works alone, and says what it did not check."""
    monkeypatch.chdir(tmp_path)
    done = kbtool("bench", "run", plan_file(tmp_path, url))
    assert done.code == ExitCode.CLEAN, done.err
    assert "warning: subject: no folder `records` here or above" in done.err


def test_an_example_finds_the_records_of_the_checkout_around_it(
    kbtool: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has its own machine and model, and names an engine of the knowledge base."""
    example = project / "examples" / "one"
    (example / "records" / "accelerators").mkdir(parents=True)
    (example / "records" / "accelerators" / "own.yaml").write_text("{}\n", encoding="utf-8")
    monkeypatch.chdir(example)
    text = PLAN.replace("accelerators/base-accelerator", "accelerators/own")
    assert kbtool("bench", "plan", plan_file(example, text=text), "--no-ask").code == ExitCode.CLEAN


@pytest.mark.parametrize("verb", ["plan", "run"])
def test_the_wrong_engine_is_refused(kbtool: Run, project: Path, url: str, verb: str) -> None:
    """A plan of vLLM went through against llama.cpp, record and all."""
    text = PLAN.replace("target:\n", "target:\n  engine: vllm\n")
    done = kbtool("bench", verb, plan_file(project, url, text=text))
    assert done.code == ExitCode.FINDINGS
    assert "refused: server: it shows itself as llama_cpp" in done.err
    assert "but the plan says vllm: correct target.engine" in done.err
    assert not (project / "runs").exists()


def test_without_an_accelerator_a_run_is_refused_unless_no_record_is_wanted(
    kbtool: Run, project: Path, url: str
) -> None:
    """No driver answers in tests: the plan has to name what was measured on."""
    said = "subject.accelerator: no NVIDIA driver answers here, and no record can be made without it: name one of"
    path = plan_file(project, url, text=NO_CARD)
    assert f"refused: {said}" in kbtool("bench", "plan", path).err
    done = kbtool("bench", "run", path)
    assert done.code == ExitCode.FINDINGS
    assert f"refused: {said}" in done.err
    assert "--without-record" in done.err
    assert f"problem: {said}" in kbtool("bench", "doctor", path).out
    done = kbtool("bench", "run", path, "--without-record")
    assert done.code == ExitCode.CLEAN, done.err
    assert f"warning: {said}" in done.err


def test_a_plan_for_another_machine_is_not_refused_for_this_one(kbtool: Run, project: Path) -> None:
    """Nothing answers here, or nothing is asked: what this machine lacks says nothing of that one."""
    path = plan_file(project, DEAD, text=NO_CARD)
    assert kbtool("bench", "plan", path, "--no-ask").err.count("accelerator") == 0
    done = kbtool("bench", "plan", path)
    assert done.code == ExitCode.CLEAN
    assert "warning: subject.accelerator" in done.err


def test_a_dead_server_is_said_and_leaves_no_folder(kbtool: Run, project: Path) -> None:
    """The plan was silent, the run left an empty folder, the doctor listed 36 gaps."""
    path = plan_file(project, DEAD)
    done = kbtool("bench", "plan", path)
    assert done.code == ExitCode.CLEAN
    assert "warning: server: it could not be asked for its limits" in done.err
    done = kbtool("bench", "run", path)
    assert done.code == ExitCode.FINDINGS
    assert "refused: server: it cannot be used" in done.err
    assert not (project / "runs").exists()
    done = kbtool("bench", "doctor", path)
    assert done.code == ExitCode.FINDINGS
    assert "field of the record" not in done.out
    assert "fields would be filled" not in done.out


def test_an_address_without_its_scheme_is_understood(kbtool: Run) -> None:
    """`host:port` is no file, and the right form is given."""
    done = kbtool("bench", "doctor", "127.0.0.1:42033")
    assert done.code == ExitCode.USAGE
    assert "or an address such as http://127.0.0.1:42033" in done.err


def test_rows_of_the_doctor_have_no_blanks_at_the_end(kbtool: Run, url: str) -> None:
    """They came along with whatever was copied."""
    out = kbtool("bench", "doctor", url).out
    assert "field of the record" in out
    assert [line for line in out.splitlines() if line != line.rstrip()] == []
