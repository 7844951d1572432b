"""Errors of cards in the kernel's log: Xid lines, read from /dev/kmsg as they come.

A host may refuse this log to a user, and a container may not have it: that is a gap with a reason, and NVML's own
event queue still tells the critical ones.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from kbtool.runner.telemetry.backend import Missing, Reason, pci_address

__all__ = ["ABORTING_XIDS", "KernelLog", "KmsgReader", "XidLine", "parse_xid"]

ABORTING_XIDS: Final = frozenset({62, 79, 119, 120, 154})
"""Halted microcontroller, card fell off the bus, firmware timeout and error, recovery action changed: no number
measured after one of these stands."""

_DEVICE: Final = Path("/dev/kmsg")
_RECORD_BYTES: Final = 8192
_DETAIL_CHARS: Final = 160
_XID = re.compile(r"NVRM: Xid \(PCI:([0-9A-Fa-f:.]{5,20})\): (\d{1,4})(?:, (.*))?")
_FALLEN = re.compile(
    r"NVRM: (?:The NVIDIA )?GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f:.]{4,10}?):? .*fallen off the bus"
)
_CONTROL = re.compile(r"[^\x20-\x7e]")


@dataclass(frozen=True, slots=True)
class XidLine:
    """One error of one card."""

    xid: int
    pci: str
    """`0000:06:00.0`."""
    detail: str
    """The driver's words, printable and short."""


class KernelLog(Protocol):
    """A log that is read without waiting."""

    def open(self) -> Missing | None:
        """Go to the end of the log; return why that failed, or None."""
        ...

    def read(self) -> tuple[XidLine, ...] | Missing:
        """Return what came since the last call."""
        ...

    def close(self) -> None:
        """Let go of the log."""
        ...


def parse_xid(line: str) -> XidLine | None:
    """Return the error that a line of the kernel log tells, or None.

    Some drivers say that a card fell off the bus without an Xid; that is Xid 79 all the same.
    """
    found = _XID.search(line)
    if found is not None:
        return XidLine(int(found[2]), pci_address(found[1]), _plain(found[3] or ""))
    found = _FALLEN.search(line)
    if found is not None:
        return XidLine(79, pci_address(found[1]), "GPU has fallen off the bus")
    return None


class KmsgReader:
    """/dev/kmsg as a `KernelLog`."""

    def __init__(self, device: Path = _DEVICE) -> None:
        """Read from `device` once opened."""
        self._device = device
        self._file: int | None = None

    def open(self) -> Missing | None:
        """Open the log at its end: what lies before it belongs to no cell of ours."""
        try:
            self._file = os.open(self._device, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            os.lseek(self._file, 0, os.SEEK_END)
        except FileNotFoundError:
            return Missing(Reason.NOT_SUPPORTED, f"{self._device} does not exist here")
        except PermissionError:
            return Missing(
                Reason.NO_PERMISSION,
                f"{self._device} may not be read: run with CAP_SYSLOG or set kernel.dmesg_restrict to 0",
            )
        except OSError as error:
            return Missing(Reason.OTHER, f"{self._device}: {error.strerror}")
        return None

    def read(self) -> tuple[XidLine, ...] | Missing:
        """Return the errors logged since the last call."""
        if self._file is None:
            return Missing(Reason.NOT_ASKED, "the kernel log is not open")
        found: list[XidLine] = []
        while True:
            try:
                record = os.read(self._file, _RECORD_BYTES)
            except BlockingIOError:
                return tuple(found)
            except BrokenPipeError:
                # Records were overwritten before they were read; the next read goes on with the oldest left.
                continue
            except OSError as error:
                return Missing(Reason.OTHER, f"{self._device}: {error.strerror}")
            if not record:
                return tuple(found)
            line = parse_xid(record.split(b"\n", 1)[0].decode("utf-8", "replace"))
            if line is not None:
                found.append(line)

    def close(self) -> None:
        """Close the log."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _plain(text: str) -> str:
    return _CONTROL.sub("?", text.strip())[:_DETAIL_CHARS]
