"""What the analysis says of a benchmark, on its own page: bounds, comparable results, conflicts.

Verdicts are words of `kbtool.analysis`; nothing is decided here but how much a page has room for.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, NamedTuple
from urllib.parse import quote

from kbtool.analysis.conflicts import Conflict, Finding, Stated
from kbtool.analysis.limits import TITLES, Bound, Input, NotChecked
from kbtool.analysis.peers import Peer, Place
from kbtool.analysis.sides import SideFacts
from kbtool.schema import Benchmark
from kbtool.site.cards import Card
from kbtool.site.places import UP, result_place
from kbtool.site.views.base import Context, Link, to_record
from kbtool.site.views.text import counted, listed, metric_of
from kbtool.vocab.closed import lines_below, titled

__all__ = [
    "COMPARE_PAGE",
    "BoundView",
    "CheckedView",
    "ConflictView",
    "PeerView",
    "SideView",
    "bound_view",
    "checked_view",
    "compare_href",
    "conflict_view",
    "per_cent",
    "result_link",
]

COMPARE_PAGE: Final = "compare.html"
Find = Callable[[str], Card | None]
_MOST_PEERS: Final = (8, 2)
"""Comparable results on a page, and on one with little room."""
_MOST_CONFLICTS: Final = (3, 1)
_MOST_DIFFERENCES: Final = 4
_HEAVY: Final = ("Accelerator", "Accelerators", "Engine", "Engine version", "Speculation", "Concurrency")
"""Differences that are named first, because they move a figure most."""
_RELATIONS: Final = {
    "contradicts": "A link says that one contradicts the other.",
    "corrects": "A link says that one corrects the other.",
    "replicates": "A link says that one replicates the other.",
}
_UNITS: Final = {"bandwidth": "tok/s", "compute": "tok/s", "all_reduce": "GB/s", "kv_capacity": "GB"}
"""Unit in which a bound is shown."""
_BASES: Final = {"tok/s": Decimal(1), "GB/s": Decimal(10) ** 9, "GB": Decimal(10) ** 9}


class BoundInput(NamedTuple):
    """One thing that went into a bound."""

    name: str
    text: str
    link: Link | None
    """The record that it is from; None for the benchmark's own."""


class BoundView(NamedTuple):
    """One bound of one result, or why it was not worked out."""

    title: str
    kind: str
    """`hard` or `soft`; empty where it was not worked out."""
    share: str
    width: str
    """Length of its bar, 0 to 100."""
    broken: bool
    figures: str
    """What was measured against the bound."""
    formula: str
    inputs: tuple[BoundInput, ...]
    assumption: str
    reason: str
    """Why it was not checked; empty where it was."""


class PeerView(NamedTuple):
    """One result that the headline may stand beside."""

    link: Link
    result: str
    status: str
    figure: str
    ratio: str
    basis: str
    """What the ratio is of, where the two figures were brought to another scope first."""
    differs: str
    reservations: tuple[str, ...]
    compare: str
    """Address of the comparison of the two."""


class SideView(NamedTuple):
    """One of two figures that disagree."""

    link: Link
    result: str
    status: str
    published: str
    also: tuple[Link, ...]
    """Other records that state the same measurement."""


class ConflictView(NamedTuple):
    """Two figures that disagree."""

    metric: str
    one: SideView
    other: SideView
    difference: str
    explained_by: str
    """What both state and differs; empty where nothing does."""
    told_by_one: str
    """What one of the two leaves out."""
    told_by_neither: str
    """What neither states and would matter."""
    told: str
    """What a link says of the two."""
    came_back: bool
    compare: str


@dataclass(frozen=True, slots=True)
class CheckedView:
    """The parts of the page."""

    brief: bool
    """Whether the page has little room."""
    bounds: tuple[BoundView, ...]
    nearest: str
    """Which other result comes nearer to a bound than the headline does; empty where none does."""
    peers: tuple[PeerView, ...]
    all_peers: int
    place: str
    """Such as `3rd of 9`; empty where there is no order."""
    place_note: str
    lines_below: tuple[str, ...]
    conflicts: tuple[ConflictView, ...]
    all_conflicts: int


def checked_view(record: Benchmark, context: Context) -> CheckedView | None:
    """Return the parts of a record's page; None where nothing was worked out."""
    checked = context.checked
    if checked is None:
        return None
    peers = checked.standing.peers if checked.standing else ()
    place = checked.standing.place if checked.standing else None
    head = f"{context.card.ref}#{record.headline}"
    most_peers, most_conflicts = (each[context.brief] for each in (_MOST_PEERS, _MOST_CONFLICTS))
    find = _find(context)
    metric = metric_of(context.card.metric)
    title = titled(metric.title if metric else "", record.comparison_class)
    return CheckedView(
        brief=context.brief,
        bounds=tuple([bound_view(each, context, brief=context.brief) for each in checked.limits]),
        nearest=_nearest(record, context),
        peers=tuple([_peer(head, each, find) for each in peers[:most_peers]]),
        all_peers=len(peers),
        place=f"{_ordinal(place.rank)} of {place.of}" if place else "",
        place_note=_place_note(place),
        lines_below=lines_below((title,)) if peers else (),
        conflicts=tuple([conflict_view(each, find) for each in checked.conflicts[:most_conflicts]]),
        all_conflicts=len(checked.conflicts),
    )


def compare_href(names: Iterable[str], root: str = UP) -> str:
    """Return the address of a comparison of results, each `benchmarks/<id>#<result>`."""
    return f"{root}{COMPARE_PAGE}?ids={','.join(quote(each, safe='/') for each in names)}"


def per_cent(share: Decimal) -> str:
    """Return a share in per cent with two or three digits that mean something: `5.8 %`, `0.42 %`, `104 %`."""
    percent = share * 100
    digits = 0 if percent >= 100 else 1 if percent >= 1 else 2
    return f"{percent:,.{digits}f} %"


def result_link(side: SideFacts, find: Find, root: str = UP) -> Link:
    """Return a link to a result under the title of its record."""
    card = find(side.ref)
    if card is None:
        return Link(side.name)
    return to_record(card, place=result_place(card.ref, card.results, side.result), root=root)


def _find(context: Context) -> Find:
    """Return what finds the card of a record, the page's own included."""
    return lambda ref: context.card if ref == context.card.ref else context.find(ref)


# --- Bounds -----------------------------------------------------------------------------------


def bound_view(bound: Bound | NotChecked, context: Context, *, brief: bool = False) -> BoundView:
    """Return one bound with all that went into it; `brief` leaves that to its formula."""
    title = TITLES[bound.code]
    if isinstance(bound, NotChecked):
        return BoundView(title, "", "", "", False, "", "", (), "", bound.reason)
    unit = _UNITS[bound.code]
    measured, allowed = (_in_unit(each.base_value, unit) for each in (bound.measured, bound.bound))
    return BoundView(
        title=title,
        kind="hard" if bound.hard else "soft",
        share=per_cent(bound.share),
        width=f"{min(Decimal(100), bound.share * 100):.1f}",
        broken=bound.broken,
        figures=f"{measured} of {allowed} {unit}",
        formula=bound.formula,
        inputs=() if brief else tuple([_input(each, context) for each in bound.inputs]),
        assumption=bound.assumption,
        reason="",
    )


def _in_unit(value: Decimal, unit: str) -> str:
    amount = value / _BASES[unit]
    digits = 0 if amount >= 1000 else 1 if amount >= 10 else 2
    return f"{amount:,.{digits}f}"


def _input(given: Input, context: Context) -> BoundInput:
    return BoundInput(given.name, given.text, context.link(given.ref) if given.ref else None)


def _nearest(record: Benchmark, context: Context) -> str:
    checks = context.checked.checks if context.checked else ()
    shares = {each.result: Decimal(each.share) for each in checks if each.share}
    if not shares:
        return ""
    result = max(shares, key=lambda each: shares[each])
    own = shares.get(record.headline)
    if own is not None and shares[result] <= own:
        return ""
    code = next(each.code for each in checks if each.result == result)
    title = next(name for bound, name in TITLES.items() if bound == code)
    return f"Of all results of this record {result} comes nearest: {per_cent(shares[result])} of {title.lower()}."


# --- Comparable results -----------------------------------------------------------------------


def _peer(head: str, peer: Peer, find: Find) -> PeerView:
    comparison = peer.comparison
    assert comparison.ratio is not None
    card = find(peer.side.ref)
    return PeerView(
        link=result_link(peer.side, find),
        result=peer.side.result,
        status=card.status if card else "",
        figure=peer.side.figure,
        ratio=f"{comparison.ratio:.3f}",
        basis=comparison.basis,
        differs=_named([each.what for each in comparison.differences]),
        reservations=comparison.reservations,
        compare=compare_href((head, peer.side.name)),
    )


def _named(differences: Sequence[str]) -> str:
    """Return what differs, that which matters most first."""
    ordered = sorted(differences, key=lambda each: _HEAVY.index(each) if each in _HEAVY else len(_HEAVY))
    more = len(ordered) - _MOST_DIFFERENCES
    return ", ".join(_in_words(each) for each in ordered[:_MOST_DIFFERENCES]) + (
        f" and {more} more" if more > 0 else ""
    )


def _in_words(what: str) -> str:
    """Return a setting's name as it stands inside a sentence: `Power limit, W` is the power limit, and `KV cache` stays."""
    name = what.partition(",")[0]
    return name if name[:2].isupper() else name[:1].lower() + name[1:]


def _place_note(place: Place | None) -> str:
    if place is None:
        return ""
    if not place.with_reservations:
        return "All were measured under conditions that can be shown to be equal."
    others = place.of - 1
    which = (
        "All others"
        if place.with_reservations == others
        else f"{place.with_reservations} of the {others} others"
    )
    return f"{which} with reservations: what a source does not state cannot be shown to be equal."


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in {11, 12, 13} else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{counted(number)}{ending}"


# --- Conflicts --------------------------------------------------------------------------------


def conflict_view(conflict: Conflict, find: Find, root: str = UP) -> ConflictView:
    """Return two figures that disagree, and what may explain it.

    Args:
        conflict: The two.
        find: Returns the card of a reference.
        root: What leads from the page to the root of the site.
    """
    first, second = conflict.one.first, conflict.other.first
    metric = metric_of(first.side.metric)
    explained = [f"{_in_words(each.what)} {each.one} against {each.other}" for each in conflict.explained_by]
    return ConflictView(
        metric=metric.title if metric else first.side.metric,
        one=_side(conflict.one, find, root),
        other=_side(conflict.other, find, root),
        difference=per_cent(conflict.difference),
        explained_by="; ".join(explained),
        told_by_one=listed([_in_words(each) for each in conflict.told_by_one]),
        told_by_neither=listed([_in_words(each) for each in conflict.told_by_neither]),
        told=_RELATIONS.get(conflict.link, ""),
        came_back=conflict.came_back,
        compare=compare_href((first.side.name, second.side.name), root),
    )


def _side(finding: Finding, find: Find, root: str) -> SideView:
    first: Stated = finding.first
    card = find(first.side.ref)
    return SideView(
        link=result_link(first.side, find, root),
        result=first.side.result,
        status=card.status if card else "",
        published=first.side.figure,
        also=tuple([result_link(each.side, find, root) for each in finding.mentions[1:]]),
    )
