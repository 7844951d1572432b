"""`kbtool bench audit`: does a server do under measurement what it does in earnest?"""

import json
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kbtool.cli.bench.knowledge import accelerator_names
from kbtool.cli.bench.reading import read_plan
from kbtool.cli.console import complain, say
from kbtool.errors import ExitCode, UsageError
from kbtool.escape import terminal

if TYPE_CHECKING:
    from kbtool.runner.audit import Audit, AuditReport
    from kbtool.runner.plan import Plan

__all__ = ["audit"]


def audit(
    target: Annotated[
        str,
        typer.Argument(
            metavar="URL|PLAN", help="Address of a server, such as http://127.0.0.1:8000, or a plan."
        ),
    ],
    *,
    only: Annotated[
        list[str] | None, typer.Option("--only", help="One audit: repeated, length, identity or sense.")
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", help="Served model name, where the server lists several.")
    ] = None,
    users: Annotated[int, typer.Option("--users", min=2, help="Requests at once under load.")] = 8,
    prompts: Annotated[int, typer.Option("--prompts", min=5, help="Different prompts of a batch.")] = 8,
    output_tok: Annotated[int, typer.Option("--output-tok", min=16, help="Tokens of a timed answer.")] = 64,
    logs: Annotated[
        Path | None, typer.Option("--logs", help="Folder that keeps the logs of launched servers.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print data.")] = False,
) -> None:
    """Audit a server as MLPerf's compliance tests do: cached answers, true lengths, one model, text with sense.

    Sends one to two hundred small greedy requests, some at once. Leaves with 1 where a check failed.
    """
    from kbtool.runner.audit import AuditSpec, opened
    from kbtool.runner.audit import audit as carry_out

    audits = _chosen(only or [])
    what = target if "://" in target else read_plan(Path(target)).plan
    with _alone(what), opened(what, model=model, log_dir=logs, tell=complain) as up:
        spec = AuditSpec(
            api=up.api,
            audits=audits,
            prompts=prompts,
            output_tok=output_tok,
            users=users,
            tell=complain,
        )
        found = carry_out(up.running, up.adapter, spec)
    if as_json:
        say(json.dumps(found.data(), indent=2, default=str))
    else:
        _print(found)
    if not found.passed:
        raise typer.Exit(ExitCode.FINDINGS)


def _chosen(only: list[str]) -> "frozenset[Audit]":
    from kbtool.runner.audit import ALL_AUDITS, Audit

    known = {each.value: each for each in Audit}
    wrong = [each for each in only if each not in known]
    if wrong:
        raise UsageError(f"--only {wrong[0]!r} is no audit: give one of {', '.join(known)}")
    return frozenset(known[each] for each in only) or ALL_AUDITS


@contextmanager
def _alone(what: "Plan | str") -> Iterator[None]:
    """Keep runs off the accelerators and addresses of a plan; an address alone is the operator's business."""
    if isinstance(what, str):
        yield
        return
    from kbtool.runner.folder import BoxLock, Holder
    from kbtool.runner.session.box import resources_of
    from kbtool.runner.telemetry import NvmlBackend, read_inventory

    command = " ".join(shlex.quote(each) for each in ["kbtool", *sys.argv[1:]])
    resources = resources_of(what, read_inventory(NvmlBackend(), accelerator_names()))
    lock = BoxLock(resources, holder=Holder(os.getpid(), "while this audit runs", command[:300]))
    try:
        yield
    finally:
        lock.release()


def _print(found: "AuditReport") -> None:
    for check in found.checks:
        say(
            terminal(f"{'ok  ' if check.passed else 'FAIL'} {check.audit.value}: {check.name}: {check.found}")
        )
        if not check.passed:
            say(terminal(f"     expected: {check.expected}"))
            say(terminal(f"     {check.remedy}"))
    n_failed = sum(not each.passed for each in found.checks)
    said = (
        f"{n_failed} of {len(found.checks)} checks failed"
        if n_failed
        else f"all {len(found.checks)} checks passed"
    )
    say(terminal(f"{found.model}: {said}; {found.requests} requests were sent"))
