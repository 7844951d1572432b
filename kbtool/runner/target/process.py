"""Programs that we start, each under a keeper of its own, and the certainty that they end with us."""

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from kbtool.runner.target import procfs
from kbtool.runner.target.boundedlog import read_tail
from kbtool.runner.target.errors import LeftRunningError, StartError
from kbtool.runner.target.keeper import KILL_S, end_all
from kbtool.runner.target.procfs import ProcessId
from kbtool.runner.target.secrets import Secrets

__all__ = ["Ended", "Exit", "Kept", "StartOrder", "readable"]

LOG_BYTES: Final = 64 * 1024 * 1024
START_S: Final = 30.0
"""Longest until the keeper says that the program was started, or why not."""
_BOOT: Final = (
    "import sys; sys.path.append(sys.argv[2]); from kbtool.runner.target.keeper import main; main()"
)
_ROOT: Final = Path(__file__).resolve().parents[3]


@dataclass(frozen=True, slots=True)
class StartOrder:
    """What to start."""

    name: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)
    log: Path
    marker: str
    """Value of `KBTOOL_RUN`, different for each start."""
    secrets: Secrets = field(default_factory=Secrets)
    folder: Path = Path("/")
    log_bytes: int = LOG_BYTES
    runtime: str | None = None
    """Container runtime, where the arguments start a container."""
    container_label: str | None = None
    many_files: bool = False
    """Whether to allow as many open files as the system does."""


@dataclass(frozen=True, slots=True)
class Exit:
    """How a program ended."""

    code: int
    """As `subprocess` has it: negative is the number of a signal."""
    log_tail: str

    @property
    def text(self) -> str:
        """The way it ended, in words."""
        if self.code < 0:
            return f"was ended by {signal.Signals(-self.code).name}"
        named = {137: " (killed, often for want of memory)", 143: " (asked to end)"}
        return f"ended with exit code {self.code}{named.get(self.code, '')}"


@dataclass(frozen=True, slots=True)
class Ended:
    """What ending a program took."""

    killed: tuple[ProcessId, ...]
    """Those that did not end when asked."""
    exit_code: int | None
    """Exit code of the program, where it ended before it was stopped."""
    keeper_died: bool = False


class Kept:
    """A program that runs under its keeper. Use `start`; always `stop`, whatever happened."""

    def __init__(self, order: StartOrder, control: socket.socket, keeper: subprocess.Popen[bytes]) -> None:
        self._order = order
        self._control = control
        self._keeper = keeper
        self._received = b""
        self._messages: list[dict[str, Any]] = []
        self._closed = False
        self._asked = False
        self._ended: Ended | None = None
        self._id: ProcessId | None = None
        self._exit: Exit | None = None
        self.log_lost: str | None = None
        """Why the log is not complete, such as a full disk."""

    @classmethod
    def start(cls, order: StartOrder) -> Self:
        """Start a program.

        Raises:
            StartError: It cannot be started.
        """
        ours, theirs = socket.socketpair()
        try:
            keeper = _start_keeper(order, theirs)
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        kept = cls(order, ours, keeper)
        try:
            kept._hand_over()
        except BaseException:
            kept.stop(0.0)
            raise
        return kept

    @property
    def name(self) -> str:
        """What the plan calls it."""
        return self._order.name

    @property
    def marker(self) -> str:
        """What marks all of its processes."""
        return self._order.marker

    @property
    def log(self) -> Path:
        """Where its output goes, without secrets."""
        return self._order.log

    @property
    def arguments(self) -> tuple[str, ...]:
        """The argument list that was given."""
        return self._order.arguments

    @property
    def id(self) -> ProcessId:
        """The program's own process."""
        assert self._id is not None
        return self._id

    @property
    def keeper_pid(self) -> int:
        """Pid of the keeper."""
        return self._keeper.pid

    def processes(self) -> tuple[ProcessId, ...]:
        """Return what lives of the program: itself, its descendants, and whatever carries its marker."""
        found = {
            *procfs.descendants(self._keeper.pid),
            *procfs.marked(self.marker, apart_from=(os.getpid(),)),
        }
        return tuple(sorted(found))

    @property
    def keeper_is_gone(self) -> bool:
        """Whether the keeper ended before it was told to: it was killed."""
        return self._closed and self._ended is None

    def exit(self) -> Exit | None:
        """Return how the program ended; None while it runs."""
        self._read(0.0)
        for message in [each for each in self._messages if "exited" in each]:
            self._messages.remove(message)
            self._exit = Exit(message["exited"], message["tail"])
            self.log_lost = message["log_lost"]
        if self._exit is None and self._closed:
            # The keeper was killed, and the kernel killed the program with it.
            self._exit = Exit(-signal.SIGKILL, self.log_tail())
        return self._exit

    def wait(self, timeout_s: float) -> Exit | None:
        """Wait until the program has ended, but no longer than this; return how it ended."""
        until_s = time.monotonic() + timeout_s
        while (found := self.exit()) is None and (left_s := until_s - time.monotonic()) > 0:
            self._read(left_s)
        return found

    def log_tail(self) -> str:
        """Return the last of its output, without secrets."""
        return read_tail(self.log)

    def handle(self) -> int | None:
        """Return a file descriptor that becomes readable when the keeper has something to say."""
        return None if self._closed or self._messages else self._control.fileno()

    def begin_stop(self, grace_s: float) -> None:
        """Ask the program to end without waiting for it, so that several end at once. `stop` must follow."""
        if not self._asked and not self._closed:
            self._asked = True
            with contextlib.suppress(OSError):
                self._control.sendall(json.dumps({"stop": grace_s}).encode() + b"\n")

    def stop(self, grace_s: float) -> Ended:
        """End the program and all that it started: asked first, killed after the grace. Safe to call twice.

        Raises:
            LeftRunningError: Something cannot be ended.
        """
        if self._ended is not None:
            return self._ended
        try:
            gone = self._ask_to_end(grace_s)
        finally:
            # Should we be interrupted here, the closed socket tells the keeper to go on alone.
            self._control.close()
            self._closed = True
        killed: set[ProcessId] = set()
        if gone is not None:
            killed = {ProcessId(*each) for each in gone["killed"]}
            self.log_lost = gone["log_lost"]
        self._keeper.wait()
        swept, left = _sweep(self.marker, 0.0 if gone is not None else grace_s)
        self._drop_empty_keeper_log()
        code = gone["code"] if gone is not None else None
        self._ended = Ended(tuple(sorted({*killed, *swept})), code, keeper_died=gone is None)
        if left:
            raise LeftRunningError(
                f"{self.name}: {', '.join(f'pid {each.pid}' for each in left)} cannot be ended; expected none of "
                "the run's processes to be left: it hangs in the kernel or in the driver, so restart the machine"
            )
        return self._ended

    # --- the keeper --------------------------------------------------------------------------

    def _hand_over(self) -> None:
        order = self._order
        line = {
            "arguments": order.arguments,
            "environment": {**order.environment, procfs.MARKER: order.marker},
            "folder": str(order.folder),
            "log": str(order.log),
            "log_bytes": order.log_bytes,
            "secrets": dict(zip(order.secrets.names, order.secrets.values, strict=True)),
            "marker": order.marker,
            "runner": os.getpid(),
            "runtime": order.runtime,
            "container_label": order.container_label,
            "many_files": order.many_files,
        }
        self._control.sendall(json.dumps(line).encode() + b"\n")
        until_s = time.monotonic() + START_S
        while not self._messages and not self._closed and (left_s := until_s - time.monotonic()) > 0:
            self._read(left_s)
        answer = self._messages.pop(0) if self._messages else {"failed": "its keeper does not answer"}
        if "started" not in answer:
            raise StartError(
                f"{order.name}: {order.secrets.redact(order.arguments[0])} cannot be started "
                f"({answer['failed']}): correct the program's path in the plan, or install it"
            )
        self._id = ProcessId(*answer["started"])

    def _read(self, timeout_s: float) -> None:
        """Take what the keeper says, waiting for it no longer than this."""
        if self._closed or not readable([self._control.fileno()], timeout_s):
            return
        try:
            data = self._control.recv(1 << 16)
        except ConnectionError:
            data = b""
        if not data:
            self._closed = True
            return
        self._received += data
        *lines, self._received = self._received.split(b"\n")
        self._messages += [json.loads(each) for each in lines]

    def _ask_to_end(self, grace_s: float) -> dict[str, Any] | None:
        """Return what the keeper says when all is gone; None where the keeper itself is gone."""
        self.begin_stop(grace_s)
        # A container takes the grace as well, and its runtime takes its time.
        until_s = time.monotonic() + 2 * grace_s + KILL_S + (300.0 if self._order.runtime else 10.0)
        while not self._closed and (left_s := until_s - time.monotonic()) > 0:
            self._read(left_s)
            gone = next((message for message in self._messages if "gone" in message), None)
            if gone is not None:
                return gone
        if not self._closed:
            self._keeper.kill()
        return None

    def _drop_empty_keeper_log(self) -> None:
        path = _keeper_log(self._order)
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_size == 0:
                path.unlink()


def readable(handles: Iterable[int], timeout_s: float) -> bool:
    """Wait until one of these file descriptors can be read, but no longer than this; return whether one can."""
    # Not `select`, which refuses numbers from 1024 on: a client with many streams has those.
    poll = select.poll()
    for handle in handles:
        poll.register(handle, select.POLLIN)
    return bool(poll.poll(max(0, round(timeout_s * 1000))))


def _keeper_log(order: StartOrder) -> Path:
    return order.log.with_suffix(".keeper.log")


def _start_keeper(order: StartOrder, control: socket.socket) -> subprocess.Popen[bytes]:
    with _keeper_log(order).open("wb") as errors:
        return subprocess.Popen(
            [sys.executable, "-I", "-c", _BOOT, str(control.fileno()), str(_ROOT)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            pass_fds=[control.fileno()],
            # Ctrl-C in the terminal is for the runner, which ends its engines in order.
            start_new_session=True,
            cwd="/",
            env={"LANG": "C.UTF-8"},
        )


def _sweep(marker: str, grace_s: float) -> tuple[Sequence[ProcessId], Sequence[ProcessId]]:
    """End what carries the marker and outlived its keeper; return what was killed and what is left."""

    def find() -> tuple[ProcessId, ...]:
        return procfs.marked(marker, apart_from=(os.getpid(),))

    def ask() -> None:
        for each in find():
            procfs.send(each, signal.SIGTERM)

    return end_all(find, ask=ask, grace_s=grace_s, wait=lambda ms: time.sleep(ms / 1000))
