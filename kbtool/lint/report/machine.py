"""A report as JSON."""

import json
from typing import Any

from kbtool.findings import Finding
from kbtool.lint.outcome import Report

__all__ = ["json_text"]

VERSION = 1
"""Of the form; a change that a reader could stumble over raises it."""


def json_text(report: Report) -> str:
    """Return the whole report as ASCII, so that no message can act on a terminal that shows it."""
    document = {
        "version": VERSION,
        "files_checked": report.files_checked,
        "counts": report.counts(),
        "findings": [_plain(finding) for finding in report.findings],
        "accepted": [_plain(finding) for finding in report.accepted],
    }
    return json.dumps(document, indent=2).replace("\x7f", "\\u007f")


def _plain(finding: Finding) -> dict[str, Any]:
    return {
        "path": finding.path,
        "line": finding.line,
        "column": finding.column,
        "end_line": finding.end_line or finding.line,
        "end_column": finding.end_column or finding.column,
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity,
        "message": finding.message,
        "pointer": finding.pointer,
        "suggestion": finding.suggestion,
        "edits": [{"start": edit.start, "end": edit.end, "text": edit.text} for edit in finding.edits],
    }
