"""The explorer and the comparison by keyboard alone: everything is reached, and the reader sees where the focus is."""

from typing import Any, Final

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.conftest import BuiltSite, OpenContext
from tests.browser.test_explore import opened
from tests.browser.test_print_and_motion import COMPARED
from tests.browser.test_real_site import DECODE, PREFILL, ready

MARK: Final = """
() => {
  const asked = "a[href], button:not(:disabled), input:not(:disabled, [type=radio]:not(:checked)), select:not(:disabled), summary, [tabindex='0']";
  const all = Array.from(document.querySelectorAll(asked)).filter((each) => each.checkVisibility({ visibilityProperty: true }));
  all.forEach((each, at) => (each.dataset.kbAt = at));
  scrollTo(0, 0);
  all[0].focus();
  return all.length;
}
"""
"""Numbers everything that can be worked (of several radio buttons one: arrows choose among them), and starts at the top."""
FOCUSED: Final = """
() => {
  const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
  const luminance = ([red, green, blue]) => {
    const [r, g, b] = [red, green, blue].map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const it = document.activeElement;
  if (!it || it === document.body) return null;
  const style = getComputedStyle(it);
  const ground = luminance(rgb(getComputedStyle(document.body).backgroundColor));
  const line = luminance(rgb(style.outlineColor));
  const contrast = (Math.max(ground, line) + 0.05) / (Math.min(ground, line) + 0.05);
  const { top, bottom } = it.getBoundingClientRect();
  const header = document.querySelector(".md-header").getBoundingClientRect().bottom;
  return {
    at: it.dataset.kbAt ?? "",
    html: it.outerHTML.slice(0, 120),
    seen: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1.5 && contrast >= 3,
    on_screen: bottom > 0 && top < innerHeight && (bottom > header || it.closest(".md-header, .kb-skip") !== null),
  };
}
"""
"""Says what has the focus, whether an outline of enough contrast shows it, and whether it is on the screen."""
CHOSEN: Final = "explore.html#metric=prefill_tok_s&engine=sglang&by=model"
"""A view of few points: each is a link in the table behind the chart."""
WORKED: Final = ("index.html", DECODE, "benchmarks/index.html", COMPARED, CHOSEN)


def set_up(page: Page, address: str) -> Page:
    """Open a page with all that a reader can unfold unfolded."""
    if address == CHOSEN:
        opened(page, address)
        for part in ("points", "chooser"):
            page.locator(f"[data-x={part}]").evaluate("(it) => { it.open = true; }")
        expect(page.locator("[data-x=points] tbody tr").first).to_be_visible()
    else:
        ready(page, address)
    if address == COMPARED:
        page.locator("[data-kb-verdict]").wait_for()
    return page


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("address", WORKED)
def test_tab_reaches_everything_and_shows_where_it_is(
    open_context: OpenContext, real_site: BuiltSite, address: str, scheme: Any
) -> None:
    """From the top to the end of the page the focus stops at each control once, and is seen there."""
    context, witness = open_context(real_site, color_scheme=scheme)
    page = set_up(context.new_page(), address)
    number = page.evaluate(MARK)
    met: list[str] = []
    hidden: list[str] = []
    for _ in range(number + 20):
        found = page.evaluate(FOCUSED)
        if found is None or found["at"] in met:
            break
        page.keyboard.press("Tab")
        met.append(found["at"])
        if not (found["seen"] and found["on_screen"]):
            hidden.append(f"{found['html']} {found['seen']} {found['on_screen']}")
    missed = set(map(str, range(number))) - set(met)
    assert (
        page.evaluate(
            "(all) => all.map((at) => document.querySelector(`[data-kb-at='${at}']`).outerHTML.slice(0, 120))",
            sorted(missed),
        )
        == []
    )
    assert hidden == []
    witness.assert_clean()


def test_explorer_is_worked_by_keyboard_alone(page: Page) -> None:
    """Facet, column, order and file, from the first Tab on, without a pointer."""
    opened(page)

    def go_to(selector: str) -> None:
        for _ in range(400):
            if page.evaluate("(wanted) => document.activeElement.matches(wanted)", selector):
                return
            page.keyboard.press("Tab")
        raise AssertionError(selector)

    go_to("[data-facet=year] summary")
    page.keyboard.press("Enter")
    go_to("[data-facet=year] input[type=checkbox]")
    page.keyboard.press("Space")
    expect(page.locator("[data-x=chips] li")).to_have_count(1)
    go_to("[data-x=plot]")
    page.keyboard.press("ArrowRight")
    expect(page.locator("[data-x=said]")).to_contain_text("1 of ")
    go_to("[data-x=csv]")
    with page.expect_download():
        page.keyboard.press("Enter")
    go_to("[data-x=chooser] summary")
    page.keyboard.press("Enter")
    go_to("[data-x=chooser] input[value=title], [data-x=chooser] input:not(:checked)")
    name = page.evaluate("document.activeElement.value")
    page.keyboard.press("Space")
    go_to(f"th[data-column={name}] button")
    page.keyboard.press("Enter")
    expect(page.locator(f"th[data-column={name}]")).to_have_attribute("aria-sort", "ascending")


def test_compare_is_worked_by_keyboard_alone(page: Page) -> None:
    """Two results are typed, held against each other, and one is taken away: the focus is never lost."""
    ready(page, "compare.html")
    field = page.locator("[data-kb-compare-field]")
    field.focus()
    for path in (DECODE, PREFILL):
        page.keyboard.type(path.removesuffix(".html"))
        page.keyboard.press("Enter")
    expect(page.locator("[data-kb-verdict]")).to_have_count(1)
    expect(field).to_be_focused()
    page.locator("[data-kb-compare-out] thead button").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("[data-kb-verdict]")).to_have_count(0)
    expect(page.locator("[data-kb-compare-out] thead button")).to_have_count(1)
    expect(field).to_be_focused()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
@pytest.mark.parametrize(
    "address",
    [
        DECODE,
        "accelerators/nvidia-rtx-pro-6000-blackwell-max-q.html",
        "engines/sglang.html",
        "cost.html",
        COMPARED,
        CHOSEN,
    ],
)
def test_axe_finds_nothing_at_all(
    open_context: OpenContext, real_site: BuiltSite, address: str, scheme: Any, width: int
) -> None:
    """No barrier of any weight, and no target below 24 pixels without room around it."""
    context, _ = open_context(real_site, color_scheme=scheme, viewport={"width": width, "height": 800})
    page = set_up(context.new_page(), address)
    options = {"resultTypes": ["violations"], "rules": {"target-size": {"enabled": True}}}
    violations = Axe().run(page, options=options).response["violations"]
    assert [f"{each['id']}: {each['nodes'][0]['html'][:200]}" for each in violations] == []
