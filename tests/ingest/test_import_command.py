"""`kbtool import`: drafts in folders of their own, the same bytes every time, and a word on every row that became none."""

import json
from datetime import date
from pathlib import Path

import pytest
import typer

from kbtool.cli.import_ import import_set
from kbtool.errors import UsageError
from tests.ingest.mlperf_samples import COMMIT, row, write_things
from tests.lint.projects import write


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project with the records that rows refer to."""
    write(tmp_path / "project")
    write_things(tmp_path / "project")
    return tmp_path / "project"


def table(project: Path, *rows: dict[str, object]) -> Path:
    """Write a result table beside the project."""
    path = project.parent / "summary_results.json"
    path.write_text(json.dumps(rows or [row(), row(Scenario="Server")]), encoding="utf-8")
    return path


def run(
    project: Path, *files: Path, source: str = "mlperf", dry_run: bool = False, accessed: str | None = None
) -> None:
    """Import files into the project."""
    import_set(
        source,
        list(files),
        commit=COMMIT,
        path=None,
        accessed=accessed,
        dry_run=dry_run,
        every_row=False,
        root=project,
    )


def drafts_of(project: Path) -> dict[str, bytes]:
    """Return the files of the set."""
    folders = (project / "records/benchmarks/mlperf", project / "records/sources/mlperf")
    return {
        path.name: path.read_bytes() for folder in folders if folder.is_dir() for path in folder.iterdir()
    }


def test_drafts_go_to_folders_of_their_own(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Benchmarks and sources lie below the name of the set, and what was written is told."""
    run(project, table(project))
    assert set(drafts_of(project)) == {
        "mlperf-6-0-0500-llama2-70b-99-offline.yaml",
        "mlperf-6-0-0500-llama2-70b-99-server.yaml",
        "mlperf-inference-v6-0-dell.yaml",
    }
    assert capsys.readouterr().out == "2 rows read, 2 of them in 2 benchmarks with 4 results\nfiles: 3 new\n"


def test_import_again_changes_nothing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The day of reading stays that of the first import, so that no byte differs on a later day."""
    run(project, table(project), accessed="2026-01-02")
    before = drafts_of(project)
    capsys.readouterr()
    run(project, table(project))
    assert drafts_of(project) == before
    assert "files: 3 unchanged" in capsys.readouterr().out


def test_new_day_is_taken_when_it_is_given(project: Path) -> None:
    """Who reads the table again says so."""
    run(project, table(project), accessed="2026-01-02")
    run(project, table(project), accessed="2026-01-03")
    assert all(date(2026, 1, 3).isoformat().encode() in data for data in drafts_of(project).values())


def test_dry_run_writes_nothing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What would be written is counted."""
    run(project, table(project), dry_run=True)
    assert drafts_of(project) == {}
    assert "would write: 3 new" in capsys.readouterr().out


def test_refused_rows_are_counted_by_reason(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each reason stands once, with the number of its rows; columns without a field are named."""
    run(project, table(project, row(Accuracy="x"), row(ID="6.0-0501", Accelerator="NVIDIA L40S")))
    out, err = capsys.readouterr()
    assert "1 rows refused:\n      1  no record accelerators/nvidia-l40s\n" in out
    assert "not mapped: Accuracy: no metric holds the accuracy of an answer" in err


def test_folder_is_read_as_in_the_repository(project: Path) -> None:
    """Of a folder the files of the set are taken, and others are left alone."""
    folder = project.parent / "results"
    (folder / "closed/Dell/systems").mkdir(parents=True)
    (folder / "notes.txt").write_text("nothing of ours", encoding="utf-8")
    table(project).rename(folder / "summary_results.json")
    run(project, folder)
    assert len(drafts_of(project)) == 3


def test_nothing_to_write_is_a_finding(project: Path) -> None:
    """A table of which every row is refused ends with exit code 1."""
    with pytest.raises(typer.Exit) as ended:
        run(project, table(project, row(Accelerator="NVIDIA L40S")))
    assert ended.value.exit_code == 1


@pytest.mark.parametrize(
    ("source", "message"),
    [("vllm-bench", "kbtool bench import"), ("nobody", "expected one of mlperf")],
)
def test_unknown_set_is_a_usage_error(project: Path, source: str, message: str) -> None:
    """A tool's own result file has a command of its own."""
    with pytest.raises(UsageError, match=message):
        run(project, table(project), source=source)


def test_id_of_a_curated_record_is_not_taken(project: Path) -> None:
    """A record elsewhere with the id of a draft is never written over."""
    run(project, table(project))
    name = "mlperf-inference-v6-0-dell.yaml"
    (project / "records/sources/mlperf" / name).rename(project / "records/sources" / name)
    with pytest.raises(UsageError, match="has the id mlperf-inference-v6-0-dell already"):
        run(project, table(project))


def test_folder_without_a_file_of_the_set_is_a_usage_error(project: Path) -> None:
    """An empty folder is more likely the wrong one than an empty set."""
    with pytest.raises(UsageError, match="holds no file of MLPerf Inference"):
        run(project, project / "records")


def test_file_that_is_not_there_is_a_usage_error(project: Path) -> None:
    """A missing file is named with the reason."""
    with pytest.raises(UsageError, match=r"gone\.json cannot be read"):
        run(project, project / "gone.json")
