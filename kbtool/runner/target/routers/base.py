"""What every router is given and gives back, and the checks on what goes into a configuration.

A configuration is written from validated parts only: host, port and header name can hold no character that ends a
word or a statement in any of these languages.

All are set up alike: streaming without buffering, no second attempt (it would hide a failure and send a request
twice), a fresh connection to the engine for each request (several engines close idle ones at the wrong moment),
limits longer than any answer, and no line of log for a request.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from kbtool.errors import UsageError
from kbtool.runner.client.outgoing import Endpoint
from kbtool.runner.plan.target import Affinity

__all__ = [
    "RouterRequest",
    "RouterSetup",
    "refuse_policy",
    "server_address",
    "server_addresses",
    "worker_urls",
]

_HOST_NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")
_IPV6: Final = re.compile(r"[0-9A-Fa-f:.]{2,45}")
_NAME: Final = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_HEADER: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,63}")
_POLICY: Final = re.compile(r"[a-z][a-z0-9_-]{0,39}")


@dataclass(frozen=True, slots=True)
class RouterRequest:
    """What a router is to do.

    Raises:
        UsageError: A part holds characters that it cannot have, or asks for what no router here does.
    """

    port: int
    workers: tuple[Endpoint, ...]
    policy: str | None = None
    affinity: Affinity | None = None
    arguments: tuple[str, ...] = ()
    """Further arguments of the plan, at the end."""
    ready_s: int = 1800
    answer_s: int = 86_400
    """Longest answer, seconds."""
    metrics_port: int = 29000
    """Where a router that counts shows its counters."""
    user: str | None = None
    """Name of the user to work as, where we are root and the program would change to another one."""

    def __post_init__(self) -> None:
        """Refuse what could change the meaning of a configuration."""
        for worker in self.workers:
            server_address(worker)
            if not _NAME.fullmatch(worker.name):
                raise UsageError(
                    f"target.router: {worker.name!a} is no name for a server: use such as `engine-a`"
                )
            if worker.tls or worker.base_path:
                raise UsageError(
                    f"target.router: {worker.name} is behind TLS or a base path; expected a plain address, as the "
                    "router that we start asks the engines directly"
                )
        if self.policy is not None and not _POLICY.fullmatch(self.policy):
            raise UsageError(
                f"target.router.policy: {self.policy!a} is no policy; expected a word of the router"
            )
        header = self.affinity.header if self.affinity is not None else None
        if header is not None and not _HEADER.fullmatch(header):
            raise UsageError(f"target.affinity.header: {header!a} is no name of a header")
        if self.user is not None and not re.fullmatch(r"[a-z_][a-z0-9_-]{0,31}", self.user):
            raise UsageError(f"target.router: the user {self.user!a} cannot be written into a configuration")


@dataclass(frozen=True, slots=True)
class RouterSetup:
    """How a router is started."""

    name: str
    """Name of the program, as a record gives it."""
    programs: tuple[str, ...]
    """Names under which it is looked for, the best first."""
    arguments: tuple[str, ...]
    policy: str
    """In the router's own word."""
    affinity: str | None
    """What a session is recognised by; None where the policy does not look at sessions."""
    file: tuple[str, str] | None = None
    """Name and text of the configuration file, in the folder in which the router is started."""
    environment: Mapping[str, str] = field(default_factory=dict)
    install: str = ""
    """How to install it."""


def server_address(worker: Endpoint) -> str:
    """Return `host:port`.

    Raises:
        UsageError: The host could be read as something else in a configuration.
    """
    if ":" in worker.host:
        if not _IPV6.fullmatch(worker.host):
            raise UsageError(f"target.router: {worker.host!a} is no address")
        return f"[{worker.host}]:{worker.port}"
    if not _HOST_NAME.fullmatch(worker.host) or not 0 < worker.port < 65_536:
        raise UsageError(
            f"target.router: {worker.host!a}:{worker.port} is no address; expected such as 127.0.0.1"
        )
    return f"{worker.host}:{worker.port}"


def server_addresses(request: RouterRequest) -> tuple[tuple[str, str], ...]:
    """Return name and address of each engine."""
    return tuple((worker.name, server_address(worker)) for worker in request.workers)


def worker_urls(request: RouterRequest) -> tuple[str, ...]:
    """Return the address of each engine as a URL."""
    return tuple(f"http://{server_address(worker)}" for worker in request.workers)


def refuse_policy(router: str, found: str, known: tuple[str, ...]) -> UsageError:
    """Return the error for a policy that a router does not have."""
    return UsageError(
        f"target.router.policy: {router} has no policy {found!a} that fits the plan; expected one of "
        f"{', '.join(known)}: change it, or take `affinity` out where the policy knows no sessions"
    )
