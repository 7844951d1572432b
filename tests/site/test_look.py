"""The shell, its styles and its scripts in a real browser, around sample bodies that use every component."""

import functools
import http.server
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Protocol

import pytest
from axe_playwright_python.sync_playwright import Axe
from markupsafe import Markup
from playwright.sync_api import Browser, BrowserContext, Page, expect

from kbtool.site.search import SearchDoc, build_index, entry_of
from kbtool.site.shell import Crumb, PageParts, Shell, build_shell

ROOT: Final = Path(__file__).resolve().parent.parent.parent
SAMPLES: Final = Path(__file__).resolve().parent / "look"
RECORD: Final = "benchmarks/b-17.html"
TABLE: Final = "benchmarks/index.html"
PAGES: Final = (RECORD, TABLE, "methodology.html", "search.html", "404.html")
HOSTILE: Final = "<img src=x onerror=alert(1)> __proto__"
WITNESS: Final = """
window.kbFaults = [];
window.alert = () => window.kbFaults.push("alert");
addEventListener("securitypolicyviolation", (e) => window.kbFaults.push(e.violatedDirective + " " + e.blockedURI));
"""
DOCS: Final = (
    SearchDoc(
        url=RECORD,
        title="FastServe serving Demo-MoE-V4.1-Flash on 8x RTX PRO 6000",
        kind="benchmark",
        id="ev-fastserve-demo41-decode-tok-s-per-user",
        keywords=("FastServe", "tok/s per user"),
        numbers=("93.9 tok/s per user", "6,853"),
        status="draft",
        text="speculation by DSPARK in blocks",
    ),
    SearchDoc(url=TABLE, title="NVIDIA RTX PRO 6000", kind="page", keywords=("Blackwell",)),
    SearchDoc(
        url="methodology.html", title="Methodology", kind="page", text="comparability of figures; a spark"
    ),
    SearchDoc(
        url="principles.html", title=HOSTILE, kind="page", keywords=(HOSTILE,), text="x\u2028</script>"
    ),
    SearchDoc(
        url="benchmarks/old.html", title="Old RTX figure", kind="benchmark", id="old", status="retracted"
    ),
)


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve a small site under a path of a host."""
    folder = tmp_path_factory.mktemp("www")
    write_site(build_shell(ROOT, tmp_path_factory.mktemp("shell")), folder / "kb")
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/kb/"
        server.shutdown()
        thread.join()


def write_site(shell: Shell, folder: Path) -> None:
    """Write the shell's files, the sample pages and a search index."""
    files = dict(shell.files) | build_index(map(entry_of, DOCS))
    crumbs = (Crumb("Benchmarks", TABLE),)
    for path, sample in ((RECORD, "record.html"), (TABLE, "table.html")):
        body = Markup((SAMPLES / sample).read_text("utf-8"))  # noqa: S704 - our own sample
        parts = PageParts(path, "A sample", body, nav=TABLE, crumbs=crumbs if path == RECORD else ())
        files[path] = shell.page(parts).encode()
    files["index.html"] = shell.page(PageParts("index.html", "", Markup("<h1>Home</h1>"))).encode()
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)


def wait_for_scripts(page: Page) -> None:
    """Wait until the modules of a page have set it up."""
    page.locator(".kb-theme[title*=':']").wait_for(state="attached")
    for place, sign in (("[data-kb-table]", ".kb-sort"), ("#kb-search-page", "[role=combobox]")):
        if page.locator(place).count():
            page.locator(f"{place} {sign}").first.wait_for()


class Open(Protocol):
    """Opens a page of the sample site."""

    def __call__(self, path: str, **context: Any) -> Page:
        """Return the page, loaded."""


@pytest.fixture
def opened(browser: Browser, address: str) -> Iterator[Open]:
    """Return what opens pages; at the end none may have had a fault or asked another host."""
    faults: list[str] = []
    contexts: list[BrowserContext] = []

    def open_page(path: str, **context: Any) -> Page:
        contexts.append(browser.new_context(**context))
        page = contexts[-1].new_page()
        if context.get("java_script_enabled", True):
            page.add_init_script(WITNESS)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        page.on(
            "request", lambda r: faults.append(r.url) if not r.url.startswith((address, "data:")) else None
        )
        page.goto(address + path)
        if context.get("java_script_enabled", True):
            wait_for_scripts(page)
        return page

    yield open_page
    for context in contexts:
        for page in context.pages:
            faults += page.evaluate("window.kbFaults || []")
        context.close()
    assert faults == []


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize(("scheme", "width"), [("light", 1400), ("dark", 1400), ("dark", 390)])
def test_no_fault_of_accessibility(opened: Open, path: str, scheme: str, width: int) -> None:
    """axe-core finds nothing, in either colour scheme, on a desk and on a phone."""
    assert (
        faults_of_accessibility(opened(path, color_scheme=scheme, viewport={"width": width, "height": 900}))
        == []
    )


def test_no_fault_of_accessibility_while_searching(opened: Open) -> None:
    """Neither in the open dialog, empty and with results."""
    page = opened(RECORD)
    page.keyboard.press("/")
    expect(page.get_by_role("combobox")).to_be_focused()
    assert faults_of_accessibility(page) == []
    page.keyboard.type("rtx")
    expect(page.get_by_role("option")).to_have_count(2)
    assert faults_of_accessibility(page) == []


def faults_of_accessibility(page: Page) -> list[tuple[str, list[str]]]:
    """Return what axe-core finds, by rule."""
    violations = Axe().run(page).response["violations"]
    return [(found["id"], [node["html"] for node in found["nodes"]]) for found in violations]


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("scripts", [True, False])
def test_a_phone_shows_the_whole_page(opened: Open, path: str, *, scripts: bool) -> None:
    """At 360 px nothing sticks out; wide tables scroll in a box of their own."""
    page = opened(path, viewport={"width": 360, "height": 740}, java_script_enabled=scripts)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    assert page.evaluate("document.body.scrollWidth") == 360


def background(page: Page) -> str:
    """Return the colour behind the text."""
    color: str = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return color


def test_the_scheme_of_the_system_needs_no_script(opened: Open) -> None:
    """Light and dark follow the system also without JavaScript."""
    light = background(opened(RECORD, color_scheme="light", java_script_enabled=False))
    dark = background(opened(RECORD, color_scheme="dark", java_script_enabled=False))
    assert light == "rgb(255, 255, 255)"
    assert dark != light


def test_a_chosen_scheme_stays(opened: Open) -> None:
    """The button goes through system, light and dark; the choice holds on the next page, from its first paint."""
    page = opened(RECORD, color_scheme="light")
    button = page.get_by_role("button", name="Colour scheme")
    button.click()
    button.click()
    expect(button).to_have_accessible_name("Colour scheme: dark")
    dark = background(page)
    page.route("**/kb.js", lambda route: route.fulfill(body="", content_type="text/javascript"))
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert background(page) == dark != "rgb(255, 255, 255)"
    page.unroute("**/kb.js")
    page.reload()
    wait_for_scripts(page)
    button.click()
    expect(button).to_have_accessible_name("Colour scheme: system")
    assert background(page) == "rgb(255, 255, 255)"


def test_the_menu_of_a_phone_needs_no_script(opened: Open) -> None:
    """Closed, its links cannot be reached; the keyboard opens it, and the links work."""
    page = opened(RECORD, viewport={"width": 360, "height": 740}, java_script_enabled=False)
    link = page.get_by_role("navigation", name="Menu").get_by_role("link", name="Methodology")
    expect(link).to_be_hidden()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    expect(link).to_be_visible()
    link.click()
    expect(page).to_have_title("Methodology \u00b7 Inference Evidence")


def test_the_first_tab_skips_to_the_content(opened: Open) -> None:
    """A keyboard reader need not pass the header."""
    page = opened(RECORD)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"


def rows(page: Page) -> list[str]:
    """Return the first word of each visible row of the table."""
    return [text.split()[0].strip(",") for text in page.locator("tbody tr:visible th").all_inner_texts()]


def test_without_scripts_the_whole_table_stands(opened: Open) -> None:
    """All rows are there, and no control that would do nothing."""
    page = opened(TABLE, java_script_enabled=False)
    assert rows(page) == ["Alpha", "Beta", "Gamma", "Delta", "Epsilon"]
    expect(page.get_by_label("Filter")).to_be_hidden()


def test_a_table_sorts_by_numbers_and_texts(opened: Open) -> None:
    """Numbers start with the largest, a third click restores the order; gaps stay last."""
    page = opened(TABLE)
    value = page.get_by_role("button", name="Value")
    value.click()
    assert rows(page) == ["Beta", "Gamma", "Alpha", "Epsilon", "Delta"]
    expect(page.get_by_role("columnheader", name="Value")).to_have_attribute("aria-sort", "descending")
    value.click()
    assert rows(page) == ["Epsilon", "Alpha", "Gamma", "Beta", "Delta"]
    value.click()
    assert rows(page) == ["Alpha", "Beta", "Gamma", "Delta", "Epsilon"]
    page.get_by_role("button", name="Record").click()
    assert rows(page) == ["Alpha", "Beta", "Delta", "Epsilon", "Gamma"]


def test_a_table_filters_and_says_how_much_is_left(opened: Open) -> None:
    """Text without regard to case and accents, facets, and both."""
    page = opened(TABLE)
    page.get_by_label("Filter").fill("UNICODE")
    assert rows(page) == ["Gamma"]
    expect(page.locator("[data-kb-count]")).to_have_text("1 of 5 rows")
    page.get_by_label("Engine").select_option("fast")
    expect(page.get_by_text("No record has all of this.")).to_be_visible()
    page.get_by_label("Filter").fill("")
    assert rows(page) == ["Alpha", "Beta", "Epsilon"]


def test_the_address_keeps_the_state_of_a_table(opened: Open) -> None:
    """A view can be linked; a hostile or outdated hash does nothing."""
    page = opened(f"{TABLE}#engine=fast&sort=-value")
    assert rows(page) == ["Beta", "Alpha", "Epsilon"]
    page.get_by_label("Filter").fill("alpha")
    expect(page).to_have_url(re.compile("#q=alpha&engine=fast&sort=-value$"))
    hostile = opened(f"{TABLE}#engine=__proto__&sort=constructor&q=%3Cimg%20src=x%3E&__proto__=1")
    assert rows(hostile) == []
    hostile.get_by_label("Filter").fill("")
    assert rows(hostile) == ["Alpha", "Beta", "Gamma", "Delta", "Epsilon"]
    assert hostile.evaluate("Object.keys(Object.prototype).length") == 0


def find(page: Page, query: str, *, results: int) -> list[str]:
    """Type a query on the search page and return the titles of what is found."""
    page.get_by_role("combobox").fill(query)
    expect(page.get_by_role("option")).to_have_count(results)
    return page.locator("[role=option] strong").all_text_contents()


@pytest.mark.parametrize(
    ("query", "first", "results"),
    [
        ("rtx pro 6000", "NVIDIA RTX PRO 6000", 2),
        ("93.9", "FastServe", 1),
        ("6,853", "FastServe", 1),
        ("6853", "FastServe", 1),
        ("tok/s per user", "FastServe", 1),
        ("demo41", "FastServe", 1),
        ("ev-fastserve-demo41-decode-tok-s-per-user", "FastServe", 1),
        ("v4.1", "FastServe", 1),
        ("DSPARK", "FastServe", 1),
        ("fastsrve", "FastServe", 1),
        ("blackw", "NVIDIA", 1),
        ("comparabilty", "Methodology", 1),
        ("rtx dspark", "FastServe", 1),
        ("old", "Old", 1),
        ("__proto__", "<img src=x onerror=alert(1)> __proto__", 1),
    ],
)
def test_search_finds(opened: Open, query: str, first: str, results: int) -> None:
    """Names, numbers in both spellings, ids, parts of them, prose, beginnings and slips."""
    assert find(opened("search.html"), query, results=results)[0].startswith(first)


def test_the_index_is_fetched_when_it_is_wanted(opened: Open) -> None:
    """A page costs nothing for the search until the reader enters it."""
    page = opened(RECORD)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
    page.keyboard.press("/")
    expect(page.get_by_role("dialog", name="Search")).to_be_visible()
    page.keyboard.type("fastserve")
    expect(page.get_by_role("option")).to_have_count(1)
    assert asked[:3] == ["search.js", "search-index.js", "quick.json.gz"]


def test_a_result_opens_by_keyboard(opened: Open, address: str) -> None:
    """Control-K opens the dialog, arrows move, Enter follows, Escape closes."""
    page = opened("methodology.html")
    page.keyboard.press("Control+k")
    field = page.get_by_role("combobox")
    expect(field).to_be_focused()
    page.keyboard.type("rtx")
    expect(page.get_by_role("option")).to_have_count(2)
    page.keyboard.press("Escape")
    expect(field).to_be_hidden()
    page.keyboard.press("/")
    expect(field).to_be_focused()
    page.keyboard.press("ArrowDown")
    chosen = page.locator(f"#{field.get_attribute('aria-activedescendant')}")
    expect(chosen).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    expect(page).to_have_url(address + RECORD)
    wait_for_scripts(page)


def test_retracted_records_are_left_out_until_asked_for(opened: Open) -> None:
    """They are counted, and shown on demand or by their own id."""
    page = opened("search.html")
    find(page, "rtx", results=2)
    expect(page.get_by_role("status")).to_contain_text("1 retracted or superseded left out")
    page.get_by_label("with retracted and superseded").check()
    expect(page.get_by_role("option")).to_have_count(3)


def test_a_hostile_query_is_text(opened: Open) -> None:
    """From the address or typed, it is searched for and nothing else; results show hostile titles as text."""
    page = opened("search.html?q=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E")
    expect(page.get_by_role("option")).to_have_count(1)
    assert page.locator("[role=option] strong").text_content() == HOSTILE
    assert page.locator("[role=option] img").count() == 0
    page.get_by_role("combobox").fill("constructor hasOwnProperty \\ ( [ * " + "x" * 5000)
    expect(page.get_by_role("status")).to_have_text("Nothing found")
    assert (
        len(page.get_by_role("combobox").input_value()) <= 200
        or page.evaluate("location.search.length") <= 400
    )


def test_the_address_keeps_a_query(opened: Open) -> None:
    """A search can be linked."""
    page = opened("search.html?q=93.9")
    expect(page.get_by_role("option")).to_have_count(1)
    find(page, "rtx", results=2)
    expect(page).to_have_url(re.compile(r"search\.html\?q=rtx$"))


def test_copying_says_what_it_did(opened: Open) -> None:
    """The button copies its text."""
    page = opened(RECORD, permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy id").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == "b-17"
