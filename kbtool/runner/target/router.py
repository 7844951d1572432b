"""The router in front: started by us from a configuration in the run folder, and read back from where it runs."""

import os
import pwd
import shutil
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from kbtool.runner.client.outgoing import Endpoint
from kbtool.runner.plan.model import Plan
from kbtool.runner.plan.target import RouterPlan
from kbtool.runner.target import procfs
from kbtool.runner.target.environment import engine_environment
from kbtool.runner.target.errors import NotOursError, StartError
from kbtool.runner.target.instances import Launched
from kbtool.runner.target.launch import OWNER_VARIABLE, Setting, new_marker
from kbtool.runner.target.process import Kept, StartOrder
from kbtool.runner.target.routers import RouterRequest, RouterSetup, configure
from kbtool.runner.target.running import RouterFacts

__all__ = ["policy_in_force", "start_router"]

EXEC_S: Final = 10.0
"""Longest until a program that was started shows its arguments."""


def start_router(
    plan: Plan, planned: RouterPlan, workers: tuple[Endpoint, ...], setting: Setting
) -> tuple[Launched, RouterSetup]:
    """Write the configuration of a router into the log folder, and start it there.

    Raises:
        UsageError: It cannot do what the plan says.
        StartError: It is not installed.
    """
    assert planned.port is not None
    request = RouterRequest(
        port=planned.port,
        workers=workers,
        policy=planned.policy,
        affinity=plan.target.affinity,
        arguments=planned.arguments,
        ready_s=max(1, int(plan.deadlines.ready_s)),
        answer_s=max(1, int(plan.deadlines.request_s)),
        metrics_port=_free_port(),
        user=_own_name_as_root(),
    )
    setup = configure(planned.kind, request)
    folder = setting.log_dir / "router"
    (folder / "temp").mkdir(parents=True, exist_ok=True)
    if setup.file is not None:
        (folder / setup.file[0]).write_text(setup.file[1], encoding="utf-8")
    environment = engine_environment(setting.own, setup.environment, ())
    arguments = (_program(planned, setup, environment), *setup.arguments)
    kept = Kept.start(
        StartOrder(
            "router",
            arguments,
            {**environment, OWNER_VARIABLE: setting.owner.text},
            setting.log_dir / "router.log",
            new_marker(setting.run_id),
            setting.secrets,
            folder=folder,
            many_files=True,
        )
    )
    endpoint = Endpoint("router", "127.0.0.1", planned.port, headers=setting.headers)
    return Launched(kept, endpoint, setting.secrets, arguments, setup.environment), setup


def policy_in_force(router: Launched, setup: RouterSetup, log_dir: Path) -> RouterFacts:
    """Read back the policy of a router that runs: from its arguments, and its file where it has one.

    Raises:
        StartError: It has ended.
        NotOursError: The process has other arguments or another file than it was given.
    """
    running = _running_arguments(router)
    where = "arguments of the router's process"
    if not _stand_in_order(setup.arguments, running):
        raise NotOursError(
            f"router: its process runs with {router.secrets.redact_arguments(running)!a}; expected the arguments "
            f"that it was given, {router.secrets.redact_arguments(setup.arguments)!a}: start it again"
        )
    if setup.file is not None:
        name, text = setup.file
        where = f"{name}, named by the router's process"
        if (log_dir / "router" / name).read_text(encoding="utf-8") != text:
            raise NotOursError(f"router: {name} was changed after it was written: start it again")
    return RouterFacts(setup.name, setup.policy, setup.affinity, where)


def _running_arguments(router: Launched) -> tuple[str, ...]:
    until_s = time.monotonic() + EXEC_S
    while time.monotonic() < until_s:
        ended = router.kept.exit()
        if ended is not None:
            raise StartError(
                f"router: it {ended.text} as soon as it was started; expected it to run: correct what the end of its "
                f"log names:\n{ended.log_tail[-1000:]}"
            )
        # Empty for a moment while a script gives way to its interpreter.
        found = procfs.arguments_of(router.kept.id.pid)
        if found:
            return found
        router.kept.wait(0.01)
    return ()


def _stand_in_order(wanted: tuple[str, ...], found: tuple[str, ...]) -> bool:
    """Return whether an argument list ends with these; a script's interpreter and path stand before them."""
    joined = " ".join(wanted)
    # nginx writes its list into a title of its own.
    return found[-len(wanted) :] == wanted or any(joined in each for each in found)


def _program(planned: RouterPlan, setup: RouterSetup, environment: Mapping[str, str]) -> str:
    names = (planned.program,) if planned.program is not None else setup.programs
    # Debian keeps servers where a user's PATH does not look.
    path = f"{environment['PATH']}:/usr/local/sbin:/usr/sbin:/sbin"
    found = next((place for name in names if (place := shutil.which(name, path=path)) is not None), None)
    if found is None:
        raise StartError(
            f"router: {' and '.join(names)} is not installed; expected the program of the plan: {setup.install}"
        )
    return found


def _own_name_as_root() -> str | None:
    return pwd.getpwuid(0).pw_name if os.geteuid() == 0 else None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
