"""Several runs at once: their sessions alternate, A B B A, so that a drift of the machine weighs on all alike."""

from collections.abc import Sequence

from kbtool.runner.session.run import Session

__all__ = ["run_alternating"]


def run_alternating(sessions: Sequence[Session]) -> bool:
    """Carry out runs; return whether all are complete.

    One run is carried out as it is. Of several, session 0 of each is measured, then session 1 of each in reverse
    order, and so on; servers are ended in between, so that they may share accelerators and ports.
    """
    if len(sessions) == 1:
        return sessions[0].run()
    numbers = sorted({visit.session for each in sessions for visit in each.visits})
    try:
        for number in numbers:
            order = sessions if number % 2 == 0 else tuple(reversed(sessions))
            for each in order:
                if not each.run_session(number):
                    return False
        for each in sessions:
            each.finish()
        return True
    finally:
        for each in sessions:
            each.close()
