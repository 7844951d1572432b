"""The pages of conflicts and of comparisons."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from kbtool.analysis.conflicts import Conflict
from kbtool.site.cards import Card
from kbtool.site.views.base import Link
from kbtool.site.views.checked import ConflictView, compare_href, conflict_view, result_link

__all__ = ["CompareView", "ConflictsView", "compare_view", "conflicts_view"]

_MOST_PAIRS: Final = 20

Find = Callable[[str], Card | None]


@dataclass(frozen=True, slots=True)
class ConflictsView:
    """The page of figures that disagree."""

    came_back: tuple[ConflictView, ...]
    unexplained: tuple[ConflictView, ...]
    explained: tuple[ConflictView, ...]
    linked: int
    """Pairs of which a link says how they stand to one another."""


class PairView(NamedTuple):
    """One pair with its verdict."""

    one: Link
    other: Link
    sentence: str
    compare: str


@dataclass(frozen=True, slots=True)
class CompareView:
    """The page of comparisons, as it is without scripts."""

    pairs: tuple[PairView, ...]


def conflicts_view(found: Sequence[Conflict], find: Find) -> ConflictsView:
    """Return the page of conflicts."""
    views = [(each, conflict_view(each, find, root="")) for each in found]
    return ConflictsView(
        came_back=tuple([view for each, view in views if each.came_back]),
        unexplained=tuple([view for each, view in views if not each.came_back and not each.explained_by]),
        explained=tuple([view for each, view in views if not each.came_back and each.explained_by]),
        linked=sum(bool(each.link) for each in found),
    )


def compare_view(found: Sequence[Conflict], find: Find) -> CompareView:
    """Return the page of comparisons: without scripts it shows the pairs whose figures disagree, each with its verdict."""
    return CompareView(tuple([_pair(each, find) for each in found[:_MOST_PAIRS]]))


def _pair(conflict: Conflict, find: Find) -> PairView:
    one, other = conflict.one.first.side, conflict.other.first.side
    return PairView(
        result_link(one, find, ""),
        result_link(other, find, ""),
        conflict.comparison.sentence,
        compare_href((one.name, other.name), root=""),
    )
