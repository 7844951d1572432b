"""What a version text says of the commit behind it."""

import re
from typing import Final

__all__ = ["commit_of", "is_development"]

_COMMIT: Final = re.compile(r"\+(?:[A-Za-z0-9]+\.)*g([0-9a-f]{7,40})(?:\.|$)")


def commit_of(version: str | None) -> str | None:
    """Return the abbreviated commit of a development version, such as `0.32.1.dev5+g0a1b2c3d4`."""
    found = _COMMIT.search(version or "")
    return found.group(1) if found else None


def is_development(version: str) -> bool:
    """Return whether a version is of a build between releases."""
    return ".dev" in version or "+g" in version
