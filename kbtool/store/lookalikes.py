"""Words that look like other words, because some of their letters come from another alphabet.

A cut-down form of the "highly restrictive" level of Unicode Technical Standard 39: the letters of
one word come from one alphabet, apart from East Asian ones, which are written without blanks, and
Greek signs of units and formulas, such as the mu of a microsecond.
"""

import re
import unicodedata
from functools import lru_cache
from typing import Final

__all__ = ["first_deceptive_word", "is_harmless_letter"]

_COMPOUND: Final = re.compile(r"\w+(?:[-.]\w+)*")
_EAST_ASIAN: Final = frozenset(
    {"CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO", "IDEOGRAPHIC", "KATAKANA-HIRAGANA"}
)
_COMMON_NAMES: Final = frozenset(
    {"MICRO", "MODIFIER", "SUPERSCRIPT", "SUBSCRIPT", "FEMININE", "MASCULINE", "INFORMATION"}
)
_MATHEMATICAL_NAMES: Final = frozenset({"MATHEMATICAL", "SCRIPT", "DOUBLE-STRUCK", "BLACK-LETTER"})
_SHARED_SCRIPTS: Final = _EAST_ASIAN | {""}
"""May stand beside any other in a word."""
_HARMLESS_SCRIPTS: Final = _SHARED_SCRIPTS | {"LATIN"}
_LIKE_LATIN: Final = frozenset(
    # Cyrillic: the twins of ABE3KMHOPCTYX and SIJ; of aBeKMHOnpcyx, sij, h, palochka, d, q and w.
    "\u0410\u0412\u0415\u0417\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u0405\u0406\u0408"
    "\u0430\u0432\u0435\u043a\u043c\u043d\u043e\u043f\u0440\u0441\u0443\u0445\u0455\u0456\u0458\u04bb\u04cf\u0501\u051b\u051d"
    # Greek: of ABEZHIKMNOPTYX; of a, y, i, k, v, o, p, t, u, x, c and j.
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7"
    "\u03b1\u03b3\u03b9\u03ba\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7\u03f2\u03f3"
)


def first_deceptive_word(text: str) -> re.Match[str] | None:
    """Return the first word, or compound such as `RTX-6000`, that imitates another."""
    words = _COMPOUND.finditer(text)
    return next((word for word in words if not word[0].isascii() and _is_deceptive(word[0])), None)


def is_harmless_letter(char: str) -> bool:
    """Return whether a character is no letter, or one that imitates no Latin letter in any word."""
    return _script(char) in _HARMLESS_SCRIPTS


@lru_cache(maxsize=4096)
def _script(char: str) -> str:
    """Return the script of a letter by its Unicode name; empty for what all scripts share."""
    category = unicodedata.category(char)
    if category[0] != "L" and category != "Nl":
        return ""
    first = unicodedata.name(char, "").partition(" ")[0]
    if first in _MATHEMATICAL_NAMES:
        return "MATHEMATICAL"
    return "" if first in _COMMON_NAMES else first


def _is_deceptive(compound: str) -> bool:
    """Return whether a compound mixes alphabets inside a part, or imitates Latin in a whole one."""
    scripts = set(map(_script, compound)) - _SHARED_SCRIPTS
    if len(scripts) < 2:
        return False
    parts = re.split("[-.]", compound)
    if any(_is_mixed(part) for part in parts):
        return True
    return "LATIN" in scripts and any(not part.isascii() and _LIKE_LATIN.issuperset(part) for part in parts)


def _is_mixed(part: str) -> bool:
    """Return whether a word needs more than one alphabet, apart from Greek signs beside Latin."""
    scripts = set(map(_script, part)) - _SHARED_SCRIPTS
    if scripts == {"LATIN", "GREEK"}:
        return not _LIKE_LATIN.isdisjoint(part)
    return len(scripts) > 1
