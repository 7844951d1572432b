"""Processes as the kernel shows them: who they are, whose children, what they were given, which port they own.

A pid alone names nobody: it is used again.  A process is its pid together with its start time, and a signal is
sent through a pidfd after the start time was compared, so that it cannot reach whoever has the pid now.

The keeper imports this module, and starts in a few milliseconds: the standard library only.
"""

import os
import signal
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = [
    "MARKER",
    "ProcessId",
    "Stat",
    "arguments_of",
    "descendants",
    "environment_of",
    "executable_of",
    "identify",
    "marked",
    "processes",
    "read_stat",
    "send",
]

PROC: Final = Path("/proc")
MARKER: Final = "KBTOOL_RUN"
"""Environment variable that all we start carries, and with it whatever that starts."""
_MAX_BYTES: Final = 4 * 1024 * 1024
"""Most that is read of a command line or environment; the kernel's own limit is near."""
_ZOMBIE_STATES: Final = frozenset("ZXx")


@dataclass(frozen=True, slots=True, order=True)
class ProcessId:
    """One process, for ever: no later process has the same pid and start time within a boot."""

    pid: int
    start_ticks: int
    """Start time, clock ticks since boot."""


@dataclass(frozen=True, slots=True)
class Stat:
    """What `/proc/PID/stat` says of a process."""

    id: ProcessId
    parent: int
    group: int
    session: int
    state: str

    @property
    def is_dead(self) -> bool:
        """Whether it has ended and waits for its parent to take note."""
        return self.state in _ZOMBIE_STATES


def _read(path: Path) -> bytes | None:
    """Return the start of a file of /proc, or None where the process is gone or not ours to look at."""
    try:
        with path.open("rb") as file:
            return file.read(_MAX_BYTES)
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None


def read_stat(pid: int) -> Stat | None:
    """Return what the kernel says of a process; None where there is none."""
    data = _read(PROC / str(pid) / "stat")
    if not data:
        return None
    # The name stands in parentheses and may itself hold any character: the last one ends it.
    fields = data[data.rindex(b")") + 2 :].split()
    return Stat(
        ProcessId(pid, int(fields[19])), int(fields[1]), int(fields[2]), int(fields[3]), fields[0].decode()
    )


def identify(pid: int) -> ProcessId | None:
    """Return the identity of a process that lives; None where it has ended."""
    stat = read_stat(pid)
    return None if stat is None or stat.is_dead else stat.id


def processes() -> Iterator[Stat]:
    """Yield every process that this user can see, zombies included."""
    for entry in PROC.iterdir():
        if entry.name.isdigit():
            stat = read_stat(int(entry.name))
            if stat is not None:
                yield stat


def descendants(root: int) -> tuple[ProcessId, ...]:
    """Return the living children of a process, their children, and so on, without the process itself."""
    children: dict[int, list[Stat]] = {}
    for stat in processes():
        children.setdefault(stat.parent, []).append(stat)
    found: list[ProcessId] = []
    waiting = [root]
    while waiting:
        for stat in children.pop(waiting.pop(), ()):
            waiting.append(stat.id.pid)
            if not stat.is_dead:
                found.append(stat.id)
    return tuple(sorted(found))


def environment_of(pid: int) -> dict[str, str] | None:
    """Return the environment that a process was started with; None where it cannot be read.

    It holds secrets: names may go on, values only those that are known to be public.
    """
    data = _read(PROC / str(pid) / "environ")
    if data is None:
        return None
    pairs = (entry.partition(b"=") for entry in data.split(b"\0") if entry)
    return {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}


def arguments_of(pid: int) -> tuple[str, ...] | None:
    """Return the argument list of a process as it runs; None where it cannot be read."""
    data = _read(PROC / str(pid) / "cmdline")
    if not data:
        return None
    return tuple(os.fsdecode(each) for each in data.removesuffix(b"\0").split(b"\0"))


def executable_of(pid: int) -> str | None:
    """Return the path of the program that a process runs; None where it cannot be read."""
    try:
        return str((PROC / str(pid) / "exe").readlink())
    except OSError:
        return None


def marked(value: str, *, apart_from: Collection[int] = ()) -> tuple[ProcessId, ...]:
    """Return the living processes whose environment holds our marker with this value."""
    wanted = f"{MARKER}={value}".encode()
    found = []
    for stat in processes():
        if stat.is_dead or stat.id.pid in apart_from:
            continue
        data = _read(PROC / str(stat.id.pid) / "environ")
        if data is not None and wanted in data.split(b"\0"):
            found.append(stat.id)
    return tuple(found)


def send(who: ProcessId, number: signal.Signals) -> bool:
    """Send a signal to exactly this process; return whether it was there to get it."""
    try:
        handle = os.pidfd_open(who.pid)
    except ProcessLookupError:
        return False
    try:
        if identify(who.pid) != who:
            return False
        signal.pidfd_send_signal(handle, number)
    except ProcessLookupError:
        return False
    finally:
        os.close(handle)
    return True
