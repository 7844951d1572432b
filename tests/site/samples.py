"""A small project of made-up records, and ways to build and read its site without MkDocs."""

import shutil
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final

import pytest

from kbtool.analysis.completeness import accounts
from kbtool.findings import Finding
from kbtool.schema import MODELS, Benchmark, Record
from kbtool.site.builder import Builder, BuildReport
from kbtool.site.cards import Card, card_of
from kbtool.site.shell import Shell
from kbtool.site.views.base import Context, Incoming
from kbtool.store import Corpus, load
from kbtool.store.references import outgoing

__all__ = [
    "CORPUS",
    "Page",
    "context_of",
    "make_project",
    "plain_shell",
    "records",
    "rich",
    "text_of",
    "the_build",
]

CORPUS: Final = Path(__file__).resolve().parent / "corpus"
RICH: Final = "benchmarks/ev-fastserve-demo-8xa1"
_TEMPLATE: Final = """<!doctype html>
<html lang="en">
<head>
<title>@@kb:title@@</title>
<meta name="description" content="@@kb:description@@">
@@kb:canonical@@
@@kb:head@@
</head>
<body class="@@kb:page_class@@">
@@kb:crumbs@@
<main>@@kb:body@@</main>
</body>
</html>
"""
"""As little of a page as the shell allows, so that the golden pages show ours alone."""


def plain_shell(site_url: str = "") -> Shell:
    """Return a shell without a theme."""
    hand_written = (
        b"<html><body><main><h1>Methodology</h1><p>How figures are compared.</p></main></body></html>"
    )
    files = {"methodology.html": hand_written}
    return Shell("Evidence", site_url, files, f"plain {site_url}", _template=_TEMPLATE, _not_found=_TEMPLATE)


def make_project(folder: Path) -> Path:
    """Copy the records into a project of their own."""
    shutil.copytree(CORPUS / "records", folder / "records")
    return folder


def the_build(
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    out: str = "out",
    site_url: str = "",
    findings: tuple[Finding, ...] = (),
) -> BuildReport:
    """Build the site of a project around the plain shell."""
    monkeypatch.setattr("kbtool.site.builder.build_shell", lambda *_, **__: plain_shell(site_url))
    return Builder(project, project / out).build(findings=findings)


def corpus() -> Corpus:
    """Return the sample records."""
    return load(CORPUS)


def records() -> dict[str, Record]:
    """Return the sample records by reference."""
    return dict(corpus().records)


def rich(**changes: Any) -> Any:
    """Return the benchmark that has a bit of everything, with some fields replaced."""
    found = corpus().loaded(RICH).value
    assert found is not None
    return MODELS["benchmark"].model_validate({**found, **changes})


def context_of(record: Record, ref: str = "", *, status: str = "draft") -> Context:
    """Return what the page of a record may be made from, the other samples being its neighbours."""
    everything = corpus()
    cards = {
        each: card_of(each, found, everything.status(each), outgoing(found))
        for each, found in everything.records.items()
    }
    ref = ref or f"{type(record).__name__.lower()}s/{record.id}"
    card = card_of(ref, record, status, outgoing(record))

    return Context(
        card=card,
        find=cards.get,
        incoming=tuple(_incoming(ref, cards)),
        accounts=accounts(record) if isinstance(record, Benchmark) else (),
        site_name="Evidence",
    )


def _incoming(ref: str, cards: dict[str, Card]) -> Iterator[Incoming]:
    for card in cards.values():
        for mention in card.mentions:
            if mention.target.partition("#")[0] == ref != card.ref:
                yield Incoming(card, mention)


class Page(HTMLParser):
    """A page taken apart: its elements, its text, its links."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.ids: list[str] = []
        self.hrefs: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        attributes = dict(attrs)
        self.elements.append((tag, attributes))
        if (name := attributes.get("id")) is not None:
            self.ids.append(name)
        if (target := attributes.get("href")) is not None:
            self.hrefs.append(target)

    def handle_data(self, data: str) -> None:
        """Note a text."""
        self.texts.append(data)

    @property
    def text(self) -> str:
        """All text in one line."""
        return " ".join("".join(self.texts).split())


def text_of(html: str) -> str:
    """Return the text of a page in one line."""
    return Page(html).text
