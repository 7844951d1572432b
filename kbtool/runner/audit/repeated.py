"""Audit 1: a prompt that was answered before is not answered faster, but for what a prefix cache saves.

Each prompt is compared with itself, so that what its text does to the speed, as with speculative decoding, falls out.
The figure is the median over the prompts of the ratio of the two speeds.  Its one-sided 95 % bounds are order
statistics and need no assumption about how speeds are spread:  with 8 prompts the bound is the second smallest ratio.
While the limit lies between the bounds, another batch of prompts is asked for.  It fails where the repeated prompts are
shown to be faster: with the 1 or 2 % by which decode speeds of a quiet machine vary, anything above 12 %.  On a machine
so noisy that the limit still lies between the bounds, both of which are told, a smaller advantage stays unseen.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from kbtool.runner.audit.evidence import Evidence, Pair
from kbtool.runner.audit.model import Audit, AuditCheck
from kbtool.runner.metrics.request import tpot_ms, ttft_ms
from kbtool.runner.stats import median

__all__ = [
    "FASTER_RATIO",
    "LEAST_PAIRS",
    "Span",
    "Standing",
    "decode_spans",
    "judge_repeated",
    "median_bounds",
    "standing",
]

FASTER_RATIO: Final = 1.10
"""MLPerf's TEST04: a repeated sample may be at most so much faster."""
LEAST_PAIRS: Final = 5
"""Fewer give no bound at the 95 % level."""
_LEVEL: Final = 0.05
NOISE_MS: Final = 2.0
"""A time that is shorter by less shows nothing: waking up takes as much on a busy machine."""
LEAST_DECODE_MS: Final = 5.0
"""In shorter spans even an answer from a cache would not show."""


class Standing(Enum):
    """What ratios show of a limit."""

    ABOVE = "above"
    BELOW = "below"
    OPEN = "open"


def median_bounds(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the one-sided 95 % lower and upper bound of the median, or None from too few values."""
    n = len(values)
    rank, tail = 0, 0.0
    while (tail := tail + math.comb(n, rank) / 2**n) <= _LEVEL:
        rank += 1
    if rank < 1:
        return None
    ordered = sorted(values)
    return ordered[rank - 1], ordered[n - rank]


@dataclass(frozen=True, slots=True)
class Span:
    """What a prompt took new to the server, and again."""

    fresh_ms: float
    again_ms: float

    @property
    def ratio(self) -> float:
        """Return how many times as fast it was again; infinite where it took no time."""
        return self.fresh_ms / self.again_ms if self.again_ms > 0 else math.inf


def standing(spans: Sequence[Span]) -> Standing:
    """Return whether the median is shown to lie above the limit, by more than the client's own noise, or below."""
    ratio = median_bounds([each.ratio for each in spans])
    saved_ms = median_bounds([each.fresh_ms - each.again_ms for each in spans])
    if ratio is None or saved_ms is None:
        return Standing.OPEN
    if ratio[0] > FASTER_RATIO and saved_ms[0] > NOISE_MS:
        return Standing.ABOVE
    return Standing.BELOW if ratio[1] < FASTER_RATIO or saved_ms[1] < NOISE_MS else Standing.OPEN


def decode_spans(pairs: Sequence[Pair]) -> list[Span]:
    """Return the decode times, per token alike, of each prompt whose decode can be timed.

    An answer that came in one piece again, and did not at first, took no time.
    """
    found = []
    for pair in pairs:
        fresh_ms, again_ms = tpot_ms(pair.fresh.trace), tpot_ms(pair.again.trace)
        usage = pair.fresh.trace.usage
        if pair.usable and fresh_ms is not None and usage is not None:
            tok = usage.completion_tok - 1
            if fresh_ms * tok >= LEAST_DECODE_MS:
                found.append(Span(fresh_ms * tok, (again_ms or 0.0) * tok))
    return found


def judge_repeated(evidence: Evidence) -> tuple[AuditCheck, ...]:
    """Return the verdict of audit 1."""
    return _decode(evidence), _first_token(evidence)


def _decode(evidence: Evidence) -> AuditCheck:
    spans = decode_spans(evidence.pairs)
    expected = f"at most {FASTER_RATIO:.2f} times as fast, median of {LEAST_PAIRS} prompts or more"
    if len(spans) < LEAST_PAIRS:
        return AuditCheck(
            Audit.REPEATED,
            "decode of repeated prompts",
            passed=False,
            found=f"the decode of {len(spans)} of {len(evidence.pairs)} prompts could be timed",
            expected=expected,
            remedy="ask the server itself, not a proxy that holds answers back; ask for longer answers with --output-tok",
        )
    return AuditCheck(
        Audit.REPEATED,
        "decode of repeated prompts",
        passed=standing(spans) is not Standing.ABOVE,
        found=f"{_median_text(spans)} times as fast as the first time",
        expected=expected,
        remedy="turn off the cache of answers, in the server or a proxy before it; where drafts are taken from earlier "
        "answers, that is the cause: figures of prompts that are never repeated stand",
    )


def _first_token(evidence: Evidence) -> AuditCheck:
    """Judge TTFT: a prefix cache saves its share of the prompt, and no more."""
    pairs = [pair for pair in evidence.pairs if pair.usable]
    times = [
        (ttft_ms(pair.fresh.trace), ttft_ms(pair.again.trace), _cached_ratio(pair, evidence))
        for pair in pairs
    ]
    known = [(Span(fresh, again), share) for fresh, again, share in times if fresh and again]
    if len(known) < LEAST_PAIRS:
        passed, found = False, f"{len(known)} of {len(evidence.pairs)} prompts were answered twice"
    else:
        left = [Span(each.fresh_ms * (1 - share), each.again_ms) for each, share in known]
        passed = standing(left) is not Standing.ABOVE
        share = median([share for _, share in known])
        saved_ms = median([each.fresh_ms - each.again_ms for each, _ in known])
        found = (
            f"{_median_text([each for each, _ in known])} times as soon ({saved_ms:.1f} ms), {share:.0%} of the prompt "
            "reported as cached"
        )
    return AuditCheck(
        Audit.REPEATED,
        "first token of repeated prompts",
        passed=passed,
        found=found,
        expected=f"at most {FASTER_RATIO:.2f} times as soon, beyond what the reported share of cached tokens saves",
        remedy="have the server report cached tokens (`kbtool bench doctor` says how), or turn its prefix cache off; "
        "if neither changes it, answers are cached",
    )


def _cached_ratio(pair: Pair, evidence: Evidence) -> float:
    """Return the share of the repeated prompt that came from the cache, by its usage or by the server's counters."""
    usage = pair.again.trace.usage
    if usage is None or usage.prompt_tok < 1:
        return 0.0
    cached: float | None = usage.cached_tok
    if not cached and evidence.signs.repeat_hits_tok:
        cached = evidence.signs.repeat_hits_tok / len(evidence.pairs)
    # The last token of a prompt is always computed.
    return min(cached or 0.0, usage.prompt_tok - 1) / usage.prompt_tok


def _median_text(spans: Sequence[Span]) -> str:
    ratios = [each.ratio for each in spans]
    bounds = median_bounds(ratios)
    between = "" if bounds is None else f" (bounds {bounds[0]:.2f} and {bounds[1]:.2f}, n = {len(ratios)})"
    return f"median {median(ratios):.2f}{between}"
