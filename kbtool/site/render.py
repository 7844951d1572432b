"""Templates, compiled once: the only place that knows Jinja."""

from functools import cache
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from kbtool.site.shell import root_of

__all__ = ["TEMPLATES", "render"]

TEMPLATES: Final = Path(__file__).parent / "templates"


def render(template: str, path: str, **values: Any) -> Markup:
    """Return the body of a page.

    Args:
        template: Name without ending, such as `benchmark`.
        path: The page, from the root of the site.
        values: What the template loops over.
    """
    text = _environment().get_template(f"{template}.html.j2").render(root=root_of(path), **values)
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
