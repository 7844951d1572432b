"""The search index: files that `site/assets/search.js` reads, made from plain documents.

Two tiers, so that the first result needs one small file and yet every word is found:

``search/quick.json.gz``
    One row a document: title, id, kind, status, key words and numbers, in columns, sorted by URL so
    that neighbours resemble each other. Fetched when a reader enters the search field. It also
    lists the first word of each shard.
``search/words-NNN.json``
    Shards of the words of the prose: sorted words, and for each the numbers of the documents that
    contain it (the first, then the distances). Fetched when a query reaches into their range.

A text is taken apart by `words_of`, here and in the browser alike: `deepseek-v4.1-flash` is found as
a whole, as `deepseek`, `v4.1` and `flash`, and as `v4`; `6,853` and `6853` are one word; letters are
compared without case and accents.

The same documents give the same bytes, in whatever order they come.
"""

import gzip
import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

__all__ = ["SearchDoc", "SearchEntry", "build_index", "entry_of", "words_of"]

VERSION: Final = 1
SHARD_BYTES: Final = 24_000
"""A shard is closed at the next change of the first two letters after this size."""

_WORD: Final = re.compile(r"[^\W_]+(?:[.,\-_/+:'\u2019@=&#][^\W_]+)*")
# What a word falls into: `tp=8/kv-cache:fp8_e4m3` at stronger joints, then at hyphens, then at dots.
_PART: Final = re.compile(r"[^\W_]+(?:[.\-_'\u2019][^\W_]+)*")
_PIECE: Final = re.compile(r"[^\W_]+(?:\.[^\W_]+)*")
_ATOM: Final = re.compile(r"[^\W_]+")
_GROUPED: Final = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_DECIMAL: Final = re.compile(r"\d+\.\d+")


@dataclass(frozen=True, slots=True)
class SearchDoc:
    """One page as the search sees it. All of it is data and may be hostile."""

    url: str
    """Path from the root of the site, `benchmarks/b-17.html`; a fragment is allowed."""
    title: str
    kind: str
    """`benchmark`, `accelerator`, ...; `page` for what is no record."""
    id: str = ""
    keywords: tuple[str, ...] = ()
    """Names it should be found by and that are shown: model, engine, accelerator, metric."""
    numbers: tuple[str, ...] = ()
    """Its figures with their units; the first is shown beside the title: `6,853 tok/s`."""
    status: str = ""
    text: str = ""
    """The prose, quotes and arguments: found, but not shown."""


@dataclass(frozen=True, slots=True)
class SearchEntry:
    """A document with its prose taken apart: depends on the document alone, so it can be cached."""

    doc: SearchDoc
    words: tuple[str, ...]
    """The words of the prose that no other field has, sorted."""


def words_of(text: str) -> set[str]:
    """Return every form under which a reader may look for a word of `text`."""
    found: set[str] = set()
    for word in set(_WORD.findall(_folded(text))):
        found |= _forms(word)
    return found


def entry_of(doc: SearchDoc) -> SearchEntry:
    """Take a document apart."""
    named = words_of("\n".join((doc.title, doc.id, *doc.keywords, *doc.numbers)))
    return SearchEntry(doc, tuple(sorted(words_of(doc.text) - named)))


def build_index(entries: Iterable[SearchEntry]) -> dict[str, bytes]:
    """Return the files of the index by their path from the root of the site."""
    ordered = sorted(entries, key=lambda entry: entry.doc.url)
    shards = _shards(ordered)
    quick = _quick([entry.doc for entry in ordered], [words[0] for words, _ in shards])
    files = {"search/quick.json.gz": gzip.compress(_json(quick), compresslevel=9, mtime=0)}
    for number, (words, numbers) in enumerate(shards):
        files[f"search/words-{number:03d}.json"] = _json({"words": words, "docs": numbers})
    return files


def _folded(text: str) -> str:
    """Return `text` in lower case, without accents and compatibility forms."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text).lower()
    return "".join(c for c in decomposed if not unicodedata.category(c).startswith("M"))


def _forms(word: str) -> set[str]:
    if word.isalnum():
        return {word}
    if _GROUPED.fullmatch(word):
        return {word.replace(",", "")}
    if _DECIMAL.fullmatch(word):
        return {word}
    forms = {word, *_PART.findall(word)}
    for piece in _PIECE.findall(word):
        forms.add(piece)
        if not _DECIMAL.fullmatch(piece):
            forms.update(_ATOM.findall(piece))
    return forms


def _quick(docs: Sequence[SearchDoc], shards: list[str]) -> dict[str, object]:
    """Return the columns; what repeats is written once and then numbered."""
    kinds = sorted({doc.kind for doc in docs})
    statuses = sorted({doc.status for doc in docs})
    keywords = _by_frequency(docs)
    number_of = {keyword: number for number, keyword in enumerate(keywords)}
    return {
        "version": VERSION,
        "kinds": kinds,
        "statuses": statuses,
        "keywords": keywords,
        "kind": [kinds.index(doc.kind) for doc in docs],
        "status": [statuses.index(doc.status) for doc in docs],
        "id": [doc.id for doc in docs],
        # The usual address follows from kind and id; only others are written.
        "url": ["" if doc.url == f"{doc.kind}s/{doc.id}.html" else doc.url for doc in docs],
        "title": [doc.title for doc in docs],
        "keys": [[number_of[keyword] for keyword in doc.keywords] for doc in docs],
        "numbers": ["\n".join(doc.numbers) for doc in docs],
        "shards": shards,
    }


def _by_frequency(docs: Sequence[SearchDoc]) -> list[str]:
    count: dict[str, int] = {}
    for doc in docs:
        for keyword in doc.keywords:
            count[keyword] = count.get(keyword, 0) + 1
    return sorted(count, key=lambda keyword: (-count[keyword], keyword))


def _shards(entries: Sequence[SearchEntry]) -> list[tuple[list[str], list[list[int]]]]:
    """Cut the sorted vocabulary where two letters change and the shard is large enough.

    Cutting only there keeps the shards of most letters as they are when one record changes.
    """
    postings: dict[str, list[int]] = {}
    for number, entry in enumerate(entries):
        for word in entry.words:
            postings.setdefault(word, []).append(number)
    shards: list[tuple[list[str], list[list[int]]]] = []
    size = 0
    previous = ""
    for word in sorted(postings):
        if not shards or (size > SHARD_BYTES and word[:2] != previous[:2]) or size > 4 * SHARD_BYTES:
            shards.append(([], []))
            size = 0
        docs = postings[word]
        distances = [docs[0], *(b - a for a, b in pairwise(docs))]
        shards[-1][0].append(word)
        shards[-1][1].append(distances)
        size += len(word) + 3 + 2 * len(docs)
        previous = word
    return shards


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
