"""A lint run: check each file by itself, then all of them together, and do neither twice.

Map: a file gives findings and facts, which depend on its bytes and on the records that its rules looked at.
Reduce: the facts of all files give the findings that no file has by itself.  Both are cached by content
(`kbtool.lint.cache`), so that a run in which nothing changed reads one row, and imports neither models nor rules.
"""

import gc
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kbtool.findings import Finding
from kbtool.lint.cache import Cache, Entry, default_path, stamp_of
from kbtool.lint.found import Found, finding_from_row, finding_row
from kbtool.lint.outcome import Report
from kbtool.store.files import RecordFile, discover

if TYPE_CHECKING:
    from kbtool.lint.checker import Checked
    from kbtool.lint.facts import RecordFacts

__all__ = ["Progress", "check", "run"]

Progress = Callable[[int, int], None]

_SOURCES: Final = ("errors.py", "findings.py", "vocab", "schema", "store", "analysis", "lint")
"""Parts of kbtool that decide what a run finds."""
_READERS: Final = ("pydantic", "pydantic_core", "yaml")
_BATCH: Final = 500


def check(root: Path) -> list[Finding]:
    """Return what the rules say about the records below a project root."""
    return list(run(root).findings)


def run(
    root: Path,
    *,
    paths: Sequence[Path] | None = None,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    base: str | None = None,
    as_of: date | None = None,
    cache: bool = True,
    progress: Progress = lambda _done, _total: None,
) -> Report:
    """Lint the records of a project.

    Args:
        root: The project.
        paths: Check these files and folders alone. Rules over all records are left out, but for those to which
            the names of the other files are enough.
        select: Report only codes or names that begin so; what keeps a file from being read is always reported.
        ignore: Leave out codes or names that begin so; likewise.
        base: Also check what changed since this git revision.
        as_of: The day for rules that need one; without it they are silent.
        cache: Whether to use and keep what earlier runs found out.
        progress: Is told how many files are checked, of how many.

    Raises:
        UsageError: there is no project at `root`, or git does not know `base`.
    """
    if paths is not None:
        from kbtool.lint.partial import run_partial

        report = run_partial(root, paths, base=base, as_of=as_of)
    else:
        with _no_collection():
            report = _run_all(root, base, as_of, default_path(root) if cache else None, progress)
    return _chosen(report, select, ignore)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Hold the garbage collector: a run makes many small objects and hardly any cycles."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _chosen(report: Report, select: Sequence[str], ignore: Sequence[str]) -> Report:
    if not select and not ignore:
        return report

    def is_wanted(finding: Finding) -> bool:
        if finding.code[0] in "YE":
            return True
        names = (finding.code, finding.name)
        chosen = not select or any(name.startswith(tuple(select)) for name in names)
        return chosen and not any(name.startswith(tuple(ignore)) for name in names if ignore)

    findings = tuple(filter(is_wanted, report.findings))
    return Report(findings, report.files_checked, tuple(filter(is_wanted, report.accepted)))


# --- Everything -------------------------------------------------------------------------------


@dataclass(slots=True)
class _Tree:
    """The files of a project and what is known of their content."""

    files: dict[str, RecordFile]
    """By path relative to the root."""
    faults: tuple[Finding, ...]
    digests: dict[str, str]
    """Path -> digest of the content; a file that was not read yet is missing."""


def _run_all(
    root: Path, base: str | None, as_of: date | None, cache_path: Path | None, progress: Progress
) -> Report:
    cache = Cache.open(cache_path, _version())
    try:
        tree = _tree(root, cache)
        about = [str(as_of), _base_commit(root, base)]
        known = _report_key(tree, about) if len(tree.digests) == len(tree.files) else ""
        stored = cache.report(known) if known else None
        if stored is not None:
            return _report_from_plain(stored)
        found, records = _mapped(tree, cache, progress)
        from kbtool.lint.reduce import reduced, whole_facts

        facts = whole_facts(tree.files, records, as_of)
        report = _with_faults(reduced(root, tree.files, found, facts, base), tree.faults)
        cache.store_report(_report_key(tree, about), _report_plain(report))
        return report
    finally:
        cache.close()


def _tree(root: Path, cache: Cache) -> _Tree:
    """Look at every file, and read those that may have changed since their digest was stored."""
    listed = list(discover(root))
    files = {each.relative: each for each in listed if isinstance(each, RecordFile)}
    faults = tuple(each for each in listed if isinstance(each, Finding))
    stored = cache.digests()
    tree = _Tree(files, faults, {})
    fresh = []
    for path, file in files.items():
        stamp, is_settled = stamp_of(file.path)
        old_stamp, digest = stored.get(path, ("", ""))
        if stamp != old_stamp:
            digest = _digest(file)
            if is_settled and digest:
                fresh.append((path, stamp, digest))
        if digest:
            tree.digests[path] = digest
    cache.store_digests(fresh)
    cache.forget(stored.keys() - files.keys())
    return tree


def _digest(file: RecordFile) -> str:
    """Return the digest of a file's content; empty where it cannot be read, which is a finding later."""
    from kbtool.store.faults import FileFault
    from kbtool.store.files import read

    try:
        return blake2b(read(file), digest_size=16).hexdigest()
    except FileFault:
        return ""


def _mapped(tree: _Tree, cache: Cache, progress: Progress) -> tuple[list[Found], list["RecordFacts"]]:
    """Return findings and facts of every file, checking those that changed or that looked at one that did."""
    from kbtool.lint.facts import RecordFacts

    entries = cache.entries()
    by_ref = {_ref(file): tree.digests.get(path, "") for path, file in reversed(tree.files.items())}
    found: list[Found] = []
    facts: list[RecordFacts] = []
    stale: list[RecordFile] = []
    for path, file in tree.files.items():
        entry = entries.get(path)
        if entry is None or not _holds(entry, tree.digests.get(path), by_ref):
            stale.append(file)
            continue
        found += [Found.from_row(row) for row in entry.findings]
        if entry.facts is not None:
            facts.append(RecordFacts.from_row(entry.facts))
    for checked in _checked(tree, by_ref, stale, cache, progress):
        found += checked.found
        if checked.facts is not None:
            facts.append(checked.facts)
    return found, facts


def _holds(entry: Entry, digest: str | None, by_ref: Mapping[str, str]) -> bool:
    """Return whether neither a file nor a record that its rules looked at has changed."""
    return entry.digest == digest and all(by_ref.get(ref, "") == old for ref, old in entry.asked.items())


def _checked(
    tree: _Tree, by_ref: Mapping[str, str], stale: Sequence[RecordFile], cache: Cache, progress: Progress
) -> Iterator["Checked"]:
    """Check files, and store what each of them gave."""
    if not stale:
        return
    from kbtool.lint.checker import Checker, RecordReader
    from kbtool.lint.rules import RULES
    from kbtool.store.read import read_file

    reader = RecordReader({_ref(file): file for file in reversed(tree.files.values())}.get)
    checker = Checker(RULES, reader.read)
    batch: list[tuple[str, Entry]] = []
    # Benchmarks refer to the other kinds: those first, so that most are at hand by then.
    for done, file in enumerate(sorted(stale, key=lambda each: (each.kind == "benchmark", each.relative)), 1):
        loaded = read_file(file)
        reader.keep(loaded.ref, loaded.record)
        checked = checker.check(loaded)
        if loaded.digest:
            asked = {ref: by_ref.get(ref, "") for ref in sorted(checked.asked)}
            found = [each.row() for each in checked.found]
            batch.append((file.relative, Entry(loaded.digest, asked, found, checked.facts)))
        if len(batch) >= _BATCH:
            cache.store_entries(batch)
            batch.clear()
        progress(done, len(stale))
        yield checked
    cache.store_entries(batch)


def _ref(file: RecordFile) -> str:
    """Return what a file is called among records, without an import of models."""
    if file.kind in {"review", "withdrawn"}:
        return f"{'reviews' if file.kind == 'review' else 'withdrawn'}/{file.group}/{file.id}"
    return f"{file.kind}s/{file.id}"


def _with_faults(report: Report, faults: Iterable[Finding]) -> Report:
    findings = tuple(sorted((*report.findings, *faults), key=Finding.sort_key))
    return Report(findings, report.files_checked, report.accepted)


def _base_commit(root: Path, base: str | None) -> str:
    if base is None:
        return ""
    from kbtool.lint.base import commit_of

    return commit_of(root, base)


# --- Keys -------------------------------------------------------------------------------------


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


def _report_key(tree: _Tree, about: Sequence[str]) -> str:
    digest = blake2b(digest_size=16)
    for path in tree.files:
        digest.update(f"{path}\0{tree.digests.get(path, '')}\0".encode())
    for fault in tree.faults:
        digest.update(repr(fault).encode())
    digest.update("\0".join(about).encode())
    return digest.hexdigest()


def _report_plain(report: Report) -> list[Any]:
    rows = [[finding_row(finding) for finding in findings] for findings in (report.findings, report.accepted)]
    return [report.files_checked, *rows]


def _report_from_plain(plain: Sequence[Any]) -> Report:
    files_checked, findings, accepted = plain
    return Report(
        tuple(map(finding_from_row, findings)), files_checked, tuple(map(finding_from_row, accepted))
    )
