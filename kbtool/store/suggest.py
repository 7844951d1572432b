"""The valid name that was probably meant: nearest by Damerau-Levenshtein distance, or with more or fewer words."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

__all__ = ["nearest", "nearest_reference"]

_LONGEST_WORD: Final = 200
_MOST_EXTENSIONS: Final = 3
"""Of more names that go on where a word ends, nobody knows which was meant."""
_SHORTEST_STEM: Final = 4
"""Letters that two words have in common at least, where one goes on inside a word of the other."""
_SEPARATOR: Final = re.compile(r"[-_./ ]")


def nearest(word: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate that is nearest to `word`, or None where none is near.

    Upper and lower case count as equal. A candidate with one letter of difference wins; then one that has more or
    fewer words at its end (`same_run` for `same_run_as`); then the one with the fewest letters of difference, which
    may be at most a third. Of equally near candidates the one that shares the longest prefix wins, then the first in
    the alphabet, so that the answer depends on nothing but the names.
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
    if best is None or best[1] > 1:
        longer = _longer_or_shorter(folded, names)
        if longer is not None:
            return by_folded[longer]
    if best is None:
        return None
    equally_near = process.extract(
        folded, names, scorer=DamerauLevenshtein.distance, score_cutoff=best[1], limit=None
    )
    return by_folded[min((-_shared_prefix(folded, name), name) for name, _, _ in equally_near)[1]]


def nearest_reference(ref: str, refs: Iterable[str]) -> str | None:
    """Return the reference of the same folder whose id is nearest; of any folder where `ref` is an id alone."""
    folder, slash, name = ref.rpartition("/")
    ids: dict[str, str] = {}
    for each in refs:
        other, _, other_name = each.rpartition("/")
        if other == folder or not slash:
            ids.setdefault(other_name, each)
    found = nearest(name, ids)
    return ids[found] if found else None


def _longer_or_shorter(word: str, names: Sequence[str]) -> str | None:
    """Return the name that only has more or fewer words, or parts of a word, at its end."""
    longer = [name for name in names if name.startswith(word)]
    whole = [name for name in longer if _SEPARATOR.match(name, len(word))]
    if 0 < len(whole) <= _MOST_EXTENSIONS:
        return min(whole, key=lambda name: (len(name), name))
    # Of two hyphenated names one is no slip of the other: `decode-repeat` is not `decode-c1` with a word too many.
    shorter = [name for name in names if name and word.startswith(name) and "-" not in name]
    whole = [name for name in shorter if _SEPARATOR.match(word, len(name))]
    if whole:
        return max(whole, key=len)
    if len(longer) == 1 and len(word) >= _SHORTEST_STEM:
        return longer[0]
    stems = [name for name in shorter if len(name) >= _SHORTEST_STEM]
    return max(stems, key=len, default=None)


def _shared_prefix(one: str, other: str) -> int:
    """Return how many characters two words share at their start."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))
