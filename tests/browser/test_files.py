"""The files of both sites, and what the program prints about hostile records, read without a browser."""

import csv
import gzip
import io
import json
import sqlite3
from contextlib import closing
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urljoin, urlsplit

import defusedxml.ElementTree
import pytest

from tests.browser.conftest import ADDRESS, BuiltSite
from tests.support.hostile import Payload
from tests.support.programs import run_here

LOADING: Final = {"script": "src", "img": "src", "link": "href", "source": "src"}
"""Elements that fetch something, and the attribute that says what."""
FORMULA_STARTS: Final = tuple("=+-@\t\r\uff1d\uff0b\uff0d\uff20")
MOST_LINES: Final = 200


@pytest.fixture(params=["real", "hostile"])
def either_site(request: pytest.FixtureRequest) -> BuiltSite:
    """Give each of the two sites."""
    found: BuiltSite = request.getfixturevalue(f"{request.param}_site")
    return found


class _Elements(HTMLParser):
    """Collects the elements of a page with their attributes, and the JSON-LD in it."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.json_ld: list[str] = []
        self._in_json_ld = False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.elements.append((tag, dict(attrs)))
        self._in_json_ld = tag == "script" and dict(attrs).get("type") == "application/ld+json"

    def handle_endtag(self, tag: str) -> None:
        """Leave a script."""
        self._in_json_ld = self._in_json_ld and tag != "script"

    def handle_data(self, data: str) -> None:
        """Note the content of a script that holds data."""
        if self._in_json_ld:
            self.json_ld.append(data)


def pages_of(site: BuiltSite) -> dict[str, _Elements]:
    """Return every page, taken apart."""
    return _pages_in(site.folder)


@cache
def _pages_in(folder: Path) -> dict[str, _Elements]:
    pages = sorted(folder.rglob("*.html"))
    return {
        page.relative_to(folder).as_posix(): _Elements(page.read_text(encoding="utf-8")) for page in pages
    }


# --- Pages -------------------------------------------------------------------------------------


def test_policy_comes_first_on_every_page(either_site: BuiltSite) -> None:
    """The policy is the first element of each head, and allows no script or style of the page itself."""
    for path, page in pages_of(either_site).items():
        names = [name for name, _ in page.elements]
        first = page.elements[names.index("head") + 1]
        assert first[0] == "meta", path
        assert first[1]["http-equiv"] == "Content-Security-Policy", path
        policy = dict(part.strip().partition(" ")[::2] for part in (first[1]["content"] or "").split(";"))
        assert policy["default-src"] == "'none'", path
        assert policy["script-src"] == "'self'", path
        assert policy["style-src"] == "'self'", path
        assert {policy["base-uri"], policy["form-action"]} == {"'none'"}, path


def test_no_page_holds_code_or_loads_from_elsewhere(either_site: BuiltSite) -> None:
    """Scripts and styles are files of the site; there is no handler, no style attribute, no other origin."""
    for path, page in pages_of(either_site).items():
        for name, attributes in page.elements:
            assert name != "style", path
            assert not [key for key in attributes if key.startswith("on") or key == "style"], (
                path,
                attributes,
            )
            if name == "script":
                assert attributes.get("src") or attributes.get("type") == "application/ld+json", path
            source = attributes.get(LOADING.get(name, ""))
            if source and attributes.get("rel") != "canonical":
                assert not urlsplit(source).netloc, (path, source)
                assert urlsplit(source).scheme in {"", "data"}, (path, source)


def test_every_link_inside_the_site_leads_somewhere(either_site: BuiltSite) -> None:
    """No page links to a page, a file or an anchor of this site that does not exist."""
    pages = {path: page.elements for path, page in pages_of(either_site).items()}
    anchors = {path: {attributes.get("id") for _, attributes in elements} for path, elements in pages.items()}
    missing = []
    for path, elements in pages.items():
        for link in {attributes.get("href") or "" for name, attributes in elements if name == "a"}:
            target, _, anchor = urljoin(ADDRESS + path, link).partition("#")
            if not target.startswith(ADDRESS):
                continue
            file = unquote(target.removeprefix(ADDRESS).partition("?")[0]) or "index.html"
            exists = file in pages or (either_site.folder / file).is_file()
            is_state = "=" in anchor  # what a table is narrowed to, not a place
            if not exists or (
                anchor and not is_state and file in pages and unquote(anchor) not in anchors[file]
            ):
                missing.append(f"{path} -> {link}")
    assert missing == []


def test_json_ld_says_what_the_source_says(hostile_site: BuiltSite) -> None:
    """The name in the data of each page is the record's title, character for character."""
    for ref, payload in hostile_site.hostile.items():
        page = pages_of(hostile_site)[f"{ref}.html"]
        if page.json_ld:
            data = strict_json("".join(page.json_ld))
            assert data["name"] == title_of(payload), ref
    assert any(page.json_ld for page in pages_of(hostile_site).values())


def title_of(payload: Payload) -> str:
    """Return the title that a hostile record has."""
    return payload.line[:200].strip()


# --- Data files --------------------------------------------------------------------------------


def strict_json(text: str | bytes) -> Any:
    """Read JSON; NaN, infinities and repeated keys are no JSON."""
    return json.loads(text, parse_constant=pytest.fail, object_pairs_hook=_no_key_twice)


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len(dict(pairs)) == len(pairs), "a key occurs twice"
    return dict(pairs)


def test_data_files_are_strict_json(either_site: BuiltSite) -> None:
    """Every JSON file is JSON to the strictest reader."""
    files = [*either_site.folder.rglob("*.json"), *either_site.folder.rglob("*.json.gz")]
    for path in files:
        data = path.read_bytes()
        strict_json(gzip.decompress(data) if path.suffix == ".gz" else data)
    assert len(files) > 10


def test_data_files_hold_the_record_unchanged(hostile_site: BuiltSite) -> None:
    """The data file of a record holds every text of its source; nothing is escaped twice or lost."""
    for ref in hostile_site.hostile:
        source = json.loads((hostile_site.project / "records" / f"{ref}.yaml").read_text(encoding="utf-8"))
        data = strict_json((hostile_site.folder / "data" / "records" / f"{ref}.json").read_bytes())
        assert data["record"] == source, ref


def test_search_index_holds_the_titles_unchanged(hostile_site: BuiltSite) -> None:
    """The index carries titles as data, to be shown by scripts that write text alone."""
    (path,) = hostile_site.folder.glob("search/quick*")
    data = path.read_bytes()
    index = strict_json(gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data)
    assert {title_of(payload) for payload in hostile_site.hostile.values()} <= set(index["title"])


def test_sitemap_is_safe_xml(either_site: BuiltSite) -> None:
    """The sitemap needs no entities, and names pages of this site alone, each of which exists."""
    tree = defusedxml.ElementTree.parse(either_site.folder / "sitemap.xml")
    addresses = [each.text or "" for each in tree.iter() if each.tag.endswith("}loc")]
    assert len(addresses) > 10
    for address in addresses:
        assert address.startswith(ADDRESS)
        path = address.removeprefix(ADDRESS) or "index.html"
        assert (either_site.folder / path).is_file(), path


# --- What the program prints -------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["benchmark", "model", "source", "gotcha"])
def test_csv_has_no_formula(hostile_site: BuiltSite, kind: str) -> None:
    """No cell of text begins like a formula, and the titles come back behind at most one apostrophe."""
    finished = run_here("find", "--kind", kind, "--format", "csv", cwd=hostile_site.project)
    assert finished.code == 0, finished.err
    columns, *rows = csv.reader(io.StringIO(finished.out))
    assert len(rows) >= len(hostile_site.hostile) // 7
    for row in rows:
        for column, cell in zip(columns, row, strict=True):
            assert not cell.lstrip().startswith(FORMULA_STARTS) or is_number(cell), (column, cell)
    if "title" in columns:
        titles = {row[columns.index("title")].removeprefix("'") for row in rows}
        assert {title_of(each).removeprefix("'") for each in hostile_site.hostile.values()} <= titles


def is_number(cell: str) -> bool:
    """Return whether a cell is a plain number, which may be negative."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(
    "arguments",
    [
        ["find", "--kind", "model"],
        ["find", "alert"],
        ["find", "--kind", "gotcha", "--format", "json"],
        ["show", "benchmarks/hostile-3"],
        ["show", "gotchas/hostile-5", "--format", "json"],
        ["why", "benchmarks/hostile-7"],
        ["show", "hostile-<img src=x onerror=alert(1)>\x1b[31m"],
        ["find", "--where", "value>\x1b]8;;x\x07"],
        ["lint", "records/gotchas", "records/benchmarks/hostile-3.yaml"],
        ["lint", "--format", "github", "records/gotchas", "records/benchmarks/hostile-4.yaml"],
        ["fmt", "--check", "records/gotchas"],
    ],
    ids=" ".join,
)
def test_nothing_printed_steers_a_terminal_or_a_ci(
    hostile_site: BuiltSite, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    """No verb prints a control or hidden character, or a line that a CI takes for a command of ours."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    finished = run_here(*arguments, cwd=hostile_site.project)
    assert not finished.crashed, finished.err
    text = finished.out + finished.err
    assert [char for char in text if not char.isprintable() and char != "\n"] == []
    for line in text.splitlines():
        ours = "github" in arguments and line.startswith(("::error ", "::warning ", "::notice "))
        assert ours or not line.lstrip().startswith(("::", "##[")), line
    if arguments[0] == "lint":
        assert text.count("\n") <= MOST_LINES


def test_raw_files_are_the_records_bytes(either_site: BuiltSite) -> None:
    """The copy of a record's own file is that file, byte for byte."""
    published = either_site.folder / "data" / "records"
    copies = [path.relative_to(published) for path in published.rglob("*.yaml")]
    assert len(copies) > 10
    for copy in copies:
        originals = (either_site.project / "records" / copy.parent).rglob(copy.name)
        assert (published / copy).read_bytes() in [path.read_bytes() for path in originals], copy


def test_folders_hold_nothing_hidden(either_site: BuiltSite) -> None:
    """No leftover, cache or dot file is published; programs to read the data with, and a database of them, are meant to be."""
    names = [path.relative_to(either_site.folder) for path in either_site.folder.rglob("*")]
    assert [str(path) for path in names if any(part.startswith(".") for part in path.parts)] == []
    inner = [path for path in names if Path(path).suffix in {".sqlite", ".lock", ".py", ".tmp"}]
    assert [
        str(path) for path in inner if path.parent.name != "examples" and path != Path("data/kb.sqlite")
    ] == []


def test_data_files_hold_hostile_text_as_text(hostile_site: BuiltSite) -> None:
    """No cell of the CSV is a formula, the feed is well-formed, and the database has the titles as they were written."""
    folder = hostile_site.folder
    columns, *rows = csv.reader(io.StringIO((folder / "data/results.csv").read_text(encoding="utf-8")))
    assert rows
    for row in rows:
        for column, cell in zip(columns, row, strict=True):
            assert not cell.lstrip().startswith(FORMULA_STARTS) or is_number(cell), (column, cell)
    feed = defusedxml.ElementTree.fromstring((folder / "changes.atom").read_text(encoding="utf-8"))
    assert {each.get("type") for each in feed.iter("{http://www.w3.org/2005/Atom}content")} == {"text"}
    with closing(sqlite3.connect(folder / "data/kb.sqlite")) as database:
        stored = dict(database.execute("SELECT ref, title FROM records"))
    index = json.loads((folder / "data/index.json").read_text(encoding="utf-8"))
    assert stored == {each["ref"]: each["title"] for each in index["records"]}
