"""Pages: everything that lint may report is explained under its code."""

from kbtool.lint.examples import parse_page
from kbtool.lint.pages import rule_pages
from kbtool.lint.rule import FAMILIES
from kbtool.lint.rules import RULES
from kbtool.store.faults import FaultKind
from kbtool.store.shape import ShapeKind


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
