"""What changed since a git revision: records as they were, beside what they are now."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from kbtool.errors import UsageError
from kbtool.lint.checker import found_in
from kbtool.lint.facts import Facts
from kbtool.lint.found import Found
from kbtool.lint.git import git_output
from kbtool.lint.rule import Problem, RecordChange, Rule
from kbtool.lint.rules import RULES
from kbtool.lint.rules.base_commit import check_base
from kbtool.schema.base import StrictModel
from kbtool.store.files import FOLDERS, RECORDS, RecordFile
from kbtool.store.read import Loaded, load_bytes, read_file

__all__ = ["base_findings", "commit_of"]


def commit_of(root: Path, revision: str) -> str:
    """Return the commit that a revision names.

    Raises:
        UsageError: git does not know it, or there is no git.
    """
    found = git_output(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if found is None:
        raise UsageError(
            f"git knows no revision `{revision}` here: name a branch, tag or commit, and fetch it first"
        )
    return found.decode().strip()


def base_findings(root: Path, base: str, facts: Facts, files: Mapping[str, RecordFile]) -> list[Found]:
    """Return what the rules say of each record that changed since `base`, and of the change as a whole.

    Args:
        root: The project.
        base: A git revision.
        facts: The records as they are now.
        files: The files that the run is about.
    """
    rules = [rule for rule in RULES if rule.scope == "base"]
    commit = commit_of(root, base)
    found = [Found(finding) for finding in check_base(root, commit)]
    for path in _changed_paths(root, commit):
        before = _before(root, commit, path)
        after = read_file(files[path]) if path in files else None
        shown = after or before
        if shown is not None:
            change = RecordChange(shown.ref, _record(before), _record(after), facts)
            found += found_in(path, shown.data, _problems(rules, change))
    return found


def _problems(rules: list[Rule], change: RecordChange) -> list[tuple[Rule, Problem]]:
    problems = []
    for rule in rules:
        try:
            problems += [(rule, problem) for problem in rule.check(change)]
        except Exception as error:
            error.add_note(f"while rule {rule.code} {rule.name} looked at the change of {change.ref}")
            raise
    return problems


def _record(loaded: Loaded | None) -> StrictModel | None:
    return loaded.record if loaded is not None else None


def _changed_paths(root: Path, commit: str) -> Iterator[str]:
    """Yield the record files that differ from the commit, in order, those that git does not track yet included."""
    changed = git_output(
        root,
        "diff",
        "--no-ext-diff",
        "--no-textconv",
        "--no-renames",
        "--name-only",
        "-z",
        "--relative",
        commit,
        "--",
        RECORDS,
    )
    added = git_output(root, "ls-files", "--others", "--exclude-standard", "-z", "--", RECORDS)
    names = {os.fsdecode(name) for name in ((changed or b"") + (added or b"")).split(b"\0")}
    yield from sorted(name for name in names if name.endswith(".yaml") and name.split("/")[1] in FOLDERS)


def _before(root: Path, commit: str, path: str) -> Loaded | None:
    """Return a file as it was at the commit, or None where there was none."""
    data = git_output(root, "cat-file", "blob", f"{commit}:./{path}")
    if data is None:
        return None
    _, folder, *groups, name = path.split("/")
    file = RecordFile(root / path, path, FOLDERS[folder], name.removesuffix(".yaml"), "/".join(groups))
    return load_bytes(file, data)
