"""What is wrong with a file that libyaml refuses, in the words of a person who writes records.

All of this runs only once a file has failed or looks odd, and reads it again.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final, cast

from yaml import MarkedYAMLError, YAMLError
from yaml._yaml import CParser, Mark
from yaml.events import CollectionEndEvent, CollectionStartEvent, Event, MappingStartEvent, ScalarEvent
from yaml.tokens import KeyToken, TagToken

from kbtool.store.faults import FaultKind, YamlFault
from kbtool.store.positions import end_mark, start_mark

__all__ = ["explain_syntax_error", "first_key_line", "refuse_disguised_tokens"]

_NO_DIRECTIVE: Final = "a directive; expected none: delete the line that begins with `%`"
_NO_TAG: Final = "a tag; expected none: delete the word that begins with `!`, or quote the text"
_NO_ANCHOR: Final = "an anchor; expected none: delete the word that begins with `&`, or quote the text"
_NO_ALIAS: Final = "an alias; expected none: write the value out, or quote the text"
_TOO_DEEP: Final = "brackets inside each other without end; expected a flat record: flatten it"
_OTHER_KINDS: Final = (
    ("nesting depth", FaultKind.NESTING_TOO_DEEP, _TOO_DEEP),
    ("directive", FaultKind.DIRECTIVE, _NO_DIRECTIVE),
    ("incompatible YAML document", FaultKind.DIRECTIVE, _NO_DIRECTIVE),
    ("tag", FaultKind.TAG, _NO_TAG),
    ("anchor", FaultKind.ANCHOR_OR_ALIAS, _NO_ANCHOR),
    ("alias", FaultKind.ANCHOR_OR_ALIAS, _NO_ALIAS),
)
"""Words of libyaml's message, and the fault that they mean."""
_ESCAPE_PROBLEMS: Final = frozenset(
    {
        "found invalid Unicode character escape code",
        "found unknown escape character",
        "did not find expected hexdecimal number",
    }
)
_ADVICE: Final = {
    "mapping values are not allowed in this context": (
        "a `: ` where no key can stand; expected one key and one value an entry:"
        " quote the text if the colon belongs to it, or align the line with the keys above"
    ),
    "did not find expected key": (
        "text where the next key is expected: align the line with the keys above, or indent it if it belongs to the value"
    ),
    "did not find expected '-' indicator": (
        "text where the next `- ` of the list is expected: align the line with the items above,"
        " or indent it if it belongs to the item"
    ),
    "could not find expected ':'": "a line without `: `; expected a key and a value: add the colon and a space, or indent the line",
    "found character that cannot start any token": "text that begins with a character that YAML reserves; expected a value: quote it",
    "block sequence entries are not allowed in this context": (
        "a list item behind a key; expected list items on lines of their own: begin a new line, or quote the text"
    ),
    "mapping keys are not allowed in this context": "a `? ` that begins a key; expected a value: quote the text",
    "did not find expected node content": "no value; expected one between commas and brackets: fill it in, or delete the comma",
    "did not find expected comment or line break": (
        "text behind `|` or `>`; expected the text block on the next line: begin a new line, or quote the text"
    ),
    "did not find expected <document start>": "text behind the end of the record; expected one mapping: indent the text or delete it",
}


def explain_syntax_error(error: YAMLError, data: bytes, text: str) -> YamlFault:
    """Return the fault that made libyaml raise `error` over `data`, which decodes to `text`."""
    if not isinstance(error, MarkedYAMLError) or error.problem_mark is None:
        return YamlFault(FaultKind.BROKEN_SYNTAX, f"{error}; expected YAML: correct the file")
    problem, context = error.problem or "", error.context or ""
    mark, opened = cast("Mark", error.problem_mark), cast("Mark | None", error.context_mark)
    if opened is not None and "quoted scalar" in context:
        return _quote_fault(problem, opened, mark, text)
    for word, kind, message in _OTHER_KINDS:
        if word in context or word in problem:
            return _fault(kind, message, opened or mark)
    quote = _quote_before(data, mark.index, text)
    if quote is not None:
        return _after_quote(quote, mark)
    is_at_end = mark.index >= len(text)
    if is_at_end:
        mark = _end_of(text)  # without a last line break, libyaml counts a line more
    bracket = _innermost_bracket(data) if "flow" in context else None
    if bracket is not None and (is_at_end or "expected ','" in problem):
        return _unclosed_bracket(bracket, mark, text)
    if opened is not None and problem == "could not find expected ':'":
        mark = opened  # libyaml names the place where it gave up waiting for the colon
    return _misplaced_text(problem, context, mark, text)


def _fault(kind: FaultKind, message: str, mark: Mark) -> YamlFault:
    return YamlFault(kind, message, mark.line + 1, mark.column + 1)


def _place(mark: Mark) -> str:
    return f"{mark.line + 1}:{mark.column + 1}"


def _quote_fault(problem: str, opened: Mark, mark: Mark, text: str) -> YamlFault:
    """Explain a failure inside quotes: an escape, or quotes that are never closed."""
    if problem not in _ESCAPE_PROBLEMS:
        message = f"the quote opened at {_place(opened)} is never closed; expected the same quote at the end of the text: add it"
        return _fault(FaultKind.UNCLOSED_QUOTE, message, opened)
    backslash = text.rfind("\\", 0, mark.index + 1)
    column = mark.column + 1 - (mark.index - backslash)
    message = (
        f"`{text[backslash : backslash + 2]}` begins an escape that names no character; expected the character itself,"
        " or a backslash in single quotes: write it so"
    )
    return YamlFault(FaultKind.INVALID_ESCAPE, message, mark.line + 1, column)


def _quote_before(data: bytes, index: int, text: str) -> ScalarEvent | None:
    """Return the quoted text that ends right before `index`, if there is one."""
    last: ScalarEvent | None = None
    try:
        for event in _events(data):
            if isinstance(event, ScalarEvent):
                last = event
    except YAMLError:
        if (
            last is not None
            and last.style in ("'", '"')
            and not text[end_mark(last).index : index].strip(" ")
        ):
            return last
    return None


def _after_quote(quote: ScalarEvent, mark: Mark) -> YamlFault:
    """Explain text that follows a closing quote: often that quote was meant to open another text."""
    opened, closed = start_mark(quote), end_mark(quote)
    if opened.line != closed.line:
        message = (
            f"the quote opened at {_place(opened)} is closed only at line {closed.line + 1}, by what looks like"
            " another text's quote; expected it to be closed where its text ends: add the missing quote"
        )
        return _fault(FaultKind.UNCLOSED_QUOTE, message, opened)
    remedy = (
        "write a quote inside the text twice"
        if quote.style == "'"
        else 'write `\\"` for a quote inside the text'
    )
    message = f"text behind the quotes opened at {_place(opened)}; expected the end of the value: {remedy}, or delete the rest"
    return _fault(FaultKind.BROKEN_SYNTAX, message, mark)


def _innermost_bracket(data: bytes) -> Mark | None:
    """Return where the innermost bracket begins that is open where libyaml gives up."""
    brackets: list[Event] = []
    try:
        for event in _events(data):
            if isinstance(event, CollectionStartEvent):
                brackets.append(event)
            elif isinstance(event, CollectionEndEvent):
                brackets.pop()
    except YAMLError:
        pass
    return start_mark(brackets[-1]) if brackets else None


def _end_of(text: str) -> Mark:
    line = text.count("\n")
    return Mark(None, len(text), line, len(text) - text.rfind("\n") - 1, None, None)


def _unclosed_bracket(opened: Mark, mark: Mark, text: str) -> YamlFault:
    """Explain a list or mapping in brackets that does not go on: at its start if it ends on no line of its own."""
    bracket = text[opened.index]
    closing = "]" if bracket == "[" else "}"
    if mark.line == opened.line and mark.index < len(text):
        message = f"text inside the `{bracket}` opened at {_place(opened)}; expected `,` or `{closing}`: add it, or quote the text"
        return _fault(FaultKind.BROKEN_SYNTAX, message, mark)
    message = f"the `{bracket}` opened at {_place(opened)} is not closed; expected `,` or `{closing}`: add it"
    return _fault(FaultKind.BROKEN_SYNTAX, message, opened)


def _misplaced_text(problem: str, context: str, mark: Mark, text: str) -> YamlFault:
    """Explain something that may not stand where it stands."""
    if problem == "did not find expected <document start>" and "\n..." in text[: mark.index]:
        message = "text behind the end of the document; expected one record a file: move it to another file"
        return _fault(FaultKind.SEVERAL_DOCUMENTS, message, mark)
    if text.startswith((": ", ":\n"), mark.index) and problem == "did not find expected key":
        return _fault(
            FaultKind.KEY_NOT_TEXT, "a colon without a key; expected `name: value`: add the name", mark
        )
    slip = _slip_near(text, mark)
    if slip is not None:
        return slip
    if problem == "did not find expected key" and text[: mark.index].rstrip(" ").endswith(("]", "}")):
        message = "text behind a closing bracket; expected the end of the value: quote the whole value, or delete the rest"
        return _fault(FaultKind.BROKEN_SYNTAX, message, mark)
    message = _ADVICE.get(problem, f"{problem} {context}".strip() + "; expected YAML: correct it")
    return _fault(FaultKind.BROKEN_SYNTAX, message, mark)


_BLANKS: Final = "\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
"""Blanks that are letters to YAML."""
_SLIPS: Final = (
    (
        re.compile(rf"^[ {_BLANKS}]*?([{_BLANKS}])|^ *(?:- +)*[\w.-]+:([{_BLANKS}])|^ *-([{_BLANKS}])"),
        "{found}, which is no blank to YAML; expected an ordinary space: type it again",
    ),
    (
        re.compile(r"^ *([\u2010-\u2015\u2212\u2022\u00b7*+]) +\S"),
        "{found} where an item of a list begins; expected `- `: write a hyphen",
    ),
    (
        re.compile(r"^ *(-)[\w\"'].*?(?:: |:$)"),
        "a hyphen without a space behind it; expected `- ` before an item of a list: add the space",
    ),
    (
        re.compile(r"^ *(?:- +)*[\w.-]+ ?([\uff1a\ufe55\u2236\ua789])"),
        "{found} behind a key; expected `: `: write an ordinary colon and a space",
    ),
)
"""What looks right and is not, as a line shows it: the sign in the group, and what to say."""


def _slip_near(text: str, mark: Mark) -> YamlFault | None:
    """Return the slip of a finger that made libyaml stumble, on its line or the one before; None where there is none."""
    lines = text.split("\n")
    for number in (mark.line, mark.line - 1):
        for pattern, message in _SLIPS if 0 <= number < len(lines) else ():
            match = pattern.match(lines[number])
            if match is not None:
                sign = match[match.lastindex or 0]
                found = f"U+{ord(sign):04X} {unicodedata.name(sign, '')}".rstrip()
                column = match.start(match.lastindex or 0) + 1
                return YamlFault(FaultKind.BROKEN_SYNTAX, message.format(found=found), number + 1, column)
    return None


def first_key_line(data: bytes, mapping_start: int, key: str) -> int:
    """Return the line of the first `key` in the mapping that begins at code point `mapping_start`."""
    depth = 0
    expects_key = False
    for event in _events(data):
        if depth == 0:
            if isinstance(event, MappingStartEvent) and start_mark(event).index == mapping_start:
                depth, expects_key = 1, True
            continue
        if isinstance(event, CollectionEndEvent):
            depth -= 1
        if depth == 1 and expects_key and isinstance(event, ScalarEvent) and event.value == key:
            return start_mark(event).line + 1
        if isinstance(event, CollectionStartEvent):
            depth += 1
        elif depth == 1:
            expects_key = not expects_key
    raise AssertionError("the caller has seen the key")


def refuse_disguised_tokens(data: bytes) -> None:
    """Refuse `? key` and the tag `!`, which libyaml's events do not tell from ordinary keys and values.

    Raises:
        YamlFault: `data`, which has been read without a fault, holds one of them.
    """
    parser = CParser(data)
    while (token := parser.get_token()) is not None:
        if isinstance(token, TagToken):
            message = "the tag `!`; expected none: delete it, or quote the text if it belongs to it"
            raise _fault(FaultKind.TAG, message, token.start_mark)
        if isinstance(token, KeyToken) and token.start_mark.index != token.end_mark.index:
            message = "a key that begins with `?`; expected `key: value`: delete the question mark, or quote the text"
            raise _fault(FaultKind.KEY_NOT_TEXT, message, token.start_mark)


def _events(data: bytes) -> Iterator[Event]:
    """Yield libyaml's events over `data` until its end, or until it raises."""
    parser = CParser(data)
    while (event := parser.get_event()) is not None:
        yield event
