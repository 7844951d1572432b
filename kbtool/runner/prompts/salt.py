"""What makes a prompt unique from its first token on.

A prefix cache matches from the start, so the salt stands at the very start.  It opens with a word rather than with
digits: a vocabulary has one token for most words, and a thousand words collide far more rarely than two hexadecimal
digits.  All salts have one length, so that a finished request can be given another one in place.
"""

import hashlib
from typing import Final

from kbtool.runner.prompts.words import ADJECTIVES, NOUNS, PLURALS

__all__ = ["SALT_CHARS", "salt_text"]

SALT_CHARS: Final = 24
"""Length of every salt, in characters (ASCII, nothing that JSON escapes)."""

_LONGEST_WORD: Final = 9
_WORDS: Final = tuple(
    sorted({w.capitalize() for w in (*NOUNS, *ADJECTIVES, *PLURALS) if len(w) <= _LONGEST_WORD})
)
_ALPHABET: Final = "abcdefghijkmnpqrstuvwxyz23456789"
"""32 signs, without those that are mistaken for another."""


def salt_text(salt: str) -> str:
    """Return the text that opens every prompt of this salt.

    Two salts share the text with a probability below 2**-64, and its first word with one of about 1 in 1,000: a
    cache that counts single tokens may report one cached token for such a pair, never a block.
    """
    bits = int.from_bytes(hashlib.blake2b(salt.encode(), digest_size=32).digest(), "little")
    bits, at = divmod(bits, len(_WORDS))
    word = _WORDS[at]
    signs = []
    for _ in range(SALT_CHARS - len(word) - 1):
        bits, at = divmod(bits, len(_ALPHABET))
        signs.append(_ALPHABET[at])
    return f"{word} {''.join(signs)}"
