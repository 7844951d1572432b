"""`kbtool stats`: figures about the data, by group, and the days that are kept of them."""

import csv
import io
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run

HISTORY = Path("site/data/quality-history.csv")


@pytest.mark.usefixtures("project")
def test_a_row_of_all_and_a_row_a_group(kbtool: Run) -> None:
    """The first row is the whole, the rest are its parts."""
    rows = json.loads(kbtool("stats", "--format", "json").out)
    assert rows[0]["publisher"] == "all"
    assert sum(row["results"] for row in rows[1:]) == rows[0]["results"]
    assert sum(row["quote"]["have"] for row in rows[1:]) == rows[0]["quote"]["have"]


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("by", ["publisher", "collection", "measured-by", "accelerator", "engine"])
def test_forms_hold_the_same_figures(kbtool: Run, by: str) -> None:
    """Table, CSV and JSON agree, for each grouping."""
    plain = json.loads(kbtool("stats", "--by", by, "--format", "json").out)
    rows = list(csv.DictReader(io.StringIO(kbtool("stats", "--by", by, "--format", "csv").out)))
    assert [(row[by], int(row["results"]), int(row["load"]), int(row["load_of"])) for row in rows] == [
        (row[by], row["results"], row["load"]["have"], row["load"]["of"]) for row in plain
    ]
    table = kbtool("stats", "--by", by).out.splitlines()
    assert len(table) == len(plain) + 1


def test_a_record_in_a_folder_is_of_that_collection(kbtool: Run, project: Path) -> None:
    """What an importer wrote stands in a folder of its own; the rest is curated."""
    records = project / "records" / "benchmarks"
    (records / "some-set").mkdir()
    text = (records / "base-benchmark.yaml").read_text(encoding="utf-8").replace("../../", "../../../", 1)
    (records / "some-set" / "imported.yaml").write_text(
        text.replace("id: base-benchmark", "id: imported", 1), encoding="utf-8"
    )
    rows = json.loads(kbtool("stats", "--by", "collection", "--format", "json").out)
    assert {row["collection"]: row["records"] for row in rows}["some-set"] == 1


def test_what_was_withdrawn_does_not_count(kbtool: Run, project: Path) -> None:
    """A retracted record leaves the figures."""
    before = json.loads(kbtool("stats", "--format", "json").out)[0]["records"]
    path = project / "records" / "benchmarks" / "base-benchmark.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(
        text.replace("status: draft", "status: retracted\nstatus_reason: Wrong."), encoding="utf-8"
    )
    rows = json.loads(kbtool("stats", "--format", "json").out)
    assert (rows[0]["records"] if rows else 0) == before - 1


@pytest.mark.usefixtures("project")
def test_days_are_kept_and_replaced(kbtool: Run) -> None:
    """`--save` keeps the figures under the day, once."""
    for day in ("2026-11-30", "2026-11-29", "2026-11-30"):
        done = kbtool("stats", "--save", day)
        assert (done.code, day in done.err) == (0, True)
    rows = list(csv.DictReader(io.StringIO(HISTORY.read_text(encoding="utf-8"))))
    assert list(dict.fromkeys(row["day"] for row in rows)) == ["2026-11-29", "2026-11-30"]
    assert {row["set"] for row in rows} == {"all", "curated"}
    assert len(rows) == len({(row["day"], row["set"], row["measure"]) for row in rows})


@pytest.mark.usefixtures("project")
def test_a_day_that_is_none_is_refused(kbtool: Run) -> None:
    """Nothing is written under a day that does not exist."""
    done = kbtool("stats", "--save", "2026-02-30")
    assert done.code == 2
    assert "--save '2026-02-30' is not a day" in done.err
    assert not HISTORY.exists()


@pytest.mark.usefixtures("project")
def test_a_spoilt_history_is_not_overwritten(kbtool: Run) -> None:
    """A file that cannot be read stays as it is, and the complaint says where."""
    HISTORY.parent.mkdir(parents=True)
    HISTORY.write_text("something else\n", encoding="utf-8")
    done = kbtool("stats", "--save", "2026-11-30")
    assert done.code == 1
    assert "site/data/quality-history.csv:1: the columns are something else" in done.err
    assert HISTORY.read_text(encoding="utf-8") == "something else\n"


def test_broken_records_are_said(kbtool: Run, project: Path) -> None:
    """Figures over a part of the records never pass for figures over all of them."""
    (project / "records" / "benchmarks" / "base-benchmark.yaml").write_text("nonsense\n", encoding="utf-8")
    assert "keep files from being counted" in kbtool("stats").err
