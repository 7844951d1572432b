"""Audit 4: answers are text that belongs to its prompt.

It finds what a broken or pretended model says: garbage, the prompt itself, one answer for everything, words from
nowhere, structure that does not parse.  It does not measure how good a model is.
"""

import json
from collections.abc import Sequence
from typing import Final

from kbtool.runner.audit.asking import Answer
from kbtool.runner.audit.evidence import Evidence
from kbtool.runner.audit.model import Audit, AuditCheck
from kbtool.runner.audit.schema import is_json_beginning, schema_fault
from kbtool.runner.audit.texts import distinct_ratio, echo_ratio, shared_ratio, words
from kbtool.runner.metrics.sanity import garbage
from kbtool.runner.stats import median
from kbtool.runner.trace import Outcome

__all__ = ["judge_sense"]

_FEW_RATIO: Final = 0.05
_LEAST_WORDS: Final = 12
"""Shorter answers show nothing of vocabulary."""
_VOCABULARY_SAMPLE: Final = 60
_LEAST_DISTINCT_RATIO: Final = 0.2
"""Of the first 60 words. Prose has 0.6 and more, code 0.4, the continuation of a list 0.3."""
_ECHO_RATIO: Final = 0.5
_ECHOES_RATIO: Final = 0.2
_LEAST_SHARED_RATIO: Final = 0.1
"""Words of the answer that the prompt has too: function words alone make three in ten of prose."""
_OWN_ANSWERS_RATIO: Final = 0.8
_SAME_CHARS: Final = 200
_REFUSALS: Final = frozenset({Outcome.HTTP_ERROR})


def judge_sense(evidence: Evidence) -> tuple[AuditCheck, ...]:
    """Return the verdict of audit 4."""
    answers = [
        each
        for each in evidence.answers
        if each.usable and not each.question.schema and each not in evidence.others
    ]
    first = [pair.fresh for pair in evidence.pairs if pair.fresh.usable]
    return (
        _garbage(evidence, answers),
        _echo(answers),
        _vocabulary(first),
        _own_answers(first),
        _belongs(first),
        *_structure(evidence),
    )


def _garbage(evidence: Evidence, answers: Sequence[Answer]) -> AuditCheck:
    why = [found for each in answers if (found := garbage(each.said)) is not None]
    odd = frozenset({Outcome.EMPTY, Outcome.BAD_UTF8})
    empty = [each for each in evidence.answers if each.trace.outcome in odd and each not in evidence.others]
    n_bad, n = len(why) + len(empty), len(answers) + len(empty)
    kinds = ", ".join(sorted({*why, *(each.trace.outcome.value for each in empty)}))
    return AuditCheck(
        Audit.SENSE,
        "no garbage",
        passed=bool(answers) and n_bad <= _FEW_RATIO * n,
        found=f"{n_bad} of {n} answers are broken{f' ({kinds})' if kinds else ''}",
        expected=f"at most {_FEW_RATIO:.0%}",
        remedy="load the right weights, tokenizer and chat template; a wrong kernel or quantization shows like this too",
    )


def _echo(answers: Sequence[Answer]) -> AuditCheck:
    echoes = [each for each in answers if echo_ratio(each.asked, each.said) >= _ECHO_RATIO]
    return AuditCheck(
        Audit.SENSE,
        "no echo",
        passed=bool(answers) and len(echoes) <= _ECHOES_RATIO * len(answers),
        found=f"{len(echoes)} of {len(answers)} answers repeat passages of their prompt for half of their length or more",
        expected=f"at most {_ECHOES_RATIO:.0%}",
        remedy="check that a model generates the text: a stand-in gives prompts back, and so does a broken chat template",
    )


def _vocabulary(first: Sequence[Answer]) -> AuditCheck:
    ratios = [
        distinct_ratio(found, _VOCABULARY_SAMPLE)
        for each in first
        if len(found := words(each.said)) >= _LEAST_WORDS
    ]
    return AuditCheck(
        Audit.SENSE,
        "varied vocabulary",
        passed=bool(ratios) and median(ratios) >= _LEAST_DISTINCT_RATIO,
        found=_median_words(ratios, "distinct words", first),
        expected=f"{_LEAST_DISTINCT_RATIO:.0%} or more of the first {_VOCABULARY_SAMPLE} words",
        remedy="look at the answers: a decoder that is stuck repeats itself, and drafts are then accepted too readily",
    )


def _own_answers(first: Sequence[Answer]) -> AuditCheck:
    distinct = {each.said.strip()[:_SAME_CHARS] for each in first}
    return AuditCheck(
        Audit.SENSE,
        "an answer for each prompt",
        passed=bool(first) and len(distinct) >= _OWN_ANSWERS_RATIO * len(first),
        found=f"{len(distinct)} different answers to {len(first)} different prompts",
        expected=f"{_OWN_ANSWERS_RATIO:.0%} or more differ",
        remedy="check that a model generates the text, and that prompts reach it whole",
    )


def _belongs(first: Sequence[Answer]) -> AuditCheck:
    ratios = [shared_ratio(each.asked, each.said) for each in first if len(words(each.said)) >= _LEAST_WORDS]
    return AuditCheck(
        Audit.SENSE,
        "words of the prompt's language",
        passed=bool(ratios) and median(ratios) >= _LEAST_SHARED_RATIO,
        found=_median_words(ratios, "of the words stand in the prompt", first),
        expected=f"{_LEAST_SHARED_RATIO:.0%} or more, as text of one language and subject has",
        remedy="read some answers: words from nowhere come from broken weights, a wrong tokenizer, or no model at all",
    )


def _median_words(ratios: Sequence[float], what: str, first: Sequence[Answer]) -> str:
    """Return what the median of answers is that are long enough, or that none is."""
    if not ratios:
        return f"none of {len(first)} answers has {_LEAST_WORDS} words"
    return f"median {median(ratios):.0%} {what}, n = {len(ratios)} answers"


def _structure(evidence: Evidence) -> tuple[AuditCheck, ...]:
    asked = evidence.structured
    if not asked or not evidence.signs.enforces_schema:
        return ()
    refused = [each for each in asked if each.trace.outcome in _REFUSALS]
    faults = [
        fault for each in asked if each not in refused and (fault := _structure_fault(each)) is not None
    ]
    # A server that says it keeps to no schema tells the truth; one that takes the schema and ignores it does not.
    note = f"; {len(refused)} were refused" if refused else ""
    return (
        AuditCheck(
            Audit.SENSE,
            "structured answers",
            passed=not faults,
            found=f"{len(faults)} of {len(asked)} answers do not follow the schema that came with them"
            f"{f': {faults[0]}' if faults else ''}{note}",
            expected="all follow it, or are its beginning where they were cut for their length",
            remedy="turn on the engine's structured output, or expect no figures of the class `structured` from it",
        ),
    )


def _structure_fault(answer: Answer) -> str | None:
    if not answer.usable:
        return f"{answer.trace.outcome}: {answer.trace.detail}"[:200]
    schema = answer.question.prompt.schema_json
    assert schema is not None
    if answer.trace.finish_reason == "length":
        return None if is_json_beginning(answer.trace.text) else "it is not the beginning of a JSON object"
    return schema_fault(answer.trace.text, json.loads(schema))
