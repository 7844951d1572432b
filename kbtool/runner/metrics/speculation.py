"""Speculative decoding, from two readings of the server's counters."""

from dataclasses import dataclass, fields
from typing import Literal

__all__ = ["SpeculationCounters", "SpeculationState", "SpeculationVerdict", "speculation_verdict"]

SpeculationState = Literal[
    "unavailable", "disabled", "incomplete", "counter_reset", "contaminated", "no_drafts", "enabled"
]
"""What two readings show, worst knowledge first.

* unavailable: the server has no such counters, or nobody could read them.
* disabled: the server says that it does not speculate, and its counters do not contradict that.
* incomplete: a reading is missing, or lacks a counter that the acceptance needs.
* counter_reset: a counter fell, as after a restart: the difference means nothing.
* contaminated: others used the server meanwhile, or the counters contradict one another.
* no_drafts: it speculates, and drafted nothing here.
* enabled: the differences are those of our own requests.
"""


@dataclass(frozen=True, slots=True)
class SpeculationCounters:
    """Counters of one server since its start, summed over its engines; None where it has none."""

    drafts: float | None = None
    """Verify steps that had a draft."""
    draft_tok: float | None = None
    accepted_tok: float | None = None
    """Draft tokens that were kept, the bonus token left out."""
    accepted_tok_by_position: tuple[float, ...] = ()
    """The same by position in the draft, first position first."""

    @property
    def absent(self) -> bool:
        """Whether there is no counter at all."""
        return all(getattr(self, each.name) in {None, ()} for each in fields(self))


@dataclass(frozen=True, slots=True)
class SpeculationVerdict:
    """What the server did between the readings; figures only where the state is `enabled`."""

    state: SpeculationState
    drafts: float | None = None
    draft_tok: float | None = None
    accepted_tok: float | None = None
    acceptance_length: float | None = None
    """1 + accepted / drafts: tokens per verify step, bonus token included."""
    acceptance_ratio: float | None = None
    """Accepted / drafted tokens."""
    acceptance_ratio_by_position: tuple[float, ...] = ()
    """Share of drafts whose token at this position was accepted, first position first."""


def speculation_verdict(  # noqa: PLR0911  # one return for each state reads like the table it is
    before: SpeculationCounters | None,
    after: SpeculationCounters | None,
    *,
    speculates: bool | None,
    foreign_traffic: bool,
) -> SpeculationVerdict:
    """Return the state of speculation between two readings, with its figures where they can be trusted.

    Args:
        before: Reading before the first request; None where it failed.
        after: Reading after the last one.
        speculates: What the running server says of its settings; None where it does not say.
        foreign_traffic: Whether others used the server meanwhile.
    """
    off: SpeculationState | None = "disabled" if speculates is False else None
    if (before is None or before.absent) and (after is None or after.absent):
        return SpeculationVerdict(off or "unavailable")
    if before is None or after is None:
        return SpeculationVerdict("incomplete")
    drafts = _difference(before.drafts, after.drafts)
    draft_tok = _difference(before.draft_tok, after.draft_tok)
    accepted = _difference(before.accepted_tok, after.accepted_tok)
    if drafts is None or draft_tok is None or accepted is None:
        return SpeculationVerdict("incomplete")
    if min(drafts, draft_tok, accepted) < 0:
        return SpeculationVerdict("counter_reset")
    if foreign_traffic or accepted > draft_tok or drafts > draft_tok:
        return SpeculationVerdict("contaminated")
    if drafts == 0:
        return SpeculationVerdict(off or "no_drafts")
    return _enabled(drafts, draft_tok, accepted, _by_position(before, after, drafts))


def _enabled(
    drafts: float, draft_tok: float, accepted: float, by_position: tuple[float, ...]
) -> SpeculationVerdict:
    return SpeculationVerdict(
        "enabled",
        drafts,
        draft_tok,
        accepted,
        acceptance_length=1 + accepted / drafts,
        acceptance_ratio=accepted / draft_tok,
        acceptance_ratio_by_position=by_position,
    )


def _difference(before: float | None, after: float | None) -> float | None:
    """Return after - before, or None where a reading is missing.

    A counter that appears with its first count was 0 before.
    """
    return None if after is None else after - (before or 0.0)


def _by_position(before: SpeculationCounters, after: SpeculationCounters, drafts: float) -> tuple[float, ...]:
    """Return the accepted share by position, or nothing where positions were added, lost or fell."""
    old, new = before.accepted_tok_by_position, after.accepted_tok_by_position
    old = old or (0.0,) * len(new)
    if len(old) != len(new) or any(late < early for early, late in zip(old, new, strict=True)):
        return ()
    return tuple([(late - early) / drafts for early, late in zip(old, new, strict=True)])
