"""What decides which request is sent when."""

from collections.abc import Iterable
from typing import Protocol

from kbtool.runner.client.outgoing import Send
from kbtool.runner.client.recorded import Recorded

__all__ = ["Driver"]


class Driver(Protocol):
    """Decides what is sent and when; called in the thread of the loop, so what it computes delays the loop.

    Each request given before the end of sending comes back in the exchange exactly once.
    """

    def begin(self, now_ns: int) -> Iterable[Send]:
        """Return the first requests; those due at once leave together, when all their connections are open."""
        ...

    def ended(self, recorded: Recorded, now_ns: int) -> Iterable[Send]:
        """Take note of a request's end, and return what follows from it.

        It is told of every request that was sent or could not be connected, and not of those that were never
        tried because sending ended.  What it returns after the end of sending is not taken.
        """
        ...

    def stop(self, now_ns: int) -> bool:
        """Return whether nothing more is to be sent; what is in flight then comes to its end."""
        ...
