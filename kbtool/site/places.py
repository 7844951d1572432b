"""Where pages are: the path of every page from the root of the site.

Pages are flat files, `<kind>s/<id>.html`. An id never holds a dot, so that what is split off a long page
(`<kind>s/<id>.results-2.html`) can meet no other record.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final
from urllib.parse import urlencode

from kbtool.escape import file_name
from kbtool.schema import FOLDERS
from kbtool.schema.refs import split

__all__ = [
    "RESULTS_PER_PAGE",
    "ROWS_AT_FIRST",
    "ROWS_PER_LIST",
    "ROWS_PER_PAGE",
    "UP",
    "anchor_of",
    "cost_page",
    "coverage_page",
    "evidence_page",
    "explorer",
    "facet_slug",
    "index_page",
    "pages_of",
    "part_page",
    "raw_path",
    "record_json",
    "record_page",
    "result_place",
    "results_page",
    "tombstone_page",
]

RESULTS_PER_PAGE: Final = 10
"""Results of one benchmark on one page; the rest goes to pages of their own."""
ROWS_AT_FIRST: Final = 12
"""Records listed on the page of what they are about, before a link to all of them."""
ROWS_PER_LIST: Final = 30
"""Records on one page of such a list."""
_TAKEN: Final = frozenset({"content"})
"""Ids of the shell that an id of a record could be."""
UP: Final = "../"
"""What leads from a page of a record, or of a list of records, to the root of the site: all are one folder deep."""
ROWS_PER_PAGE: Final = 100
"""Rows of one page of an index."""
_IN_FOLDERS: Final = frozenset({"accelerator", "engine", "model"})
"""Choices of the explorer that are references: its address leaves their folder out."""


@lru_cache(maxsize=1 << 16)
def record_page(ref: str) -> str:
    """Return the page of a record; a result's anchor is ignored."""
    folder, record_id, _ = split(ref)
    if folder not in FOLDERS:
        folder = file_name(folder)
    return f"{folder}/{file_name(record_id)}.html"


def part_page(page: str, part: str, number: int = 1) -> str:
    """Return a page split off another one: `engines/sglang.benchmarks.html`, `engines/sglang.benchmarks-2.html`."""
    count = "" if number == 1 else f"-{number}"
    return f"{page.removesuffix('.html')}.{part}{count}.html"


def results_page(ref: str, number: int) -> str:
    """Return one page of the results of a benchmark; the first is the record's own."""
    page = record_page(ref)
    return page if number == 1 else part_page(page, "results", number)


def evidence_page(ref: str) -> str:
    """Return the page of claims, sources and evidence of a record with many of them."""
    return part_page(record_page(ref), "evidence")


def anchor_of(result: str) -> str:
    """Return the HTML id of a result. Other ids begin with a capital or two underscores, but for those of the shell."""
    return f"{result}_" if result in _TAKEN else result


def result_place(ref: str, results: Sequence[str], result: str) -> str:
    """Return page and anchor of one result."""
    return f"{results_page(ref, results.index(result) // RESULTS_PER_PAGE + 1)}#{anchor_of(result)}"


def index_page(folder: str, number: int = 1) -> str:
    """Return one page of the index of a kind."""
    return f"{folder}/index.html" if number == 1 else f"{folder}/index.{number}.html"


def explorer(metric: str = "*", /, **choices: str | None) -> str:
    """Return the address of the explorer with something chosen, in the form that `site/assets/explore/state.js` reads.

    Args:
        metric: One metric; `*` for all, of which there is a table and no chart.
        choices: Facet -> value, a reference whole; None for what is not stated. Or `sort` and `columns`, as they stand there.
    """
    words = {name: _word(name, value) for name, value in choices.items()}
    return f"explore.html#{urlencode({'metric': metric, **words}, safe='*~,')}"


def _word(name: str, value: str | None) -> str:
    if value is None:
        return "~"
    short = value.partition("/")[2] if name in _IN_FOLDERS else value
    return f"~{short}" if short.startswith("~") else short


def cost_page(model: str) -> str:
    """Return the page of what tokens of a model cost."""
    return f"cost/{file_name(model.partition('/')[2])}.html"


def coverage_page(model: str) -> str:
    """Return the page of what a model was measured on."""
    return f"coverage/{file_name(model.partition('/')[2])}.html"


def tombstone_page(record_id: str) -> str:
    """Return the page that says why a record was removed."""
    return f"withdrawn/{file_name(record_id)}.html"


def record_json(ref: str) -> str:
    """Return the data file of a record."""
    return f"data/records/{record_page(ref).removesuffix('.html')}.json"


def raw_path(ref: str) -> str:
    """Return the copy of a record's own file."""
    return f"data/records/{record_page(ref).removesuffix('.html')}.yaml"


def pages_of(rows: int, per_page: int) -> int:
    """Return over how many pages a list spreads; at least one."""
    return max(1, -(-rows // per_page))


def facet_slug(text: str) -> str:
    """Return a word for a facet's value that is safe in an attribute, a file name and a list of words."""
    return file_name("-".join(text.casefold().split()))
