"""What a result may stand beside: of each other record the result that is most like it, and its place among them.

A *family* holds all results that `compare` does not refuse for what they are: one model, one closed class or none, one unit,
one count of tokens, and one scope or scopes that can be brought to one accelerator. Only inside a family is compared, so that a
page needs some dozen comparisons and no site needs all pairs. `compare` alone decides what stands beside what.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log2
from typing import Final, NamedTuple

from kbtool.analysis.compare import Comparison, held_against, is_refused
from kbtool.analysis.sides import SideFacts
from kbtool.vocab.metrics import METRICS

__all__ = ["Peer", "Place", "Standing", "family_of", "standing_of"]

_SHARED: Final = frozenset({"accelerator", "instance", "system"})


class Peer(NamedTuple):
    """A result of another record that a headline may stand beside."""

    side: SideFacts
    comparison: Comparison
    """The headline against it."""


class Place(NamedTuple):
    """Where a result stands among those that it may stand beside, itself included; the best is 1."""

    rank: int
    of: int
    with_reservations: int
    """How many of the others could not be shown to be measured alike."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A headline among its peers."""

    peers: tuple[Peer, ...]
    """One of each other record, those with the fewest reservations first, then those that differ in least."""
    place: Place | None
    """None where no way is better, or nothing may stand beside it."""


def family_of(side: SideFacts) -> str:
    """Return the family of a result; empty where it stands beside nothing."""
    metric = METRICS.get(side.metric)
    if metric is None or not side.value or side.standing == "withdrawn":
        return ""
    kind = "shared" if metric.scope in _SHARED else metric.id
    return f"{side.model}|{side.comparison_class}|{metric.unit}|{metric.tokens}|{kind}"


def standing_of(head: SideFacts, others: Iterable[Sequence[SideFacts]]) -> Standing:
    """Return what a result may stand beside.

    Args:
        head: The result.
        others: The results of each other record; none that is of the same run or replaced by this one.
    """
    found = [peer for results in others if (peer := _most_alike(head, results)) is not None]
    found.sort(key=lambda each: (_reserved(each), len(each.comparison.differences), each.side.name))
    return Standing(tuple(found), _place(head, found))


def _most_alike(head: SideFacts, results: Sequence[SideFacts]) -> Peer | None:
    """Return of one record the result with the fewest reservations, then the nearest load, then the first."""
    family = family_of(head)
    near = [each for each in results if family_of(each) == family and not is_refused(head, each)]
    allowed = [
        Peer(each, comparison) for each in near if (comparison := held_against(head, each)).ratio is not None
    ]
    return min(allowed, key=lambda each: (_reserved(each), _load_apart(head, each.side)), default=None)


def _reserved(peer: Peer) -> int:
    return len(peer.comparison.reservations)


def _load_apart(one: SideFacts, other: SideFacts) -> float:
    loads = [side.told.get("concurrency") for side in (one, other)]
    if loads[0] is None or loads[1] is None:
        return 64.0  # behind every load that is told
    numbers = [int(each.replace(",", "")) for each in loads if each]
    return abs(log2(numbers[0] / numbers[1]))


def _place(head: SideFacts, peers: Sequence[Peer]) -> Place | None:
    direction = METRICS[head.metric].direction
    if direction == "neither" or not peers:
        return None
    ratios = [each.comparison.ratio for each in peers]
    better = sum(each is not None and (each < 1 if direction == "higher" else each > 1) for each in ratios)
    return Place(better + 1, len(peers) + 1, sum(bool(each.comparison.reservations) for each in peers))
