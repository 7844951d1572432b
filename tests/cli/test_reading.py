"""`show`, `find`, `explain` and `why`: what a reader in a terminal gets."""

import csv
import io
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "cli"
BENCHMARK = "benchmarks/base-benchmark"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("show", ["show", "base-benchmark"]),
        ("show-source", ["show", "sources/base-source"]),
        ("find", ["find", "base", "-w", "concurrency>=1"]),
        ("find-accelerators", ["find", "--kind", "accelerator"]),
        ("explain-rule", ["explain", "T001"]),
        ("explain-metric", ["explain", "tpot_ms"]),
        ("explain-term", ["explain", "cold"]),
        ("explain-field", ["explain", "engine.version"]),
        ("why", ["why", "base-benchmark"]),
    ],
)
@pytest.mark.usefixtures("project")
def test_output_is_as_reviewed(kbtool: Run, name: str, arguments: list[str], *, update_golden: bool) -> None:
    """What each reading verb prints for the base records is what was reviewed."""
    done = kbtool(*arguments)
    golden = GOLDEN / f"{name}.txt"
    if update_golden:
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(done.out, encoding="utf-8")
    assert done.code == 0
    assert done.out == golden.read_text(encoding="utf-8")


@pytest.mark.usefixtures("project")
def test_show_yaml_is_the_file(kbtool: Run, project: Path) -> None:
    """`show --format yaml` prints the record's own bytes."""
    done = kbtool("show", BENCHMARK, "--format", "yaml")
    assert done.out == (project / "records" / f"{BENCHMARK}.yaml").read_text(encoding="utf-8")


@pytest.mark.usefixtures("project")
def test_show_json_is_strict_json(kbtool: Run) -> None:
    """`show --format json` is JSON that holds the record's id."""
    record = json.loads(kbtool("show", BENCHMARK, "--format", "json").out, parse_constant=pytest.fail)
    assert record["id"] == "base-benchmark"


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("name", ["base-benchmrk", "benchmarks/base-benchmrk"])
def test_unknown_record_suggests_the_nearest(kbtool: Run, name: str) -> None:
    """A misspelt id is answered with the id that was meant."""
    done = kbtool("show", name)
    assert done.code == 1
    assert "did you mean `benchmarks/base-benchmark`?" in done.err
    assert done.out == ""


@pytest.mark.usefixtures("project")
def test_pasted_path_is_understood(kbtool: Run) -> None:
    """A path or a page address pasted in place of an id works."""
    for name in (f"records/{BENCHMARK}.yaml", f"{BENCHMARK}.html"):
        assert kbtool("show", name).code == 0


def test_broken_record_says_what_is_wrong(kbtool: Run, project: Path) -> None:
    """Asking for a broken record gives its fault with file and line, not "no such record"."""
    (project / "records" / f"{BENCHMARK}.yaml").write_text("id: [\n", encoding="utf-8")
    done = kbtool("show", "base-benchmark")
    assert done.code == 1
    assert f"records/{BENCHMARK}.yaml:" in done.err


@pytest.mark.usefixtures("project")
def test_find_gives_every_column_as_json_and_csv(kbtool: Run) -> None:
    """JSON and CSV hold the same rows with the same columns."""
    rows = json.loads(kbtool("find", "--format", "json").out)
    table = list(csv.DictReader(io.StringIO(kbtool("find", "--format", "csv").out)))
    assert [row["result"] for row in rows] == [row["result"] for row in table]
    assert list(rows[0]) == list(table[0])


@pytest.mark.usefixtures("project")
def test_find_without_a_match_fails(kbtool: Run) -> None:
    """No row is exit code 1, so that a script can tell."""
    done = kbtool("find", "no-such-word-anywhere")
    assert (done.code, done.err) == (1, "kbtool: no row matches\n")


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["find", "-w", "valeu>1"], "did you mean `value`?"),
        (["find", "-w", "price>1"], "columns are"),
        (["find", "-w", "value>nan"], "is not a number"),
        (["find", "-w", "value"], "is not of the form COLUMN OP VALUE"),
        (["find", "-w", "value>fast"], "is not a number"),
        (["find", "--sort", "-nothing"], "there is no column 'nothing'"),
        (["explain", "TPOT-ms"], "did you mean `tpot_ms`?"),
        (["find", "--root", "elsewhere"], "has no folder `records`"),
        (["lint", "records/nothing.yaml"], "does not exist"),
        (["lint", "--as-of", "yesterday"], "is not a day such as"),
        (["lint", "--as-of", "20261004"], "is not a day such as"),
        (["lint", "--select", "t001"], "did you mean `T001`?"),
        (["lint", "--ignore", "nothing-of-the-kind"], "is the beginning of no rule's code or name"),
        (["fmt", "records/nothing.yaml"], "does not exist"),
        (["fmt", ".."], "is not under"),
    ],
)
def test_wrong_usage_is_explained(kbtool: Run, arguments: list[str], says: str) -> None:
    """Wrong usage ends with exit code 2 and a message that says what is right."""
    done = kbtool(*arguments)
    assert done.code == 2
    assert says in done.err
    assert "Traceback" not in done.err


@pytest.mark.usefixtures("project")
def test_any_field_is_explained_by_its_name(kbtool: Run) -> None:
    """Not disclosure fields alone: where it stands, what it holds, and the words that it may hold."""
    done = kbtool("explain", "form")
    assert done.code == 0
    assert "field: accelerator" in done.out
    assert "pcie_card" in done.out
    assert kbtool("explain", "system.host_sockets").code == 0


@pytest.mark.usefixtures("project")
def test_find_takes_the_id_that_its_table_shows(kbtool: Run) -> None:
    """A bare id filters as the whole reference does."""
    shown = kbtool("find", "-w", "engine=base-engine").out
    assert "base-engine" in shown
    assert shown == kbtool("find", "-w", "engine=engines/base-engine").out
    assert kbtool("find", "-w", "engine!=base-engine").code == 1
