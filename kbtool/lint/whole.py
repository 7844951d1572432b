"""A run over all files: check each by itself, then all of them together, and do neither twice.

Map: a file gives findings and facts, which depend on its bytes and on the records that its rules looked at.
Reduce: the facts of all files give the findings that no file has by itself.  Both are cached by content, so that
a run in which nothing changed reads one row, and imports neither models nor rules.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kbtool.findings import Finding
from kbtool.lint.cache import Cache, Entry
from kbtool.lint.found import Found, finding_from_row, finding_row
from kbtool.lint.outcome import Report
from kbtool.lint.tree import Tree
from kbtool.store.files import RecordFile

if TYPE_CHECKING:
    from kbtool.lint.checker import Checked
    from kbtool.lint.facts import RecordFacts
    from kbtool.store.read import Loaded

__all__ = ["Progress", "run_whole"]

Progress = Callable[[int, int], None]

_SOURCES: Final = ("errors.py", "findings.py", "vocab", "schema", "store", "analysis", "lint")
"""Parts of kbtool that decide what a run finds."""
_READERS: Final = ("pydantic", "pydantic_core", "yaml")
_BATCH: Final = 100


def run_whole(
    root: Path, *, base: str | None, as_of: date | None, cache_path: Path | None, progress: Progress
) -> Report:
    """Check all files of a project; see `kbtool.lint.engine.run`."""
    cache = Cache.open(cache_path, _version())
    try:
        tree = Tree(root, cache)
        about = (str(as_of), _base_commit(root, base))
        stored = cache.report(tree.key(*about)) if cache.has_entries() else None
        report = _report_from_plain(stored) if stored is not None else None
        if report is None:
            report = _made(root, tree, cache, base=base, as_of=as_of, progress=progress)
            cache.store_report(tree.key(*about), _report_plain(report))
        tree.save(cache)
        return report
    finally:
        cache.close()


def _made(
    root: Path, tree: Tree, cache: Cache, *, base: str | None, as_of: date | None, progress: Progress
) -> Report:
    found, records = _mapped(tree, cache, progress)
    from kbtool.lint.reduce import reduced, whole_facts

    report = reduced(root, tree.files, found, whole_facts(tree.files, records, as_of), base)
    findings = tuple(sorted((*report.findings, *tree.faults), key=Finding.sort_key))
    return Report(findings, report.files_checked, report.accepted)


def _base_commit(root: Path, base: str | None) -> str:
    if base is None:
        return ""
    from kbtool.lint.base import commit_of

    return commit_of(root, base)


# --- Map --------------------------------------------------------------------------------------


def _mapped(tree: Tree, cache: Cache, progress: Progress) -> tuple[list[Found], list["RecordFacts"]]:
    """Return findings and facts of every file, checking those that changed or that looked at one that did."""
    from kbtool.lint.facts import RecordFacts

    found: list[Found] = []
    facts: list[RecordFacts] = []
    fresh: set[str] = set()
    for path, entry in cache.entries():
        if path in tree.files and _holds(entry, path, tree):
            fresh.add(path)
            found += [Found.from_row(row) for row in entry.findings]
            if entry.facts is not None:
                facts.append(RecordFacts.from_row(entry.facts))
    stale = [file for path, file in tree.files.items() if path not in fresh]
    for checked in _checked(tree, stale, cache, progress):
        found += checked.found
        if checked.facts is not None:
            facts.append(checked.facts)
    return found, facts


def _holds(entry: Entry, path: str, tree: Tree) -> bool:
    """Return whether neither a file nor a record that its rules looked at has changed."""
    return entry.digest == tree.digest(path) and all(
        tree.digest_of(ref) == digest for ref, digest in entry.asked.items()
    )


def _checked(
    tree: Tree, stale: Sequence[RecordFile], cache: Cache, progress: Progress
) -> Iterator["Checked"]:
    """Check files, and store what each of them gave."""
    if not stale:
        return
    from kbtool.lint.checker import Checker, RecordReader
    from kbtool.lint.rules import RULES
    from kbtool.store.read import read_file

    reader = RecordReader(tree.by_ref.get)
    checker = Checker(RULES, reader.read)
    # Benchmarks refer to the other kinds: those first, so that most are at hand by then.
    ordered = sorted(stale, key=lambda each: (each.kind == "benchmark", each.relative))
    for start in range(0, len(ordered), _BATCH):
        # First read, then check: each keeps the processor's caches warm, which saves a tenth.
        batch = [read_file(file) for file in ordered[start : start + _BATCH]]
        for loaded in batch:
            tree.note(loaded.file.relative, loaded.digest)
            if loaded.file.kind != "benchmark":
                reader.keep(loaded.ref, loaded.record)
        checked = [checker.check(loaded) for loaded in batch]
        cache.store_entries(_entries(tree, batch, checked))
        progress(start + len(batch), len(ordered))
        yield from checked


def _entries(
    tree: Tree, batch: Sequence["Loaded"], checked: Sequence["Checked"]
) -> Iterator[tuple[str, Entry]]:
    """Yield what the cache keeps of the files that could be read."""
    for loaded, each in zip(batch, checked, strict=True):
        if loaded.digest:
            asked = {ref: tree.digest_of(ref) for ref in sorted(each.asked)}
            found = [one.row() for one in each.found]
            yield loaded.file.relative, Entry(loaded.digest, asked, found, each.facts)


# --- Keys and rows ----------------------------------------------------------------------------


def _version() -> str:
    """Return a digest of everything but the records that decides what a run finds."""
    digest = blake2b(digest_size=16)
    digest.update(repr(sys.version_info[:2]).encode())
    package = Path(__file__).resolve().parent.parent
    for name in _SOURCES:
        path = package / name
        for source in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(f"{source.relative_to(package)}\0".encode())
            digest.update(source.read_bytes())
    for name in _READERS:
        spec = find_spec(name)
        if spec is not None and spec.origin is not None:
            # The folder's name holds no version, but an installation writes the file anew.
            status = Path(spec.origin).stat()
            digest.update(f"{name} {spec.origin} {status.st_size} {status.st_mtime_ns}\0".encode())
    return digest.hexdigest()


def _report_plain(report: Report) -> list[Any]:
    rows = [[finding_row(finding) for finding in findings] for findings in (report.findings, report.accepted)]
    return [report.files_checked, *rows]


def _report_from_plain(plain: Sequence[Any]) -> Report:
    files_checked, findings, accepted = plain
    return Report(
        tuple(map(finding_from_row, findings)), files_checked, tuple(map(finding_from_row, accepted))
    )
