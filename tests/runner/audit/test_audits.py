"""Test 36: dishonest servers fail the audit that is meant for them, honest ones pass all four, 20 of 20."""

from dataclasses import replace

import pytest

from kbtool.runner.audit import Audit, AuditReport, AuditSpec
from tests.runner.audit.cheats import CHEATS
from tests.runner.audit.servers import SPEC, audited, honest_script, serving

SERVERS = 20
TIMED_SERVERS = 8
"""Of those whose cheat shows in times alone, and takes time to show."""
KINDS_WITH_COUNTERS = (0, 2)
"""Seeds whose kind tells of start times or incarnations, and counts."""


def failures(report: AuditReport) -> list[str]:
    """Return what failed and why."""
    return [f"{each.audit}: {each.name}: {each.found}" for each in report.checks if not each.passed]


def audit_honest(seed: int) -> list[str]:
    """Return what an audit has against an honest server."""
    with serving(honest_script(seed), jitter_ratio=(seed % 4) * 0.08) as engine:
        return failures(audited(engine, replace(SPEC, salt=f"honest {seed}")))


def audit_cheat(audit: Audit, number: int, spec: AuditSpec = SPEC, step_ms: float = 0.3) -> AuditReport:
    """Return what an audit finds of a dishonest server; one that caches is slow enough to be timed."""
    cheats = CHEATS[audit]
    seed = KINDS_WITH_COUNTERS[number % 2] if audit is Audit.IDENTITY else number % 3
    if audit is Audit.REPEATED:
        # Slow enough that what a busy machine adds to a step is small beside what the cache saves.
        script = honest_script(seed, prefix_cache=False, ttft_ms=6.0, step_ms=3.0, chunk_tok=(1,))
    else:
        script = honest_script(seed, prefix_cache=False, ttft_ms=0.0, step_ms=step_ms)
    with serving(script, cheats[number % len(cheats)]) as engine:
        return audited(engine, replace(spec, salt=f"{audit} {number}"))


def test_honest_servers_pass_all_four_audits() -> None:
    """Of 20 honest servers of five kinds, several speeds and chunkings, with prefix cache and jitter, none fails."""
    found = [audit_honest(seed) for seed in range(SERVERS)]
    assert found == [[]] * SERVERS


@pytest.mark.parametrize("audit", list(Audit))
def test_dishonest_servers_fail_the_audit_that_is_meant_for_them(audit: Audit) -> None:
    """Of 20 servers that cache, truncate, swap the model or answer nonsense, in all ways that there are, none passes."""
    # Four prompts are enough for what needs no timing.
    prompts, batches = (SPEC.prompts, 3) if audit is Audit.REPEATED else (4, 1)
    spec = replace(SPEC, audits=frozenset({audit}), prompts=prompts, batches=batches)
    servers = TIMED_SERVERS if audit is Audit.REPEATED else SERVERS
    found = [audit_cheat(audit, number, spec).failed for number in range(servers)]
    assert found == [{audit}] * servers


@pytest.mark.parametrize(
    ("audit", "number"), [(Audit.LENGTH, 2), (Audit.IDENTITY, 1), (Audit.IDENTITY, 3), (Audit.SENSE, 6)]
)
def test_cheat_shows_in_its_audit_alone(audit: Audit, number: int) -> None:
    """Where all four are carried out, what a server does wrong is found under its own name, or with its consequences."""
    report = audit_cheat(audit, number, step_ms=1.5)
    assert audit in report.failed
    assert not report.passed
    assert report.failed <= {audit, Audit.IDENTITY}
    wrong = [each for each in report.checks if not each.passed]
    assert all(each.found and each.expected and each.remedy for each in wrong)
