"""The system under test: engines launched or attached, routers, containers, and the end of all of it.

Names are resolved on first use: the keeper of each program imports modules of this package, and starts with it
in a few milliseconds. `start.start` and `ready.ready` are imported from their modules, whose names they share.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kbtool.runner.target.commands import SweepCommands
    from kbtool.runner.target.errors import TargetError
    from kbtool.runner.target.leftovers import Leftover, end_leftovers, find_leftovers
    from kbtool.runner.target.leg import LegSettings
    from kbtool.runner.target.running import Fault, FaultKind, Running
    from kbtool.runner.target.secrets import Secrets
    from kbtool.runner.target.topology import affinity, split

__all__ = [
    "Fault",
    "FaultKind",
    "Leftover",
    "LegSettings",
    "Running",
    "Secrets",
    "SweepCommands",
    "TargetError",
    "affinity",
    "end_leftovers",
    "find_leftovers",
    "split",
]

_HOMES = {
    "Fault": "running",
    "FaultKind": "running",
    "Leftover": "leftovers",
    "LegSettings": "leg",
    "Running": "running",
    "Secrets": "secrets",
    "SweepCommands": "commands",
    "TargetError": "errors",
    "affinity": "topology",
    "end_leftovers": "leftovers",
    "find_leftovers": "leftovers",
    "split": "topology",
}


def __getattr__(name: str) -> object:
    """Import a public name from its home on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
