"""Text that strangers wrote stays text in every place it is printed."""

import csv
import io
import json
import re
import shlex
from decimal import Decimal
from html.parser import HTMLParser
from urllib.parse import urlsplit

import defusedxml.ElementTree
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbtool import escape

HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "</title></script></style></textarea><script>alert(1)</script>",
    "<!--<script>]]>--><![CDATA[",
    "\" onmouseover=alert(1) x='",
    "&lt;img src=x onerror=alert(1)&gt; &amp;lt; &#60;",
    "javascript:alert(1)",
    "a\x00b\x1b[31mc\x9bd\u202ee\u2028f\ud800g\rh\r\ni",
    "__proto__",
]
any_text = st.text(st.characters(), max_size=60)


class _Reader(HTMLParser):
    """Collects what a browser would make of a fragment: tags, attribute values, text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


def read_html(fragment: str) -> _Reader:
    """Return what a browser would make of `fragment`."""
    reader = _Reader()
    reader.feed(fragment)
    reader.close()
    return reader


def replaced(text: str, illegal: str) -> str:
    """Return `text` with what is illegal shown as U+FFFD."""
    return re.sub(illegal, "\ufffd", text)


CONTROLS = "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]"


@given(any_text | st.sampled_from(HOSTILE))
def test_html_text_comes_back_as_the_same_text(text: str) -> None:
    """One element, no other tag, and the text content is what was put in."""
    page = read_html(f"<p>{escape.html_text(text)}</p>")
    assert page.tags == ["p"]
    assert page.text == replaced(text, CONTROLS)


@given(any_text | st.sampled_from(HOSTILE), st.sampled_from("\"'"))
def test_html_attribute_stays_in_its_quotes(text: str, quote: str) -> None:
    """The value is the only attribute, between either kind of quotes."""
    page = read_html(f"<a title={quote}{escape.html_attribute(text)}{quote}></a>")
    assert page.tags == ["a"]
    assert page.attributes == [("title", replaced(text, CONTROLS))]


@pytest.mark.parametrize(
    ("url", "linked"),
    [
        ("https://example.org/a?b=c#d", "https://example.org/a?b=c#d"),
        ("HTTPS://EXAMPLE.org/Path", "https://example.org/Path"),
        ("https://example.org", "https://example.org"),
        ("https://example.org:8443/x", "https://example.org:8443/x"),
        ("https://[2001:db8::1]/x", "https://[2001:db8::1]/x"),
        ("https://b\u00fccher.example/\u00fc", "https://xn--bcher-kva.example/%C3%BC"),
        ("https://\u0430pple.example/", "https://xn--pple-43d.example/"),
        ("https://example.org/\"><b>'`{}|^", "https://example.org/%22%3E%3Cb%3E%27%60%7B%7D%7C%5E"),
        ("https://example.org/a%20b", "https://example.org/a%20b"),
    ],
)
def test_href_gives_the_linked_form(url: str, linked: str) -> None:
    """Good URLs come back normal: lower-case scheme, ASCII host, encoded path."""
    assert escape.href(url) == linked
    assert escape.href(linked) == linked


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.org",
        "//example.org/",
        "/path",
        "http://example.org/",
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "java\tscript:alert(1)",
        "\x01javascript:alert(1)",
        " https://example.org/",
        "https://example.org/ ",
        "https://exa\nmple.org/",
        "https:example.org",
        "https:/example.org",
        "https:///example.org",
        "https:\\\\example.org",
        "https://example.org\\@evil.example/",
        "https://user@example.org/",
        "https://user:pass@example.org/",
        "https://@example.org/",
        "https://example.org:99999/",
        "https://example.org:x/",
        "https://exa%6dple.org/",
        "https://exa mple.org/",
        "https://[::1",
        "https://[fe80::1%25eth0]/",
        "https://[v1.x]/",
        "https://-bad-.example/",
        f"https://{'a' * 64}.example/",
        "https://example.org/\u202egro.live",
        "https://example.org/\ud800",
        "data:text/html,<script>alert(1)</script>",
        "vbscript:x",
        "file:///etc/passwd",
        "https://example.org/" + "a" * 2048,
    ],
)
def test_href_refuses(url: str) -> None:
    """Anything but an absolute https URL with a plain host is no link."""
    assert escape.href(url) is None


def test_href_takes_http_only_when_told() -> None:
    """Plain http needs the caller's word."""
    assert escape.href("http://example.org/", allow_http=True) == "http://example.org/"
    assert escape.href("ftp://example.org/", allow_http=True) is None


@given(any_text.map("https://example.org/".__add__) | any_text)
def test_href_is_ascii_and_keeps_the_host(url: str) -> None:
    """What comes back holds no character that HTML or a browser could read in a second way."""
    linked = escape.href(url)
    if linked is not None:
        assert re.fullmatch(r"https://[!#-&(-;=?-\[\]_a-z~A-Z]+", linked)
        assert escape.href(linked) == linked
        if url.startswith("https://example.org/"):
            assert urlsplit(linked).hostname == "example.org"


def test_shown_host_is_punycode() -> None:
    """A homograph host is shown as what it is."""
    assert escape.shown_host("https://\u0430pple.example/x") == "xn--pple-43d.example"
    assert escape.shown_host("javascript:alert(1)") is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | any_text | st.sampled_from(HOSTILE),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text, inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(json_values)
def test_script_json_parses_to_the_same_value(value: object) -> None:
    """Nothing is lost, and nothing in it can end or open an element or a line."""
    text = escape.script_json(value)
    assert json.loads(text) == value
    assert not re.search("[<>&\u2028\u2029\ud800-\udfff\r\n]", text)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_script_json_is_strict(value: float) -> None:
    """NaN is not JSON."""
    with pytest.raises(ValueError, match="JSON"):
        escape.script_json({"x": value})


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1", "-1", "@SUM(1)", "\tx", "\rx", "\nx", "  =1", "\ufeff=1", "\u200b=1", "\u00a0=1",
     "\u3000=1", "\uff1d1+1", "\uff0b1", "\uff0d1", "\uff20x", "\ufe63x", "\u22121", "-5"],
)  # fmt: skip
def test_csv_cell_disarms_formulas(text: str) -> None:
    """Text that a spreadsheet might run gets an apostrophe."""
    assert escape.csv_cell(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "93.9", "a=b", "tok/s", "6,853", "  x", "'=1", "\u20ac1"])
def test_csv_cell_leaves_other_text(text: str) -> None:
    """Harmless text is untouched."""
    assert escape.csv_cell(text) == text


def test_csv_cell_leaves_numbers() -> None:
    """A negative number is a number, and a decimal keeps its digits."""
    values: list[int | float | Decimal | bool | None] = [
        -5,
        -1.5,
        Decimal("-0.10"),
        Decimal("1E+3"),
        None,
        True,
        False,
    ]
    cells = [escape.csv_cell(value) for value in values]
    assert cells == ["-5", "-1.5", "-0.10", "1000", "", "true", "false"]


@given(any_text)
def test_csv_cell_keeps_the_text_after_the_apostrophe(text: str) -> None:
    """A reader that knows the rule gets the exact text back."""
    out = io.StringIO(newline="")
    csv.writer(out).writerow(["id", escape.csv_cell(text)])
    row = next(csv.reader(io.StringIO(out.getvalue(), newline="")))
    assert row[1] in (text, f"'{text}")


NOT_XML = CONTROLS[:-1] + "\ufffe\uffff]"


@given(any_text | st.sampled_from(HOSTILE))
def test_xml_comes_back_as_the_same_text(text: str) -> None:
    """Any text gives well-formed XML, in content and in attributes."""
    expected = replaced(text, NOT_XML)
    content, attribute = escape.xml_text(text), escape.xml_attribute(text)
    element = defusedxml.ElementTree.fromstring(f'<a b="{attribute}">{content}</a>')
    assert (element.text or "") == expected
    assert element.get("b") == expected


def test_terminal_shows_what_would_act_or_hide() -> None:
    """Escape sequences, line ends, direction marks and invisible characters become visible."""
    text = "a\x1b[31m\x07\r\n\t\x9b\u202e\u200b\u2028\U000e0041\ud800\x7f"
    shown = r"a\x1b[31m\x07\r\n\t\x9b\u202e\u200b\u2028\U000e0041\ud800\x7f"
    assert escape.terminal(text) == shown


@pytest.mark.parametrize("text", ["plain", "Gr\u00fc\u00dfe, \u65e5\u672c", "93.9\u00a0tok/s", "\\x1b"])
def test_terminal_leaves_readable_text(text: str) -> None:
    """Letters of any script and blanks pass."""
    assert escape.terminal(text) == text


@given(any_text)
def test_terminal_is_one_printable_line(text: str) -> None:
    """Whatever goes in, one line without controls comes out, and escaping again changes nothing."""
    line = escape.terminal(text)
    assert len(line.splitlines()) <= 1
    assert all(character.isprintable() or character.isspace() for character in line)
    assert escape.terminal(line) == line


@given(st.lists(st.sampled_from(["::", "##[", " ", "\t", "\n", "\u2003", "x", ":", "#", "["])).map("".join))
def test_log_line_is_never_a_command(text: str) -> None:
    """No line starts with `::` after blanks, and `##[` occurs nowhere."""
    line = escape.log_line(text)
    assert not line.lstrip().startswith("::")
    assert "##[" not in line
    assert len(line.splitlines()) <= 1


def test_log_line_keeps_ordinary_colons() -> None:
    """Only what the runner would read is changed."""
    assert escape.log_line("a::b ##x") == "a::b ##x"
    assert escape.log_line("::error file=x::pwned") == r"\x3a:error file=x::pwned"


def test_annotations_are_encoded() -> None:
    """The characters that end a message or a property are percent-encoded, others made visible."""
    assert escape.annotation_message("50%\r\n::x, \x1b") == r"50%25%0D%0A::x, \x1b"
    assert escape.annotation_property("a:b,c%\n") == "a%3Ab%2Cc%25%0A"


def test_file_name_of_an_id_is_the_id() -> None:
    """Ids of records are file names already."""
    identifier = "ev-sglang-dsv41-production-decode-tok-s-per-user"
    assert escape.file_name(identifier) == identifier


@pytest.mark.parametrize(
    ("identifier", "name"),
    [
        ("../../etc/passwd", "_2e_2e_2f_2e_2e_2fetc_2fpasswd"),
        ("", "_"),
        ("A", "_41"),
        ("con", "con_"),
        ("com1", "com1_"),
        ("a b", "a_20b"),
        ("a_b", "a_5fb"),
        ("\u00e9", "_c3_a9"),
    ],
)
def test_file_name_encodes_the_rest(identifier: str, name: str) -> None:
    """Separators, case, devices and other scripts are written out."""
    assert escape.file_name(identifier) == name


@given(any_text, any_text)
def test_file_names_are_plain_and_distinct(one: str, other: str) -> None:
    """Two identifiers share a name only if they are equal, also without regard to case."""
    name = escape.file_name(one)
    assert re.fullmatch(r"[a-z0-9_-]{1,120}", name)
    assert shlex.quote(name) == name
    assert (name.casefold() == escape.file_name(other).casefold()) == (one == other)


def test_long_file_names_stay_distinct() -> None:
    """A name that is cut is told apart by its hash."""
    one, other = escape.file_name("a" * 300 + "1"), escape.file_name("a" * 300 + "2")
    assert len(one) == len(other) == 120
    assert one != other
