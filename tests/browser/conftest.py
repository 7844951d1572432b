"""What the tests in a browser share: two built sites on loopback, and a witness for each page."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Page,
    Request,
)

from kbtool import site
from tests.attacks.case import BASE
from tests.support.hostile import Payload, payloads, write_corpus
from tests.support.webserver import serving

ROOT: Final = Path(__file__).resolve().parent.parent.parent
ADDRESS: Final = "https://example.org/kb/"
"""Where the sites say that they are published."""
PATIENCE_MS: Final = 30_000
"""How long a page may take on a busy machine before a test gives up; nothing waits for it to pass."""

WITNESS: Final = """
window.kbFired = [];
for (const name of ["alert", "confirm", "prompt", "print", "open"])
  window[name] = (...given) => { window.kbFired.push(name + " " + given.join(" ")); };
window.kbViolations = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.kbViolations.push(event.effectiveDirective + " " + event.blockedURI + " " + event.sample));
"""
"""Runs before anything else in each frame: whatever a payload calls leaves a trace."""


@dataclass(frozen=True)
class BuiltSite:
    """A site and where it is served."""

    url: str
    folder: Path
    project: Path
    hostile: dict[str, Payload] = field(default_factory=dict)
    """Payload of each record of the hostile site."""

    def pages(self) -> list[str]:
        """Return the path of every page, from the root of the site."""
        return sorted(path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*.html"))

    def is_hand_written(self, path: str) -> bool:
        """Return whether we wrote the page, and no stranger's record is in it."""
        return (self.project / "site" / path).with_suffix(".md").is_file()


@dataclass
class Witness:
    """What a browser context did that no page may do."""

    foreign: list[str] = field(default_factory=list)
    """Requests to another origin; the browser cannot resolve their hosts."""
    errors: list[str] = field(default_factory=list)
    """Errors of the console and of scripts."""
    dialogs: list[str] = field(default_factory=list)

    def saw_dialog(self, dialog: Dialog) -> None:
        """Note a dialog and close it."""
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def saw_message(self, message: ConsoleMessage) -> None:
        """Note an error of the console."""
        if message.type == "error":
            self.errors.append(message.text)

    def assert_clean(self) -> None:
        """Nothing foreign was asked for, nothing failed, nothing popped up."""
        assert self.foreign == []
        assert self.errors == []
        assert self.dialogs == []


class OpenContext(Protocol):
    """Makes a watched browser context; options are Playwright's."""

    def __call__(self, site: BuiltSite, **options: Any) -> tuple[BrowserContext, Witness]:
        """Return the context and its witness."""


@pytest.fixture(scope="session")
def real_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BuiltSite]:
    """Build the site of this repository's records."""
    project = tmp_path_factory.mktemp("real")
    lay_out_pages(project)
    shutil.copytree(ROOT / "records", project / "records")
    with built(project) as finished:
        yield finished


@pytest.fixture(scope="session")
def hostile_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BuiltSite]:
    """Build a site whose records are payloads in every field."""
    project = tmp_path_factory.mktemp("hostile")
    with built(project, lay_out_hostile(project)) as finished:
        yield finished


def lay_out_pages(project: Path) -> None:
    """Give a project our hand-written pages."""
    shutil.copy(ROOT / "mkdocs.yml", project)
    shutil.copytree(ROOT / "site", project / "site")


def lay_out_hostile(project: Path) -> dict[str, Payload]:
    """Make a project of our pages and of hostile records."""
    lay_out_pages(project)
    shutil.copytree(BASE / "records", project / "records")
    return write_corpus(project, payloads())


@contextmanager
def built(project: Path, hostile: dict[str, Payload] | None = None) -> Iterator[BuiltSite]:
    """Build a site and serve it."""
    folder = project / "build" / "site"
    site.build(project, folder, site_url=ADDRESS)
    with serving(folder) as url:
        yield BuiltSite(url, folder, project, hostile or {})


@pytest.fixture
def open_context(browser: Browser) -> Iterator[OpenContext]:
    """Return a function that opens watched contexts; each is closed with the test."""
    opened: list[BrowserContext] = []

    def open_one(site: BuiltSite, **options: Any) -> tuple[BrowserContext, Witness]:
        context, witness = watched_context(browser, site, **options)
        opened.append(context)
        return context, witness

    yield open_one
    for context in opened:
        context.close()


def watched_context(browser: Browser, site: BuiltSite, **options: Any) -> tuple[BrowserContext, Witness]:
    """Open a context that reports what its pages do."""
    context = browser.new_context(base_url=site.url, service_workers="block", **options)
    context.set_default_timeout(PATIENCE_MS)
    witness = Witness()
    origin = site.url.partition("/kb/")[0] + "/"

    def guard(request: Request) -> None:
        if not request.url.startswith((origin, "data:", "blob:")):
            witness.foreign.append(request.url)

    def watch(page: Page) -> None:
        page.on("dialog", witness.saw_dialog)
        page.on("pageerror", lambda error: witness.errors.append(str(error)))
        page.on("console", witness.saw_message)

    context.on("request", guard)
    context.on("page", watch)
    if options.get("java_script_enabled", True):
        context.add_init_script(WITNESS)
    return context, witness


@pytest.fixture
def page(open_context: OpenContext, real_site: BuiltSite) -> Iterator[Page]:
    """Open a page on the real site, and fail a test whose page misbehaves."""
    context, witness = open_context(real_site)
    yield context.new_page()
    witness.assert_clean()
