"""What a lint run gives back."""

from collections import Counter
from dataclasses import dataclass
from typing import Final

from kbtool.findings import Finding, Severity

__all__ = ["SEVERITIES", "Report"]

SEVERITIES: Final[tuple[Severity, ...]] = ("error", "warning", "info")
"""Worst first."""


@dataclass(frozen=True, slots=True)
class Report:
    """The findings of one run, in the order of files and lines."""

    findings: tuple[Finding, ...]
    files_checked: int
    accepted: tuple[Finding, ...] = ()
    """Findings that an exception in their record silences."""

    def counts(self) -> dict[Severity, int]:
        """Return how many findings there are of each severity, worst first."""
        found = Counter(finding.severity for finding in self.findings)
        return {severity: found[severity] for severity in SEVERITIES}

    def by_severity(self) -> list[Finding]:
        """Return the findings, worst first."""
        return sorted(self.findings, key=lambda finding: SEVERITIES.index(finding.severity))
