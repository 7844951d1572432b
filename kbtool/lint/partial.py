"""A run over some files: what can be said about them without reading the others.

Of the other files the names are known, which is enough to find dead references; a record that a rule asks for,
and the review of each record, are read.  Rules over the corpus run only where that much is enough for them.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from pathlib import Path

from kbtool.findings import Finding
from kbtool.lint.checker import Checker, RecordReader
from kbtool.lint.facts import Facts, FileFact, RecordFacts
from kbtool.lint.found import Found
from kbtool.lint.outcome import Report
from kbtool.lint.reduce import run_rules, settled
from kbtool.lint.rules import RULES
from kbtool.store.files import RecordFile, discover, locate
from kbtool.store.names import record_names
from kbtool.store.read import read_file

__all__ = ["run_partial"]


def run_partial(root: Path, paths: Sequence[Path], *, base: str | None, as_of: date | None) -> Report:
    """Check some files and folders of a project."""
    chosen = list(_chosen(root, paths))
    files = {each.relative: each for each in chosen if isinstance(each, RecordFile)}
    names = sorted(record_names(root))
    by_ref = dict(reversed(names))

    def find(ref: str) -> RecordFile | None:
        file = locate(root, root / by_ref[ref]) if ref in by_ref else None
        return file if isinstance(file, RecordFile) else None

    checker = Checker(RULES, RecordReader(find).read)
    checked = [checker.check(read_file(file)) for file in files.values()]
    records = [each.facts for each in checked if each.facts is not None]
    reviews = [find(f"reviews/{each.ref}") for each in records]
    records += _facts_of(checker, (review for review in reviews if review is not None))
    facts = Facts.of(records, [FileFact(*name) for name in names], as_of=as_of)
    found = [Found(each) for each in chosen if isinstance(each, Finding)]
    found += [each for one in checked for each in one.found]
    found += run_rules([rule for rule in RULES if rule.partial], facts, facts, files)
    if base is not None:
        from kbtool.lint.base import base_findings

        found += base_findings(root, base, facts, files)
    ran = {
        rule for rule in RULES if rule.scope == "record" or rule.partial or (rule.scope == "base" and base)
    }
    return settled(found, facts, files, len(files), ran.__contains__)


def _chosen(root: Path, paths: Iterable[Path]) -> Iterator[RecordFile | Finding]:
    """Yield the record files that paths name or hold, and what is wrong with the others."""
    folders = [path for path in paths if path.is_dir() and not path.is_symlink()]
    for path in paths:
        if path not in folders:
            file = locate(root, path)
            if file is not None:
                yield file
    if folders:
        inside = tuple(f"{Path(os.path.relpath(path, root)).as_posix()}/" for path in folders)
        for each in discover(root):
            relative = each.relative if isinstance(each, RecordFile) else each.path
            if f"{relative}/".startswith(inside):
                yield each


def _facts_of(checker: Checker, files: Iterable[RecordFile]) -> Iterator[RecordFacts]:
    for file in files:
        facts = checker.check(read_file(file)).facts
        if facts is not None:
            yield facts
