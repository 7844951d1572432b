"""The page Data is as it was reviewed, and shows the programs that are tested, character for character."""

import html
import re
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from kbtool.site.builder import Builder
from kbtool.site.data.page import EXAMPLES
from tests.site.samples import Page, plain_shell

ROOT: Final = Path(__file__).resolve().parents[2]
GOLDEN: Final = ROOT / "tests/golden/site/data.html"
SIZE: Final = re.compile(
    r'(<tr><th scope="row">(?:<a href="\./[^"]+">)?([^<]+)(?:</a>)?</th><td class="kb-r">)([\d.]+) (B|kB|MB)(?=<)'
)
"""Size of a file in the table of files; it changes with schemas and libraries, and the golden page does not."""


def page(project: Path, monkeypatch: pytest.MonkeyPatch, site_url: str = "") -> str:
    """Return the page of a site that has the examples."""
    shell = plain_shell(site_url)
    files = {path: (ROOT / "site" / path).read_bytes() for path in EXAMPLES}
    shell = replace(shell, files={**shell.files, **files})
    monkeypatch.setattr("kbtool.site.builder.build_shell", lambda *_, **__: shell)
    Builder(project, project / "out").build()
    return (project / "out/data.html").read_text(encoding="utf-8")


def test_the_page_is_as_reviewed(
    project: Path, monkeypatch: pytest.MonkeyPatch, *, update_golden: bool
) -> None:
    """Byte for byte, but for the sizes; `pytest --update-golden` rewrites it."""
    made = SIZE.sub(r"\1(size)", page(project, monkeypatch))
    if update_golden:
        GOLDEN.write_text(made, encoding="utf-8")
    assert GOLDEN.read_text(encoding="utf-8") == made


def test_sizes_are_those_of_the_files(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder has that of all in it."""
    shown = SIZE.findall(page(project, monkeypatch))
    assert len(shown) == 11
    for _, name, number, unit in shown:
        path = project / "out" / name
        size = sum(
            each.stat().st_size for each in (path.rglob("*") if path.is_dir() else [path]) if each.is_file()
        )
        assert float(number) == pytest.approx(size / {"B": 1, "kB": 1e3, "MB": 1e6}[unit], abs=0.051), name


@pytest.mark.parametrize("site_url", ["", "https://evidence.example/kb/"])
def test_the_programs_shown_are_the_files_that_are_tested(
    project: Path, monkeypatch: pytest.MonkeyPatch, site_url: str
) -> None:
    """With the address of this site where it has one, so that they run as they stand."""
    made = page(project, monkeypatch, site_url)
    shown = [
        html.unescape(code)
        for code in re.findall(r"<pre><code>(&#34;&#34;&#34;.*?)</code></pre>", made, re.DOTALL)
    ]
    files = [(ROOT / "site" / path).read_text(encoding="utf-8") for path in EXAMPLES]
    assert shown == [
        text.replace("https://example.org/", site_url or "https://example.org/") for text in files
    ]
    assert all(f"./{path}" in Page(made).hrefs for path in EXAMPLES)
    assert [(project / "out" / path).read_text(encoding="utf-8") for path in EXAMPLES] == files
