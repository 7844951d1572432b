"""Plans and runs as the verbs are given them: found, read, checked, and refused with a message that teaches."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from kbtool import __version__
from kbtool.errors import RecordError, UsageError

if TYPE_CHECKING:
    from pydantic import ValidationError

    from kbtool.runner.folder import RunFolder
    from kbtool.runner.plan import Plan
    from kbtool.runner.results import Run
    from kbtool.store.positions import Node

__all__ = [
    "PlanArgument",
    "ReadPlan",
    "RunArgument",
    "client_name",
    "open_run",
    "read_plan",
    "read_run",
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

    from kbtool.runner.plan import Plan
    from kbtool.store.yamlio import YamlFault, parse

    try:
        size = path.stat().st_size
        data = path.read_bytes() if size <= MAX_PLAN_BYTES else b""
    except FileNotFoundError:
        raise UsageError(f"{path} does not exist: give a plan file; ready ones are in plans/") from None
    except IsADirectoryError:
        raise UsageError(f"{path} is a folder: give a plan file") from None
    if size > MAX_PLAN_BYTES:
        raise UsageError(f"{path} has {size:,} bytes; a plan has at most {MAX_PLAN_BYTES:,}: is it a plan?")
    try:
        value = parse(data)
    except YamlFault as fault:
        raise RecordError(f"{path}:{fault.line}:{fault.column}: {fault.message}") from None
    try:
        return ReadPlan(path, data, Plan.model_validate(value))
    except ValidationError as error:
        raise RecordError("\n".join(_faults(path, data, error))) from None


def _faults(path: Path, data: bytes, error: "ValidationError") -> Iterator[str]:
    from kbtool.store.places import key_place, place
    from kbtool.store.yamlio import parse_with_positions

    root = parse_with_positions(data)[1]
    found = error.errors(include_url=False, include_context=False)
    for each in found:
        below = [other for other in found if other["loc"][: len(each["loc"])] == each["loc"]]
        if each["type"] == "too_short" and len(below) > 1:
            continue  # its entries are faulty, not missing
        location = [part for part in each["loc"] if not _is_tag(part)]
        where = (
            key_place(_node(root, location)) if each["type"] == "extra_forbidden" else place(root, location)
        )
        field = ".".join(str(part) for part in location) or "the plan"
        yield f"{path}:{where.line}:{where.column}: {field}: {_said(each)}"


def _node(root: "Node", location: list[Any]) -> "Node":
    node = root
    for part in location:
        node = node.child(part) or node
    return node


def _is_tag(part: Any) -> bool:
    """Return whether a part of a location names a kind of workload and no key of the file."""
    return isinstance(part, str) and part in {
        "single_stream", "concurrency", "rate", "prefill", "conversation", "long_decode", "replay",
    }  # fmt: skip


def _said(fault: Any) -> str:
    message = str(fault["msg"]).removeprefix("Value error, ")
    if fault["type"] == "extra_forbidden":
        near = _nearest_key(str(fault["loc"][-1]))
        meant = (
            f"did you mean `{near}`?"
            if near
            else "`schema/plan.schema.json` has them all: correct or remove it"
        )
        return f"there is no such key here; {meant}"
    if fault["type"] == "missing":
        return "is missing: add it"
    return message


def _nearest_key(name: str) -> str | None:
    """Return the key of a plan, at whatever place, that was meant."""
    from kbtool.runner.plan import Plan
    from kbtool.store.suggest import nearest

    schema = Plan.model_json_schema()
    parts = (schema, *schema["$defs"].values())
    return nearest(name, sorted({key for part in parts for key in part.get("properties", {})}))


def open_run(path: Path) -> "RunFolder":
    """Open a run folder to read it.

    Raises:
        FolderError: it is none, or its ledger is damaged.
    """
    from kbtool.runner.folder import Mode, RunFolder

    return RunFolder.open(path, Mode.READ)


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
    base = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")  # noqa: PTH111, PTH118 - the variable's own default
    return Path(base) / "kbtool"
