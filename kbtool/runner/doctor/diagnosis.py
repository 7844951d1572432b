"""What the doctor found, as plain data. Printing it is the command line's."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from kbtool.runner.engines import Detected, Identity, Observed
from kbtool.runner.plan.check import Known
from kbtool.runner.plan.target import EngineKind
from kbtool.runner.telemetry import CardLoad, HostFacts, Inventory
from kbtool.runner.trace import ClockSource
from kbtool.vocab.terms import GapReason

__all__ = [
    "Access",
    "Diagnosis",
    "FieldPlan",
    "ForeignTraffic",
    "Holder",
    "Probe",
    "Probes",
    "Remark",
    "ServerReport",
    "Severity",
    "Shown",
]


class Severity(StrEnum):
    """How much a remark matters."""

    NOTE = "note"
    """Good to know."""
    WARNING = "warning"
    """Figures will be marked, or a field will be a gap."""
    PROBLEM = "problem"
    """Nothing can be measured, or not what is meant."""


class Access(StrEnum):
    """Whether the server can be asked."""

    OPEN = "open"
    """It answers; with a key where one is given."""
    KEY_MISSING = "key_missing"
    """Up: it answers 401 or 403."""
    NOT_READY = "not_ready"
    """It lists its models, and generates nothing yet."""
    UNREACHABLE = "unreachable"
    NOT_STARTED = "not_started"
    """The plan launches it, and its port is free."""


class Shown(StrEnum):
    """What was shown of something that is on or off."""

    ON = "on"
    OFF = "off"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Probe:
    """One thing that was tried, and what showed it."""

    shown: Shown = Shown.UNKNOWN
    why: str = "not tried"


@dataclass(frozen=True, slots=True)
class Probes:
    """What a handful of small requests showed."""

    usage: Probe = Probe()
    continuous_usage: Probe = Probe()
    """Whether each chunk says how many tokens came so far."""
    cached_tokens: Probe = Probe()
    """Whether usage says how many prompt tokens came from the prefix cache."""
    prefix_cache: Probe = Probe()
    fixed_length: Probe = Probe()
    repeatable: Probe = Probe()
    """Whether the same greedy prompt was answered with the same text."""
    prompt_tok: int | None = None
    """Tokens that the server counted in the probe's prompt."""


@dataclass(frozen=True, slots=True)
class ForeignTraffic:
    """Whether somebody else uses the server: its counters over a time in which we sent nothing."""

    watched_s: float
    running: int | None
    waiting: int | None
    moved_tok: int | None
    """Tokens of prompts and answers by which its totals grew."""

    @property
    def seen(self) -> bool:
        """Whether there is any."""
        return any(value for value in (self.running, self.waiting, self.moved_tok))


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that listens on the server's port, where it is on this machine."""

    pid: int
    program: str
    age_s: float | None


@dataclass(frozen=True, slots=True)
class ServerReport:
    """One server, or what the plan says of one that is yet to be launched."""

    name: str
    address: str
    access: Access
    detail: str = ""
    """What the server said, where it cannot be used."""
    is_local: bool = False
    kind: EngineKind | None = None
    evidence: tuple[str, ...] = ()
    shows: Detected | None = None
    """What it shows itself as, whatever the plan says; None where that is uncertain."""
    identity: Identity | None = None
    settings: tuple[Observed, ...] = ()
    """One each field, from the most trusted place."""
    disputed: tuple[tuple[Observed, Observed], ...] = ()
    """Settings that the running engine gives otherwise than its process or the plan; the first is in force."""
    metrics: Probe = Probe()
    drafts_counted: bool = False
    """Whether its counters tell of drafts."""
    probes: Probes = Probes()
    foreign: ForeignTraffic | None = None
    holders: tuple[Holder, ...] = ()
    holders_known: bool = False
    clock: ClockSource = ClockSource.USER
    requests: int = 0
    """Generations that we asked it for."""

    def value(self, path: str) -> object:
        """Return the setting in force; None where it is not known."""
        return next((each.value for each in self.settings if each.field == path), None)


@dataclass(frozen=True, slots=True)
class FieldPlan:
    """Whether a record measured now would have a value in one of the fields that a reader needs."""

    path: str
    title: str
    filled: bool
    value: str = ""
    source: str = ""
    """Where the value comes from."""
    reason: GapReason | None = None
    remedy: str = ""
    """How to fill it."""


@dataclass(frozen=True, slots=True)
class Remark:
    """One thing to know before anything is measured."""

    severity: Severity
    topic: Literal[
        "server",
        "engine",
        "probes",
        "graphs",
        "traffic",
        "cards",
        "host",
        "context",
        "subject",
        "accelerator",
    ]
    found: str
    remedy: str = ""
    place: str = ""
    """Server or card that it is about."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Everything that was found."""

    servers: tuple[ServerReport, ...]
    router: ServerReport | None
    host: HostFacts
    inventory: Inventory
    loads: tuple[CardLoad, ...]
    fields: tuple[FieldPlan, ...]
    remarks: tuple[Remark, ...]
    """Worst first."""
    known: Known = field(default_factory=Known)
    """What `plan` checks cells against."""

    @property
    def requests(self) -> int:
        """Generations that were asked for, all servers together."""
        return sum(each.requests for each in (*self.servers, *((self.router,) if self.router else ())))

    @property
    def usable(self) -> bool:
        """Whether something can be measured."""
        return not any(each.severity is Severity.PROBLEM for each in self.remarks)
