"""Records of things: accelerators, interconnects, engines and models."""

from typing import Literal

from kbtool.schema.base import Count, ExactText, IsoDate, Line, Number, Seq, Slug, StrictModel, need, opt, seq
from kbtool.schema.common import Evidence, Fact, Figure, Record
from kbtool.schema.refs import InterconnectRef
from kbtool.vocab.terms import Dtype, Sparsity

__all__ = [
    "Accelerator",
    "Attention",
    "Bandwidth",
    "Checkpoint",
    "Compute",
    "Engine",
    "Experts",
    "Feature",
    "Interconnect",
    "KvBytes",
    "LinkFact",
    "Memory",
    "Model",
    "Power",
    "Price",
]


class Feature(StrictModel):
    """A named property."""

    name: Slug = need("Name of the property.")
    fact: Fact = need("What the source says.")


class Memory(StrictModel):
    """Memory of one accelerator package."""

    capacity_gb: Figure | None = opt("Capacity as sold, GB.")
    capacity_gib: Figure | None = opt("Capacity in GiB, where a source states it so.")
    kind: Fact | None = opt("Memory type, such as GDDR7.")
    bandwidth_gb_s: Figure | None = opt("Peak bandwidth, GB/s (10^9).")
    bus_bit: Figure | None = opt("Width of the bus, bits.")
    clock_mhz: Figure | None = opt("Memory clock, MHz, as the source counts it.")


class Compute(StrictModel):
    """Peak throughput at one data type. Dense and sparse are two entries, never one."""

    dtype: Dtype = need("Data type of the inputs.")
    sparsity: Sparsity = need("With or without structured sparsity.")
    measured: bool = need("Measured by somebody rather than a datasheet peak.")
    tflops: Figure = need("Peak of the package, TFLOPS (TOPS for integers).")


class Power(StrictModel):
    """Power limits of one accelerator."""

    default_w: Figure | None = opt("Board or module power as sold, W.")
    min_limit_w: Figure | None = opt("Lowest limit that can be set, W.")
    max_limit_w: Figure | None = opt("Highest limit that can be set, W.")


class LinkFact(StrictModel):
    """A link that the accelerator has."""

    interconnect: InterconnectRef | None = need(
        "The interconnect record; null where the accelerator has no such link."
    )
    role: Literal["scale_up", "host_link", "scale_out"] = need(
        "Between accelerators, to the host, or between hosts."
    )
    domain_size: Figure | None = opt("Accelerators that one domain joins.")
    evidence: Seq[Evidence] = seq("Where it stands.")
    caveat: Line | None = opt("What a reader must know.")


class Price(StrictModel):
    """A price seen by somebody at some time; never a current price."""

    amount: Number = need("Amount in the currency.")
    currency: Literal["USD", "EUR", "CNY", "GBP", "JPY"] = need("Currency.")
    per: Literal["unit", "hour", "system"] = need("What the amount buys.")
    accelerators: Count | None = opt(
        "Accelerators that the amount pays for; null where the source does not say, and then no cost is computed."
    )
    basis: Literal["list", "street", "launch", "cloud_on_demand", "cloud_reserved", "unstated"] = need(
        "What kind of price."
    )
    seen: IsoDate | None = opt("Day on which it was seen or published.")
    as_published: Line = need("The price as the source prints it.")
    evidence: Seq[Evidence] = need("Where it stands.", min_length=1)


class Accelerator(Record):
    """One edition of one accelerator: editions that differ in power or memory are separate records."""

    vendor: Line = need("Maker.")
    family: Line | None = opt("Product family.")
    edition: Line | None = opt("Edition within the family.")
    names: Seq[Line] = seq("Other names in sources; search finds them.")
    architecture: Fact | None = opt("Architecture and chip.")
    compute_capability: ExactText | None = opt("CUDA compute capability or similar.")
    form: Literal["pcie_card", "module", "soc", "cpu", "rack_tray", "wafer", "cloud_chip", "desktop"] = need(
        "How it is sold; `cpu` for a processor that serves without an accelerator."
    )
    cooling: Fact | None = opt("Cooling.")
    released: Fact | None = opt("Release or availability.")
    memory: Memory = need("Memory.")
    compute: Seq[Compute] = seq("Peak throughput per data type.")
    units: Seq[Feature] = seq("Counts of units, such as streaming multiprocessors.")
    power: Power = need("Power limits.")
    interconnects: Seq[LinkFact] = seq("Links of the accelerator.")
    prices: Seq[Price] = seq("Prices seen.")


class Bandwidth(StrictModel):
    """One bandwidth figure with everything that makes two figures of one link differ."""

    scope: Literal["per_lane", "per_link", "per_port", "per_device", "per_node", "between_two_devices"] = (
        need("What the figure covers.")
    )
    direction: Literal["per_direction", "bidirectional", "unstated"] = need("One way or both ways added.")
    measured: bool = need("Measured by somebody rather than a specification.")
    gb_s: Figure = need("GB/s (10^9 bytes).")
    conditions: Line | None = opt("Under what conditions, such as same NUMA node.")


class Interconnect(Record):
    """A link between accelerators, to the host, or between hosts."""

    vendor: Line | None = opt("Maker or standards body.")
    role: Literal["host_link", "scale_up", "scale_out", "die_to_die"] = need("What it joins.")
    generation: ExactText | None = opt("Generation.")
    names: Seq[Line] = seq("Other names in sources.")
    lanes: Figure | None = opt("Lanes or links of one device.")
    bandwidth: Seq[Bandwidth] = seq("Bandwidth figures.")
    latency_ns: Figure | None = opt("Latency, ns.")
    max_devices: Figure | None = opt("Devices that one domain joins.")
    notes_on_use: Seq[Fact] = seq("What sources say about its use in inference.")


class Engine(Record):
    """A serving engine or inference library."""

    maintainer: Line | None = opt("Project or company.")
    names: Seq[Line] = seq("Other names in sources.")
    repository: Line | None = opt("Repository address.")
    licence: Fact | None = opt("Licence.")
    first_release: Fact | None = opt("First release.")
    features: Seq[Feature] = seq("What it can do, as its documentation says.")
    endpoints: Seq[Feature] = seq("What a client can read from a running server.")


class Attention(StrictModel):
    """Attention of a model."""

    kind: Fact | None = opt("Kind: GQA, MLA, sliding window, sparse.")
    layers: Figure | None = opt("Transformer layers.")
    hidden_size: Figure | None = opt("Width of the residual stream.")
    heads: Figure | None = opt("Query heads.")
    kv_heads: Figure | None = opt("Key/value heads.")
    head_dim: Figure | None = opt("Width of one head.")
    sliding_window_tok: Figure | None = opt("Width of the sliding window, tokens.")
    other: Seq[Feature] = seq("Other attention parameters.")


class Experts(StrictModel):
    """Experts of a mixture-of-experts model."""

    routed: Figure | None = opt("Routed experts a layer.")
    shared: Figure | None = opt("Shared experts a layer.")
    per_token: Figure | None = opt("Routed experts active per token.")


class KvBytes(StrictModel):
    """Cache bytes that one token of context takes."""

    layout: Line = need("Data type and layout.")
    bytes_per_tok: Figure = need("Bytes per token, all layers, whole model.")


class Checkpoint(StrictModel):
    """One published set of weights."""

    name: Line = need("Repository or file name.")
    revision: ExactText | None = opt("Commit or file hash.")
    weight_dtype: Dtype | None = opt("Data type of most weights.")
    expert_dtype: Dtype | None = opt("Data type of the expert weights.")
    size_gb: Figure | None = opt("Size of the files, GB.")
    draft_head: Line | None = opt("Draft head in the checkpoint.")
    evidence: Seq[Evidence] = seq("Where it stands.")
    caveat: Line | None = opt("What a reader must know.")


class Model(Record):
    """A language model; checkpoints that differ in content are told apart inside."""

    organisation: Line = need("Who published it.")
    family: Line | None = opt("Model family.")
    names: Seq[Line] = seq("Other names in sources.")
    architecture: Literal["dense", "moe", "hybrid", "unknown"] = need("Dense or mixture of experts.")
    modalities: Seq[Literal["text", "image", "audio", "video"]] = seq("What it takes in.")
    total_parameters: Figure | None = opt("All parameters.")
    active_parameters: Figure | None = opt("Parameters that one token activates.")
    active_parameters_prefill: Figure | None = opt("Active in prefill, where another number.")
    active_parameters_decode: Figure | None = opt("Active in decode, where another number.")
    attention: Attention | None = opt("Attention.")
    experts: Experts | None = opt("Experts.")
    context_tok: Figure | None = opt("Longest context, tokens.")
    kv_cache: Seq[KvBytes] = seq("Cache bytes per token, by layout.")
    checkpoints: Seq[Checkpoint] = seq("Published weights.")
    licence: Fact | None = opt("Licence.")
    released: Fact | None = opt("Release.")
    features: Seq[Feature] = seq("Other properties.")
