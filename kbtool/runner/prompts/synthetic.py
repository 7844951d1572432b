"""Synthetic filler: words in random order with punctuation, for prefill of a thousand to millions of tokens.

Fast, and with as little self-repetition as plain words allow: no phrase is built in, so that n-gram speculation and
compression find nothing to hold on to.
"""

import sys
from array import array
from typing import Final

from kbtool.runner.prompts.draws import key_of, random_bytes
from kbtool.runner.prompts.words import ACTIONS, ADJECTIVES, ADVERBS, NOUNS, PLURALS, TIMES, WENT

__all__ = ["synthetic"]

_WORDS: Final = tuple(sorted({*ACTIONS, *ADJECTIVES, *ADVERBS, *NOUNS, *PLURALS, *TIMES, *WENT}))
_TABLE_SIZE: Final = 1 << 13
_ENDINGS: Final = (" ",) * 13 + (", ", "; ", ". ")
_CHARS_A_DRAW: Final = 7
"""A little fewer than a table entry has on average (7.3), so that one batch of draws is nearly always enough."""


def _entry(at: int) -> str:
    """Return an entry of the table: a word and what stands behind it; after a full stop comes a capital."""
    word = _WORDS[at % len(_WORDS)]
    ending = _ENDINGS[at * len(_ENDINGS) // _TABLE_SIZE]
    if ending != ". ":
        return word + ending
    follower = _WORDS[at * 7919 % len(_WORDS)].capitalize()
    return f"{word}. {follower} "


_TABLE: Final = tuple(_entry(at) for at in range(_TABLE_SIZE))


def synthetic(*parts: str | int, n_chars: int) -> str:
    """Return at least that many characters that follow from the parts, a seed and names of what they are for."""
    table, mask = _TABLE, _TABLE_SIZE - 1
    pieces: list[str] = []
    have = block = 0
    while have < n_chars:
        n_draws = (n_chars - have) // _CHARS_A_DRAW + 1
        draws = array("H", random_bytes(key_of(*parts, block), 2 * n_draws))
        if sys.byteorder == "big":
            draws.byteswap()
        piece = "".join([table[draw & mask] for draw in draws])
        pieces.append(piece)
        have += len(piece)
        block += 1
    return "".join(pieces)
