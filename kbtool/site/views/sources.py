"""The sources of a page, each with the places in it that the page quotes."""

from typing import NamedTuple

from kbtool.schema import Record
from kbtool.schema.common import SourceUse
from kbtool.site.views.base import Citations, Context, Link, Quoted
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
    uses = {each.source: each for each in record.sources}
    return tuple(
        [
            _source(ref, context, uses.get(ref))._replace(number=citations.source(ref), places=places)
            for ref, places in citations.by_source().items()
        ]
    )


def _source(ref: str, context: Context, use: SourceUse | None) -> SourceView:
    card = context.find(ref)
    facts = card.source if card else None
    view = SourceView(
        number=0,
        link=context.link(ref),
        role=words(use.role) if use else "quoted",
        publisher="",
        interest="",
        is_interested=False,
        url=None,
        archive=None,
        dates="",
        group=use.group if use else facts.group if facts else "",
        places=(),
    )
    if facts is None:
        return view
    return view._replace(
        publisher=facts.publisher,
        interest=words(facts.interest) if facts.interest != "none_stated" else "",
        is_interested=facts.interest in {"vendor", "sells_service", "sells_hardware"},
        url=_outside(facts.url, facts.shown_url),
        archive=_outside(facts.archive_url, "archived copy") if facts.archive_url else None,
        dates=f"{facts.published}, read {facts.accessed}" if facts.published else f"read {facts.accessed}",
    )


def _outside(url: str, text: str) -> Link | None:
    """Return a link out of the site, or the text alone where the address must not be linked."""
    if url:
        return Link(text, url, outside=True)
    return Link(text) if text else None
