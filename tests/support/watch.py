"""What a piece of code did to the system, as Python's audit events tell it."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

__all__ = ["Deeds", "watching"]

_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGING: Final = frozenset({
    "os.chmod", "os.link", "os.mkdir", "os.mkfifo", "os.remove", "os.rename", "os.rmdir", "os.symlink", "os.truncate",
    "os.utime", "sqlite3.connect",
})  # fmt: skip
_LISTING: Final = frozenset({"os.listdir", "os.scandir"})
_NETWORK: Final = frozenset({
    "socket.bind", "socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto",
})  # fmt: skip
_PROGRAMS: Final = frozenset({"os.exec", "os.posix_spawn", "os.spawn", "os.system", "subprocess.Popen"})


@dataclass
class Deeds:
    """What was touched, in order; paths as they were given."""

    written: list[str] = field(default_factory=list)
    read: list[str] = field(default_factory=list)
    connected: list[str] = field(default_factory=list)
    started: list[str] = field(default_factory=list)

    def written_outside(self, folder: Path) -> list[str]:
        """Return what was written or changed elsewhere; Python's own bytecode does not count."""
        return [path for path in self.written if "__pycache__" not in path and not _is_in(path, folder)]

    def read_through_links(self, folder: Path) -> list[str]:
        """Return what was read by a name in `folder` and lies elsewhere."""
        return [
            path
            for path in self.read
            if Path(path).absolute().is_relative_to(folder) and not _is_in(path, folder)
        ]


def _is_in(path: str, folder: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(folder.resolve())


_listeners: Final[list[Deeds]] = []
_hooked: Final[list[bool]] = []


@contextmanager
def watching() -> Iterator[Deeds]:
    """Note what happens in this process until the block ends."""
    if not _hooked:
        # There is no way to take an audit hook away again: one serves all tests.
        sys.addaudithook(_note)
        _hooked.append(True)
    deeds = Deeds()
    _listeners.append(deeds)
    try:
        yield deeds
    finally:
        _listeners.remove(deeds)


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    for deeds in _listeners:
        if event == "open":
            path, _, flags = arguments
            if isinstance(path, str | bytes | os.PathLike):
                (deeds.written if flags & _WRITING else deeds.read).append(os.fsdecode(path))
        elif event in _LISTING and isinstance(arguments[0], str | bytes | os.PathLike):
            deeds.read.append(os.fsdecode(arguments[0]))
        elif event in _CHANGING:
            deeds.written += [
                os.fsdecode(each) for each in arguments[:2] if isinstance(each, str | bytes | os.PathLike)
            ]
        elif event in _NETWORK:
            deeds.connected.append(f"{event} {arguments[1:]}")
        elif event in _PROGRAMS:
            deeds.started.append(f"{event} {arguments[:2]}")
