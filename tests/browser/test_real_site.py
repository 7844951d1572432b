"""The site of this repository's records as a reader meets it: found, read, sorted, on a phone, without scripts."""

import re
from itertools import count
from typing import Any, Final

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.conftest import BuiltSite, OpenContext

DECODE: Final = "benchmarks/ev-sglang-dsv41-production-decode-tok-s-per-user.html"
PREFILL: Final = "benchmarks/ev-sglang-dsv41-production-128k-prefill-tps.html"
PAGES: Final = {
    "home": "index.html",
    "explorer": "explore.html",
    "results of a metric": "explore/output-tok-s.html",
    "index of a kind": "benchmarks/index.html",
    "index of sources": "sources/index.html",
    "benchmark": DECODE,
    "benchmark with a sweep": PREFILL,
    "accelerator": "accelerators/nvidia-rtx-pro-6000-blackwell-max-q.html",
    "interconnect": "interconnects/pcie-gen5-x16.html",
    "engine": "engines/sglang.html",
    "model": "models/deepseek-v4-1-flash.html",
    "source": "sources/helix-2026-08-rtx-pro-6000.html",
    "gotcha": "gotchas/power-share-of-another-editions-limit.html",
    "metrics": "metrics.html",
    "rules": "rules.html",
    "glossary": "glossary.html",
    "changes": "changes.html",
    "data": "data.html",
    "data quality": "quality.html",
    "compare": "compare.html",
    "limits": "limits.html",
    "cost": "cost.html",
    "coverage": "coverage.html",
    "conflicts": "conflicts.html",
    "gaps": "gaps.html",
    "search": "search.html",
    "hand-written": "methodology.html",
    "missing": "404.html",
}
"""One page of each type."""
SEARCHES: Final = {
    "rtx pro 6000": (r"accelerators/nvidia-rtx-pro-6000", 3),
    "93.9": (DECODE, 3),
    "6,853": (PREFILL, 3),
    "6853": (PREFILL, 3),
    "tok/s per user": (DECODE, 10),
    "dsv41": (r"benchmarks/.*dsv41", 1),
    "ev-sglang-dsv41-production-decode-tok-s-per-user": (DECODE, 1),
    "v4.1": (r"models/deepseek-v4-1-flash", 3),
    "DSPARK": (r"dspark|dsv4", 5),
}
"""What is typed, what has to be among the results, and how far down at most."""
IN_THE_DARK: Final = (
    "index.html",
    "explore.html",
    "benchmarks/index.html",
    DECODE,
    "methodology.html",
    "search.html",
)
SERIOUS: Final = frozenset({"serious", "critical"})

every_page = pytest.mark.parametrize("path", PAGES.values(), ids=PAGES)


def ready(page: Page, path: str) -> Page:
    """Open a page and wait until its scripts have set it up."""
    page.goto(path)
    page.locator(".kb-theme[title*=':']").wait_for(state="attached")
    return page


def hits(page: Page, query: str) -> list[str]:
    """Type a query into the field that has the focus, and return the addresses of all results."""
    field = page.get_by_role("combobox")
    field.fill(query)
    expect(page.get_by_role("option").first).to_be_visible()
    page.wait_for_function("document.querySelector('[role=status]').textContent.includes('result')")
    addresses: list[str] = page.get_by_role("option").evaluate_all("(all) => all.map((each) => each.href)")
    return addresses


# --- The way through the site --------------------------------------------------------------------


def test_from_home_to_the_source_of_a_number(page: Page) -> None:
    """Home, index, record, source: four pages from the start to where a figure was published."""
    ready(page, "index.html")
    page.get_by_role("link", name="All benchmarks").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Benchmarks")
    page.locator("[data-kb-table] a[href*='benchmarks/ev-'], [data-kb-table] a[href^='ev-']").first.click()
    expect(page.get_by_role("heading", name="Results", exact=True)).to_be_visible()
    page.locator("main a[href*='sources/']").first.click()
    page.wait_for_url("**/sources/**")


@pytest.mark.parametrize("query", SEARCHES)
def test_search_finds_what_a_reader_types(page: Page, query: str) -> None:
    """The record that is meant is near the top, whatever form its name or number has."""
    ready(page, "search.html")
    wanted, at_most = SEARCHES[query]
    found = hits(page, query)
    assert any(re.search(wanted, each) for each in found[:at_most]), found[:at_most]


def test_search_by_keyboard(page: Page) -> None:
    """A slash opens the search from any page, arrows choose, Escape closes, Enter opens what is chosen."""
    ready(page, DECODE)
    page.keyboard.press("/")
    field = page.get_by_role("combobox")
    expect(field).to_be_focused()
    hits(page, "rtx pro 6000")
    first = field.get_attribute("aria-activedescendant")
    page.keyboard.press("ArrowDown")
    expect(field).not_to_have_attribute("aria-activedescendant", first or "")
    page.keyboard.press("Escape")
    expect(field).to_be_hidden()
    page.keyboard.press("/")
    expect(field).to_be_focused()
    page.keyboard.press("ArrowDown")
    chosen = page.locator("[role=option][aria-selected=true]").get_attribute("href")
    page.keyboard.press("Enter")
    page.wait_for_url(str(chosen))


def test_colour_scheme_is_kept(page: Page) -> None:
    """A chosen scheme holds on the next page and after a reload."""
    ready(page, "index.html")
    html = page.locator("html")
    button = page.locator(".kb-theme")
    button.click()
    expect(html).to_have_attribute("data-theme", "light")
    button.click()
    expect(html).to_have_attribute("data-theme", "dark")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    ready(page, DECODE)
    expect(html).to_have_attribute("data-theme", "dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark
    page.reload()
    expect(html).to_have_attribute("data-theme", "dark")


# --- Tables --------------------------------------------------------------------------------------


def column(page: Page, name: str) -> list[str]:
    """Return the cells of a column of the first table, visible rows alone, from top to bottom."""
    cells: list[str] = page.locator("[data-kb-table] table").first.evaluate(
        """(table, name) => {
          const at = Array.from(table.tHead.rows[0].cells, (cell) => cell.textContent.trim()).indexOf(name);
          const rows = Array.from(table.tBodies[0].rows).filter((row) => !row.hidden);
          return rows.map((row) => row.cells[at].dataset.v ?? row.cells[at].textContent.trim());
        }""",
        name,
    )
    return cells


def test_index_table_sorts_by_number_and_by_text(page: Page) -> None:
    """Numbers run from the largest and back again, texts from A; every row stays."""
    ready(page, "benchmarks/index.html")
    rows = len(column(page, "Headline"))
    header = page.get_by_role("button", name="Headline")
    header.click()
    numbers = [float(cell) for cell in column(page, "Headline") if cell]
    assert numbers == sorted(numbers, reverse=True)
    expect(page.get_by_role("columnheader", name="Headline")).to_have_attribute("aria-sort", "descending")
    header.click()
    numbers = [float(cell) for cell in column(page, "Headline") if cell]
    assert numbers == sorted(numbers)
    page.get_by_role("button", name="Engine").click()
    names = [name.casefold() for name in column(page, "Engine")]
    assert names == sorted(names)
    assert len(names) == rows


def test_index_table_filters_by_word_and_by_facet(page: Page) -> None:
    """What does not match is hidden, the count says so, and the address brings the view back."""
    ready(page, "gotchas/index.html")
    rows = len(column(page, "Kind of trap"))
    page.locator("[data-kb-facet='kind-of-trap']").first.select_option(index=1)
    shown = column(page, "Kind of trap")
    assert 0 < len(shown) < rows
    assert len(set(shown)) == 1
    word = column(page, "Record")[0].split()[-1]
    page.locator("[data-kb-filter]").first.fill(word)
    assert 0 < len(column(page, "Kind of trap")) < len(shown)
    expect(page.locator("[data-kb-count]").first).to_contain_text(f"of {rows}")
    page.reload()
    expect(page.locator("[data-kb-count]").first).to_contain_text(f"of {rows}")
    page.locator("[data-kb-filter]").first.fill("no record has this word")
    expect(page.locator("[data-kb-empty]").first).to_be_visible()


def test_list_of_many_pages_leads_to_the_page_of_a_metric(page: Page) -> None:
    """What a figure may be compared with is one click away, also where one page cannot hold all records."""
    ready(page, DECODE)
    page.get_by_role("link", name="figures in this metric").click()
    page.wait_for_url("**/benchmarks/index.metric-*.html")
    expect(page.locator("main")).to_contain_text("Decode speed per user")
    expect(page.locator("[data-kb-table] tbody tr").first).to_be_visible()


# --- Every type of page --------------------------------------------------------------------------


@every_page
def test_page_has_no_serious_barrier(page: Page, path: str) -> None:
    """Nothing serious is found by axe."""
    assert barriers(ready(page, path)) == []


@pytest.mark.parametrize("path", IN_THE_DARK)
def test_dark_page_has_no_faint_text(open_context: OpenContext, real_site: BuiltSite, path: str) -> None:
    """Every text stands out from its ground in the dark scheme too."""
    context, witness = open_context(real_site, color_scheme="dark")
    assert barriers(ready(context.new_page(), path), runOnly=["color-contrast"]) == []
    witness.assert_clean()


def barriers(page: Page, **options: Any) -> list[str]:
    """Return what axe finds serious or critical, with the first element that has it."""
    violations = Axe().run(page, options={"resultTypes": ["violations"], **options}).response["violations"]
    return [
        f"{each['id']}: {each['help']}: {each['nodes'][0]['html'][:200]}"
        for each in violations
        if each["impact"] in SERIOUS
    ]


@every_page
def test_page_fits_a_phone(open_context: OpenContext, real_site: BuiltSite, path: str) -> None:
    """At 360 pixels only tables and code scroll sideways, each in its own box."""
    context, witness = open_context(real_site, viewport={"width": 360, "height": 740}, has_touch=True)
    page = ready(context.new_page(), path)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    witness.assert_clean()


@every_page
def test_page_is_whole_without_scripts(open_context: OpenContext, real_site: BuiltSite, path: str) -> None:
    """Heading, text and navigation are there, and nothing that only scripts could work is shown."""
    context, witness = open_context(real_site, java_script_enabled=False)
    page = context.new_page()
    page.goto(path)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.get_by_role("navigation", name="Sections")).to_be_visible()
    expect(page.locator(".kb-js").filter(visible=True)).to_have_count(0)
    witness.assert_clean()


def test_index_is_complete_without_scripts(open_context: OpenContext, real_site: BuiltSite) -> None:
    """Without scripts the pages of the list have every benchmark of the repository, and lead to each."""
    context, _ = open_context(real_site, java_script_enabled=False)
    page = context.new_page()
    page.goto("benchmarks/index.html")
    records = list((real_site.project / "records" / "benchmarks").rglob("*.yaml"))
    links = page.locator("[data-kb-table] tbody th a")
    found: set[str] = set()
    for number in count(2):
        found |= set(links.evaluate_all("(all) => all.map((each) => each.href)"))
        following = page.get_by_role("link", name=str(number), exact=True)
        if not following.count():
            break
        following.first.click()
    assert len(found) == len(records)
    page.get_by_role("navigation", name="Sections").get_by_role("link", name="Gotchas").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Gotchas")


def test_missing_page_helps(open_context: OpenContext, real_site: BuiltSite) -> None:
    """An address without a page gives the site's own 404 page, which works and leads on, whatever its depth."""
    context, witness = open_context(real_site)
    page = context.new_page()
    response = page.goto("benchmarks/no/such/record.html")
    assert response is not None
    assert response.status == 404
    expect(page.get_by_role("heading", level=1)).to_have_text("Page not found")
    page.locator(".kb-theme[title*=':']").wait_for(state="attached")
    page.locator("main").get_by_role("link", name="list of benchmarks").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Benchmarks")
    assert witness.foreign == []
