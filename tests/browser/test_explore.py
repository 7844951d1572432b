"""The explorer in a browser: what it counts, sorts, joins and writes is what Python says, and every reader can use it."""

import csv
import io
import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree as ET

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from kbtool.escape import csv_cell
from tests.browser.conftest import BuiltSite, OpenContext
from tests.browser.test_hostile_site import assert_inert
from tests.support.columns import Explorer

VLLM: Final = "engines/vllm"
FRONTIER: Final = "#view=frontier&model=gpt-oss-120b"
PLACE_OF_FIRST: Final = """async () => {
  const load = (name) => import(new URL(`assets/explore/${name}.js`, document.baseURI));
  const [columns, filters, states, scenes] = await Promise.all(["columns", "filter", "state", "scene"].map(load));
  const results = await columns.Results.open(new URL("data/explore/", document.baseURI));
  const state = states.read(location.hash, results.header);
  const filter = new filters.Filter(results, results.header.facets);
  filter.apply(state);
  const rows = filter.among(Uint32Array.from({ length: results.rows }, (_, row) => row));
  const box = document.querySelector("[data-x=plot]");
  box.scrollIntoView({ block: "center" });
  const frame = box.getBoundingClientRect();
  const scene = scenes.makeScene(results, rows, { ...state, pool: null, stat: "mean" }, { width: box.clientWidth, height: box.clientHeight });
  return [frame.left + 1 + scene.px[0], frame.top + 1 + scene.py[0]];
}"""
"""Where the first point of a frontier is on the screen."""
CHOICES: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "everything": ("#metric=*", {"facets": {}}),
    "one metric": ("#metric=ttft_ms", {"metric": "ttft_ms", "facets": {}}),
    "two values of a facet": (
        "#metric=*&engine=vllm&engine=sglang",
        {"facets": {"engine": [VLLM, "engines/sglang"]}},
    ),
    "not stated": ("#metric=*&concurrency=~&concurrency=1", {"facets": {"concurrency": [None, Decimal(1)]}}),
    "several facets": (
        "#metric=output_tok_s&engine=vllm&measured_by=operator&scope=system",
        {
            "metric": "output_tok_s",
            "facets": {"engine": [VLLM], "measured_by": ["operator"], "scope": ["system"]},
        },
    ),
    "no such value": ("#metric=*&engine=none-such", {"facets": {"engine": ["engines/none-such"]}}),
    "words": ("#metric=*&q=RTX+pro+deepseek", {"q": "RTX pro deepseek", "facets": {}}),
    "withdrawn too": ("#metric=*&all=1", {"fallen": True, "facets": {}}),
}
"""An address of the explorer, and the same choice for Python."""
SORTS: Final = (
    ("value", True), ("value", False), ("engine", False), ("engine", True), ("concurrency", True), ("confidence", False),
    ("measured_day", True), ("per_accelerator", True), ("as_published", False), ("setup", True),
)  # fmt: skip
NASTY: Final = (
    "=1+1", "+1", "-1", "@x", "\t=1", "\r", "\n", " =1", "\u00a0=1", "\u200b=1", "\uff1d1", "\u22121", "a,b", 'a "b"', "a\nb",
    "", "'", "1e5", "\ufe62x", "\x1f=1", "\x85=1", "\u2028-", "\u0301=", "\U0001f600=1", "\u061c@", "plain",
)  # fmt: skip
_OPEN: Final = """
const load = (name) => import(new URL(`assets/explore/${name}.js`, document.baseURI));
const [columns, filters, orders, states, scenes, files] =
  await Promise.all(["columns", "filter", "order", "state", "scene", "export"].map(load));
const results = await columns.Results.open(new URL("data/explore/", document.baseURI));
await results.need(results.header.exported);
const all = Uint32Array.from({ length: results.rows }, (_, row) => row);
const filtered = (hash) => {
  const state = states.read(hash, results.header);
  const filter = new filters.Filter(results, results.header.facets);
  filter.apply(state);
  return { state, filter, rows: filter.among(all) };
};
"""


@pytest.fixture(scope="module")
def explorer(real_site: BuiltSite) -> Explorer:
    """Read the files of the real site in Python."""
    return Explorer(real_site.folder)


def run(page: Page, script: str, given: Any = None) -> Any:
    """Run a script beside the explorer's modules."""
    return page.evaluate(f"async (given) => {{ {_OPEN} {script} }}", given)


def opened(page: Page, address: str = "explore.html") -> Page:
    """Open the explorer and wait until its table is there."""
    page.goto(address)
    expect(page.locator("#kb-explore")).to_have_attribute("aria-busy", "false")
    return page


def facet(page: Page, name: str) -> Any:
    """Return a group of choices, opened."""
    group = page.locator(f"[data-facet={name}]")
    if group.get_attribute("open") is None:
        group.locator("summary").click()
    return group


def chosen(page: Page) -> int:
    """Return how many results are shown, as the page says."""
    text = page.locator("[data-x=count]").text_content() or ""
    return int(text.split(" of ")[0].replace(",", "")) if " of " in text else 0


def downloaded(page: Page, button: str) -> str:
    """Click a button and return the file that it gives."""
    with page.expect_download() as waiting:
        page.locator(f"[data-x={button}]").click()
    return Path(waiting.value.path()).read_bytes().decode("utf-8")


# --- Equal to Python -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", CHOICES)
def test_filters_and_counts_are_those_of_python(page: Page, explorer: Explorer, name: str) -> None:
    """Every choice shows the rows that Python finds, and every facet counts what choosing its values would show."""
    hash_, choice = CHOICES[name]
    page.goto("explore.html")
    found = run(
        page,
        """
        const { filter, rows } = filtered(given);
        const counts = {};
        for (const name of ["metric", ...results.header.facets]) {
          const column = results.column(name);
          counts[name] = Object.fromEntries(Array.from(filter.counts(name), (count, code) =>
            [code ? column.words[code - 1] : "~", count]).filter(([, count]) => count));
        }
        return { rows: Array.from(rows), counts };
        """,
        hash_,
    )
    assert found["rows"] == explorer.passing(**choice)
    for each, counts in found["counts"].items():
        assert counts == explorer.counts(each, **choice), each


def test_order_is_that_of_python(page: Page, explorer: Explorer) -> None:
    """Null last, equal rows as in their records, measures within class and metric; in either direction."""
    page.goto("explore.html")
    found = run(
        page,
        "return given.map(([name, descending]) => Array.from(orders.ordered(results, { name, descending }, all)));",
        [list(each) for each in SORTS],
    )
    for (name, descending), rows in zip(SORTS, found, strict=True):
        assert rows == explorer.ordered(range(explorer.rows), name, descending=descending), name


def test_files_are_those_of_python(page: Page, explorer: Explorer) -> None:
    """CSV has the bytes that Python would write, JSON the digits that were published."""
    page.goto("explore.html")
    rows = list(range(0, explorer.rows, 7))
    found = run(
        page,
        "const rows = Uint32Array.from(given);"
        "return { csv: files.csv(results, rows).join(''), json: files.json(results, rows).join('') };",
        rows,
    )
    assert found["csv"] == explorer.csv(rows)
    objects = json.loads(found["json"], parse_float=Decimal, parse_int=Decimal)
    assert [list(each) for each in objects] == [explorer.header["exported"]] * len(rows)
    for row, each in zip(rows, objects, strict=True):
        for name, cell in each.items():
            assert str(cell) == str(explorer.columns[name][row])


def test_cells_of_csv_are_those_of_python(page: Page) -> None:
    """What a spreadsheet would run is disarmed by one rule in both languages."""
    page.goto("explore.html")
    found = run(page, "return given.map((text) => files.csvCell(text, false));", list(NASTY))
    for text, cell in zip(NASTY, found, strict=True):
        file = io.StringIO()
        csv.writer(file).writerow(["", csv_cell(text)])
        assert f",{cell}\r\n" == file.getvalue()


@pytest.mark.parametrize("axis", ["concurrency", "request_rate_req_s", "input_tok", "draft_tok"])
def test_lines_join_what_python_joins(page: Page, explorer: Explorer, axis: str) -> None:
    """A line is one record and one setup, and differs in the swept condition alone."""
    page.goto("explore.html")
    found = run(
        page,
        """
        const { rows } = filtered("#metric=output_tok_s");
        const choice = { metric: "output_tok_s", view: "line", x: given, y: "value", by: "engine", stat: "mean", pool: null, logx: "", logy: "" };
        const scene = scenes.makeScene(results, rows, choice, { width: 800, height: 400 });
        return { drawn: Array.from(scene.rows), lines: scene.lines.map((line) => line.map((at) => scene.rows[at])) };
        """,
        axis,
    )
    drawn = [
        row
        for row in explorer.passing(metric="output_tok_s", facets={})
        if explorer.columns["value"][row] is not None
        and explorer.columns[axis][row] is not None
        and explorer.columns["comparison_class"][row] is None
        and explorer.kind(row) == "mean"
    ]
    assert found["drawn"] == drawn
    assert {frozenset(line) for line in found["lines"]} == explorer.lines(drawn, axis)
    for line in found["lines"]:
        assert len({explorer.columns["ref"][row] for row in line}) == 1
        places = [explorer.columns[axis][row] for row in line]
        assert places == sorted(places)


def test_frontier_has_one_point_a_configuration(page: Page, explorer: Explorer) -> None:
    """No configuration is drawn twice, none above another of its own: figures that only a record pairs are paired."""
    page.goto("explore.html")
    found = run(
        page,
        """
        const { rows } = filtered("#metric=*&view=frontier");
        const choice = { metric: "*", view: "frontier", x: "", y: "value", by: "engine", stat: "", pool: null, logx: "", logy: "" };
        const scene = scenes.makeScene(results, rows, choice, { width: 800, height: 400 });
        return { drawn: Array.from(scene.rows), xs: Array.from(scene.xs), lines: scene.lines };
        """,
    )
    keys = [
        (explorer.columns["setup"][row], *[explorer.columns[axis][row] for axis in explorer.header["axes"]])
        for row in found["drawn"]
    ]
    assert len(keys) == len(set(keys)) > 50
    assert {explorer.columns["metric"][row] for row in found["drawn"]} <= {
        "output_tok_s",
        "tok_s_per_accelerator",
    }
    for line in found["lines"]:
        rows = [found["drawn"][at] for at in line]
        assert len({explorer.columns["ref"][row] for row in rows}) == 1
        assert len({explorer.columns["concurrency"][row] for row in rows}) == len(rows) or len(
            {explorer.columns["request_rate_req_s"][row] for row in rows}
        ) == len(rows)


def test_one_chart_holds_one_class_and_one_statistic(page: Page, explorer: Explorer) -> None:
    """Closed classes share no axis with others or with one another, nor a mean with a p99."""
    page.goto("explore.html")
    classes = sorted({str(each) for each in explorer.columns["comparison_class"] if each})[:5]
    assert classes
    for pool in (None, *classes):
        drawn = run(
            page,
            """
            const { rows } = filtered("#metric=tok_s_per_accelerator");
            const choice = { metric: "tok_s_per_accelerator", view: "scatter", x: "accelerators_serving", y: "value", by: "engine", stat: "mean", pool: given, logx: "", logy: "" };
            return Array.from(scenes.makeScene(results, rows, choice, { width: 800, height: 400 }).rows);
            """,
            pool,
        )
        assert {explorer.columns["comparison_class"][row] for row in drawn} <= {pool}
        assert {explorer.kind(row) for row in drawn} <= {"mean"}


# --- The page ------------------------------------------------------------------------------------


def test_a_choice_is_in_the_address_and_the_back_button_undoes_it(page: Page, explorer: Explorer) -> None:
    """A link brings the view back, and so does the browser's history."""
    opened(page)
    before = chosen(page)
    facet(page, "engine").get_by_role("checkbox", name="vLLM").first.check()
    expect(page.locator("[data-x=chips]")).to_contain_text("Engine: vLLM")
    during = chosen(page)
    metric = next(iter(explorer.header["metrics"]))
    assert during == len(explorer.passing(metric=metric, facets={"engine": [VLLM]})) < before
    assert page.url.endswith("#engine=vllm")
    page.locator("[data-x=view]").select_option("line")
    page.reload()
    expect(page.locator("#kb-explore")).to_have_attribute("aria-busy", "false")
    assert chosen(page) == during
    expect(page.locator("[data-x=view]")).to_have_value("line")
    page.go_back()
    expect(page.locator("[data-x=view]")).to_have_value("scatter")
    page.go_back()
    expect(page.locator("[data-x=chips] li")).to_have_count(0)
    assert chosen(page) == before


def test_typing_narrows_and_finds_nothing_politely(page: Page) -> None:
    """Words are looked for in titles too; where nothing is left the page says so, and downloads are off."""
    opened(page, "explore.html#metric=*")
    before = chosen(page)
    page.locator("[data-x=q]").fill("rtx pro 6000")
    expect(page.locator("[data-x=count]")).not_to_contain_text(f"{before:,} of")
    assert 0 < chosen(page) < before
    page.locator("[data-x=q]").fill("no such words anywhere")
    expect(page.locator("[data-x=count]")).to_have_text("No result has all of this")
    expect(page.locator("[data-x=csv]")).to_be_disabled()


def test_a_table_row_leads_to_its_result(page: Page, real_site: BuiltSite, explorer: Explorer) -> None:
    """The link of a row goes to the place where the record shows that figure."""
    opened(page, "explore.html#sort=ref&page=3")
    links = page.locator("[data-x=table] tbody th a")
    expect(links).to_have_count(30)
    for href in links.evaluate_all("(all) => all.map((each) => each.href)"):
        path, _, anchor = href.removeprefix(real_site.url).partition("#")
        assert f'id="{anchor}"' in (real_site.folder / path).read_text("utf-8")
    assert explorer.rows > 90


def test_heads_sort_by_keyboard(page: Page) -> None:
    """A head is a button; it keeps the focus and says how it sorts."""
    opened(page)
    head = page.get_by_role("columnheader", name="Concurrency")
    head.get_by_role("button").focus()
    page.keyboard.press("Enter")
    expect(head).to_have_attribute("aria-sort", "descending")
    expect(head.get_by_role("button")).to_be_focused()
    page.keyboard.press("Enter")
    expect(head).to_have_attribute("aria-sort", "ascending")
    assert "sort=concurrency" in page.url


def test_facets_work_by_keyboard(page: Page) -> None:
    """A box that is checked stays where it is and keeps the focus."""
    opened(page)
    box = facet(page, "accelerator").get_by_role("checkbox").nth(1)
    box.focus()
    page.keyboard.press("Space")
    expect(page.locator("[data-x=chips] li")).to_have_count(1)
    assert page.evaluate("document.activeElement.type") == "checkbox"
    assert page.evaluate("document.activeElement.checked") is True
    page.locator("[data-x=chips] button").focus()
    page.keyboard.press("Enter")
    expect(page.locator("[data-x=chips] li")).to_have_count(0)


def test_points_are_reached_by_arrow_keys(page: Page) -> None:
    """Arrows say each point, Enter opens its record."""
    opened(page)
    plot = page.get_by_role("application")
    plot.focus()
    page.keyboard.press("ArrowRight")
    said = page.locator("[data-x=said]")
    expect(said).to_contain_text("1 of ")
    first = said.text_content()
    page.keyboard.press("ArrowRight")
    expect(said).to_contain_text("2 of ")
    assert said.text_content() != first
    page.keyboard.press("End")
    page.keyboard.press("Home")
    expect(said).to_have_text(str(first))
    expect(page.locator("[data-x=tip]")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("[data-x=tip]")).to_be_hidden()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_url("**/benchmarks/*.html#*")


def test_pointer_says_what_a_point_is_and_opens_it(page: Page) -> None:
    """Hovering shows the figure with its conditions, a click leads to it."""
    opened(page)
    place = page.evaluate(
        f"""async () => {{ {_OPEN}
          const box = document.querySelector("[data-x=plot]");
          box.scrollIntoView();
          const frame = box.getBoundingClientRect();
          const {{ rows, state }} = filtered("");
          const choice = {{ ...state, x: scenes.usualAxis(results, rows), stat: "mean", pool: null }};
          const scene = scenes.makeScene(results, rows, {{ ...choice, x: document.querySelector("[data-x=x]").value }}, {{ width: box.clientWidth, height: box.clientHeight }});
          return [frame.left + 1 + scene.px[0], frame.top + 1 + scene.py[0]];
        }}"""
    )
    page.mouse.move(*place)
    expect(page.locator("[data-x=tip]")).to_be_visible()
    expect(page.locator("[data-x=tip] strong")).to_contain_text("tok/s")
    page.mouse.click(*place)
    link = page.locator("[data-x=tip]").get_by_role("link", name="Open the record")
    expect(link).to_be_visible()
    href = str(link.get_attribute("href"))
    page.mouse.move(place[0] + 60, place[1] + 60)
    expect(link).to_be_visible()
    page.mouse.click(*place)
    page.wait_for_url(href)


def test_a_first_tap_says_what_a_point_is(open_context: OpenContext, real_site: BuiltSite) -> None:
    """A finger hovers over nothing: its first tap shows the tip with a link and a box, and leads nowhere by itself."""
    context, witness = open_context(real_site, has_touch=True)
    page = opened(context.new_page(), f"explore.html{FRONTIER}")
    place = page.evaluate(PLACE_OF_FIRST)
    page.touchscreen.tap(*place)
    tip = page.locator("[data-x=tip]")
    expect(tip.locator("strong")).to_contain_text("tok/s per accelerator")
    tip.get_by_role("checkbox").check()
    expect(page.locator("[data-x=tray]")).to_contain_text("Choose one more")
    assert "explore.html" in page.url
    tip.get_by_role("link").click()
    page.wait_for_url("**/benchmarks/*.html#*")
    witness.assert_clean()


def test_drafts_are_hollow_and_disputed_points_crossed(page: Page, explorer: Explorer) -> None:
    """The drawing, as a file, has a hollow circle for each draft and a cross for each disputed figure."""
    disputed = [row for row in range(explorer.rows) if explorer.columns["standing"][row] == "disputed"]
    metric = str(explorer.columns["metric"][disputed[0]])
    opened(page, f"explore.html#metric={metric}&standing=disputed")
    drawing = ET.fromstring(downloaded(page, "svg"))  # noqa: S314 - our own file
    names = [each.get("class") for each in drawing.iter() if each.get("class")]
    drawn = [row for row in disputed if explorer.columns["metric"][row] == metric]
    assert 0 < names.count("disputed") <= len(drawn)
    assert names.count("draft") == names.count("disputed")


def test_csv_has_what_is_shown(page: Page, explorer: Explorer) -> None:
    """As many rows as the page says, in the order of the table, with every column."""
    opened(page, "explore.html#metric=ttft_ms&engine=vllm&sort=-value")
    rows = list(csv.DictReader(io.StringIO(downloaded(page, "csv"))))
    wanted = explorer.passing(metric="ttft_ms", facets={"engine": [VLLM]})
    assert len(rows) == chosen(page) == len(wanted)
    assert list(rows[0]) == explorer.header["exported"]
    assert [each["value"] for each in rows] == [
        csv_cell(explorer.columns["value"][row]) for row in explorer.ordered(wanted, "value", descending=True)
    ]
    assert len(json.loads(downloaded(page, "json"))) == len(rows)


def test_png_is_a_picture(page: Page) -> None:
    """The chart can be taken along as it is."""
    opened(page)
    with page.expect_download() as waiting:
        page.locator("[data-x=png]").click()
    assert Path(waiting.value.path()).read_bytes()[:4] == b"\x89PNG"


def test_a_table_stands_behind_the_chart(page: Page) -> None:
    """Readers without sight have the same points, each with a link."""
    opened(page, "explore.html#view=frontier&model=gpt-oss-120b")
    page.locator("[data-x=points] summary").click()
    rows = page.locator("[data-x=points] tbody tr")
    points = int((page.locator("[data-x=note]").text_content() or "").split(" ")[0].replace(",", ""))
    expect(rows).to_have_count(min(points, 500))
    assert "benchmarks/" in str(rows.first.locator("a").get_attribute("href"))
    names = rows.evaluate_all(
        "(all) => all.map((row) => row.cells[0].textContent + row.cells[1].textContent)"
    )
    assert len(set(names)) == len(names)


def test_table_counts_and_files_are_those_of_the_frontier(page: Page, explorer: Explorer) -> None:
    """As many rows as points, each with both figures; the facets count points, and the files hold them in the table's order."""
    opened(page, f"explore.html{FRONTIER}")
    pairs = [
        row
        for row in explorer.passing(facets={"model": ["models/gpt-oss-120b"]})
        if explorer.columns["user_tok_s"][row] is not None
    ]
    pairs.sort(key=lambda row: -Decimal(str(explorer.columns["per_accelerator"][row])))
    assert chosen(page) == len(pairs) > 10
    expect(page.locator("[data-x=note]")).to_contain_text(f"{len(pairs)} points.")
    counts = facet(page, "engine").locator("small").all_text_contents()
    assert sum(map(int, counts)) == len(pairs)
    heads = page.locator("[data-x=table] thead th").all_text_contents()
    assert {"Per accelerator", "Speed per user, tok/s"} <= set(heads)
    rows = list(csv.DictReader(io.StringIO(downloaded(page, "csv"))))
    assert [(each["ref"], each["result"], each["user_tok_s"]) for each in rows] == [
        tuple(str(explorer.columns[name][row]) for name in ("ref", "result", "user_tok_s")) for row in pairs
    ]
    assert {"per_accelerator", "user_tok_s"} <= set(json.loads(downloaded(page, "json"))[0])


def test_a_frontier_of_several_models_asks_for_one(page: Page) -> None:
    """Two models share no plane: buttons name them with their points, and one click draws."""
    opened(page, "explore.html#view=frontier")
    ask = page.locator("[data-x=ask]")
    expect(ask).to_contain_text("Figures of several models share no frontier")
    expect(page.locator("[data-x=plot]")).to_be_hidden()
    expect(page.locator("[data-x=svg]")).to_be_disabled()
    button = ask.get_by_role("button").first
    count = int((button.text_content() or "").rpartition("(")[2].strip(")").replace(",", ""))
    button.click()
    expect(page.locator("[data-x=note]")).to_contain_text(f"{count} points.")
    expect(page.locator("[data-x=plot]")).to_be_visible()
    expect(ask).to_be_hidden()
    assert chosen(page) == count


def test_mixed_statistics_and_classes_have_a_column(page: Page, explorer: Explorer) -> None:
    """A reader sees that medians stand beside means, and that closed classes are sorted each by itself."""

    def heads() -> list[str]:
        return page.locator("[data-x=table] thead th").all_text_contents()

    opened(page, "explore.html#metric=ttft_ms")
    assert "Statistic" in heads()
    expect(page.locator("[data-x=order]")).not_to_contain_text("Statistic of all")
    opened(page, "explore.html#metric=ttft_ms&statistic=p90")
    assert "Statistic" not in heads()
    expect(page.locator("[data-x=order]")).to_contain_text("Statistic of all: p90.")
    closed = next(str(each) for each in explorer.columns["comparison_class"] if each)
    for classes, mixed in ((f"~&comparison_class={closed}", True), ("~", False)):
        opened(page, f"explore.html#metric=tok_s_per_accelerator&comparison_class={classes}")
        assert ("Comparison class" in heads()) is mixed
        assert ("sorted by itself" in (page.locator("[data-x=order]").text_content() or "")) is mixed


def test_accelerators_and_ranks_are_facets(page: Page, explorer: Explorer) -> None:
    """`8 H200` can be asked for."""
    given: dict[str, list[Any]] = {
        "accelerator": ["accelerators/nvidia-h200-sxm"],
        "accelerators_serving": [Decimal(8)],
        "tp": [Decimal(8)],
    }
    opened(page, "explore.html#metric=*&accelerator=nvidia-h200-sxm&accelerators_serving=8&tp=8")
    assert chosen(page) == len(explorer.passing(facets=given)) > 0
    expect(page.locator("[data-x=table] tbody tr").first).to_contain_text("8 \u00d7 NVIDIA H200")


def test_where_nothing_is_left_the_page_says_what_to_drop(page: Page, explorer: Explorer) -> None:
    """Each filter with what there would be without it, and the metrics that have results for the same filters."""
    metrics = ["ttft_ms", "prefill_tok_s"]
    pairs = {
        (str(explorer.columns["model"][row]), str(explorer.columns["engine"][row])): None
        for row in explorer.passing(metric=metrics[0], facets={})
    }
    model, engine = next(
        (model, engine)
        for model, _ in pairs
        for _, engine in pairs
        if (model, engine) not in pairs and explorer.passing(facets={"model": [model], "engine": [engine]})
    )
    choice = {"model": [model], "engine": [engine]}
    opened(
        page,
        f"explore.html#metric={metrics[0]}&model={model.partition('/')[2]}&engine={engine.partition('/')[2]}",
    )
    empty = page.locator("[data-x=empty]")
    expect(empty).to_be_visible()
    for skip in choice:
        left = len(explorer.passing(metric=metrics[0], skip=skip, facets=choice))
        title = explorer.header["titles"][skip]
        expect(empty.get_by_role("button", name=f"without {title}:")).to_contain_text(f"({left:,})")
    counts = explorer.counts("metric", facets=choice)
    metric, count = max(counts.items(), key=lambda item: item[1])
    empty.get_by_role(
        "button", name=f"{explorer.header['metrics'][metric]['title']} ({count:,})", exact=True
    ).click()
    expect(empty).to_be_hidden()
    assert chosen(page) == count


def test_no_filter_alone_stands_in_the_way(page: Page) -> None:
    """Where dropping one would not do, all can be dropped."""
    opened(page, "explore.html#metric=*&engine=none-such&model=none-such&all=1")
    page.locator("[data-x=empty]").get_by_role("button", name="Remove all filters").click()
    expect(page.locator("[data-x=empty]")).to_be_hidden()
    assert chosen(page) > 0


def test_rows_are_ticked_and_compared(page: Page) -> None:
    """Ticks survive other choices and pages, stand in the address, end at six, and lead to the comparison of just them."""
    opened(page, "explore.html#metric=ttft_ms")
    boxes = page.locator("[data-x=table] tbody").get_by_role("checkbox")
    tray = page.locator("[data-x=tray]")
    expect(tray).to_be_hidden()
    boxes.nth(0).check()
    expect(tray.get_by_role("link")).to_have_count(0)
    page.locator("[data-x=pager]").get_by_role("button", name="Page 2").click()
    expect(boxes.nth(0)).not_to_be_checked()
    for place in range(5):
        boxes.nth(place).check()
    expect(boxes.nth(5)).to_be_disabled()
    expect(tray).to_contain_text("6 results at most")
    tray.get_by_role("button", name="Remove").first.press("Enter")
    expect(boxes.nth(5)).to_be_enabled()
    picks = page.evaluate("new URLSearchParams(location.hash.slice(1)).getAll('pick')")
    assert len(picks) == 5
    page.reload()
    expect(page.locator("#kb-explore")).to_have_attribute("aria-busy", "false")
    expect(boxes.nth(0)).to_be_checked()
    tray.get_by_role("link", name="Compare 5 results").click()
    expect(page.locator("[data-kb-compare-out] thead th[scope=col]")).to_have_count(5)
    ids = page.evaluate("new URLSearchParams(location.search).get('ids')").split(",")
    assert ids == [f"benchmarks/{each}" for each in picks]
    page.go_back()
    expect(tray.get_by_role("link", name="Compare 5 results")).to_be_visible()


def test_points_are_ticked_by_keyboard(page: Page) -> None:
    """Space takes a point in and out."""
    opened(page, f"explore.html{FRONTIER}")
    page.get_by_role("application").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    expect(page.locator("[data-x=said]")).to_have_text("Taken into the comparison")
    expect(page.locator("[data-x=tray] li")).to_have_count(1)
    page.keyboard.press("Space")
    expect(page.locator("[data-x=tray]")).to_be_hidden()


def test_years_are_no_amounts(page: Page) -> None:
    """2026, and not 2,026."""
    opened(page, "explore.html#metric=*&columns=year&sort=-year")
    years = facet(page, "year").locator("label span").all_text_contents()
    assert "2026" in years
    expect(page.locator("[data-x=table] tbody tr").first.locator("td").last).to_have_text("2026")


def test_a_column_named_twice_is_shown_once(page: Page) -> None:
    """An address that repeats itself is read as it is meant."""
    opened(page, "explore.html#metric=ttft_ms&columns=value,value,tp")
    heads = page.locator("[data-x=table] thead th").all_text_contents()
    assert sorted(heads) == sorted(set(heads))
    assert {"Value", "TP"} <= set(heads)


def test_a_file_that_cannot_be_made_is_said(open_context: OpenContext, real_site: BuiltSite) -> None:
    """Away from the site a download gives a message, and works again afterwards."""
    context, witness = open_context(real_site)
    page = opened(context.new_page())
    page.route("**/rest.bin.gz", lambda route: route.abort())
    page.locator("[data-x=csv]").click()
    expect(page.locator("[data-x=trouble]")).to_contain_text("The file could not be made")
    page.unroute("**/rest.bin.gz")
    assert downloaded(page, "csv").startswith("ref,")
    expect(page.locator("[data-x=trouble]")).to_have_text("")
    assert all("ERR_FAILED" in each for each in witness.errors)


def test_without_data_the_page_leads_to_the_plain_tables(
    open_context: OpenContext, real_site: BuiltSite
) -> None:
    """Nobody is left with an empty page: the message has a link, and the tables stand right below."""
    context, _ = open_context(real_site)
    page = context.new_page()
    page.route("**/main.bin.gz", lambda route: route.abort())
    page.goto("explore.html")
    expect(page.locator("[data-x=count]")).to_contain_text("could not be loaded")
    expect(page.locator(".kb-x__grid")).to_be_hidden()
    page.locator("[data-x=failed]").get_by_role("link", name="plain tables").click()
    expect(page.locator("#Metrics")).to_be_in_viewport()


def test_a_chart_taken_along_says_what_it_is(page: Page) -> None:
    """Title, filters, legend, what marks mean, site, address, days and licence are in the drawing; the picture is as large."""
    opened(page, "explore.html#metric=ttft_ms&engine=vllm&q=rtx")
    caption = str(page.locator("[data-x=caption]").text_content())
    drawing = ET.fromstring(downloaded(page, "svg"))  # noqa: S314 - our own file
    texts = [each.text or "" for each in drawing.iter() if each.tag.endswith("}text")]
    whole = " ".join(texts)
    legend = page.locator("[data-x=legend] li").first.text_content() or ""
    day = page.evaluate("new Date().toISOString().slice(0, 10)")
    for part in (
        "Engine: vLLM", "Words: rtx", "Statistic: ", "Comparison class: none", "Colour: Accelerator", "Hollow: draft",
        "Inference Evidence", "explore.html#metric=ttft_ms&q=rtx&engine=vllm", "Data of 20", f"drawn on {day}", "CC BY 4.0",
        legend.strip(), caption,
    ):  # fmt: skip
        assert part.replace(" ", "") in whole.replace(" ", ""), part
    with page.expect_download() as waiting:
        page.locator("[data-x=png]").click()
    picture = Path(waiting.value.path()).read_bytes()
    size = [int.from_bytes(picture[place : place + 4], "big") for place in (16, 20)]
    assert size == [round(2 * float(str(drawing.get(name)))) for name in ("width", "height")]


def test_names_stay_in_sight(page: Page) -> None:
    """A table that is wider than its place is scrolled under the names of its rows; each names its result."""
    page.set_viewport_size({"width": 1280, "height": 900})
    opened(page, "explore.html")
    cell = page.locator("[data-x=table] tbody th").first
    expect(cell.locator("small")).not_to_be_empty()
    before = cell.bounding_box()
    page.locator("[data-x=table]").evaluate("(table) => (table.parentElement.scrollLeft = 400)")
    assert cell.bounding_box() == before


def test_no_chart_without_a_metric(page: Page) -> None:
    """Figures of two metrics share no axis; the table is there all the same."""
    opened(page, "explore.html#metric=*")
    expect(page.locator("[data-x=note]")).to_contain_text("Choose a metric")
    expect(page.locator("[data-x=svg]")).to_be_disabled()
    expect(page.locator("[data-x=table] tbody tr")).to_have_count(30)


def test_closed_classes_carry_their_line(page: Page, explorer: Explorer) -> None:
    """Wherever MLPerf figures are shown, the line of the trademark stands below."""
    closed = next(str(each) for each in explorer.columns["comparison_class"] if each)
    opened(page, f"explore.html#metric=*&comparison_class={closed}")
    expect(page.locator("[data-x=lines]")).to_contain_text("MLCommons")
    opened(page, "explore.html#metric=*&comparison_class=~")
    expect(page.locator("[data-x=lines]")).to_have_text("")


def test_strange_addresses_are_read_as_far_as_they_make_sense(page: Page) -> None:
    """Nobody is left with an empty page by an old or a mistyped link."""
    opened(
        page,
        "explore.html#metric=constructor&view=pie&x=__proto__&sort=-toString&page=-3&columns=a,value&engine=%E0%A4",
    )
    expect(page.locator("[data-x=view]")).to_have_value("scatter")
    expect(page.locator("[data-x=chips]")).to_contain_text("Engine")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_used_page_has_no_barrier(open_context: OpenContext, real_site: BuiltSite, scheme: Any) -> None:
    """Axe finds nothing with facets open, a filter chosen, and both tables shown."""
    context, witness = open_context(real_site, color_scheme=scheme)
    page = opened(context.new_page(), "explore.html#engine=vllm&view=line")
    for name in ("concurrency", "year", "status"):
        facet(page, name)
    for part in ("points", "chooser"):
        page.locator(f"[data-x={part}] summary").click()
    violations = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    assert [f"{each['id']}: {each['nodes'][0]['html'][:200]}" for each in violations] == []
    witness.assert_clean()


def test_the_plain_tables_hold_every_result(
    open_context: OpenContext, real_site: BuiltSite, explorer: Explorer
) -> None:
    """Without scripts a reader gets from the page to the results of each metric."""
    context, witness = open_context(real_site, java_script_enabled=False)
    page = context.new_page()
    page.goto("explore.html")
    expect(page.locator("#kb-explore")).to_be_hidden()
    expect(page.locator("#Metrics tbody tr")).to_have_count(len(explorer.header["metrics"]))
    page.locator("#Metrics tbody a").first.click()
    expect(page.locator("main tbody tr")).to_have_count(100)
    witness.assert_clean()


# --- Hostile records -----------------------------------------------------------------------------


@pytest.fixture
def hostile(open_context: OpenContext, hostile_site: BuiltSite) -> Iterator[Page]:
    """Open the explorer over records that are payloads in every field."""
    context, witness = open_context(hostile_site)
    page = context.new_page()
    yield page
    assert_inert(page, witness)


def test_hostile_records_do_nothing(hostile: Page) -> None:
    """Facets, table, chart and its files show every payload as the text that it is."""
    opened(hostile, "explore.html#metric=*")
    for group in hostile.locator("[data-facet]:not([hidden])").all():
        if group.get_attribute("open") is None:
            group.locator("summary").click()
    hostile.locator("[data-x=chooser] summary").click()
    for box in hostile.locator("[data-x=chooser] input").all():
        box.check()
    expect(hostile.locator("[data-x=table] tbody tr").first).to_be_visible()
    facet(hostile, "publisher").get_by_role("checkbox").first.check()
    text = downloaded(hostile, "csv")
    for row in csv.reader(io.StringIO(text)):
        assert not any(cell[:1] in {"=", "@", "+"} for cell in row)
    hostile.locator("[data-x=metric]").select_option(index=1)
    hostile.locator("[data-x=points] summary").click()
    hostile.get_by_role("application").focus()
    hostile.keyboard.press("ArrowRight")


def test_hostile_addresses_do_nothing(hostile: Page) -> None:
    """An address is data as well."""
    for hash_ in (
        "#q=<img src=x onerror=alert(1)>",
        "#engine=<svg onload=alert(1)>&by=constructor",
        "#__proto__[x]=1",
    ):
        opened(hostile, f"explore.html{hash_}")
        hostile.goto("about:blank")
    opened(hostile)


def test_hostile_drawing_is_a_drawing(hostile: Page) -> None:
    """The chart as a file parses, and holds texts and shapes alone."""
    opened(hostile)
    drawing = ET.fromstring(downloaded(hostile, "svg"))  # noqa: S314 - it has to parse
    names = {each.tag.partition("}")[2] for each in drawing.iter()}
    assert names <= {"svg", "title", "g", "rect", "polyline", "text", "circle", "path", "image"}
