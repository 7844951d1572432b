"""A site whose every text is a payload: all of it is shown, none of it acts."""

import re
from collections.abc import Iterator
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import BuiltSite, Witness, watched_context
from tests.support.probe import look_at, look_at_all

KINDS: Final = ("benchmark", "accelerator", "interconnect", "engine", "model", "source", "gotcha")
QUERIES: Final = (
    "alert", "script", "onerror", "<img", '"><svg onload=alert(1)>', "__proto__", "constructor", "javascript:alert(1)",
    "evil.example", "{{7*7}}", "\u202e", "hostile-3",
)  # fmt: skip
ADDRESSES: Final = (
    "search.html?q=<img src=x onerror=alert(1)>",
    "search.html?q=%22%3E%3Csvg%20onload%3Dalert(1)%3E",
    "search.html?q=__proto__&q=constructor&__proto__[x]=1",
    "search.html?next=//evil.example&q=javascript:alert(1)",
    "search.html#<img src=x onerror=alert(1)>",
    "benchmarks/index.html#q=<img src=x onerror=alert(1)>&sort=__proto__&constructor=x",
    "benchmarks/hostile-0.html#%E0%A4%A",
    "no/such/<img src=x onerror=alert(1)>.html",
)


def plain(text: str) -> str:
    """Return a text with its white space as a browser shows it."""
    return " ".join(text.split())


def name_of(reference: str) -> str:
    """Return the page of a record."""
    return f"{reference}.html"


@pytest.fixture(scope="module")
def tab(browser: Browser, hostile_site: BuiltSite) -> Iterator[tuple[Page, Witness]]:
    """Give one tab on the hostile site."""
    context, witness = watched_context(browser, hostile_site)
    yield context.new_page(), witness
    context.close()


def visit(tab: Page, path: str) -> Any:
    """Open a page of the site, and wait until it is all there."""
    return tab.goto(path, wait_until="load")


def assert_inert(tab: Page, witness: Witness, *, links: bool = True) -> None:
    """Nothing ran, nothing was asked for, nothing was stopped, nothing became markup.

    With `links`, links to other sites carry no recommendation; those of hand-written pages may.
    """
    assert tab.evaluate("window.kbFired") == []
    assert tab.evaluate("window.kbViolations") == []
    assert tab.evaluate("Object.keys(Object.prototype).length") == 0
    assert [fault for fault in look_at(tab) if links or not fault.startswith("follows")] == []
    witness.assert_clean()


def test_pages_hold_texts_and_nothing_else(tab: tuple[Page, Witness], hostile_site: BuiltSite) -> None:
    """As a browser parses it, no page has a handler, a foreign element or origin, or a strange scheme.

    Title and first heading of a record's page are its title, and its text holds the payload in full: nothing is cut,
    decoded, dropped or joined.
    """
    page, witness = tab
    visit(page, "index.html")
    wanted: dict[str, list[str]] = {
        path: [] for path in hostile_site.pages() if not hostile_site.is_hand_written(path)
    }
    records = {name_of(ref): payload for ref, payload in hostile_site.hostile.items()}
    wanted |= {path: payload.text[:600].splitlines() for path, payload in records.items()}
    parsed = look_at_all(page, wanted)
    assert {path: each.faults for path, each in parsed.items() if each.faults} == {}
    assert {path: each.missing for path, each in parsed.items() if each.missing} == {}
    for path, payload in records.items():
        title = plain(payload.line[:200])
        assert parsed[path].title.startswith(f"{title} \u00b7 "), path
        assert parsed[path].heading == title, path
    witness.assert_clean()


@pytest.mark.parametrize("policy", [True, False], ids=["with-policy", "without-policy"])
def test_pages_run_nothing(browser: Browser, hostile_site: BuiltSite, policy: bool) -> None:
    """A page of every type, and the page of every payload, stay inert, also where no policy would stop a script.

    With the policy, every fourth payload shows that it has nothing to stop.
    """
    context, witness = watched_context(browser, hostile_site, bypass_csp=not policy)
    page = context.new_page()
    paths = [path for path in hostile_site.pages() if "/" not in path or path.endswith("index.html")]
    paths += [f"{kind}s/hostile-{number}.html" for number, kind in enumerate(KINDS)]
    payloads = [name_of(ref) for ref in hostile_site.hostile if ref.startswith("benchmarks/")]
    paths += payloads[::4] if policy else payloads
    for path in paths:
        visit(page, path)
        assert_inert(page, witness, links=not hostile_site.is_hand_written(path))
    context.close()


def test_typed_searches_run_nothing(tab: tuple[Page, Witness]) -> None:
    """Whatever is typed and whatever is found, results are text."""
    page, witness = tab
    for query in QUERIES:
        visit(page, "search.html")
        page.get_by_role("combobox").fill(query)
        expect(page.locator("[role=status]")).to_have_text(re.compile(r"result|Nothing found"))
        assert_inert(page, witness)


def test_tables_of_hostile_records_run_nothing(tab: tuple[Page, Witness]) -> None:
    """Sorting, every choice of every facet, and whatever is typed leave a table of texts."""
    page, witness = tab
    visit(page, "benchmarks/index.html")
    for header in page.locator("[data-kb-table] .kb-sort").all():
        header.click()
    for facet in page.locator("[data-kb-facet]").all():
        for value in facet.locator("option").evaluate_all("(all) => all.map((each) => each.value)"):
            facet.select_option(value)
        facet.select_option("")
    for query in QUERIES:
        page.locator("[data-kb-filter]").first.fill(query)
        expect(page.locator("[data-kb-count]").first).to_contain_text("rows")
    assert_inert(page, witness)


def test_addresses_run_nothing(tab: tuple[Page, Witness], hostile_site: BuiltSite) -> None:
    """Queries and fragments of an address are data too, and nobody is sent away."""
    page, witness = tab
    for address in ADDRESSES:
        response = visit(page, address)
        witness.errors = [error for error in witness.errors if response.status != 404 or "404" not in error]
        page.wait_for_function("document.querySelector('.kb-theme').title.includes(':')")
        assert page.url.startswith(hostile_site.url)
        assert_inert(page, witness)
