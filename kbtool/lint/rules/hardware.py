"""Rules about things: what a datasheet says fits together, and a run stays within what its hardware can do."""

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from itertools import pairwise
from typing import Final

from kbtool.analysis.limits import TITLES, broken
from kbtool.analysis.parts import parts
from kbtool.analysis.published import numbers_in
from kbtool.lint.lookup import Lookup
from kbtool.lint.rule import Problem, rule
from kbtool.schema import Accelerator, Benchmark, Interconnect, Model
from kbtool.schema.common import Evidence, Figure
from kbtool.schema.things import Attention, Experts
from kbtool.vocab.units import format_number, unit_in_name

_SENSOR_SLACK: Final = Decimal("1.05")
"""A sensor reads up to 5 % off, and a board overshoots its limit for moments."""
_SPARSE_TO_DENSE: Final = (Decimal("1.5"), Decimal("2.5"))
"""Structured sparsity doubles the peak; datasheets round."""
_BOTH_WAYS: Final = (Decimal("1.2"), Decimal("2.2"))
_GB_PER_GIB: Final = (Decimal("0.97"), Decimal("1.11"))
"""96 GB as sold is 95.6 to 96 GiB as read; the exact factor is 1.074."""
_TWICE: Final = (Decimal("1.85"), Decimal("2.15"))
_LINKS_TO_DEVICE: Final = (Decimal("0.85"), Decimal("1.18"))
"""Vendors round, and count the signalling rate or the payload."""
_WITH_SPARSITY: Final = re.compile(
    r"\b(?:with|including|using)\s+(?:structured\s+)?sparsity\b|\bsparse\b", re.IGNORECASE
)
_DENSE: Final = re.compile(
    r"\b(?:without|no|excluding)\s+(?:structured\s+)?sparsity\b|\bdense\b", re.IGNORECASE
)
_LARGEST_MEMORY_GB: Final = 4_096
_FASTEST_MEMORY_GB_S: Final = 100_000
_EDITIONS: Final = ("max-q", "workstation", "server", "sxm", "nvl", "pcie")
"""Words that tell editions of one accelerator apart."""


@rule("U201", "power-limit-above-board")
def power_limit_above_board(record: Benchmark, refs: Lookup) -> Iterator[Problem]:
    """Flag a power limit that the accelerator's edition cannot be set to.

    "220 W of 600 W" on a card whose limit is 300 W is not 37 % of the power but 73 %, and the conclusion
    drawn from it turns round. Either the limit or the edition was misread. A printed limit alone is a
    warning, which a claim about `system.power_limit_w` settles.

    Bad:
        system: {power_limit_w: 700, power_limit_as_published: 700 W}

    Good:
        system: {power_limit_w: 450, power_limit_as_published: 450 W}
    """
    system = record.system
    if system.power_limit_w is None and system.power_limit_as_published is None:
        return
    board = _board_limit_w(refs.get(system.accelerator, Accelerator))
    if board is None:
        return
    if system.power_limit_w is not None:
        if system.power_limit_w > board:
            message = f"{system.power_limit_w} W; {system.accelerator} allows {board} W: correct the limit, or the edition"
            yield Problem("/system/power_limit_w", message)
        return
    printed = numbers_in(system.power_limit_as_published or "")
    told = any("system.power_limit_w" in each.fields for each in record.claims)
    if len(printed) == 1 and printed[0].value > board and not told:
        message = (
            f"the source prints {system.power_limit_as_published!r}, but {system.accelerator} allows {board} W: "
            "add a claim about system.power_limit_w, or correct the edition"
        )
        yield Problem("/system/power_limit_as_published", message, severity="warning")


@rule("U202", "power-above-board")
def power_above_board(record: Benchmark, refs: Lookup) -> Iterator[Problem]:
    """Flag a mean power per accelerator above the limit of its board.

    The figure is that of the whole system, or the accelerator is another edition.

    Bad:
        results:
          - {id: decode-prose-1, metric: power_w, value: 1200, as_published: 1200 W,
             at: {concurrency: 1, interval: the run}, evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        results:
          - {id: decode-prose-1, metric: power_w, value: 420, as_published: 420 W,
             at: {concurrency: 1, interval: the run}, evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    for index, result in enumerate(record.results):
        if result.metric != "power_w" or result.value is None or result.statistic in ("max", "peak"):
            continue
        board = _board_limit_w(refs.get(record.system.accelerator, Accelerator))
        if board is not None and result.value > board * _SENSOR_SLACK:
            message = f"{result.value} W each; {record.system.accelerator} allows {board} W: check scope and edition"
            yield Problem(f"/results/{index}/value", message)


@rule("U203", "edition-not-the-one-named", severity="warning")
def edition_not_the_one_named(record: Benchmark, refs: Lookup) -> Iterator[Problem]:
    """Flag a run whose source names another edition than the accelerator record is about.

    Editions of one name differ in power, clocks and links by up to half.

    Bad:
        system: {accelerator_as_published: Base Accelerator 96GB Max-Q}

    Good:
        system: {accelerator_as_published: Base Accelerator 96GB Workstation Edition}
    """
    text = record.system.accelerator_as_published
    named = {word for word in _EDITIONS if word in text.casefold()} if text else set()
    if not named or record.system.accelerator_basis != "stated":
        return
    accelerator = refs.get(record.system.accelerator, Accelerator)
    if accelerator is None:
        return
    known = " ".join(
        [accelerator.title, accelerator.edition or "", accelerator.id, *accelerator.names]
    ).casefold()
    if not any(word in known for word in named):
        message = f"the source names {text!r}, but {record.system.accelerator} is another edition: refer to the one named"
        yield Problem("/system/accelerator", message)


@rule("U204", "power-limits-out-of-order")
def power_limits_out_of_order(record: Accelerator) -> Iterator[Problem]:
    """Flag a lowest power limit above the default, or a default above the highest.

    Bad:
        power: {default_w: {value: 100, as_published: 100 W}}

    Good:
        power: {default_w: {value: 450, as_published: 450 W}}
    """
    power = record.power
    limits = [
        ("min_limit_w", power.min_limit_w),
        ("default_w", power.default_w),
        ("max_limit_w", power.max_limit_w),
    ]
    known = [
        (name, figure.value) for name, figure in limits if figure is not None and figure.value is not None
    ]
    for (lower, low), (upper, high) in pairwise(known):
        if low > high:
            yield Problem(
                f"/power/{lower}/value", f"{lower} is {low}, above {upper} {high}: correct the one misread"
            )


@rule("U205", "gib-given-as-gb")
def gib_given_as_gb(record: Accelerator | Model) -> Iterator[Problem]:
    """Flag a size that its source prints in GiB and the record holds in GB, or the other way round.

    1 GiB is 1.074 GB. At 100 GB the slip is 7 GB, which decides whether a model fits.

    Bad:
        memory: {capacity_gb: {value: 95.6, as_published: 95.6 GiB}}

    Bad:
        memory: {capacity_gib: {value: 96, as_published: 96 GB}}

    Good:
        memory: {capacity_gib: {value: 95.6, as_published: 95.6 GiB}}
    """
    for pointer, figure in parts(record, Figure):
        ours = unit_in_name(pointer.rpartition("/")[2])
        wrong = {"GB": "GiB", "GiB": "GB"}.get(ours)
        if wrong is None or figure.value is None or figure.as_published is None or figure.basis != "stated":
            continue
        if any(each.unit == wrong and each.value == figure.value for each in numbers_in(figure.as_published)):
            message = (
                f"the source prints {figure.as_published!r}, but the field is in {ours}: "
                f"convert it and say `basis: derived`, or give it in the field that is in {wrong}"
            )
            yield Problem(f"{pointer}/value", message)


@rule("U206", "gb-and-gib-apart")
def gb_and_gib_apart(record: Accelerator) -> Iterator[Problem]:
    """Flag a capacity in GB and one in GiB that cannot be one memory.

    Bad:
        memory: {capacity_gib: {value: 48, as_published: 48 GiB}}

    Good:
        memory: {capacity_gib: {value: 95.6, as_published: 95.6 GiB}}
    """
    memory = record.memory
    decimal = memory.capacity_gb.value if memory.capacity_gb else None
    binary = memory.capacity_gib.value if memory.capacity_gib else None
    if not decimal or not binary:
        return
    low, high = _GB_PER_GIB
    if not low <= decimal / binary <= high:
        message = (
            f"{decimal} GB and {binary} GiB cannot be one memory: correct the one that is of another edition"
        )
        yield Problem("/memory/capacity_gib/value", message)


@rule("U207", "memory-beyond-any-known", severity="warning")
def memory_beyond_any_known(record: Accelerator) -> Iterator[Problem]:
    """Flag a memory larger or faster than any accelerator's.

    The figure is that of a node or a rack, or in another unit. Wafers, whose memory is on the chip, are left
    out.

    Bad:
        memory: {bandwidth_gb_s: {value: 1792000, as_published: "1,792,000"}}

    Good:
        memory: {bandwidth_gb_s: {value: 8000, as_published: 8 TB/s}}
    """
    if record.form in ("wafer", "rack_tray"):
        return
    for field, figure, limit in (
        ("capacity_gb", record.memory.capacity_gb, _LARGEST_MEMORY_GB),
        ("bandwidth_gb_s", record.memory.bandwidth_gb_s, _FASTEST_MEMORY_GB_S),
    ):
        if figure is not None and figure.value is not None and figure.value > limit:
            message = (
                f"{field} is {figure.value:f}; expected at most {limit} for one package: check unit and scope"
            )
            yield Problem(f"/memory/{field}/value", message)


@rule("U208", "sparse-not-twice-dense")
def sparse_not_twice_dense(record: Accelerator) -> Iterator[Problem]:
    """Flag a sparse peak that is not about twice the dense one.

    Datasheets print the sparse figure in the large type. Taken for dense, it makes every bound twice too
    high; with the two exchanged, half too low.

    Bad:
        compute:
          - {dtype: fp8_e4m3, sparsity: dense, measured: false, tflops: {value: 2000, as_published: "2,000"}}
          - {dtype: fp8_e4m3, sparsity: sparse, measured: false, tflops: {value: 1000, as_published: "1,000"}}

    Good:
        compute:
          - {dtype: fp8_e4m3, sparsity: dense, measured: false, tflops: {value: 1000, as_published: "1,000"}}
          - {dtype: fp8_e4m3, sparsity: sparse, measured: false, tflops: {value: 2000, as_published: "2,000"}}
    """
    peaks = {(each.dtype, each.sparsity): each.tflops.value for each in record.compute if not each.measured}
    low, high = _SPARSE_TO_DENSE
    for index, entry in enumerate(record.compute):
        sparse, dense = entry.tflops.value, peaks.get((entry.dtype, "dense"))
        if entry.measured or entry.sparsity != "sparse" or sparse is None or not dense:
            continue
        if not low <= sparse / dense <= high:
            message = f"sparse is {sparse}, dense {dense}; expected about twice: check which figure is which"
            yield Problem(f"/compute/{index}/tflops/value", message)


@rule("U209", "peak-given-twice")
def peak_given_twice(record: Accelerator) -> Iterator[Problem]:
    """Flag two datasheet peaks of one data type that are both dense, or both sparse.

    Where sources disagree, the second figure stands in `others` with the reason why it is not used; usually
    one of the two is the sparse one.

    Bad:
        compute:
          - {dtype: fp8_e4m3, sparsity: dense, measured: false, tflops: {value: 1000, as_published: "1,000"}}
          - {dtype: fp8_e4m3, sparsity: dense, measured: false, tflops: {value: 2000, as_published: "2,000"}}

    Good:
        compute:
          - {dtype: fp8_e4m3, sparsity: dense, measured: false, tflops: {value: 1000, as_published: "1,000"}}
          - {dtype: fp8_e4m3, sparsity: dense, measured: true, tflops: {value: 870, as_published: "870"}}
    """
    seen = set()
    for index, entry in enumerate(record.compute):
        key = (entry.dtype, entry.sparsity)
        if not entry.measured and key in seen:
            message = f"a second {entry.sparsity} peak for {entry.dtype}: say which is sparse, or put it into `others`"
            yield Problem(f"/compute/{index}", message)
        if not entry.measured:
            seen.add(key)


@rule("U210", "both-ways-below-one-way")
def both_ways_below_one_way(record: Interconnect) -> Iterator[Problem]:
    """Flag a bandwidth both ways that is not up to twice the bandwidth one way.

    Vendors print the sum of both directions; a copy runs in one. Exchanged, every transfer bound is wrong by
    two.

    Bad:
        bandwidth:
          - {scope: per_device, direction: per_direction, measured: false, gb_s: {value: 128, as_published: 128 GB/s}}
          - {scope: per_device, direction: bidirectional, measured: false, gb_s: {value: 64, as_published: 64 GB/s}}

    Good:
        bandwidth:
          - {scope: per_device, direction: per_direction, measured: false, gb_s: {value: 64, as_published: 64 GB/s}}
          - {scope: per_device, direction: bidirectional, measured: false, gb_s: {value: 128, as_published: 128 GB/s}}
    """
    one_way = {
        (each.scope, each.measured, each.conditions): each.gb_s.value
        for each in record.bandwidth
        if each.direction == "per_direction"
    }
    low, high = _BOTH_WAYS
    for index, each in enumerate(record.bandwidth):
        single = one_way.get((each.scope, each.measured, each.conditions))
        both = each.gb_s.value
        if each.direction != "bidirectional" or not single or both is None:
            continue
        if not low <= both / single <= high:
            message = f"both ways {both}, one way {single}; expected up to twice: check which figure is which"
            yield Problem(f"/bandwidth/{index}/gb_s/value", message)


@rule("U213", "sparse-figure-as-dense")
def sparse_figure_as_dense(record: Accelerator) -> Iterator[Problem]:
    """Flag a dense peak whose source prints it as one with sparsity, or a sparse one that it prints as dense.

    Datasheets give the sparse figure and explain it in a footnote. Half of it is the dense peak: enter that as derived,
    with the formula, and the printed one as a sparse entry of its own.

    Bad:
        compute:
          - {dtype: fp8_e4m3, sparsity: dense, measured: false,
             tflops: {value: 3958, as_published: "3,958 teraFLOPS, with sparsity"}}

    Good:
        compute:
          - {dtype: fp8_e4m3, sparsity: sparse, measured: false,
             tflops: {value: 3958, as_published: "3,958 teraFLOPS, with sparsity"}}
    """
    for index, entry in enumerate(record.compute):
        if entry.tflops.basis != "stated":
            continue
        quotes = [each.quote for each in entry.tflops.evidence]
        said = {each for text in (entry.tflops.as_published, *quotes) for each in _density(text or "")}
        if len(said) == 1 and entry.sparsity not in said:
            message = f"the source prints it as {said.pop()}, the entry says {entry.sparsity}: correct the one misread"
            yield Problem(f"/compute/{index}/sparsity", message)


@rule("U214", "half-of-another-source", severity="warning")
def half_of_another_source(record: Accelerator) -> Iterator[Problem]:
    """Flag a memory figure that is half of what another source of the same record prints.

    A package of two dies has twice the memory of each, and a value per die passes for the package's own. Settle it with a
    claim about the field, with the evidence for and against. A figure at first hand needs none against one at second hand.

    Bad:
        memory:
          bandwidth_gb_s:
            value: 1000
            as_published: 1 TB/s
            others:
              - {value: 2000, as_published: 2 TB/s, why_not: Another page., evidence: [{source: sources/base-source, locator: T4}]}

    Good:
        memory:
          bandwidth_gb_s:
            value: 2000
            as_published: 2 TB/s
            others:
              - {value: 1000, as_published: 1 TB/s, why_not: One die., evidence: [{source: sources/base-source, locator: T4}]}
    """
    told = {field for claim in record.claims for field in claim.fields}
    low, high = _TWICE
    for name in ("capacity_gb", "capacity_gib", "bandwidth_gb_s"):
        figure: Figure | None = getattr(record.memory, name)
        if figure is None or not figure.value or {"memory", f"memory.{name}"} & told:
            continue
        first_hand = _first_hand(figure.evidence)
        doubles = [
            each.value
            for each in figure.others
            if each.value
            and low <= each.value / figure.value <= high
            and not (first_hand and not _first_hand(each.evidence))
        ]
        if doubles:
            message = (
                f"{figure.value:f}, and another source prints {doubles[0]:f}: a die or the package? Correct it, or add a claim"
                f" about memory.{name}"
            )
            yield Problem(f"/memory/{name}/value", message)


@rule("U215", "links-not-the-device")
def links_not_the_device(record: Interconnect) -> Iterator[Problem]:
    """Flag a bandwidth per link that, times the links, is not the bandwidth of the device.

    "900 GB/s bidirectional per link" is what 18 links carry together, in both directions. Whoever multiplies it by the
    links is wrong by eighteen, and a page of the vendor itself said so.

    Bad:
        lanes: {value: 18, as_published: "18"}
        bandwidth:
          - {scope: per_link, direction: bidirectional, measured: false, gb_s: {value: 900, as_published: 900 GB/s}}
          - {scope: per_device, direction: bidirectional, measured: false, gb_s: {value: 900, as_published: 900 GB/s}}

    Good:
        lanes: {value: 18, as_published: "18"}
        bandwidth:
          - {scope: per_link, direction: bidirectional, measured: false, gb_s: {value: 50, as_published: 50 GB/s}}
          - {scope: per_device, direction: bidirectional, measured: false, gb_s: {value: 900, as_published: 900 GB/s}}
    """
    lanes = record.lanes.value if record.lanes else None
    if not lanes:
        return
    low, high = _LINKS_TO_DEVICE
    stated = [
        (index, each) for index, each in enumerate(record.bandwidth) if not each.measured and each.gb_s.value
    ]
    for direction in ("per_direction", "bidirectional"):
        links = [
            (index, each.gb_s.value)
            for index, each in stated
            if (each.scope, each.direction) == ("per_link", direction)
        ]
        devices = [
            each.gb_s.value for _, each in stated if (each.scope, each.direction) == ("per_device", direction)
        ]
        fits = [
            low <= lanes * link / device <= high for _, link in links for device in devices if link and device
        ]
        if fits and not any(fits):
            index, link = links[0]
            message = (
                f"{link:f} GB/s per link times {lanes:f} links is {lanes * (link or 0):f}, but the device has {devices[0]:f}: "
                "check which figure is of one link, and the directions"
            )
            yield Problem(f"/bandwidth/{index}/gb_s/value", message)


@rule("U216", "faster-than-the-hardware", draft="warning")
def faster_than_the_hardware(record: Benchmark, refs: Lookup) -> Iterator[Problem]:
    """Flag a speed above what memory bandwidth or compute of its accelerators allow.

    The bound takes the datasheet's peaks and the least bytes and operations that a token can cost, with a fifth on top. A figure
    beyond it has another unit, scope, count or edition than the record says, counts input tokens, or came from a cache; or the
    record of the accelerator or of the model is wrong. The page of the record shows the bound with its inputs.

    Bad:
        results:
          - {id: decode-prose-1, metric: tok_s_per_user, value: 9390, as_published: "9,390", repeats: 3,
             at: {concurrency: 1, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        results:
          - {id: decode-prose-1, metric: tok_s_per_user, value: 93.9, as_published: "93.9", repeats: 3,
             at: {concurrency: 1, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    for index, result in enumerate(record.results):
        if result.standing == "withdrawn":
            continue
        bound = broken(record, result, refs.get)
        if bound is not None:
            most = format_number(round(bound.bound.base_value, 1))
            message = (
                f"{result.value:f} tok/s is {bound.share:.0%} of what {TITLES[bound.code].lower()} allows ({most} tok/s: {bound.formula}):"
                " check unit, scope, tokens counted, accelerators and cache"
            )
            yield Problem(f"/results/{index}/value", message)


@rule("U211", "part-above-whole")
def part_above_whole(record: Model) -> Iterator[Problem]:
    """Flag a model whose part is larger than what it is a part of.

    Active parameters are some of all parameters, experts per token some of the routed ones, key/value heads
    at most as many as query heads. Exchanged, the decode bound is off by the model's sparsity.

    Bad:
        total_parameters: {value: 8000000000}
        active_parameters: {value: 80000000000, as_published: 80B}

    Good:
        total_parameters: {value: 80000000000, as_published: 80B}
        active_parameters: {value: 8000000000}
    """
    attention, experts = record.attention or Attention(), record.experts or Experts()
    for at, part, whole, name in (
        ("/active_parameters", record.active_parameters, record.total_parameters, "total_parameters"),
        (
            "/active_parameters_prefill",
            record.active_parameters_prefill,
            record.total_parameters,
            "total_parameters",
        ),
        (
            "/active_parameters_decode",
            record.active_parameters_decode,
            record.total_parameters,
            "total_parameters",
        ),
        ("/experts/per_token", experts.per_token, experts.routed, "experts.routed"),
        (
            "/attention/kv_heads",
            attention.kv_heads,
            attention.heads,
            "attention.heads",
        ),
    ):
        if part is None or whole is None or part.value is None or whole.value is None:
            continue
        if part.value > whole.value:
            message = f"{part.value:f} is more than {name} {whole.value:f}: exchange the two, or correct one"
            yield Problem(f"{at}/value", message)


@rule("U212", "weights-beyond-memory", severity="warning")
def weights_beyond_memory(record: Benchmark, refs: Lookup) -> Iterator[Problem]:
    """Flag weight files larger than the memory of all accelerators of one instance.

    Unless parts were offloaded, which a field or note says, the model cannot have been served: the layout,
    the checkpoint or the unit is another.

    Bad:
        model: {weights_gb: 400, weights_as_published: 400 GB}

    Good:
        model: {weights_gb: 150, weights_as_published: 150 GB}
    """
    size = record.model.weights_gb
    count = record.system.accelerator_count
    if size is None or count is None:
        return
    accelerator = refs.get(record.system.accelerator, Accelerator)
    capacity = accelerator.memory.capacity_gb if accelerator else None
    if capacity is None or capacity.value is None:
        return
    available = capacity.value * count / (record.deployment.instances or 1)
    if size > available * Decimal("1.08"):
        message = f"{size} GB of weights in {available:.0f} GB of memory an instance: check layout, checkpoint and unit"
        yield Problem("/model/weights_gb", message)


def _first_hand(evidence: Iterable[Evidence]) -> bool:
    return any(not each.second_hand for each in evidence)


def _density(text: str) -> Iterator[str]:
    """Yield what a text calls its peak."""
    if _WITH_SPARSITY.search(text):
        yield "sparse"
    if _DENSE.search(text):
        yield "dense"


def _board_limit_w(accelerator: Accelerator | None) -> Decimal | None:
    """Return the highest power that a board can be set to; as sold, where no limit is known."""
    if accelerator is None:
        return None
    power = accelerator.power
    figure = power.max_limit_w or power.default_w
    return None if figure is None else figure.high or figure.value
