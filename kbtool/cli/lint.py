"""`kbtool lint`: check records and report what is wrong, where, and what to do."""

from collections.abc import Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from kbtool.cli.console import complain, find_root, progress, say
from kbtool.cli.options import RootOption, day, inside_records
from kbtool.errors import ExitCode, UsageError

__all__ = ["lint"]


class Format(StrEnum):
    """Forms of the report."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"
    SARIF = "sarif"


def lint(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(help="Record files or folders; all of `records/` if none.", show_default=False),
    ] = None,
    *,
    output: Annotated[Format, typer.Option("--format", help="Form of the report.")] = Format.TEXT,
    select: Annotated[
        list[str] | None,
        typer.Option(help="Only rules whose code or name starts so, such as P or T001.", show_default=False),
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(help="All but rules whose code or name starts so.", show_default=False)
    ] = None,
    fix: Annotated[
        bool, typer.Option("--fix", help="Repair what can be repaired without a decision.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 on warnings too.")] = False,
    base: Annotated[
        str | None, typer.Option(help="Also check what changed since this git revision.", show_default=False)
    ] = None,
    as_of: Annotated[
        str | None,
        typer.Option(help="Day for rules that need one, such as expired exceptions.", show_default=False),
    ] = None,
    limit: Annotated[int, typer.Option(help="Findings shown to people; 0 shows all.", min=0)] = 50,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Check every file anew.")] = False,
    root: RootOption = None,
) -> None:
    """Check records and say what is wrong, where, and what to do.

    A broken file never hides the others. `kbtool explain CODE` gives the reason behind a finding.

    Examples: `kbtool lint`, `kbtool lint records/benchmarks/ev-x.yaml`, `kbtool lint --select P --format json`,
    `kbtool lint --fix`.
    """
    from kbtool.lint import fix_files, run
    from kbtool.lint.report import render

    project = find_root(root)
    chosen = [inside_records(path, project) for path in paths or ()]
    for option, names in (("--select", select), ("--ignore", ignore)):
        _refuse_unknown(option, names or ())
    with progress("Checking records") as advance:
        check = partial(
            run,
            project,
            paths=chosen or None,
            select=tuple(select or ()),
            ignore=tuple(ignore or ()),
            base=base,
            as_of=day(as_of, "--as-of"),
            cache=not no_cache,
            progress=advance,
        )
        report = check()
        if fix:
            fix_files(project, report)
            report = check()
    say(render(report, output.value, limit=limit))
    if chosen and output is Format.TEXT:
        complain(
            "rules that compare records were left out, as some files alone were checked: `kbtool lint` runs them"
        )
    blocking = {"error", "warning"} if strict else {"error"}
    if any(finding.severity in blocking for finding in report.findings):
        raise typer.Exit(ExitCode.FINDINGS)


def _refuse_unknown(option: str, prefixes: Sequence[str]) -> None:
    """Refuse what no code and no name begins with: a misspelt rule would look like a clean run.

    Raises:
        UsageError: there is no such rule; the message says which comes near.
    """
    if not prefixes:
        return
    from kbtool.lint.pages import rule_pages
    from kbtool.store.suggest import nearest

    names = [name for page in rule_pages() for name in (page.code, page.name)]
    for prefix in prefixes:
        if not prefix or not any(name.startswith(prefix) for name in names):
            near = nearest(prefix, names)
            hint = f"did you mean `{near}`?" if near else "`kbtool explain` tells what it knows"
            raise UsageError(f"{option} {prefix!r} is the beginning of no rule's code or name; {hint}")
