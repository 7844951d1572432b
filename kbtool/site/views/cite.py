"""How a record is cited: as a line of text and as BibTeX."""

from typing import Final, NamedTuple

from kbtool.schema import Record
from kbtool.site.places import record_page
from kbtool.site.views.base import Context

__all__ = ["CiteView", "bibtex_text", "citation_of"]

_BIBTEX: Final = str.maketrans({
    "\\": r"{\textbackslash}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%",
    "_": r"\_", "~": r"{\textasciitilde}", "^": r"{\textasciicircum}",
})  # fmt: skip
"""What TeX would read as a command."""


class CiteView(NamedTuple):
    """The two forms."""

    text: str
    bibtex: str


def citation_of(record: Record, context: Context) -> CiteView:
    """Return how to cite this version of a record; the status is part of it."""
    ref, status = context.card.ref, context.card.status
    updated = record.updated.isoformat()
    address = f"{context.site_url}{record_page(ref)}" if context.site_url else ""
    text = f"\N{LEFT DOUBLE QUOTATION MARK}{record.title}\N{RIGHT DOUBLE QUOTATION MARK}. {context.site_name}, record {ref}, version of {updated} ({status})."
    fields = [
        ("title", bibtex_text(record.title)),
        ("howpublished", bibtex_text(f"{context.site_name}, record {ref}")),
        ("year", updated[:4]),
        ("note", bibtex_text(f"version of {updated}, {status}")),
    ]
    if address:
        text += f" {address}"
        fields.append(("url", address))
    body = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields)
    return CiteView(text, f"@misc{{{record.id},\n{body}\n}}")


def bibtex_text(text: str) -> str:
    """Return text for a BibTeX value, in which no character is a command."""
    return text.translate(_BIBTEX)
