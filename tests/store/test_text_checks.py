"""What a reviewer sees is what every program reads: deceptive text is found, ordinary text is not."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbtool.store import lookalikes, text_checks
from kbtool.store.edit import apply
from kbtool.store.faults import FaultKind
from kbtool.store.text_checks import MAX_BLANKS, MAX_MARKS, first_flaw

FLAWS: dict[str, tuple[str, FaultKind, int]] = {
    "nul": ("ab\x00", FaultKind.CONTROL_CHARACTER, 2),
    "bell": ("a\x07b", FaultKind.CONTROL_CHARACTER, 1),
    "escape": ("a\x1b[31mb", FaultKind.CONTROL_CHARACTER, 1),
    "delete": ("a\x7fb", FaultKind.CONTROL_CHARACTER, 1),
    "c1": ("a\x9bb", FaultKind.CONTROL_CHARACTER, 1),
    "vertical tab": ("a\x0bb", FaultKind.CONTROL_CHARACTER, 1),
    "lone cr": ("a\rb\n", FaultKind.CONTROL_CHARACTER, 1),
    "lone cr among crlf": ("a\r\nb\rc\r\n", FaultKind.CONTROL_CHARACTER, 4),
    "crlf": ("é\r\nb\r\n", FaultKind.CARRIAGE_RETURN_LINE_END, 1),
    "tab": ("a\tb", FaultKind.TAB, 1),
    "nel": ("a\x85b", FaultKind.FOREIGN_LINE_BREAK, 1),
    "line separator": ("a\u2028b", FaultKind.FOREIGN_LINE_BREAK, 1),
    "paragraph separator": ("a\u2029b", FaultKind.FOREIGN_LINE_BREAK, 1),
    "blanks": ("ab" + " " * (MAX_BLANKS + 1) + "c", FaultKind.RUN_OF_BLANKS, 2),
    "empty lines": ("ab" + "\n" * (MAX_BLANKS + 1) + "c", FaultKind.RUN_OF_BLANKS, 2),
    "no-break spaces": ("ab" + "\xa0" * (MAX_BLANKS + 1) + "c", FaultKind.RUN_OF_BLANKS, 2),
    "ideographic spaces": ("ab" + " \u3000" * MAX_BLANKS + "c", FaultKind.RUN_OF_BLANKS, 2),
    "override": ("a\u202eb", FaultKind.BIDI_CONTROL, 1),
    "isolate": ("a\u2067b", FaultKind.BIDI_CONTROL, 1),
    "mark": ("a\u200fb", FaultKind.BIDI_CONTROL, 1),
    "arabic letter mark": ("a\u061cb", FaultKind.BIDI_CONTROL, 1),
    "zero width space": ("pass\u200bword", FaultKind.INVISIBLE_CHARACTER, 4),
    "word joiner": ("a\u2060b", FaultKind.INVISIBLE_CHARACTER, 1),
    "soft hyphen": ("a\u00adb", FaultKind.INVISIBLE_CHARACTER, 1),
    "inner byte order mark": ("a\ufeffb", FaultKind.INVISIBLE_CHARACTER, 1),
    "mongolian separator": ("a\u180eb", FaultKind.INVISIBLE_CHARACTER, 1),
    "hangul filler": ("a\u3164b", FaultKind.INVISIBLE_CHARACTER, 1),
    "braille blank": ("a\u2800b", FaultKind.INVISIBLE_CHARACTER, 1),
    "grapheme joiner": ("a\u034fb", FaultKind.INVISIBLE_CHARACTER, 1),
    "tag": ("a\U000e0041b", FaultKind.INVISIBLE_CHARACTER, 1),
    "variation selector 17": ("a\U000e0100b", FaultKind.INVISIBLE_CHARACTER, 1),
    "variation selector 1": ("a\ufe00b", FaultKind.INVISIBLE_CHARACTER, 1),
    "joiner in a word": ("a\u200db", FaultKind.INVISIBLE_CHARACTER, 1),
    "joiner at the start": ("\u200d👩", FaultKind.INVISIBLE_CHARACTER, 0),
    "joiner at the end": ("👩\u200d", FaultKind.INVISIBLE_CHARACTER, 1),
    "emoji style on a letter": ("a\ufe0f", FaultKind.INVISIBLE_CHARACTER, 1),
    "emoji style on a digit": ("1\ufe0f", FaultKind.INVISIBLE_CHARACTER, 1),
    "two emoji styles": ("❤\ufe0f\ufe0f", FaultKind.INVISIBLE_CHARACTER, 2),
    "pile": ("ab" + "\u0316" * (MAX_MARKS + 1), FaultKind.PILE_OF_COMBINING_MARKS, 2),
    "cyrillic in latin": ("DeepSeek-V4.1-Fl\u0430sh", FaultKind.MIXED_SCRIPT_WORD, 16),
    "latin in cyrillic": ("Мосkва", FaultKind.MIXED_SCRIPT_WORD, 0),
    "greek in latin": ("v\u03bfid", FaultKind.MIXED_SCRIPT_WORD, 1),
    "armenian in latin": ("m\u0585del", FaultKind.MIXED_SCRIPT_WORD, 1),
    "mathematical in latin": ("\U0001d403eepSeek", FaultKind.MIXED_SCRIPT_WORD, 0),
    "full width in latin": ("\uff24eepSeek", FaultKind.MIXED_SCRIPT_WORD, 0),
    "imitated part": ("RTX-\u0430\u0435", FaultKind.MIXED_SCRIPT_WORD, 4),
    "decomposed": ("caf" + "e\u0301", FaultKind.TEXT_NOT_NFC, 3),
    "kelvin sign": ("300 \u212a", FaultKind.TEXT_NOT_NFC, 4),
    "decomposed hangul": ("\u1112\u1161", FaultKind.TEXT_NOT_NFC, 0),
    "ours": ("a\n  <<<<<<< HEAD\n", FaultKind.CONFLICT_MARKER, 4),
    "middle": ("a\n=======\nb", FaultKind.CONFLICT_MARKER, 2),
    "theirs": (">>>>>>> pr-12", FaultKind.CONFLICT_MARKER, 0),
    "base": ("||||||| 1234567", FaultKind.CONFLICT_MARKER, 0),
    "private use": ("a\ue000", FaultKind.CHARACTER_WITHOUT_MEANING, 1),
    "private use plane": ("a\U00100000", FaultKind.CHARACTER_WITHOUT_MEANING, 1),
    "noncharacter": ("a\ufdd0", FaultKind.CHARACTER_WITHOUT_MEANING, 1),
    "last noncharacter": ("a\U0010ffff", FaultKind.CHARACTER_WITHOUT_MEANING, 1),
    "lost character": ("caf\ufffd", FaultKind.CHARACTER_WITHOUT_MEANING, 3),
    "lone surrogate": ("a\ud800", FaultKind.CHARACTER_WITHOUT_MEANING, 1),
}


@pytest.mark.parametrize("case", FLAWS)
def test_flaw_is_found_at_its_place(case: str) -> None:
    """By kind and offset, and with a message that prints safely."""
    text, kind, offset = FLAWS[case]
    flaw = first_flaw(text)
    assert flaw is not None
    assert (flaw.kind, flaw.offset) == (kind, offset)
    assert flaw.message.replace("`", "").isprintable()
    assert "expected" in flaw.message


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain ASCII, with #, \\ and =====",
        "======== underlined with eight",
        "a <<<<<<< b",
        "a\n\n\nb",
        " " * MAX_BLANKS,
        "naïve café – “quoted” … ×2 ±3 % °C ²",
        "µs and \u03bcs, \u0394T, 10 k\u03a9, \u03c3²",
        "\u03b1 and \u03b2 alone",
        "DeepSeek模型 8卡 サーバー 서버",
        "Скорость 93,9 токенов, GPU-ускоритель",
        "عربي 128 עברית ไทย हिन्दी",
        "＝1+1 －2 ＠ x",
        "93\xa0900 and 93\u202f900",
        "👩\u200d🔬 👍🏽 ❤\ufe0f ❤\ufe0f\u200d🔥 🏳\ufe0f\u200d🌈 1\ufe0f\u20e3 ©\ufe0e ↔\ufe0f 👩🏽\u200d🚀",
        "ﬁ ligature, ℝ, ℓ, №, ™, ½",
    ],
)
def test_ordinary_text_has_no_flaw(text: str) -> None:
    """Units, languages, emoji and typography are no attack."""
    assert first_flaw(text) is None


def test_earliest_flaw_is_reported() -> None:
    """Whatever its kind, so that a reader mends from the top."""
    flaw = first_flaw("a\u0430 \u202e \t")
    assert flaw is not None
    assert flaw.kind is FaultKind.MIXED_SCRIPT_WORD


def test_normalising_is_not_tried_on_a_pile_of_marks() -> None:
    """It takes time that grows with the square of the pile: 100,000 marks would hang the linter."""
    flaw = first_flaw("e" + "\u0301\u0316" * 100_000)
    assert flaw is not None
    assert flaw.kind is FaultKind.PILE_OF_COMBINING_MARKS


@given(st.text(st.sampled_from("aeé\u0301\u0316\u212a\u1112\u1161 \n"), max_size=20))
def test_edit_of_unnormalised_text_normalises_it(text: str) -> None:
    """And changes no more than it has to."""
    for flaw in text_checks._not_normalised(text):
        assert apply(text, flaw.edits) == unicodedata.normalize("NFC", text)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_fast_pass_clears_nothing_that_the_exact_search_finds(text: str) -> None:
    """The cheap scans may only ever send a text to the exact ones."""
    if text_checks._is_plainly_clean(text):
        characters = frozenset(text)
        assert not [flaw for find in text_checks._DETECTORS if (flaw := find(text, characters))]
        assert unicodedata.is_normalized("NFC", text)


def test_every_single_character_is_judged_alike_by_both_passes() -> None:
    """Over all of Unicode, alone and between letters."""
    for code in range(0x110000):
        char = chr(code)
        if text_checks._is_plainly_clean(f"a{char}b"):
            assert text_checks._verdict(char) is None
            assert lookalikes.is_harmless_letter(char)
            assert unicodedata.is_normalized("NFC", f"a{char}b")
