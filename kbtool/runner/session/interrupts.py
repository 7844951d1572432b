"""What the operator wants while a run goes on: the first signal asks for an orderly end, the second for one at once."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from kbtool.runner.client.recorded import Interrupt

__all__ = ["Interrupts", "StoppedError", "listening"]

ORDERLY: Final = 2
"""Signals that ask for an orderly end; any further one breaks off."""
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StoppedError(Exception):
    """The operator asked for an end; what is in flight has ended, the cell is not complete."""


class Interrupts:
    """Counts what was asked for. Called by the client, it says what to do now."""

    def __init__(self) -> None:
        self._asked = 0
        self._name = ""

    def __call__(self) -> Interrupt | None:
        """Return what the operator wants; None to go on."""
        if self._asked == 0:
            return None
        return Interrupt.DRAIN if self._asked == 1 else Interrupt.NOW

    @property
    def asked(self) -> int:
        """How often an end was asked for."""
        return self._asked

    @property
    def name(self) -> str:
        """Name of the first signal, such as `SIGINT`; empty where none came."""
        return self._name

    def ask(self, name: str) -> None:
        """Take note of a signal."""
        self._asked += 1
        self._name = self._name or name


@contextmanager
def listening() -> Iterator[Interrupts]:
    """Take SIGINT, SIGTERM and SIGHUP for what they ask, until the block ends; main thread alone.

    A signal between two calls is kept and acted on at the next one, so that no file is left half-written and no server
    unattended. The third raises: whatever then hangs is left as a crash would leave it, which every part is made for.
    """
    interrupts = Interrupts()

    def note(number: int, _frame: FrameType | None) -> None:
        interrupts.ask(signal.Signals(number).name)
        if interrupts.asked > ORDERLY:
            raise KeyboardInterrupt

    before = {each: signal.signal(each, note) for each in _SIGNALS}
    try:
        yield interrupts
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
