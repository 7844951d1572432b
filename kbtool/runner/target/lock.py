"""One run at a time: a lock for each accelerator and each server, which the kernel frees when its holder dies."""

import fcntl
import os
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from kbtool.runner.plan.target import Target
from kbtool.runner.target.attach import endpoint_of
from kbtool.runner.target.errors import BoxBusyError
from kbtool.runner.target.owner import Owner

__all__ = ["BoxLock", "lock_names"]

_MAX_BYTES: Final = 400


def lock_names(target: Target) -> tuple[tuple[str, bool], ...]:
    """Return what a target needs: name, and whether it needs it alone.

    Engines on chosen accelerators share the box with others; an engine that may use all needs all of it.
    """
    if target.launch is None:
        servers = [endpoint_of(each) for each in target.endpoints]
        return tuple(sorted((f"server-{each.host.replace(':', '_')}-{each.port}", True) for each in servers))
    chosen = [index for each in target.launch.instances for index in each.accelerators]
    if not all(each.accelerators for each in target.launch.instances):
        return (("box", True),)
    return (("box", False), *((f"accelerator-{index}", True) for index in sorted(set(chosen))))


class BoxLock:
    """Holds locks from `with` to its end. A second run is refused at once, and told who holds them."""

    def __init__(self, names: tuple[tuple[str, bool], ...], run_id: str, folder: Path | None = None) -> None:
        self._names = names
        self._run_id = run_id
        self._folder = folder if folder is not None else Path(tempfile.gettempdir())
        self._held: list[int] = []

    def __enter__(self) -> Self:
        try:
            for name, alone in self._names:
                self._take(name, alone=alone)
        except BaseException:
            self._free()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._free()

    def _take(self, name: str, *, alone: bool) -> None:
        path = self._folder / f"kbtool-{name}.lock"
        handle = _open(path)
        try:
            fcntl.flock(handle, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(handle, _MAX_BYTES, 0).decode("utf-8", "replace").strip()
            os.close(handle)
            raise BoxBusyError(
                f"{name} is in use by {holder[:200]!a}; expected to be alone, as two runs slow each other down: "
                "wait for it, or end it"
            ) from None
        except BaseException:
            os.close(handle)
            raise
        self._held.append(handle)
        if os.access(path, os.W_OK):
            note = f"run {self._run_id}, pid {Owner.of_this_process().process.pid}\n".encode()[:_MAX_BYTES]
            _write_note(path, note)

    def _free(self) -> None:
        # The files stay: removing one would let two runs lock two files of one name.
        for handle in reversed(self._held):
            os.close(handle)
        self._held.clear()


def _open(path: Path) -> int:
    """Open a lock file, which another user may have made; never through a link."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(path, flags)
    except FileNotFoundError:
        return os.open(path, flags | os.O_CREAT, 0o644)


def _write_note(path: Path, note: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, note, 0)
    finally:
        os.close(handle)
