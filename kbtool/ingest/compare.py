"""Two measurements of one endpoint side by side: ours and that of a peer."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from kbtool.ingest.bias import known_bias
from kbtool.ingest.draft import share
from kbtool.ingest.model import Bias, Imported, Measurement
from kbtool.vocab.metrics import METRICS
from kbtool.vocab.terms import CENTRES, Statistic

__all__ = ["Compared", "Ours", "compare"]

_ALIKE: Final = {"median": "p50"}
_WHOLE_RUN: Final = frozenset({"single", *CENTRES})
"""Of a rate there is one value a run: whatever it is called, it is the same figure."""


@dataclass(frozen=True, slots=True)
class Ours:
    """One figure of our own measurement."""

    metric: str
    statistic: Statistic
    value: Decimal
    low: Decimal | None = None
    """Ends of its interval, where there are some."""
    high: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Compared:
    """One metric and statistic in both measurements."""

    metric: str
    statistic: str
    ours: Decimal
    theirs: Decimal
    ratio: Decimal | None
    """theirs / ours; None where ours is 0."""
    inside_ours: bool | None
    """Whether theirs lies in our interval; None where we have none."""
    bias: Bias | None
    """The peer's known error in this metric at this load."""
    notes: tuple[str, ...]

    @property
    def explained_ratio(self) -> Decimal | None:
        """The ratio with the peer's known error taken out; None where either is not known."""
        if self.ratio is None or self.bias is None or self.bias.error_ratio <= -1:
            return None
        return share(self.ratio, 1 + self.bias.error_ratio)


def compare(ours: Iterable[Ours], peer: Imported, *, concurrency: int | None = None) -> tuple[Compared, ...]:
    """Return the figures that both measurements have, in the order of ours.

    Args:
        ours: Our figures under one set of conditions.
        peer: What the peer's file says, of one run under the same conditions.
        concurrency: Requests in flight, for the known error; that of the peer's file where it says.
    """
    return tuple(pair for each in ours for pair in _pair(each, peer, concurrency))


def _pair(ours: Ours, peer: Imported, concurrency: int | None) -> Iterator[Compared]:
    theirs = next((each for each in peer.measurements if _same_figure(ours, each)), None)
    if theirs is None:
        return
    streams = theirs.at.concurrency or concurrency
    central = theirs.statistic in _WHOLE_RUN
    bias = (
        known_bias(peer.client, ours.metric, streams, several_tokens=peer.several_tokens) if central else None
    )
    inside = ours.low <= theirs.value <= ours.high if ours.low is not None and ours.high is not None else None
    reasons = tuple(each.reason for each in peer.conversions if each.metric == ours.metric)
    yield Compared(
        ours.metric,
        ours.statistic,
        ours.value,
        theirs.value,
        share(theirs.value, ours.value) if ours.value else None,
        inside,
        bias,
        (*theirs.notes, *reasons),
    )


def _same_figure(ours: Ours, theirs: Measurement) -> bool:
    if ours.metric != theirs.metric:
        return False
    if METRICS[ours.metric].scope == "system" and {ours.statistic, theirs.statistic} <= _WHOLE_RUN:
        return True
    return _ALIKE.get(ours.statistic, ours.statistic) == _ALIKE.get(theirs.statistic or "", theirs.statistic)
