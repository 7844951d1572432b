"""A report as annotations of a GitHub Actions run, with the text in its log.

GitHub shows ten annotations of a level a step and drops the others without a word: the rest is counted in a
notice. The log holds the worst findings and a count of the others, so that ten thousand bad files stay readable.
"""

from collections.abc import Iterator
from typing import Final

from kbtool.escape import annotation_message, annotation_property, log_line
from kbtool.findings import Finding, Severity
from kbtool.lint.outcome import Report
from kbtool.lint.report.text import finding_lines, plural, summary

__all__ = ["github"]

MOST_PER_LEVEL: Final = 10
_LEVELS: Final[dict[Severity, str]] = {"error": "error", "warning": "warning", "info": "notice"}


def github(report: Report, *, limit: int) -> str:
    """Return the log with its annotations, the worst first; of more than `limit` findings the rest is counted."""
    shown = report.by_severity()[: limit or None]
    lines = [line for finding in shown for line in finding_lines(finding, log_line)]
    hidden = len(report.findings) - len(shown)
    if hidden:
        lines.append(f"{hidden:,} more: `--limit 0` shows all, `--format json` holds all")
    return "\n".join([*lines, summary(report), *_annotations(report)])


def _annotations(report: Report) -> Iterator[str]:
    for severity, number in report.counts().items():
        chosen = [finding for finding in report.findings if finding.severity == severity]
        # One place of the notices is kept for those that say how many are left out.
        most = MOST_PER_LEVEL if severity != "info" else MOST_PER_LEVEL - len(_LEVELS)
        yield from map(_annotation, chosen[:most])
        if number > most:
            yield f"::notice title=kbtool lint::{plural(number - most, severity)} more: see the log of this step"


def _annotation(finding: Finding) -> str:
    properties = {
        "file": finding.path,
        "line": finding.line,
        "endLine": max(finding.end_line, finding.line),
        "col": finding.column,
        "endColumn": finding.end_column or finding.column,
        "title": f"{finding.code} {finding.name}",
    }
    if properties["endLine"] != finding.line:  # GitHub knows columns within one line only
        del properties["col"], properties["endColumn"]
    listed = ",".join(f"{name}={annotation_property(str(value))}" for name, value in properties.items())
    return f"::{_LEVELS[finding.severity]} {listed}::{annotation_message(finding.message)}"
