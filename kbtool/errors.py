"""Exceptions and exit codes.

The tree::

    KbtoolError
    |-- UsageError      the command or its arguments cannot be carried out (exit 2)
    `-- RecordError     a record cannot be read or is not what the caller needs (exit 1)

Raise where the fact is known; catch in `kbtool.cli`, or add context with `add_note` and let it rise.
"""

from enum import IntEnum

__all__ = ["ExitCode", "KbtoolError", "RecordError", "UsageError"]


class ExitCode(IntEnum):
    """What a finished `kbtool` process says to its caller."""

    CLEAN = 0
    FINDINGS = 1
    USAGE = 2
    BUG = 3
    STORAGE = 74
    """The disk did not take what was measured; the number is that of `sysexits.h`."""
    INTERRUPTED = 130


class KbtoolError(Exception):
    """Root of every exception that kbtool raises on purpose."""

    exit_code: ExitCode = ExitCode.FINDINGS


class UsageError(KbtoolError):
    """The command line, or the place it was run in, cannot be worked with."""

    exit_code = ExitCode.USAGE


class RecordError(KbtoolError):
    """A record is missing, unreadable or invalid, and the caller needs it."""
