"""The error of the measuring client on this host, found against a server whose true send times are known.

::

    run        levels and checks        compare    traces against truth, pure
    drive      one script, both sides   checks     hostile streams and their right reading
    model      what was found, as a file    verdict    what it comes to, in a sentence
"""

from kbtool.runner.calibrate.model import (
    Calibration,
    Check,
    Host,
    LevelError,
    read_calibration,
    write_calibration,
)
from kbtool.runner.calibrate.run import DEFAULT_STREAMS, calibrate
from kbtool.runner.calibrate.verdict import verdict

__all__ = [
    "DEFAULT_STREAMS",
    "Calibration",
    "Check",
    "Host",
    "LevelError",
    "calibrate",
    "read_calibration",
    "verdict",
    "write_calibration",
]
