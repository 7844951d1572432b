"""The keeper: a small process beside each program that we start, which ends all of it when the runner is gone.

The runner may be killed at any moment, and an engine that goes on holds the accelerators for ever.  The keeper is
the engine's parent.  It learns of the runner's end from a socket and a pidfd, needs no systemd and no cgroups, and
adopts whatever the engine leaves behind (child subreaper), so that processes which left the engine's group, made
themselves daemons or forgot their environment are still found.  It cleans the log before its first byte is written.

It is told what to start by one line of JSON on the socket, so that no secret stands in its own argument list.
Lines from it: `started`, `failed`, `exited`, `gone`.  Lines to it: `stop`.  It imports the standard library only.
"""

import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kbtool.runner.target import procfs
from kbtool.runner.target.boundedlog import BoundedLog
from kbtool.runner.target.procfs import ProcessId
from kbtool.runner.target.secrets import Secrets

__all__ = ["end_all", "main"]

PR_SET_PDEATHSIG: Final = 1
PR_SET_CHILD_SUBREAPER: Final = 36
POLL_MS: Final = 50
"""Between two looks at what is left, while something is being ended."""
ORPHAN_GRACE_S: Final = 3.0
"""Patience with a program whose runner is gone: less than a user's, as nobody watches any more."""
KILL_S: Final = 5.0
"""How long killing is repeated; what lives on hangs in the kernel."""
HELPER_S: Final = 60.0
"""Longest a container runtime may take to answer."""


@dataclass(frozen=True, slots=True)
class _Order:
    """What to start."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    folder: str
    log: Path
    log_bytes: int
    secrets: Secrets
    marker: str
    runner: int
    runtime: str | None
    """Program of the container runtime, where the arguments start a container."""
    container_label: str | None
    """Label that this one start alone carries."""
    many_files: bool
    """Whether to allow as many open files as the system does: a router holds two for each stream."""

    @classmethod
    def read(cls, line: bytes) -> "_Order":
        data: dict[str, Any] = json.loads(line)
        return cls(
            tuple(data["arguments"]),
            data["environment"],
            data["folder"],
            Path(data["log"]),
            data["log_bytes"],
            Secrets.of(data["secrets"]),
            data["marker"],
            data["runner"],
            data["runtime"],
            data["container_label"],
            data["many_files"],
        )


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl failed")


def _dies_with(parent: int, *, many_files: bool) -> Callable[[], None]:
    """Return what the child does before it becomes the program: die by the kernel's hand with its parent."""
    libc = ctypes.CDLL(None, use_errno=True)

    def prepare() -> None:
        if many_files:
            most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        if os.getppid() != parent:
            os._exit(127)

    return prepare


def _ours(marker: str) -> tuple[ProcessId, ...]:
    """Return what lives of what we started: our descendants, and all that carry our marker."""
    me = os.getpid()
    return tuple(sorted({*procfs.descendants(me), *procfs.marked(marker, apart_from=(me,))}))


def _reap(apart_from: Collection[int]) -> None:
    """Take note of adopted children that ended, but not of those whose exit code is wanted."""
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
            if ended.si_pid in apart_from:
                return
            os.waitpid(ended.si_pid, os.WNOHANG)


def end_all(
    find: Callable[[], Sequence[ProcessId]],
    *,
    ask: Callable[[], None],
    grace_s: float,
    wait: Callable[[int], None],
    now_s: Callable[[], float] = time.monotonic,
) -> tuple[list[ProcessId], list[ProcessId]]:
    """Ask what is ours to end, and kill what is left after the grace.

    Args:
        find: Returns what lives of ours.
        ask: Asks it to end.
        grace_s: Time to end by itself, seconds.
        wait: Lets so many ms pass, or less where something happens.
        now_s: Clock.

    Returns:
        What had to be killed, and what could not be.
    """
    if not find():
        return [], []
    ask()
    until_s = now_s() + grace_s
    while find() and now_s() < until_s:
        wait(POLL_MS)
    killed: set[ProcessId] = set()
    until_s = now_s() + KILL_S
    # Again until none is found: one may have been born between the look and the blow.
    while (left := list(find())) and now_s() < until_s:
        for each in left:
            killed.update([each] if procfs.send(each, signal.SIGKILL) else [])
        wait(POLL_MS)
    return sorted(killed), left


class _Keeper:
    """The loop: what the program prints, what the runner says, and who has ended."""

    def __init__(self, control: socket.socket, order: _Order) -> None:
        self._control = control
        self._order = order
        self._log = BoundedLog(order.log, order.secrets, order.log_bytes)
        self._poll = select.poll()
        self._runner_gone = False
        self._stop_s: float | None = None
        self._received = b""
        self._exit: int | None = None
        self._child: subprocess.Popen[bytes] | None = None
        self._helper_pid = -1
        self._output = -1
        self._runner_handle = -1

    def run(self) -> None:
        """Start the program, keep it, and end it with all that it started."""
        self._watch_runner()
        if not self._start():
            return
        while self._stop_s is None:
            self._turn(timeout_ms=None)
        self._end(self._stop_s)

    # --- starting ----------------------------------------------------------------------------

    def _watch_runner(self) -> None:
        wakeup_read, wakeup_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._wakeup = wakeup_read
        signal.set_wakeup_fd(wakeup_write, warn_on_full_buffer=False)
        # Handlers, as a child would inherit signals that are ignored.
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE):
            signal.signal(number, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: self._ask_stop(ORPHAN_GRACE_S))
        self._poll.register(wakeup_read, select.POLLIN)
        self._poll.register(self._control.fileno(), select.POLLIN)
        try:
            self._runner_handle = os.pidfd_open(self._order.runner)
            self._poll.register(self._runner_handle, select.POLLIN)
        except ProcessLookupError:
            self._lose_runner()

    def _start(self) -> bool:
        order = self._order
        output, inner = os.pipe2(os.O_CLOEXEC)
        try:
            self._child = subprocess.Popen(
                order.arguments,
                stdin=subprocess.DEVNULL,
                stdout=inner,
                stderr=inner,
                env=dict(order.environment),
                cwd=order.folder,
                start_new_session=True,
                preexec_fn=_dies_with(os.getpid(), many_files=order.many_files),  # noqa: PLW1509 - this process has one thread
            )
        except (OSError, subprocess.SubprocessError) as error:
            self._tell({"failed": order.secrets.redact(str(error))})
            return False
        finally:
            os.close(inner)
        os.set_blocking(output, False)
        self._output = output
        self._poll.register(output, select.POLLIN)
        who = procfs.read_stat(self._child.pid)
        assert who is not None
        self._tell({"started": [who.id.pid, who.id.start_ticks]})
        return True

    # --- keeping -----------------------------------------------------------------------------

    def _turn(self, *, timeout_ms: int | None) -> None:
        for handle, _ in self._poll.poll(timeout_ms):
            if handle == self._wakeup:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._wakeup, 4096)
            elif handle == self._output:
                self._read_output()
            elif handle == self._runner_handle:
                self._lose_runner()
            elif handle == self._control.fileno():
                self._read_control()
        self._note_exit()

    def _read_output(self) -> None:
        try:
            data = os.read(self._output, 1 << 16)
        except BlockingIOError:
            return
        if data:
            self._log.feed(data)
        else:
            self._poll.unregister(self._output)
            os.close(self._output)
            self._output = -1

    def _read_control(self) -> None:
        try:
            data = self._control.recv(4096)
        except BlockingIOError:
            return
        except ConnectionError:
            data = b""
        if not data:
            self._poll.unregister(self._control.fileno())
            self._lose_runner()
            return
        self._received += data
        *lines, self._received = self._received.split(b"\n")
        for line in lines:
            self._ask_stop(float(json.loads(line)["stop"]))

    def _lose_runner(self) -> None:
        self._runner_gone = True
        if self._runner_handle >= 0:
            with contextlib.suppress(KeyError):
                self._poll.unregister(self._runner_handle)
        self._ask_stop(ORPHAN_GRACE_S)

    def _ask_stop(self, grace_s: float) -> None:
        self._stop_s = grace_s if self._stop_s is None else min(self._stop_s, grace_s)

    def _note_exit(self) -> None:
        if self._child is None:
            return
        _reap((self._child.pid, self._helper_pid))
        if self._exit is not None:
            return
        code = self._child.poll()
        if code is None:
            return
        self._exit = code
        while self._output >= 0 and select.select([self._output], [], [], 0)[0]:
            self._read_output()
        self._tell({"exited": code, "tail": self._log.tail(), "log_lost": self._log.lost})

    # --- ending ------------------------------------------------------------------------------

    def _end(self, grace_s: float) -> None:
        order = self._order
        if order.runtime is not None and order.container_label is not None:
            self._end_containers(order.runtime, order.container_label, grace_s)
        killed, left = end_all(
            lambda: _ours(order.marker),
            ask=self._ask_group,
            grace_s=grace_s,
            wait=lambda ms: self._turn(timeout_ms=ms),
        )
        if order.runtime is not None and order.container_label is not None:
            # One that the runtime was still creating while its client was killed.
            self._end_containers(order.runtime, order.container_label, 1.0)
        while self._output >= 0 and select.select([self._output], [], [], 0)[0]:
            self._read_output()
        self._log.close()
        self._tell(
            {
                "gone": True,
                "killed": [[each.pid, each.start_ticks] for each in killed],
                "left": [[each.pid, each.start_ticks] for each in left],
                "code": self._exit,
                "log_lost": self._log.lost,
            }
        )

    def _ask_group(self) -> None:
        assert self._child is not None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._child.pid, signal.SIGTERM)
        for each in _ours(self._order.marker):
            stat = procfs.read_stat(each.pid)
            if stat is not None and stat.group != self._child.pid:
                procfs.send(each, signal.SIGTERM)

    def _end_containers(self, runtime: str, label: str, grace_s: float) -> None:
        """Stop and remove the containers that carry the label of this start: by id, never by name."""
        listed = self._helper([runtime, "ps", "--all", "--quiet", "--no-trunc", "--filter", f"label={label}"])
        for container in listed.split():
            if len(container) == 64 and set(container) <= set("0123456789abcdef"):
                self._helper([runtime, "stop", "--time", str(max(1, round(grace_s))), container], grace_s)
                self._helper([runtime, "rm", "--force", "--volumes", container])

    def _helper(self, arguments: list[str], extra_s: float = 0.0) -> str:
        """Run the container runtime, reading on what the program prints; what fails shows in what is left."""
        helper = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(self._order.environment),
        )
        self._helper_pid = helper.pid
        until_s = time.monotonic() + HELPER_S + extra_s
        while helper.poll() is None:
            if time.monotonic() > until_s:
                helper.kill()
            self._turn(timeout_ms=POLL_MS)
        out, err = helper.communicate()
        if helper.returncode != 0:
            self._log.feed(f"kbtool: {' '.join(arguments[:2])}: ".encode() + err[:1000] + b"\n")
        return out.decode("utf-8", "replace")

    def _tell(self, message: Mapping[str, object]) -> None:
        # A runner that is gone hears nothing, and the work goes on.
        with contextlib.suppress(OSError):
            self._control.sendall(json.dumps(message).encode() + b"\n")


def main(arguments: Sequence[str] = tuple(sys.argv[1:])) -> None:
    """Keep one program; the first argument is the number of the socket's file descriptor."""
    control = socket.socket(fileno=int(arguments[0]))
    control.set_inheritable(False)
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    line = b""
    while not line.endswith(b"\n"):
        data = control.recv(1 << 16)
        if not data:
            return
        line += data
    order = _Order.read(line)
    os.umask(0o077)
    _Keeper(control, order).run()
