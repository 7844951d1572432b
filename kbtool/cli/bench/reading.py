"""Plans and runs as the verbs are given them: found, read, checked, and refused with a message that teaches."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from kbtool import __version__
from kbtool.errors import RecordError, UsageError

if TYPE_CHECKING:
    from kbtool.runner.folder import RunFolder
    from kbtool.runner.plan import Plan
    from kbtool.runner.results import Run

__all__ = [
    "PlanArgument",
    "ReadPlan",
    "RunArgument",
    "client_name",
    "open_run",
    "read_bounded",
    "read_plan",
    "read_run",
    "read_url",
    "require_run_folder",
    "require_traces",
    "state_folder",
]

MAX_PLAN_BYTES: Final = 256 * 1024

PlanArgument = Annotated[
    Path, typer.Argument(metavar="PLAN", help="A plan file, such as plans/concurrency.yaml.")
]
RunArgument = Annotated[
    Path, typer.Argument(metavar="RUN", help="A run folder, such as runs/concurrency-...")
]


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """A plan and the bytes that it was read from."""

    path: Path
    data: bytes
    plan: "Plan"


def client_name() -> str:
    """Return the name of the measuring program, as records give it."""
    return f"kbtool bench {__version__}"


def read_plan(path: Path) -> ReadPlan:
    """Read a plan file.

    Raises:
        UsageError: there is none, or it is too large to be one.
        RecordError: it is no YAML of our kind, or not what a plan has; every fault is named.
    """
    from pydantic import ValidationError

    from kbtool.cli.bench.planfaults import plan_faults
    from kbtool.runner.plan import Plan
    from kbtool.store.yamlio import YamlFault, parse

    data = read_bounded(path, MAX_PLAN_BYTES, "a plan file; ready ones are in plans/")
    try:
        value = parse(data)
    except YamlFault as fault:
        raise RecordError(f"{path}:{fault.line}:{fault.column}: {fault.message}") from None
    try:
        return ReadPlan(path, data, Plan.model_validate(value))
    except ValidationError as error:
        raise RecordError("\n".join(plan_faults(path, data, value, error))) from None


def read_bounded(path: Path, largest_bytes: int, wanted: str) -> bytes:
    """Read a file that somebody names, which may be anything.

    Args:
        path: The file.
        largest_bytes: Most that it may hold.
        wanted: What is to be given, for messages.

    Raises:
        UsageError: there is none, it is no plain file, or it is larger.
    """
    try:
        found = path.stat()
    except FileNotFoundError:
        raise UsageError(f"{path} does not exist: give {wanted}") from None
    except NotADirectoryError:
        raise UsageError(f"{path} lies in what is no folder: give {wanted}") from None
    if stat.S_ISDIR(found.st_mode):
        raise UsageError(f"{path} is a folder: give {wanted}")
    if not stat.S_ISREG(found.st_mode):
        # A pipe may never end, and a device certainly does not.
        raise UsageError(f"{path} is a device or a pipe; expected a file that ends: give {wanted}")
    with path.open("rb") as file:
        data = file.read(largest_bytes + 1)
    if len(data) > largest_bytes:
        raise UsageError(
            f"{path} has {max(found.st_size, len(data)):,} bytes; expected at most {largest_bytes:,}: give {wanted}"
        )
    return data


def require_traces(read: ReadPlan) -> None:
    """Do nothing where every trace that a plan replays can be read; else servers would be started for nothing.

    Raises:
        TraceFileError: one cannot; the message names the line.
    """
    from kbtool.runner.plan.workloads import Replay
    from kbtool.runner.prompts import read_trace, trace_lines

    for load in read.plan.workloads:
        if isinstance(load, Replay):
            lines = trace_lines(read.path.resolve().parent / load.path)
            read_trace(lines, load.path, first=load.first, most=load.requests)


def read_url(text: str) -> str:
    """Return the address of a server as it was given.

    Raises:
        UsageError: it is no address, or holds what is none of ours to print.
    """
    from pydantic import ValidationError

    from kbtool.runner.plan.target import EndpointPlan

    try:
        return EndpointPlan(url=text).url
    except ValidationError as error:
        said = str(error.errors(include_url=False)[0]["msg"]).removeprefix("Value error, ")
        raise UsageError(f"the address of the server: {said}") from None


def open_run(path: Path) -> "RunFolder":
    """Open a run folder to read it.

    Raises:
        UsageError: there is no such folder.
        FolderError: it is no run, or its ledger is damaged.
    """
    from kbtool.runner.folder import Mode, RunFolder

    require_run_folder(path)
    return RunFolder.open(path, Mode.READ)


def require_run_folder(path: Path) -> None:
    """Do nothing where there is a folder.

    Raises:
        UsageError: there is none.
    """
    if not path.exists():
        raise UsageError(f"{path} does not exist: give a run folder, such as one of those in runs/")
    if not path.is_dir():
        raise UsageError(f"{path} is no folder: give a run folder, such as one of those in runs/")


def read_run(path: Path) -> "Run":
    """Read a run back, every figure computed anew.

    Raises:
        FolderError: it is no run, or a sealed file is not what it was.
        RecordError: nothing is sealed yet.
    """
    from kbtool.runner.results import load_run

    run = load_run(open_run(path))
    if not run.cells:
        raise RecordError(f"{path}: no cell is complete: go on with `kbtool bench resume {path}`")
    return run


def state_folder() -> Path:
    """Return where facts about this host are kept between runs, such as the client's calibration."""
    given = Path(os.environ.get("XDG_STATE_HOME", ""))
    # A relative one would be another place in each folder; the convention is to leave it out.
    return (given if given.is_absolute() else Path("~/.local/state").expanduser()) / "kbtool"
