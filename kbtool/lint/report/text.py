"""A report for a person at a terminal: two lines a finding, and one that sums up."""

from collections import Counter
from collections.abc import Callable, Iterator

from kbtool.escape import terminal
from kbtool.findings import Finding
from kbtool.lint.outcome import Report

__all__ = ["finding_lines", "plural", "summary", "text"]


def text(report: Report, *, limit: int) -> str:
    """Return the report; of more than `limit` findings the worst are shown, in the order of the files.

    Remarks of the grade info are counted by rule and not listed, unless `limit` is 0: they ask for nothing now.
    """
    asked = [each for each in report.by_severity() if not limit or each.severity != "info"]
    shown = sorted(asked[:limit] if limit else asked, key=Finding.sort_key)
    lines = [line for finding in shown for line in finding_lines(finding, terminal)]
    remarks = Counter(f"{each.code} {each.name}" for each in report.findings if each.severity == "info")
    if limit and remarks:
        lines.append(
            "not shown: " + ", ".join(f"{name} ({number})" for name, number in sorted(remarks.items()))
        )
    if len(asked) > len(shown):
        lines.append(f"{len(asked) - len(shown)} more: `--limit 0` shows all, `--format json` holds all")
    lines.append(summary(report))
    return "\n".join(lines)


def finding_lines(finding: Finding, safe: Callable[[str], str]) -> Iterator[str]:
    """Yield place and name of a finding, then its message; `safe` escapes for where it is shown."""
    place = f"{finding.path}:{finding.line}:{finding.column}"
    yield safe(f"{place}: {finding.severity} {finding.code} {finding.name}")
    yield safe(f"  {finding.message}")


def summary(report: Report) -> str:
    """Return one line that says how the run ended."""
    counts = [plural(number, severity) for severity, number in report.counts().items() if number]
    mendable = sum(bool(finding.edits) for finding in report.findings)
    parts = [f"{', '.join(counts) or 'no findings'} in {plural(report.files_checked, 'file')}"]
    if report.accepted:
        parts.append(f"{plural(len(report.accepted), 'finding')} accepted by exceptions")
    if mendable:
        parts.append(f"`--fix` mends {mendable}")
    return "; ".join(parts)


def plural(number: int, noun: str) -> str:
    """Return a number with its noun: `1 error`, `2 errors`."""
    return f"{number:,} {noun}{'' if number == 1 or noun == 'info' else 's'}"
