"""Rules over records: what is wrong, where, and what to do.

Names are resolved on first use, so that a run in which nothing changed imports neither rules nor models.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kbtool.lint.engine import check, run
    from kbtool.lint.fix import fix_files
    from kbtool.lint.outcome import Report

__all__ = ["Report", "check", "fix_files", "run"]

_HOMES = {
    "Report": "kbtool.lint.outcome",
    "check": "kbtool.lint.engine",
    "fix_files": "kbtool.lint.fix",
    "run": "kbtool.lint.engine",
}


def __getattr__(name: str) -> object:
    """Import a public name from its home on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'kbtool.lint' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
