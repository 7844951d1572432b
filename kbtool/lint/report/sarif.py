"""A report as SARIF 2.1.0, for code-scanning services and editors."""

import json
from collections import Counter
from hashlib import sha256
from typing import Any, Final
from urllib.parse import quote

from kbtool import __version__
from kbtool.findings import Edit, Finding, Severity
from kbtool.lint.outcome import Report

__all__ = ["sarif"]

MOST_RESULTS: Final = 25_000
"""GitHub refuses a file with more."""

_LEVELS: Final[dict[Severity, str]] = {"error": "error", "warning": "warning", "info": "note"}
_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def sarif(report: Report) -> str:
    """Return the report; columns count code points, fingerprints survive a shift of lines."""
    findings = report.by_severity()[:MOST_RESULTS]
    codes = sorted({finding.code for finding in findings})
    run = {
        "tool": {"driver": {"name": "kbtool", "version": __version__, "rules": _rules(codes)}},
        "columnKind": "unicodeCodePoints",
        "results": _results(findings, codes),
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2).replace(
        "\x7f", "\\u007f"
    )


def _rules(codes: list[str]) -> list[dict[str, Any]]:
    from kbtool.lint.pages import rule_pages

    pages = {page.code: page for page in rule_pages()}
    return [
        {
            "id": code,
            "name": "".join(map(str.capitalize, pages[code].name.split("-"))),
            "shortDescription": {"text": pages[code].summary},
            "fullDescription": {"text": " ".join((pages[code].summary, *pages[code].paragraphs))},
            "properties": {"tags": [pages[code].family]},
        }
        for code in codes
    ]


def _results(findings: list[Finding], codes: list[str]) -> list[dict[str, Any]]:
    seen: Counter[str] = Counter()
    results = []
    for finding in findings:
        identity = f"{finding.path}\0{finding.code}\0{finding.pointer}"
        fingerprint = sha256(identity.encode()).hexdigest()[:32]
        seen[fingerprint] += 1
        result = {
            "ruleId": finding.code,
            "ruleIndex": codes.index(finding.code),
            "level": _LEVELS[finding.severity],
            "message": {"text": finding.message},
            "locations": [
                {"physicalLocation": {"artifactLocation": _file(finding), "region": _region(finding)}}
            ],
            # Of several findings at one place each is told apart by its turn.
            "partialFingerprints": {"kbtool/v1": f"{fingerprint}:{seen[fingerprint]}"},
        }
        if finding.edits:
            result["fixes"] = [_fix(finding)]
        results.append(result)
    return results


def _file(finding: Finding) -> dict[str, str]:
    return {"uri": quote(finding.path), "uriBaseId": "%SRCROOT%"}


def _region(finding: Finding) -> dict[str, int]:
    region = {"startLine": finding.line, "startColumn": finding.column}
    if finding.end_line >= finding.line and finding.end_column:
        region |= {"endLine": finding.end_line, "endColumn": finding.end_column}
    return region


def _fix(finding: Finding) -> dict[str, Any]:
    replacements = [_replacement(edit) for edit in finding.edits]
    return {"artifactChanges": [{"artifactLocation": _file(finding), "replacements": replacements}]}


def _replacement(edit: Edit) -> dict[str, Any]:
    return {
        "deletedRegion": {"charOffset": edit.start, "charLength": edit.end - edit.start},
        "insertedContent": {"text": edit.text},
    }
