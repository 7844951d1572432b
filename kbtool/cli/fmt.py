"""`kbtool fmt`: bring record files into the one form, without touching what they say."""

from pathlib import Path
from typing import Annotated

import typer

from kbtool.cli.console import complain, find_root, progress, say
from kbtool.cli.options import RootOption, inside_records
from kbtool.errors import ExitCode

__all__ = ["fmt"]


def fmt(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(help="Record files or folders; all of `records/` if none.", show_default=False),
    ] = None,
    *,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit with 1 where a file would change.")
    ] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Change nothing; show what would change.")] = False,
    root: RootOption = None,
) -> None:
    """Order keys, quote what must be quoted, and set line ends, schema line and final newline.

    Comments, values and the wrapping of prose stay as they are. A file that cannot be parsed is left alone and
    reported.
    """
    from kbtool.escape import terminal
    from kbtool.store import fmt as store_fmt

    project = find_root(root)
    chosen = [inside_records(path, project) for path in paths or ()]
    with progress("Formatting records") as advance:
        outcomes = list(
            store_fmt.format_files(project, paths=chosen or None, write=not (check or diff), progress=advance)
        )
    failed = [each for each in outcomes if each.fault]
    changed = [each for each in outcomes if each.changed]
    for each in failed:
        complain(f"{each.relative}: not formatted: {each.fault}")
    for each in changed:
        say(each.diff() if diff else f"{'would change' if check else 'formatted'} {terminal(each.relative)}")
    say(f"{len(changed)} of {len(outcomes)} files {'would change' if check or diff else 'changed'}")
    if failed or (changed and (check or diff)):
        raise typer.Exit(ExitCode.FINDINGS)
