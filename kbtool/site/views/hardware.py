"""Facts of accelerators and interconnects."""

from collections.abc import Iterator
from typing import Final

from kbtool.schema import Accelerator, Interconnect
from kbtool.schema.things import Bandwidth, Compute, LinkFact, Price
from kbtool.site.views.base import Citations, Context
from kbtool.site.views.facts import Group, Item, fact_item, features, figure_item, plain_item, present
from kbtool.site.views.text import counted, plural, words

__all__ = ["accelerator_groups", "interconnect_groups"]


def accelerator_groups(record: Accelerator, context: Context, citations: Citations) -> Iterator[Group]:
    """Yield the facts of an accelerator; dense and sparse compute are never in one group."""
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


def _of(price: Price) -> str:
    return f" of {plural(price.accelerators, 'accelerator')}" if price.accelerators else ""


def _price(price: Price, citations: Citations) -> Item:
    seen = price.seen.isoformat() if price.seen else "date not stated"
    return Item(
        f"{words(price.basis).capitalize()}, per {price.per}{_of(price)}",
        counted(price.amount),
        price.currency,
        f"{price.amount:f}",
        notes=(f"{price.as_published}, {seen}",),
        evidence=citations.cite(price.evidence),
    )


def interconnect_groups(record: Interconnect, _context: Context, citations: Citations) -> Iterator[Group]:
    """Yield the facts of a link; what was specified and what was measured are never in one group."""
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
