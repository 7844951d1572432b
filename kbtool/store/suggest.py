"""The valid name that was probably meant: nearest by Damerau-Levenshtein distance."""

from collections.abc import Iterable
from typing import Final

__all__ = ["nearest"]

_LONGEST_WORD: Final = 200


def nearest(word: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate that is nearest to `word`, or None where none is near.

    Upper and lower case count as equal. At most a third of the letters may differ, and one even in
    the shortest word. Of equally near candidates the one that shares the longest prefix wins, then
    the first in the alphabet, so that the answer depends on nothing but the names.
    """
    if not word or len(word) > _LONGEST_WORD:
        return None
    from rapidfuzz import process
    from rapidfuzz.distance import DamerauLevenshtein

    folded = word.casefold()
    by_folded: dict[str, str] = {}
    for candidate in sorted(candidates, reverse=True):  # the first in the alphabet is kept
        by_folded[candidate.casefold()] = candidate
    names = list(by_folded)
    most = min(max(1, len(folded) // 3), len(folded) - 1)
    best = process.extractOne(folded, names, scorer=DamerauLevenshtein.distance, score_cutoff=most)
    if best is None:
        return None
    equally_near = process.extract(
        folded, names, scorer=DamerauLevenshtein.distance, score_cutoff=best[1], limit=None
    )
    return by_folded[min((-_shared_prefix(folded, name), name) for name, _, _ in equally_near)[1]]


def _shared_prefix(one: str, other: str) -> int:
    """Return how many characters two words share at their start."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))
