"""The site on paper and for readers who want nothing to move: what is printed is whole, light and says where it is from."""

from typing import Any, Final

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from tests.browser.conftest import BuiltSite, OpenContext
from tests.browser.test_explore import opened
from tests.browser.test_real_site import DECODE, PREFILL, ready

SHEET: Final[ViewportSize] = {"width": 718, "height": 1040}
"""What an A4 sheet leaves between margins of a centimetre, in CSS pixels."""
WIDE_SHEET: Final[ViewportSize] = {"width": 1046, "height": 718}
"""The same sheet on its side, for the table of the explorer."""
CHOSEN: Final = "explore.html#engine=vllm&view=line"
COMPARED: Final = f"compare.html?ids={DECODE.removesuffix('.html')},{PREFILL.removesuffix('.html')}"
PRINTED: Final = (
    "index.html", DECODE, PREFILL, "accelerators/nvidia-rtx-pro-6000-blackwell-max-q.html", "benchmarks/index.html",
    "coverage.html", "cost.html", "limits.html", "quality.html", "metrics.html", COMPARED, CHOSEN,
)  # fmt: skip
TOOLS: Final = (
    ".md-header, .md-footer, .kb-subnav, .kb-pager, .kb-actions, .kb-x__facet, .kb-toc, main button:not(.kb-sort),"
    " main input, main select"
)
CUT: Final = """
() => Array.from(document.querySelectorAll("main *"))
  .filter((each) => each.checkVisibility() && !each.closest(".kb-sr, svg"))
  .filter((each) => {
    const { left, right, width } = each.getBoundingClientRect();
    const clips = getComputedStyle(each).overflowX !== "visible" && each.scrollWidth > each.clientWidth + 1;
    return width && (left < -1 || right > innerWidth + 1 || clips);
  })
  .map((each) => each.outerHTML.slice(0, 150))
"""
"""What stands beyond the edges of the sheet, or in a box that would have to be scrolled."""
FAINT: Final = """
() => {
  const light = (text) => {
    const [red, green, blue] = text.match(/[\\d.]+/g).map(Number);
    return (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255;
  };
  return Array.from(document.querySelectorAll("main svg.kb-chart text"))
    .map((each) => getComputedStyle(each).fill)
    .filter((fill) => light(fill) > 0.5);
}
"""
MOVING: Final = """
() => Array.from(document.querySelectorAll("*")).flatMap((each) => [null, "::before", "::after"].map((part) => {
  const style = getComputedStyle(each, part);
  const moves = style.transitionDuration.split(", ").some((time) => time !== "0s") || style.animationName !== "none";
  return moves ? each.className : null;
})).filter((each) => each !== null)
"""


def paper(open_context: OpenContext, site: BuiltSite, address: str) -> Page:
    """Open a page in the dark scheme, as it goes to the printer."""
    sheet = WIDE_SHEET if address == CHOSEN else SHEET
    context, _ = open_context(site, color_scheme="dark", viewport=sheet)
    page = context.new_page()
    if address.startswith("explore"):
        opened(page, address)
    else:
        ready(page, address)
    if address == COMPARED:
        page.locator("[data-kb-verdict]").wait_for()
    page.emulate_media(media="print", color_scheme="dark")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    return page


@pytest.mark.parametrize("address", PRINTED)
def test_paper_holds_all_and_no_tools(open_context: OpenContext, real_site: BuiltSite, address: str) -> None:
    """Nothing is beyond the edge of the sheet, nothing has to be scrolled or pressed, and the address stands on top."""
    page = paper(open_context, real_site, address)
    assert page.evaluate(CUT) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    expect(page.locator(TOOLS).filter(visible=True)).to_have_count(0)
    expect(page.locator("main > .kb-printed")).to_have_text(real_site.url + address)
    expect(page.get_by_role("heading", level=1)).to_be_visible()


@pytest.mark.parametrize("address", [PREFILL, CHOSEN])
def test_paper_is_light_whatever_the_screen_is(
    open_context: OpenContext, real_site: BuiltSite, address: str
) -> None:
    """Ground and charts are light, their text is dark."""
    page = paper(open_context, real_site, address)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    if address == CHOSEN:
        corner = "Array.from(document.querySelector('[data-x=plot] canvas').getContext('2d').getImageData(2, 2, 1, 1).data)"
        assert page.evaluate(corner) == [255, 255, 255, 255]
    else:
        assert page.locator("main svg.kb-chart text").count() > 5
        assert page.evaluate(FAINT) == []


def test_drawing_keeps_its_proportions_on_paper(open_context: OpenContext, real_site: BuiltSite) -> None:
    """A chart made for a wide screen is made smaller, not squeezed."""
    context, _ = open_context(real_site, viewport={"width": 1400, "height": 900})
    page = opened(context.new_page())
    canvas = page.locator("[data-x=plot] canvas").first
    page.set_viewport_size(SHEET)
    page.emulate_media(media="print")
    drawn, shown = canvas.evaluate("(it) => [it.width / it.height, it.clientWidth / it.clientHeight]")
    assert shown == pytest.approx(drawn, rel=0.02)


def test_paper_says_what_was_chosen(open_context: OpenContext, real_site: BuiltSite) -> None:
    """The chosen filters and the number of results are on the sheet, also where the filters are folded away."""
    page = paper(open_context, real_site, CHOSEN)
    chips = page.locator("[data-x=chips]")
    assert "vLLM" in chips.inner_text()
    assert chips.bounding_box() is not None
    expect(page.locator("[data-x=count]")).to_be_visible()


def test_page_is_as_before_after_printing(page: Page) -> None:
    """A browser that prints tells the page: the address is there while it does, and gone afterwards."""
    opened(page, CHOSEN)
    page.evaluate(
        """() => addEventListener("beforeprint", () => {
          window.kbSheet = document.querySelector(".kb-printed").textContent;
        })"""
    )
    assert page.pdf(format="A4").startswith(b"%PDF")
    assert page.evaluate("window.kbSheet") == page.url
    expect(page.locator(".kb-printed")).to_have_count(0)
    assert page.evaluate("document.documentElement.dataset.theme") is None


def test_paper_shows_where_links_lead_outside_alone(open_context: OpenContext, real_site: BuiltSite) -> None:
    """The address of a source stands behind its link; that of another page of the site would be noise."""
    addition = (
        "(all) => all.map((each) => getComputedStyle(each, '::after').content).filter((it) => it !== 'none')"
    )
    page = paper(open_context, real_site, DECODE.replace(".html", ".evidence.html"))
    outside = page.locator("main a[rel~=noopener]")
    assert len(outside.evaluate_all(addition)) == outside.count() > 0
    page = paper(open_context, real_site, CHOSEN)
    links = page.locator("[data-x=table] tbody a")
    assert links.count() > 0
    assert links.evaluate_all(addition) == []


# --- Nothing that moves --------------------------------------------------------------------------


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_menu_moves_only_for_who_lets_it(
    open_context: OpenContext, real_site: BuiltSite, motion: Any
) -> None:
    """The menu of small screens slides in, or is there at once."""
    context, _ = open_context(real_site, reduced_motion=motion, viewport={"width": 800, "height": 700})
    page = ready(context.new_page(), "index.html")
    running = page.evaluate(
        """() => {
          document.getElementById("__drawer").checked = true;
          getComputedStyle(document.querySelector(".kb-drawer")).transform;
          return document.getAnimations().length;
        }"""
    )
    assert (running > 0) == (motion == "no-preference")


@pytest.mark.parametrize("address", ["index.html", PREFILL, "benchmarks/index.html", CHOSEN, "search.html"])
def test_nothing_could_move(open_context: OpenContext, real_site: BuiltSite, address: str) -> None:
    """No element has a transition or an animation for a reader who asked for none."""
    context, _ = open_context(real_site, reduced_motion="reduce")
    page = context.new_page()
    if address == CHOSEN:
        opened(page, address)
    else:
        ready(page, address)
    assert page.evaluate(MOVING) == []
