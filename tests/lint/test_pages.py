"""Pages: everything that lint may report is explained under its code."""

from pathlib import Path

import pytest

from kbtool.lint import run
from kbtool.lint.examples import parse_page
from kbtool.lint.fault_pages import FAULT_PAGES
from kbtool.lint.pages import rule_pages
from kbtool.lint.rule import FAMILIES
from kbtool.lint.rules import RULES
from kbtool.lint.rules.base_commit import DiffKind
from kbtool.store.faults import FaultKind
from kbtool.store.shape import ShapeKind
from kbtool.store.shape import ShapeKind as S
from kbtool.store.yamlio import YamlFault, parse
from tests.lint.projects import write


def test_every_code_has_one_page() -> None:
    """Rules, faults of files and faults of shape, in the order of their codes."""
    codes = [page.code for page in rule_pages()]
    assert codes == sorted(codes)
    assert len(codes) == len(set(codes))
    assert set(codes) >= {each.code for each in (*RULES, *FaultKind, *ShapeKind)}


def test_pages_are_filled() -> None:
    """Each has a summary, a known family and a severity, and each fault its reason."""
    for page in rule_pages():
        assert page.summary.startswith("Flag ")
        assert page.family == FAMILIES[page.code[0]]
        assert page.severity_text.split(";")[0] in {"error", "warning", "info"}
        assert page.paragraphs or page.code[0] not in "YE"


AS_TEXT = {S.NOT_A_MAPPING, S.MISSING_KEY, S.NO_SCHEMA_LINE, S.MALFORMED_ID}
"""Shown as lines of a file of their own, and not laid over a record."""


def test_every_fault_has_a_page_that_says_what_is_flagged() -> None:
    """Each is a sentence of its own, and none is a slug with blanks."""
    assert set(FAULT_PAGES) == {*FaultKind, *ShapeKind, *DiffKind}
    for page in FAULT_PAGES.values():
        assert page.summary.startswith("Flag ")
        assert page.summary.endswith(".")


@pytest.mark.parametrize(
    "kind", [kind for kind in FaultKind if FAULT_PAGES[kind].bad], ids=lambda kind: kind.code
)
def test_yaml_examples_are_true(kind: FaultKind) -> None:
    """Bad lines have the fault, good ones can be read."""
    with pytest.raises(YamlFault) as raised:
        parse(f"{FAULT_PAGES[kind].bad}\n".encode())
    assert raised.value.kind is kind
    parse(f"{FAULT_PAGES[kind].good}\n".encode())


@pytest.mark.parametrize(
    "kind", [kind for kind in ShapeKind if FAULT_PAGES[kind].bad], ids=lambda kind: kind.code
)
def test_shape_examples_are_true(kind: ShapeKind, tmp_path: Path) -> None:
    """Laid over a valid record, bad lines give the code and no other, and good ones give nothing."""
    page = FAULT_PAGES[kind]
    if kind in AS_TEXT:
        path = tmp_path / "records" / "engines" / "x.yaml"
        path.parent.mkdir(parents=True)
        path.write_text(page.bad + "\n", encoding="utf-8")
        assert kind.code in {each.code for each in run(tmp_path, cache=False).findings}
        return
    bad = {each.code for each in run(write(tmp_path / "bad", page.bad), cache=False).findings}
    assert bad == {kind.code}
    assert not run(write(tmp_path / "good", page.good or "{}"), cache=False).findings


def test_docstring_is_taken_apart() -> None:
    """Paragraphs are joined to one line, fragments keep their lines and lose their indent."""
    page = parse_page(
        """Flag it.

        Because it
        matters.

        Bad:
            a: 1

            b:
              - 2

        Good:
            a: 2

        A last word.
        """
    )
    assert (page.summary, page.paragraphs) == ("Flag it.", ("Because it matters.", "A last word."))
    assert [(each.is_bad, each.fragment) for each in page.examples] == [
        (True, "a: 1\n\nb:\n  - 2"),
        (False, "a: 2"),
    ]
