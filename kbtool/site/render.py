"""Templates, compiled once: the only place that knows Jinja."""

import re
from collections.abc import MutableMapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from kbtool.site.shell import root_of

__all__ = ["TEMPLATES", "render"]

TEMPLATES: Final = Path(__file__).parent / "templates"
_SPECIAL: Final = re.compile("[&<>\"']")
_CODE: Final = re.compile("`([^`\n]+)`")


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
    environment = Environment(
        loader=_Loader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters["coded"] = _coded
    return environment


def _coded(text: str) -> str:
    """Return text with what stands in backticks as code; most texts have none."""
    if "`" not in text:
        return text
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped before


class _Loader(FileSystemLoader):
    """Loads templates whose values are escaped by `_escaped`."""

    def load(
        self,
        environment: Environment,
        name: str,
        globals: MutableMapping[str, Any] | None = None,  # noqa: A002
    ) -> Template:
        template = super().load(environment, name, globals)
        # The name that a compiled template calls for each value it puts out.
        template.root_render_func.__globals__["escape"] = _escaped
        return template


def _escaped(value: object) -> str:
    """Return what `escape` returns, but most texts as they are.

    A page holds hundreds of values, nearly all of them words and numbers with nothing to escape, and wrapping each
    of them into an object of its own is an eighth of the time that a page takes.
    """
    kind = type(value)
    if (kind is str and not _SPECIAL.search(value)) or kind is Markup:  # type: ignore[call-overload]  # it is a str
        return value  # type: ignore[return-value]  # both are text
    return escape(value)
