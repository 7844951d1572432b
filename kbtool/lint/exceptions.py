"""Accepted findings: which exceptions of the records silence which findings."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date

from kbtool.findings import Finding
from kbtool.lint.facts import ExceptionFact, Facts
from kbtool.lint.rule import ExceptionUse, Rule
from kbtool.store.suggest import nearest

__all__ = ["exception_uses", "split_accepted"]

Exceptions = Mapping[str, Sequence[ExceptionFact]]
"""Path -> the exceptions of the record there that have not expired."""


def split_accepted(findings: Iterable[Finding], facts: Facts) -> tuple[list[Finding], list[Finding]]:
    """Return the findings that are open, and those that an exception in their record accepts."""
    exceptions = {record.path: record.exceptions for record in facts.records.values() if record.exceptions}
    still_open: list[Finding] = []
    accepted: list[Finding] = []
    for finding in findings:
        silenced = any(_covers(each, finding, facts.as_of) for each in exceptions.get(finding.path, ()))
        (accepted if silenced else still_open).append(finding)
    return still_open, accepted


def exception_uses(
    accepted: Sequence[Finding], facts: Facts, rules: Iterable[Rule], could_fire: Callable[[Rule], bool]
) -> list[ExceptionUse]:
    """Return what each exception did.

    Args:
        accepted: The findings that exceptions silenced.
        facts: Of all records.
        rules: All rules.
        could_fire: Whether this run has run a rule.
    """
    by_name = {name: rule for rule in rules for name in (rule.code, rule.name)}
    uses = []
    for ref, record in facts.records.items():
        if not record.exceptions:
            continue
        own = [finding for finding in accepted if finding.path == record.path]
        counts = Counter(
            index
            for finding in own
            for index, each in enumerate(record.exceptions)
            if _covers(each, finding, facts.as_of)
        )
        for index, each in enumerate(record.exceptions):
            rule = by_name.get(each.rule)
            uses.append(
                ExceptionUse(
                    ref=ref,
                    at=f"/exceptions/{index}",
                    rule=each.rule,
                    until=date.fromisoformat(each.until),
                    silenced=counts[index],
                    could_fire=rule is not None and could_fire(rule),
                    known=rule is not None,
                    suggestion=None if rule else nearest(each.rule, by_name),
                    expired=_has_expired(each, facts.as_of),
                )
            )
    return uses


def _covers(exception: ExceptionFact, finding: Finding, as_of: date | None) -> bool:
    """Return whether an exception silences a finding of its record."""
    at = exception.at
    return (
        exception.rule in {finding.code, finding.name}
        and (not at or finding.pointer == at or finding.pointer.startswith(f"{at}/"))
        and not _has_expired(exception, as_of)
    )


def _has_expired(exception: ExceptionFact, as_of: date | None) -> bool:
    return as_of is not None and exception.until < as_of.isoformat()
