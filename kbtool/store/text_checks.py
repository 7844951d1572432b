"""Text that deceives its reader or breaks its carrier: hidden, reordered, look-alike or torn text.

Whatever a reviewer sees in a diff must be what every program reads. The checks run over a whole
file, comments included, and again over values that escapes have made. An ordinary file pays for
them only a few scans in C; the exact search for a place begins once something is suspicious.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from kbtool.findings import Edit
from kbtool.store.faults import FaultKind, quoted
from kbtool.store.lookalikes import first_deceptive_word, is_harmless_letter

__all__ = ["Flaw", "first_flaw"]

MAX_BLANKS: Final = 39
"""Blanks in a row; the deepest record is indented by less."""
MAX_MARKS: Final = 4
"""Combining marks in a row; no living script needs more in NFC."""


@dataclass(frozen=True, slots=True)
class Flaw:
    """One place in a text that is refused."""

    kind: FaultKind
    offset: int
    """In code points, from the start of the text."""
    message: str
    edits: tuple[Edit, ...] = ()
    """The mechanical repair, for offsets into the same text."""


def first_flaw(text: str) -> Flaw | None:
    """Return what is wrong with `text` at the earliest place, or None for a clean text."""
    if _is_plainly_clean(text):
        return None
    characters = frozenset(text)
    flaws = [flaw for find in _DETECTORS if (flaw := find(text, characters)) is not None]
    # Normalising is quadratic in the length of a run of marks, so it waits for their check.
    if not any(flaw.kind is FaultKind.PILE_OF_COMBINING_MARKS for flaw in flaws):
        flaws.extend(_not_normalised(text))
    return min(flaws, key=lambda flaw: flaw.offset, default=None)


# --- The fast pass ----------------------------------------------------------------------------

_ASCII: Final = bytes(range(128))
_TOO_MANY_BLANKS: Final = " " * (MAX_BLANKS + 1)
_MARKERS: Final = ("<<<<<<<", "=======", ">>>>>>>", "|||||||")


def _is_plainly_clean(text: str) -> bool:
    """Return whether a few fast scans suffice to clear `text`; False means: look closely."""
    flat = text.replace("\n", " ")
    if not flat.isprintable() or _TOO_MANY_BLANKS in flat or any(marker in text for marker in _MARKERS):
        return False
    return text.isascii() or all(map(_is_harmless, set(text.encode().translate(None, _ASCII).decode())))


@lru_cache(maxsize=4096)
def _is_harmless(char: str) -> bool:
    """Return whether a printable character cannot do harm, whatever stands beside it."""
    category = unicodedata.category(char)
    if category[0] == "M" or _verdict(char) is not None or not unicodedata.is_normalized("NFC", char):
        return False
    return is_harmless_letter(char) and not _is_conjoining(char)


def _is_conjoining(char: str) -> bool:
    """Return whether a Hangul letter composes with its neighbours under NFC."""
    return "\u1100" <= char <= "\u11ff"


# --- Characters that are refused wherever they stand --------------------------------------------

_FOREIGN_LINE_BREAKS: Final = frozenset("\x85\u2028\u2029")
_BIDI: Final = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_JOINER: Final = "\u200d"
_EMOJI_STYLE: Final = "\ufe0e\ufe0f"
_CONTEXTUAL: Final = frozenset(_JOINER + _EMOJI_STYLE)
_BLANK_GLYPHS: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2065\u2800\u3164\uffa0")
_LOST: Final = frozenset("\ufffc\ufffd")


@lru_cache(maxsize=4096)
def _verdict(char: str) -> FaultKind | None:
    """Return why a character is refused everywhere; None for all others."""
    code = ord(char)
    category = unicodedata.category(char)
    if char in "\n\r" or char in _CONTEXTUAL:
        kind = None  # judged by what stands around them
    elif char == "\t":
        kind = FaultKind.TAB
    elif char in _FOREIGN_LINE_BREAKS:
        kind = FaultKind.FOREIGN_LINE_BREAK
    elif char in _BIDI:
        kind = FaultKind.BIDI_CONTROL
    elif category == "Cc":
        kind = FaultKind.CONTROL_CHARACTER
    elif category == "Cf" or char in _BLANK_GLYPHS or _is_selector(code):
        kind = FaultKind.INVISIBLE_CHARACTER
    elif category in {"Co", "Cs"} or char in _LOST or code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF:
        kind = FaultKind.CHARACTER_WITHOUT_MEANING
    else:
        kind = None
    return kind


def _is_selector(code: int) -> bool:
    """Return whether a code point selects a glyph, is a tag, or is set aside to be ignored."""
    return (
        0x180B <= code <= 0x180F
        or 0xFE00 <= code <= 0xFE0D
        or 0xFFF0 <= code <= 0xFFF8
        or 0xE0000 <= code <= 0xE0FFF
    )


_REMEDY: Final = {
    FaultKind.TAB: "expected spaces: indent by two spaces, and use one space between words",
    FaultKind.FOREIGN_LINE_BREAK: "expected LF as the only line break: replace it by a line break or a space",
    FaultKind.BIDI_CONTROL: "expected text in reading order: delete it",
    FaultKind.CONTROL_CHARACTER: "expected printable text: delete it, or name it in words",
    FaultKind.INVISIBLE_CHARACTER: "expected visible text: delete it",
    FaultKind.CHARACTER_WITHOUT_MEANING: "expected a character that every reader shows alike: look up the original text",
}


_CONTROL_NAMES: Final = {"\t": "TAB", "\x00": "NUL", "\x1b": "ESCAPE", "\x85": "NEXT LINE"}


def _refused_character(text: str, characters: frozenset[str]) -> Flaw | None:
    """Find the first character that is refused wherever it stands."""
    places = {text.find(char): kind for char in characters if (kind := _verdict(char)) is not None}
    if not places:
        return None
    offset = min(places)
    return Flaw(places[offset], offset, f"{_named(text[offset])}; {_REMEDY[places[offset]]}")


def _named(char: str) -> str:
    """Return the code point and the name of a character that may not be printed itself."""
    name = unicodedata.name(char, "") or _CONTROL_NAMES.get(char, "without a name")
    return f"U+{ord(char):04X} {name}"


# --- Characters that are refused by what stands around them -------------------------------------

_CARRIAGE_RETURN: Final = re.compile(r"\r(?!\n)")
_BLANK_RUN: Final = re.compile(rf"[ \n\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]{{{MAX_BLANKS + 1},}}")
_CONFLICT_MARKER: Final = re.compile(r"^ *(<{7}|={7}|>{7}|\|{7})(?= |$)", re.MULTILINE)
_CONTEXTUAL_RUN: Final = re.compile(f"[{_JOINER}{_EMOJI_STYLE}]")
_SKIN_TONES: Final = frozenset("\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff")
_KEYCAP: Final = "\u20e3"


def _carriage_return(text: str, characters: frozenset[str]) -> Flaw | None:
    """Find a carriage return: with a line feed a foreign line end, alone a hidden line break."""
    if "\r" not in characters:
        return None
    alone = _CARRIAGE_RETURN.search(text)
    if alone is not None:
        message = "U+000D CARRIAGE RETURN without a line feed; expected LF as the only line break: delete it"
        return Flaw(FaultKind.CONTROL_CHARACTER, alone.start(), message)
    edits = tuple(Edit(match.start(), match.end(), "") for match in re.finditer("\r", text))
    message = (
        f"{len(edits)} lines end in CR LF; expected LF alone: run `kbtool fmt`, and set the editor to LF"
    )
    return Flaw(FaultKind.CARRIAGE_RETURN_LINE_END, edits[0].start, message, edits)


def _run_of_blanks(text: str, _: frozenset[str]) -> Flaw | None:
    """Find white space that is long enough to push text out of sight."""
    run = _BLANK_RUN.search(text)
    if run is None:
        return None
    message = (
        f"{len(run[0])} blanks in a row; expected at most {MAX_BLANKS}: delete them, nobody sees what follows"
    )
    return Flaw(FaultKind.RUN_OF_BLANKS, run.start(), message)


def _conflict_marker(text: str, _: frozenset[str]) -> Flaw | None:
    """Find a merge conflict marker, also inside a text block."""
    marker = _CONFLICT_MARKER.search(text)
    if marker is None:
        return None
    message = f"the conflict marker `{marker[1]}`; expected one version: choose one, and delete the other and the markers"
    return Flaw(FaultKind.CONFLICT_MARKER, marker.start(1), message)


def _stray_emoji_part(text: str, characters: frozenset[str]) -> Flaw | None:
    """Find a joiner or an emoji style mark that belongs to no emoji."""
    if characters.isdisjoint(_CONTEXTUAL):
        return None
    for match in _CONTEXTUAL_RUN.finditer(text):
        offset = match.start()
        if not (_joins_emoji(text, offset) if match[0] == _JOINER else _styles_emoji(text, offset)):
            message = f"{_named(match[0])} outside an emoji; expected visible text: delete it"
            return Flaw(FaultKind.INVISIBLE_CHARACTER, offset, message)
    return None


def _joins_emoji(text: str, offset: int) -> bool:
    """Return whether the joiner at `offset` stands between two emoji."""
    before = offset - 1
    while before > 0 and (text[before] == "\ufe0f" or text[before] in _SKIN_TONES):
        before -= 1
    return before >= 0 and _is_pictograph(text[before]) and _is_pictograph(text[offset + 1 : offset + 2])


def _styles_emoji(text: str, offset: int) -> bool:
    """Return whether the style mark at `offset` follows something with an emoji style."""
    before = text[offset - 1 : offset]
    return _is_pictograph(before) or (
        before in set("#*0123456789") and text[offset + 1 : offset + 2] == _KEYCAP
    )


def _is_pictograph(char: str) -> bool:
    """Return whether a character may be an emoji; newer ones have no category yet."""
    if not char or char.isascii():
        return False
    return (
        unicodedata.category(char) in {"So", "Sm", "Sk", "Po", "Pd"}
        or char == "\u2139"
        or "\U0001f000" <= char <= "\U0001faff"
    )


def _pile_of_marks(text: str, characters: frozenset[str]) -> Flaw | None:
    """Find more combining marks on one letter than any script needs."""
    marks = {ord(char): "\u0301" for char in characters if unicodedata.category(char)[0] == "M"}
    if not marks:
        return None
    offset = text.translate(marks).find("\u0301" * (MAX_MARKS + 1))
    if offset < 0:
        return None
    message = (
        f"more than {MAX_MARKS} combining marks in a row; expected text that keeps to its line: delete them"
    )
    return Flaw(FaultKind.PILE_OF_COMBINING_MARKS, offset, message)


def _not_normalised(text: str) -> Iterator[Flaw]:
    """Find where text is not in composed form (NFC)."""
    if unicodedata.is_normalized("NFC", text):
        return
    composed = unicodedata.normalize("NFC", text)
    start = _shared_length(text, composed)
    tail = _shared_length(text[start:][::-1], composed[start:][::-1])
    edit = Edit(start, len(text) - tail, composed[start : len(composed) - tail])
    message = (
        f"{_named(text[start])} begins text that is not in Unicode form NFC;"
        " expected composed characters: run `kbtool fmt`"
    )
    yield Flaw(FaultKind.TEXT_NOT_NFC, start, message, (edit,))


def _shared_length(one: str, other: str) -> int:
    """Return how many characters two texts share at their start."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))


def _mixed_script_word(text: str, characters: frozenset[str]) -> Flaw | None:
    """Find a word of letters from two alphabets, made to look like another word."""
    if all(map(is_harmless_letter, characters)):
        return None
    word = first_deceptive_word(text)
    if word is None:
        return None
    places = enumerate(word[0], word.start())
    offset, odd = next((at, char) for at, char in places if not is_harmless_letter(char))
    message = (
        f"{_named(odd)} in the word {quoted(word[0])}; expected letters of one alphabet:"
        " retype the word, or separate what belongs to different alphabets"
    )
    return Flaw(FaultKind.MIXED_SCRIPT_WORD, offset, message)


_DETECTORS: Final[tuple[Callable[[str, frozenset[str]], Flaw | None], ...]] = (
    _refused_character,
    _carriage_return,
    _run_of_blanks,
    _conflict_marker,
    _stray_emoji_part,
    _pile_of_marks,
    _mixed_script_word,
)
