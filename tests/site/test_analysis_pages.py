"""What the analysis says, on the pages of records and on the pages over all of them."""

import json
import shutil
from pathlib import Path
from typing import Any, Final

import pytest

from kbtool.store import load
from kbtool.vocab.disclosure import DISCLOSURE_FIELDS
from tests.site.samples import CORPUS, Page, text_of, the_build

BASE: Final = "benchmarks/ev-fastserve-demo-8xa1-p2p"
HOURLY: Final = {
    "amount": 3.2, "currency": "USD", "per": "hour", "accelerators": 2, "basis": "cloud_on_demand", "seen": "2026-09-01",
    "as_published": "$3.20/hr", "evidence": [{"source": "sources/field-report", "locator": "section Cost"}],
}  # fmt: skip
SCRIPT: Final = "<script>alert(1)</script>"


def plain(ref: str) -> dict[str, Any]:
    """Return a sample record as plain data."""
    found = load(CORPUS).loaded(ref).value
    assert isinstance(found, dict)
    copied: dict[str, Any] = json.loads(json.dumps(found, default=str))
    return copied


def write(project: Path, ref: str, record: dict[str, Any]) -> None:
    """Put a record into a project."""
    (project / "records" / f"{ref}.yaml").write_text(json.dumps(record) + "\n", encoding="utf-8")


def another(project: Path, name: str, values: dict[str, str], *, group: str = "", **over: Any) -> str:
    """Write a benchmark like the sweep of the samples, with other figures and from another source."""
    record = plain(BASE)
    record |= {"id": name, "title": f"Another report: {name}", "links": [], **over}
    results = {each["id"]: each for each in record["results"]}
    record["results"] = [
        {**results[result], "value": value, "as_published": value, "statistic": None}
        for result, value in values.items()
    ]
    for each in record["results"]:
        each.pop("statistic")
    record["headline"] = next(iter(values))
    if group:
        record["sources"] = [{**record["sources"][0], "group": group}]
    write(project, f"benchmarks/{name}", record)
    return f"benchmarks/{name}"


def built(project: Path, monkeypatch: pytest.MonkeyPatch, *pages: str) -> list[str]:
    """Build and return the HTML of some pages."""
    report = the_build(project, monkeypatch)
    assert report.findings == ()
    return [(project / "out" / page).read_text(encoding="utf-8") for page in pages]


def section(html: str, anchor: str) -> str:
    """Return one section of a page; empty where there is none."""
    _, found, rest = html.partition(f'<section class="kb-section" id="{anchor}">')
    return found + rest.partition("</section>")[0]


# --- Pages of records ----------------------------------------------------------------------------


def test_the_headline_is_held_against_its_limits(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each bound has its share, its formula and its inputs, linked to their records; or says why it was not checked."""
    one, other = built(project, monkeypatch, f"{BASE}.html", "benchmarks/ev-fastserve-demo-8xa1.html")
    text = text_of(section(one, "Limits"))
    assert "Memory bandwidth" in text
    assert "of a hard bound: 946.6 of" in text
    assert "users x tokens a step x accelerators x bandwidth / bytes read a step" in text
    assert "../accelerators/acme-a1.html" in section(one, "Limits")
    assert "../models/demo-moe.html" in section(one, "Limits")
    assert "not checked because" in text_of(section(other, "Limits"))


def test_comparable_results_have_ratio_place_and_reservations(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The headline against one result of each other record, and its place among them."""
    fast = another(project, "ev-fast", {"c32": "1893.2"}, group="elsewhere")
    another(project, "ev-slow", {"c32": "100", "c8": "99"}, group="third")
    html = built(project, monkeypatch, f"{fast}.html")[0]
    found = section(html, "Comparable")
    text = text_of(found)
    assert "The headline is 1st of 3." in text
    assert "All others with reservations" in text
    assert "18.932" in text
    assert "../compare.html?ids=benchmarks/ev-fast%23c32,benchmarks/ev-slow%23c32" in found
    assert text.count("Another report: ev-slow") == 1


def test_what_is_refused_is_not_listed(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another prompt class, a closed class, and a record of the same run are no peers."""
    mine = another(project, "ev-mine", {"c32": "500"}, group="a")
    run = [{"relation": "same_run_as", "target": mine}]
    another(
        project,
        "ev-closed",
        {"c32": "400"},
        group="b",
        comparison_class="mlperf-inference-v6.1/x/closed/offline",
    )
    another(project, "ev-same", {"c32": "400"}, group="c", links=run)
    another(project, "ev-gone-too", {"c32": "400"}, group="d", status="retracted", status_reason="Wrong.")
    html = built(project, monkeypatch, f"{mine}.html")[0]
    assert "Another report" not in section(html, "Comparable")


def test_a_closed_class_has_its_line_below(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results of MLPerf stand beside results of their class alone, and the line of the trademark below the list."""
    closed = {"comparison_class": "mlperf-inference-v6.1/x/closed/offline"}
    one = another(project, "ev-one", {"c32": "500"}, group="a", **closed)
    another(project, "ev-two", {"c32": "400"}, group="b", **closed)
    text = text_of(section(built(project, monkeypatch, f"{one}.html")[0], "Comparable"))
    assert "Another report: ev-two" in text
    assert "trademarks of MLCommons" in text


def test_a_page_with_little_room_lists_fewer(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long page has two comparable results in a sentence, and bounds without their inputs."""
    names = [another(project, f"ev-other-{letter}", {"c32": "500"}, group=letter) for letter in "abcd"]
    monkeypatch.setattr("kbtool.site.record_pages._MOST_CHARACTERS", 100)
    html = built(project, monkeypatch, f"{names[0]}.html")[0]
    found = section(html, "Comparable")
    assert found.count("compare.html?ids=") == 2
    assert "<table" not in found
    assert "1.000 times the 500 tok/s of Another report" in text_of(found)
    assert "accelerators/acme-a1.html" not in section(html, "Limits")


def test_conflicts_stand_on_both_pages(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two values of one load, with what may explain them; the same on the page of all conflicts."""
    other = another(
        project,
        "ev-other",
        {"c8": "500"},
        group="elsewhere",
        engine={"engine": "engines/fastserve", "version": "0.11"},
    )
    own, theirs, everything = built(project, monkeypatch, f"{BASE}.html", f"{other}.html", "conflicts.html")
    for html in (section(own, "Conflicts"), section(theirs, "Conflicts"), section(everything, "Explained")):
        text = text_of(html)
        assert "112 % apart" in text
        assert "May be explained by: engine version 0.11 against 0.10." in text


def test_a_page_without_company_has_no_empty_sections(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing comparable, nothing in conflict: nothing is said."""
    html = built(project, monkeypatch, "benchmarks/ev-fastserve-demo-8xa1.html")[0]
    assert 'id="Comparable"' not in html
    assert 'id="Conflicts"' not in html


# --- Pages over all results ----------------------------------------------------------------------


def test_costs_show_every_step(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """$3.20 an hour for two cards, eight of them, at 236.4 tok/s: 12.80 / 0.85104 million is $15.04."""
    accelerator = plain("accelerators/acme-a1")
    write(project, "accelerators/acme-a1", {**accelerator, "prices": [*accelerator["prices"], HOURLY]})
    text = text_of(built(project, monkeypatch, "cost.html")[0])
    assert "3.2 USD / 2 x 8 accelerators / (236.4 tok/s x 3,600 s) x 1,000,000 = 15.04 USD" in text
    assert "cloud on demand, seen 2026-09-01" in text
    assert "3.2 USD an hour for 2 accelerators" in text


def test_a_price_without_its_number_of_cards_is_not_used(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page says which price is not used, and of how many throughputs."""
    accelerator = plain("accelerators/acme-a1")
    unknown = {key: value for key, value in HOURLY.items() if key != "accelerators"}
    write(project, "accelerators/acme-a1", {**accelerator, "prices": [unknown]})
    text = text_of(built(project, monkeypatch, "cost.html")[0])
    assert "No throughput can be priced yet" in text
    assert "the price by the hour does not say how many accelerators it pays for" in text


def test_limits_rank_by_share_and_leave_closed_classes_out(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One result a record, the nearest first; results of a closed class are counted and not listed."""
    another(
        project,
        "ev-closed",
        {"c32": "99999"},
        group="b",
        comparison_class="mlperf-inference-v6.1/x/closed/offline",
    )
    another(project, "ev-near", {"c1": "60"}, group="c")
    text = text_of(built(project, monkeypatch, "limits.html")[0])
    assert "Another report: ev-near" in text
    assert "ev-closed" not in text
    assert "1 result of closed classes" in text
    assert "Dense and sparse peaks are never mixed" in text


def test_coverage_lists_what_to_measure_next(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that was never run on an accelerator that others were run on is an empty cell."""
    engine = plain("engines/fastserve")
    write(project, "engines/slowserve", {**engine, "id": "slowserve", "title": "SlowServe"})
    accelerator = plain("accelerators/acme-a1")
    write(project, "accelerators/acme-b2", {**accelerator, "id": "acme-b2", "title": "Acme B2"})
    another(
        project, "ev-elsewhere", {"c8": "90"}, group="z", engine={"engine": "engines/slowserve"},
        system={"accelerator": "accelerators/acme-b2", "accelerator_count": 8},
    )  # fmt: skip
    text = text_of(built(project, monkeypatch, "coverage.html")[0])
    assert "Acme B2 with FastServe" in text
    assert "SlowServe" in text


def test_gaps_are_by_field_and_publisher(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The field that is left out most stands first, and a field that all give last."""
    html = section(built(project, monkeypatch, "gaps.html")[0], "Fields")
    paths = [path for path in Page(html).texts if path in {each.path for each in DISCLOSURE_FIELDS}]
    assert len(paths) == len(DISCLOSURE_FIELDS)
    assert paths.index("model.revision") < paths.index("system.accelerator")
    assert "Example Fleet" in text_of(html)
    assert "100 %" in html.rpartition("<tr>")[2]


def test_the_page_of_comparisons_works_without_scripts(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It explains, and lists the pairs that disagree, each with its verdict in the words of `kbtool compare`."""
    another(project, "ev-other", {"c8": "500"}, group="elsewhere")
    text = text_of(built(project, monkeypatch, "compare.html")[0])
    assert "Comparable: the first is 2.115 times the second, with reservations:" in text


def test_the_rules_for_the_browser_are_published(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words and tables, and with each record what a comparison looks at."""
    rules, record = built(project, monkeypatch, "data/comparison-rules.json", f"data/records/{BASE}.json")
    assert json.loads(rules)["length_slack_percent"] == 5
    comparison = json.loads(record)["comparison"]
    assert len(comparison["each"]) == 5
    assert comparison["all"]["model"] == "models/demo-moe"


# --- Safety and exactness ------------------------------------------------------------------------


def test_texts_of_records_stay_texts(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A title or a version that is markup is shown as it stands, on every one of these pages."""
    another(project, "ev-other", {"c8": "500"}, group="elsewhere", title=SCRIPT)
    pages = (
        "compare.html",
        "limits.html",
        "coverage.html",
        "conflicts.html",
        "gaps.html",
        "cost.html",
        f"{BASE}.html",
    )
    for html in built(project, monkeypatch, *pages):
        assert SCRIPT not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in (project / "out" / "conflicts.html").read_text("utf-8")


@pytest.mark.parametrize("what", ["figure", "accelerator", "removal"])
def test_a_build_after_a_change_equals_a_first_build(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """What a page says of other records follows them: a peer's figure, an input of a bound, a record that goes."""
    other = another(project, "ev-other", {"c32": "500", "c8": "500"}, group="elsewhere")
    the_build(project, monkeypatch)
    if what == "figure":
        another(project, "ev-other", {"c32": "900", "c8": "240"}, group="elsewhere")
    elif what == "accelerator":
        accelerator = plain("accelerators/acme-a1")
        accelerator["compute"][0]["tflops"]["value"] = 500
        write(project, "accelerators/acme-a1", accelerator)
    else:
        (project / "records" / f"{other}.yaml").unlink()
    the_build(project, monkeypatch)
    fresh = tmp_path / "fresh"
    shutil.copytree(project / "records", fresh / "records")
    the_build(fresh, monkeypatch)
    files = {
        path.relative_to(fresh / "out"): path.read_bytes()
        for path in (fresh / "out").rglob("*")
        if path.is_file()
    }
    assert {
        path.relative_to(project / "out"): path.read_bytes()
        for path in (project / "out").rglob("*")
        if path.is_file()
    } == files
