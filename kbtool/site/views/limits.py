"""The page of hardware limits: which results come nearest to what their accelerator allows."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, NamedTuple

from kbtool.analysis.checks import Check, unchecked_reasons
from kbtool.analysis.limits import HARD_SLACK, TITLES, BoundCode, explanations
from kbtool.analysis.sides import SideFacts
from kbtool.site.cards import Card
from kbtool.site.places import result_place
from kbtool.site.views.base import Link, to_record
from kbtool.site.views.checked import per_cent
from kbtool.site.views.text import metric_of

__all__ = ["Checked", "LimitsView", "limits_view"]

_MOST_ROWS: Final = 3
_MOST_REASONS: Final = 12
_HARD: Final[frozenset[BoundCode]] = frozenset({"bandwidth", "compute"})

Find = Callable[[str], Card | None]


class Checked(NamedTuple):
    """The results of one record that stands."""

    card: Card
    closed: bool
    """Whether they are of a closed class."""
    checks: tuple[Check, ...]
    sides: Callable[[], Sequence[SideFacts]]
    """Their figures; asked for of those that are shown."""


class LimitRow(NamedTuple):
    """One result and its share of its binding bound."""

    link: Link
    result: Link
    status: str
    figure: str
    metric: str
    share: str
    width: str
    bound: str
    broken: bool


class LimitGroup(NamedTuple):
    """The results of one accelerator that come nearest."""

    anchor: str
    accelerator: Link
    rows: tuple[LimitRow, ...]
    checked: int


class Explanation(NamedTuple):
    """How a bound is worked out."""

    title: str
    kind: str
    paragraphs: tuple[str, ...]


class Reason(NamedTuple):
    """Why a bound was not worked out, and of how many results."""

    title: str
    reason: str
    results: int


@dataclass(frozen=True, slots=True)
class LimitsView:
    """The page."""

    groups: tuple[LimitGroup, ...]
    """The accelerator whose results come nearest first."""
    explanations: tuple[Explanation, ...]
    reasons: tuple[Reason, ...]
    other_reasons: int
    asked: int
    """Results to which a bound applies."""
    checked: int
    """Of these, held against at least one hard bound."""
    closed: int
    """Results of closed classes that were held against a bound and stand in no list here."""
    slack: str


class _Nearest(NamedTuple):
    share: Decimal
    entry: Checked
    check: Check


def limits_view(entries: Iterable[Checked], find: Find) -> LimitsView:
    """Return the page.

    Args:
        entries: Of the records that stand.
        find: Returns the card of a reference.
    """
    everything = list(entries)
    checks = [each for entry in everything for each in entry.checks]
    by_accelerator: dict[str, list[_Nearest]] = {}
    for entry in everything:
        for each in () if entry.closed else entry.checks:
            if each.share:
                near = _Nearest(Decimal(each.share), entry, each)
                by_accelerator.setdefault(entry.card.cells[3].ref, []).append(near)
    groups = [_group(ref, found, find) for ref, found in by_accelerator.items()]
    reasons = [
        Reason(_title(code), reason, count) for (code, reason), count in unchecked_reasons(checks).items()
    ]
    return LimitsView(
        groups=tuple([group for _, group in sorted(groups, key=lambda each: (-each[0], each[1].anchor))]),
        explanations=tuple(
            [
                Explanation(TITLES[code], "hard" if code in _HARD else "soft", paragraphs)
                for code, paragraphs in explanations().items()
            ]
        ),
        reasons=tuple(reasons[:_MOST_REASONS]),
        other_reasons=sum(each.results for each in reasons[_MOST_REASONS:]),
        asked=len(checks),
        checked=sum(bool(each.share) for each in checks),
        closed=sum(bool(each.share) for entry in everything if entry.closed for each in entry.checks),
        slack=f"{(HARD_SLACK - 1) * 100:.0f} %",
    )


def _group(accelerator: str, found: Sequence[_Nearest], find: Find) -> tuple[Decimal, LimitGroup]:
    ordered = sorted(found, key=lambda each: (-each.share, each.entry.card.ref, each.check.result))
    best: list[_Nearest] = []
    for each in ordered:
        # One record shows its nearest result alone: a sweep would fill the list.
        if len(best) < _MOST_ROWS and all(each.entry.card.ref != one.entry.card.ref for one in best):
            best.append(each)
    card = find(accelerator)
    link = to_record(card, root="") if card else Link(accelerator)
    anchor = f"A-{accelerator.rpartition('/')[2]}"
    return ordered[0].share, LimitGroup(anchor, link, tuple([_row(each) for each in best]), len(found))


def _row(near: _Nearest) -> LimitRow:
    card, check = near.entry.card, near.check
    side = next(each for each in near.entry.sides() if each.result == check.result)
    metric = metric_of(check.metric)
    return LimitRow(
        link=to_record(card, root=""),
        result=to_record(
            card, check.result, place=result_place(card.ref, card.results, check.result), root=""
        ),
        status=card.status,
        figure=side.figure,
        metric=metric.title if metric else check.metric,
        share=per_cent(near.share),
        width=f"{min(Decimal(100), near.share * 100):.1f}",
        bound=_title(check.code).lower(),
        broken=near.share > HARD_SLACK,
    )


def _title(code: str) -> str:
    return next(title for bound, title in TITLES.items() if bound == code)
