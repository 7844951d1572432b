"""Benchmark records: one run, or one coherent set of runs, of one system under test."""

from typing import Annotated, Literal

from pydantic import Field

from kbtool.schema.base import (
    Count,
    ExactText,
    IsoDate,
    Line,
    Number,
    PositiveNumber,
    Ratio,
    Scalar,
    Seq,
    Short,
    Slug,
    StrictModel,
    has_default,
    need,
    opt,
    seq,
)
from kbtool.schema.common import Derivation, Evidence, Record
from kbtool.schema.refs import AcceleratorRef, EngineRef, InterconnectRef, ModelRef
from kbtool.vocab.terms import (
    Basis,
    CacheProof,
    CacheState,
    Dtype,
    MeasuredBy,
    MeasuringPath,
    Pool,
    PromptClass,
    Qualifier,
    RangeMeaning,
    Reproducibility,
    RunWarning,
    SpecMethod,
    SpreadKind,
    Statistic,
)

__all__ = [
    "Artifact",
    "At",
    "Benchmark",
    "Client",
    "ClientError",
    "Cliff",
    "Deployment",
    "EngineSetup",
    "InterconnectUse",
    "Measured",
    "ModelSetup",
    "Reproducible",
    "Result",
    "Router",
    "Serving",
    "Setting",
    "SetupEvidence",
    "Slo",
    "Speculation",
    "Spread",
    "System",
]


class InterconnectUse(StrictModel):
    """A link of the system. `inferred` means present in the hardware, not crossed by the traffic."""

    interconnect: InterconnectRef = need("The interconnect record.")
    basis: Basis = need("Whether the source names it or the accelerator record does.")
    role: Literal["scale_up", "host_link", "scale_out"] = need(
        "Between accelerators, to the host, or between hosts."
    )
    traffic_shown: bool | None = opt(
        "Whether the source shows that the run's traffic crossed it; false does not show that none did."
    )


class System(StrictModel):
    """The machine."""

    accelerator: AcceleratorRef = need("The accelerator record, of the exact edition.")
    accelerator_as_published: Line | None = opt("How the source names the accelerator.")
    accelerator_basis: Basis = has_default("stated", "Whether the source states the edition.")
    accelerator_count: Count | None = opt("Accelerators that take part in the run.")
    accelerators_present: Count | None = opt("Accelerators in the machine, where more than take part.")
    nodes: Count | None = opt("Hosts.")
    power_limit_w: PositiveNumber | None = opt("Power limit in force, per accelerator.")
    power_limit_as_published: Line | None = opt("How the source prints the limit.")
    clocks: Line | None = opt("Clock settings other than the default.")
    host_cpu: Line | None = opt("Model of the host processor.")
    host_sockets: Count | None = opt("Processor sockets per node.")
    host_memory_gib: PositiveNumber | None = opt("Host memory per node, GiB.")
    host_memory_as_published: Line | None = opt("How the source prints the host memory.")
    numa_nodes: Count | None = opt("NUMA nodes per host.")
    os: Line | None = opt("Operating system and kernel.")
    driver: ExactText | None = opt("Accelerator driver version.")
    cuda: ExactText | None = opt("CUDA, ROCm or similar version.")
    peer_to_peer: bool | None = opt("Whether direct copies between accelerators were on.")
    interconnects: Seq[InterconnectUse] = seq("Links of the system.")


class EngineSetup(StrictModel):
    """The serving engine as it ran."""

    engine: EngineRef = need("The engine record.")
    version: ExactText | None = opt("Released version.")
    commit: ExactText | None = opt("Commit of the source.")
    image: Line | None = opt("Container image by name and tag.")
    image_digest: Line | None = opt("Container image by digest or image id.")
    build: Line | None = opt("Build variant: kernels, CUDA target, launcher.")
    patches: Seq[Line] = seq("Patches over the released source.")
    arguments: dict[str, Scalar] = has_default(
        {}, "Arguments that no field of `serving` holds, as the source writes them."
    )
    environment: dict[str, Scalar] = has_default(
        {}, "Environment variables that change behaviour; never secrets."
    )
    arguments_basis: Literal["in_force", "as_launched", "unstated"] = has_default(
        "unstated", "Read from the running engine, from the launch, or not said."
    )


class Router(StrictModel):
    """What spreads requests over instances."""

    name: Line = need("Program that routes.")
    policy: Line | None = opt("Routing policy, in the router's own word.")
    affinity: Line | None = opt("What a session is recognised by.")


class Deployment(StrictModel):
    """The layout. Accelerators used = instances x tp x pp x dp; ep, dcp and attention dp reuse them."""

    instances: Count | None = opt("Engine instances that serve together.")
    tp: Count | None = opt("Tensor-parallel ranks per instance.")
    pp: Count | None = opt("Pipeline-parallel stages per instance.")
    dp: Count | None = opt("Data-parallel replicas per instance that own accelerators.")
    ep: Count | None = opt("Expert-parallel ranks per instance.")
    attn_dp: Count | None = opt("Attention data-parallel ranks inside the tensor-parallel group.")
    dcp: Count | None = opt("Decode context-parallel ranks.")
    prefill_accelerators: Count | None = opt("Accelerators that only prefill, where disaggregated.")
    decode_accelerators: Count | None = opt("Accelerators that only decode, where disaggregated.")
    layout_as_published: Line | None = opt("How the source describes the layout.")
    device_order: Line | None = opt("Device list in the order given to the engine.")
    router: Router | None = opt("Router or balancer in front.")
    proxy: Line | None = opt("Reverse proxy in front.")

    def accelerators(self) -> int | None:
        """Return instances x tp x pp x dp, or None where tp is not known."""
        if self.tp is None:
            return None
        return (self.instances or 1) * self.tp * (self.pp or 1) * (self.dp or 1)


class ModelSetup(StrictModel):
    """The model as it was loaded."""

    model: ModelRef = need("The model record.")
    as_published: Line | None = opt("How the source names the model.")
    basis: Basis = has_default("stated", "Whether the source states the exact model.")
    checkpoint: Line | None = opt("Repository or file of the weights.")
    revision: ExactText | None = opt("Commit hash or file hash of the checkpoint.")
    weight_dtype: Dtype | None = opt("Data type of most weights.")
    expert_dtype: Dtype | None = opt("Data type of the expert weights.")
    quantization_as_published: Line | None = opt("How the source names the quantisation.")
    weights_gb: PositiveNumber | None = opt("Size of the weight files, GB.")
    weights_as_published: Line | None = opt("How the source prints the size.")


class Serving(StrictModel):
    """Settings of the engine that have the same meaning in each."""

    kv_cache_dtype: Dtype | None = opt("Data type or row layout of the KV cache.")
    context_tok: Count | None = opt("Longest context the engine accepts, tokens.")
    advertised_context_tok: Count | None = opt("Longest context that a proxy in front advertises, tokens.")
    max_running_requests: Count | None = opt("Requests decoded at once, per instance; more wait.")
    max_batched_tok: Count | None = opt("Token budget of one scheduler step.")
    chunked_prefill_size_tok: Count | None = opt("Tokens of one prefill chunk.")
    page_size_tok: Count | None = opt("Tokens of one KV cache page or block.")
    memory_fraction: Ratio | None = opt("Share of accelerator memory given to weights and cache.")
    prefix_caching: bool | None = opt("Whether shared prefixes are reused.")
    kv_persistence: Line | None = opt("Cache tiers beyond accelerator memory.")
    cuda_graph_decode: bool | None = opt("Whether decoding runs from captured graphs.")
    cuda_graph_prefill: bool | None = opt("Whether prefill runs from captured graphs.")
    cuda_graph_max_batch: Count | None = opt("Largest captured batch, in verify rows.")
    continuous_batching: bool | None = opt("Whether requests join and leave a running batch.")
    attention_backend: Line | None = opt("Attention kernels.")
    prefill_backend: Line | None = opt("Attention kernels for prefill, where others.")
    moe_backend: Line | None = opt("Kernels of the expert layers.")
    allreduce_backend: Line | None = opt("How partial results are summed over ranks.")


class Speculation(StrictModel):
    """Speculative decoding."""

    method: SpecMethod | None = opt("How drafts are made; `none` for one token a step.")
    as_published: Line | None = opt("How the source names the method and its settings.")
    draft_tok: Count | None = opt("Draft tokens a step (k).")
    verify_rows: Count | None = opt("Rows verified a step, usually k + 1.")
    block_size: Count | None = opt("Block size of a block drafter, as its setting counts.")
    acceptance_length: PositiveNumber | None = opt("Tokens per verify step, bonus token included.")
    acceptance_qualifier: Qualifier | None = opt("Approximate, or a bound.")


class ClientError(StrictModel):
    """How far the client was off against a server whose true send times are known, at one number of streams."""

    streams: Count = need("Streams at once.")
    chunks: Line = need("Tokens in the chunks of the stream, such as `1` or `1-3-5-2-4`.")
    ttft_error_ratio: Number = need("Mean error of TTFT, signed, as a share of the true value.")
    itl_error_ratio: Number = need("Mean error of the time per token, signed, as a share of the true value.")
    step_gap_p99_error_ms: Number = need("99th percentile of the gap between steps, measured minus true, ms.")
    throughput_ratio: Number = need("Tokens per second that the client counted, divided by what was sent.")
    token_errors: Annotated[int, Field(ge=0)] = need("Requests whose token count was wrong.")


class Client(StrictModel):
    """The measuring instrument and its own error."""

    name: Line = need("Program and version.")
    clock: Literal["kernel", "user"] = need("Whether the kernel stamped what came in, or the program.")
    calibrated: IsoDate | None = opt("Day on which its error was measured on this host.")
    errors: Seq[ClientError] = seq("Its error by number of streams.")


class Measured(StrictModel):
    """When and by whom."""

    by: MeasuredBy = need("Who measured.")
    day: IsoDate | None = opt("Day of the measurement.")
    period: Line | None = opt("Longer or vaguer period, in the source's words.")
    valid_until: IsoDate | None = opt("Day on which the system stopped being as described.")
    tool: Line | None = opt("Client or benchmark program with version.")
    method: Short | None = opt("How it was measured, where no field says it.")
    client: Client | None = opt("The measuring program and its own error.")


class Reproducible(StrictModel):
    """Whether a reader could repeat it."""

    claimed: bool | None = opt("What the source says of itself.")
    assessed: Reproducibility | None = opt("What the record shows.")
    artifacts: Seq[Line] = seq("Scripts, settings and data that the source names or publishes.")
    artifacts_found: bool | None = opt("Whether those could be found.")


class Artifact(StrictModel):
    """A raw file kept beside the record."""

    path: Line = need("Path under `raw/`.")
    sha256: str = need("SHA-256 of the file.", pattern="^[0-9a-f]{64}$")
    size_bytes: Count = need("Size of the file.")
    unpacked_bytes: Count | None = opt("Size when unpacked, where the file is compressed.")
    holds: Line = need("What is in it.")


class Slo(StrictModel):
    """A limit that a request must meet to count."""

    metric: Line = need("Metric id.")
    limit: PositiveNumber = need("Limit in the metric's unit.")
    statistic: Statistic | None = opt("Statistic the limit is on.")


class At(StrictModel):
    """Conditions of one measurement."""

    concurrency: Count | None = opt("Requests in flight.")
    request_rate_req_s: PositiveNumber | None = opt("Offered request rate.")
    input_tok: Count | None = opt("Exact input tokens a request.")
    input_nominal: Line | None = opt("Input length as the source rounds it, such as `128K`.")
    output_tok: Count | None = opt("Output tokens a request.")
    depth_tok: Count | None = opt(
        "Tokens of context that are in the KV cache before the input is read and timed, such as 4096 for `pp512 @ d4096` of "
        "llama-bench. Generation counts them as input."
    )
    prompt_class: PromptClass | None = opt("What the prompts and answers are.")
    prompt_as_published: Line | None = opt("How the source describes the prompts.")
    temperature: Number | None = opt("Sampling temperature.")
    turn: Count | None = opt("Turn of a conversation.")
    prefix_cache: CacheState | None = opt("State of the prefix cache for these requests.")
    cache_proof: Seq[CacheProof] = seq("What shows that state.")
    measuring_path: MeasuringPath | None = opt("Between client and server.")
    accelerators: Count | None = opt("Accelerators in use, where fewer than the system's.")
    pool: Pool | None = opt(
        "Pool of a disaggregated system that the figure is of alone; null where it is of all that serve."
    )
    instances: Count | None = opt("Instances in use, where fewer than the deployment's.")
    interval: Line | None = opt("What a mean was taken over.")
    baseline: Line | None = opt("What a ratio is relative to: a result id, or the source's words.")
    slo: Seq[Slo] = seq("Limits of a goodput.")
    queued: bool | None = opt("Whether requests waited above the running limit.")


class Setting(StrictModel):
    """One setting that this result changes against the record's setup."""

    field: Line = need(
        "Path of the field, such as `serving.chunked_prefill_size_tok`, or `engine.arguments.NAME`."
    )
    value: Scalar = need("The value in this result.")


class Spread(StrictModel):
    """How far repeated measurements differ."""

    kind: SpreadKind = need("What the number is.")
    value: Number = need("In the metric's unit; a ratio for a relative difference.")


class Result(StrictModel):
    """One measurement: one row of the data files, one anchor of the page."""

    id: Slug = need("Anchor, unique in the record.")
    metric: Line = need("Metric id of the vocabulary; it fixes unit, scope and tokens counted.")
    value: Number | None = opt("The figure in the metric's unit; null where only a range is given.")
    low: Number | None = opt("Lower end of a range.")
    high: Number | None = opt("Upper end of a range.")
    range_meaning: RangeMeaning | None = opt("What the ends are.")
    statistic: Statistic | None = opt("Which statistic; null where the source does not say.")
    qualifier: Qualifier | None = opt("Approximate, or a bound.")
    as_published: Line = need("The figure as the source prints it.")
    repeats: Count | None = opt("Runs behind the figure.")
    sessions: Count | None = opt("Starts of the server that the runs are spread over.")
    samples: Count | None = opt("Requests, or gaps between tokens, behind the statistic.")
    repeat_of: Slug | None = opt("The result that this one repeats under the same settings.")
    spread: Spread | None = opt("How far repeats differ.")
    at: At = need("Conditions.")
    with_: Seq[Setting] = seq("Settings changed against the setup.", alias="with")
    basis: Basis = has_default("stated", "Stated by the source, or derived here.")
    derivation: Derivation | None = opt("Formula and inputs of a derived figure.")
    standing: Literal["stands", "disputed", "withdrawn"] = has_default(
        "stands", "Whether the figure still stands."
    )
    standing_reason: Short | None = opt("Why it is disputed or withdrawn.")
    warnings: Seq[RunWarning] = seq(
        "What a reader must know before using the figure; it travels with the number."
    )
    evidence: Seq[Evidence] = need("Where the figure stands in its source.", min_length=1)
    note: Short | None = opt("What no field holds.")


class Cliff(StrictModel):
    """A drop of throughput at more users, far beyond the noise."""

    metric: Line = need("Metric id.")
    last_good: Count = need("Most users before the drop.")
    first_bad: Count = need("Fewest users after it.")
    ratio: Ratio = need("Value after it divided by the value before.")
    suspected: Line | None = opt("Setting that the numbers point to, such as `serving.cuda_graph_max_batch`.")


class SetupEvidence(StrictModel):
    """Where the source states parts of the setup."""

    fields: Seq[Line] = need("Paths of the fields.", min_length=1)
    evidence: Evidence = need("Where they stand.")


class Benchmark(Record):
    """One run, or one coherent set of runs, of one system under test, from one source."""

    measured: Measured = need("When and by whom.")
    reproducible: Reproducible = need("Whether a reader could repeat it.")
    system: System = need("The machine.")
    engine: EngineSetup = need("The serving engine.")
    deployment: Deployment = need("The layout.")
    model: ModelSetup = need("The model as loaded.")
    serving: Serving = need("Engine settings.")
    speculation: Speculation = need("Speculative decoding.")
    setup_evidence: Seq[SetupEvidence] = seq("Where the source states the setup.")
    headline: Slug = need("The result that stands for the record.")
    results: Seq[Result] = need("The measurements.", min_length=1, max_length=500)
    cliffs: Seq[Cliff] = seq("Drops of throughput at more users.")
    artifacts: Seq[Artifact] = seq("Raw files kept beside the record.")
    comparison_class: Line | None = opt(
        "Results of a closed class compare only with one another, such as MLPerf."
    )
    tags: Seq[Slug] = seq("Words to find the record by.")
