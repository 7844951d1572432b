"""The site with every kind of escaping switched off, to show that the probe would notice."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest import mock

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from kbtool.site import charts, prose, record_pages, render, shell

__all__ = ["escaping_off"]


@contextmanager
def escaping_off() -> Iterator[None]:
    """Replace each function that makes text safe for HTML by one that does nothing."""
    naive = Environment(
        loader=FileSystemLoader(render.TEMPLATES),
        autoescape=False,  # noqa: S701 - the point of it
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    naive.filters["coded"] = str
    with ExitStack() as patches:
        patches.enter_context(mock.patch.object(render, "_environment", return_value=naive))
        patches.enter_context(mock.patch.object(prose.Prose, "html", _as_it_is))
        patches.enter_context(mock.patch.object(record_pages, "script_json", json.dumps))
        for module in (charts, shell):
            for name in ("html_text", "html_attribute"):
                patches.enter_context(mock.patch.object(module, name, str))
        yield


def _as_it_is(_prose: prose.Prose, text: str) -> Markup:
    return Markup(text)  # noqa: S704 - the point of it
