"""All files together: the rules over the corpus, the status that reviews give, and accepted findings."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from kbtool.findings import Finding
from kbtool.lint.checker import found_in
from kbtool.lint.exceptions import exception_uses, split_accepted
from kbtool.lint.facts import Facts, FileFact, RecordFacts
from kbtool.lint.found import Found
from kbtool.lint.outcome import Report
from kbtool.lint.rule import CorpusProblem, Rule
from kbtool.lint.rules import RULES
from kbtool.store.files import RecordFile, read
from kbtool.store.read import ref_of

__all__ = ["reduced", "run_rules", "settled", "whole_facts"]

Files = Mapping[str, RecordFile]
"""By path relative to the project root."""


def reduced(root: Path, files: Files, found: Sequence[Found], facts: Facts, base: str | None) -> Report:
    """Return the report over all files.

    Args:
        root: The project.
        files: Every record file.
        found: What the files gave by themselves.
        facts: The facts of all records.
        base: The git revision to compare with, or None.
    """
    everything = [*found, *_run_all("corpus", facts, facts, files)]
    if base is not None:
        from kbtool.lint.base import base_findings

        everything += base_findings(root, base, facts, files)
    return settled(
        everything, facts, files, len(files), lambda rule: rule.scope != "base" or base is not None
    )


def whole_facts(files: Files, records: Iterable[RecordFacts], as_of: date | None) -> Facts:
    """Return the facts of all records as rules see them."""
    return Facts.of(records, [FileFact(ref_of(file), path) for path, file in files.items()], as_of=as_of)


def settled(
    found: Iterable[Found], facts: Facts, files: Files, files_checked: int, could_fire: Callable[[Rule], bool]
) -> Report:
    """Give each finding the severity that its record's status asks for, and take out the accepted ones."""
    is_draft = {record.path: facts.status(ref) == "draft" for ref, record in facts.records.items()}
    # A file whose id another one has is not among the records; whatever it is, nobody has reviewed it.
    findings = [each.settled(is_draft=is_draft.get(each.finding.path, True)) for each in found]
    still_open, accepted = split_accepted(findings, facts)
    uses = exception_uses(accepted, facts, RULES, could_fire)
    still_open += [each.finding for each in _run_all("exceptions", uses, facts, files)]
    return Report(
        tuple(sorted(still_open, key=Finding.sort_key)),
        files_checked,
        tuple(sorted(accepted, key=Finding.sort_key)),
    )


def _run_all(scope: str, argument: Any, facts: Facts, files: Files) -> list[Found]:
    return run_rules([rule for rule in RULES if rule.scope == scope], argument, facts, files)


def run_rules(rules: Iterable[Rule], argument: Any, facts: Facts, files: Files) -> list[Found]:
    """Run rules that look at more than one record, and work out where their problems stand."""
    problems: dict[str, list[tuple[Rule, CorpusProblem]]] = {}
    paths = {file.ref: file.path for file in reversed(facts.files)}
    for rule in rules:
        try:
            for problem in rule.check(argument):
                path = problem.path or paths[problem.ref]
                if path in files:  # of a run over some files, the others are none of its business
                    problems.setdefault(path, []).append((rule, problem))
        except Exception as error:
            error.add_note(f"while rule {rule.code} {rule.name} looked at all records")
            raise
    return [each for path in sorted(problems) for each in found_in(path, read(files[path]), problems[path])]
