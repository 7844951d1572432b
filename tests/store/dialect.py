"""Strategies for data that records can hold, and for records to break."""

from decimal import Decimal
from typing import Final

from hypothesis import strategies as st

from kbtool.store.text_checks import first_flaw
from kbtool.store.yamlio import Value

__all__ = ["RECORD", "keys", "scalars", "texts", "values"]

RECORD: Final = """\
# yaml-language-server: $schema=../../schema/benchmark.schema.json
schema_version: 1
id: ev-sglang-decode
title: "SGLang on 8x RTX PRO 6000: prose decodes at 93.9 tok/s – café"
updated: 2026-10-04
confidence: {label: medium, score: 0.80, reasons: [single_run, vendor_measured]}
system:
  # The source says Max-Q elsewhere.
  accelerator: accelerators/nvidia-rtx-pro-6000
  count: 8
  driver: null
results:
  - id: prose
    value: 93.90
    repeats: 2
    as_published: '~93.9 "tok/s"'
  - {id: json, value: 134, repeats: ~}
tags: []
notes: |-
  Two runs; see issue #12.

  The second one is 1% slower: within the spread.
"""
"""A good record with every style of value."""

_SPECIAL: Final = (
    *(
        "yes",
        "No",
        "null",
        "~",
        "true",
        "0.10",
        "012",
        "1e6",
        "12:30:00",
        ".5",
        "-",
        "- a",
        "a: b",
        "a #b",
        "#",
        "a:",
    ),
    *(
        "2026-10-04",
        "0.5.3",
        "'",
        '"',
        "\\",
        "it's",
        'say "x"',
        "a\\nb",
        "{a}",
        "[a, b]",
        "a, b",
        "&a",
        "*a",
        "!a",
    ),
    *(
        "%a",
        "@a",
        "`a`",
        "|",
        ">",
        "? a",
        "---",
        "...",
        "<<",
        "=",
        " a",
        "a ",
        "  ",
        "a\n",
        "\na",
        "a\n\n",
        "a\n b",
    ),
    *(
        "a \nb",
        "a\n\n\nb",
        "x" * 150,
        "word " * 40,
        "é",
        "µs",
        "—",
        "模型",
        "👩‍🔬",
        "https://example.org/a?b=c#d",
    ),
)


def _is_clean(text: str) -> bool:
    return first_flaw(text) is None


texts: Final = st.sampled_from(_SPECIAL) | st.text(
    st.sampled_from(" \n#:-?,[]{}&*!|>'\"%@`~=<\\/.+_()ab10")
    | st.characters(codec="utf-8", exclude_categories=["C"]),
    max_size=40,
).filter(_is_clean)
keys: Final = st.from_regex(r"[a-z][a-z0-9_]{0,11}", fullmatch=True) | texts.filter(
    lambda text: len(text) < 100
)
numbers: Final = st.integers(min_value=-(10**15) + 1, max_value=10**15 - 1) | st.builds(
    lambda digits, decimals: Decimal(digits or 1).scaleb(-decimals),
    st.integers(min_value=-(10**15) + 1, max_value=10**15 - 1),
    st.integers(min_value=1, max_value=9),
)
scalars: Final = st.none() | st.booleans() | numbers | texts
values: Final[st.SearchStrategy[Value]] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)
