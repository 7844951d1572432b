"""A record is read as every reader of YAML would read it, or refused at the exact place and with advice."""

import pickle
from decimal import Decimal
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbtool.store.emit import emit
from kbtool.store.faults import FaultKind
from kbtool.store.limits import MAX_BYTES, MAX_CHARACTERS, MAX_DEPTH, MAX_NODES
from kbtool.store.yamlio import Node, Value, YamlFault, parse, parse_with_positions
from tests.store.dialect import RECORD, values


def fault_of(data: bytes | str) -> YamlFault:
    """Return the fault of a file; both ways of reading must agree on it."""
    data = data.encode() if isinstance(data, str) else data
    with pytest.raises(YamlFault) as plain:
        parse(data)
    with pytest.raises(YamlFault) as with_positions:
        parse_with_positions(data)
    assert plain.value.args == with_positions.value.args
    return plain.value


# --- What is read -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("0", 0),
        ("-5", -5),
        ("131072", 131072),
        ("0.10", Decimal("0.10")),
        ("93.90", Decimal("93.90")),
        ("true", True),
        ("false", False),
        ("null", None),
        ("~", None),
        ("", None),
        ('"0.10"', "0.10"),
        ("'no'", "no"),
        ('""', ""),
        ("2026-10-04", "2026-10-04"),
        ("2026-10-04 10:00:00 +99:99", "2026-10-04 10:00:00 +99:99"),
        ("0.5.3", "0.5.3"),
        ("8x RTX", "8x RTX"),
        ("128K", "128K"),
        ("7b", "7b"),
        ("https://example.org/a?b=c#d", "https://example.org/a?b=c#d"),
        ("nanometre", "nanometre"),
        ("yesterday", "yesterday"),
        ("-not a list", "-not a list"),
        ('"a\\nb \\u00e9"', "a\nb é"),
        ("'it''s'", "it's"),
        ('[1, two, "3"]', [1, "two", "3"]),
        ("{a: 1, 'b c': ~}", {"a": 1, "b c": None}),
        ("|-\n  two\n\n  lines # no comment", "two\n\nlines # no comment"),
        ("|\n  one\n", "one\n"),
        (">-\n  folded\n  text", "folded text"),
        ("folded\n  plain", "folded plain"),
        ("\n- a\n-\n- - b", ["a", None, ["b"]]),
    ],
)
def test_value_is_read_with_its_type_and_digits(written: str, value: Value) -> None:
    """Numbers exact, words only as JSON has them, everything quoted text."""
    read = parse(f"key: {written}\n".encode())
    assert repr(read) == repr({"key": value})


@pytest.mark.parametrize(
    "text",
    [
        "---\na: 1\n",
        "a: 1\n...\n",
        "a: 1",
        '# first\na: 1 # number\nb: "x" # quoted\nc: # key\n  d: [x] # bracket\ne: true # word\nf: ~ # null\n',
        "a: 'x' #\nb: |- # header\n  text # kept\n# own line\n  # indented\nc: x\n",
        "a: Q&A, wow! a ! b & c * d? e ? f\n",
        "a: \"C:\\\\temp\"\nb: '\\d'\n",
    ],
)
def test_comments_marks_and_ordinary_signs_are_accepted(text: str) -> None:
    """What looks unusual but hides nothing is no fault."""
    value, _ = parse_with_positions(text.encode())
    assert value == parse(text.encode())
    assert isinstance(value, dict)


def test_text_after_an_indicator_inside_a_word_survives() -> None:
    """Signs that mean something elsewhere are text inside text."""
    read = parse(b"a: Q&A, wow! a ! b & c * d? e ? f\n")
    assert read == {"a": "Q&A, wow! a ! b & c * d? e ? f"}


# --- What is refused, and where -----------------------------------------------------------------

FAULTS: Final[dict[str, tuple[str | bytes, FaultKind, str]]] = {
    # Encoding and size
    "too large": (b"a: 1\n" + b"#" * MAX_BYTES, FaultKind.FILE_TOO_LARGE, "1:1"),
    "latin-1": (b"a: 1\nb: caf\xe9\n", FaultKind.NOT_UTF8, "2:7"),
    "latin-1 behind non-ascii": ("é: ".encode() + b"\xe9", FaultKind.NOT_UTF8, "1:4"),
    "utf-16": ("a: 1\n".encode("utf-16"), FaultKind.NOT_UTF8, "1:1"),
    "surrogate bytes": (b"a: \xed\xa0\x80", FaultKind.NOT_UTF8, "1:4"),
    "overlong": (b"a: \xc0\xaf", FaultKind.NOT_UTF8, "1:4"),
    "cut": (b"a: \xe2\x82", FaultKind.NOT_UTF8, "1:4"),
    "byte order mark": ("\ufeffa: 1\n", FaultKind.BYTE_ORDER_MARK, "1:1"),
    # Structure
    "empty": (b"", FaultKind.EMPTY_DOCUMENT, "1:1"),
    "comment only": ("# nothing\n", FaultKind.EMPTY_DOCUMENT, "1:1"),
    "mark only": ("---\n", FaultKind.EMPTY_DOCUMENT, "1:1"),
    "null only": ("null\n", FaultKind.EMPTY_DOCUMENT, "1:1"),
    "yaml directive": ("%YAML 1.2\n---\na: 1\n", FaultKind.DIRECTIVE, "1:1"),
    "tag directive": ("# x\n%TAG ! tag:e.org,2026:\n---\na: 1\n", FaultKind.DIRECTIVE, "2:1"),
    "unknown directive": ("%X\n---\na: 1\n", FaultKind.DIRECTIVE, "1:1"),
    "foreign version": ("%YAML 3.0\n---\na: 1\n", FaultKind.DIRECTIVE, "1:1"),
    "second document": ("a: 1\n---\nb: 2\n", FaultKind.SEVERAL_DOCUMENTS, "2:1"),
    "text behind the end": ("a: 1\n...\nb: 2\n", FaultKind.SEVERAL_DOCUMENTS, "3:1"),
    "duplicate key": ("a: 1\nb: 2\na: 3\n", FaultKind.DUPLICATE_KEY, "3:1"),
    "nested duplicate": ("x: é\nl:\n  - u: 1\n    v: {u: 2}\n    u: 2\n", FaultKind.DUPLICATE_KEY, "5:5"),
    "duplicate in braces": ("x: {é: 1, b: 2, é: 3}\n", FaultKind.DUPLICATE_KEY, "1:17"),
    "duplicate by escape": ('a: 1\n"\\u0061": 2\n', FaultKind.DUPLICATE_KEY, "2:1"),
    "anchor": ("a: &x 1\n", FaultKind.ANCHOR_OR_ALIAS, "1:4"),
    "anchor on a mapping": ("a:\n  - &s u: 1\n", FaultKind.ANCHOR_OR_ALIAS, "2:5"),
    "anchor on a list": ("a: &l [1]\n", FaultKind.ANCHOR_OR_ALIAS, "1:4"),
    "anchor on a key": ("&k a: 1\n", FaultKind.ANCHOR_OR_ALIAS, "1:1"),
    "anchor in brackets": ("a: [1,&x 2]\n", FaultKind.ANCHOR_OR_ALIAS, "1:7"),
    "alias": ("a: *x\n", FaultKind.ANCHOR_OR_ALIAS, "1:4"),
    "alias as key": ("*x : 1\n", FaultKind.ANCHOR_OR_ALIAS, "1:1"),
    "broken alias": ("a: *\n", FaultKind.ANCHOR_OR_ALIAS, "1:4"),
    "broken anchor": ("a: & b\n", FaultKind.ANCHOR_OR_ALIAS, "1:4"),
    "python tag": ("a: !!python/object/apply:os.system [x]\n", FaultKind.TAG, "1:4"),
    "local tag": ("a: !x {b: 1}\n", FaultKind.TAG, "1:4"),
    "undefined tag": ("a: !e!x b\n", FaultKind.TAG, "1:4"),
    "str tag": ("a: !!str 1\n", FaultKind.TAG, "1:4"),
    "tag on a key": ("!!str a: 1\n", FaultKind.TAG, "1:1"),
    "non-specific tag": ('a: ! "12"\n', FaultKind.TAG, "1:4"),
    "non-specific tag on a mapping": ("é: ! {b: 1}\n", FaultKind.TAG, "1:4"),
    "non-specific tag in braces": ('{"a":! b}\n', FaultKind.TAG, "1:6"),
    "merge key": ("a: 1\n<<: {b: 1}\n", FaultKind.MERGE_KEY, "2:1"),
    "number as key": ("a: 1\n1: a\n", FaultKind.KEY_NOT_TEXT, "2:1"),
    "null as key": ("~: b\n", FaultKind.KEY_NOT_TEXT, "1:1"),
    "boolean as key": ("true: b\n", FaultKind.KEY_NOT_TEXT, "1:1"),
    "list as key": ("? [c]\n: d\n", FaultKind.KEY_NOT_TEXT, "1:3"),
    "mapping as key": ("{{a: b}: c}\n", FaultKind.KEY_NOT_TEXT, "1:2"),
    "no key": ("a: 1\n: b\n", FaultKind.KEY_NOT_TEXT, "2:1"),
    "question mark": ("a: 1\n? b\n: c\n", FaultKind.KEY_NOT_TEXT, "2:1"),
    "question mark in braces": ("é: {?b: c}\n", FaultKind.KEY_NOT_TEXT, "1:5"),
    "ambiguous key": ("a: 1\non: 2\n", FaultKind.AMBIGUOUS_SCALAR, "2:1"),
    "pair without braces": ("a: [b: c]\n", FaultKind.UNBRACED_PAIR, "1:5"),
    "deep brackets": (f"a: {'[' * MAX_DEPTH}{']' * MAX_DEPTH}\n", FaultKind.NESTING_TOO_DEEP, "1:15"),
    "bottomless brackets": ("[" * 200_000, FaultKind.NESTING_TOO_DEEP, "1:1001"),
    "deep dashes": ("- " * 20, FaultKind.NESTING_TOO_DEEP, "1:25"),
    "many values": (f"a: [{'1,' * MAX_NODES}]\n", FaultKind.TOO_MANY_NODES, "1:39999"),
    "many lists": (f"a: [{'[],' * MAX_NODES}]\n", FaultKind.TOO_MANY_NODES, "1:59996"),
    "long text": (f'a: "{"x" * (MAX_CHARACTERS + 1)}"\n', FaultKind.SCALAR_TOO_LONG, "1:4"),
    # Syntax
    "unclosed double quote": ('a: 1\nb: "x\nc: 2\n', FaultKind.UNCLOSED_QUOTE, "2:4"),
    "unclosed single quote": ("é: 'x\nc: 2\n", FaultKind.UNCLOSED_QUOTE, "1:4"),
    "quote closed by the next one": ('a: "x\nb: 1\nc: "z"\n', FaultKind.UNCLOSED_QUOTE, "1:4"),
    "quote closed in braces": ('a: {b: "x, c: "y"}\n', FaultKind.BROKEN_SYNTAX, "1:16"),
    "text behind quotes": ("a: 'it's'\n", FaultKind.BROKEN_SYNTAX, "1:8"),
    "unclosed bracket": ("a: 1\nb: [1, 2\nc: 3\n", FaultKind.BROKEN_SYNTAX, "2:4"),
    "unclosed bracket at the end": ("b: [1, 2", FaultKind.BROKEN_SYNTAX, "1:4"),
    "unclosed brace": ("a: 1\nb: {c: 1\nd: 3\n", FaultKind.BROKEN_SYNTAX, "2:4"),
    "colon in text": ("title: SGLang: fast\n", FaultKind.BROKEN_SYNTAX, "1:14"),
    "colon in braces": ("a: {b: c: d}\n", FaultKind.BROKEN_SYNTAX, "1:9"),
    "too far right": ("a: 1\n  b: 2\n", FaultKind.BROKEN_SYNTAX, "2:4"),
    "too far left": ("a:\n    b: 1\n  c: 2\n", FaultKind.BROKEN_SYNTAX, "3:3"),
    "key among items": ("a:\n  - b\n  c: 1\n", FaultKind.BROKEN_SYNTAX, "3:3"),
    "no colon": ("a: 1\nb\nc: 2\n", FaultKind.BROKEN_SYNTAX, "2:1"),
    "reserved sign": ("é: @x\n", FaultKind.BROKEN_SYNTAX, "1:4"),
    "item behind a key": ("a: - b\n", FaultKind.BROKEN_SYNTAX, "1:4"),
    "empty item": ("a: [1,,2]\n", FaultKind.BROKEN_SYNTAX, "1:7"),
    "text behind a block sign": ("a: |x\n  b\n", FaultKind.BROKEN_SYNTAX, "1:5"),
    "question mark behind a key": ("a: ? b\n", FaultKind.BROKEN_SYNTAX, "1:4"),
    "hyphen without a space": ("a:\n  -id: x\n   b: 1\n", FaultKind.BROKEN_SYNTAX, "2:3"),
    "dash of typography": ("a:\n  \u2013 id: x\n    b: 1\n", FaultKind.BROKEN_SYNTAX, "2:3"),
    "no-break space behind a key": ("a: 1\nb:\u00a02\nc: 3\n", FaultKind.BROKEN_SYNTAX, "2:3"),
    "no-break space before a key": (
        "a:\n  - b: 1\n\u00a0 \u00a0 c: 2\n    d: 3\n",
        FaultKind.BROKEN_SYNTAX,
        "3:1",
    ),
    "full-width colon": ("a: 1\nb\uff1a 2\nc: 3\n", FaultKind.BROKEN_SYNTAX, "2:2"),
    "text behind a bracket": ("a: [sic] b\n", FaultKind.BROKEN_SYNTAX, "1:10"),
    # Values
    "typographic quotes": ("a: 1\nb: \u201c6,853\u201d\n", FaultKind.TYPOGRAPHIC_QUOTE, "2:4"),
    "typographic quotes on a key": ("\u00aba\u00bb: 1\n", FaultKind.TYPOGRAPHIC_QUOTE, "1:1"),
    "swallowed text": ("name: 8x RTX #4\n", FaultKind.COMMENT_AFTER_PLAIN_TEXT, "1:14"),
    "swallowed behind blanks": ("é: a\nb: é  # x\n", FaultKind.COMMENT_AFTER_PLAIN_TEXT, "2:7"),
    "swallowed in brackets": ("a: [b # c\n  ]\n", FaultKind.COMMENT_AFTER_PLAIN_TEXT, "1:7"),
    "swallowed in an item": ("a:\n  - b # c\n", FaultKind.COMMENT_AFTER_PLAIN_TEXT, "2:7"),
    "swallowed behind two lines": ("a: b\n  c # d\n", FaultKind.COMMENT_AFTER_PLAIN_TEXT, "2:5"),
    "swallowed behind a date": ("a: 2026-10-04 # d\n", FaultKind.COMMENT_AFTER_PLAIN_TEXT, "1:15"),
    "long int": ("a: 1\nb: 9007199254740993\n", FaultKind.NUMBER_TOO_LONG, "2:4"),
    "5000 digits": (f"a: {'9' * 5000}\n", FaultKind.NUMBER_TOO_LONG, "1:4"),
    "many decimals": ("a: 0.1234567890\n", FaultKind.NUMBER_TOO_LONG, "1:4"),
    "unknown escape": ('a: "x\\q"\n', FaultKind.INVALID_ESCAPE, "1:6"),
    "half a surrogate pair": ('a: "é\\ud800"\n', FaultKind.INVALID_ESCAPE, "1:6"),
    "escape without digits": ('a: "\\x8"\n', FaultKind.INVALID_ESCAPE, "1:5"),
    # Deceptive text, here and there; `test_text_checks` has the rest
    "nul": (b"a: 1\nb: \x00\n", FaultKind.CONTROL_CHARACTER, "2:4"),
    "nul by escape": ('a: 1\nb: "x\\0"\n', FaultKind.CONTROL_CHARACTER, "2:4"),
    "escape in a comment": ("# \x1b[2J\na: 1\n", FaultKind.CONTROL_CHARACTER, "1:3"),
    "crlf": ("a: 1\r\nb: 2\r\n", FaultKind.CARRIAGE_RETURN_LINE_END, "1:5"),
    "tab": ("a:\n\tb: 1\n", FaultKind.TAB, "2:1"),
    "line separator": ("é: x\u2028b: 1\n", FaultKind.FOREIGN_LINE_BREAK, "1:5"),
    "pushed out of sight": (f"é: x{' ' * 400}# y\n", FaultKind.RUN_OF_BLANKS, "1:5"),
    "bidi by escape": ('a: "\\u202e"\n', FaultKind.BIDI_CONTROL, "1:4"),
    "invisible key by escape": ('a: 1\n"\\u200b": 1\n', FaultKind.INVISIBLE_CHARACTER, "2:1"),
    "piled marks": ("a: e" + "\u0316" * 5, FaultKind.PILE_OF_COMBINING_MARKS, "1:5"),
    "mixed scripts": ("a: Fl\u0430sh\n", FaultKind.MIXED_SCRIPT_WORD, "1:6"),
    "decomposed": ("a: cafe\u0301\n", FaultKind.TEXT_NOT_NFC, "1:7"),
    "decomposed by escape": ('a: "cafe\\u0301"\n', FaultKind.TEXT_NOT_NFC, "1:4"),
    "conflict": ("a: |\n  <<<<<<< HEAD\n  x\n", FaultKind.CONFLICT_MARKER, "2:3"),
    "private use": ("a: \ue000\n", FaultKind.CHARACTER_WITHOUT_MEANING, "1:4"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_fault_is_found_at_its_line_and_column(case: str) -> None:
    """Columns count code points, and both ways of reading agree."""
    data, kind, place = FAULTS[case]
    fault = fault_of(data)
    assert (fault.kind, f"{fault.line}:{fault.column}") == (kind, place)


def test_every_kind_of_text_fault_has_a_case() -> None:
    """A new kind comes with its place and its test."""
    assert {kind for _, kind, _ in FAULTS.values()} == {kind for kind in FaultKind if kind.code < "Y2"}


@pytest.mark.parametrize("case", FAULTS)
def test_message_says_what_was_found_what_is_expected_and_what_to_do(case: str) -> None:
    """In that order, on one line, and short however long the file is."""
    fault = fault_of(FAULTS[case][0])
    assert "expected" in fault.message
    assert ":" in fault.message.partition("expected")[2]
    assert "\n" not in fault.message
    assert len(fault.message) < 300


@pytest.mark.parametrize(
    "written",
    [
        *("yes", "Yes", "YES", "no", "No", "NO", "on", "On", "OFF", "off", "y", "Y", "n", "N"),
        *("True", "TRUE", "False", "FALSE", "Null", "NULL", "=", "<<"),
        *(
            "+5",
            "-0",
            "-0.0",
            "-0.00",
            "012",
            "-012",
            "0_1",
            "1_000",
            "6,853",
            "1,234.5",
            "1e6",
            "1E6",
            "1e-5",
        ),
        *(
            "1.5e3",
            "12e03",
            ".5",
            "-.5",
            "+.5",
            "5.",
            "0x1F",
            "0o17",
            "0b11",
            "12:30:00",
            "1:30",
            "190:20:30.15",
        ),
        *(".inf", "-.inf", "+.INF", ".nan", ".NaN", "nan", "NaN", "inf", "-inf", "Infinity", "-Infinity"),
        *("９３.９", "٩٣", "−5", "０１２"),
    ],
)
def test_ambiguous_value_is_refused_until_it_is_quoted(written: str) -> None:
    """A number or boolean to some reader and text to another."""
    fault = fault_of(f"a: 1\nb: {written}\n")
    assert (fault.kind, fault.line, fault.column) == (FaultKind.AMBIGUOUS_SCALAR, 2, 4)
    assert written in fault.message
    assert parse(f'b: "{written}"\n'.encode()) == {"b": written}


HUGE: Final = {
    "braces": "{" * MAX_BYTES,
    "dashes": "- " * (MAX_BYTES // 2),
    "question marks": "? " * (MAX_BYTES // 2),
    "quotes": "'" * MAX_BYTES,
    "quoted words": '"a" ' * (MAX_BYTES // 4),
    "hash signs": "a" + " #" * (MAX_BYTES // 2 - 1),
    "exclamation marks": 'a: "' + "! " * (MAX_BYTES // 2 - 9),
    "backslashes": 'a: "' + "\\\\" * (MAX_BYTES // 2 - 9),
    "escaped texts": "a: [" + '"\\\\",' * (MAX_BYTES // 5 - 9),
    "line ends": "a: 1\r\n" * (MAX_BYTES // 6),
    "keys": "".join(f"k{n}: 1\n" for n in range(MAX_BYTES // 12)),
    "one key": "k: 1\n" * (MAX_BYTES // 5),
    "colons": ": " * (MAX_BYTES // 2),
    "digits": "a: " + "9" * (MAX_CHARACTERS - 9),
    "sexagesimal digits": "a: " + "1:" * (MAX_CHARACTERS // 2 - 9),
    "marks": "a: " + "x\u0316\u0301\u0316\u0301" * (MAX_BYTES // 9 - 9),
    "decomposed letters": "e\u0301" * (MAX_BYTES // 3),
    "joiners": "# " + "👩\u200d🔬 " * (MAX_BYTES // 12 - 9),
    "short words": 'a: "' + "бв " * (MAX_BYTES // 5 - 9),
    "mixed words": "аa " * (MAX_BYTES // 4 - 9),
}


@pytest.mark.parametrize("case", HUGE)
def test_huge_hostile_file_ends_in_a_fault(case: str) -> None:
    """Nothing takes time that grows with the square of the file, which would hang the linter for hours."""
    assert fault_of(HUGE[case]).message


def test_unclosed_quote_says_where_it_was_opened() -> None:
    """LibYAML itself names the end of the file."""
    assert "opened at 2:4" in fault_of('a: 1\nb: "x\nc: 2\n').message


def test_duplicate_key_says_where_the_first_one_is() -> None:
    """The right mapping is searched, however it nests."""
    text = "u: 0\nl:\n  - {u: 1}\n  - k: {u: 1}\n    u: 2\n    m:\n      u: 3\n    u: 4\n"
    assert "already on line 5" in fault_of(text).message


def test_mechanical_faults_carry_the_edit_that_mends_them() -> None:
    """`fmt` and `--fix` need no knowledge of their own."""
    assert [(edit.start, edit.end) for edit in fault_of("a: 1\r\nb: 2\r\n").edits] == [(4, 5), (10, 11)]
    assert [(edit.start, edit.end, edit.text) for edit in fault_of("\ufeffa: 1\n").edits] == [(0, 1, "")]
    assert [(edit.start, edit.end, edit.text) for edit in fault_of("a: cafe\u0301\n").edits] == [(6, 8, "é")]


def test_fault_becomes_a_finding_and_survives_another_process() -> None:
    """Workers hand faults over by pickle."""
    fault = fault_of("a: 1\na: 2\n")
    finding = pickle.loads(pickle.dumps(fault)).finding("records/engines/x.yaml")  # noqa: S301  # our own bytes
    assert (finding.path, finding.line, finding.column) == ("records/engines/x.yaml", 2, 1)
    assert (finding.code, finding.name, finding.severity) == ("Y107", "duplicate-key", "error")
    assert str(fault).startswith("2:1 Y107 duplicate-key: the key `a`")


# --- Positions ----------------------------------------------------------------------------------


def spans(text: str) -> dict[str, str]:
    """Return the text between the start and the end of each value, by JSON pointer."""
    found: dict[str, str] = {}

    def collect(node: Node, pointer: str) -> None:
        found[pointer] = text[node.start : node.end]
        items = node.children.items() if isinstance(node.children, dict) else enumerate(node.children or ())
        for key, child in items:
            collect(child, f"{pointer}/{key}")

    collect(parse_with_positions(text.encode())[1], "")
    return found


def test_spans_are_exact_for_every_style() -> None:
    """Neither comments nor blank lines that follow belong to a value."""
    text = (
        "# é\na: é b\n"
        "b: 'x' # c\nc:\nd: [1, {é: ~}]\ne: |\n  t\n   u\n\n\n# f\nf: |+\n  v\n\ng: >-\n  w\n  x\n\nh:\n  - i: 1\n\n    # c\n  -\n"
        'j: "a\n  b"\nk: l\n  m\n'
    )
    assert spans(text) == {
        "": text[4:-1],
        "/a": "é b",
        "/b": "'x'",
        "/c": "",
        "/d": "[1, {é: ~}]",
        "/d/0": "1",
        "/d/1": "{é: ~}",
        "/d/1/é": "~",
        "/e": "|\n  t\n   u",
        "/f": "|+\n  v\n\n",
        "/g": ">-\n  w\n  x",
        "/h": "- i: 1\n\n    # c\n  -",
        "/h/0": "i: 1",
        "/h/0/i": "1",
        "/h/1": "",
        "/j": '"a\n  b"',
        "/k": "l\n  m",
    }


def test_keys_have_their_place() -> None:
    """In mappings of lines and of braces, counted in code points."""
    _, root = parse_with_positions("é: {'ü b': 1}\nc:\n  - d: 2\n".encode())
    first, consumed = root.at(("é", "ü b"))
    assert consumed == 2
    assert (first.key_line, first.key_column, first.key_start, first.key_end) == (1, 5, 4, 9)
    assert (first.line, first.column, first.end_line, first.end_column, first.plain) == (1, 12, 1, 13, True)
    second, _ = root.at(("c", 0, "d"))
    assert (second.key_line, second.key_column, second.line, second.column) == (3, 5, 3, 8)
    assert root.key_line == 0


def test_location_of_a_model_error_finds_the_deepest_place() -> None:
    """A missing key leads to its parent; the name of a union member is passed over."""
    _, root = parse_with_positions(b"results:\n  - value: {low: 1}\n")
    assert root.at(("results", 0, "value", "range", "low"))[1] == 5
    node, consumed = root.at(("results", 0, "value", "range", "high"))
    assert (consumed, node.line, node.column) == (3, 2, 12)
    assert root.at(("results", 7))[1] == 1
    assert root.at(("results", "x"))[1] == 1
    assert root.at(())[0] is root


def check_places(value: Value, node: Node, text: str) -> None:
    """Check that offsets, lines and columns agree, and that children lie inside and in order."""
    for offset, line, column in (
        (node.start, node.line, node.column),
        (node.end, node.end_line, node.end_column),
    ):
        assert (line, column) == (text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset))
    end = node.start
    if isinstance(value, dict):
        assert isinstance(node.children, dict)
        assert list(node.children) == list(value)
        for key, item in value.items():
            child = node.children[key]
            assert end <= child.key_start <= child.key_end <= child.start <= child.end <= node.end
            check_places(item, child, text)
            end = child.end
    elif isinstance(value, list):
        assert isinstance(node.children, list)
        for item, child in zip(value, node.children, strict=True):
            assert end <= child.start <= child.end <= node.end
            check_places(item, child, text)
            end = child.end
    else:
        assert node.children is None


# --- Properties ---------------------------------------------------------------------------------


@given(values.filter(lambda value: value is not None))
def test_positions_never_change_what_is_read(value: Value) -> None:
    """The second pass reads the same data, and its places are consistent."""
    text = emit(value)
    read, root = parse_with_positions(text.encode())
    assert repr(read) == repr(parse(text.encode()))
    check_places(read, root, text)


def outcome(data: bytes) -> Value | YamlFault:
    """Return what comes of reading, either way; anything but a `YamlFault` escapes and fails the test."""
    try:
        value = parse(data)
    except YamlFault as fault:
        check_fault(fault, data)
        return fault
    read, root = parse_with_positions(data)
    check_places(read, root, data.decode())
    assert repr(read) == repr(value)
    return value


def check_fault(fault: YamlFault, data: bytes) -> None:
    """Check that a fault stands inside of the file, and that reading with positions finds the same."""
    lines = data.decode("utf-8", "replace").split("\n")
    assert 1 <= fault.line <= len(lines)
    assert 1 <= fault.column <= len(lines[fault.line - 1]) + 1
    assert fault_of(data).args == fault.args


@given(st.binary(max_size=60))
def test_random_bytes_raise_nothing_but_a_fault(data: bytes) -> None:
    """Whatever the bytes are."""
    outcome(data)


_PIECES: Final = st.text(max_size=3) | st.sampled_from(
    [
        *(
            "[",
            "]",
            "{",
            "}",
            ",",
            ":",
            ": ",
            "?",
            "!",
            "&",
            "*",
            "#",
            " #",
            "|",
            ">",
            "-",
            "- ",
            "'",
            '"',
            "%",
            "@",
            "`",
        ),
        *(
            "~",
            "\n",
            "\n  ",
            " ",
            "\t",
            "\\",
            "\\u",
            "\\x",
            "&a ",
            "*a",
            "!t ",
            "! ",
            "? ",
            "<<: ",
            "---\n",
            "...\n",
        ),
        *("\r\n", "\r", "\u2028", "é", "\u0301", "\u0430", "\u200d", "\ufe0f", "\ufeff", "\x00"),
        *("yes", "1e6", "012", "0.10"),
    ]
)


@given(st.data())
def test_mutated_record_raises_nothing_but_a_fault(data: st.DataObject) -> None:
    """Cut, doubled and sprinkled with what YAML is sensitive to."""
    text = RECORD
    for _ in range(data.draw(st.integers(min_value=1, max_value=4))):
        start = data.draw(st.integers(min_value=0, max_value=len(text)))
        end = data.draw(st.integers(min_value=start, max_value=min(len(text), start + 30)))
        piece = data.draw(_PIECES | st.just(text[start:end] * 2))
        text = text[:start] + piece + text[end:]
    outcome(text.encode("utf-8", "surrogatepass"))


def test_the_record_that_is_mutated_is_a_good_one() -> None:
    """Else the property above would test little."""
    assert outcome(RECORD.encode()) == parse(RECORD.encode())
