"""Bring up the system under test that a plan describes, or attach to it."""

import os
from collections.abc import Mapping
from pathlib import Path

from kbtool.errors import UsageError
from kbtool.runner.client.outgoing import Endpoint
from kbtool.runner.plan.model import Plan
from kbtool.runner.plan.target import Target
from kbtool.runner.target.attach import attach, authorization
from kbtool.runner.target.launch import Setting, launch, model_name
from kbtool.runner.target.leg import LegSettings
from kbtool.runner.target.owner import Owner
from kbtool.runner.target.ports import require_free
from kbtool.runner.target.router import policy_in_force, start_router
from kbtool.runner.target.running import RouterFacts, Running
from kbtool.runner.target.secrets import Secrets

__all__ = ["start"]


def start(
    plan: Plan,
    leg: LegSettings | None = None,
    *,
    run_id: str,
    log_dir: Path,
    own: Mapping[str, str] | None = None,
) -> Running:
    """Start the engines and the router of a plan, or attach to those that run.

    Nothing is waited for: `ready` does that.  The commands of the leg are not run here: `SweepCommands` does.

    Args:
        plan: The plan.
        leg: What the leg of a sweep changes; None for the plan as it stands.
        run_id: Name of the run; marks processes and containers.
        log_dir: Folder for logs and configurations, without secrets.
        own: Environment to take from; None for ours.

    Returns:
        What runs: a context manager that ends whatever was started here.

    Raises:
        UsageError: The plan cannot be carried out here, such as a variable that is not set.
        PortTakenError: A port is held already.
        StartError: A program, image or router is missing.
    """
    own = os.environ if own is None else own
    headers, held = authorization(plan.target, own)
    secrets = Secrets.from_environment(own).with_values(held)
    model = plan.target.model
    if plan.target.launch is not None:
        model = model_name(plan.target.launch, model)
    setting = Setting(run_id, log_dir, model, headers, own, secrets, Owner.of_this_process())
    _require_ports(plan.target)
    log_dir.mkdir(parents=True, exist_ok=True)
    running = Running((), _NOWHERE, model, float(plan.deadlines.stop_s), secrets=secrets)
    try:
        _bring_up(running, plan, leg if leg is not None else LegSettings(), setting)
    except BaseException:
        running.stop()
        raise
    return running


_NOWHERE = Endpoint("nowhere", "127.0.0.1", 1)
"""Until the first server is known."""


def _require_ports(target: Target) -> None:
    if target.router is not None and target.router.port is not None:
        require_free(target.router.port, "target.router")
    for each in target.launch.instances if target.launch is not None else ():
        require_free(each.port, f"target.launch: {each.name}")


def _bring_up(running: Running, plan: Plan, leg: LegSettings, setting: Setting) -> None:
    """Start part after part; what was started stands in `running` even where the next one fails."""
    target = plan.target
    router = target.router
    if target.launch is not None:
        running.nonce = target.launch.nonce
        for each in target.launch.instances:
            running.parts += (launch(each, leg, setting),)
    else:
        running.parts, running.router_part = attach(target, setting.headers, setting.secrets)
    if router is not None and router.port is not None:
        part, setup = start_router(plan, router, running.endpoints, setting)
        running.router_part = part
        running.router = policy_in_force(part, setup, setting.log_dir)
    elif router is not None:
        recognised = target.affinity.header or target.affinity.field if target.affinity is not None else None
        running.router = RouterFacts(router.name or "router", router.policy, recognised, "the plan")
    if running.router_part is not None:
        running.measured = running.router_part.endpoint
    elif len(running.parts) == 1:
        running.measured = running.parts[0].endpoint
    else:
        raise UsageError(
            f"target: {len(running.parts)} servers and no router; expected one server, or a router in front: add "
            "`router`, or measure one server a plan"
        )
