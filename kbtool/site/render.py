"""Templates, compiled once: the only place that knows Jinja."""

from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from kbtool.site.shell import root_of

__all__ = ["TEMPLATES", "render"]

TEMPLATES: Final = Path(__file__).parent / "templates"


class At(NamedTuple):
    """Where a page is, as its links need it."""

    root: str
    """What leads from the page to the root of the site."""
    evidence: str
    """The page that holds sources and evidence, from here; empty for this page itself."""


def render(template: str, path: str, *, evidence: str = "", **values: Any) -> Markup:
    """Return the body of a page.

    Args:
        template: Name without ending, such as `benchmark`.
        path: The page, from the root of the site.
        evidence: Name of the page beside it that holds its sources and evidence, where it does not itself.
        values: What the template loops over.
    """
    at = At(root_of(path), evidence)
    text = _environment().get_template(f"{template}.html.j2").render(at=at, **values)
    return Markup(text)  # noqa: S704 - made by templates that escape every value


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
