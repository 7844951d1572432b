"""A build makes what changed, all of it and nothing else, and ends with the folder that a first build makes."""

import csv
import io
import json
import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
from defusedxml.ElementTree import fromstring

from kbtool.analysis.rows import COLUMNS
from kbtool.errors import UsageError
from kbtool.findings import Finding
from kbtool.site.explore.describe import FACETS
from kbtool.site.output import Folder
from kbtool.site.state import State, state_path
from tests.site.samples import Page, make_project, text_of, the_build
from tests.support.trees import contents, modes

ENGINE = "records/engines/fastserve.yaml"
RICH = "benchmarks/ev-fastserve-demo-8xa1"
SITE = Path(__file__).resolve().parents[2] / "site"


def edit(project: Path, path: str, old: str, new: str) -> None:
    """Replace a text in a record."""
    file = project / path
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")


def clean(project: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """Return what a first build of the same records makes."""
    make_project(folder)
    for path in (folder / "records").rglob("*.yaml"):
        path.unlink()
    for path in (project / "records").rglob("*.yaml"):
        target = folder / path.relative_to(project)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    the_build(folder, monkeypatch)
    return contents(folder / "out")


def test_a_second_build_writes_nothing(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing changed, nothing is written, removed or made again."""
    first = the_build(project, monkeypatch)
    monkeypatch.setattr("kbtool.site.library.read_file", None)
    second = the_build(project, monkeypatch)
    assert (second.pages_written, second.removed, second.changed) == (0, 0, ())
    assert second.pages_unchanged == first.pages_written
    assert second.records == first.records == 11


def break_record(project: Path) -> None:
    """Leave a file that is no YAML."""
    (project / ENGINE).write_text("x: [\n", encoding="utf-8")


def remove_record(project: Path) -> None:
    """Take an engine away that others name."""
    (project / ENGINE).unlink()


def rename_engine(project: Path) -> None:
    """Give an engine another title."""
    edit(project, ENGINE, "title: FastServe", "title: QuickServe")


def retract(project: Path) -> None:
    """Take a record back."""
    edit(project, f"records/{RICH}.yaml", "status: draft", "status: retracted\nstatus_reason: Wrong.")


def change_title(project: Path) -> None:
    """Give a benchmark another title."""
    edit(project, f"records/{RICH}.yaml", "FastServe on 8x", "FastServe over 8x")


def drop_review(project: Path) -> None:
    """Make a reviewed record a draft again."""
    (project / "records/reviews/benchmarks/ev-fastserve-demo-8xa1-p2p.yaml").unlink()


def drop_evidence(project: Path) -> None:
    """Name a record where one of its results was named."""
    edit(project, "records/gotchas/graph-collapse.yaml", '#only"', '"')


@pytest.mark.parametrize(
    "change", [break_record, remove_record, rename_engine, retract, change_title, drop_review, drop_evidence]
)
def test_a_build_after_a_change_equals_a_first_build(
    change: Callable[[Path], None], project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every page that shows something of the changed record is made anew, whoever it belongs to."""
    the_build(project, monkeypatch)
    change(project)
    report = the_build(project, monkeypatch)
    assert contents(project / "out") == clean(project, tmp_path / "clean", monkeypatch)
    assert 0 < report.pages_written < report.pages_unchanged + report.pages_written
    assert set(report.changed) >= {"manifest.json"}


def test_only_pages_that_show_the_record_are_written(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new title of an engine reaches its benchmarks and leaves the sources alone."""
    the_build(project, monkeypatch)
    rename_engine(project)
    report = the_build(project, monkeypatch)
    assert "engines/fastserve.html" in report.changed
    assert f"{RICH}.html" in report.changed
    assert "gotchas/graph-collapse.html" in report.changed
    assert "accelerators/acme-a1.html" not in report.changed
    assert "interconnects/pcie-gen5.html" not in report.changed


def test_a_broken_record_says_so_and_hides_no_other(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its address names place and fault; once mended, the page is back."""
    the_build(project, monkeypatch)
    before = contents(project / "out")
    good = (project / ENGINE).read_bytes()
    break_record(project)
    report = the_build(project, monkeypatch)
    page = (project / "out/engines/fastserve.html").read_text(encoding="utf-8")
    assert f"{ENGINE}:1:4 Y117" in text_of(page)
    assert [each.path for each in report.findings] == [ENGINE]
    assert "findings keep files from being records" in report.summary()
    again = the_build(project, monkeypatch)
    assert again.findings == report.findings
    assert again.pages_written == 0
    (project / ENGINE).write_bytes(good)
    the_build(project, monkeypatch)
    assert contents(project / "out") == before


def test_damage_in_the_folder_is_mended(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that was changed, removed or added behind the build's back is put right by the next."""
    the_build(project, monkeypatch)
    before = contents(project / "out")
    (project / "out/index.html").write_text("defaced", encoding="utf-8")
    (project / "out/metrics.html").unlink()
    (project / "out/extra").mkdir()
    (project / "out/extra/page.html").write_text("left over", encoding="utf-8")
    (project / "out/.index.html.kbtool-tmp").write_text("of a killed build", encoding="utf-8")
    the_build(project, monkeypatch)
    assert contents(project / "out") == before


def test_a_build_that_dies_is_finished_by_the_next(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever it stops, each file is the old one or the new one, and the next build makes the rest."""
    the_build(project, monkeypatch)
    before = contents(project / "out")
    rename_engine(project)
    wanted = clean(project, tmp_path / "clean", monkeypatch)
    write = Folder.write
    for allowed in (0, 1, 5):
        calls = 0

        def failing(folder: Folder, path: str, data: bytes, allowed: int = allowed) -> None:
            nonlocal calls
            calls += 1
            if calls > allowed:
                raise OSError("the disk is full")
            write(folder, path, data)

        monkeypatch.setattr(Folder, "write", failing)
        with pytest.raises(OSError, match="full"):
            the_build(project, monkeypatch)
        monkeypatch.setattr(Folder, "write", write)
        for path, data in contents(project / "out").items():
            assert data in (before.get(path), wanted.get(path)), path
    the_build(project, monkeypatch)
    assert contents(project / "out") == wanted


def test_the_manifest_lists_every_other_file(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its size and hash."""
    the_build(project, monkeypatch)
    files = contents(project / "out")
    manifest = json.loads(files.pop("manifest.json"))
    assert manifest["files"] == {
        path: {"bytes": len(data), "sha256": sha256(data).hexdigest()} for path, data in files.items()
    }


def test_modes_do_not_depend_on_the_umask(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are readable by all, and nothing else."""
    before = os.umask(0o077)
    try:
        the_build(project, monkeypatch)
    finally:
        os.umask(before)
    assert set(modes(project / "out").values()) == {0o644, 0o755}


def test_two_builds_do_not_overlap(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second says so and leaves everything as it is."""
    with (
        State.open(state_path(project), tool="t", out=project / "out"),
        pytest.raises(UsageError, match="another build"),
    ):
        the_build(project, monkeypatch)


def test_a_spoilt_state_costs_time_alone(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is thrown away and made again."""
    the_build(project, monkeypatch)
    before = contents(project / "out")
    state_path(project).write_bytes(b"no database at all")
    assert the_build(project, monkeypatch).pages_written == 0
    assert contents(project / "out") == before


def test_another_folder_is_built_whole(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is known of one folder is not believed of another."""
    the_build(project, monkeypatch)
    the_build(project, monkeypatch, out="other")
    assert contents(project / "other") == contents(project / "out")


def test_findings_stand_on_the_pages_of_their_records(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lint's findings are shown, with a way to the rule; without them the page is what it was."""
    the_build(project, monkeypatch)
    before = contents(project / "out")
    finding = Finding(f"records/{RICH}.yaml", 3, 1, "T001", "layout-larger", "warning", "tp is <8>")
    report = the_build(project, monkeypatch, findings=(finding,))
    html = (project / f"out/{RICH}.html").read_text(encoding="utf-8")
    assert "tp is <8>" in text_of(html)
    assert "../rules.html#T001" in Page(html).hrefs
    assert set(report.changed) == {f"{RICH}.html", "manifest.json"}
    the_build(project, monkeypatch)
    assert contents(project / "out") == before


def test_links_inside_the_site_lead_somewhere(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every address, every anchor and every value that a table is narrowed to exists; ids are unique on their page."""
    the_build(project, monkeypatch)
    pages = {
        path: Page(data.decode())
        for path, data in contents(project / "out").items()
        if path.endswith(".html")
    }
    files = contents(project / "out")
    dead = []
    for path, page in pages.items():
        assert len(page.ids) == len(set(page.ids)), path
        for href in page.hrefs:
            if href.startswith("http"):
                continue
            target, _, anchor = href.partition("#")
            target = target.partition("?")[0]
            resolved = (Path("/") / path).parent / target if target else Path("/") / path
            found = str(Path(*_resolved(resolved))).lstrip("/")
            # The shell of the tests has neither search nor scripts; the real one has what stands in site/.
            if found == "search.html" or (found.startswith("assets/") and (SITE / found).is_file()):
                continue
            if found not in files:
                dead.append((path, href))
                continue
            is_state = "=" in anchor
            if is_state and not _is_state_of(found, anchor, files):
                dead.append((path, href))
            if anchor and not is_state and anchor not in pages[found].ids:
                dead.append((path, href))
    assert dead == []


def _is_state_of(page: str, state: str, files: dict[str, bytes]) -> bool:
    """Return whether a page can be narrowed to a state: each value of it occurs in its rows."""
    chosen = dict(parse_qsl(state))
    if page != "explore.html":
        words = chosen.pop("q", "")
        html = files[page].decode()
        return words in text_of(html) and all(
            f'data-f-{name}="{value}"' in html for name, value in chosen.items()
        )
    columns = set(chosen.pop("columns", "value").split(",")) | {chosen.pop("sort", "value").removeprefix("-")}
    rows = list(csv.DictReader(io.StringIO(files["data/results.csv"].decode())))
    # The address leaves the folder of a reference out; the last part of a text without a slash is all of it.
    found = {name: {row[name].rpartition("/")[2] for row in rows} for name in COLUMNS["benchmark"]}
    return (
        columns <= found.keys()
        and chosen.keys() <= {"metric", *FACETS}
        and all(value in {"*", "~"} or value in found[name] for name, value in chosen.items())
    )


def _resolved(path: Path) -> list[str]:
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return parts


def test_the_sitemap_needs_the_address(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without one there is none; with one it lists every page that is meant to be found."""
    the_build(project, monkeypatch)
    assert not (project / "out/sitemap.xml").exists()
    the_build(project, monkeypatch, site_url="https://example.org/kb/")
    tree = fromstring((project / "out/sitemap.xml").read_text(encoding="utf-8"))
    found = {each.text or "" for each in tree.iter() if each.tag.endswith("loc")}
    assert f"https://example.org/kb/{RICH}.html" in found
    assert "https://example.org/kb/benchmarks/ev-gone.html" not in found
    assert "Sitemap: https://example.org/kb/sitemap.xml" in (project / "out/robots.txt").read_text(
        encoding="utf-8"
    )
    for url in found:
        assert (project / "out" / (url.removeprefix("https://example.org/kb/") or "index.html")).is_file(), (
            url
        )
