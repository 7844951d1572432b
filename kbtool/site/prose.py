"""Prose of records as HTML: a few marks of Markdown, nothing that could act.

A writer may use paragraphs, `*emphasis*`, `**strong**`, `` `code` ``, lists, fenced code and links
to `https` pages. Everything else is text and is shown as it stands: HTML, images, headings,
entities, references, backslashes, and links that `kbtool.escape.href` refuses. What Markdown made is
then cleaned against a list of allowed elements, so that a fault in one of the two is not enough.
"""

import re
from functools import cache
from html import escape
from typing import Final

import nh3
from markdown_it import MarkdownIt
from markupsafe import Markup

from kbtool.escape import href

__all__ = ["Prose", "prose_html"]

_RULES: Final = (
    *("fence", "list", "paragraph"),
    *("text", "newline", "backticks", "emphasis", "link", "autolink"),
)
_ELEMENTS: Final = frozenset({"a", "code", "em", "li", "ol", "p", "pre", "strong", "ul"})
_ATTRIBUTES: Final = {"a": {"href"}, "ol": {"start"}}
_RELATION: Final = "nofollow ugc noopener noreferrer"
# Not part of any text: an HTML parser replaces or drops them, and surrogates cannot be encoded.
_NO_TEXT: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
# One paragraph in which no rule above can find anything to do.
_PLAIN: Final = re.compile(r"(?![-+~\s\d])[^*_`<\[\r\n\t]*[^\s*_`<\[]")


class _Markdown(MarkdownIt):
    """Markdown whose links are those of `href`; any other stays text."""

    def validateLink(self, url: str) -> bool:  # noqa: N802 - the name is markdown-it's
        return href(url) is not None

    def normalizeLink(self, url: str) -> str:  # noqa: N802 - the name is markdown-it's
        return href(url) or url


class Prose:
    """The parser and the cleaner, made once and used for every text of a build."""

    def __init__(self) -> None:
        self._markdown = _Markdown("zero").enable(list(_RULES))
        self._cleaner = nh3.Cleaner(
            tags=set(_ELEMENTS),
            attributes=dict(_ATTRIBUTES),
            attribute_filter=_kept_attribute,
            link_rel=_RELATION,
            url_schemes={"https"},
            strip_comments=True,
        )

    def html(self, text: str) -> Markup:
        """Return `text` as block elements: paragraphs, lists, code."""
        readable = _NO_TEXT.sub("\ufffd", text)
        if _PLAIN.fullmatch(readable):
            content = escape(readable, quote=False).replace("\u00a0", "&nbsp;")
            return Markup(f"<p>{content}</p>\n")  # noqa: S704 - escaped on the line before
        return Markup(self._cleaner.clean(self._markdown.render(readable)))  # noqa: S704 - cleaned


def prose_html(text: str) -> Markup:
    """Return `text` as block elements, with the parser that all pages share."""
    return _shared().html(text)


@cache
def _shared() -> Prose:
    return Prose()


def _kept_attribute(element: str, attribute: str, value: str) -> str | None:
    """Keep what Markdown or the cleaner made; ask `href` once more about addresses."""
    if (element, attribute) == ("a", "href"):
        return href(value)
    return value if value == _RELATION or value.isdecimal() else None
