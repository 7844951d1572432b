"""What can go wrong with a server before anything is measured.

The tree::

    TargetError                what is to be measured cannot be started, reached or trusted
    |-- PortTakenError         something listens on the port already
    |-- StartError             the program, container or router cannot be started
    |-- EngineDiedError        it ended before it answered
    |-- NotReadyError          no token within the deadline
    |-- NotOursError           another server answers than the one that was started
    `-- LeftRunningError       something of ours could not be ended
"""

from kbtool.errors import KbtoolError

__all__ = [
    "EngineDiedError",
    "LeftRunningError",
    "NotOursError",
    "NotReadyError",
    "PortTakenError",
    "StartError",
    "TargetError",
]


class TargetError(KbtoolError):
    """What is to be measured cannot be started, reached or trusted."""


class PortTakenError(TargetError):
    """Something listens on the port already: its answers would be taken for the engine's."""


class StartError(TargetError):
    """The program, container or router cannot be started."""


class EngineDiedError(TargetError):
    """It ended before it answered; the message has the end of its log."""


class NotReadyError(TargetError):
    """No token came within the deadline."""


class NotOursError(TargetError):
    """Another server answers than the one that was started."""


class LeftRunningError(TargetError):
    """Something of ours could not be ended: it hangs in the kernel, or belongs to another user."""
