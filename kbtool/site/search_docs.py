"""What search knows: a document for each record, each hand-written page, each answer, each metric and each rule."""

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from html import unescape
from sys import intern
from typing import Final

from kbtool.lint.pages import RulePage
from kbtool.site.analysis_pages import PAGES
from kbtool.site.cards import Card
from kbtool.site.library import Library
from kbtool.site.places import cost_page, coverage_page, record_page
from kbtool.site.search import SearchDoc, SearchEntry, build_index, entry_of, words_of
from kbtool.site.views.text import quantity_text, words
from kbtool.vocab import METRICS
from kbtool.vocab.terms import DEFINITIONS

__all__ = ["search_files"]

_MAIN: Final = re.compile(r"<main\b[^>]*>(.*)</main>", re.DOTALL)
_HEADING: Final = re.compile(r"<h1\b[^>]*>(.*?)</h1>", re.DOTALL)
_PERMALINK: Final = re.compile(r'<a class="headerlink".*?</a>', re.DOTALL)
_TAG: Final = re.compile(r"<[^>]*>")


_OF_ALL: Final = (
    *[(each.path, each.title, each.description) for each in PAGES],
    ("explore.html", "Explore", "Every result with its conditions: filters, charts, sweeps, frontier, CSV, JSON, PNG, SVG."),
    ("data.html", "Data", "Results and records as files: Parquet, CSV, SQLite, JSON, Croissant, BibTeX; pandas, polars, DuckDB."),
    ("quality.html", "Data quality", "How much is known of the results: engine version, load, quote, repeats, opened source."),
    ("changes.html", "Changes", "What was corrected, and the newest records; a feed."),
)  # fmt: skip
"""Pages over all records: path, title, and what else they are found by."""
_OF_MODEL: Final = (
    (cost_page, "Cost of {}", ("price", "USD", "dollars per million tokens")),
    (coverage_page, "Coverage of {}", ("measured on", "accelerators", "engines")),
)
"""Pages of single models: address, title, and what else they are found by."""


def search_files(
    library: Library, files: Mapping[str, bytes], rules: Iterable[RulePage], made: Container[str]
) -> dict[str, bytes]:
    """Return the files of the search index.

    Args:
        library: The records.
        files: The hand-written pages, by path.
        rules: The pages of the lint rules.
        made: Paths of all pages of the site; not each model has a cost.
    """
    entries = (
        _record_entries(library),
        _hand_written_entries(files),
        _reference_entries(rules),
        _answers(library, made),
    )
    return build_index(entry for each in entries for entry in each)


def _record_entries(library: Library) -> Iterator[SearchEntry]:
    """Yield an entry for each record."""
    for ref, card in library.cards.items():
        doc = _record_doc(card, library)
        named = words_of("\n".join((doc.title, doc.id, *doc.keywords, *doc.numbers)))
        # Words repeat from record to record: one object each keeps a large index small in memory.
        prose = tuple([intern(word) for word in library.words[ref].split() if word not in named])
        yield SearchEntry(doc, prose)


def _answers(library: Library, made: Container[str]) -> Iterator[SearchEntry]:
    """Yield an entry for each page that answers a question over all records, or about one model."""
    for path, title, about in _OF_ALL:
        if path in made:
            yield entry_of(SearchDoc(path, title, "page", text=about))
    for ref, card in library.cards.items():
        for place, title, keywords in _OF_MODEL if card.kind == "model" else ():
            if place(ref) in made:
                names = (card.title, *card.names)
                yield entry_of(
                    SearchDoc(place(ref), title.format(card.title), "page", keywords=(*names, *keywords))
                )


def _hand_written_entries(files: Mapping[str, bytes]) -> Iterator[SearchEntry]:
    """Yield an entry for each page that MkDocs made."""
    for path, data in files.items():
        if not path.endswith(".html") or path in {"404.html", "search.html"}:
            continue
        main = _MAIN.search(data.decode("utf-8"))
        text = _PERMALINK.sub("", main[1]) if main else ""
        heading = _HEADING.search(text)
        if heading is not None:
            yield entry_of(SearchDoc(path, _plain(heading[1]), "page", text=_plain(text)))


def _reference_entries(rules: Iterable[RulePage]) -> Iterator[SearchEntry]:
    """Yield an entry for each metric, each rule and each word of the glossary."""
    for metric in METRICS.values():
        text = f"{metric.formula} {metric.trap} {metric.scope} {metric.tokens}"
        yield entry_of(
            SearchDoc(f"metrics.html#{metric.id}", metric.title, "metric", id=metric.id, text=text)
        )
    for rule in rules:
        title = f"{rule.code} {words(rule.name)}"
        yield entry_of(SearchDoc(f"rules.html#{rule.code}", title, "rule", id=rule.name, text=rule.summary))
    for name, definitions in DEFINITIONS.items():
        for word, definition in definitions.items():
            title = f"{words(word)} ({words(name)})"
            yield entry_of(SearchDoc(f"glossary.html#{name}-{word}", title, "term", text=definition))


def _record_doc(card: Card, library: Library) -> SearchDoc:
    titles = [
        found.title for cell in card.cells if cell.ref and (found := library.find(cell.ref)) is not None
    ]
    metric = METRICS.get(card.metric)
    headline = [quantity_text(card.headline)] if card.headline else []
    keywords = ([metric.title, metric.id] if metric else []) + titles + list(card.names)
    numbers = dict.fromkeys([*headline, *card.numbers])
    return SearchDoc(
        url=record_page(card.ref),
        title=card.title,
        kind=card.kind,
        id=card.ref.partition("/")[2],
        keywords=tuple(dict.fromkeys(keywords)),
        numbers=tuple(numbers),
        status=card.status,
    )


def _plain(html: str) -> str:
    return " ".join(unescape(_TAG.sub(" ", html)).split())
