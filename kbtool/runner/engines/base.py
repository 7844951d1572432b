"""What the runner asks any kind of server, and the shape of the answers.

A fact about a server is worth as much as the place it was read in: `Trust` orders the places, and the one that
is nearest to the running engine wins.  What a server does not say is absent, never guessed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import IntEnum, StrEnum
from typing import Protocol

from kbtool.runner.client.outgoing import Endpoint
from kbtool.runner.plan.target import EngineKind

__all__ = [
    "Counters",
    "EngineAdapter",
    "Identity",
    "Observed",
    "RequestOptions",
    "ResetOutcome",
    "Trust",
    "in_force",
]

Setting = str | int | bool | Decimal


class Trust(IntEnum):
    """Where a setting was read; lower is nearer to the running engine."""

    ENGINE = 1
    """The running engine answered it."""
    PROCESS = 2
    """Arguments and environment of the process, from /proc."""
    CONTAINER = 3
    """`docker inspect`."""
    PLAN = 4
    """What the plan says: an intention."""


@dataclass(frozen=True, slots=True)
class Observed:
    """One setting as it was found."""

    field: str
    """Path in the benchmark record: `serving.context_tok`, `engine.version`, or `engine.arguments.NAME`."""
    value: Setting
    as_published: str
    """The value as the server or process writes it."""
    trust: Trust
    where: str
    """Such as `GET /server_info, context_length`."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who answers."""

    kind: EngineKind
    served_models: tuple[str, ...]
    version: str | None = None
    commit: str | None = None
    build: str | None = None
    model_root: str | None = None
    """Path or repository of the weights."""
    context_tok: int | None = None
    started_s: float | None = None
    """Start of the process, Unix seconds, where the server says so: another value means a restart."""
    incarnation: str | None = None
    """A word that the server makes anew at each start, where it tells one: another word means a restart."""
    kv_cache_tok: int | None = None
    """Tokens that its KV cache holds, where the server says so or its settings show it."""
    evidence: tuple[str, ...] = ()
    """What showed the kind, such as `GET /version answered 0.32.0`."""


@dataclass(frozen=True, slots=True)
class Counters:
    """The server's own totals at one moment; None where it does not count. Only differences mean anything."""

    t_ns: int
    prompt_tok: int | None = None
    generation_tok: int | None = None
    cached_tok: int | None = None
    prefix_query_tok: int | None = None
    prefix_hit_tok: int | None = None
    requests_finished: int | None = None
    running: int | None = None
    waiting: int | None = None
    preemptions: int | None = None
    kv_usage_ratio: float | None = None
    drafts: int | None = None
    """Verify steps that had drafts."""
    draft_tok: int | None = None
    accepted_draft_tok: int | None = None
    accepted_per_position: tuple[int, ...] = ()
    started_s: float | None = None
    raw: Mapping[str, float] = field(default_factory=dict)
    """Every sample that was used, under its own name."""


class ResetOutcome(StrEnum):
    """What came of asking a server to forget its prefix cache."""

    DONE = "done"
    """It says so, and the counters or cached tokens do not speak against it."""
    UNSUPPORTED = "unsupported"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class RequestOptions:
    """Fields of the request's body that this kind of server understands, beyond the common ones."""

    fixed_length: Mapping[str, object] = field(default_factory=dict)
    """Make the answer exactly `max_tokens` long, such as `ignore_eos`; empty where it cannot."""
    usage: Mapping[str, object] = field(default_factory=dict)
    """Ask for usage at the end, and for each chunk where it can."""
    no_cache: Mapping[str, object] = field(default_factory=dict)
    """Keep this request from using the prefix cache; empty where it cannot."""
    thread_a_connection: bool = False
    """Whether each open connection holds a thread of the server: none is then opened before its time."""


class EngineAdapter(Protocol):
    """One kind of server. Every method asks over HTTP, within limits, and raises `ControlError` where it cannot."""

    @property
    def kind(self) -> EngineKind:
        """Kind of server."""

    def identity(self, endpoint: Endpoint) -> Identity:
        """Ask who answers."""

    def settings(self, endpoint: Endpoint) -> tuple[Observed, ...]:
        """Ask for the settings in force, secrets left out."""

    def counters(self, endpoint: Endpoint) -> Counters | None:
        """Read the server's totals; None where it has none."""

    def reset_prefix_cache(self, endpoint: Endpoint) -> ResetOutcome:
        """Ask it to forget its prefix cache."""

    def options(self) -> RequestOptions:
        """Return what may stand in a request for this kind."""

    def from_command_line(
        self, arguments: tuple[str, ...], environment: Mapping[str, str]
    ) -> tuple[Observed, ...]:
        """Read settings from a process's or container's arguments; trust is the caller's to set lower."""


def in_force(*found: tuple[Observed, ...]) -> dict[str, Observed]:
    """Return for each field the observation from the most trusted place; earlier ones win among equals."""
    best: dict[str, Observed] = {}
    for each in (one for several in found for one in several):
        if each.field not in best or each.trust < best[each.field].trust:
            best[each.field] = each
    return best
