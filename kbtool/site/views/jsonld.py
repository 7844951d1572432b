"""schema.org metadata of a record page, as plain data for a JSON-LD block."""

from typing import Any

from kbtool.schema import Benchmark, Record
from kbtool.site.data.layout import LICENCE
from kbtool.site.places import record_json, record_page
from kbtool.site.views.base import Context
from kbtool.site.views.text import metric_of

__all__ = ["json_ld"]


def json_ld(record: Record, context: Context, description: str) -> dict[str, Any]:
    """Return a `Dataset` for a benchmark and a `CreativeWork` for any other record.

    Addresses of the site itself are given where it has one.
    """
    ref, base = context.card.ref, context.site_url
    data: dict[str, Any] = {
        "@context": "https://schema.org",
        "@type": "Dataset" if isinstance(record, Benchmark) else "CreativeWork",
        "name": record.title,
        "description": description,
        "identifier": ref,
        "dateModified": context.card.updated,
        "creativeWorkStatus": context.card.status,
        "license": LICENCE,
        "isBasedOn": _sources(record, context),
    }
    if base:
        data["url"] = f"{base}{record_page(ref)}"
    if isinstance(record, Benchmark):
        data["variableMeasured"] = _variables(record)
        if base:
            data["distribution"] = [
                {
                    "@type": "DataDownload",
                    "encodingFormat": "application/json",
                    "contentUrl": f"{base}{record_json(ref)}",
                }
            ]
    return data


def _sources(record: Record, context: Context) -> list[str]:
    """Return the addresses of whoever measured or published first."""
    found = []
    for use in record.sources:
        if use.role != "primary":
            continue
        card = context.find(use.source)
        if card is not None and card.source is not None and card.source.url:
            found.append(card.source.url)
    return found


def _variables(record: Benchmark) -> list[dict[str, str]]:
    units = dict.fromkeys(each.metric for each in record.results)
    return [
        {"@type": "PropertyValue", "name": metric.title, "propertyID": metric.id, "unitText": metric.unit}
        for metric in map(metric_of, units)
        if metric is not None
    ]
