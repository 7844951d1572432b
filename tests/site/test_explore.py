"""The explorer's files hold the table exactly; its pages are there without scripts."""

import json
import re
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from kbtool.analysis.rows import COLUMNS, Cell, Row
from kbtool.analysis.sweeps import AXES
from kbtool.site.explore.describe import (
    ADDED,
    COLOURS,
    FACETS,
    MEASURES,
    NUMBERS,
    OF_METRIC,
    PARTS,
    SEARCHED,
    SHOWN,
    TITLES,
    UNGROUPED,
    metric_order,
)
from kbtool.site.explore.pack import PackedColumn, pack
from kbtool.site.explore.plain import metric_page, metric_rows, plain_plans, plain_view
from kbtool.vocab import METRICS
from tests.site.samples import Page, the_build
from tests.support.columns import Explorer, unpack

ROOT = Path(__file__).resolve().parents[2]


def packed(cells: list[Cell], *, coded: bool = False) -> list[object]:
    """Return a column as it comes back."""
    _, columns = unpack(pack([PackedColumn("x", cells, coded=coded)], {}))
    return list(columns["x"])


def kind_of(cells: list[Cell]) -> str:
    """Return how a column is stored."""
    header, _ = unpack(pack([PackedColumn("x", cells)], {}))
    return str(header["columns"][0]["kind"])


# --- The layout ----------------------------------------------------------------------------------


def test_texts_and_nulls_come_back() -> None:
    """Null is no text, and the empty text is one."""
    assert packed(["b", None, "", "a", "b"]) == ["b", None, "", "a", "b"]
    assert packed([None, None]) == [None, None]
    assert packed([]) == []


def test_days_are_texts_in_their_order() -> None:
    """A day is written year first, so that the order of texts is that of days."""
    assert packed([date(2026, 1, 2), None]) == ["2026-01-02", None]


@pytest.mark.parametrize("many", [False, True])
def test_numbers_keep_their_digits(many: bool) -> None:
    """`93.90` stays `93.90`, whether a column has few distinct numbers or many."""
    cells: list[Cell] = [
        Decimal("93.90"),
        Decimal("93.9"),
        None,
        0,
        6853,
        Decimal("-0.25"),
        123_456_789_012_345,
        Decimal("0.000000001"),
    ]
    padding: list[Cell] = [Decimal(number) / 8 for number in range(1000)] if many else []
    assert kind_of(cells + padding) == ("digits" if many else "number")
    found = packed(cells + padding)
    assert [str(each) if each is not None else None for each in found[: len(cells)]] == [
        "93.90", "93.9", None, "0", "6853", "-0.25", "123456789012345", "1E-9",
    ]  # fmt: skip
    assert found[len(cells) :] == padding


def test_a_facet_is_coded_however_many_numbers_it_has() -> None:
    """What is filtered by needs a code for each value: two bytes a row where one is not enough."""
    cells: list[Cell] = list(range(70_000))
    assert packed(cells, coded=True) == cells


def test_words_of_numbers_are_sorted_by_value() -> None:
    """9 stands before 10, as a reader expects of a list of choices."""
    header, _ = unpack(pack([PackedColumn("x", [10, 9, Decimal("9.5"), 9])], {}))
    assert header["columns"][0]["words"] == ["9", "9.5", "10"]


def test_equal_columns_give_equal_bytes() -> None:
    """Nothing of the clock or of hashes is in a file."""
    columns = [PackedColumn("x", ["b", "a", None], {"a": "A"}), PackedColumn("y", [1, Decimal("2.50"), None])]
    assert pack(columns, {"build": "1"}) == pack(columns, {"build": "1"})


# --- What is said of the columns -----------------------------------------------------------------


def test_every_column_is_in_one_part_or_follows_from_another() -> None:
    """Nothing that the table holds is missing from what can be downloaded."""
    stored = [name for columns in PARTS.values() for name in columns]
    assert len(stored) == len(set(stored))
    assert set(stored) | set(OF_METRIC) | {"title"} == {*COLUMNS["benchmark"], *ADDED}


def test_every_column_has_a_title() -> None:
    """What a reader sees of a column is written down, and of no other."""
    assert set(TITLES) == set(COLUMNS["benchmark"])


def test_columns_with_a_role_are_columns() -> None:
    """Facets, axes, colours and the rest name what there is; what the first chart needs is in the first file."""
    for names in (FACETS, COLOURS, NUMBERS, SHOWN, SEARCHED, AXES, UNGROUPED):
        assert set(names) <= set(COLUMNS["benchmark"])
    assert set(MEASURES) <= {*COLUMNS["benchmark"], *ADDED}
    for names in (FACETS, COLOURS, NUMBERS, AXES):
        assert set(names) <= set(PARTS["main"]) | set(OF_METRIC)


def test_metrics_that_compare_freely_come_first() -> None:
    """A closed class comes by the hundred, and would hide what may be compared."""
    metrics = ["a", "a", "a", "b", "b", "c"]
    closed = "mlperf-inference-v5.1/x/closed/datacenter/offline"
    assert metric_order(metrics, [closed, closed, closed, None, None, None]) == [("b", 2), ("c", 1), ("a", 3)]


# --- The built site ------------------------------------------------------------------------------


def test_files_hold_the_table(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each cell of the sample records is in the files, digit for digit, and titles stand for references."""
    the_build(project, monkeypatch)
    explorer = Explorer(project / "out")
    folder = project / "out/data/records/benchmarks"
    records = sorted(folder.glob("*.json"), key=lambda path: path.stem)
    results = [
        result
        for path in records
        for result in json.loads(path.read_text("utf-8"), parse_float=Decimal)["record"]["results"]
    ]
    assert explorer.rows == len(results) > 5
    for name in ("metric", "as_published"):
        assert list(explorer.columns[name]) == [result[name] for result in results]
    assert [str(each) for each in explorer.columns["value"]] == [str(result["value"]) for result in results]
    assert explorer.labels["accelerator"]["accelerators/acme-a1"] != "accelerators/acme-a1"


def test_page_of_a_result_is_where_it_stands(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Page and anchor that the script puts together from the columns are on the site."""
    the_build(project, monkeypatch)
    columns = Explorer(project / "out").columns
    for ref, page, result in zip(columns["ref"], columns["page"], columns["result"], strict=True):
        part = "" if page == 1 else f".results-{page}"
        html = (project / "out" / f"{ref}{part}.html").read_text("utf-8")
        assert f'id="{result}"' in html


def test_results_are_there_without_scripts(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page lists the metrics; behind each stands every result, linked to its place."""
    the_build(project, monkeypatch)
    page = Page((project / "out/explore.html").read_text("utf-8"))
    links = [href for href in page.hrefs if href.startswith("./explore/")]
    explorer = Explorer(project / "out")
    assert len(links) == len(set(explorer.columns["metric"]))
    places = [
        href
        for link in links
        for href in Page((project / "out" / link).read_text("utf-8")).hrefs
        if "#" in href
    ]
    assert len(places) == explorer.rows


def test_the_files_say_of_which_day_they_are(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A chart that is taken along names the newest day of the records."""
    the_build(project, monkeypatch)
    explorer = Explorer(project / "out")
    assert explorer.header["day"] == max(str(each) for each in explorer.columns["updated"] if each)


def test_a_changed_title_of_another_record_reaches_the_files(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Titles of accelerators stand in the files, and are no part of any result."""
    the_build(project, monkeypatch)
    record = project / "records/accelerators/acme-a1.yaml"
    text = record.read_text("utf-8")
    record.write_text(re.sub(r"(?m)^title: .*$", "title: Renamed", text), "utf-8")
    the_build(project, monkeypatch)
    assert Explorer(project / "out").labels["accelerator"]["accelerators/acme-a1"] == "Renamed"


def test_two_builds_give_equal_files(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Same records, same bytes."""
    the_build(project, monkeypatch)
    the_build(project, monkeypatch, out="again")
    for path in (project / "out/data/explore").iterdir():
        assert path.read_bytes() == (project / "again/data/explore" / path.name).read_bytes()


# --- Plain tables --------------------------------------------------------------------------------


def result(number: int, **cells: Cell) -> Row:
    """Return a row with little in it."""
    known: dict[str, Cell] = dict.fromkeys(COLUMNS["benchmark"])
    known |= {
        "ref": "benchmarks/a",
        "metric": "output_tok_s",
        "value": number,
        "status": "draft",
        "standing": "stands",
    }
    return Row("benchmarks/a", f"r{number}", known | cells)


def test_long_lists_spread_over_pages() -> None:
    """A page holds a hundred results."""
    plans = list(plain_plans([result(number) for number in range(250)]))
    assert [plan.path for plan in plans] == [f"explore/output-tok-s{part}.html" for part in ("", ".2", ".3")]
    assert [len(plan.rows) for plan in plans] == [100, 100, 50]
    assert len(plain_view(plans[0], lambda _: None).rows) == 100


def test_closed_classes_come_last_with_their_line() -> None:
    """MLPerf figures stand behind the others, and the line of the trademark below them."""
    closed = "mlperf-inference-v5.1/x/closed/datacenter/offline"
    (plan,) = plain_plans([result(1, comparison_class=closed), result(2)])
    assert [row.anchor for row in plan.rows] == ["r2", "r1"]
    assert "MLPerf" in plain_view(plan, lambda _: None).lines_below[0]
    (free,) = plain_plans([result(2)])
    assert plain_view(free, lambda _: None).lines_below == ()


def test_what_no_longer_stands_is_listed_and_counted_apart() -> None:
    """The plain page counts as the explorer does, and says how many more it lists."""
    rows = [result(1), result(2, standing="withdrawn"), result(3, status="superseded"), result(4)]
    (plan,) = plain_plans(rows)
    view = plain_view(plan, lambda _: None)
    assert view.count_text == "2 results, and 2 withdrawn, retracted or superseded"
    assert len(view.rows) == 4
    assert [row.results for row in metric_rows(rows)] == [2]
    (whole,) = plain_plans([result(1)])
    assert plain_view(whole, lambda _: None).count_text == "1 result"


def test_pages_of_metrics_never_meet() -> None:
    """Each metric has an address of its own, and one that nobody knows an escaped one."""
    paths = [metric_page(metric) for metric in METRICS]
    assert len(paths) == len(set(paths))
    assert metric_page("../x") == "explore/other-_2e_2e_2fx.html"
    assert metric_rows([result(1)])[0].path == "explore/output-tok-s.html"
