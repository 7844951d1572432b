"""Mechanical repairs: the edits that findings carry, made where they cannot change what a record says.

A file is written only when the edited text can be read again and its findings are fewer; everything outside
of the edits stays byte for byte.
"""

from collections.abc import Iterable
from pathlib import Path

from kbtool.errors import RecordError
from kbtool.findings import Edit, Finding
from kbtool.lint.checker import Checker, RecordReader
from kbtool.lint.outcome import Report
from kbtool.lint.rules import RULES
from kbtool.store.edit import apply
from kbtool.store.files import RECORDS, RecordFile, discover, read, remove_leftovers, write_atomic
from kbtool.store.read import load_bytes, ref_of

__all__ = ["compatible_edits", "fix_files", "fixed"]

MOST_ROUNDS = 16
"""Of repair and check; each round may bring to light what the fault before it hid."""


def fix_files(root: Path, report: Report) -> list[str]:
    """Mend what the findings of a report say how to mend, and return the paths of the files that changed.

    What a run that was interrupted has left is removed. Whatever remains is for a person; lint again to see it.
    """
    remove_leftovers(root / RECORDS)
    mendable: dict[str, list[Finding]] = {}
    for finding in report.findings:
        if finding.edits:
            mendable.setdefault(finding.path, []).append(finding)
    files = (
        {each.relative: each for each in discover(root) if isinstance(each, RecordFile)} if mendable else {}
    )
    by_ref = {ref_of(file): file for file in reversed(files.values())}
    checker = Checker(RULES, RecordReader(by_ref.get).read)
    changed = []
    for path, findings in mendable.items():
        if path not in files:
            continue
        before = read(files[path])
        after = fixed(files[path], before, findings, checker)
        if after != before:
            write_atomic(files[path].path, after)
            changed.append(path)
    return changed


def fixed(file: RecordFile, data: bytes, findings: Iterable[Finding], checker: Checker) -> bytes:
    """Return the content of a file with its findings mended as far as edits go.

    Args:
        file: The file.
        data: Its content.
        findings: Those of its findings that have edits.
        checker: Finds out what the edits of one round have brought to light.
    """
    for _ in range(MOST_ROUNDS):
        edits = compatible_edits(findings)
        if not edits:
            break
        edited = apply(data.decode(), edits).encode()
        loaded = load_bytes(file, edited)
        if loaded.value is None and load_bytes(file, data).value is not None:
            raise RecordError(
                f"{file.relative}: the repair would make the file unreadable; this is a fault of kbtool"
            )
        data = edited
        findings = [each.finding for each in checker.check(loaded).found]
    return data


def compatible_edits(findings: Iterable[Finding]) -> list[Edit]:
    """Return the edits of findings, in order; of two that touch one place, those of the first finding alone."""
    chosen: list[Edit] = []
    for finding in findings:
        if not any(_touch(edit, other) for edit in finding.edits for other in chosen if edit != other):
            chosen += [edit for edit in finding.edits if edit not in chosen]
    return sorted(chosen)


def _touch(one: Edit, other: Edit) -> bool:
    return one.start <= other.end and other.start <= one.end
