"""Options that several verbs share, so that they are named and explained once."""

from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kbtool.errors import UsageError

__all__ = ["RefArgument", "RootOption", "TableFormat", "day", "inside_records", "normal_ref"]

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


class TableFormat(StrEnum):
    """Forms of output that is rows and columns."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


def day(text: str | None, option: str) -> date | None:
    """Read the date of an option.

    Raises:
        UsageError: the text is not a day such as 2026-10-04.
    """
    if text is None:
        return None
    try:
        found = date.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.isoformat() != text:  # Python also takes 20261004 and 2026-W40-7
        raise UsageError(f"{option} {text!r} is not a day such as 2026-10-04")
    return found


def inside_records(path: Path, project: Path) -> Path:
    """Return the path resolved without following a final link.

    Raises:
        UsageError: it does not exist, or is not under the project's `records`.
    """
    absolute = path.parent.resolve() / path.name
    if path.name == "..":
        absolute = path.resolve()
    if not absolute.exists() and not absolute.is_symlink():
        raise UsageError(f"{path} does not exist: give a record file or a folder of records")
    if not absolute.is_relative_to(project / "records"):
        raise UsageError(
            f"{path} is not under {project / 'records'}: give a record file or a folder of records"
        )
    return absolute


def normal_ref(text: str) -> str:
    """Return a reference or id without the parts that a pasted path or address adds."""
    name = text.strip().removeprefix("records/").removesuffix(".yaml").removesuffix(".html")
    return name.strip("/")
