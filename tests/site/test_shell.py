"""The shell frames any page at any depth, and comes out the same everywhere."""

import os
import re
import shutil
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest
from markupsafe import Markup

from kbtool.errors import KbtoolError
from kbtool.site.shell import Crumb, PageParts, Shell, build_shell, root_of

ROOT = Path(__file__).resolve().parent.parent.parent
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'"
)
HOSTILE = "</title>\"'><script>alert(1)</script>"


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """Build the shell of this project once."""
    return build_shell(ROOT, tmp_path_factory.mktemp("shell"))


def parts(path: str = "benchmarks/b-17.html", **rest: object) -> PageParts:
    """Return a small page."""
    return PageParts(path=path, title="A page", body=Markup("<h1>A page</h1>"), **rest)  # type: ignore[arg-type]


class _Document(HTMLParser):
    """Elements of a page, in order, with their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.title = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.elements and self.elements[-1][0] == "title" and not self.title:
            self.title = data

    def links(self) -> Iterator[str]:
        """Yield what the page links to or loads."""
        for tag, attributes in self.elements:
            for name in ("href", "src"):
                if (value := attributes.get(name)) and tag != "use":
                    yield value

    def current(self) -> list[tuple[str | None, str | None]]:
        """Return address and kind of each link marked as current."""
        return [
            (a.get("href"), a["aria-current"])
            for _, a in self.elements
            if "aria-current" in a and "href" in a
        ]


def all_pages(shell: Shell) -> dict[str, str]:
    """Return the hand-written pages and one rendered page of each depth."""
    pages = {name: data.decode() for name, data in shell.files.items() if name.endswith(".html")}
    for path in ("index.html", "benchmarks/b-17.html"):
        pages[path] = shell.page(parts(path, nav="benchmarks/index.html"))
    return pages


@pytest.mark.parametrize(
    ("path", "root"), [("index.html", "./"), ("benchmarks/x.html", "../"), ("a/b/x.html", "../../")]
)
def test_root_of(path: str, root: str) -> None:
    """The way to the root depends on the depth alone."""
    assert root_of(path) == root


def test_every_page_starts_with_the_policy(shell: Shell) -> None:
    """The Content-Security-Policy is the first element of the head, before anything it should govern."""
    for page in all_pages(shell).values():
        elements = _Document(page).elements
        assert [tag for tag, _ in elements[:3]] == ["html", "head", "meta"]
        assert elements[2][1] == {"http-equiv": "Content-Security-Policy", "content": POLICY}


def test_no_page_has_inline_code(shell: Shell) -> None:
    """No inline script, style, event handler, frame, form or base element."""
    for page in all_pages(shell).values():
        for tag, attributes in _Document(page).elements:
            assert tag not in {"style", "iframe", "object", "embed", "base", "form"}
            assert tag != "script" or "src" in attributes
            assert "style" not in attributes
            assert not any(name.startswith("on") for name in attributes)


def test_no_page_asks_another_origin(shell: Shell) -> None:
    """What a page loads lies on the same host; links elsewhere are only those of prose."""
    for page in all_pages(shell).values():
        for tag, attributes in _Document(page).elements:
            address = attributes.get("src") or (attributes.get("href") if tag == "link" else None)
            assert not address or not urlsplit(address).netloc


def test_what_a_page_needs_is_published(shell: Shell) -> None:
    """Style sheet, scripts, icon and hand-written pages exist, below any path."""
    generated = re.compile(
        r"(\w+/)?(index|metrics|rules|glossary|changes|quality|data|explore|compare|limits|cost|coverage|conflicts|gaps)\.html"
    )
    for path, page in all_pages(shell).items():
        for link in _Document(page).links():
            address = urlsplit(urljoin(f"https://host.example/kb/{path}", link))
            if address.netloc != "host.example" or link.startswith("#"):
                continue
            inside = address.path.removeprefix("/kb/")
            assert inside in shell.files or generated.fullmatch(inside), f"{path} links to {link}"


def test_nothing_of_material_but_its_look_is_published(shell: Shell) -> None:
    """The theme's scripts, fonts, search worker and templates stay where they are."""
    own = {path.name for path in (ROOT / "site").rglob("*") if path.suffix != ".md"}
    assert {Path(name).name for name in shell.files if not name.endswith(".html")} <= own
    assert not [name for name in shell.files if re.search("theme/|shell.html|sitemap|lunr|search/", name)]


def test_texts_are_escaped(shell: Shell) -> None:
    """A hostile title or description is shown as it is and starts no element."""
    page = shell.page(
        PageParts(
            path="benchmarks/x.html",
            title=HOSTILE,
            description=HOSTILE,
            body=Markup("<p>x</p>"),
            crumbs=(Crumb(HOSTILE, 'benchmarks/index.html"onclick=x'),),
            page_class='a" onload="x',
        )
    )
    document = _Document(page)
    assert document.title == f"{HOSTILE} \u00b7 {shell.site_name}"
    assert {"name": "description", "content": HOSTILE} in [a for _, a in document.elements]
    assert "alert(1)" not in str([a for tag, a in document.elements if tag == "script"])
    assert len([tag for tag, _ in document.elements if tag == "script"]) == 2


def test_a_plain_body_is_not_trusted(shell: Shell) -> None:
    """A body that nobody marked as safe is shown as text."""
    page = shell.page(PageParts(path="x.html", title="x", body="<script>alert(1)</script>"))  # type: ignore[arg-type]
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert(1)" not in page


def test_placeholders_are_all_filled(shell: Shell) -> None:
    """No mark of the shell is left on any page, also for an unknown entry of the navigation."""
    pages = [*all_pages(shell).values(), shell.page(parts(nav="nowhere.html")), shell.page(parts())]
    assert not [page for page in pages if "@@kb" in page]


def test_the_place_in_the_navigation_is_marked(shell: Shell) -> None:
    """The entry itself is the page; on pages below it, it is only the section."""
    index = _Document(shell.page(parts("benchmarks/index.html", nav="benchmarks/index.html")))
    record = _Document(shell.page(parts("benchmarks/b-17.html", nav="benchmarks/index.html")))
    assert set(index.current()) == {("../benchmarks/index.html", "page")}
    assert set(record.current()) == {("../benchmarks/index.html", "true")}


def test_a_group_shows_its_second_level_only_where_it_is_active(shell: Shell) -> None:
    """Hardware has accelerators and interconnects below it; benchmarks have nothing."""
    hardware = shell.page(parts("interconnects/x.html", nav="interconnects/index.html"))
    assert hardware.count('class="kb-subnav"') == 1
    assert 'aria-label="Hardware"' in hardware
    assert 'class="kb-subnav"' not in shell.page(parts(nav="benchmarks/index.html"))
    assert 'aria-label="Guide"' in shell.files["methodology.html"].decode()


def test_parts_of_the_head(shell: Shell) -> None:
    """Scripts, more of the head and noindex appear where they are asked for."""
    page = shell.page(parts(scripts=("assets/explore.js",), head=Markup("<link rel=x>"), listed=False))
    head = page.partition("</head>")[0]
    assert '<script type="module" src="../assets/explore.js"></script>' in head
    assert "<link rel=x>" in head
    assert '<meta name="robots" content="noindex">' in head
    assert "noindex" not in shell.page(parts())


def test_the_way_to_a_page(shell: Shell) -> None:
    """Breadcrumbs link to what is above and name the page."""
    page = shell.page(parts(crumbs=(Crumb("Benchmarks", "benchmarks/index.html"),)))
    assert (
        '<ol><li><a href="../benchmarks/index.html">Benchmarks</a></li><li aria-current="page">A page</li></ol>'
        in page
    )


def test_addresses_follow_the_site(tmp_path: Path) -> None:
    """With its address known, pages have canonical links and 404.html works at any depth."""
    shell = build_shell(ROOT, tmp_path, site_url="https://host.example/kb")
    assert '<link rel="canonical" href="https://host.example/kb/benchmarks/b-17.html">' in shell.page(parts())
    assert '<link rel="canonical" href="https://host.example/kb/">' in shell.page(parts("index.html"))
    assert (
        b'<link rel="canonical" href="https://host.example/kb/methodology.html">'
        in shell.files["methodology.html"]
    )
    assert b'href="/kb/assets/kb.css"' in shell.files["404.html"]
    assert b'href="/other/assets/kb.css"' in shell.not_found("/other/")


def test_without_an_address(shell: Shell) -> None:
    """No canonical link; 404.html at least works beside the home page."""
    assert "canonical" not in shell.page(parts())
    assert b'href="./assets/kb.css"' in shell.files["404.html"]


def test_a_wrong_address_is_refused(tmp_path: Path) -> None:
    """An address without scheme would give links that look right and are not."""
    with pytest.raises(KbtoolError, match="https://"):
        build_shell(ROOT, tmp_path, site_url="host.example/kb/")


def project_copy(folder: Path) -> Path:
    """Copy what the shell is made from."""
    shutil.copytree(ROOT / "site", folder / "site")
    shutil.copy(ROOT / "mkdocs.yml", folder)
    return folder


def test_same_sources_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shell: Shell) -> None:
    """Folder, time zone, locale, hash seed and umask leave no trace."""
    project = project_copy(tmp_path / "a longer way/to it")
    for name, value in {"TZ": "Asia/Tokyo", "LC_ALL": "C", "PYTHONHASHSEED": "42"}.items():
        monkeypatch.setenv(name, value)
    before = os.umask(0o077)
    try:
        other = build_shell(project, tmp_path / "work")
    finally:
        os.umask(before)
    assert other.files == shell.files
    assert other.fingerprint == shell.fingerprint
    assert other.page(parts()) == shell.page(parts())


def test_mkdocs_runs_only_where_sources_changed(tmp_path: Path) -> None:
    """A second build reads what the first one made; a changed page makes it anew."""
    project = project_copy(tmp_path / "project")
    work = tmp_path / "work"
    first = build_shell(project, work)
    made = work / "html" / "methodology.html"
    made.write_bytes(made.read_bytes() + b"<!-- kept -->")
    assert build_shell(project, work).files["methodology.html"].endswith(b"<!-- kept -->")
    (project / "site" / "principles.md").write_text("# Other principles\n", encoding="utf-8")
    third = build_shell(project, work)
    assert third.files["methodology.html"] == first.files["methodology.html"]
    assert b"Other principles" in third.files["principles.html"]


def test_a_fault_in_a_page_is_reported(tmp_path: Path) -> None:
    """What MkDocs says is passed on; nothing is built from a half-made folder afterwards."""
    project = project_copy(tmp_path / "project")
    (project / "site" / "principles.md").write_text("[x](methodology.md#no-such-heading)\n", encoding="utf-8")
    settings = project / "mkdocs.yml"
    settings.write_text(settings.read_text("utf-8") + "\nno_such_setting: 1\n", encoding="utf-8")
    for _ in range(2):
        with pytest.raises(KbtoolError, match="no_such_setting"):
            build_shell(project, tmp_path / "work")


def test_a_lost_placeholder_is_reported(tmp_path: Path) -> None:
    """A theme that no longer asks for the body fails, and says what is missing."""
    project = project_copy(tmp_path / "project")
    (project / "site" / "theme" / "shell.html").write_text('{% extends "main.html" %}', encoding="utf-8")
    with pytest.raises(KbtoolError, match="expected exactly title, description"):
        build_shell(project, tmp_path / "work")


def test_the_first_view_is_small(shell: Shell) -> None:
    """Style sheet and scripts of every page, uncompressed, with room for a record of 40 kB."""
    always = ("assets/kb.css", "assets/kb.js", "assets/theme.js", "assets/logo.svg")
    assert sum(len(shell.files[name]) for name in always) < 75_000
    assert len(shell.page(parts())) < 10_000
