"""A run begun, or one that was left gone on with: folder, locks, and a box that is in order."""

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from kbtool.errors import UsageError
from kbtool.runner.folder import FolderOptions, Holder, Mode, OnDamage, RunFolder, make_run_id
from kbtool.runner.plan import Plan
from kbtool.runner.prompts import TEXT_VERSION
from kbtool.runner.session.box import clear_leftovers, lock_of, resources_of
from kbtool.runner.session.environment import fingerprint_of, host_facts
from kbtool.runner.session.events import Remark, Tell
from kbtool.runner.session.interrupts import Interrupts
from kbtool.runner.session.run import CALIBRATION, Given, Session, utc_now
from kbtool.runner.target.commands import SweepCommands, unrestored
from kbtool.runner.target.secrets import Secrets
from kbtool.runner.telemetry import read_host, read_inventory

__all__ = ["open_session", "resume_session"]


def open_session(
    plan: Plan,
    plan_bytes: bytes,
    root: Path,
    *,
    plan_folder: Path,
    given: Given,
    interrupts: Interrupts,
    tell: Tell,
    beside: Sequence[Session] = (),
) -> Session:
    """Make a run folder, take the locks, and clear away what dead runs left.

    Args:
        plan: The plan.
        plan_bytes: Its file, of which the run keeps a copy.
        root: The run folder, which must not be there yet.
        plan_folder: Where traces to replay lie.
        given: What comes from outside.
        interrupts: Asked whether to stop.
        tell: Told how it goes.
        beside: Sessions of this process that take turns with it, and hold locks that it needs too.

    Raises:
        LockedError: another run uses the same accelerators or the same server.
        FolderError: the folder cannot be made.
    """
    host, inventory = read_host(), read_inventory(given.backend, given.accelerators)
    resources = resources_of(plan, inventory)
    lock = lock_of(resources, _held(beside), Holder.this_process(given.command, utc_now()))
    try:
        run_id = make_run_id(time.time(), os.urandom(8))
        clear_leftovers(tell)
        environment: dict[str, Mapping[str, Any]] = {"host": host_facts(host, inventory)}
        if given.calibration is not None:
            environment[CALIBRATION] = given.calibration
        facts = {
            "run_id": run_id,
            "started": utc_now(),
            "command": given.command,
            "runner_version": given.runner_version,
            "text_version": TEXT_VERSION,
            "plan": plan.model_dump(mode="json", by_alias=True),
        }
        folder = RunFolder.create(
            root,
            run_id=run_id,
            runner_version=given.runner_version,
            plan=plan_bytes,
            run=facts,
            environment=environment,
            fingerprint=fingerprint_of(host, inventory, runner_version=given.runner_version, plan=plan_bytes),
            options=given.options or FolderOptions(command=given.command),
        )
    except BaseException:
        lock.release()
        raise
    return Session(
        plan, plan_bytes, plan_folder, folder, given, host, inventory, lock, resources, interrupts, tell
    )


def resume_session(
    root: Path, *, plan_folder: Path, given: Given, interrupts: Interrupts, tell: Tell, on_damage: OnDamage
) -> Session:
    """Open a run that was left, on the same machine, and put its folder in order.

    Raises:
        EnvironmentChangedError: the machine, the plan or the runner is not what the run began with.
        RunFinishedError: there is nothing left to do.
    """
    reader = RunFolder.open(root, Mode.READ)
    plan_bytes = reader.plan
    plan = Plan.model_validate_json(orjson.dumps(reader.read_facts()["plan"]))
    resources = resources_of(plan, read_inventory(given.backend, given.accelerators))
    lock = lock_of(resources, (), Holder.this_process(given.command, utc_now()))
    try:
        clear_leftovers(tell)
        _restore(reader.logs, tell)
        host, inventory = read_host(), read_inventory(given.backend, given.accelerators)
        folder = RunFolder.open(
            root,
            Mode.RESUME,
            runner_version=given.runner_version,
            fingerprint=fingerprint_of(host, inventory, runner_version=given.runner_version, plan=plan_bytes),
            on_damage=on_damage,
            options=given.options or FolderOptions(command=given.command),
        )
    except BaseException:
        lock.release()
        raise
    if folder.finished:
        folder.close()
        lock.release()
        remedy = (
            "nothing of it is measured again: restore what was changed from a copy, or start a new run"
            if on_damage is OnDamage.SET_ASIDE
            else f"see `kbtool bench report {root}`"
        )
        raise UsageError(f"{root}: the run is complete: {remedy}")
    return Session(
        plan, plan_bytes, plan_folder, folder, given, host, inventory, lock, resources, interrupts, tell
    )


def _held(beside: Sequence[Session]) -> set[str]:
    return {name for each in beside for name in each.resources}


def _restore(logs: Path, tell: Tell) -> None:
    """Put back what a sweep of the run had changed when its runner was killed, before anything is compared or measured.

    Raises:
        StartError: a setting cannot be put back.
    """
    owed = unrestored(logs)
    if not owed:
        return
    tell(Remark(f"putting back what {len(owed)} command(s) of the run had changed when it was killed"))
    with SweepCommands(logs, Secrets.from_environment(os.environ)):
        pass  # leaving the block puts back what is owed
