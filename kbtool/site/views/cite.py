"""How a record is cited: as a line of text and as BibTeX. The measurement is its source's, which is named too."""

from typing import Final, NamedTuple

from kbtool.site.cards import Card
from kbtool.site.places import record_page

__all__ = ["CiteView", "bibtex_text", "citation_of"]

# BibTeX counts braces whether or not a backslash stands before them, so that none of the text may be one.
_BIBTEX: Final = str.maketrans({
    "\\": r"{\textbackslash}", "{": r"{\textbraceleft}", "}": r"{\textbraceright}", "$": r"\$", "&": r"\&", "#": r"\#",
    "%": r"\%", "_": r"\_", "~": r"{\textasciitilde}", "^": r"{\textasciicircum}", '"': "{''}",
})  # fmt: skip
"""What BibTeX or TeX would read as a command or as the end of a value."""


class CiteView(NamedTuple):
    """The two forms."""

    text: str
    bibtex: str


def citation_of(card: Card, source: Card | None, *, site_name: str, site_url: str) -> CiteView:
    """Return how to cite this version of a record; its status and its source are part of it.

    Args:
        card: The record.
        source: Its primary source; None where it has none, or is a source itself.
        site_name: Name of the site.
        site_url: Address of the site, or nothing.
    """
    ref, version = card.ref, f"version of {card.updated}"
    text = f"{_quoted(card.title)}. {site_name}, record {ref}, {version} ({card.status})."
    fields = [
        ("title", bibtex_text(card.title)),
        ("author", f"{{{bibtex_text(f'{site_name} contributors')}}}"),
        ("howpublished", bibtex_text(f"{site_name}, record {ref}")),
        ("year", card.updated[:4]),
    ]
    note = f"{version}, {card.status}"
    if site_url:
        address = f"{site_url}{record_page(ref)}"
        text += f" {address}"
        fields.append(("url", address))
    if source is not None:
        named = f"Source: {_source(source)}"
        text += f" {named}."
        note += f". {named}"
    fields.append(("note", bibtex_text(note)))
    body = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields)
    # Two kinds may share an id.
    return CiteView(text, f"@misc{{{card.kind}:{ref.partition('/')[2]},\n{body}\n}}")


def bibtex_text(text: str) -> str:
    """Return text for a BibTeX value, in which no character is a command."""
    return " ".join(text.split()).translate(_BIBTEX)


def _source(card: Card) -> str:
    facts = card.source
    if facts is None:
        return _quoted(card.title)
    parts = [facts.publisher, _quoted(card.title), facts.published, facts.url]
    return ", ".join(filter(None, parts))


def _quoted(title: str) -> str:
    return f"\N{LEFT DOUBLE QUOTATION MARK}{title}\N{RIGHT DOUBLE QUOTATION MARK}"
