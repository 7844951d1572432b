"""The page of hardware limits: which results come nearest to what their accelerator allows."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, NamedTuple

from kbtool.analysis.checks import Check, Unchecked, unchecked_reasons
from kbtool.analysis.limits import HARD_SLACK, TITLES, BoundCode, explanations
from kbtool.analysis.sides import SideFacts
from kbtool.site.cards import Card
from kbtool.site.places import explorer, result_place
from kbtool.site.views.base import Link, to_record
from kbtool.site.views.checked import per_cent
from kbtool.site.views.text import metric_of

__all__ = ["Checked", "LimitsView", "limits_view"]

_MOST_ABOVE: Final = 30
_MOST_REASONS: Final = 12
_FEW: Final = 3
"""Records that a reason names."""
_HARD: Final[tuple[BoundCode, ...]] = ("bandwidth", "compute")

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
    raw: str
    width: str
    bound: str
    broken: bool


class LimitGroup(NamedTuple):
    """One accelerator with the result that comes nearest."""

    anchor: str
    accelerator: Link
    row: LimitRow | None
    """None where no result was checked."""
    checked: int
    asked: int
    more: str
    """Address of its results in the explorer."""


class BoundRow(NamedTuple):
    """One hard bound over all results."""

    title: str
    nearest: int
    """Results of which it is the bound that they reach the largest share of."""
    highest: str
    """The largest share that is reached; empty where there is none."""
    above: int
    unchecked: int


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
    records: tuple[Link, ...]
    """Some of the benchmarks, or of the accelerators and models whose record lacks something."""
    more: int
    """How many others there are."""


@dataclass(frozen=True, slots=True)
class LimitsView:
    """The page."""

    groups: tuple[LimitGroup, ...]
    """The accelerator whose results come nearest first."""
    bounds: tuple[BoundRow, ...]
    above: tuple[LimitRow, ...]
    """Results above a hard bound, closed classes included; the highest share first."""
    all_above: int
    within: int
    """Results above a hard bound by no more than the slack."""
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


class _Near(NamedTuple):
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
    near = [
        _Near(Decimal(each.share), entry, each) for entry in everything for each in entry.checks if each.share
    ]
    near.sort(key=lambda each: (-each.share, each.entry.card.ref, each.check.result))
    above = [each for each in near if each.share > HARD_SLACK]
    reasons = unchecked_reasons((entry.card.ref, each) for entry in everything for each in entry.checks)
    return LimitsView(
        groups=tuple(_groups(everything, near, find)),
        bounds=tuple([_bound(code, near, reasons) for code in _HARD]),
        above=tuple([_row(each) for each in above[:_MOST_ABOVE]]),
        all_above=len(above),
        within=sum(1 < each.share <= HARD_SLACK for each in near),
        explanations=tuple(
            [
                Explanation(TITLES[code], "hard" if code in _HARD else "soft", paragraphs)
                for code, paragraphs in explanations().items()
            ]
        ),
        reasons=tuple([_reason(each, find) for each in reasons[:_MOST_REASONS]]),
        other_reasons=sum(each.results for each in reasons[_MOST_REASONS:]),
        asked=sum(len(entry.checks) for entry in everything),
        checked=len(near),
        closed=sum(each.entry.closed for each in near),
        slack=f"{(HARD_SLACK - 1) * 100:.0f} %",
    )


def _groups(everything: Sequence[Checked], near: Sequence[_Near], find: Find) -> Iterator[LimitGroup]:
    """Yield the accelerators, those whose results come nearest first, those of which none was checked last."""
    asked: Counter[str] = Counter()
    for entry in everything:
        if not entry.closed and entry.checks:
            asked[entry.card.cells[3].ref] += len(entry.checks)
    found: dict[str, list[_Near]] = {}
    for each in near:
        if not each.entry.closed:
            found.setdefault(each.entry.card.cells[3].ref, []).append(each)
    for ref in (*found, *sorted(asked.keys() - found.keys())):
        card = find(ref)
        yield LimitGroup(
            anchor=f"A-{ref.partition('/')[2]}",
            accelerator=to_record(card, root="") if card else Link(ref),
            row=_row(found[ref][0]) if ref in found else None,
            checked=len(found.get(ref, ())),
            asked=asked[ref],
            more=explorer(accelerator=ref, sort="-bound_share", columns=_COLUMNS),
        )


_COLUMNS: Final = "value,bound_share,bound,engine,model,accelerators_serving,concurrency,status"
"""What the explorer shows of a result that was held against a bound."""


def _bound(code: BoundCode, near: Sequence[_Near], reasons: Sequence[Unchecked]) -> BoundRow:
    own = [each.share for each in near if each.check.code == code]
    return BoundRow(
        title=TITLES[code],
        nearest=len(own),
        highest=per_cent(own[0]) if own else "",
        above=sum(each > HARD_SLACK for each in own),
        unchecked=sum(each.results for each in reasons if each.code == code),
    )


def _reason(each: Unchecked, find: Find) -> Reason:
    refs = each.lacking or each.records
    cards = [(ref, find(ref)) for ref in refs[:_FEW]]
    links = [to_record(card, root="") if card else Link(ref) for ref, card in cards]
    return Reason(_title(each.code), each.reason, each.results, tuple(links), len(refs) - len(links))


def _row(near: _Near) -> LimitRow:
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
        raw=f"{near.share:f}",
        width=f"{min(Decimal(100), near.share * 100):.1f}",
        bound=_title(check.code).lower(),
        broken=near.share > HARD_SLACK,
    )


def _title(code: str) -> str:
    return next(title for bound, title in TITLES.items() if bound == code)
