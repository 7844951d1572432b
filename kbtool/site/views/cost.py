"""The pages of costs: what a million tokens cost, by model and accelerator, from prices that were seen by the hour."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, NamedTuple

from kbtool.analysis.cost import Cost, NotComputed, costs
from kbtool.analysis.sides import SideFacts
from kbtool.schema.things import Price
from kbtool.site.cards import Card
from kbtool.site.places import UP, cost_page, explorer, record_page, result_place
from kbtool.site.views.base import Link, to_record
from kbtool.site.views.lists import Facet, Option
from kbtool.site.views.text import counted, metric_of, plural, words
from kbtool.vocab.metrics import Tokens

__all__ = [
    "CostPage",
    "CostView",
    "Priced",
    "RecordCost",
    "cost_pages",
    "cost_view",
    "priced_of",
    "record_cost",
]

_MOST_ROWS: Final = 25
_MOST_OF_RECORD: Final = (3, 1)
"""Prices on a record's page, and on one with little room."""
_TITLES: Final[dict[Tokens, str]] = {
    "output": "Output tokens",
    "input": "Input tokens",
    "input_and_output": "Input and output tokens together",
}
_NO_THROUGHPUT: Final = "it is no throughput of tokens of a whole system"
_SHOWN_CONDITIONS: Final = (
    "Input tokens", "Output tokens", "Concurrency", "Request rate, req/s", "Weights", "Tensor parallelism", "Speculation", "Engine",
)  # fmt: skip
_ENGINE: Final = "Engine"

Find = Callable[[str], Card | None]
Prices = Callable[[str], tuple[Price, ...]]


class PricedResult(NamedTuple):
    """A result with its cost at each price that was seen of its accelerator, the lowest first."""

    side: SideFacts
    costs: tuple[Cost, ...]

    @property
    def lowest(self) -> Decimal:
        """USD per million tokens at the lowest price."""
        return self.costs[0].usd_per_mtok


@dataclass(frozen=True, slots=True)
class Priced:
    """All results that have a cost, and why others have none."""

    results: tuple[PricedResult, ...]
    """Those that count the same tokens by cost, the lowest first."""
    reasons: tuple[tuple[str, int], ...]
    """Why throughputs have no cost, and how many."""
    throughputs: int
    closed: int
    """Throughputs of closed classes, which have no cost here."""
    models: frozenset[str]
    """Models of all results that stand, with a cost or without."""


class Offer(NamedTuple):
    """From what to what a million tokens cost in one group of results."""

    text: str
    raw: str
    """The lowest, in USD."""
    results: int


class PairRow(NamedTuple):
    """One model on one accelerator; or a model, or an accelerator, of which no result has a cost."""

    model: Link
    accelerator: Link
    """Leads to the results of the pair."""
    facets: tuple[tuple[str, str], ...]
    offers: tuple[Offer | None, ...]
    """One for each of the page's kinds of tokens."""


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
    """The first page of costs: every model on every accelerator."""

    models: tuple[Option, ...]
    """With their results and their pages."""
    facets: tuple[Facet, ...]
    tokens: tuple[str, ...]
    """Kinds of tokens that some result counts."""
    pairs: tuple[PairRow, ...]
    prices: tuple[PriceRow, ...]
    reasons: tuple[tuple[str, int], ...]
    priced: int
    throughputs: int
    closed: int


class CostRow(NamedTuple):
    """What one result costs, at each price."""

    link: Link
    result: Link
    status: str
    figures: tuple[str, ...]
    """One for each price of the table."""
    formula: str
    """At the lowest price."""
    conditions: str
    engine: Link | None


class CostTable(NamedTuple):
    """Costs on one accelerator that count the same tokens."""

    title: str
    prices: tuple[tuple[str, str], ...]
    """Amount by the hour, and what it is: heads of columns."""
    rows: tuple[CostRow, ...]
    total: int
    more: tuple[Link, ...]
    """The same results in the explorer, by metric."""


class CostSection(NamedTuple):
    """One accelerator."""

    accelerator: Link
    anchor: str
    tables: tuple[CostTable, ...]


@dataclass(frozen=True, slots=True)
class CostPage:
    """What tokens of one model cost."""

    path: str
    title: str
    model: Link
    sections: tuple[CostSection, ...]
    results: int


class RecordCost(NamedTuple):
    """What a benchmark's own page says of cost."""

    result: str
    """Which result it is of; empty where it is the headline."""
    lines: tuple[tuple[str, str, str], ...]
    """Amount, what the price is, and the steps: one for each price, the lowest first."""
    all_prices: int
    tokens: str
    more: Link
    brief: bool
    """Whether the page has little room."""


def priced_of(sides: Iterable[SideFacts], prices: Prices) -> Priced:
    """Return all results that have a cost.

    Args:
        sides: The results of all records that stand.
        prices: Prices seen of an accelerator.
    """
    reasons: Counter[str] = Counter()
    found: list[PricedResult] = []
    models: set[str] = set()
    throughputs = closed = 0
    for side in sides:
        if side.standing != "stands":
            continue
        models.add(side.model)
        each = costs(side, prices(side.settings["Accelerator"]))
        if isinstance(each, NotComputed) and each.reason == _NO_THROUGHPUT:
            continue
        if side.comparison_class:
            closed += 1
            continue
        throughputs += 1
        if isinstance(each, NotComputed):
            reasons[each.reason] += 1
        else:
            found.append(PricedResult(side, _lowest_first(each)))
    found.sort(key=lambda each: (each.lowest, each.side.name))
    ordered = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    return Priced(tuple(found), tuple(ordered), throughputs, closed, frozenset(models))


def cost_view(priced: Priced, prices: Prices, accelerators: Iterable[str], find: Find) -> CostView:
    """Return the first page.

    Args:
        priced: All results with a cost.
        prices: Prices seen of an accelerator.
        accelerators: All accelerators.
        find: Returns the card of a reference.
    """
    refs = tuple(accelerators)
    pairs = sorted(_by_pair(priced.results).items(), key=lambda item: [_title(ref, find) for ref in item[0]])
    kinds = [each for each in _TITLES if any(one.costs[0].tokens == each for one in priced.results)]
    models = Counter(each.side.model for each in priced.results)
    hourly = {ref for ref in refs if any(each.per == "hour" for each in prices(ref))}
    # Whoever asks for one of these finds that there is none, and not all the others.
    without = (priced.models - models.keys(), hourly - {accelerator for (_, accelerator), _ in pairs})
    rows = [_pair(key, found, kinds, find) for key, found in pairs]
    for index, lacking in enumerate(without):
        rows += [_lacking(index, ref, len(kinds), find) for ref in sorted(lacking)]
    return CostView(
        models=tuple(
            [
                Option(ref.partition("/")[2], _title(ref, find), models[ref], cost_page(ref))
                for ref in sorted(models, key=lambda ref: _title(ref, find).casefold())
            ]
        ),
        facets=tuple([_facet(index, rows, find) for index in range(len(_FACETS))]) if rows else (),
        tokens=tuple([_TITLES[each] for each in kinds]),
        pairs=tuple(rows),
        prices=tuple([row for ref in refs for row in _prices(ref, prices(ref), find)]),
        reasons=priced.reasons,
        priced=len(priced.results),
        throughputs=priced.throughputs,
        closed=priced.closed,
    )


def cost_pages(priced: Priced, find: Find) -> Iterator[CostPage]:
    """Yield a page for each model of which some result has a cost."""
    by_model: dict[str, list[PricedResult]] = {}
    for each in priced.results:
        by_model.setdefault(each.side.model, []).append(each)
    for model, found in sorted(by_model.items()):
        pairs = _by_pair(found)
        # The accelerator with most results first: what is asked of most often has the shortest way.
        ordered = sorted(pairs.items(), key=lambda item: (-len(item[1]), item[0]))
        title = _title(model, find)
        yield CostPage(
            path=cost_page(model),
            title=f"Cost of {title}",
            model=_record_link(model, find),
            sections=tuple([_section(accelerator, each, find) for (_, accelerator), each in ordered]),
            results=len(found),
        )


def record_cost(
    sides: Sequence[SideFacts], headline: str, prices: Prices, *, brief: bool = False
) -> RecordCost | None:
    """Return what a benchmark's own page says: the cost of its headline, else of its cheapest result that has one.

    Args:
        sides: Its results.
        headline: Id of the result that stands for it.
        prices: Prices seen of an accelerator.
        brief: Whether the page has little room.
    """
    found = priced_of(sides, prices).results
    if not found:
        return None
    side, each = next((one for one in found if one.side.result == headline), found[0])
    shown = each[: _MOST_OF_RECORD[brief]]
    return RecordCost(
        result="" if side.result == headline else side.result,
        lines=tuple([(_usd(one.usd_per_mtok), _about(one.price), _steps(one)) for one in shown]),
        all_prices=len(each),
        tokens=_TITLES[each[0].tokens].lower(),
        more=Link(
            "All of this model" if brief else "The same model at other loads and on other accelerators",
            UP + _pair_place(side),
        ),
        brief=brief,
    )


def _lowest_first(found: Sequence[Cost]) -> tuple[Cost, ...]:
    return tuple(sorted(found, key=lambda each: each.usd_per_mtok))


def _by_pair(results: Iterable[PricedResult]) -> dict[tuple[str, str], list[PricedResult]]:
    """Return the results by model and accelerator."""
    found: dict[tuple[str, str], list[PricedResult]] = {}
    for each in results:
        found.setdefault((each.side.model, each.side.settings["Accelerator"]), []).append(each)
    return found


def _pair(
    key: tuple[str, str], found: Sequence[PricedResult], kinds: Sequence[Tokens], find: Find
) -> PairRow:
    model, accelerator = key
    return PairRow(
        model=Link(_title(model, find), cost_page(model)),
        accelerator=Link(_title(accelerator, find), _pair_place(found[0].side)),
        facets=tuple([(name, ref.partition("/")[2]) for (name, _), ref in zip(_FACETS, key, strict=True)]),
        offers=tuple([_offer([each for each in found if each.costs[0].tokens == kind]) for kind in kinds]),
    )


_FACETS: Final = (("model", "Model"), ("accelerator", "Accelerator"))


def _lacking(index: int, ref: str, kinds: int, find: Find) -> PairRow:
    """Return the row of a model, or of an accelerator, of which no result has a cost."""
    name = _FACETS[index][0]
    own, none = Link(_title(ref, find), record_page(ref)), Link("no result with a cost")
    model, accelerator = (own, none) if index == 0 else (none, own)
    return PairRow(model, accelerator, ((name, ref.partition("/")[2]),), (None,) * kinds)


def _facet(index: int, rows: Sequence[PairRow], find: Find) -> Facet:
    name, title = _FACETS[index]
    counts = Counter(value for row in rows for facet, value in row.facets if facet == name)
    titles = {value: _title(f"{name}s/{value}", find) for value in counts}
    ordered = sorted(counts, key=lambda value: titles[value].casefold())
    return Facet(name, title, tuple([Option(value, titles[value], counts[value]) for value in ordered]))


def _offer(found: Sequence[PricedResult]) -> Offer | None:
    if not found:
        return None
    low, high = found[0].lowest, max(each.costs[-1].usd_per_mtok for each in found)
    first, last = _amount(low), _amount(high)
    text = f"{first} USD" if first == last else f"{first} to {last} USD"
    return Offer(text, f"{low:.6f}", len(found))


def _pair_place(side: SideFacts) -> str:
    """Return page and section of the costs of a result."""
    return f"{cost_page(side.model)}#{_anchor(side.settings['Accelerator'])}"


def _anchor(accelerator: str) -> str:
    return f"A-{accelerator.partition('/')[2]}"


def _section(accelerator: str, found: Sequence[PricedResult], find: Find) -> CostSection:
    tables = []
    for tokens, title in _TITLES.items():
        rows = [each for each in found if each.costs[0].tokens == tokens]
        if rows:
            tables.append(_table(title, rows, find))
    return CostSection(_record_link(accelerator, find), _anchor(accelerator), tuple(tables))


def _table(title: str, found: Sequence[PricedResult], find: Find) -> CostTable:
    metrics = Counter(each.side.metric for each in found)
    side = found[0].side
    return CostTable(
        title=title,
        prices=tuple(
            [(_hourly(each.price), f"{words(each.basis)}, {_seen(each.price)}") for each in found[0].costs]
        ),
        rows=tuple([_row(each, find) for each in found[:_MOST_ROWS]]),
        total=len(found),
        more=tuple(
            [
                Link(
                    metric.title if (metric := metric_of(name)) else name,
                    UP
                    + explorer(
                        name,
                        model=side.model,
                        accelerator=side.settings["Accelerator"],
                        sort="-per_accelerator",
                    ),
                )
                for name, _ in metrics.most_common()
            ]
        ),
    )


def _row(found: PricedResult, find: Find) -> CostRow:
    side = found.side
    card = find(side.ref)
    assert card is not None
    place = result_place(card.ref, card.results, side.result)
    stated = [
        _condition(name, side.settings[name])
        for name in _SHOWN_CONDITIONS
        if name != _ENGINE and name in side.settings
    ]
    return CostRow(
        link=to_record(card),
        result=to_record(card, side.result, place=place),
        status=card.status,
        figures=tuple([_usd(each.usd_per_mtok) for each in found.costs]),
        formula=_steps(found.costs[0]),
        conditions=", ".join(stated),
        engine=_record_link(side.settings[_ENGINE], find) if _ENGINE in side.settings else None,
    )


def _condition(name: str, value: str) -> str:
    """Return a setting in a sentence, with the unit that its name ends in behind the value: `request rate 60 req/s`."""
    label, _, unit = name.partition(", ")
    return " ".join(filter(None, (label.lower(), value, unit)))


def _steps(cost: Cost) -> str:
    return f"{cost.formula} = {_usd(cost.usd_per_mtok)}"


def _usd(amount: Decimal) -> str:
    return f"{_amount(amount)} USD"


def _amount(amount: Decimal) -> str:
    """Return an amount with at least three digits that mean something."""
    digits = 2 if amount >= 10 else 3 if amount >= 1 else 4
    return f"{amount:,.{digits}f}"


def _hourly(price: Price) -> str:
    many = (
        f" for {plural(price.accelerators, 'accelerator')}"
        if price.accelerators and price.accelerators > 1
        else ""
    )
    return f"{counted(price.amount)} {price.currency} an hour{many}"


def _about(price: Price) -> str:
    return f"{_hourly(price)}, {words(price.basis)}, {_seen(price)}"


def _seen(price: Price) -> str:
    return f"seen {price.seen.isoformat()}" if price.seen else "day not stated"


def _title(ref: str, find: Find) -> str:
    card = find(ref)
    return card.title if card else ref


def _record_link(ref: str, find: Find) -> Link:
    card = find(ref)
    return to_record(card) if card else Link(ref)


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
