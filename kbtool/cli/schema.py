"""`kbtool schema`: write the JSON Schemas that editors and other programs read."""

from typing import Annotated

import typer

from kbtool.cli.console import complain, find_root, say
from kbtool.cli.options import RootOption
from kbtool.errors import ExitCode

__all__ = ["schema"]


def schema(
    *,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit with 1 where a file is not current.")
    ] = False,
    root: RootOption = None,
) -> None:
    """Write `schema/<kind>.schema.json` from the models of records and plans, or check that they are current."""
    from kbtool.runner.plan import Plan
    from kbtool.schema import export

    others = {"plan": Plan}
    project = find_root(root)
    if check:
        stale = export.stale(project, others)
        for name in stale:
            complain(f"{name} is not what the record model gives: run `kbtool schema` and commit the result")
        if stale:
            raise typer.Exit(ExitCode.FINDINGS)
        say("schema/ is current")
        return
    for name in export.write(project, others):
        say(f"wrote {name}")
