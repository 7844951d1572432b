"""Pieces: what a vocabulary is likely to make one token of, counted without one.

A word of up to eight letters, a digit, a run of signs and a run of line ends are a piece each.  Lengths of prompts are
counted in pieces rather than in characters: with two public vocabularies tokens per piece spread about half as much
as tokens per character, and a piece is about one token in every class of text.
"""

import re
from collections.abc import Callable
from itertools import islice
from typing import Final

__all__ = ["count_pieces", "cut_pieces", "fit_pieces"]

_PIECE: Final = re.compile(r"[A-Za-z]{1,8}|[0-9]|[^\sA-Za-z0-9]+|\n+")
_EXACT_CHARS: Final = 1 << 18
"""Longer texts are counted by a sample of this size from their middle: their sums hardly vary any more."""
_MARGIN_RATIO: Final = 1.05
_MARGIN_CHARS: Final = 200


def count_pieces(text: str) -> int:
    """Return the number of pieces; for more than a quarter of a million characters, as a sample has it."""
    if len(text) <= _EXACT_CHARS:
        return len(_PIECE.findall(text))
    start = (len(text) - _EXACT_CHARS) // 2
    sample = len(_PIECE.findall(text, start, start + _EXACT_CHARS))
    return round(sample * len(text) / _EXACT_CHARS)


def cut_pieces(text: str, n: int) -> str | None:
    """Return the beginning of the text that has so many pieces, cut between words; None if there are fewer."""
    if n <= 0:
        return ""
    if len(text) <= _EXACT_CHARS:
        last = next(islice(_PIECE.finditer(text), n - 1, None), None)
        return None if last is None else _between_words(text, last.end())
    n_chars = round(n * len(text) / count_pieces(text))
    return None if n_chars > len(text) else _between_words(text, n_chars)


def _between_words(text: str, at: int) -> str:
    """Cut at the place, or behind the word that it lies in; a word has no more than 20 letters here."""
    end = at
    while end < len(text) and end - at < 20 and text[end].isalnum():
        end += 1
    return text[:end]


def fit_pieces(make: Callable[[int], str], n: int, chars_per_piece: float) -> str:
    """Return a text of so many pieces.

    Args:
        make: Returns a text of at least so many characters, always the same one for the same number.
        n: Pieces wanted.
        chars_per_piece: About what the text has, so that little is made in vain.
    """
    if n <= 0:
        return ""
    n_chars = int(n * chars_per_piece * _MARGIN_RATIO) + _MARGIN_CHARS
    while True:
        found = cut_pieces(make(n_chars), n)
        if found is not None:
            return found
        n_chars += n_chars // 4
