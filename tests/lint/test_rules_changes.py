"""What was merged stays as it was, or says what became of it."""

from pathlib import Path
from typing import Any

import pytest

from kbtool.lint.facts import Facts, FileFact
from kbtool.lint.rule import RecordChange
from kbtool.lint.rules.base_commit import (
    MOST_FILES,
    diff_findings,
    figure_changed_in_place,
    record_revived,
    removed_without_a_stone,
    result_removed,
)
from kbtool.schema import Accelerator, Benchmark, Withdrawn
from tests.analysis.records import BASE, benchmark, plain_result

REF = "benchmarks/base-benchmark"
CHANGE = {"date": "2026-09-20", "why": "The source corrected it."}


def change(before: Any, after: Any, *refs: str) -> RecordChange:
    """Return a change; `refs` are the files that there are now."""
    return RecordChange(REF, before, after, Facts((*(FileFact(ref, f"records/{ref}.yaml") for ref in refs),)))


def with_value(value: str, **over: Any) -> Benchmark:
    """Return the base benchmark with one result of this value."""
    return benchmark(results=[plain_result(value=value)], **over)


def test_a_value_that_changed_in_silence() -> None:
    """Somebody has cited the old one."""
    (problem,) = figure_changed_in_place(change(with_value("93.9"), with_value("9999")))
    assert problem.at == "/results/0/value"
    assert "93.9" in problem.message
    assert "9999" in problem.message
    assert "results.decode-prose-1" in problem.message


@pytest.mark.parametrize(
    "field", ["results.decode-prose-1.value", "results.decode-prose-1", "decode-prose-1", "results", "."]
)
def test_a_change_that_is_told(field: str) -> None:
    """The entry names the result, a part of it, or what it is a part of."""
    told = with_value("9999", changes=[{**CHANGE, "fields": [field]}])
    assert list(figure_changed_in_place(change(with_value("93.9"), told))) == []


def test_an_old_entry_does_not_tell_of_a_new_change() -> None:
    """Every correction has its own entry."""
    changes = [{**CHANGE, "fields": ["results.decode-prose-1"]}]
    before, after = with_value("93.9", changes=changes), with_value("9999", changes=changes)
    assert len(list(figure_changed_in_place(change(before, after)))) == 1


def test_what_else_is_a_change_of_a_figure() -> None:
    """Another metric or statistic under the old id is another figure; a title, a note or an order is not."""
    before = with_value("93.9")
    other = benchmark(results=[plain_result(metric="output_tok_s")])
    assert len(list(figure_changed_in_place(change(before, other)))) == 1
    assert (
        list(
            figure_changed_in_place(change(before, with_value("93.9", title="Another title", notes="More.")))
        )
        == []
    )
    assert list(figure_changed_in_place(change(before, with_value("93.90")))) == []


def test_figures_of_things_are_watched_too() -> None:
    """Every bound is computed from them."""
    plain = BASE["accelerators/base-accelerator"]
    before = Accelerator.model_validate(plain)
    memory = {**plain["memory"], "capacity_gb": {**plain["memory"]["capacity_gb"], "value": 48}}
    after = Accelerator.model_validate({**plain, "memory": memory})
    assert [each.at for each in figure_changed_in_place(change(before, after))] == [
        "/memory/capacity_gb/value"
    ]
    told = Accelerator.model_validate(
        {**plain, "memory": memory, "changes": [{**CHANGE, "fields": ["memory"]}]}
    )
    assert list(figure_changed_in_place(change(before, told))) == []


def test_a_result_that_is_gone() -> None:
    """It stays as withdrawn, or `changes` says where it went."""
    before = benchmark(results=[plain_result(), plain_result(id="second")])
    assert len(list(result_removed(change(before, benchmark(results=[plain_result()]))))) == 1
    told = benchmark(results=[plain_result()], changes=[{**CHANGE, "fields": ["results.second"]}])
    assert list(result_removed(change(before, told))) == []


@pytest.mark.parametrize("status", ["retracted", "superseded"])
def test_a_record_that_stands_again(status: str) -> None:
    """The end of a record is the end."""
    before = benchmark(status=status, status_reason="x")
    assert len(list(record_revived(change(before, benchmark())))) == 1
    assert list(record_revived(change(before, benchmark(status="retracted", status_reason="x")))) == []


def test_a_record_that_was_deleted() -> None:
    """Only a stone may stand in its place; a move to another group is no removal."""
    assert len(list(removed_without_a_stone(change(benchmark(), None)))) == 1
    assert list(removed_without_a_stone(change(benchmark(), None, REF))) == []
    stone = RecordChange(REF, benchmark(), None, Facts(withdrawn={REF: None}))  # type: ignore[dict-item]  # only the key counts
    assert list(removed_without_a_stone(stone)) == []
    plain = BASE["withdrawn/benchmarks/base-withdrawn"]
    assert len(list(removed_without_a_stone(change(Withdrawn.model_validate(plain), None)))) == 1


# --- The change as a whole --------------------------------------------------------------------


def raw(*files: tuple[str, str]) -> bytes:
    """Return `git diff --raw -z` of files by path and new mode."""
    head = ":100644 {} " + "0" * 40 + " " + "0" * 40 + " M"
    return b"".join(f"{head.format(mode)}\0{path}\0".encode() for path, mode in files)


def found(*paths: str, mode: str = "100644", untracked: bytes = b"") -> list[tuple[str, str, str]]:
    """Return code, severity and path of what a change gives."""
    findings = diff_findings(raw(*((path, mode) for path in paths)), untracked)
    return [(each.code, each.severity, each.path) for each in findings]


def test_a_change_of_records_alone() -> None:
    """With its raw files and the line in the changelog."""
    assert found("records/benchmarks/x.yaml", "raw/x/times.jsonl", "CHANGELOG.md") == []


@pytest.mark.parametrize(
    "path",
    [
        ".github/workflows/x.yml", ".gitattributes", ".gitmodules", ".lfsconfig", "mkdocs.yml", "pyproject.toml",
        "conftest.py", "docs/conftest.py", "kbtool/lint/rule.py", "site/theme/main.html", "Makefile", ".ci/run",
    ],
)  # fmt: skip
def test_a_file_that_steers_the_project(path: str) -> None:
    """Beside records it would be overlooked; alone it is a change like any other."""
    assert found("records/benchmarks/x.yaml", path) == [("B101", "error", path)]
    assert found(path) == []
    assert found("records/benchmarks/x.yaml", untracked=path.encode() + b"\0") == [("B101", "error", path)]


def test_another_file_is_a_warning() -> None:
    """It runs nothing, and still belongs to another change."""
    assert found("records/benchmarks/x.yaml", "README.md") == [("B101", "warning", "README.md")]


def test_too_many_files() -> None:
    """One finding with the limit, not one a file."""
    paths = [f"records/benchmarks/x{number}.yaml" for number in range(MOST_FILES + 1)]
    (finding,) = diff_findings(raw(*((path, "100644") for path in paths)))
    assert finding.code == "B102"
    assert str(MOST_FILES) in finding.message
    assert found(*paths[:-1]) == []


def test_a_flood_of_files_beside_records_is_cut() -> None:
    """A few are named, and the number of the others."""
    paths = [f"site/x{number}.md" for number in range(100)]
    findings = list(diff_findings(raw(("records/x.yaml", "100644"), *((path, "100644") for path in paths))))
    assert len(findings) == 20
    assert "80 more" in findings[0].message


@pytest.mark.parametrize("mode", ["120000", "160000"])
def test_links_and_nested_repositories(mode: str) -> None:
    """Wherever they are."""
    assert found("records/benchmarks/x.yaml", mode=mode) == [("B103", "error", "records/benchmarks/x.yaml")]
    assert found("vendor", mode=mode) == [("B103", "error", "vendor")]


def test_an_executable_raw_file() -> None:
    """Data is not run; a script of the project may well be."""
    assert found("raw/x/times.csv", mode="100755") == [("B104", "error", "raw/x/times.csv")]
    assert found("scripts/x.sh", mode="100755") == []


def test_odd_names_are_names() -> None:
    """Line breaks, leading dashes and other encodings come through `-z` as they are."""
    assert found("records/x.yaml", "site/a\nb.md")[0][2] == "site/a\nb.md"
    assert [each.path for each in diff_findings(raw(("records/x.yaml", "100644")), b"site/\xff\0")] == [
        "site/\udcff"
    ]


def test_no_change(tmp_path: Path) -> None:
    """Nothing changed, nothing found."""
    assert list(diff_findings(b"", b"")) == []
    assert not list(tmp_path.iterdir())
