"""The pages of accelerators, interconnects, engines, models, sources and gotchas."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kbtool.schema import Accelerator, Engine, Gotcha, Interconnect, Model, Record, Source
from kbtool.schema.things import Bandwidth, Checkpoint, Compute, LinkFact, Price
from kbtool.site.views.base import Citations, Context, citations_of, external
from kbtool.site.views.facts import Group, Item, fact_item, features, figure_item, plain_item, present
from kbtool.site.views.page import Common, common_of
from kbtool.site.views.setup import omission_item
from kbtool.site.views.text import counted, published_text, words

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
    story = _story(record, citations) if isinstance(record, Gotcha) else ()
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


# --- accelerators and interconnects -----------------------------------------------------------


def _accelerator(record: Accelerator, context: Context, citations: Citations) -> Iterator[Group]:
    yield Group(
        "Identity",
        present((
            plain_item("Vendor", record.vendor),
            plain_item("Family", record.family),
            plain_item("Edition", record.edition),
            fact_item("Architecture", record.architecture, citations),
            plain_item("Compute capability", record.compute_capability, code=True),
            plain_item("Form", words(record.form)),
            fact_item("Cooling", record.cooling, citations),
            fact_item("Released", record.released, citations),
        )),
    )  # fmt: skip
    memory, power = record.memory, record.power
    yield Group(
        "Memory",
        present((
            figure_item("Capacity", memory.capacity_gb, "GB", citations),
            figure_item("Capacity in GiB", memory.capacity_gib, "GiB", citations),
            fact_item("Type", memory.kind, citations),
            figure_item("Peak bandwidth", memory.bandwidth_gb_s, "GB/s", citations),
            figure_item("Bus width", memory.bus_bit, "bit", citations),
            figure_item("Memory clock", memory.clock_mhz, "MHz", citations),
        )),
    )  # fmt: skip
    for sparsity, title in (
        ("dense", "Compute, dense"),
        ("sparse", "Compute, sparse"),
        ("unstated", "Compute, sparsity not stated"),
    ):
        yield Group(
            title,
            tuple([_compute(each, citations) for each in record.compute if each.sparsity == sparsity]),
            _SPARSITY_NOTES[sparsity],
        )
    yield Group("Units", present(features(record.units, citations)))
    yield Group(
        "Power",
        present((
            figure_item("Power as sold", power.default_w, "W", citations),
            figure_item("Lowest limit", power.min_limit_w, "W", citations),
            figure_item("Highest limit", power.max_limit_w, "W", citations),
        )),
    )  # fmt: skip
    yield Group(
        "Links", tuple([row for each in record.interconnects for row in _link_fact(each, context, citations)])
    )
    yield Group(
        "Prices seen",
        tuple([_price(each, citations) for each in record.prices]),
        "Seen by somebody at some time; never a current price." if record.prices else "",
    )


_SPARSITY_NOTES: Final = {
    "dense": "Without structured sparsity.",
    "sparse": "With 2:1 structured sparsity: twice the dense figure, rarely reachable.",
    "unstated": "The source does not say which; no limit is computed from these.",
}


def _compute(compute: Compute, citations: Citations) -> Item:
    unit = "TOPS" if compute.dtype.startswith("int") else "TFLOPS"
    row = figure_item(compute.dtype, compute.tflops, unit, citations)
    assert row is not None
    measured = ("measured, not a datasheet peak",) if compute.measured else ()
    return row._replace(notes=(*measured, *row.notes))


def _link_fact(fact: LinkFact, context: Context, citations: Citations) -> Iterator[Item]:
    label = words(fact.role).capitalize()
    evidence = citations.cite(fact.evidence)
    notes = (fact.caveat,) if fact.caveat else ()
    if fact.interconnect is None:
        yield Item(label, "none", notes=notes, evidence=evidence)
    else:
        yield Item(label, link=context.link(fact.interconnect), notes=notes, evidence=evidence)
    size = figure_item(f"{label}: accelerators in one domain", fact.domain_size, "", citations)
    if size is not None:
        yield size


def _price(price: Price, citations: Citations) -> Item:
    seen = price.seen.isoformat() if price.seen else "date not stated"
    return Item(
        f"{words(price.basis).capitalize()}, per {price.per}",
        counted(price.amount),
        price.currency,
        f"{price.amount:f}",
        notes=(f"{price.as_published}, {seen}",),
        evidence=citations.cite(price.evidence),
    )


def _interconnect(record: Interconnect, _context: Context, citations: Citations) -> Iterator[Group]:
    yield Group(
        "Identity",
        present((
            plain_item("Maker", record.vendor),
            plain_item("Joins", words(record.role)),
            plain_item("Generation", record.generation),
            figure_item("Lanes or links", record.lanes, "", citations),
            figure_item("Latency", record.latency_ns, "ns", citations),
            figure_item("Devices in one domain", record.max_devices, "", citations),
        )),
    )  # fmt: skip
    for measured, title in ((False, "Bandwidth by specification"), (True, "Bandwidth as measured")):
        yield Group(
            title,
            tuple([_bandwidth(each, citations) for each in record.bandwidth if each.measured == measured]),
        )
    uses = [fact_item("Source", each, citations) for each in record.notes_on_use]
    yield Group("In inference", present(uses))


def _bandwidth(bandwidth: Bandwidth, citations: Citations) -> Item:
    direction = "direction not stated" if bandwidth.direction == "unstated" else words(bandwidth.direction)
    row = figure_item(
        f"{words(bandwidth.scope).capitalize()}, {direction}", bandwidth.gb_s, "GB/s", citations
    )
    assert row is not None
    conditions = (bandwidth.conditions,) if bandwidth.conditions else ()
    return row._replace(notes=(*conditions, *row.notes))


# --- engines and models -----------------------------------------------------------------------


def _engine(record: Engine, _context: Context, citations: Citations) -> Iterator[Group]:
    repository = (
        Item("Repository", link=external(record.repository, record.repository)) if record.repository else None
    )
    yield Group(
        "Identity",
        present((
            plain_item("Maintainer", record.maintainer),
            repository,
            fact_item("Licence", record.licence, citations),
            fact_item("First release", record.first_release, citations),
        )),
    )  # fmt: skip
    yield Group("What it can do", present(features(record.features, citations)))
    yield Group(
        "What a client can read from a running server", present(features(record.endpoints, citations))
    )


def _model(record: Model, _context: Context, citations: Citations) -> Iterator[Group]:
    yield Group(
        "Identity",
        present((
            plain_item("Published by", record.organisation),
            plain_item("Family", record.family),
            plain_item("Architecture", words(record.architecture)),
            plain_item("Takes in", ", ".join(record.modalities)),
            fact_item("Licence", record.licence, citations),
            fact_item("Released", record.released, citations),
        )),
    )  # fmt: skip
    yield Group(
        "Size",
        present((
            figure_item("Parameters", record.total_parameters, "", citations),
            figure_item("Active per token", record.active_parameters, "", citations),
            figure_item("Active in prefill", record.active_parameters_prefill, "", citations),
            figure_item("Active in decode", record.active_parameters_decode, "", citations),
            figure_item("Longest context", record.context_tok, "tok", citations),
        )),
    )  # fmt: skip
    if record.attention is not None:
        attention = record.attention
        yield Group(
            "Attention",
            present((
                fact_item("Kind", attention.kind, citations),
                figure_item("Layers", attention.layers, "", citations),
                figure_item("Hidden size", attention.hidden_size, "", citations),
                figure_item("Query heads", attention.heads, "", citations),
                figure_item("Key/value heads", attention.kv_heads, "", citations),
                figure_item("Head width", attention.head_dim, "", citations),
                figure_item("Sliding window", attention.sliding_window_tok, "tok", citations),
                *features(attention.other, citations),
            )),
        )  # fmt: skip
    if record.experts is not None:
        yield Group(
            "Experts",
            present((
                figure_item("Routed a layer", record.experts.routed, "", citations),
                figure_item("Shared a layer", record.experts.shared, "", citations),
                figure_item("Routed per token", record.experts.per_token, "", citations),
            )),
        )  # fmt: skip
    cache = [figure_item(each.layout, each.bytes_per_tok, "B/tok", citations) for each in record.kv_cache]
    yield Group("Cache per token", present(cache))
    yield Group("Checkpoints", tuple([_checkpoint(each, citations) for each in record.checkpoints]))
    yield Group("Other properties", present(features(record.features, citations)))


def _checkpoint(checkpoint: Checkpoint, citations: Citations) -> Item:
    size = figure_item("size", checkpoint.size_gb, "GB", citations)
    notes = [
        f"revision {checkpoint.revision}" if checkpoint.revision else "",
        f"experts {checkpoint.expert_dtype}" if checkpoint.expert_dtype else "",
        f"draft head: {checkpoint.draft_head}" if checkpoint.draft_head else "",
        checkpoint.caveat or "",
        *(size.notes if size else ()),
    ]
    text = f"weights {checkpoint.weight_dtype}" if checkpoint.weight_dtype else ""
    if size:
        text = ", ".join(filter(None, (text, f"{size.text} {size.unit}")))
    evidence = tuple(dict.fromkeys((*citations.cite(checkpoint.evidence), *(size.evidence if size else ()))))
    others = size.others if size else ()
    return Item(checkpoint.name, text, notes=tuple(filter(None, notes)), evidence=evidence, others=others)


# --- sources and gotchas ----------------------------------------------------------------------


def _source(record: Source, context: Context, _citations: Citations) -> Iterator[Group]:
    checked = record.last_checked
    yield Group(
        "Where it is",
        present((
            plain_item("What it is", words(record.source_kind)),
            Item("Address", link=external(record.url, record.url)) if record.url else Item("Address", "not known", gap="missing"),
            Item("Archived copy", link=external(record.archive_url, record.archive_url)) if record.archive_url else None,
            plain_item("Repository", record.repository),
            plain_item("Commit", record.commit, code=True),
            plain_item("Path", record.path, code=True),
            plain_item("Read through", record.read_via),
            Item("Last checked", f"{checked.day.isoformat()}: {words(checked.outcome)}", notes=(checked.note,) if checked.note else ()) if checked else None,
            plain_item("SHA-256 of what was read", record.content_sha256, code=True),
            plain_item("Licence", record.licence),
        )),
    )  # fmt: skip
    yield Group(
        "Who says it",
        present((
            plain_item("Publisher", record.publisher),
            plain_item("Author", record.author),
            plain_item("Interest", words(record.interest)),
            plain_item("Published", published_text(record)),
            plain_item("Read on", record.accessed.isoformat()),
            plain_item("Independence group", record.group, code=True),
        )),
    )  # fmt: skip
    related = [
        Item(words(each.relation), link=context.link(each.source), notes=(each.note,) if each.note else ())
        for each in record.related
    ]
    yield Group("Related sources", tuple(related))


def _gotcha(record: Gotcha, context: Context, _citations: Citations) -> Iterator[Group]:
    affected = [
        Item(
            "Engine" if each.engine else "Condition",
            each.condition or "",
            link=context.link(each.engine) if each.engine else None,
            notes=(f"versions: {each.versions}",) if each.versions else (),
        )
        for each in record.affected
    ]
    yield Group("Affected", tuple(affected))
    effects = [Item(each.note, link=context.link(each.target)) for each in record.effects]
    yield Group("Numbers that it changed", tuple(effects))


def _story(record: Gotcha, citations: Citations) -> tuple[Item, ...]:
    evidence = citations.cite(record.evidence)
    return (
        Item("What one sees", record.symptom, evidence=evidence),
        Item("Why", record.cause),
        Item("How to find out", record.detect),
        Item("What prevents it", record.avoid),
    )


_GROUPS: Final[dict[type[Record], Callable[[Any, Context, Citations], Iterator[Group]]]] = {
    Accelerator: _accelerator,
    Interconnect: _interconnect,
    Engine: _engine,
    Model: _model,
    Source: _source,
    Gotcha: _gotcha,
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
