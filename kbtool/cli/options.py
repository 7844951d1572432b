"""Options that several verbs share, so that they are named and explained once."""

from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from kbtool.errors import UsageError

__all__ = ["RefArgument", "RootOption", "day", "normal_ref"]

RootOption = Annotated[
    Path | None,
    typer.Option("--root", help="Folder that holds `records/`; the nearest parent that does, if not given."),
]
RefArgument = Annotated[
    str,
    typer.Argument(
        metavar="ID",
        help="A record: `benchmarks/ev-x`, or `ev-x` alone where only one kind has it.",
        show_default=False,
    ),
]


def day(text: str | None, option: str) -> date | None:
    """Read the date of an option.

    Raises:
        UsageError: the text is not a day such as 2026-10-04.
    """
    if text is None:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{option} {text!r} is not a day such as 2026-10-04") from None


def normal_ref(text: str) -> str:
    """Return a reference or id without the parts that a pasted path or address adds."""
    name = text.strip().removeprefix("records/").removesuffix(".yaml").removesuffix(".html")
    return name.strip("/")
