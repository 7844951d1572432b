"""What the analysis says, on the pages of records and on the pages over all of them."""

import csv
import gzip
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


def section_of(html: str, anchor: str) -> str:
    """Return one section of a page, whatever its class."""
    return html.partition(f'id="{anchor}"')[2].partition("</section>")[0]


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


def priced(project: Path, *prices: dict[str, Any]) -> None:
    """Give the accelerator of the samples prices by the hour."""
    accelerator = plain("accelerators/acme-a1")
    write(project, "accelerators/acme-a1", {**accelerator, "prices": [*accelerator["prices"], *prices]})


def test_costs_show_every_step(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """$3.20 an hour for two cards, eight of them, at 236.4 tok/s: 12.80 / 0.85104 million is $15.04."""
    priced(project, HOURLY)
    first, of_model = built(project, monkeypatch, "cost.html", "cost/demo-moe.html")
    text = text_of(of_model)
    assert "3.2 USD / 2 x 8 accelerators / (236.4 tok/s x 3,600 s) x 1,000,000 = 15.04 USD" in text
    assert "3.2 USD an hour for 2 accelerators" in text
    assert "cloud on demand, seen 2026-09-01" in text
    assert "3.2 USD an hour for 2 accelerators" in text_of(first)


def test_search_knows_the_answers_and_those_of_each_model(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cost and coverage of a model are found by its name, and a model without a price has no page of costs to be found."""

    def found() -> dict[str, str]:
        the_build(project, monkeypatch)
        columns = json.loads(gzip.decompress((project / "out" / "search/quick.json.gz").read_bytes()))
        return dict(zip(columns["url"], columns["title"], strict=True))

    without = found()
    assert without["cost.html"] == "Cost"
    assert without["explore.html"] == "Explore"
    assert "cost/demo-moe.html" not in without
    priced(project, HOURLY)
    with_a_price = found()
    assert with_a_price["cost/demo-moe.html"] == "Cost of Demo-MoE-Flash"
    assert with_a_price["coverage/demo-moe.html"] == "Coverage of Demo-MoE-Flash"


def test_costs_are_asked_by_model_and_accelerator(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first page leads to both without scripts, and its rows can be filtered by either with them."""
    priced(project, HOURLY)
    first, of_model = built(project, monkeypatch, "cost.html", "cost/demo-moe.html")
    assert '<a href="cost/demo-moe.html">Demo-MoE-Flash</a>' in section_of(first, "Models")
    row = first.partition("<tbody>")[2].partition("</tr>")[0]
    assert 'data-f-model="demo-moe" data-f-accelerator="acme-a1"' in row
    assert '<a href="cost/demo-moe.html#A-acme-a1">' in row
    assert 'id="A-acme-a1"' in of_model
    assert "../explore.html#metric=output_tok_s&amp;model=demo-moe&amp;accelerator=acme-a1" in of_model


def test_prices_of_a_result_stand_on_its_line(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many prices were seen, a result is one line: one column a price, the lowest first."""
    dear = {**HOURLY, "amount": 6.4, "as_published": "$6.40/hr", "basis": "cloud_reserved"}
    priced(project, dear, HOURLY)
    table = (
        built(project, monkeypatch, "cost/demo-moe.html")[0].partition("<table")[2].partition("</table>")[0]
    )
    lines = [line for line in table.splitlines() if ">c8<" in line]
    assert len(lines) == 1
    assert lines[0].index(">15.04 USD<") < lines[0].index(">30.08 USD<")


def test_a_load_is_told_with_its_unit(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The unit stands behind the number, not behind the name."""
    priced(project, HOURLY)
    record = plain(BASE)
    record["results"][0]["at"] |= {"request_rate_req_s": "2.5", "concurrency": None}
    record["results"][0]["at"].pop("concurrency")
    write(project, BASE, record)
    assert "request rate 2.5 req/s" in text_of(built(project, monkeypatch, "cost/demo-moe.html")[0])


def test_who_asks_for_what_has_no_cost_finds_that(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model without a price, and an accelerator with one and without results, have a row each."""
    accelerator = plain("accelerators/acme-a1")
    write(
        project,
        "accelerators/acme-b2",
        {**accelerator, "id": "acme-b2", "title": "Acme B2", "prices": [HOURLY]},
    )
    rows = built(project, monkeypatch, "cost.html")[0].partition("<tbody>")[2].partition("</tbody>")[0]
    assert '<tr class="kb-gap" data-f-model="demo-moe">' in rows
    assert '<tr class="kb-gap" data-f-accelerator="acme-b2">' in rows
    assert text_of(rows).count("no result with a cost") == 2


def test_the_cost_stands_on_the_page_of_a_record(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of its headline where that has one, else of its cheapest result; with steps, and the way to the others."""
    priced(project, HOURLY)
    name = another(project, "ev-headline", {"c32": "1893.2", "c8": "236.4"}, group="elsewhere")
    own, other = built(project, monkeypatch, f"{name}.html", f"{BASE}.html")
    text = text_of(section(own, "Cost"))
    assert "of the headline" in text
    assert "= 1.878 USD" in text
    assert "../cost/demo-moe.html#A-acme-a1" in section(own, "Cost")
    assert "USD per million output tokens" in text_of(section(other, "Cost"))
    accelerator = (project / "out" / "accelerators" / "acme-a1.html").read_text("utf-8")
    assert "../cost.html#accelerator=acme-a1" in section(accelerator, "Measured")


def test_a_page_with_little_room_has_the_cost_in_a_sentence(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the lowest price, with the way to the steps."""
    priced(project, {**HOURLY, "amount": 6.4, "as_published": "$6.40/hr"}, HOURLY)
    name = another(project, "ev-headline", {"c8": "236.4"}, group="elsewhere")
    monkeypatch.setattr("kbtool.site.record_pages._MOST_CHARACTERS", 100)
    found = section(built(project, monkeypatch, f"{name}.html")[0], "Cost")
    assert "15.04 USD per million output tokens, at 3.2 USD an hour for 2 accelerators" in text_of(found)
    assert "../cost/demo-moe.html#A-acme-a1" in found
    assert "<dl" not in found


def test_a_record_without_a_price_has_no_cost(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is said where nothing can be worked out."""
    assert section(built(project, monkeypatch, f"{BASE}.html")[0], "Cost") == ""


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
    another(project, "ev-near", {"c1": "500"}, group="c")
    text = text_of(section_of(built(project, monkeypatch, "limits.html")[0], "Accelerators"))
    assert "Another report: ev-near" in text
    assert "ev-closed" not in text
    assert "1 result of closed classes" in text


def test_limits_say_how_many_are_above_and_how_many_could_not_be_checked(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing above is a count of what was checked, and says nothing of the rest, whose reasons lead to records."""
    another(project, "ev-unknown", {"c1": "60"}, group="c", system={"accelerator": "accelerators/acme-a1"})
    html = built(project, monkeypatch, "limits.html")[0]
    text = text_of(section_of(html, "Above"))
    assert "None of the 11 results that were checked" in text
    assert "This says nothing of the 1 that could not be checked." in text
    reasons = section_of(html, "Not-checked")
    assert "the number of accelerators is not stated" in reasons
    assert '<a href="benchmarks/ev-unknown.html">' in reasons


def test_a_result_above_a_bound_is_listed(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nine times what the memory allows one user; a closed class is no excuse."""
    another(project, "ev-impossible", {"c1": "9999"}, group="c")
    closed = {"comparison_class": "mlperf-inference-v6.1/x/closed/offline"}
    another(project, "ev-closed", {"c1": "9998"}, group="d", **closed)
    html = built(project, monkeypatch, "limits.html")[0]
    text = text_of(section_of(html, "Above"))
    assert "2 of the 13 results that were checked claim more than" in text
    assert "Another report: ev-impossible" in text
    assert "Another report: ev-closed" in text
    assert "beyond it" in text


def test_accelerators_of_the_limits_lead_to_all_their_results(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One row an accelerator, with how many were checked and how many not."""
    rows = section_of(built(project, monkeypatch, "limits.html")[0], "Accelerators")
    assert 'id="A-acme-a1"' in rows
    assert "explore.html#metric=*&amp;accelerator=acme-a1&amp;sort=-bound_share&amp;columns=" in rows


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
    first, of_model = built(project, monkeypatch, "coverage.html", "coverage/demo-moe.html")
    text = text_of(first)
    assert "Acme B2 with FastServe" in text
    assert "1 record of the first, 2 of the second; it ran on Acme A1" in text
    assert (
        '<a href="explore.html#metric=*&amp;accelerator=acme-b2&amp;engine=slowserve">1<small>1 result</small></a>'
        in first
    )
    assert '<a href="coverage/demo-moe.html">Demo-MoE-Flash</a>' in first
    cell = "../explore.html#metric=*&amp;accelerator=acme-b2&amp;engine=slowserve&amp;model=demo-moe"
    assert f'<a href="{cell}">' in of_model


def test_an_engine_of_another_vendor_is_not_proposed(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No record runs it on that vendor's hardware: it may not run there at all."""
    accelerator = plain("accelerators/acme-a1")
    other = {**accelerator, "id": "zeta-1", "title": "Zeta 1", "vendor": "Zeta", "names": ["Zeta 1"]}
    write(project, "accelerators/zeta-1", other)
    engine = plain("engines/fastserve")
    write(project, "engines/slowserve", {**engine, "id": "slowserve", "title": "SlowServe"})
    another(
        project, "ev-elsewhere", {"c8": "90"}, group="z", engine={"engine": "engines/slowserve"},
        system={"accelerator": "accelerators/zeta-1", "accelerator_count": 8},
    )  # fmt: skip
    text = text_of(built(project, monkeypatch, "coverage.html")[0])
    assert "SlowServe" in text
    assert "Zeta 1 with FastServe" not in text
    assert "Acme A1 with SlowServe" not in text


def test_pages_of_things_lead_to_their_results(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Metric by metric, for two metrics share no table; with as many results as the explorer has."""
    model, engine, accelerator, metrics = built(
        project, monkeypatch, "models/demo-moe.html", "engines/fastserve.html", "accelerators/acme-a1.html", "metrics.html"
    )  # fmt: skip
    for html, facet in (
        (model, "model=demo-moe"),
        (engine, "engine=fastserve"),
        (accelerator, "accelerator=acme-a1"),
    ):
        found = section(html, "Measured")
        assert f'<a href="../explore.html#metric=output_tok_s&amp;{facet}">' in found
        assert f'<a href="../explore.html#metric=*&amp;{facet}">' in found
    assert "../coverage/demo-moe.html" in section(model, "Measured")
    assert "../cost.html#accelerator=acme-a1" not in section(accelerator, "Measured")
    rows = list(csv.DictReader((project / "out" / "data" / "results.csv").read_text("utf-8").splitlines()))
    standing = [
        row
        for row in rows
        if row["metric"] == "output_tok_s" and row["status"] not in ("retracted", "superseded")
    ]
    count = f'<span class="kb-num kb-unit">{len(standing)}</span>'
    assert count in section(model, "Measured").partition("metric=output_tok_s")[2][:120]
    assert f'explore.html#metric=output_tok_s">{len(standing)}</a>' in metrics


def test_gaps_are_by_field_and_publisher(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The field that is left out most stands first, and a field that all give last."""
    html = section(built(project, monkeypatch, "gaps.html")[0], "Fields")
    paths = [path for path in Page(html).texts if path in {each.path for each in DISCLOSURE_FIELDS}]
    assert len(paths) == len(DISCLOSURE_FIELDS)
    assert paths.index("model.revision") < paths.index("system.accelerator")
    assert "Example Fleet" in text_of(html)
    assert '<a href="explore.html#metric=*&amp;publisher=Example+Fleet">' in html
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


@pytest.mark.parametrize("what", ["figure", "accelerator", "price", "removal"])
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
    elif what == "price":
        priced(project, HOURLY)
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
