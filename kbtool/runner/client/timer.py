"""Timers of nanosecond resolution that an epoll loop can wait for: `epoll_wait` itself rounds to milliseconds."""

import ctypes
import os
from time import monotonic_ns
from typing import Final

__all__ = ["Heartbeat", "Timer"]

_CLOCK_MONOTONIC: Final = 1
_FLAGS: Final = os.O_NONBLOCK | os.O_CLOEXEC
_ABSOLUTE: Final = 1
_NS: Final = 1_000_000_000


class _Itimerspec(ctypes.Structure):
    _fields_ = (
        ("interval_s", ctypes.c_long),
        ("interval_ns", ctypes.c_long),
        ("value_s", ctypes.c_long),
        ("value_ns", ctypes.c_long),
    )


class Timer:
    """A kernel timer behind a file descriptor; readable once it has run out.

    Python names `timerfd` from 3.13 on, so it is called through the C library.
    """

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self.fd: int = self._libc.timerfd_create(_CLOCK_MONOTONIC, _FLAGS)
        if self.fd < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create failed: raise the limit of open files")

    def arm(self, at_ns: int, every_ns: int = 0) -> None:
        """Run out at `at_ns` of the monotonic clock, at once if that has passed, and then every `every_ns`."""
        at_ns = max(1, at_ns)
        spec = _Itimerspec(every_ns // _NS, every_ns % _NS, at_ns // _NS, at_ns % _NS)
        if self._libc.timerfd_settime(self.fd, _ABSOLUTE, ctypes.byref(spec), None) < 0:
            raise OSError(ctypes.get_errno(), "timerfd_settime failed")

    def clear(self) -> None:
        """Take note that it ran out, so that it is no longer readable."""
        try:
            os.read(self.fd, 8)
        except BlockingIOError:
            return

    def close(self) -> None:
        """Give the descriptor back."""
        os.close(self.fd)


class Heartbeat:
    """A regular timer that shows how late a loop serves what comes at no particular time."""

    PERIOD_NS: Final = 20_000_000

    def __init__(self) -> None:
        self._timer = Timer()
        self._next_ns = 0
        self.late_ns: list[int] = []
        """How late each beat was served."""

    @property
    def fd(self) -> int:
        """Return the descriptor to wait for."""
        return self._timer.fd

    def start(self) -> None:
        """Begin to beat, if it does not yet."""
        if not self._next_ns:
            self._next_ns = monotonic_ns() + self.PERIOD_NS
            self._timer.arm(self._next_ns, self.PERIOD_NS)

    def beat(self) -> None:
        """Take note of a beat, and pass over those that were missed meanwhile."""
        self._timer.clear()
        late_ns = max(0, monotonic_ns() - self._next_ns)
        self.late_ns.append(late_ns)
        self._next_ns += self.PERIOD_NS * (late_ns // self.PERIOD_NS + 1)

    def close(self) -> None:
        """Give the descriptor back."""
        self._timer.close()
