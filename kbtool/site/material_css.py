"""Cut the style sheet of Material for MkDocs down to what the site uses.

The sheet ships in the installed theme (137 kB) and is never copied into the repository; search,
tabs, comments, right-to-left scripts and a hundred icons of it have no use here. A rule stays if
everything its selector asks for can occur: each class is one of the page's, no language is written
from right to left. Custom properties and animations that nothing uses go too, and with them the icons.
"""

import re
from collections.abc import Container, Iterator
from typing import Final

__all__ = ["classes_of", "compact", "trim"]

# A quoted string, a comment, or one of the characters that give the sheet its structure.
_TOKEN: Final = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|/\*.*?\*/)|([{}();,])""", re.DOTALL)
# A string or a comment; a mark with the blanks around it; blanks.
_BLANKS: Final = re.compile(
    r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|/\*.*?\*/)|(\s*[{};,]\s*|:\s+)|\s+""", re.DOTALL
)
_CLASS_ATTRIBUTE: Final = re.compile(r'\bclass="([^"]*)"')
_CLASS_SELECTOR: Final = re.compile(r"\.(-?[A-Za-z_][\w-]*)")
_NEGATION: Final = re.compile(r":not\([^()]*\)")
# What no page of the site has, or should not look like: right-to-left text, the attributes of
# Material's scripts, its colour schemes, its sortable tables.
_NEVER: Final = re.compile(
    r"\[dir=rtl\]|\[data-|\.no-js|\[(?:for|id)=__|\[role=columnheader\]|\b(?:iframe|video)\b"
)
_PREFIXED: Final = re.compile(r"^-(?:moz|ms|o)-|^-webkit-(?:hyphens|tap-highlight)")
_READ_PROPERTY: Final = re.compile(r"var\(\s*(--[\w-]+)")
_ANIMATION: Final = re.compile(r"animation(?:-name)?:([^;}]*)")
_GROUPS: Final = ("@media", "@supports", "@layer")


def classes_of(html: str) -> set[str]:
    """Return every class that an element of `html` has."""
    return {name for value in _CLASS_ATTRIBUTE.findall(html) for name in value.split()}


def compact(css: str) -> str:
    """Return `css` without comments and without the blanks that only readers need."""

    def shorter(match: re.Match[str]) -> str:
        text, mark = match[1], match[2]
        if text is None:
            return " " if mark is None else mark.strip()
        return "" if text.startswith("/*") else text

    return _BLANKS.sub(shorter, css).replace(";}", "}").strip()


def trim(css: str, classes: Container[str], *, also_read: str = "") -> str:
    """Return the rules of `css` that a page with these classes can use.

    Args:
        css: A valid style sheet.
        classes: The class names that occur on the site.
        also_read: Another style sheet that may read the custom properties of this one.
    """
    kept = _trim_rules(css, classes)
    while True:
        smaller = _drop_unused(kept, _names_used(kept) | _names_used(also_read))
        if smaller == kept:
            return kept
        kept = smaller


def _names_used(css: str) -> set[str]:
    """Return the custom properties that are read and every word that may name an animation."""
    animations = " ".join(_ANIMATION.findall(css))
    return {*_READ_PROPERTY.findall(css), *animations.replace(",", " ").split()}


def _trim_rules(css: str, classes: Container[str]) -> str:
    out: list[str] = []
    for prelude, body in _rules(css):
        if body is None:
            continue  # @charset and @import; the built sheet starts with neither
        if prelude.startswith(_GROUPS):
            inner = _trim_rules(body, classes)
            if inner:
                out.append(f"{prelude}{{{inner}}}")
        elif prelude.startswith("@"):
            out.append(f"{prelude}{{{body}}}")
        else:
            selectors = [s for s in _split(prelude, ",") if _can_match(s, classes)]
            if selectors:
                out.append(f"{','.join(selectors)}{{{_without_old_prefixes(body)}}}")
    return "".join(out)


def _can_match(selector: str, classes: Container[str]) -> bool:
    if _NEVER.search(selector):
        return False
    required = _NEGATION.sub("", selector)
    return all(name in classes for name in _CLASS_SELECTOR.findall(required))


def _without_old_prefixes(body: str) -> str:
    return ";".join(d for d in _split(body, ";") if d and not _PREFIXED.match(d))


def _drop_unused(css: str, used: Container[str]) -> str:
    out: list[str] = []
    for prelude, body in _rules(css):
        if body is None:
            continue
        if prelude.startswith(_GROUPS):
            inner = _drop_unused(body, used)
        elif prelude.startswith("@keyframes"):
            inner = body if prelude.split()[-1] in used else ""
        elif prelude.startswith("@"):
            inner = body
        else:
            inner = ";".join(d for d in _split(body, ";") if _is_used(d, used))
        if inner:
            out.append(f"{prelude}{{{inner}}}")
    return "".join(out)


def _is_used(declaration: str, used: Container[str]) -> bool:
    name = declaration.partition(":")[0].strip()
    return bool(name) and (not name.startswith("--") or name in used)


def _rules(css: str) -> Iterator[tuple[str, str | None]]:
    """Yield (prelude, body) of each rule on this level; the body is None for a statement."""
    start = depth = parentheses = opened = 0
    for match in _TOKEN.finditer(css):
        mark = match[2]
        if mark == "(":
            parentheses += 1
        elif mark == ")":
            parentheses -= 1
        elif parentheses or mark is None:
            continue
        elif mark == "{":
            if depth == 0:
                opened = match.start()
            depth += 1
        elif mark == "}":
            depth -= 1
            if depth == 0:
                yield css[start:opened].strip(), css[opened + 1 : match.start()]
                start = match.end()
        elif mark == ";" and depth == 0:
            yield css[start : match.start()].strip(), None
            start = match.end()


def _split(text: str, separator: str) -> list[str]:
    """Split at `separator` where it stands outside strings and parentheses."""
    parts: list[str] = []
    start = depth = 0
    for match in _TOKEN.finditer(text):
        mark = match[2]
        if mark == "(":
            depth += 1
        elif mark == ")":
            depth -= 1
        elif mark == separator and depth == 0:
            parts.append(text[start : match.start()].strip())
            start = match.end()
    parts.append(text[start:].strip())
    return parts
