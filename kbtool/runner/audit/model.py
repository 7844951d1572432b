"""What an audit asks for, and what it found."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Final

from kbtool.runner.client import Interrupt, Limits
from kbtool.runner.load import Api

__all__ = ["ALL_AUDITS", "Audit", "AuditCheck", "AuditReport", "AuditSpec"]


class Audit(StrEnum):
    """The four audits."""

    REPEATED = "repeated"
    """Are answers cached?"""
    LENGTH = "length"
    """Are answers as long as asked for, and as long as said?"""
    IDENTITY = "identity"
    """Does one model answer, alone and under load?"""
    SENSE = "sense"
    """Do the answers make sense?"""


ALL_AUDITS: Final = frozenset(Audit)
AUDIT_LIMITS: Final = Limits(connect_s=10, first_byte_s=300, progress_s=120, total_s=900)


@dataclass(frozen=True, slots=True)
class AuditCheck:
    """One question of an audit, and its answer."""

    audit: Audit
    name: str
    passed: bool
    found: str
    """With the number of answers that it rests on."""
    expected: str
    remedy: str
    """What to do where it failed."""


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What the audits of one server found."""

    checks: tuple[AuditCheck, ...]
    requests: int
    """Requests that were sent."""
    model: str

    @property
    def passed(self) -> bool:
        """Return whether every check passed; never without any."""
        return bool(self.checks) and not self.failed

    @property
    def failed(self) -> frozenset[Audit]:
        """Return the audits in which a check failed."""
        return frozenset(each.audit for each in self.checks if not each.passed)

    def data(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return {"passed": self.passed, **asdict(self)}


@dataclass(frozen=True, slots=True)
class AuditSpec:
    """How much is asked of the server."""

    api: Api = Api.CHAT
    audits: frozenset[Audit] = ALL_AUDITS
    prompts: int = 8
    """Different prompts of a batch. Each is sent alone, again, and under load; below 5 nothing can be shown."""
    batches: int = 3
    """Batches of new prompts at most, where the repeated ones leave it open whether they are faster."""
    input_tok: int = 256
    output_tok: int = 64
    """Length of the timed answers."""
    answer_tok: int = 256
    """Most tokens of an answer that ends by itself."""
    schema_prompts: int = 3
    schema_tok: int = 512
    """Most tokens of an answer to a schema."""
    users: int = 8
    """Requests at once under load."""
    salt: str = ""
    """Makes the prompts new to every cache; a random one where empty."""
    limits: Limits = AUDIT_LIMITS
    interrupt: Callable[[], Interrupt | None] = field(default=lambda: None, repr=False)
    tell: Callable[[str], None] = field(default=lambda _: None, repr=False)
    """Told what is being done."""
