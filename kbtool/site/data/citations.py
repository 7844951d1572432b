"""Every record as a BibTeX entry, in one file for reference managers."""

from kbtool.site.library import Library
from kbtool.site.views.cite import citation_of

__all__ = ["bibtex_bytes"]


def bibtex_bytes(library: Library, *, site_name: str, site_url: str) -> bytes:
    """Return the entries, by reference."""
    entries = (
        citation_of(card, library.find(card.primary), site_name=site_name, site_url=site_url).bibtex
        for card in library.cards.values()
    )
    return ("\n\n".join(entries) + "\n").encode("utf-8", "replace")
