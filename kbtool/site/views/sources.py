"""The sources of a page, each with the places in it that the page quotes."""

from typing import NamedTuple

from kbtool.schema import Record
from kbtool.site.views.base import Citations, Context, Link, Quoted, external
from kbtool.site.views.text import words

__all__ = ["SourceView", "source_views"]


class SourceView(NamedTuple):
    """One source."""

    number: int
    link: Link
    role: str
    """Role for the record; `quoted` for a source that only stands beside one of its statements."""
    publisher: str
    interest: str
    """In words; empty where none is stated."""
    is_interested: bool
    """Whether its publisher gains from the figures."""
    url: Link | None
    archive: Link | None
    dates: str
    group: str
    places: tuple[Quoted, ...]


def source_views(record: Record, context: Context, citations: Citations) -> tuple[SourceView, ...]:
    """Return the sources in the order of their numbers."""
    roles = {each.source: (words(each.role), each.group) for each in record.sources}
    return tuple(
        [
            _source(citations.source(ref), ref, places, context, *roles.get(ref, ("quoted", "")))
            for ref, places in citations.by_source().items()
        ]
    )


def _source(
    number: int, ref: str, places: tuple[Quoted, ...], context: Context, role: str, group: str
) -> SourceView:
    card = context.find(ref)
    facts = card.source if card else None
    if facts is None:
        return SourceView(number, context.link(ref), role, "", "", False, None, None, "", group, places)
    return SourceView(
        number=number,
        link=context.link(ref),
        role=role,
        publisher=facts.publisher,
        interest=words(facts.interest) if facts.interest != "none_stated" else "",
        is_interested=facts.interest in {"vendor", "sells_service", "sells_hardware"},
        url=external(facts.url) if facts.url else None,
        archive=external(facts.archive_url, "archived copy") if facts.archive_url else None,
        dates=f"{facts.published}, read {facts.accessed}" if facts.published else f"read {facts.accessed}",
        group=group or facts.group,
        places=places,
    )
