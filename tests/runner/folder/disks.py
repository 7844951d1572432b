"""Disks that fail, for the tests of the run folder: at the nth call, for good when full, or by losing power."""

import errno
import os
import random
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from kbtool.runner.folder.fs import FileSystem
from tests.runner.folder.scenario import CalmDisk

__all__ = [
    "CountingDisk",
    "FailingDisk",
    "FullDisk",
    "KillingDisk",
    "LossyDisk",
    "PowerLossError",
    "ShortDisk",
]

T = TypeVar("T")


class CountingDisk(CalmDisk):
    """Counts calls; subclasses say what happens before each."""

    def __init__(self) -> None:
        self.calls = 0

    def before(self, name: str, *arguments: Any) -> None:
        """Happen before the call `name` is made."""

    def _call(self, name: str, *arguments: Any) -> Any:
        self.calls += 1
        self.before(name, *arguments)
        return getattr(CalmDisk, name)(self, *arguments)


def _counted(name: str) -> Callable[..., Any]:
    def method(self: CountingDisk, *arguments: Any) -> Any:
        return self._call(name, *arguments)

    return method


for _name in [name for name in vars(FileSystem) if not name.startswith("_")]:
    setattr(CountingDisk, _name, _counted(_name))


class FailingDisk(CountingDisk):
    """Makes one call fail, and works again afterwards."""

    def __init__(self, deadly_call: int, number: int) -> None:
        super().__init__()
        self.deadly_call = deadly_call
        self.number = number

    def before(self, name: str, *_: Any) -> None:
        """Fail, if it is the call's turn."""
        if self.calls == self.deadly_call and name != "close":
            raise OSError(self.number, os.strerror(self.number))


class FullDisk(CountingDisk):
    """Has no room from one call on, until something is removed."""

    def __init__(self, deadly_call: int) -> None:
        super().__init__()
        self.deadly_call = deadly_call
        self.freed = False

    def before(self, name: str, *arguments: Any) -> None:
        """Fail, where room is needed and there is none."""
        if self.calls < self.deadly_call or self.freed:
            return
        makes_file = name == "open" and arguments[1] & os.O_CREAT
        if makes_file or name in {"write", "make_folder", "reserve"}:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.freed = name == "remove"


class ShortDisk(FullDisk):
    """Gets full in the middle of a write: takes half of it, without an error, and then nothing more."""

    def write(self, descriptor: int, data: bytes | memoryview) -> int:
        """Write half, if it is the call's turn."""
        if self.calls + 1 == self.deadly_call:
            self.calls += 1
            return super(CountingDisk, self).write(descriptor, data[: len(data) // 2])
        return int(self._call("write", descriptor, data))


class KillingDisk(CountingDisk):
    """Kills its own process with SIGKILL at one call, in the middle of it if that is a write."""

    def __init__(self, deadly_call: int) -> None:
        super().__init__()
        self.deadly_call = deadly_call

    def before(self, name: str, *arguments: Any) -> None:
        """Die, if it is the call's turn."""
        if self.calls == self.deadly_call:
            if name == "write":
                os.write(arguments[0], arguments[1][: len(arguments[1]) // 2])
            os.kill(os.getpid(), signal.SIGKILL)


class PowerLossError(BaseException):
    """The power is gone: no program notices, so nothing of ours may catch it."""


class LossyDisk(CountingDisk):
    """Knows what was synced, and can say what may be left of a folder after a power cut.

    Of a file, what was synced is left, and any part of what was not, or zeros in its place. Names are
    what the folder's last sync made them, and any number of later changes, in order.
    """

    def __init__(self, deadly_call: int) -> None:
        super().__init__()
        self.deadly_call = deadly_call
        self._serial = 0
        self._now: dict[Path, int] = {}
        self._durable: dict[Path, int] = {}
        self._pending: list[tuple[set[Path], Callable[[dict[Path, int]], None]]] = []
        self._synced: dict[int, bytes] = {}
        self._content: dict[int, Path] = {}
        self._open: dict[int, Path] = {}

    def before(self, name: str, *_: Any) -> None:
        """Lose power, if it is the call's turn, and have none from then on; descriptors are given back all the same."""
        if self.calls >= self.deadly_call and name != "close":
            raise PowerLossError

    def open(self, path: Path, flags: int, mode: int = 0o644) -> int:
        """Open a file, and remember a new name."""
        is_new = not path.exists()
        descriptor = int(self._call("open", path, flags, mode))
        if is_new:
            self._change({path.parent}, _adding(path, self._next()))
        self._open[descriptor] = path
        return descriptor

    def make_folder(self, path: Path) -> None:
        """Make a folder, and remember its name."""
        self._call("make_folder", path)
        self._change({path.parent}, _adding(path, self._next()))

    def replace(self, source: Path, target: Path) -> None:
        """Rename, and remember both names."""
        self._call("replace", source, target)
        self._change({source.parent, target.parent}, _renaming(source, target))

    def remove(self, path: Path) -> None:
        """Remove a file, and remember that."""
        self._call("remove", path)
        self._change({path.parent}, _removing(path))

    def sync(self, descriptor: int) -> None:
        """Keep what the file or folder holds now."""
        self._call("sync", descriptor)
        path = self._open[descriptor]
        if path.is_dir():
            self._sync_names(path)
        else:
            self._synced[self._now[path]] = path.read_bytes()

    def sync_data(self, descriptor: int) -> None:
        """Keep what the file holds now."""
        self.sync(descriptor)

    def adopt(self, root: Path) -> None:
        """Take what is below a folder, and the folder, as being on the disk already."""
        for path in [root, *sorted(root.rglob("*"))]:
            _adding(path, self._next())(self._now)
            if path.is_file():
                self._synced[self._now[path]] = path.read_bytes()
        self._durable = dict(self._now)

    def leave(self, root: Path, image: Path, rng: random.Random) -> None:
        """Write what the power cut has left of `root` to the folder `image`, which is made."""
        names = dict(self._durable)
        for _, change in self._pending[: rng.randint(0, len(self._pending))]:
            change(names)
        current = {number: path for path, number in self._now.items()}
        image.mkdir()
        for path in sorted(names):
            if not path.is_relative_to(root) or (path.parent != root and path.parent not in names):
                continue
            target = image / path.relative_to(root)
            source = current.get(names[path])
            if source is not None and source.is_dir():
                target.mkdir(exist_ok=True)
            elif target != image:
                now = source.read_bytes() if source else b""
                target.write_bytes(_left_of(self._synced.get(names[path], b""), now, rng))

    def _next(self) -> int:
        self._serial += 1
        return self._serial

    def _change(self, folders: set[Path], change: Callable[[dict[Path, int]], None]) -> None:
        change(self._now)
        self._pending.append((folders, change))

    def _sync_names(self, folder: Path) -> None:
        waiting = []
        for folders, change in self._pending:
            folders.discard(folder)
            if folders:
                waiting.append((folders, change))
            else:
                change(self._durable)
        self._pending = waiting


def _left_of(synced: bytes, now: bytes, rng: random.Random) -> bytes:
    if not now.startswith(synced):
        return rng.choice((synced, now))
    rest = now[len(synced) :]
    kept = rng.randint(0, len(rest))
    zeros = rng.choice((0, 0, len(rest) - kept))
    return synced + rest[:kept] + bytes(zeros)


def _adding(path: Path, number: int) -> Callable[[dict[Path, int]], None]:
    def change(names: dict[Path, int]) -> None:
        names[path] = number

    return change


def _removing(path: Path) -> Callable[[dict[Path, int]], None]:
    def change(names: dict[Path, int]) -> None:
        names.pop(path, None)

    return change


def _renaming(source: Path, target: Path) -> Callable[[dict[Path, int]], None]:
    def change(names: dict[Path, int]) -> None:
        for path in [path for path in names if path == source or path.is_relative_to(source)]:
            names[target / path.relative_to(source)] = names.pop(path)

    return change
