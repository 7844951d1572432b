"""The pages of accelerators, interconnects, engines, models, sources and gotchas."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from kbtool.schema import Accelerator, Engine, Gotcha, Interconnect, Model, Record, Source
from kbtool.site.places import UP, coverage_page, explorer
from kbtool.site.views.base import Citations, Context, Link, citations_of
from kbtool.site.views.facts import Group, Item
from kbtool.site.views.hardware import accelerator_groups, interconnect_groups
from kbtool.site.views.lists import Option
from kbtool.site.views.page import Common, common_of
from kbtool.site.views.setup import omission_item
from kbtool.site.views.software import engine_groups, model_groups
from kbtool.site.views.text import metric_of, words
from kbtool.site.views.witnesses import gotcha_groups, gotcha_story, source_groups

__all__ = ["ThingView", "thing_view"]


@dataclass(frozen=True, slots=True)
class ThingView:
    """A page of a thing: key facts first, then groups of rows, then who uses it."""

    common: Common
    lead: str
    facts: tuple[Item, ...]
    """Three or four facts that place it."""
    groups: tuple[Group, ...]
    story: tuple[Item, ...]
    """Paragraphs with a heading each; a gotcha's symptom and cause."""
    measured: tuple[Option, ...]
    """What was measured of it, by metric: results, and their address in the explorer."""
    answers: tuple[Link, ...]
    """Pages that answer questions about it."""


def thing_view(record: Record, context: Context, *, whole: bool = False) -> ThingView:
    """Return the page of any record that is no benchmark; `whole` for the page that holds its evidence."""
    citations = citations_of(record, context, whole=whole)
    groups = tuple([each for each in _GROUPS[type(record)](record, context, citations) if each.items])
    story = gotcha_story(record, citations) if isinstance(record, Gotcha) else ()
    other = _gaps(record, context, citations)
    return ThingView(
        common=common_of(record, context, citations),
        lead=_lead(record),
        facts=_FACTS[type(record)](groups, record),
        groups=(*groups, *((Group("Gaps", other),) if other else ())),
        story=story,
        measured=tuple(_measured(context)),
        answers=tuple(_answers(context)),
    )


def _measured(context: Context) -> Iterator[Option]:
    """Yield each metric of results on, with or of it that stand, the most frequent first; two metrics share no table."""
    kind, ref = context.card.kind, context.card.ref
    if kind not in _FACETS:
        return
    counts: Counter[str] = Counter()
    for card in {each.card.ref: each.card for each in context.incoming}.values():
        for each in card.measured if card.stands else ():
            if ref in each:
                counts[each.metric] += each.results
    for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        metric = metric_of(name)
        yield Option(name, metric.title if metric else name, count, UP + explorer(name, **{kind: ref}))


def _answers(context: Context) -> Iterator[Link]:
    """Yield what else the site says about it, where something was measured."""
    kind, ref = context.card.kind, context.card.ref
    if not any(ref in each for card, _ in context.incoming if card.stands for each in card.measured):
        return
    if kind in _FACETS:
        yield Link("All of them in the explorer", UP + explorer(**{kind: ref}))
    if kind == "model":
        yield Link("On what and with what it was measured", UP + coverage_page(ref))
        yield Link("What its tokens cost", f"{UP}cost.html#model={ref.partition('/')[2]}")
    if kind == "accelerator":
        if any(each.per == "hour" for each in context.card.prices):
            yield Link("What tokens cost on it", f"{UP}cost.html#accelerator={ref.partition('/')[2]}")
        # By its name, since none of its results may have been checked: then there is no place to lead to.
        yield Link(
            "How near its limits results come", f"{UP}limits.html#{urlencode({'q': context.card.title})}"
        )


def _lead(record: Record) -> str:
    names = getattr(record, "names", ())
    return f"Also written {', '.join(names)}." if names else ""


def _gaps(record: Record, context: Context, citations: Citations) -> tuple[Item, ...]:
    """Return what the sources of a thing leave out."""
    rows = [omission_item(each.field, each, context, citations) for each in record.omitted_by_source]
    rows += [
        Item(each.field, words(each.reason), gap="gap", notes=(each.note,) if each.note else ())
        for each in record.gaps
    ]
    return tuple(rows)


def _pick(groups: Sequence[Group], *labels: str) -> tuple[Item, ...]:
    """Return rows of the page by label, for its tiles."""
    rows = {item.label: item for group in groups for item in group.items}
    return tuple([rows[label]._replace(others=(), notes=()) for label in labels if label in rows])


_FACETS: Final = frozenset({"accelerator", "engine", "model"})
"""Kinds of which the explorer has a facet."""
_GROUPS: Final[dict[type[Record], Callable[[Any, Context, Citations], Iterator[Group]]]] = {
    Accelerator: accelerator_groups,
    Interconnect: interconnect_groups,
    Engine: engine_groups,
    Model: model_groups,
    Source: source_groups,
    Gotcha: gotcha_groups,
}
_FACTS: Final[dict[type[Record], Callable[[Sequence[Group], Any], tuple[Item, ...]]]] = {
    Accelerator: lambda groups, _: _pick(
        groups, "Capacity", "Peak bandwidth", "Power as sold", "Architecture"
    ),
    Interconnect: lambda groups, _: _pick(groups, "Joins", "Generation", "Latency", "Devices in one domain"),
    Engine: lambda groups, _: _pick(groups, "Maintainer", "Licence", "First release"),
    Model: lambda groups, _: _pick(
        groups, "Parameters", "Active per token", "Longest context", "Architecture"
    ),
    Source: lambda groups, _: _pick(groups, "What it is", "Publisher", "Interest", "Published"),
    Gotcha: lambda _, record: (Item("Kind of trap", words(record.trap_class)),),
}
