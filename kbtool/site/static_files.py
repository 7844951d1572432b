"""Files that are no pages of records: hand-written pages, assets, the data index, the sitemap, robots.txt, CITATION.cff."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from kbtool.escape import xml_text
from kbtool.site.cards import Card
from kbtool.site.data_files import index_json
from kbtool.site.library import Library
from kbtool.site.places import record_page
from kbtool.site.products import Product, key_of, ready
from kbtool.site.shell import Shell

__all__ = ["read_citation", "static_products"]

CITATION: Final = "CITATION.cff"
"""Below the project root, and copied to the root of the site."""

_URLS_PER_SITEMAP: Final = 50_000
"""The limit of the sitemap protocol."""
_OTHER_PAGES: Final = (
    "", "benchmarks/index.html", "accelerators/index.html", "interconnects/index.html", "engines/index.html",
    "models/index.html", "sources/index.html", "gotchas/index.html", "metrics.html", "rules.html", "glossary.html",
    "changes.html", "quality.html", "explore.html", "data.html",
    "compare.html", "limits.html", "cost.html", "coverage.html", "conflicts.html", "gaps.html",
)  # fmt: skip


def static_products(library: Library, shell: Shell) -> Iterator[Product]:
    """Yield the files."""
    for path, data in shell.files.items():
        yield ready(path, data)
    cards = tuple(library.cards.values())
    key = key_of(shell.site_url, (library.row_digest(card.ref) for card in cards))
    yield Product("data/index.json", key, partial(index_json, cards))
    sitemaps = _sitemaps(cards, shell) if shell.site_url else []
    for path, data in sitemaps:
        yield ready(path, data)
    yield ready("robots.txt", _robots(shell.site_url))
    citation = read_citation(library.root)
    if citation:
        yield ready(CITATION, citation)


def read_citation(root: Path) -> bytes:
    """Return how the repository says that it is cited; nothing where it does not."""
    file = root / CITATION
    return file.read_bytes() if file.is_file() else b""


def _robots(site_url: str) -> bytes:
    sitemap = f"Sitemap: {site_url}sitemap.xml\n" if site_url else ""
    return f"User-agent: *\nAllow: /\n{sitemap}".encode()


def _sitemaps(cards: tuple[Card, ...], shell: Shell) -> list[tuple[str, bytes]]:
    """Return the sitemap, as an index of several where one would be too long. It needs the site's address."""
    hand_written = [
        path for path in shell.files if path.endswith(".html") and path not in {"404.html", "search.html"}
    ]
    urls = [_url(shell.site_url + path) for path in (*_OTHER_PAGES, *hand_written)]
    urls += [_url(shell.site_url + record_page(card.ref), card.updated) for card in cards]
    parts = [urls[start : start + _URLS_PER_SITEMAP] for start in range(0, len(urls), _URLS_PER_SITEMAP)]
    if len(parts) == 1:
        return [("sitemap.xml", _xml("urlset", parts[0]))]
    names = [f"sitemap.{number}.xml" for number in range(1, len(parts) + 1)]
    index = [f"<sitemap><loc>{xml_text(shell.site_url + name)}</loc></sitemap>" for name in names]
    files = [(name, _xml("urlset", part)) for name, part in zip(names, parts, strict=True)]
    return [("sitemap.xml", _xml("sitemapindex", index)), *files]


def _url(address: str, day: str = "") -> str:
    changed = f"<lastmod>{day}</lastmod>" if day else ""
    return f"<url><loc>{xml_text(address)}</loc>{changed}</url>"


def _xml(element: str, lines: list[str]) -> bytes:
    body = "\n".join(lines)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<{element} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{body}\n</{element}>\n'
    ).encode()
