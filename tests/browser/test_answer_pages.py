"""Pages that answer questions lead on to the results that the answer is made of, and fit every screen."""

import re
from typing import Any, Final

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.conftest import BuiltSite, OpenContext

COST: Final = "cost/gpt-oss-120b.html"
COVERAGE: Final = "coverage/gpt-oss-120b.html"
SERIOUS: Final = frozenset({"serious", "critical"})
COUNTED: Final = re.compile(r"[\d,]+")


def opened(page: Page, path: str) -> Page:
    """Open a page and wait until its scripts have set it up."""
    page.goto(path)
    page.locator(".kb-theme[title*=':']").wait_for(state="attached")
    return page


def results_shown(page: Page) -> int:
    """Return how many results the explorer says that it shows."""
    expect(page.locator("#kb-explore")).to_have_attribute("aria-busy", "false")
    found = COUNTED.search(page.locator("[data-x=count]").inner_text())
    assert found is not None
    return int(found[0].replace(",", ""))


def followed(page: Page, path: str, link: str) -> int:
    """Open the explorer by a link of a page and return how many results it shows."""
    opened(page, path).locator(link).first.click()
    page.wait_for_url("**/explore.html#*")
    return results_shown(page)


@pytest.mark.parametrize("width", [1220, 1280, 1300, 1316, 1360, 1440])
def test_header_fits(open_context: OpenContext, real_site: BuiltSite, width: int) -> None:
    """All sections, the search and the colour scheme are in view where the sections are shown at all."""
    context, _ = open_context(real_site, viewport={"width": width, "height": 800})
    page = opened(context.new_page(), "index.html")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    box = page.locator(".kb-theme").bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= width
    expect(page.get_by_role("navigation", name="Sections").get_by_role("link").first).to_be_visible()


@pytest.mark.parametrize(
    "path", ["models/gpt-oss-120b.html", "engines/vllm.html", "accelerators/nvidia-h200-sxm.html"]
)
def test_a_metric_of_a_thing_leads_to_as_many_results(page: Page, path: str) -> None:
    """The number beside the link is that of the explorer, its choice included."""
    first = opened(page, path).locator("#Measured li").first
    found = COUNTED.search(first.locator(".kb-num").inner_text())
    assert found is not None
    assert followed(page, path, "#Measured li a") == int(found[0].replace(",", ""))
    expect(page.locator("[data-x=chips] li")).to_have_count(1)


def test_a_cell_leads_to_as_many_results(page: Page) -> None:
    """Of one model, on one accelerator, with one engine."""
    cell = opened(page, COVERAGE).locator(".kb-matrix td a").first
    found = COUNTED.search(cell.locator("small").inner_text())
    assert found is not None
    assert followed(page, COVERAGE, ".kb-matrix td a") == int(found[0].replace(",", ""))


@pytest.mark.parametrize(
    ("path", "link"),
    [
        ("coverage.html", ".kb-matrix td a"),
        ("limits.html", "#Accelerators td.kb-tally a"),
        ("gaps.html", "#Fields thead a"),
        ("gaps.html", "#Fields td a"),
        ("metrics.html", "td a[href*=explore]"),
        (COST, "main section a[href*=explore]"),
        ("index.html", "#Fastest-by-accelerator a[href*=explore]"),
    ],
)
def test_links_lead_to_results(page: Page, path: str, link: str) -> None:
    """What they choose is something that the explorer knows, and there are results of it."""
    assert followed(page, path, link) > 0
    address = page.url.partition("#")[2]
    chosen = [each for each in address.split("&") if not each.startswith(("metric=", "sort=", "columns="))]
    expect(page.locator("[data-x=chips] button[aria-label]")).to_have_count(len(chosen))


def test_costs_are_filtered_by_accelerator(page: Page) -> None:
    """A link names the accelerator; the rows of others are gone, and a row leads to its results."""
    opened(page, "cost.html#accelerator=nvidia-h100-sxm")
    rows = page.locator("[data-kb-table=cost] tbody tr").filter(visible=True)
    expect(page.locator("[data-kb-count]")).to_contain_text("of")
    assert {each.get_attribute("data-f-accelerator") for each in rows.all()} == {"nvidia-h100-sxm"}
    rows.first.locator("td a").first.click()
    page.wait_for_url("**/cost/*.html#A-nvidia-h100-sxm")
    expect(page.locator("#A-nvidia-h100-sxm")).to_be_in_viewport()


@pytest.mark.parametrize("path", [COST, COVERAGE])
def test_a_page_of_a_model_fits_every_reader(
    open_context: OpenContext, real_site: BuiltSite, path: str
) -> None:
    """A phone, the dark scheme, no scripts, and nothing that axe finds serious."""
    for options in _READERS:
        context, witness = open_context(real_site, **options)
        page = context.new_page()
        page.goto(path)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= options["viewport"]["width"]
        if options.get("java_script_enabled", True):
            found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
            assert [each["help"] for each in found if each["impact"] in SERIOUS] == []
        witness.assert_clean()


_READERS: Final[tuple[dict[str, Any], ...]] = (
    {"viewport": {"width": 360, "height": 740}, "color_scheme": "dark"},
    {"viewport": {"width": 1280, "height": 800}, "color_scheme": "light"},
    {"viewport": {"width": 1280, "height": 800}, "java_script_enabled": False},
)


def test_home_answers_above_the_fold(open_context: OpenContext, real_site: BuiltSite) -> None:
    """On a common screen the chart and what to trust are seen without scrolling."""
    context, _ = open_context(real_site, viewport={"width": 1280, "height": 800})
    page = opened(context.new_page(), "index.html")
    for part in ("#Fastest-by-accelerator svg.kb-chart", ".kb-hero .kb-facts"):
        box = page.locator(part).bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= 800
