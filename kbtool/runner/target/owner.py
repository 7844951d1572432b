"""The runner that started something, named so that a later runner can tell whether it still lives."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from kbtool.runner.target.procfs import ProcessId, identify

__all__ = ["Owner"]

_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, slots=True)
class Owner:
    """One runner's process on one boot of one machine."""

    process: ProcessId
    boot_id: str
    pid_space: str
    """The pid namespace: a pid means nothing in another one."""

    @classmethod
    def of_this_process(cls) -> Self:
        """Return who we are."""
        me = identify(os.getpid())
        assert me is not None
        return cls(me, _BOOT_ID.read_text(encoding="ascii").strip(), _pid_space())

    @property
    def text(self) -> str:
        """The form that labels and environment variables carry."""
        return f"{self.process.pid}.{self.process.start_ticks}.{self.pid_space}.{self.boot_id}"

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Read `text` back; None where it is not ours: any program can write such a label."""
        parts = text.split(".")
        if len(parts) != 4 or not all(part.isascii() and part.isdigit() for part in parts[:3]):
            return None
        if any(len(part) > 40 for part in parts):
            return None
        return cls(ProcessId(int(parts[0]), int(parts[1])), parts[3], parts[2])

    def lives(self) -> bool | None:
        """Return whether that runner still runs; None where it cannot be told from here."""
        if self.boot_id != _BOOT_ID.read_text(encoding="ascii").strip():
            return False
        if self.pid_space != _pid_space():
            return None
        return identify(self.process.pid) == self.process


def _pid_space() -> str:
    """Return the number of our pid namespace."""
    return str(Path("/proc/self/ns/pid").stat().st_ino)
