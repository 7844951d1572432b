"""The Atom feed of changes: what was corrected, and which records are new or changed; newest first.

Days are all that records know, so that a time is the midnight that a day begins with. The id of an entry depends on the record
and on the place of the change in the record's list, which only grows, and on no address: it stays where the site moves.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple
from uuid import NAMESPACE_URL, UUID, uuid5

from markupsafe import Markup

from kbtool.escape import xml_attribute, xml_text
from kbtool.site.cards import Card
from kbtool.site.data.layout import LICENCE
from kbtool.site.places import record_page

__all__ = ["FEED", "MOST_ENTRIES", "atom_bytes", "feed_link"]

FEED: Final = "changes.atom"
MOST_ENTRIES: Final = 100
"""Changes, and as many records."""
_SPACE: Final = uuid5(NAMESPACE_URL, "urn:kbtool:changes")
_NO_DAY: Final = "1970-01-01"


class Entry(NamedTuple):
    """One entry."""

    day: str
    id: UUID
    title: str
    text: str
    page: str


def atom_bytes(cards: Iterable[Card], *, site_name: str, site_url: str) -> bytes:
    """Return the feed.

    Args:
        cards: All records.
        site_name: Name of the site.
        site_url: Its address, or nothing: then links are relative to where the feed lies.
    """
    ordered = sorted(cards, key=lambda card: card.ref)
    changes = _newest(each for card in ordered for each in _changes(card))
    entries = sorted([*changes, *_newest(map(_record, ordered))], key=_day, reverse=True)
    links = [f'<link rel="alternate" type="text/html" href="{xml_attribute(site_url)}changes.html"/>']
    if site_url:
        links.append(f'<link rel="self" type="application/atom+xml" href="{xml_attribute(site_url)}{FEED}"/>')
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<feed xmlns="http://www.w3.org/2005/Atom">',
        f"<title>{xml_text(site_name)}: changes</title>",
        f"<id>{_id(uuid5(_SPACE, site_name))}</id>",
        f"<updated>{_midnight(entries[0].day if entries else _NO_DAY)}</updated>",
        f"<author><name>{xml_text(site_name)} contributors</name></author>",
        f"<rights>CC BY 4.0, {LICENCE}</rights>",
        *links,
        *(_entry(each, site_url) for each in entries),
        "</feed>",
    ]
    return ("\n".join(lines) + "\n").encode()


def feed_link(root: str) -> Markup:
    """Return what leads feed readers from a page to the feed.

    Args:
        root: What leads from the page to the root of the site.
    """
    return Markup('<link rel="alternate" type="application/atom+xml" title="Changes" href="{}{}">').format(
        root, FEED
    )


def _newest(entries: Iterable[Entry]) -> list[Entry]:
    """Return the newest in order; those of one day stay in the order in which they come."""
    return sorted(entries, key=_day, reverse=True)[:MOST_ENTRIES]


def _day(entry: Entry) -> str:
    return entry.day


def _changes(card: Card) -> Iterator[Entry]:
    for number, change in enumerate(card.changes):
        title = f"{card.title}: {change.what}" if change.what else card.title
        yield Entry(
            change.day, uuid5(_SPACE, f"{card.ref} {number}"), title, change.why, record_page(card.ref)
        )


def _record(card: Card) -> Entry:
    text = f"{card.kind.capitalize()} {card.ref}, {card.status}, version of {card.updated}."
    return Entry(card.updated, uuid5(_SPACE, card.ref), card.title, text, record_page(card.ref))


def _entry(entry: Entry, site_url: str) -> str:
    return (
        f"<entry><title>{xml_text(entry.title)}</title><id>{_id(entry.id)}</id>"
        f"<updated>{_midnight(entry.day)}</updated>"
        f'<link rel="alternate" type="text/html" href="{xml_attribute(site_url + entry.page)}"/>'
        f'<content type="text">{xml_text(entry.text)}</content></entry>'
    )


def _id(value: UUID) -> str:
    return f"urn:uuid:{value}"


def _midnight(day: str) -> str:
    return f"{day}T00:00:00Z"
