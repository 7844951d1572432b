"""A finding on its way to the report, and the same as plain data for the cache."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self

from kbtool.findings import Edit, Finding, Severity

__all__ = ["Found", "finding_from_row", "finding_row"]


class Found(NamedTuple):
    """A finding whose severity may depend on whether its record is still a draft."""

    finding: Finding
    draft: Severity | None = None
    """Severity while the record is a draft, where it differs."""

    def settled(self, *, is_draft: bool) -> Finding:
        """Return the finding with the severity that its record's status gives it."""
        if is_draft and self.draft is not None:
            return replace(self.finding, severity=self.draft)
        return self.finding

    def row(self) -> list[Any]:
        """Return plain JSON data."""
        return [self.draft, *finding_row(self.finding)]

    @classmethod
    def from_row(cls, row: Sequence[Any]) -> Self:
        """Return what `row` was made of."""
        return cls(finding_from_row(row[1:]), row[0])


def finding_row(finding: Finding) -> list[Any]:
    """Return a finding as plain JSON data."""
    return [
        finding.path,
        finding.line,
        finding.column,
        finding.code,
        finding.name,
        finding.severity,
        finding.message,
        finding.pointer,
        finding.suggestion,
        [[edit.start, edit.end, edit.text] for edit in finding.edits],
        finding.end_line,
        finding.end_column,
    ]


def finding_from_row(row: Sequence[Any]) -> Finding:
    """Return the finding of `finding_row`."""
    path, line, column, code, name, severity, message, pointer, suggestion, edits, end_line, end_column = row
    made = tuple(Edit(*edit) for edit in edits)
    return Finding(
        path, line, column, code, name, severity, message, pointer, suggestion, made, end_line, end_column
    )
