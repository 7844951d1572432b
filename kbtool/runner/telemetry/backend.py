"""What the runner asks an accelerator's driver, and how it learns that there is no answer.

A value that cannot be read is a `Missing` with the reason: never 0, never a guess.  Nothing here loads a driver.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntFlag, StrEnum
from typing import Protocol

__all__ = [
    "Backend",
    "CardProcess",
    "ClockReason",
    "MigInstance",
    "Missing",
    "Reason",
    "Value",
    "pci_address",
]


class Reason(StrEnum):
    """Why there is no value."""

    NOT_SUPPORTED = "not_supported"
    """This card, or this driver, does not have it."""
    NO_DRIVER = "no_driver"
    """No NVIDIA driver or library on this host, or it is not loaded."""
    NO_BINDING = "no_binding"
    """The Python package that speaks to the driver is not installed."""
    VERSION_MISMATCH = "version_mismatch"
    """The driver was updated and the kernel still runs the old one."""
    NO_PERMISSION = "no_permission"
    GPU_LOST = "gpu_lost"
    """The card fell off the bus or waits for a reset; nothing more is asked of it."""
    TIMEOUT = "timeout"
    NO_DATA = "no_data"
    """There is such a value, and none was measured yet."""
    NOT_ASKED = "not_asked"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Missing:
    """No value, and why."""

    reason: Reason
    detail: str = ""

    def __str__(self) -> str:
        """Return the reason, with the driver's own words where it gave some."""
        return f"{self.reason.value}: {self.detail}" if self.detail else self.reason.value


class ClockReason(IntFlag):
    """Why the clocks are what they are: the bits of NVML's clocks-event reasons.

    `HW_SLOWDOWN` is the roof over the two hardware bits below it; alone it means a fast power trigger.
    """

    IDLE = 0x1
    APPLICATION_CLOCKS = 0x2
    """Somebody set or locked the clocks."""
    SW_POWER_CAP = 0x4
    HW_SLOWDOWN = 0x8
    SYNC_BOOST = 0x10
    SW_THERMAL = 0x20
    HW_THERMAL = 0x40
    HW_POWER_BRAKE = 0x80
    DISPLAY_CLOCK = 0x100


@dataclass(frozen=True, slots=True)
class CardProcess:
    """A process that computes on a card."""

    pid: int
    """As the host numbers processes, also when asked inside a container."""
    memory_bytes: int | None
    name: str | None = None
    mig_instance: int | None = None


@dataclass(frozen=True, slots=True)
class MigInstance:
    """One slice of a card in MIG mode."""

    uuid: str
    name: str
    memory_bytes: int | None


Value = int | str | tuple[int, ...] | tuple[MigInstance, ...] | Missing


class Backend(Protocol):
    """A driver's answers about its cards, numbered from 0.

    No method raises for what a driver may refuse.  Any of them may hang: call them where that hurts nobody.
    """

    def open(self) -> Missing | None:
        """Connect; return why that failed, or None."""
        ...

    def close(self) -> None:
        """Let go of the driver."""
        ...

    def system(self) -> Mapping[str, Value]:
        """Return `driver_version`, `cuda_driver_version` and `nvml_version`."""
        ...

    def count(self) -> int | Missing:
        """Return the number of cards, lost ones included."""
        ...

    def facts(self, card: int) -> Mapping[str, Value]:
        """Return what does not change while a card is used: the fields of `CardFacts`."""
        ...

    def sample(self, card: int) -> Mapping[str, Value]:
        """Return what changes all the time: the fields of `kbtool.runner.telemetry.sample.CARD_VALUES`."""
        ...

    def processes(self, card: int) -> tuple[CardProcess, ...] | Missing:
        """Return the processes that compute on a card; processes that only draw are left out."""
        ...

    def p2p(self, card: int, peer: int, write: bool) -> str | Missing:
        """Return whether `card` may read (or write) the memory of `peer`: OK, or why not, as `topo -p2p` says it."""
        ...

    def common_ancestor(self, card: int, peer: int) -> str | Missing:
        """Return how two cards are joined: PIX, PXB, PHB, NODE or SYS, as `topo -m` says it."""
        ...

    def xids(self) -> tuple[tuple[int, int], ...] | Missing:
        """Return (card, Xid) of the critical errors since the last call, without waiting."""
        ...


def pci_address(text: str) -> str:
    """Return a PCI address in the kernel's form, `0000:06:00.0`, from any of the forms in use.

    NVML pads the domain to eight digits, an Xid line has no function, and both differ in case.
    """
    address = text.strip().lower()
    domain, _, rest = address.partition(":")
    if ":" not in rest:
        domain, rest = "0", address
    if "." not in rest:
        rest += ".0"
    return f"{domain.lstrip('0') or '0':0>4}:{rest}"
