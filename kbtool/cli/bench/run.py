"""`kbtool bench plan | run | resume`: what a plan means, and carrying it out."""

import shlex
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kbtool.cli.bench.checking import remarks_of_plan, remarks_of_run
from kbtool.cli.bench.display import display, duration
from kbtool.cli.bench.knowledge import accelerator_names, calibration_here
from kbtool.cli.bench.reading import (
    PlanArgument,
    ReadPlan,
    RunArgument,
    client_name,
    read_plan,
    require_run_folder,
    require_traces,
)
from kbtool.cli.console import complain, say, show_table
from kbtool.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from kbtool.runner.plan.check import Remark
    from kbtool.runner.session import Given, Session

__all__ = ["plan", "resume", "run"]

OutOption = Annotated[
    Path, typer.Option("--out", help="Folder that run folders are made in.", show_default=True)
]


def plan(
    file: PlanArgument,
    *,
    decode_tok_s: Annotated[
        float, typer.Option("--decode-tok-s", min=0.001, help="Assumed speed of one user, for the time.")
    ] = 50.0,
    prefill_tok_s: Annotated[
        float, typer.Option("--prefill-tok-s", min=0.001, help="Assumed speed of reading prompts.")
    ] = 5000.0,
    ask: Annotated[
        bool, typer.Option("--ask/--no-ask", help="Ask an attached server for its limits; sends no load.")
    ] = True,
) -> None:
    """Check a plan, list its cells, estimate tokens and time, and say what cannot work or will mislead."""
    from kbtool.runner.plan.cells import schedule
    from kbtool.runner.plan.check import Speeds, estimate

    read = read_plan(file)
    require_traces(read)
    found = remarks_of_plan(read.plan, ask=ask)
    speeds = Speeds(prefill_tok_s, decode_tok_s)
    work = estimate(read.plan, speeds)
    _print_cells(schedule(read.plan))
    say(
        f"{work.visits} cells, {work.rounds} rounds and {work.requests:,} requests at least; "
        f"{work.input_tok:,} tokens in, {work.output_tok:,} out; {work.starts} starts of the servers"
    )
    say(
        f"time: {duration(work.least_s)} to {duration(work.most_s)}, at an assumed {prefill_tok_s:,g} tok/s of prefill and "
        f"{decode_tok_s:g} tok/s per user"
    )
    if _tell_remarks(found):
        raise typer.Exit(ExitCode.FINDINGS)


def run(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="PLAN...", help="Plan files; the sessions of several alternate (A B B A ...)."
        ),
    ],
    *,
    out: OutOption = Path("runs"),
    without_record: Annotated[
        bool,
        typer.Option(
            "--without-record", help="Measure even where it shows already that no record can be made of it."
        ),
    ] = False,
) -> None:
    """Carry out a plan, and write a run folder as it goes.

    Ctrl-C lets what is in flight end and stops; a second Ctrl-C stops at once. Whatever ends a run, `resume` goes on
    with it, and loses at most the cell in flight.
    """
    from kbtool.runner.session import listening, open_session
    from kbtool.runner.session.alternate import run_alternating

    plans = [read_plan(file) for file in files]
    for read in plans:
        _refuse(read, without_record=without_record)
    if out.exists() and not out.is_dir():
        raise UsageError(f"--out {out} is no folder; expected one that run folders are made in: name another")
    out.mkdir(parents=True, exist_ok=True)
    given = _given()
    with ExitStack() as stack:
        interrupts = stack.enter_context(listening())
        tell = stack.enter_context(display())
        sessions: list[Session] = []
        for read in plans:
            session = open_session(
                read.plan,
                read.data,
                _new_folder(out, read.plan.id),
                plan_folder=read.path.resolve().parent,
                given=given,
                interrupts=interrupts,
                tell=tell,
                beside=tuple(sessions),
            )
            stack.callback(session.close)
            sessions.append(session)
        finished = run_alternating(sessions)
    _say_next(finished, [session.folder.root for session in sessions])


def resume(
    folder: RunArgument,
    *,
    plan_folder: Annotated[
        Path, typer.Option("--plan-folder", help="Folder that holds traces which the plan replays.")
    ] = Path("plans"),
    set_aside: Annotated[
        bool, typer.Option("--set-aside", help="Move damaged cells aside and measure them again.")
    ] = False,
) -> None:
    """Go on with a run that was stopped or killed, on the same machine with the same servers."""
    from kbtool.runner.folder import OnDamage
    from kbtool.runner.session import listening, resume_session

    require_run_folder(folder)
    with listening() as interrupts, display() as tell:
        session = resume_session(
            folder,
            plan_folder=plan_folder,
            given=_given(),
            interrupts=interrupts,
            tell=tell,
            on_damage=OnDamage.SET_ASIDE if set_aside else OnDamage.REFUSE,
        )
        finished = session.run()
    _say_next(finished, [folder])


def _given() -> "Given":
    from kbtool.runner.session import Given
    from kbtool.runner.telemetry import NvmlBackend

    command = " ".join(shlex.quote(each) for each in ["kbtool", *sys.argv[1:]])
    return Given(client_name(), command[:300], NvmlBackend(), accelerator_names(), calibration_here())


def _new_folder(out: Path, name: str) -> Path:
    """Return a folder that is not there yet: name of the plan and local time."""
    stem = f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    for suffix in ("", *(f"-{n}" for n in range(2, 100))):
        path = out / f"{stem}{suffix}"
        if not path.exists():
            return path
    raise UsageError(f"{out} holds too many runs of this second: try again")


def _refuse(read: ReadPlan, *, without_record: bool) -> None:
    """Refuse what is known not to work, or to be lost, before anything is started."""
    require_traces(read)
    if _tell_remarks(remarks_of_run(read.plan, without_record=without_record)):
        raise typer.Exit(ExitCode.FINDINGS)


def _tell_remarks(found: "Sequence[Remark]") -> bool:
    """Print remarks; return whether something is refused."""
    for each in found:
        complain(f"{each.severity}: {each.place}: {each.message}")
    return any(each.severity == "refused" for each in found)


def _print_cells(visits: Sequence[Any]) -> None:
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("cell", "leg", "session"):
        table.add_column(title)
    for title in ("users", "in", "out", "requests"):
        table.add_column(title, justify="right")
    for visit in visits:
        cell = visit.cell
        users = f"{cell.rate_req_s:g}/s" if cell.rate_req_s is not None else str(cell.streams)
        count = str(cell.requests) if cell.requests else f"{cell.duration_s:g} s"
        table.add_row(
            cell.name,
            visit.leg.name,
            str(visit.session + 1),
            users,
            f"{cell.input_tok:,}",
            f"{cell.output_tok:,}",
            count,
        )
    show_table(table)


def _say_next(finished: bool, roots: Sequence[Path]) -> None:
    for root in roots:
        if finished:
            say(
                f"{root}: complete. See it with `kbtool bench report {root}`, publish it with `kbtool bench record {root}`."
            )
    if not finished:
        raise typer.Exit(ExitCode.INTERRUPTED)
