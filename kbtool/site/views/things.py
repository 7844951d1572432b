"""The pages of accelerators, interconnects, engines, models, sources and gotchas."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kbtool.schema import Accelerator, Engine, Gotcha, Interconnect, Model, Record, Source
from kbtool.site.views.base import Citations, Context, citations_of
from kbtool.site.views.facts import Group, Item
from kbtool.site.views.hardware import accelerator_groups, interconnect_groups
from kbtool.site.views.page import Common, common_of
from kbtool.site.views.setup import omission_item
from kbtool.site.views.software import engine_groups, model_groups
from kbtool.site.views.text import words
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
