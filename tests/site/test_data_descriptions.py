"""What describes and cites the data is valid, stable, and takes no text for more than text."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from defusedxml.ElementTree import fromstring

from kbtool.analysis.tables import TABLES
from kbtool.site.data.feed import atom_bytes
from kbtool.site.data.layout import LAYOUT, LICENCE
from kbtool.site.library import CardCache, Library, read_files
from kbtool.site.views.cite import bibtex_text, citation_of
from tests.site.samples import Page, the_build
from tests.site.test_data_tables import HOSTILE, edit, make_hostile, sums_of

ROOT = Path(__file__).resolve().parents[2]
ATOM = "{http://www.w3.org/2005/Atom}"
SITE = "https://example.org/kb/"


def build(project: Path, monkeypatch: pytest.MonkeyPatch, site_url: str = "") -> Path:
    """Build the site and return its folder."""
    the_build(project, monkeypatch, site_url=site_url)
    return project / "out"


def cards(project: Path) -> Library:
    """Return the records of a project."""
    library = Library(project, read_files(project), CardCache({}))
    library.read(lambda: None)
    return library


# --- Atom -------------------------------------------------------------------------------------


def entries(data: bytes) -> list[Any]:
    """Return the entries of a feed."""
    return list(fromstring(data.decode()).iter(f"{ATOM}entry"))


def texts(entry: Any, name: str) -> str:
    """Return the text of one element of an entry."""
    return str(entry.find(f"{ATOM}{name}").text)


def href(entry: Any) -> str:
    """Return where an entry leads."""
    return str(entry.find(f"{ATOM}link").get("href"))


def test_the_feed_has_what_atom_asks_for(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Feed and entries have id, title and time; ids are unique; a link to itself is absolute."""
    feed = fromstring((build(project, monkeypatch, SITE) / "changes.atom").read_text(encoding="utf-8"))
    for name in ("id", "title", "updated", "author", "link"):
        assert feed.find(f"{ATOM}{name}") is not None, name
    links = {each.get("rel"): each.get("href") for each in feed.findall(f"{ATOM}link")}
    assert links == {"alternate": f"{SITE}changes.html", "self": f"{SITE}changes.atom"}
    found = feed.findall(f"{ATOM}entry")
    ids = [texts(each, "id") for each in found]
    assert len(ids) == len(set(ids)) == 13  # eleven records, two changes
    for each in found:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT00:00:00Z", texts(each, "updated"))
        assert href(each).startswith(SITE)
    days = [texts(each, "updated") for each in found]
    assert days == sorted(days, reverse=True)
    assert texts(feed, "updated") == days[0]


def test_the_feed_keeps_the_rules_of_its_format(project: Path) -> None:
    """RFC 4287: what may occur once occurs once, days are days, ids are addresses, and nothing foreign stands in it."""
    make_hostile(project)
    data = _feed(project, site_url=SITE)
    feed = fromstring(data.decode())
    assert all(each.tag.startswith(ATOM) for each in feed.iter())
    once = ("id", "title", "updated")
    for element in (feed, *entries(data)):
        names = [each.tag.removeprefix(ATOM) for each in element]
        assert {name: names.count(name) for name in once} == dict.fromkeys(once, 1)
        UUID(texts(element, "id").removeprefix("urn:uuid:"))
        assert datetime.fromisoformat(texts(element, "updated")).tzinfo == UTC
        kinds = [(each.get("rel"), each.get("type")) for each in element.findall(f"{ATOM}link")]
        assert len(kinds) == len(set(kinds))
        assert ("alternate", "text/html") in kinds
        assert names.count("author") == (element is feed)
        assert texts(element, "title").strip()


def test_ids_of_entries_stay(project: Path) -> None:
    """Neither another address nor a later change gives an entry another id; a new one comes first."""
    before = {texts(each, "id") for each in entries(_feed(project))}
    assert before == {texts(each, "id") for each in entries(_feed(project, site_url=SITE))}
    edit(
        project,
        "records/benchmarks/ev-fastserve-demo-8xa1.yaml",
        "notes: |",
        '  - {date: "2026-11-05", fields: [title], why: Said better.}\nnotes: |',
    )
    after = entries(_feed(project))
    assert before < {texts(each, "id") for each in after}
    assert texts(after[0], "content") == "Said better."


def _feed(project: Path, site_url: str = "") -> bytes:
    return atom_bytes(cards(project).cards.values(), site_name="Evidence", site_url=site_url)


def test_hostile_text_is_text_in_the_feed(project: Path) -> None:
    """Title and reason come back as they were written."""
    make_hostile(project)
    found = entries(_feed(project))
    assert HOSTILE in {texts(each, "content") for each in found}
    assert HOSTILE in {texts(each, "title") for each in found}
    assert {each.find(f"{ATOM}content").get("type") for each in found} == {"text"}


def test_a_feed_of_nothing_is_a_feed() -> None:
    """No record is no error."""
    assert entries(atom_bytes([], site_name="Evidence", site_url="")) == []


def test_pages_lead_to_the_feed(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Feed readers find it from the page of changes and from that of the data."""
    out = build(project, monkeypatch)
    for page in ("changes.html", "data.html"):
        links = [
            found for tag, found in Page((out / page).read_text(encoding="utf-8")).elements if tag == "link"
        ]
        assert [each["href"] for each in links if each.get("type") == "application/atom+xml"] == [
            "changes.atom"
        ]


# --- citations --------------------------------------------------------------------------------


def test_a_citation_names_record_version_and_source(project: Path) -> None:
    """The measurement is its source's, which a reader cites too."""
    library = cards(project)
    card = library.cards["benchmarks/ev-fastserve-demo-8xa1"]
    cite = citation_of(card, library.find(card.primary), site_name="Evidence", site_url=SITE)
    assert f"record {card.ref}, version of {card.updated} ({card.status}). {SITE}{card.ref}.html" in cite.text
    source = library.cards[card.primary]
    assert source.source is not None
    assert f"Source: {source.source.publisher}, \N{LEFT DOUBLE QUOTATION MARK}{source.title}" in cite.text
    assert source.title in cite.bibtex
    assert cite.bibtex.startswith("@misc{benchmark:ev-fastserve-demo-8xa1,\n")


@pytest.mark.parametrize(
    "text", [HOSTILE, "}", "{", "a}b, note = {x", "\\", "%", '"', "x\ny", "}}@misc{evil,"]
)
def test_no_text_ends_a_bibtex_value(text: str) -> None:
    """Braces balance at every place, whatever BibTeX counts; nothing starts a comment or a command."""
    made = bibtex_text(text)
    depth = 0
    for character in made:
        depth += (character == "{") - (character == "}")
        assert depth >= 0
    assert depth == 0
    assert "\n" not in made
    assert not re.search(r'(?<!\\)[%$&#_]|"', made)


def test_every_record_is_in_the_citations(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one entry each and a key that no other has; its JSON has the same."""
    make_hostile(project)
    out = build(project, monkeypatch)
    text = (out / "data/citations.bib").read_text(encoding="utf-8")
    keys = re.findall(r"^@misc\{([a-z]+:[a-z0-9-]+),$", text, re.MULTILINE)
    assert len(keys) == len(set(keys)) == 11
    for path in (out / "data/records").rglob("*.json"):
        record = json.loads(path.read_text(encoding="utf-8"))
        assert record["bibtex"] in text
        assert record["ref"] in record["citation"]


def test_the_repository_says_how_to_cite_it() -> None:
    """CITATION.cff has what version 1.2.0 asks for, and is licensed as the records are; cffconvert checked the rest."""
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    for line in ("cff-version: 1.2.0", "type: dataset", "license: CC-BY-4.0"):
        assert f"{line}\n" in text
    for key in ("message", "title", "authors"):
        assert re.search(rf"^{key}:", text, re.MULTILINE), key


def test_the_site_has_the_citation_of_the_repository(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copied as it is, and anew when it changes."""
    (project / "CITATION.cff").write_bytes(b"cff-version: 1.2.0\n")
    assert (build(project, monkeypatch) / "CITATION.cff").read_bytes() == b"cff-version: 1.2.0\n"
    (project / "CITATION.cff").write_bytes(b"cff-version: 1.2.1\n")
    assert (build(project, monkeypatch) / "CITATION.cff").read_bytes() == b"cff-version: 1.2.1\n"


# --- descriptions -----------------------------------------------------------------------------


@pytest.mark.parametrize("site_url", ["", SITE])
def test_croissant_describes_the_files_that_are_there(
    project: Path, monkeypatch: pytest.MonkeyPatch, site_url: str
) -> None:
    """Each file with its hash, each column with its type, from a file that is described."""
    out = build(project, monkeypatch, site_url)
    found = json.loads((out / "data/croissant.json").read_text(encoding="utf-8"))
    assert (found["conformsTo"], found["license"]) == ("http://mlcommons.org/croissant/1.1", LICENCE)
    sums = sums_of((out / "data/SHA256SUMS").read_text().splitlines())
    files = {each["@id"]: each for each in found["distribution"]}
    assert set(files) == {"results.csv", "results.parquet", "kb.sqlite", "index.json"}
    for name, each in files.items():
        assert each["sha256"] == sums[name]
        assert each["contentUrl"] == (f"{site_url}data/{name}" if site_url else name)
    assert found["url"] == f"{site_url or '../'}data.html"
    results, records = found["recordSet"]
    assert [each["name"] for each in results["field"]] == [column.name for column in TABLES["results"]]
    index = json.loads((out / "data/index.json").read_text(encoding="utf-8"))
    assert {each["name"] for each in records["field"]} == set(index["records"][0])
    for each in (*results["field"], *records["field"]):
        assert each["source"]["fileObject"]["@id"] in files


def test_the_page_describes_itself_to_machines(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """JSON-LD of a schema.org Dataset, with its downloads where the address is known."""
    html = (build(project, monkeypatch, SITE) / "data.html").read_text(encoding="utf-8")
    found = re.search(r'<script type="application/ld\+json">(.*?)</script>', html)
    assert found is not None
    data = json.loads(found[1])
    assert (data["@type"], data["license"], data["url"]) == ("Dataset", LICENCE, f"{SITE}data.html")
    assert data["version"].startswith(f"{LAYOUT}.")
    for each in data["distribution"]:
        assert each["contentUrl"].startswith(f"{SITE}data/")
        assert re.fullmatch("[0-9a-f]{64}", each["sha256"])


def test_llms_txt_says_how_to_read_what_is_there(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A title, a summary, and lists of links to files that are there, as the format wants; no text of a record stands in it."""
    make_hostile(project)
    out = build(project, monkeypatch)
    text = (out / "llms.txt").read_text(encoding="utf-8")
    assert re.match(r"# Evidence\n\n> .+\n", text)
    assert "FastServe" not in text
    assert "HYPERLINK" not in text
    for path in re.findall(r"\]\(([^)#]+)", text):
        assert (out / path).is_file() or path == "CITATION.cff", path
    for section in text.split("\n## ")[1:]:
        title, _, lines = section.strip().partition("\n\n")
        assert all(re.match(r"- \[[^]]+\]\([^)]+\): \S", line) for line in lines.splitlines()), title
