"""Rules about a change: what was merged stays as it was, or says what became of it.

The first rules look at one record before and after. `check_base` looks at the change as a whole: which files
it touches, how many, and of what kind.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from kbtool.analysis.parts import parts
from kbtool.findings import Finding, Severity
from kbtool.lint.git import git_output
from kbtool.lint.rule import Problem, RecordChange, base_rule
from kbtool.schema import Benchmark, Record, Review, Withdrawn
from kbtool.schema.benchmark import Result
from kbtool.schema.common import Figure
from kbtool.store.faults import CodedKind

__all__ = ["MOST_FILES", "DiffKind", "check_base", "diff_findings"]

MOST_FILES: Final = 500
"""Files of one change. More cannot be reviewed; an import of more is split, or agreed on beforehand."""
_MOST_REPORTED: Final = 20
_DATA: Final = ("records/", "raw/")
_BESIDE_DATA: Final = frozenset({"CHANGELOG.md"})
"""What a change of records may touch as well: correcting a number is news."""
_STEERS: Final = (
    ".ci/", ".github/", ".vscode/", "kbtool/", "scripts/", "site/", "tests/",
    ".gitattributes", ".gitignore", ".gitmodules", ".lfsconfig", ".pre-commit-config.yaml", ".mailmap",
    "Makefile", "mkdocs.yml", "pyproject.toml", "constraints.txt",
)  # fmt: skip
"""Folders and files that run, or decide what runs, when the project is built, tested or checked out."""
_SYMBOLIC_LINK: Final = "120000"
_NESTED_REPOSITORY: Final = "160000"
_EXECUTABLE: Final = "100755"
_STANDING: Final = ("draft", "disputed")
_GONE: Final = ("superseded", "retracted")


@base_rule("B001", "figure-changed-in-place")
def figure_changed_in_place(change: RecordChange) -> Iterator[Problem]:
    """Flag a merged figure that has another value now, without a word on it.

    Somebody has cited the old value. A correction is an entry in `changes` that names the field, with the
    old value, the new one and the reason; another measurement is another record, which supersedes this one.
    """
    before, after = change.before, change.after
    if not isinstance(before, Record) or not isinstance(after, Record):
        return
    told = _told(before, after)
    new = dict(_figures(after))
    for name, (_, old) in dict(_figures(before)).items():
        if name in new and new[name][1] != old and not _is_told(name, told):
            pointer, value = new[name]
            message = f"{_shown(old)} became {_shown(value)}: add a `changes` entry that names {name}, or a new record"
            yield Problem(pointer, message)


@base_rule("B002", "result-removed")
def result_removed(change: RecordChange) -> Iterator[Problem]:
    """Flag a merged result that is gone, without a word on it.

    Links and citations to it lead nowhere. A figure that was wrong stays as `standing: withdrawn`, with the
    reason.
    """
    before, after = change.before, change.after
    if not isinstance(before, Benchmark) or not isinstance(after, Benchmark):
        return
    told = _told(before, after)
    kept = {each.id for each in after.results}
    for result in before.results:
        if result.id not in kept and not _is_told(f"results.{result.id}", told):
            message = f"result {result.id} is gone: keep it as `standing: withdrawn`, or say in `changes` where it went"
            yield Problem("/results", message)


@base_rule("B003", "record-revived")
def record_revived(change: RecordChange) -> Iterator[Problem]:
    """Flag a superseded or retracted record that stands again.

    Both are the end of a record. What turned out right after all is a new record, with its own id and its
    reason.
    """
    before, after = change.before, change.after
    if not isinstance(before, Record) or not isinstance(after, Record):
        return
    if before.status in _GONE and after.status in _STANDING:
        yield Problem(
            "/status", f"it was {before.status} and is {after.status} now: leave it, and write a new record"
        )


@base_rule("B004", "removed-without-a-stone")
def removed_without_a_stone(change: RecordChange) -> Iterator[Problem]:
    """Flag a merged record that was deleted, with nothing in its place.

    Its address is cited somewhere, and its id could be given to another record. A record is retracted in
    place; where even that cannot be, a file under `records/withdrawn/` says what it was and why it went.
    """
    if change.before is None or change.after is not None or isinstance(change.before, Review):
        return
    if isinstance(change.before, Withdrawn):
        yield Problem(
            "", "a withdrawn record's file stays for good, so that its id never comes back: put it back"
        )
    elif not change.facts.exists(change.ref) and change.ref not in change.facts.withdrawn:
        message = f"{change.ref} is gone: retract it in place, or add records/withdrawn/{change.ref}.yaml"
        yield Problem("", message)


class DiffKind(CodedKind):
    """One kind of fault of a change as a whole: its code, and why it is refused."""

    FILE_BESIDE_RECORDS = (
        "B101",
        "Beside records, a reader of the change overlooks a file that runs when the project is built or tested.",
    )
    TOO_MANY_FILES = "B102", "Nobody can review more; what nobody reviewed is not evidence."
    LINK_OR_REPOSITORY = "B103", "It may point out of the repository, or change its content by itself."
    EXECUTABLE_DATA = "B104", "Records and raw files are data; nothing there is to be run."


def check_base(root: Path, commit: str) -> Iterator[Finding]:
    """Yield what is wrong with a change as a whole.

    Args:
        root: The project.
        commit: The commit that the change starts from.

    Raises:
        UsageError: There is no git.
    """
    changed = git_output(
        root, "diff", "--raw", "-z", "--no-renames", "--no-abbrev", "--relative", commit, "--"
    )
    added = git_output(root, "ls-files", "--others", "--exclude-standard", "-z")
    yield from diff_findings(changed or b"", added or b"")


def diff_findings(raw_diff: bytes, untracked: bytes = b"") -> Iterator[Finding]:
    """Yield the faults of a change.

    Args:
        raw_diff: Output of `git diff --raw -z --no-renames`.
        untracked: Output of `git ls-files --others -z`.
    """
    files = [
        *_changed(raw_diff),
        *(_Changed(os.fsdecode(each), "") for each in untracked.split(b"\0") if each),
    ]
    data = [each for each in files if each.path.startswith(_DATA)]
    for file in files:
        if file.mode in (_SYMBOLIC_LINK, _NESTED_REPOSITORY):
            what = "a symbolic link" if file.mode == _SYMBOLIC_LINK else "a nested repository"
            yield _finding(DiffKind.LINK_OR_REPOSITORY, file.path, f"{what}: put the file itself there")
    for file in data:
        if file.mode == _EXECUTABLE:
            yield _finding(
                DiffKind.EXECUTABLE_DATA, file.path, "an executable data file: take the bit off (chmod 644)"
            )
    if len(files) > MOST_FILES:
        message = f"a change of {len(files)} files; expected at most {MOST_FILES}: split it"
        yield _finding(DiffKind.TOO_MANY_FILES, files[0].path, message)
    if data:
        yield from _beside([each.path for each in files if not each.path.startswith(_DATA)])


class _Changed(NamedTuple):
    path: str
    mode: str
    """New mode, `000000` where the file was removed; empty where git does not know the file yet."""


def _changed(raw_diff: bytes) -> Iterator[_Changed]:
    """Take the output of `git diff --raw -z` apart: `:old new sha sha X NUL path NUL`."""
    fields = raw_diff.split(b"\0")
    for head, path in zip(fields[::2], fields[1::2], strict=False):
        yield _Changed(os.fsdecode(path), head.split(b" ")[1].decode("ascii"))


def _beside(paths: list[str]) -> Iterator[Finding]:
    """Yield what a change of records must not touch; those that steer the project first."""
    others = sorted(set(paths) - _BESIDE_DATA, key=lambda path: (not _steers(path), path))
    for path in others[:_MOST_REPORTED]:
        more = (
            f" ({len(others) - _MOST_REPORTED} more)"
            if len(others) > _MOST_REPORTED and path == others[0]
            else ""
        )
        message = (
            f"changed together with records{more}: put it into a change of its own, which code owners review"
        )
        yield _finding(DiffKind.FILE_BESIDE_RECORDS, path, message, "error" if _steers(path) else "warning")


def _steers(path: str) -> bool:
    return path.startswith(_STEERS) or path.rpartition("/")[2] in (
        "conftest.py",
        ".gitattributes",
        ".gitmodules",
    )


def _finding(kind: DiffKind, path: str, message: str, severity: Severity = "error") -> Finding:
    return Finding(
        path=path, line=1, column=1, code=kind.code, name=kind.slug, severity=severity, message=message
    )


# --- What a record says of its changes --------------------------------------------------------


def _figures(record: Record) -> Iterator[tuple[str, tuple[str, object]]]:
    """Yield the name of each figure as `changes` names it, with its pointer and what must not change in silence."""
    if isinstance(record, Benchmark):
        for index, result in enumerate(record.results):
            yield f"results.{result.id}", (f"/results/{index}/value", _measured(result))
    else:
        for pointer, figure in parts(record, Figure):
            yield pointer[1:].replace("/", "."), (f"{pointer}/value", (figure.value, figure.low, figure.high))


def _measured(result: Result) -> tuple[object, ...]:
    return (result.value, result.low, result.high, result.metric, result.statistic)


def _shown(figures: object) -> str:
    assert isinstance(figures, tuple)
    return " ".join(str(each) for each in figures if each is not None) or "nothing"


def _told(before: Record, after: Record) -> frozenset[str]:
    """Return the fields that changes since the base name."""
    known = set(before.changes)
    return frozenset(field for change in after.changes if change not in known for field in change.fields)


def _is_told(name: str, told: frozenset[str]) -> bool:
    """Return whether a change names a figure (`results.decode` or `decode`), a part of it, or what it is a part of."""
    names = (name, name.removeprefix("results."))
    return any(
        each == "." or each in names or name.startswith(f"{each}.") or each.startswith(f"{name}.")
        for each in told
    )
