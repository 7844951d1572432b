"""Prose keeps its few marks and its text; nothing in it acts."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kbtool.escape import href
from kbtool.site import prose
from kbtool.site.prose import Prose, prose_html

REL = 'rel="nofollow ugc noopener noreferrer"'
marks = st.sampled_from(
    [*"*_`[]()<>!#-+~&;:\\\"'\n\t 1.|=", "https://example.org/", "javascript:x", "a", "x y"]
)
markdown_text = st.lists(marks, max_size=30).map("".join) | st.text(max_size=80)


class _Reader(HTMLParser):
    """Notes every element, attribute and text of a fragment."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: set[str] = set()
        self.attributes: list[tuple[str, str, str | None]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data


def read(fragment: str) -> _Reader:
    """Return what a browser would make of `fragment`."""
    reader = _Reader()
    reader.feed(str(fragment))
    reader.close()
    return reader


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("plain", "<p>plain</p>\n"),
        ("a *b* **c** `d`", "<p>a <em>b</em> <strong>c</strong> <code>d</code></p>\n"),
        ("one\ntwo\n\nthree", "<p>one\ntwo</p>\n<p>three</p>\n"),
        ("- a\n- b", "<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n"),
        ("3. a", '<ol start="3">\n<li>a</li>\n</ol>\n'),
        ("```yaml\na: <b>\n```", "<pre><code>a: &lt;b&gt;\n</code></pre>\n"),
        (
            "[a](https://EXAMPLE.org/x)",
            f'<p><a href="https://example.org/x" {REL}>a</a></p>\n',
        ),
        (
            "<https://example.org/>",
            f'<p><a href="https://example.org/" {REL}>https://example.org/</a></p>\n',
        ),
        ("kv_cache_dtype and 2 * 3 * 4", "<p>kv_cache_dtype and 2 * 3 * 4</p>\n"),
    ],
)
def test_marks_that_work(text: str, html: str) -> None:
    """Emphasis, code, lists and https links become elements."""
    assert prose_html(text) == html


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "<!--<script>]]>-->",
        "![i](https://example.org/x.png)"[1:].replace("https", "http"),
        "[a](javascript:alert(1))",
        "[a](JaVaScRiPt:alert(1))",
        "[a](java&#x09;script:alert(1))",
        "[a](data:text/html,x)",
        "[a](/relative) [b](//evil.example/)",
        "<javascript:alert(1)>",
        "# heading {#id onclick=x}",
        "heading\n=======",
        "[ref]: https://evil.example/",
        '*[TTFT]: "><img src=x onerror=alert(1)>',
        "&lt;b&gt; &amp;lt; &#60;",
        "\\*a \\(b\\)",
        '--8<-- ".git/config"',
        "{{ config }} {% raw %} ${x}",
        "| a | b |\n|---|---|",
        "> 85% of the time",
        "    indented",
        "***",
    ],
)
def test_everything_else_is_text(text: str) -> None:
    """What is no mark of ours comes back as the same text, without an element of its own."""
    page = read(prose_html(text))
    assert page.text.strip() == text.strip()
    assert page.elements == {"p"}


def test_an_image_is_at_most_a_link() -> None:
    """No page of ours fetches what a record names."""
    page = read(prose_html("![i](https://example.org/x.png)"))
    assert page.elements == {"p", "a"}
    assert page.text.strip() == "!i"


def test_foreign_hosts_are_shown_as_punycode() -> None:
    """A look-alike host is linked as what it is."""
    assert "xn--pple-43d.example" in prose_html("[a](https://\u0430pple.example/)")


@given(markdown_text)
@example("[x]()")
@example("[x](<https://example.org/> 'onclick=x')")
def test_only_allowed_elements_and_attributes(text: str) -> None:
    """Whatever goes in, the result holds our few elements, https links and nothing else."""
    page = read(prose_html(text))
    assert page.elements <= {"a", "code", "em", "li", "ol", "p", "pre", "strong", "ul"}
    for tag, name, value in page.attributes:
        assert (tag, name) in {("a", "href"), ("a", "rel"), ("ol", "start")}
        if name == "href":
            assert value is not None
            assert href(value) == value


@given(markdown_text)
@example("a\u00a0b & \"c\" 'd' <e>")
def test_the_short_way_gives_the_same(text: str) -> None:
    """Plain paragraphs skip Markdown and come out as if they had not."""
    if prose._PLAIN.fullmatch(text) and not re.search("[\x00-\x1f\x7f-\x9f]", text):
        full = Prose()
        assert prose_html(text) == full._cleaner.clean(full._markdown.render(text))
