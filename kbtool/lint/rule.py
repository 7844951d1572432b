"""What a lint rule is: one function, one code, one page of documentation.

A rule is a generator function under one of four decorators::

    @rule("T001", "layout-larger-than-system")
    def layout_larger_than_system(record: Benchmark) -> Iterator[Problem]: ...

    @corpus_rule("L001", "reference-not-found")
    def reference_not_found(facts: Facts) -> Iterator[CorpusProblem]: ...

    @base_rule("B001", "id-reused")
    def id_reused(change: RecordChange) -> Iterator[Problem]: ...

    @exception_rule("X001", "exception-without-finding")
    def exception_without_finding(uses: Sequence[ExceptionUse]) -> Iterator[CorpusProblem]: ...

The annotation of a record rule's first parameter says which kinds it is run on: one model, a union of
models, or `Record` for all seven kinds.  Further parameters are filled in by their annotation:
`Lookup` gives other records, `FileView` gives the file's text and all its strings.

The docstring is the rule's page on the site, and its `Bad:` and `Good:` fragments are its first tests
(`kbtool.lint.examples`).
"""

import types
import typing
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final, Literal

from kbtool.findings import Edit, Severity
from kbtool.lint.facts import Facts
from kbtool.lint.lookup import FileView, Lookup
from kbtool.schema import MODELS, Record
from kbtool.schema.base import StrictModel
from kbtool.store.positions import Node

__all__ = [
    "FAMILIES",
    "CorpusProblem",
    "EditMaker",
    "ExceptionUse",
    "Problem",
    "RecordChange",
    "Rule",
    "Scope",
    "base_rule",
    "collect",
    "corpus_rule",
    "exception_rule",
    "rule",
]

FAMILIES: Final[dict[str, str]] = {
    "Y": "file and YAML",
    "E": "shape",
    "I": "identity",
    "L": "links",
    "P": "provenance",
    "G": "gaps",
    "U": "units and values",
    "T": "topology",
    "S": "speculation",
    "C": "comparability",
    "N": "prose",
    "R": "status and review",
    "W": "security",
    "X": "exceptions",
    "B": "changes since the base commit",
}
"""First letter of a code -> what the family is about."""

Scope = Literal["record", "corpus", "base", "exceptions"]

EditMaker = Callable[[str, Node], Iterable[Edit]]
"""Makes a safe repair from the file's text and the positions of its root; called only when needed."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What a rule found in the record that it was given."""

    at: str
    """JSON pointer; where it names a key that is missing, the nearest parent that exists is shown."""
    message: str
    """What was found, what was expected, what to do; in this order."""
    suggestion: str | None = None
    """The nearest valid name; the message quotes it too."""
    edits: EditMaker | None = None
    """A repair that cannot change meaning, or None where a person must decide."""
    severity: Severity | None = None
    """Only where it differs from the rule's own."""


@dataclass(frozen=True, slots=True)
class CorpusProblem:
    """What a corpus rule found, and in which record."""

    ref: str
    """`<kind>s/<id>`, or `reviews/...` and `withdrawn/...` for those files."""
    at: str
    message: str
    suggestion: str | None = None
    edits: EditMaker | None = None
    severity: Severity | None = None
    path: str = ""
    """The file, where several have this reference; the first of them is meant if it is empty."""


@dataclass(frozen=True, slots=True)
class ExceptionUse:
    """One entry of a record's `exceptions`, and what it did in a full run."""

    ref: str
    at: str
    """JSON pointer of the entry."""
    rule: str
    """Code or name of the rule, as the entry gives it."""
    until: date
    silenced: int
    """Findings that it silenced."""
    could_fire: bool
    """Whether the rule was run; a run may leave out rules that need more than it was given."""
    known: bool
    """Whether there is such a rule."""
    suggestion: str | None
    """The rule that may have been meant, where there is no such rule."""
    expired: bool
    """Whether its last day has passed; never without a day to count from."""


@dataclass(frozen=True, slots=True)
class RecordChange:
    """One record as it was at the base commit and as it is now; None where it did not or does not exist."""

    ref: str
    before: StrictModel | None
    after: StrictModel | None
    facts: Facts
    """The corpus as it is now."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule; call it like the function that it was made from."""

    code: str
    name: str
    severity: Severity
    draft: Severity | None
    """Severity while the record is a draft without a valid review, where it differs."""
    scope: Scope
    check: Callable[..., Iterator[Any]]
    kinds: frozenset[str] = frozenset()
    """Kinds of record that a record rule is run on."""
    extras: tuple[type, ...] = ()
    """Types of the parameters after the record, in order."""
    partial: bool = False
    """Whether a corpus rule is right about the records at hand when of all others it knows the names alone."""
    page: str = field(default="", repr=False)
    """The docstring."""

    def __call__(self, *arguments: Any) -> Iterator[Any]:
        """Run the rule."""
        return self.check(*arguments)

    @property
    def summary(self) -> str:
        """The first line of the page."""
        return self.page.strip().partition("\n")[0]

    @property
    def family(self) -> str:
        """What the family of the code is about."""
        return FAMILIES[self.code[0]]


Check = Callable[..., Iterator[Problem]]
CorpusCheck = Callable[[Facts], Iterator[CorpusProblem]]
BaseCheck = Callable[[RecordChange], Iterator[Problem]]
ExceptionCheck = Callable[[Sequence[ExceptionUse]], Iterator[CorpusProblem]]


def rule(
    code: str, name: str, *, severity: Severity = "error", draft: Severity | None = None
) -> Callable[[Check], Rule]:
    """Make a rule of a function over one record."""

    def decorate(check: Check) -> Rule:
        hints = typing.get_type_hints(check)
        hints.pop("return", None)
        record, *extras = hints.values()
        if not set(extras) <= {Lookup, FileView}:
            raise TypeError(f"rule {code}: a parameter after the record is a Lookup or a FileView")
        page = check.__doc__ or ""
        return Rule(code, name, severity, draft, "record", check, _kinds(record), tuple(extras), page=page)

    return decorate


def corpus_rule(
    code: str,
    name: str,
    *,
    severity: Severity = "error",
    draft: Severity | None = None,
    partial: bool = False,
) -> Callable[[CorpusCheck], Rule]:
    """Make a rule of a function over the facts of all records.

    `partial` says that it is right about the records at hand when of all others it knows the names alone.
    """

    def decorate(check: CorpusCheck) -> Rule:
        return Rule(code, name, severity, draft, "corpus", check, partial=partial, page=check.__doc__ or "")

    return decorate


def exception_rule(code: str, name: str, *, severity: Severity = "error") -> Callable[[ExceptionCheck], Rule]:
    """Make a rule of a function over what the exceptions of all records did."""

    def decorate(check: ExceptionCheck) -> Rule:
        return Rule(code, name, severity, None, "exceptions", check, page=check.__doc__ or "")

    return decorate


def base_rule(
    code: str, name: str, *, severity: Severity = "error", draft: Severity | None = None
) -> Callable[[BaseCheck], Rule]:
    """Make a rule of a function over a record before and after a change."""

    def decorate(check: BaseCheck) -> Rule:
        return Rule(code, name, severity, draft, "base", check, page=check.__doc__ or "")

    return decorate


def collect(modules: Iterable[types.ModuleType]) -> tuple[Rule, ...]:
    """Return the rules of these modules by code.

    Raises:
        ValueError: two rules share a code or a name, or a code's family is not in `FAMILIES`.
    """
    rules = [value for module in modules for value in vars(module).values() if isinstance(value, Rule)]
    rules = list({id(each): each for each in rules}.values())
    for attribute in ("code", "name"):
        values = [getattr(each, attribute) for each in rules]
        twice = sorted({value for value in values if values.count(value) > 1})
        if twice:
            raise ValueError(f"more than one rule with {attribute} {', '.join(twice)}")
    unknown = sorted(each.code for each in rules if each.code[0] not in FAMILIES)
    if unknown:
        raise ValueError(f"codes of no family: {', '.join(unknown)}")
    return tuple(sorted(rules, key=lambda each: each.code))


def _kinds(annotation: Any) -> frozenset[str]:
    """Return the kinds whose models the annotation of a record parameter names."""
    if isinstance(annotation, types.UnionType) or typing.get_origin(annotation) is typing.Union:
        return frozenset().union(*map(_kinds, typing.get_args(annotation)))
    kinds = frozenset(kind for kind, model in MODELS.items() if issubclass(model, annotation))
    if not kinds or annotation is StrictModel:
        raise TypeError(
            f"{annotation!r} is not a kind of record: use a model of kbtool.schema, or {Record.__name__}"
        )
    return kinds
