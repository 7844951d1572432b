"""What answers have in common with their prompts and with one another, in words."""

import re
from collections.abc import Sequence
from typing import Final

__all__ = ["beginning_words", "distinct_ratio", "echo_ratio", "shared_ratio", "words"]

_WORD: Final = re.compile(r"\w+|[^\w\s]")
_SHINGLE: Final = 8
"""Words of a passage: two texts share one by chance hardly ever."""


def words(text: str) -> list[str]:
    """Return the words and signs of a text, in lower case."""
    return _WORD.findall(text.lower())


def beginning_words(one: str, other: str) -> int:
    """Return how many words two texts have in common at their beginning."""
    alike = 0
    for a, b in zip(words(one), words(other), strict=False):
        if a != b:
            break
        alike += 1
    return alike


def distinct_ratio(found: Sequence[str], sample: int) -> float:
    """Return the share of distinct words among the first ones; 1 for no word at all."""
    first = found[:sample]
    return len(set(first)) / len(first) if first else 1.0


def echo_ratio(prompt: str, answer: str) -> float:
    """Return the share of the answer's passages of eight words that stand in the prompt; 0 for short answers."""
    passages = _shingles(words(answer))
    if not passages:
        return 0.0
    known = set(_shingles(words(prompt)))
    return sum([each in known for each in passages]) / len(passages)


def shared_ratio(prompt: str, answer: str) -> float:
    """Return the share of the answer's words that the prompt has too; signs and digits are left out."""
    found = [word for word in words(answer) if word.isalpha()]
    if not found:
        return 0.0
    known = set(words(prompt))
    return sum([word in known for word in found]) / len(found)


def _shingles(found: Sequence[str]) -> list[tuple[str, ...]]:
    return [tuple(found[at : at + _SHINGLE]) for at in range(len(found) - _SHINGLE + 1)]
