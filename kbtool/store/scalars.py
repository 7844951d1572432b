"""Single values as YAML text: what an unquoted one means, and how each value is written.

Unquoted text follows the core schema of YAML 1.2, narrowed until YAML 1.1 readers, JSON and
JavaScript agree: what only some of them take for a number or a boolean has to be quoted.
"""

import re
import unicodedata
from decimal import Decimal
from typing import Final, TypeAlias

from kbtool.store.faults import quoted
from kbtool.vocab.numbers import exact_number, number_text

__all__ = [
    "AmbiguousScalarError",
    "Scalar",
    "TypographicQuoteError",
    "quoted_text",
    "read_plain",
    "scalar_text",
]

Scalar: TypeAlias = bool | int | Decimal | str | None


class AmbiguousScalarError(ValueError):
    """An unquoted value is a number or a boolean to some readers and text to others."""

    def __init__(self, message: str, suggestion: str | None = None) -> None:
        super().__init__(message, suggestion)
        self.message = message
        self.suggestion = suggestion
        """What was probably meant."""


class TypographicQuoteError(AmbiguousScalarError):
    """An unquoted value begins with a quote that YAML takes for a letter."""


_MEANINGS: Final[dict[str, bool | None]] = {"": None, "~": None, "null": None, "true": True, "false": False}
_MEANT: Final = {
    **dict.fromkeys(("y", "yes", "on", "true"), "true"),
    **dict.fromkeys(("n", "no", "off", "false"), "false"),
    "null": "null",
}
_NO_NUMBER: Final = frozenset({"inf", "infinity", "nan"})
_YAML_1_1_SIGNS: Final = frozenset({"=", "<<"})
_LONGEST_WORD: Final = max(map(len, [*_MEANT, *_NO_NUMBER]))
_NUMBER_LIKE: Final = re.compile(
    r"""[-+]? (?:
        [0-9][0-9_,]* (?: \.[0-9_]* )? (?: [eE][-+]?[0-9_]+ )?   # 1_000  6,853  5.  1e6  012  -0
      | \.[0-9][0-9_]* (?: [eE][-+]?[0-9_]+ )?                   # .5
      | [0-9][0-9_]* (?: :[0-5]?[0-9] )+ (?: \.[0-9_]* )?        # 12:30:00, a number to the base of 60
      | 0[xX][0-9a-fA-F_]+ | 0[oO][0-7_]+ | 0[bB][01_]+
      | \. (?: [iI][nN][fF] | [nN][aA][nN] )
    )""",
    re.VERBOSE,
)
_LONGEST_FOLDED: Final = 64
_TYPOGRAPHIC_QUOTES: Final = frozenset(
    "\u201c\u201d\u201e\u201f\u00ab\u00bb\u2039\u203a\u2018\u2019\u201a\u201b\uff02\uff07"
)


def read_plain(text: str) -> Scalar:
    """Return what the unquoted scalar `text` means.

    Raises:
        AmbiguousScalarError: Readers disagree about it, or it begins with a quote that is none.
        ValueError: It is a number of too many digits.
    """
    if text in _MEANINGS:
        return _MEANINGS[text]
    if text[0] in "0123456789-+.":
        number = exact_number(text)
        if number is not None:
            return number
        _refuse_number_like(text, text)
    if len(text) <= _LONGEST_WORD + 1:
        _refuse_word(text)
    if not text.isascii():
        if text[0] in _TYPOGRAPHIC_QUOTES:
            _refuse_quote(text)
        if len(text) <= _LONGEST_FOLDED:
            _refuse_number_like(text, _folded(text))
    return text


def _refuse_number_like(text: str, folded: str) -> None:
    """Refuse what some reader takes for a number."""
    if _NUMBER_LIKE.fullmatch(folded):
        meant = _in_full(folded)
        remedy = f"did you mean `{meant}`?" if meant else "write the number in full, or quote the text"
        raise AmbiguousScalarError(
            f"{quoted(text)} is a number to some readers and text to others; expected a number in full,"
            f" such as 6853 or 0.10, or quoted text: {remedy}",
            meant,
        )


_GROUPED: Final = re.compile(r"[0-9]{1,3}([,_])[0-9]{3}(\1[0-9]{3})*(\.[0-9]+)?")
_SHORT: Final = re.compile(r"[-+]?([0-9]*)(\.[0-9]*)?")


def _in_full(text: str) -> str | None:
    """Return the number in full that readers agree is meant: 6853 for `6,853`, 0.5 for `.5`; None for a hash or a time."""
    sign, digits = ("-", text[1:]) if text[0] == "-" else ("", text.lstrip("+"))
    if _GROUPED.fullmatch(digits):
        digits = digits.replace(",", "").replace("_", "")
    elif not _SHORT.fullmatch(digits):
        return None
    whole, _, fraction = digits.partition(".")
    full = f"{sign}{whole or '0'}{'.' if fraction else ''}{fraction}"
    try:
        return full if exact_number(full) is not None else None
    except ValueError:
        return None


def _refuse_word(text: str) -> None:
    """Refuse what some reader takes for a boolean, null, a special number or a sign of YAML 1.1."""
    word = text.lower()
    if word in _MEANT:
        meant = _MEANT[word]
        # `off` is a word of ours, too: of the others, nobody means the letters.
        is_clear = word not in {"on", "off", "y", "n"}
        raise AmbiguousScalarError(
            f"`{text}` is `{meant}` to some readers and text to others; expected `{meant}` or quoted text: write"
            f' `{meant}`, or `"{text}"` if the word is meant',
            meant if is_clear else None,
        )
    if word.lstrip("+-") in _NO_NUMBER or text in _YAML_1_1_SIGNS:
        raise AmbiguousScalarError(
            f"`{text}` has a meaning of its own to some readers; expected a value that all read alike:"
            " quote it if it is text, or write `null` where there is no value"
        )


def _refuse_quote(text: str) -> None:
    """Refuse text between quotes of typography, which would become a part of it."""
    inner = text[1:-1] if len(text) > 2 and text[-1] in _TYPOGRAPHIC_QUOTES else None
    meant = quoted_text(inner) if inner else None
    remedy = f"did you mean {quoted(meant)}?" if meant else 'write `"` for it, or quote the whole text'
    raise TypographicQuoteError(
        f"{quoted(text)} begins with a typographic quote, which YAML takes for a letter; expected straight quotes: {remedy}",
        meant,
    )


def _folded(text: str) -> str:
    """Return `text` with the digits and signs of other scripts as ASCII ones."""
    compatible = unicodedata.normalize("NFKC", text).replace("\N{MINUS SIGN}", "-")
    return "".join(str(unicodedata.decimal(char, char)) for char in compatible)


# --- Writing ------------------------------------------------------------------------------------

_PLAIN_START: Final = re.compile(r"[^\W\d]|[/(]")
_PLAIN_IN_FLOW: Final = re.compile(r"[\w ./+@()-]*")
_ESCAPED: Final = str.maketrans({'"': '\\"', "\\": "\\\\", "\n": "\\n"})


def scalar_text(value: Scalar, *, flow: bool = False) -> str:
    """Return `value` on one line, so that `yamlio.parse` reads the same value and type back.

    Text is quoted only where it has to be, or where a person may take it for something else:
    dates, versions and whatever else begins with a digit.

    Args:
        value: What to write; a number must be one that records can hold.
        flow: Whether it will stand between brackets or braces.

    Raises:
        TypeError, ValueError: Records cannot hold such a value.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value if _is_safe_plain(value, flow=flow) else quoted_text(value)
    return number_text(value)


def quoted_text(text: str) -> str:
    """Return `text` between quotes and on one line; escapes are used for line breaks alone."""
    if "\n" in text or not ('"' in text or "\\" in text):
        return f'"{text.translate(_ESCAPED)}"'
    return "'" + text.replace("'", "''") + "'"


def _is_safe_plain(text: str, *, flow: bool) -> bool:
    """Return whether unquoted `text` is read as itself by every reader."""
    if not _PLAIN_START.match(text) or "\n" in text or ": " in text or " #" in text or text[-1] in ": ":
        return False
    if flow and not _PLAIN_IN_FLOW.fullmatch(text):
        return False
    try:
        return read_plain(text) == text
    except ValueError:
        return False
