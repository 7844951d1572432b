"""A lint report as text for people, as JSON and SARIF for programs, and as annotations for GitHub.

Messages quote records, which strangers write: each form makes them safe for where it is shown.
"""

from kbtool.errors import UsageError
from kbtool.lint.outcome import Report

__all__ = ["FORMATS", "render"]

FORMATS = ("text", "json", "github", "sarif")


def render(report: Report, form: str, *, limit: int = 50) -> str:
    """Return a report in one of `FORMATS`, without a line end behind the last line.

    Args:
        report: What to show.
        form: One of `FORMATS`.
        limit: Findings shown to people (text, the log on GitHub), the worst first; 0 shows all. Programs always get all.

    Raises:
        UsageError: there is no such form.
    """
    if form == "text":
        from kbtool.lint.report.text import text

        return text(report, limit=limit)
    if form == "json":
        from kbtool.lint.report.machine import json_text

        return json_text(report)
    if form == "github":
        from kbtool.lint.report.github import github

        return github(report, limit=limit)
    if form == "sarif":
        from kbtool.lint.report.sarif import sarif

        return sarif(report)
    raise UsageError(f"there is no form `{form}`: choose one of {', '.join(FORMATS)}")
