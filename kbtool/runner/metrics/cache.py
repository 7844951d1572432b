"""What the answers of a round show about the prefix cache."""

from collections.abc import Sequence
from typing import Literal

from kbtool.runner.metrics.figures import CacheVerdict
from kbtool.vocab.terms import CacheProof

__all__ = ["cache_verdict"]


def cache_verdict(
    cached_tok: Sequence[int | None],
    *,
    expected: Literal["cold", "warm", "off"] | None,
    unique: bool = False,
    reset_checked: bool = False,
    restarted: bool = False,
    template_tok: int = 0,
) -> CacheVerdict:
    """Return the state of the prefix cache for these requests, with what shows it.

    ========  ===================  ========================  ==============================
    expected  cached tokens        besides                   state
    ========  ===================  ========================  ==============================
    cold      any above 0          -                         contaminated
    cold      all 0                unique or reset checked   proven_cold
    cold      all 0                neither                   unproven
    cold      some not reported    -                         unproven
    off       any above 0          -                         contaminated
    off       all 0                -                         off
    off       some not reported    -                         off (the server's own word)
    warm      all above 0          restarted                 restart_warm
    warm      all above 0          not restarted             warm
    warm      anything else        -                         unproven
    (not)     all above 0          restarted                 restart_warm
    (not)     all above 0          not restarted             warm
    (not)     anything else        -                         unproven
    ========  ===================  ========================  ==============================

    "0" holds for as many tokens as two prompts that share nothing but the chat template have in common: an engine that
    caches by the token reuses those few of every prompt, and calling that contaminated would leave it no cold one.

    Without any request everything is unproven.  `proven_cold` needs both halves: zero cached tokens, because a
    reset may fail silently, and a reset or uniqueness, because a server may not count what it reused.

    Args:
        cached_tok: Reported for each successful request; None where the server did not say.
        expected: What the plan wants; `off` only where the running server says that it caches no prefixes.
        unique: Whether each prompt is unique from its first token on, in all that this server has seen.
        reset_checked: Whether the cache was emptied before, and the effect was seen.
        restarted: Whether the server was started again since it last saw these prompts.
        template_tok: Tokens of the chat template's opening, as measured between prompts of nothing else in common.
    """
    if not cached_tok:
        return CacheVerdict("unproven")
    known = [each for each in cached_tok if each is not None]
    complete = len(known) == len(cached_tok)
    if expected in {"cold", "off"} and any(each > template_tok for each in known):
        return CacheVerdict("contaminated")
    if expected == "off":
        return CacheVerdict("off", ("cached_tokens_zero",) if complete and not any(known) else ())
    few = complete and all(each <= template_tok for each in known)
    proofs = _cold_proofs(
        zero=complete and not any(known), few=few, unique=unique, reset_checked=reset_checked
    )
    if expected == "cold":
        shown = few and (unique or reset_checked)
        return CacheVerdict("proven_cold" if shown else "unproven", proofs)
    if complete and all(known):
        return CacheVerdict("restart_warm" if restarted else "warm")
    return CacheVerdict("unproven")


def _cold_proofs(*, zero: bool, few: bool, unique: bool, reset_checked: bool) -> tuple[CacheProof, ...]:
    proofs: list[CacheProof] = []
    if zero:
        proofs.append("cached_tokens_zero")
    elif few:
        proofs.append("template_tokens_only")
    if unique:
        proofs.append("unique_prompt")
    if reset_checked:
        proofs.append("cache_reset")
    return tuple(proofs)
