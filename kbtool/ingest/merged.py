"""One record that has the keys of all records of a file: what is listed as left out is then listed once."""

from collections.abc import Sequence
from typing import Any, Final

__all__ = ["merged"]

_DEEPEST: Final = 4


def merged(records: Sequence[dict[str, Any]], depth: int = 0) -> dict[str, Any]:
    """Return a mapping with every key of the records; of equal keys the first value that is no null counts."""
    found: dict[str, Any] = {}
    for record in records:
        for key, value in record.items():
            held = found.get(key)
            if isinstance(held, dict) and isinstance(value, dict) and depth < _DEEPEST:
                if not held.keys() >= value.keys():
                    found[key] = merged([held, value], depth + 1)
            elif held is None:
                found[key] = value
    return found
