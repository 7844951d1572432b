"""How large a record may be; far above any real one, and small enough to read hundreds a second."""

from typing import Final

__all__ = ["MAX_BYTES", "MAX_CHARACTERS", "MAX_DEPTH", "MAX_NODES"]

MAX_BYTES: Final = 262_144
"""Size of a file."""
MAX_DEPTH: Final = 12
"""Lists and mappings inside each other."""
MAX_NODES: Final = 20_000
"""Keys, values, lists and mappings in a file."""
MAX_CHARACTERS: Final = 32_768
"""Length of one text."""
