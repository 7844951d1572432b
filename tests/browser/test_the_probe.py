"""The tests of hostile texts would fail if the site did not escape: the probe is tried on a site that does not."""

from itertools import islice
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser, BrowserContext, Error

from tests.browser.conftest import built, lay_out_hostile, watched_context
from tests.support.probe import look_at_all
from tests.support.unescaped import escaping_off

FIRING_AT_LEAST: Final = 14
TOUCH: Final = """() => {
  for (const element of document.querySelectorAll("main *"))
    for (const type of ["mouseover", "focus", "toggle", "click"])
      if (element.hasAttribute("on" + type)) element.dispatchEvent(new Event(type));
  document.querySelector("a[href^='javascript:' i]")?.click();
}"""


@pytest.fixture(scope="module")
def naive_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project of hostile records."""
    project = tmp_path_factory.mktemp("naive")
    lay_out_hostile(project)
    return project


def test_the_probe_sees_what_escaping_prevents(browser: Browser, naive_project: Path) -> None:
    """With escaping and policy off, at least fourteen payloads run, and the look at the pages finds more."""
    with escaping_off(), built(naive_project) as site:
        context, _ = watched_context(browser, site, bypass_csp=True)
        paths = [
            f"benchmarks/{path.name}" for path in sorted((site.folder / "benchmarks").glob("hostile-*.html"))
        ]
        page = context.new_page()
        page.goto("methodology.html")
        parsed = look_at_all(page, dict.fromkeys(paths, ()))
        noticed = [path for path in paths if parsed[path].faults]
        firing = list(islice((path for path in noticed if fires(context, path)), FIRING_AT_LEAST))
        context.close()
    assert len(firing) == FIRING_AT_LEAST, firing
    assert len(noticed) > len(firing), noticed


def fires(context: BrowserContext, path: str) -> bool:
    """Return whether a payload of the page runs, by itself or when it is touched, or takes the reader away."""
    page = context.new_page()
    try:
        page.goto(path, wait_until="load")
        page.evaluate(TOUCH)
        return bool(page.evaluate("window.kbFired"))
    except Error:  # the page was left while it was looked at
        return True
    finally:
        page.close()
