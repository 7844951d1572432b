"""The page of a run in a real browser: nothing is asked for, nothing runs, everything is reachable and fits."""

from pathlib import Path
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from kbtool.runner.report import html_report
from kbtool.runner.results import load_run
from tests.runner.report.made_run import Shape, make_run, plan_of, workload

ColorScheme = Literal["light", "dark"]
HOSTILE = "<script>window.hit=1</script><img src=x onerror='window.hit=1'>\"' &lt;"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of a page with hostile texts in it."""
    root = tmp_path_factory.mktemp("page")
    plan = plan_of(
        workload("single_stream", "single"), workload("concurrency", "users"), title="A run <i>of</i> ours"
    )
    folder = make_run(root / "run", plan, Shape(cards=2, model=HOSTILE, warned=[("odd", HOSTILE)]))
    path = root / "report.html"
    path.write_bytes(html_report(load_run(folder), folder))
    return path


def _open(browser: Browser, file: Path, *, width: int, scheme: ColorScheme) -> tuple[Page, list[str]]:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: said.append(request.url) if request.url != file.as_uri() else None)
    page.goto(file.as_uri())
    return page, said


@pytest.mark.parametrize(
    ("width", "scheme"), [(1360, "light"), (1360, "dark"), (360, "light"), (360, "dark")]
)
def test_nothing_is_asked_for_and_nothing_overflows(
    browser: Browser, file: Path, width: int, scheme: ColorScheme
) -> None:
    """Without a request, a violation of the policy or a script, in both schemes, on a desk and on a phone."""
    page, said = _open(browser, file, width=width, scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert said == []
    assert page.evaluate("window.hit") is None
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(14, 18, 23)"
    assert dark == (scheme == "dark")
    page.context.close()


def test_texts_come_out_as_they_went_in(browser: Browser, file: Path) -> None:
    """Title, model name and remarks read as what they are."""
    page, _ = _open(browser, file, width=1360, scheme="light")
    assert page.inner_text("h1") == "A run <i>of</i> ours"
    assert HOSTILE in page.inner_text(".facts")
    assert HOSTILE in page.inner_text(".remarks")
    assert page.locator("main script, main img, main i").count() == 0
    page.context.close()


def test_every_link_leads_somewhere_and_ids_are_unique(browser: Browser, file: Path) -> None:
    """A link to a cell opens it, although it is folded away."""
    page, _ = _open(browser, file, width=1360, scheme="light")
    lost = page.evaluate(
        "[...document.querySelectorAll('a[href^=\"#\"]')].map((each) => each.getAttribute('href').slice(1))"
        ".filter((id) => !document.getElementById(id))"
    )
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((each) => each.id)")
    assert lost == []
    assert len(ids) == len(set(ids))
    page.locator("tbody a[href='#cell-2']").first.click()
    assert page.locator("#cell-2").is_visible()
    page.context.close()


def test_data_of_a_plot_is_one_click_away(browser: Browser, file: Path) -> None:
    """The file behind a plot is saved under its name without asking anybody."""
    page, said = _open(browser, file, width=1360, scheme="light")
    figure = page.locator("figure").first
    figure.locator("summary").click()
    with page.expect_download() as started:
        figure.locator("a.get").click()
    assert started.value.suggested_filename.endswith(".csv")
    assert started.value.path().read_text("utf-8").startswith("cell,")
    assert not [each for each in said if not each.startswith("data:")]
    page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_there_is_no_barrier(browser: Browser, file: Path, scheme: ColorScheme) -> None:
    """Axe finds nothing, with everything unfolded, in both schemes."""
    page, _ = _open(browser, file, width=1360, scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    violations = Axe().run(page).response["violations"]
    assert [f"{each['id']}: {each['nodes'][0]['html'][:200]}" for each in violations] == []
    page.context.close()


def test_printing_opens_the_cells(browser: Browser, file: Path) -> None:
    """On paper nothing can be unfolded, so cells are."""
    page, _ = _open(browser, file, width=1360, scheme="light")
    page.emulate_media(media="print")
    assert page.locator("#cell-3 svg").first.is_visible()
    assert page.locator("nav").is_hidden()
    page.context.close()
