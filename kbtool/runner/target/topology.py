"""How a router spread the load, and whether sessions found their way back: pure functions over what was counted."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from kbtool.runner.engines.base import Counters

__all__ = ["AffinitySeen", "Split", "TurnSeen", "affinity", "split"]

KEPT_RATIO: Final = 0.8
"""Share of the last turn's prompt that is cached again where the session came back: caches keep whole blocks."""


@dataclass(frozen=True, slots=True)
class Split:
    """What each instance took of the load between two readings of its counters."""

    counted: str
    """What was counted: `requests_finished` or `generation_tok`."""
    amounts: Mapping[str, int | None]
    """By instance; None where it does not count, or was restarted in between."""
    shares_ratio: Mapping[str, float] | None
    """By instance; None where one is not known, or nothing was served."""

    @property
    def total(self) -> int | None:
        """Sum over the instances; None where one is not known."""
        known = [each for each in self.amounts.values() if each is not None]
        return sum(known) if len(known) == len(self.amounts) else None

    @property
    def unevenness_ratio(self) -> float | None:
        """Largest share over an equal share: 1 is even, n means that one of n took everything."""
        if not self.shares_ratio:
            return None
        return max(self.shares_ratio.values()) * len(self.shares_ratio)


@dataclass(frozen=True, slots=True)
class TurnSeen:
    """One turn of a conversation, as its `usage` tells it."""

    session: str
    turn: int
    """From 1."""
    prompt_tok: int
    cached_tok: int | None
    """None where the server does not say."""


@dataclass(frozen=True, slots=True)
class AffinitySeen:
    """Whether later turns found the cache of the turn before."""

    turns: int
    """Turns from the second on whose turn before was seen too and whose cached tokens are reported."""
    kept: int
    """Those that found most of the last prompt cached."""
    unreported: int
    """Those without a report, which say nothing."""

    @property
    def kept_ratio(self) -> float | None:
        """Share that found it; None where nothing can be said."""
        return self.kept / self.turns if self.turns else None


def split(before: Mapping[str, Counters | None], after: Mapping[str, Counters | None]) -> Split:
    """Return the share of each instance, from differences of its own counters.

    Requests are counted where every instance counts them, else generated tokens.
    """
    counted = "requests_finished"
    amounts = {name: _grown(before.get(name), after.get(name), counted) for name in after}
    if None in amounts.values():
        counted = "generation_tok"
        amounts = {name: _grown(before.get(name), after.get(name), counted) for name in after}
    known = {name: each for name, each in amounts.items() if each is not None}
    total = sum(known.values())
    complete = len(known) == len(amounts) and total > 0
    return Split(counted, amounts, {name: each / total for name, each in known.items()} if complete else None)


def _grown(before: Counters | None, after: Counters | None, name: str) -> int | None:
    first: int | None = getattr(before, name, None)
    last: int | None = getattr(after, name, None)
    if first is None or last is None or last < first:
        return None
    return last - first


def affinity(turns: Iterable[TurnSeen]) -> AffinitySeen:
    """Return how many turns found the cache that their turn before left on an instance.

    A turn's prompt begins with the prompt of the turn before, so on the same instance nearly all of that is cached.
    """
    by_place = {(each.session, each.turn): each for each in turns}
    judged = kept = unreported = 0
    for (session, turn), now in by_place.items():
        last = by_place.get((session, turn - 1))
        if last is None:
            continue
        if now.cached_tok is None:
            unreported += 1
            continue
        judged += 1
        kept += now.cached_tok >= KEPT_RATIO * last.prompt_tok
    return AffinitySeen(judged, kept, unreported)
