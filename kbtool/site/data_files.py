"""Data files that pages link to: each record as JSON and as the YAML that it was written in, and an index."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kbtool.schema import Record
from kbtool.site.cards import Card
from kbtool.site.data.layout import LAYOUT, LICENCE
from kbtool.site.places import record_json, record_page
from kbtool.site.views.cite import CiteView
from kbtool.store.exactjson import exact_json

__all__ = ["FORMAT", "index_json", "record_json_bytes"]

FORMAT: Final = 1
"""Version of the layout of these files."""


def record_json_bytes(
    card: Card, record: Record, cite: CiteView, comparison: Mapping[str, Any] | None = None
) -> bytes:
    """Return a record with its derived status and how to cite it; numbers keep the digits that they were written with.

    Args:
        card: Its card.
        record: The record.
        cite: How it is cited.
        comparison: What a comparison looks at in each of its results; of benchmarks alone.
    """
    value = record.model_dump(mode="python", by_alias=True)
    head = {
        "format": FORMAT,
        "ref": card.ref,
        "status": card.status,
        "citation": cite.text,
        "bibtex": cite.bibtex,
    }
    more = {} if comparison is None else {"comparison": comparison}
    return exact_json({**head, "record": value, **more}).encode()


def index_json(cards: Sequence[Card]) -> bytes:
    """Return where every record's page and data file are."""
    records = [
        {
            "ref": card.ref,
            "title": card.title,
            "status": card.status,
            "updated": card.updated,
            "page": record_page(card.ref),
            "json": record_json(card.ref),
        }
        for card in cards
    ]
    head = {"format": FORMAT, "layout": LAYOUT, "licence": LICENCE}
    return exact_json({**head, "records": records}).encode()
