"""Numbers and words as a reader sees them."""

from decimal import Decimal

import pytest

from kbtool.site.views.facts import same_text
from kbtool.site.views.text import (
    listed,
    one_line,
    plural,
    quantity_text,
    result_quantity,
    scalar_text,
    words,
)
from tests.site.samples import rich

BASE = {
    "id": "r-1",
    "metric": "tok_s_per_user",
    "as_published": "x",
    "at": {},
    "evidence": [{"source": "sources/field-report", "locator": "table 1"}],
}


@pytest.mark.parametrize(
    ("figure", "text", "raw"),
    [
        ({"value": 6853}, "6,853 tok/s", "6853"),
        ({"value": Decimal("6853.0")}, "6,853.0 tok/s", "6853.0"),
        ({"value": Decimal("0.10"), "metric": "utilization_ratio"}, "0.10", "0.10"),
        ({"low": 143, "high": 169, "metric": "ttft_ms"}, "143\u2013169 ms", "143"),
        ({"value": 7196, "qualifier": "approx"}, "\u2248 7,196 tok/s", "7196"),
        ({"low": 5}, "\u2265 5 tok/s", "5"),
        ({"high": 5}, "\u2264 5 tok/s", "5"),
        ({}, "not stated", ""),
    ],
)
def test_figures_keep_their_digits_and_say_how_sure_they_are(
    figure: dict[str, object], text: str, raw: str
) -> None:
    """A digit that was published is never dropped, and none is added."""
    (result,) = rich(headline="r-1", results=[{**BASE, **figure}]).results
    quantity = result_quantity(result)
    assert quantity_text(quantity).replace("\u202f", " ") == text
    assert quantity.raw == raw


@pytest.mark.parametrize(
    ("published", "shown", "same"),
    [
        ("6,853", "6,853 tok/s", True),
        ("93.9 tok/s", "93.9 tok/s", True),
        ("~7,196", "\u2248 7,196 tok/s", True),
        ("143-169 ms", "143\u2013169 ms", True),
        ("7,196", "\u2248 7,196 tok/s", False),
        ("6,765 (-1.3%)", "6,765 tok/s", False),
        ("87%", "0.87", False),
        ("0.34 s", "340 ms", False),
    ],
)
def test_what_was_published_is_repeated_only_where_it_says_more(
    published: str, shown: str, same: bool
) -> None:
    """Signs and spaces of the same number are no difference."""
    assert same_text(published, shown) is same


def test_words_of_the_vocabulary_are_read_as_words() -> None:
    """With the field's own abbreviations."""
    assert words("third_party") == "third party"
    assert words("kv-cache") == "KV cache"
    assert words("cuda_graph") == "CUDA graph"


def test_small_pieces() -> None:
    """Plurals, lists, settings and cuts."""
    assert (plural(1, "record"), plural(1200, "patch", "patches")) == ("1 record", "1,200 patches")
    assert [listed([]), listed(["a"]), listed(["a", "b", "c"])] == ["", "a", "a, b and c"]
    assert [scalar_text(each) for each in (None, True, Decimal("0.72"), "x")] == ["null", "true", "0.72", "x"]
    assert one_line("a  b\nc", 10) == "a b c"
    assert one_line("one two three four", 12) == "one two\u2026"
