"""One file at a time: its record rules, its facts, and which other records those rules looked at."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from typing import Any, Final, NamedTuple

from kbtool.findings import Finding, Severity
from kbtool.lint.collect import collect_facts
from kbtool.lint.facts import RecordFacts
from kbtool.lint.found import Found
from kbtool.lint.lookup import FileView, Lookup
from kbtool.lint.rule import CorpusProblem, Problem, Rule
from kbtool.schema.base import StrictModel
from kbtool.store.files import RecordFile
from kbtool.store.fmt import surface_findings
from kbtool.store.places import place, split
from kbtool.store.read import Loaded, read_file
from kbtool.store.yamlio import parse_with_positions

__all__ = ["Checked", "Checker", "RecordReader", "found_in"]

MOST_RECORDS_KEPT: Final = 2_048


class Checked(NamedTuple):
    """What one file gave."""

    found: tuple[Found, ...]
    facts: RecordFacts | None
    asked: frozenset[str]
    """Other records that the rules looked at, whether they exist or not."""


class RecordReader:
    """Records by reference, the last used kept at hand."""

    def __init__(self, find: Callable[[str], RecordFile | None]) -> None:
        self._find = find
        self._kept: OrderedDict[str, StrictModel | None] = OrderedDict()

    def read(self, ref: str) -> StrictModel | None:
        """Return a record, or None where there is none or it is broken."""
        if ref in self._kept:
            self._kept.move_to_end(ref)
            return self._kept[ref]
        file = self._find(ref)
        record = read_file(file).record if file is not None else None
        self.keep(ref, record)
        return record

    def keep(self, ref: str, record: StrictModel | None) -> None:
        """Keep a record that was read elsewhere at hand."""
        self._kept[ref] = record
        if len(self._kept) > MOST_RECORDS_KEPT:
            self._kept.popitem(last=False)


class Checker:
    """Runs the record rules."""

    def __init__(self, rules: Iterable[Rule], read: Callable[[str], StrictModel | None]) -> None:
        self._lookup = Lookup(read)
        self._rules: dict[str, list[Rule]] = {}
        for rule in rules:
            for kind in rule.kinds:
                self._rules.setdefault(kind, []).append(rule)

    def check(self, loaded: Loaded) -> Checked:
        """Check one file."""
        found = [Found(finding) for finding in loaded.findings]
        if loaded.value is None:
            return Checked(tuple(found), None, frozenset())
        file, text = loaded.file, loaded.data.decode()
        found += map(Found, surface_findings(text, file))
        if loaded.record is None:
            return Checked(tuple(found), None, frozenset())
        view = FileView(file.relative, file.kind, text, loaded.value, loaded.record)
        problems = list(self._problems(loaded.record, view))
        if problems:
            found += found_in(file.relative, loaded.data, problems)
        facts = collect_facts(loaded.record, view, ref=loaded.ref, sha256=sha256(loaded.data).hexdigest())
        return Checked(tuple(found), facts, self._lookup.take_asked() - {loaded.ref})

    def _problems(self, record: StrictModel, view: FileView) -> Iterator[tuple[Rule, Problem]]:
        lookup = self._lookup
        given: dict[tuple[type, ...], tuple[Any, ...]] = {
            (): (record,),
            (Lookup,): (record, lookup),
            (FileView,): (record, view),
            (Lookup, FileView): (record, lookup, view),
            (FileView, Lookup): (record, view, lookup),
        }
        for rule in self._rules.get(view.kind, ()):
            try:
                for problem in rule.check(*given[rule.extras]):
                    yield rule, problem
            except Exception as error:
                error.add_note(f"while rule {rule.code} {rule.name} looked at {view.path}")
                raise


def found_in(path: str, data: bytes, problems: Iterable[tuple[Rule, Problem | CorpusProblem]]) -> list[Found]:
    """Return problems of one file as findings, with their places."""
    text = data.decode()
    root = parse_with_positions(data)[1]
    found = []
    for rule, problem in problems:
        spot = place(root, split(problem.at))
        severity: Severity = problem.severity or rule.severity
        finding = Finding(
            path=path,
            line=spot.line,
            column=spot.column,
            code=rule.code,
            name=rule.name,
            severity=severity,
            message=problem.message,
            pointer=problem.at,
            suggestion=problem.suggestion,
            edits=tuple(problem.edits(text, root)) if problem.edits else (),
            end_line=spot.end_line,
            end_column=spot.end_column,
        )
        found.append(Found(finding, rule.draft if problem.severity is None else None))
    return found
