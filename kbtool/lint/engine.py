"""The entrance of lint: which files a run is about, and which of its findings are wanted."""

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path

from kbtool.findings import Finding
from kbtool.lint.cache import default_path
from kbtool.lint.outcome import Report
from kbtool.lint.whole import Progress, run_whole

__all__ = ["Progress", "check", "run"]


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
            path = default_path(root) if cache else None
            report = run_whole(root, base=base, as_of=as_of, cache_path=path, progress=progress)
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
