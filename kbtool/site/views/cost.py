"""The page of costs: what a million tokens cost, from prices that were seen by the hour."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, NamedTuple

from kbtool.analysis.cost import Cost, NotComputed, costs
from kbtool.analysis.sides import SideFacts
from kbtool.schema.things import Price
from kbtool.site.cards import Card
from kbtool.site.places import result_place
from kbtool.site.views.base import Link, to_record
from kbtool.site.views.text import counted, plural, words

__all__ = ["CostView", "cost_view"]

_MOST_ROWS: Final = 60
_TITLES: Final = {
    "output": "Per million output tokens",
    "input": "Per million input tokens",
    "input_and_output": "Per million tokens, input and output together",
}
_NO_THROUGHPUT: Final = "it is no throughput of tokens of a whole system"
_SHOWN_CONDITIONS: Final = ("Input tokens", "Output tokens", "Concurrency", "Weights")

Find = Callable[[str], Card | None]


class CostRow(NamedTuple):
    """What one result costs at one price."""

    link: Link
    result: Link
    status: str
    usd: str
    raw: str
    formula: str
    price: str
    model: Link
    conditions: str


class CostTable(NamedTuple):
    """Costs that count the same tokens, by model: another model is another product."""

    title: str
    anchor: str
    rows: tuple[CostRow, ...]
    total: int


class PriceRow(NamedTuple):
    """One price by the hour."""

    accelerator: Link
    price: str
    published: str
    basis: str
    seen: str
    used: bool
    """Whether costs are worked out from it."""


@dataclass(frozen=True, slots=True)
class CostView:
    """The page."""

    tables: tuple[CostTable, ...]
    prices: tuple[PriceRow, ...]
    reasons: tuple[tuple[str, int], ...]
    """Why throughputs have no cost, and how many."""
    throughputs: int
    closed: int
    """Throughputs of closed classes, which have no cost here."""


def cost_view(
    sides: Iterable[SideFacts],
    prices: Callable[[str], tuple[Price, ...]],
    accelerators: Iterable[str],
    find: Find,
) -> CostView:
    """Return the page.

    Args:
        sides: The results of all records that stand.
        prices: Prices seen of an accelerator.
        accelerators: All accelerators.
        find: Returns the card of a reference.
    """
    reasons: Counter[str] = Counter()
    found: dict[str, list[tuple[Decimal, str, CostRow]]] = {}
    throughputs = closed = 0
    for side in sides:
        if side.standing != "stands":
            continue
        each = costs(side, prices(side.settings["Accelerator"]))
        if isinstance(each, NotComputed) and each.reason == _NO_THROUGHPUT:
            continue
        if side.comparison_class:
            closed += 1
            continue
        throughputs += 1
        if isinstance(each, NotComputed):
            reasons[each.reason] += 1
            continue
        for cost in each:
            found.setdefault(cost.tokens, []).append((cost.usd_per_mtok, side.name, _row(side, cost, find)))
    return CostView(
        tables=tuple([_table(tokens, found[tokens]) for tokens in _TITLES if tokens in found]),
        prices=tuple([row for ref in accelerators for row in _prices(ref, prices(ref), find)]),
        reasons=tuple(sorted(reasons.items(), key=lambda item: (-item[1], item[0]))),
        throughputs=throughputs,
        closed=closed,
    )


def _table(tokens: str, found: list[tuple[Decimal, str, CostRow]]) -> CostTable:
    rows = [row for _, _, row in sorted(found, key=lambda each: each[:2])]
    return CostTable(_TITLES[tokens], f"Cost-{tokens.replace('_', '-')}", tuple(rows[:_MOST_ROWS]), len(rows))


def _row(side: SideFacts, cost: Cost, find: Find) -> CostRow:
    card, model = find(side.ref), find(side.model)
    assert card is not None
    place = result_place(card.ref, card.results, side.result)
    stated = [f"{name.lower()} {side.settings[name]}" for name in _SHOWN_CONDITIONS if name in side.settings]
    return CostRow(
        link=to_record(card, root=""),
        result=to_record(card, side.result, place=place, root=""),
        status=card.status,
        usd=_usd(cost.usd_per_mtok),
        raw=f"{cost.usd_per_mtok:.6f}",
        formula=f"{cost.formula} = {_usd(cost.usd_per_mtok)}",
        price=f"{words(cost.basis)}, {_seen(cost.price)}",
        model=to_record(model, root="") if model else Link(side.model),
        conditions=", ".join(stated),
    )


def _usd(amount: Decimal) -> str:
    """Return an amount with at least three digits that mean something."""
    digits = 2 if amount >= 10 else 3 if amount >= 1 else 4
    return f"{amount:,.{digits}f} USD"


def _seen(price: Price) -> str:
    return f"seen {price.seen.isoformat()}" if price.seen else "day not stated"


def _prices(ref: str, prices: tuple[Price, ...], find: Find) -> Iterable[PriceRow]:
    card = find(ref)
    for each in prices:
        if each.per == "hour":
            of = f" for {plural(each.accelerators, 'accelerator')}" if each.accelerators else ""
            yield PriceRow(
                accelerator=to_record(card, root="") if card else Link(ref),
                price=f"{counted(each.amount)} {each.currency} an hour{of}",
                published=each.as_published,
                basis=words(each.basis),
                seen=each.seen.isoformat() if each.seen else "not stated",
                used=each.currency == "USD" and each.accelerators is not None,
            )
