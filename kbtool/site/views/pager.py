"""Links between the pages of a long list."""

from collections.abc import Callable

from kbtool.site.views.base import Link

__all__ = ["pager_links"]

_NEAR = 2
"""Pages shown on each side of the current one; the first and the last are always shown."""


def pager_links(number: int, count: int, href_of: Callable[[int], str]) -> tuple[Link, ...]:
    """Return links to the other pages, this page and gaps as plain text; nothing for a single page."""
    if count <= 1:
        return ()
    shown = sorted({1, count, *range(max(1, number - _NEAR), min(count, number + _NEAR) + 1)})
    links: list[Link] = []
    previous = 0
    for page in shown:
        if page - previous > 1:
            links.append(Link("\N{HORIZONTAL ELLIPSIS}"))
        links.append(Link(str(page)) if page == number else Link(str(page), href_of(page)))
        previous = page
    return tuple(links)
