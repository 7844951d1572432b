"""Who listens on a port: nobody before an engine is started, and it alone afterwards."""

import socket
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from kbtool.runner.target.errors import PortTakenError
from kbtool.runner.target.procfs import MARKER, ProcessId, arguments_of, environment_of, identify, processes

__all__ = ["Listener", "Ownership", "describe", "listeners", "ports_of", "require_free", "who_listens"]

_LISTEN: Final = "0A"
_TABLES: Final = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))


@dataclass(frozen=True, slots=True)
class Listener:
    """A listening socket."""

    port: int
    inode: int
    uid: int


class Ownership(StrEnum):
    """Whose the listening sockets of a port are."""

    NOBODY = "nobody"
    OURS = "ours"
    FOREIGN = "foreign"
    UNKNOWN = "unknown"
    """Of a process that we may not look into, such as root's in a container: the model's name must prove it."""


def listeners(port: int | None = None) -> tuple[Listener, ...]:
    """Return the listening TCP sockets of this machine, of one port where it is given."""
    found = []
    for table in _TABLES:
        try:
            lines = table.read_text(encoding="ascii").splitlines()[1:]
        except FileNotFoundError:
            continue
        for line in lines:
            fields = line.split()
            number = int(fields[1].rpartition(":")[2], 16)
            if fields[3] == _LISTEN and port in {None, number}:
                found.append(Listener(number, int(fields[9]), int(fields[7])))
    return tuple(found)


def sockets_of(pid: int) -> frozenset[int] | None:
    """Return the inodes of the sockets that a process holds; None where we may not look."""
    inodes = set()
    try:
        for handle in list(Path(f"/proc/{pid}/fd").iterdir()):
            try:
                target = str(handle.readlink())
            except FileNotFoundError:
                continue
            if target.startswith("socket:["):
                inodes.add(int(target[8:-1]))
    except (FileNotFoundError, ProcessLookupError):
        return frozenset()
    except PermissionError:
        return None
    return frozenset(inodes)


def who_listens(
    port: int, ours: Iterable[ProcessId], *, look_further: bool = True
) -> tuple[Ownership, tuple[ProcessId, ...]]:
    """Return whose a port is, and the processes that hold it, as far as they can be seen.

    Several may share a port (SO_REUSEPORT), a stale server among them: it is ours only where all are ours.

    Args:
        port: The port.
        ours: Our processes.
        look_further: Whether to look who else holds it, through all processes, where we do not.
    """
    wanted = {each.inode for each in listeners(port)}
    if not wanted:
        return Ownership.NOBODY, ()
    mine = {each.pid: each for each in ours}
    holders, unseen = _holders(wanted, mine)
    if unseen and not look_further:
        return Ownership.UNKNOWN, ()
    if unseen:
        rest, still_unseen = _holders(unseen, {stat.id.pid: stat.id for stat in processes()})
        if rest or not still_unseen:
            return Ownership.FOREIGN, tuple(sorted(rest))
        return Ownership.UNKNOWN, ()
    return Ownership.OURS, tuple(sorted(holders))


def _holders(wanted: Collection[int], among: dict[int, ProcessId]) -> tuple[set[ProcessId], set[int]]:
    """Return those that hold one of the sockets, and the sockets that none of them holds."""
    found: set[ProcessId] = set()
    unseen = set(wanted)
    for pid, who in among.items():
        held = (sockets_of(pid) or frozenset()) & set(wanted)
        if held:
            found.add(who)
            unseen -= held
    return found, unseen


def ports_of(who: Iterable[ProcessId]) -> tuple[int, ...]:
    """Return the ports that these processes listen on."""
    held: set[int] = set()
    for each in who:
        held |= sockets_of(each.pid) or frozenset()
    return tuple(sorted({each.port for each in listeners() if each.inode in held}))


def require_free(port: int, what: str) -> None:
    """Make sure that nobody listens on a port.

    Args:
        port: The port.
        what: Who wants it, for the message.

    Raises:
        PortTakenError: Somebody does, or the port cannot be bound.
    """
    _, holders = who_listens(port, ())
    if holders or listeners(port):
        named = " and ".join(describe(each) for each in holders) or "a process of another user"
        raise PortTakenError(
            f"{what}: port {port} is held by {named}; expected it to be free, as its answers would be taken for "
            "the engine's: end that server, or give another port in the plan"
        )
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As servers do: connections of the last one that linger are in nobody's way.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("0.0.0.0", port))  # noqa: S104 - bound for a moment, and never listened on
        except OSError as error:
            raise PortTakenError(
                f"{what}: port {port} cannot be bound ({error.strerror}): give another port in the plan"
            ) from None


def describe(who: ProcessId) -> str:
    """Return a process in words, without its arguments, which may hold a key."""
    arguments = arguments_of(who.pid)
    program = Path(arguments[0]).name[:60] if arguments else "a program"
    run = (environment_of(who.pid) or {}).get(MARKER, "")
    left = " left over from an earlier run" if run and identify(who.pid) == who else ""
    return f"{program!a} (pid {who.pid}){left}"
