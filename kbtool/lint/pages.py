"""The page of every check: of the rules, and of what keeps a file from being read or from having its shape."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

from kbtool.lint.examples import parse_page
from kbtool.lint.fault_pages import FAULT_PAGES
from kbtool.lint.rule import FAMILIES, Rule
from kbtool.lint.rules import RULES
from kbtool.lint.rules.base_commit import DiffKind
from kbtool.store.faults import FaultKind
from kbtool.store.shape import ShapeKind

__all__ = ["RulePage", "rule_pages"]

_WARNINGS: Final = frozenset({ShapeKind.NO_SCHEMA_LINE, ShapeKind.NO_FINAL_NEWLINE})


@dataclass(frozen=True, slots=True)
class RulePage:
    """What there is to say about one check."""

    code: str
    name: str
    family: str
    severity_text: str
    """Such as `error; warning while the record is a draft`."""
    summary: str
    paragraphs: tuple[str, ...]
    bad: tuple[str, ...]
    """YAML fragments that it flags."""
    good: tuple[str, ...]
    """YAML fragments that it does not flag."""
    kinds: tuple[str, ...] = ()
    """Kinds of record that it is about; empty for all."""


@cache
def rule_pages() -> tuple[RulePage, ...]:
    """Return all pages by code."""
    return tuple(sorted(_pages(), key=lambda page: page.code))


def _pages() -> Iterator[RulePage]:
    yield from map(_page, RULES)
    for kind in (*FaultKind, *ShapeKind, *DiffKind):
        severity = "warning" if kind in _WARNINGS else "error"
        page = FAULT_PAGES[kind]
        yield RulePage(
            code=kind.code,
            name=kind.slug,
            family=FAMILIES[kind.code[0]],
            severity_text=severity,
            summary=page.summary,
            paragraphs=(kind.why,),
            bad=(page.bad,) if page.bad else (),
            good=(page.good,) if page.good else (),
        )


def _page(rule: Rule) -> RulePage:
    page = parse_page(rule.page)
    draft = f"; {rule.draft} while the record is a draft" if rule.draft else ""
    return RulePage(
        code=rule.code,
        name=rule.name,
        family=rule.family,
        severity_text=rule.severity + draft,
        summary=page.summary,
        paragraphs=page.paragraphs,
        bad=tuple(each.fragment for each in page.examples if each.is_bad),
        good=tuple(each.fragment for each in page.examples if not each.is_bad),
        kinds=tuple(sorted(rule.kinds)),
    )
