"""Run `kbtool` on a system that fails: `python faulty.py kill|full COUNT ARGUMENTS...`.

The COUNTth call that changes the file system does not happen. With `kill` the process dies on the
spot, as on a power cut or `kill -9`; with `full` the call fails, and so does every later one that
needs room. When the program survives its COUNT calls, it says on stderr how many it made.
"""

import errno
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final
from unittest import mock

__all__ = ["FaultySystem"]

CHANGING: Final = (
    "open",
    "write",
    "replace",
    "rename",
    "unlink",
    "remove",
    "mkdir",
    "rmdir",
    "fsync",
    "fchmod",
    "chmod",
)
NEEDING_ROOM: Final = frozenset({"open", "write", "mkdir", "fsync"})
WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class FaultySystem:
    """Counts calls of `os` and breaks one of them."""

    def __init__(self, mode: str, deadly_call: int) -> None:
        self.mode = mode
        self.left = deadly_call or sys.maxsize
        self.calls = 0

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Stand between Python and the system until the block ends."""
        with ExitStack() as patches:
            for name in CHANGING:
                patches.enter_context(mock.patch.object(os, name, self._counted(name, getattr(os, name))))
            yield

    def _counted(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            if name != "open" or (len(arguments) > 1 and arguments[1] & WRITING):
                self._count(name)
            return call(*arguments, **options)

        return counted

    def _count(self, name: str) -> None:
        self.calls += 1
        self.left -= 1
        if self.left == 0 and self.mode == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.left == 0 or (self.left < 0 and name in NEEDING_ROOM):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def main() -> None:
    """Run the program on a faulty system."""
    mode, deadly_call, *arguments = sys.argv[1:]
    from kbtool.cli import main as kbtool

    system = FaultySystem(mode, int(deadly_call))
    sys.argv = ["kbtool", *arguments]
    try:
        with system.installed():
            kbtool()
    finally:
        sys.stderr.write(f"{system.calls} calls\n")


if __name__ == "__main__":
    main()
