"""The tests of hostile texts would fail if the site did not escape: the probe is tried on a site that does not."""

from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.conftest import built, lay_out_hostile, watched_context
from tests.support.probe import look_at
from tests.support.unescaped import escaping_off

FIRING_AT_LEAST: Final = 14
TOUCH: Final = """() => {
  for (const element of document.querySelectorAll("main *"))
    for (const type of ["mouseover", "focus", "toggle", "click"])
      if (element.hasAttribute("on" + type)) element.dispatchEvent(new Event(type));
}"""


@pytest.fixture(scope="module")
def naive_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project of hostile records."""
    project = tmp_path_factory.mktemp("naive")
    lay_out_hostile(project)
    return project


def test_the_probe_sees_what_escaping_prevents(browser: Browser, naive_project: Path) -> None:
    """With escaping and policy off, at least fourteen payloads run, and the look at the page finds more."""
    with escaping_off(), built(naive_project) as site:
        context, _ = watched_context(browser, site, bypass_csp=True)
        page = context.new_page()
        pages = sorted((site.folder / "benchmarks").glob("hostile-*.html"))
        firing = [path.name for path in pages if fires(page, f"benchmarks/{path.name}")]
        page.goto("methodology.html")
        seen = [path.name for path in pages if is_noticed(page, f"benchmarks/{path.name}")]
        context.close()
    assert len(firing) >= FIRING_AT_LEAST, firing
    assert len(seen) >= len(firing)


def fires(page: Page, path: str) -> bool:
    """Return whether a payload of the page runs, by itself or when it is touched."""
    page.goto(path, wait_until="load")
    page.evaluate(TOUCH)
    return bool(page.evaluate("window.kbFired"))


def is_noticed(page: Page, path: str) -> bool:
    """Return whether the look at the page finds markup that is not ours."""
    page.goto(path, wait_until="domcontentloaded")
    return bool(look_at(page))
