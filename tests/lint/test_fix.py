"""Mechanical repairs: they mend their finding, touch nothing else, and come to an end."""

from pathlib import Path

import pytest

from kbtool.findings import Edit, Finding
from kbtool.lint import check, fix_files, run
from kbtool.lint.fix import compatible_edits
from tests.lint.projects import BENCHMARK, edit, write


def mended(root: Path) -> list[str]:
    """Run the repairs of a project and return the paths that changed."""
    return fix_files(root, run(root, cache=False))


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ("tp: 2", 'tp: "2"'),
        ("os: Debian 12, kernel 6.1", "os: 12.10"),
        ("# yaml-language-server: $schema=../../schema/benchmark.schema.json\n", ""),
        ("../../schema/benchmark.schema.json", "../schema/benchmark.json"),
    ],
)
def test_repair_mends_and_keeps_the_rest(tmp_path: Path, good: str, bad: str) -> None:
    """The finding is gone, a comment and odd spacing are not, and a second run changes nothing."""
    write(tmp_path)
    edit(tmp_path, "  nodes: 1\n", "  # why: one host\n  nodes:   1\n")
    before = (tmp_path / BENCHMARK).read_bytes()
    edit(tmp_path, good, bad)
    assert check(tmp_path) != []
    assert mended(tmp_path) == [BENCHMARK]
    assert check(tmp_path) == []
    after = (tmp_path / BENCHMARK).read_bytes()
    assert (
        after == before.replace(good.encode(), b'os: "12.10"') if good.startswith("os") else after == before
    )
    assert mended(tmp_path) == []


def test_faults_behind_one_another_are_mended(tmp_path: Path) -> None:
    """Line ends of another system hide a wrong type; one call mends both."""
    write(tmp_path)
    before = (tmp_path / BENCHMARK).read_bytes()
    edit(tmp_path, "tp: 2", 'tp: "2"')
    broken = (tmp_path / BENCHMARK).read_bytes().replace(b"\n", b"\r\n").removesuffix(b"\r\n")
    (tmp_path / BENCHMARK).write_bytes(broken)
    mended(tmp_path)
    assert (tmp_path / BENCHMARK).read_bytes() == before


def test_what_a_person_must_decide_stays(tmp_path: Path) -> None:
    """A misspelt word is suggested and not replaced; the file is not written."""
    write(tmp_path)
    edit(tmp_path, "statistic: mean", "statistic: meen")
    before = (tmp_path / BENCHMARK).read_bytes()
    assert mended(tmp_path) == []
    assert (tmp_path / BENCHMARK).read_bytes() == before
    assert [finding.suggestion for finding in check(tmp_path)] == ["mean"]


def finding(*edits: Edit) -> Finding:
    """Return a finding with edits."""
    return Finding("p", 1, 1, "T001", "name", "error", "message", edits=edits)


def test_of_two_edits_at_one_place_the_first_is_made() -> None:
    """The other waits for the next round, when it may be mended already."""
    first, second, apart = finding(Edit(1, 4, "a")), finding(Edit(3, 6, "b")), finding(Edit(9, 9, "c"))
    assert compatible_edits([first, second, apart]) == [Edit(1, 4, "a"), Edit(9, 9, "c")]
    assert compatible_edits([first, first]) == [Edit(1, 4, "a")]
