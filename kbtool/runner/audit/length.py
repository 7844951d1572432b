"""Audit 2: answers are as long as asked for, as long under load as alone, and as long as the server says.

The runner has no tokenizer of the model.  Its second witness for output tokens is the server itself: answers are sent
back as part of a prompt, whose tokens it counts anew.  A server that inflates its output counts would have to inflate
the count of that prompt by the same tokens, and of no other.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from kbtool.runner.audit.asking import Answer
from kbtool.runner.audit.evidence import Evidence, Loaded, Recount
from kbtool.runner.audit.model import Audit, AuditCheck
from kbtool.runner.stats import mean, stdev, t_two_sided_p
from kbtool.runner.trace import Outcome

__all__ = ["LENGTH_RATIO", "RECOUNT_RATIO", "generated_tok", "judge_length"]

LENGTH_RATIO: Final = 0.10
"""MLPerf's TEST09: how far the mean output length may be from that of the reference."""
RECOUNT_RATIO: Final = 0.15
"""A text that is tokenized anew has a few tokens fewer or more than it was generated with."""
_RECOUNT_SLACK_TOK: Final = 2
"""Of each answer: its end-of-text token, and blanks that a chat template strips."""
_CHARS_PER_TOK: Final = (0.5, 16.0)
"""From a script of one sign a token and less, to text in whole words."""
_CUT_RATIO: Final = 0.9
_FEW_CUT_RATIO: Final = 0.05
_LEVEL: Final = 0.05


def judge_length(evidence: Evidence) -> tuple[AuditCheck, ...]:
    """Return the verdict of audit 2."""
    return (
        _asked(evidence),
        _finish(evidence),
        _mean_length(evidence.free),
        _cut(evidence),
        _counts(evidence),
    )


def generated_tok(answer: Answer) -> int:
    """Return the output tokens whose text was sent: hidden reasoning is left out."""
    usage = answer.trace.usage
    if usage is None:
        return 0
    hidden = (usage.reasoning_tok or 0) if not answer.trace.reasoning_text else 0
    return usage.completion_tok - hidden


def _tok(answer: Answer) -> int:
    return 0 if answer.trace.usage is None else answer.trace.usage.completion_tok


def _asked(evidence: Evidence) -> AuditCheck:
    fixed = [each for each in evidence.answers if each.usable and each.question.fixed]
    held = [each for each in fixed if _tok(each) == each.question.output_tok]
    found = f"{len(held)} of {len(fixed)} answers have the length asked for"
    if not evidence.signs.fixes_length:
        found += "; this kind of server cannot be told to go on, so others may end by themselves"
    wrong = [each for each in fixed if each not in held] if evidence.signs.fixes_length else []
    return AuditCheck(
        Audit.LENGTH,
        "length asked for",
        passed=bool(fixed) and not wrong,
        found=found
        + (f", one has {_tok(wrong[0])} of {wrong[0].question.output_tok} tokens" if wrong else ""),
        expected="every answer of a fixed length has exactly that length",
        remedy="have the server honour `ignore_eos`; look for a limit on output tokens in server or proxy",
    )


def _finish(evidence: Evidence) -> AuditCheck:
    usable = [each for each in evidence.answers if each.usable]
    wrong = [
        each
        for each in usable
        if each.trace.finish_reason == "length" and _tok(each) < each.question.output_tok
    ]
    example = (
        f": one ends for its length with {_tok(wrong[0])} of {wrong[0].question.output_tok} tokens"
        if wrong
        else ""
    )
    return AuditCheck(
        Audit.LENGTH,
        "finish reason",
        passed=bool(usable) and not wrong,
        found=f"{len(wrong)} of {len(usable)} answers are shorter than the length that is said to have ended them{example}",
        expected="`length` only where the length asked for was reached",
        remedy="look for a limit on output tokens in server or proxy, and for token counts that are made up",
    )


def _mean_length(free: Sequence[Loaded]) -> AuditCheck:
    """Compare lengths under load with lengths alone, prompt by prompt.

    A difference fails beyond the limit, and only where it is no chance of a few prompts (paired t test, 5 %): greedy
    answers of real engines part ways under load, to both sides.
    """
    usable = [(each.alone, [one for one in each.loaded if one.usable]) for each in free if each.alone.usable]
    pairs = [(_tok(alone), mean([_tok(one) for one in loaded])) for alone, loaded in usable if loaded]
    expected = f"mean output length under load within {LENGTH_RATIO:.0%} of the length alone"
    remedy = "look for answers that are cut, or another model, under load"
    if not pairs:
        return AuditCheck(
            Audit.LENGTH, "mean length", False, "no prompt was answered both ways", expected, remedy
        )
    usual = mean([alone for alone, _ in pairs])
    changes = [(loaded - alone) / usual for alone, loaded in pairs]
    change = mean(changes)
    return AuditCheck(
        Audit.LENGTH,
        "mean length",
        passed=abs(change) <= LENGTH_RATIO or not _shown(changes),
        found=f"{usual * (1 + change):.1f} tokens under load, {usual:.1f} alone ({change:+.1%}, n = {len(pairs)} prompts)",
        expected=expected,
        remedy=remedy,
    )


def _shown(changes: Sequence[float]) -> bool:
    """Return whether the mean is not 0 by chance."""
    centre, deviation = mean(changes), stdev(changes)
    if deviation is None:
        return True
    if deviation == 0:
        return centre != 0
    return t_two_sided_p(centre / (deviation / len(changes) ** 0.5), len(changes) - 1) <= _LEVEL


def _cut(evidence: Evidence) -> AuditCheck:
    """Find answers that are the beginning of another answer to the same prompt."""
    couples = [(each.alone, one) for each in (*evidence.fixed, *evidence.free) for one in each.loaded]
    couples += [(pair.fresh, pair.again) for pair in evidence.pairs]
    usable = [(one, other) for one, other in couples if one.usable and other.usable]
    cut = [1 for one, other in usable if _is_cut(other.said, one.said) or _is_cut(one.said, other.said)]
    return AuditCheck(
        Audit.LENGTH,
        "whole answers",
        passed=bool(usable) and len(cut) <= max(1, _FEW_CUT_RATIO * len(usable)),
        found=f"{len(cut)} of {len(usable)} answers are a cut form of another answer to the same prompt",
        expected=f"none but by chance: 1, or {_FEW_CUT_RATIO:.0%}",
        remedy="look for answers that are cut, with load or at times, and said to be whole",
    )


def _is_cut(text: str, whole: str) -> bool:
    text = text.rstrip()
    return bool(text) and whole.startswith(text) and len(text) < len(whole.rstrip()) * _CUT_RATIO


def _counts(evidence: Evidence) -> AuditCheck:
    """Compare what the server says of its answers with its own count of their text, and with their characters."""
    answers = [each for each in evidence.answers if each.usable and generated_tok(each)]
    tok, chars = sum(map(generated_tok, answers)), sum(len(each.said) for each in answers)
    low, high = _CHARS_PER_TOK
    broken = [
        each for each in evidence.answers if each.trace.outcome in {Outcome.BAD_USAGE, Outcome.NO_USAGE}
    ]
    plausible = bool(tok) and low <= chars / tok <= high
    claimed = sum(generated_tok(each.answer) for each in evidence.recounts)
    return AuditCheck(
        Audit.LENGTH,
        "token counts",
        passed=plausible and not broken and bool(claimed) and _recount_agrees(evidence.recounts),
        found=_counts_text(evidence.recounts, chars / tok if tok else None, broken),
        expected=f"the server's count of an answer within {RECOUNT_RATIO:.0%} of its count of the same text in a prompt; "
        f"{low:g} to {high:g} characters a token",
        remedy="have the server report true usage with every answer; until then no figure in tokens is worth anything",
    )


def _recount_agrees(recounts: Iterable[Recount]) -> bool:
    """Return whether the counts agree over all answers together."""
    found = list(recounts)
    claimed = sum(generated_tok(each.answer) for each in found)
    again = sum(each.recounted_tok for each in found)
    return abs(claimed - again) <= RECOUNT_RATIO * claimed + _RECOUNT_SLACK_TOK * len(found)


def _counts_text(recounts: Sequence[Recount], chars_per_tok: float | None, broken: Sequence[Answer]) -> str:
    claimed = sum(generated_tok(each.answer) for each in recounts)
    again = sum(each.recounted_tok for each in recounts)
    parts = [
        f"{claimed} tokens said, {again} counted again in {len(recounts)} answers"
        if recounts
        else "no answer could be counted again"
    ]
    if chars_per_tok is not None:
        parts.append(f"{chars_per_tok:.1f} characters a token")
    if broken:
        parts.append(
            f"{len(broken)} answers with no usage that can be true: {broken[0].trace.detail or 'none at all'}"
        )
    return "; ".join(parts)
