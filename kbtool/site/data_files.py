"""Data files that pages link to: each record as JSON and as the YAML that it was written in, and an index."""

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from kbtool.schema import Record
from kbtool.site.cards import Card
from kbtool.site.places import record_json, record_page
from kbtool.vocab.numbers import number_text

__all__ = ["FORMAT", "exact_json", "index_json", "record_json_bytes"]

FORMAT: Final = 1
"""Version of the layout of these files."""


def record_json_bytes(card: Card, record: Record) -> bytes:
    """Return a record with its derived status; numbers keep the digits that they were written with."""
    value = record.model_dump(mode="python", by_alias=True)
    return exact_json({"format": FORMAT, "ref": card.ref, "status": card.status, "record": value}).encode()


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
    return exact_json({"format": FORMAT, "records": records}).encode()


def exact_json(value: Any) -> str:
    """Return strict JSON in which a decimal keeps its digits: `93.90` stays `93.90`.

    The standard encoder would need a float, which has no digits of its own.
    """
    return "".join(_written(value)) + "\n"


_string = json.encoder.encode_basestring_ascii


def _written(value: Any) -> list[str]:
    out: list[str] = []
    _write(value, out)
    return out


def _write(value: Any, out: list[str]) -> None:
    kind = type(value)
    if kind is str:
        out.append(_string(value))
    elif value is None:
        out.append("null")
    elif kind is bool:
        out.append("true" if value else "false")
    elif kind is int or kind is Decimal:
        out.append(number_text(value))
    elif isinstance(value, Mapping):
        _write_mapping(value, out)
    elif isinstance(value, list | tuple):
        _write_list(value, out)
    else:  # a date
        out.append(_string(value.isoformat()))


def _write_mapping(value: Mapping[str, Any], out: list[str]) -> None:
    start = "{"
    for key, inner in value.items():
        out.append(f"{start}{_string(key)}:")
        _write(inner, out)
        start = ","
    out.append("{}" if start == "{" else "}")


def _write_list(value: Sequence[Any], out: list[str]) -> None:
    start = "["
    for inner in value:
        out.append(start)
        _write(inner, out)
        start = ","
    out.append("[]" if start == "[" else "]")
