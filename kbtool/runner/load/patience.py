"""What a driver does about failures: wait a little longer each time, and give up in the end.

A closed loop sends the next request when the last one ends.  Against a server that refuses at once it would send
thousands a second, and fill the round with failures of its own making.
"""

from typing import Final

from kbtool.runner.client.recorded import Recorded

__all__ = ["Patience", "went_wrong"]

_FIRST_PAUSE_NS: Final = 100_000_000
_LONGEST_PAUSE_NS: Final = 5_000_000_000
_LEAST_FAILURES: Final = 8


def went_wrong(recorded: Recorded) -> bool:
    """Return whether a request failed as far as its status shows; the full verdict comes with parsing."""
    return recorded.failure is not None or recorded.raw[9:12] != b"200"


class Patience:
    """Counts failures in a row, for each user and all together."""

    def __init__(self, users: int) -> None:
        """Start with none. As many failures in a row as two for each user, and at least 8, are too many."""
        self._limit = max(_LEAST_FAILURES, 2 * users)
        self._in_row = 0
        self._of_user: dict[int, int] = {}

    @property
    def gone(self) -> bool:
        """Return whether to give up: nothing has worked for too long."""
        return self._in_row >= self._limit

    def pause_ns(self, recorded: Recorded) -> int:
        """Take note of how a request ended, and return how long its user is to wait before the next."""
        user = recorded.outgoing.stream
        if not went_wrong(recorded):
            self._in_row = 0
            self._of_user.pop(user, None)
            return 0
        self._in_row += 1
        in_row = self._of_user[user] = self._of_user.get(user, 0) + 1
        return min(_LONGEST_PAUSE_NS, _FIRST_PAUSE_NS << min(in_row - 1, 10))
