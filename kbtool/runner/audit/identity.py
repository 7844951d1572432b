"""Audit 3: the model that answers under load is the one that answers alone.

Greedy answers of a real engine part ways under load after some words, because sums are rounded in another order in
another batch.  Their beginnings rarely do:  at 2 % a token four in five agree in their first eight words, where answers
of another model hardly ever do.  The limit of half of all answers lies far from both, and finds a model that was swapped
for most requests under load;  one that is swapped for a few is not found.
"""

from collections.abc import Sequence
from typing import Final

from kbtool.runner.audit.evidence import Evidence
from kbtool.runner.audit.model import Audit, AuditCheck
from kbtool.runner.audit.texts import beginning_words, words
from kbtool.runner.trace import Outcome

__all__ = ["BEGINNING_WORDS", "judge_identity", "same_beginning"]

BEGINNING_WORDS: Final = 8
_LEAST_ALIKE_RATIO: Final = 0.5


def judge_identity(evidence: Evidence) -> tuple[AuditCheck, ...]:
    """Return the verdict of audit 3."""
    return _beginnings(evidence), _model_name(evidence), _fingerprint(evidence), _same_server(evidence)


def same_beginning(one: str, other: str) -> bool:
    """Return whether two answers begin with the same eight words, or are the same where they are shorter."""
    shorter = min(len(words(one)), len(words(other)))
    return shorter > 0 and beginning_words(one, other) >= min(BEGINNING_WORDS, shorter)


def _beginnings(evidence: Evidence) -> AuditCheck:
    alone = [(pair.fresh.said, pair.again.said) for pair in evidence.pairs if pair.usable]
    loaded = [
        (each.alone.said, one.said)
        for each in evidence.fixed
        for one in each.loaded
        if each.alone.usable and one.usable
    ]
    repeatable, alike = _alike(alone), _alike(loaded)
    remedy = "find out what answers under load: a router with other instances, a smaller model, another quantization"
    if alone and repeatable < _LEAST_ALIKE_RATIO * len(alone):
        remedy = "have the server honour temperature 0: its answers differ even alone, so that nothing can be compared"
    return AuditCheck(
        Audit.IDENTITY,
        "same answers under load",
        passed=bool(loaded) and alike >= _LEAST_ALIKE_RATIO * len(loaded),
        found=f"{alike} of {len(loaded)} answers under load begin as alone; alone, {repeatable} of {len(alone)} begin alike",
        expected=f"{_LEAST_ALIKE_RATIO:.0%} or more with the same first {BEGINNING_WORDS} words",
        remedy=remedy,
    )


def _alike(couples: Sequence[tuple[str, str]]) -> int:
    return sum([same_beginning(one, other) for one, other in couples])


def _model_name(evidence: Evidence) -> AuditCheck:
    answers = evidence.answers
    wrong = [each for each in answers if each.trace.outcome is Outcome.WRONG_MODEL]
    names = sorted({each.trace.model for each in answers if each.trace.model is not None})
    found = f"{', '.join(f'{name[:100]!a}' for name in names[:5]) or 'no name'} in {len(answers)} answers"
    return AuditCheck(
        Audit.IDENTITY,
        "model name",
        passed=names == [evidence.model] and not wrong,
        found=f"{found}; {len(wrong)} of them are wrong: {wrong[0].trace.detail}" if wrong else found,
        expected=f"{evidence.model[:100]!a} in every answer",
        remedy="measure the server itself, or a router all of whose servers have this one model",
    )


def _fingerprint(evidence: Evidence) -> AuditCheck:
    usable = [each for each in evidence.answers if each.usable]
    prints = sorted({str(each.trace.system_fingerprint) for each in usable})
    said = ", ".join(f"{each[:60]!a}" for each in prints[:5])
    return AuditCheck(
        Audit.IDENTITY,
        "fingerprint",
        passed=len(prints) == 1,
        found=f"{said or 'none'} in {len(usable)} answers",
        expected="one `system_fingerprint` in every answer, or none in any",
        remedy="find out which servers answer behind the address, and measure one build in one configuration",
    )


def _same_server(evidence: Evidence) -> AuditCheck:
    faults = evidence.signs.faults
    return AuditCheck(
        Audit.IDENTITY,
        "no restart",
        passed=not faults,
        found="; ".join(faults[:5]) or "the server is as it was",
        expected="same process, models and counters as when the audit began",
        remedy="keep the server up, without a supervisor that restarts it, and read its log for why it ended",
    )
