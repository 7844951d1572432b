"""The plan file: what is measured, under which loads and settings, how often, and within which limits.

One pydantic model, one JSON Schema (`schema/plan.schema.json`).  A plan holds no secret: what is secret is named
by its environment variable.  The run keeps a sealed copy and works from that.
"""

from decimal import Decimal
from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator

from kbtool.runner.plan.published import refuse_secrets
from kbtool.runner.plan.target import Argument, PublicEnvName, Target
from kbtool.runner.plan.workloads import Workload
from kbtool.schema.base import (
    Count,
    ExactText,
    Line,
    ModelVersion,
    PositiveNumber,
    Prose,
    Ratio,
    Scalar,
    Seq,
    Short,
    Slug,
    StrictModel,
    Title,
    has_default,
    need,
    opt,
    seq,
)
from kbtool.schema.benchmark import InterconnectUse
from kbtool.schema.refs import AcceleratorRef, EngineRef, ModelRef, TargetRef
from kbtool.vocab.terms import Dtype, Interest, MeasuredBy, SpecMethod

__all__ = [
    "Deadlines",
    "Plan",
    "Repeats",
    "Replicates",
    "Sanity",
    "Subject",
    "Sweep",
    "SweepValue",
    "TelemetryPlan",
]

MAX_CELLS: Final = 2000
"""A plan of more cells is a slip, not a measurement."""


class Subject(StrictModel):
    """What the records will say and no machine can read out; what the server does say is trusted more."""

    engine: EngineRef = need("The engine record.")
    model: ModelRef = need("The model record.")
    accelerator: AcceleratorRef | None = opt(
        "The accelerator record; null to match the exact name of the driver."
    )
    accelerator_count: Count | None = opt("Accelerators that take part; null for what launch or driver show.")
    power_limit_w: PositiveNumber | None = opt("Power limit in force, where the driver cannot be asked.")
    interconnects: Seq[InterconnectUse] = seq("Links of the system.")
    host_cpu: Line | None = opt("Model of the host processor, where the server runs on another machine.")
    checkpoint: Line | None = opt("Repository or file of the weights.")
    revision: ExactText | None = opt("Commit or file hash of the checkpoint.")
    weight_dtype: Dtype | None = opt("Data type of most weights.")
    expert_dtype: Dtype | None = opt("Data type of the expert weights.")
    quantization_as_published: Line | None = opt("How the checkpoint names its quantisation.")
    engine_version: ExactText | None = opt("Version, where the server does not say.")
    engine_commit: ExactText | None = opt("Commit of the source.")
    engine_build: Line | None = opt("Build variant.")
    engine_patches: Seq[Line] = seq("Patches over the released source.")
    image_digest: Line | None = opt("Digest of the image, where the server runs already.")
    instances: Count | None = opt("Engine instances that serve together, where endpoints do not show them.")
    tp: Count | None = opt("Tensor-parallel ranks per instance.")
    pp: Count | None = opt("Pipeline-parallel stages per instance.")
    dp: Count | None = opt("Data-parallel replicas per instance that own accelerators.")
    ep: Count | None = opt("Expert-parallel ranks per instance.")
    speculation: SpecMethod | None = opt("How drafts are made, where the server does not say.")
    publisher: Line = has_default("kbtool runner", "Who publishes the measurement.")
    interest: Interest = has_default("none_stated", "What the publisher gains from the figures.")
    measured_by: MeasuredBy = has_default("operator", "Who measures.")
    notes: Prose | None = opt("What no field can hold.")


class SweepValue(StrictModel):
    """One value of a swept setting, where the argument differs from the value that the server reports."""

    value: Scalar = need("Value as the record gives it.")
    arguments: Seq[Argument] = seq("Arguments that bring it about, in place of `argument VALUE`.")


class Sweep(StrictModel):
    """One engine setting that changes from leg to leg; each leg is a fresh start of the server."""

    id: Slug = need("Name, unique in the plan.")
    setting: Line = need(
        "Field of the record, such as `serving.chunked_prefill_size_tok` or `system.power_limit_w`."
    )
    values: Seq[SweepValue] = need("Values, the base included.", min_length=2, max_length=64)
    base: Scalar = need("Value of the first and the last leg, and of what is restored.")
    argument: Argument | None = opt("Engine argument that takes the value, such as `--chunked-prefill-size`.")
    environment: PublicEnvName | None = opt("Environment variable that takes the value.")
    command: Seq[Argument] = seq(
        "Program that brings the value about, by argument list; `{value}` is replaced. For power limits and the like."
    )
    order: Literal["shuffled", "bracketed", "as_given"] = has_default(
        "shuffled", "Order of the legs: random by the seed; base before and after each; or as listed."
    )
    workloads: Seq[Slug] = seq("Workloads to run in each leg; all where empty.")

    @model_validator(mode="after")
    def _complete(self) -> Self:
        ways = sum((self.argument is not None, self.environment is not None, bool(self.command)))
        if ways > 1 or (ways == 0 and not all(each.arguments for each in self.values)):
            raise ValueError(
                "expected one of `argument`, `environment` and `command`, or `arguments` with each value"
            )
        if self.base not in [each.value for each in self.values]:
            raise ValueError(f"the base {self.base!r} is not among the values: add it")
        for each in self.values:
            refuse_secrets(each.arguments or (self.argument or "", str(each.value)))
        return self


class Repeats(StrictModel):
    """How often, and when it is enough."""

    rounds: Annotated[int, Field(ge=1, le=100)] = has_default(3, "Measured rounds of each cell and session.")
    max_rounds: Annotated[int, Field(ge=1, le=200)] = has_default(
        9, "Rounds at most, where the interval stays wide."
    )
    interval_ratio: Ratio | None = has_default(
        Decimal("0.05"),
        "Go on until the 95 % interval is within this share of the median, up and down; null to stop.",
    )
    sessions: Annotated[int, Field(ge=1, le=50)] = has_default(1, "Fresh starts of a launched server.")
    warm_up_rounds: Annotated[int, Field(ge=1, le=50)] = has_default(
        5, "Rounds at most to warm up, until two agree within 5 %; kept and marked."
    )
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = has_default(
        20261130, "Seed of prompts, order and arrivals."
    )
    order: Literal["shuffled", "as_given"] = has_default("shuffled", "Order of the cells within a leg.")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.max_rounds < self.rounds:
            raise ValueError("`max_rounds` is below `rounds`: raise it, or set both equal for a fixed number")
        return self


class Deadlines(StrictModel):
    """Limits in seconds; none is infinite."""

    ready_s: Annotated[PositiveNumber, Field(le=86_400)] = has_default(
        Decimal(1800), "From launch to the first token."
    )
    connect_s: Annotated[PositiveNumber, Field(le=600)] = has_default(Decimal(10), "To connect.")
    first_token_s: Annotated[PositiveNumber, Field(le=86_400)] = has_default(
        Decimal(600), "From sent to first token."
    )
    progress_s: Annotated[PositiveNumber, Field(le=3600)] = has_default(
        Decimal(120), "Between two tokens; comments are none."
    )
    request_s: Annotated[PositiveNumber, Field(le=86_400)] = has_default(
        Decimal(3600), "For a whole request."
    )
    cell_s: Annotated[PositiveNumber, Field(le=7 * 86_400)] = has_default(
        Decimal(14_400), "For a whole cell."
    )
    stop_s: Annotated[PositiveNumber, Field(le=3600)] = has_default(
        Decimal(30), "From asking a server to end to killing it."
    )


class TelemetryPlan(StrictModel):
    """What is sampled beside the load."""

    accelerators: bool = has_default(True, "Sample the accelerators through NVML.")
    interval_ms: Annotated[int, Field(ge=20, le=10_000)] = has_default(100, "Between two samples.")
    cool_to_c: Annotated[int, Field(ge=20, le=100)] | None = opt(
        "Wait before each cell until no card is hotter."
    )


class Sanity(StrictModel):
    """Whether what comes out is an answer at all: a broken kernel is fast."""

    greedy_repeats: Annotated[int, Field(ge=0, le=20)] = has_default(
        3, "Times the same greedy prompt is sent to see whether the answers agree; 0 to leave it out."
    )


class Replicates(StrictModel):
    """The result that this plan measures again."""

    target: TargetRef = need("Record and result, such as `benchmarks/x#output-c32`.")
    workload: Slug = need("Workload that measures it.")
    metric: Line = need("Metric id.")
    open_points: Seq[Short] = seq("What the record leaves open, and what was chosen here.")


class Plan(StrictModel):
    """What one run measures."""

    plan_version: ModelVersion = need("Version of the plan file.")
    id: Slug = need("Name; run folders and records begin with it.")
    title: Title = need("What a reader sees first.")
    subject: Subject = need("What the records name.")
    target: Target = need("The system under test.")
    workloads: Seq[Workload] = need("What is sent.", min_length=1, max_length=64)
    sweeps: Seq[Sweep] = seq("Settings that change from leg to leg.", max_length=8)
    repeats: Repeats = has_default(Repeats(), "How often.")
    deadlines: Deadlines = has_default(Deadlines(), "Limits.")
    telemetry: TelemetryPlan = has_default(TelemetryPlan(), "What is sampled.")
    sanity: Sanity = has_default(Sanity(), "What checks the answers.")
    control_cell: bool = has_default(
        True, "With a router: measure one cell straight at one instance as well."
    )
    replicates: Seq[Replicates] = seq("Results that this plan measures again.")
    notes: Prose | None = opt("For the reader of the plan.")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        ids = [each.id for each in (*self.workloads, *self.sweeps)]
        twice = next((name for name in ids if ids.count(name) > 1), None)
        if twice:
            raise ValueError(f"{twice} names two parts of the plan: give each its own id")
        known = {each.id for each in self.workloads}
        for name in (name for sweep in self.sweeps for name in sweep.workloads):
            if name not in known:
                raise ValueError(
                    f"a sweep names the workload {name}, which the plan does not have: correct it"
                )
        for each in self.replicates:
            if each.workload not in known:
                raise ValueError(
                    f"{each.target} is measured by the workload {each.workload}, which the plan does not have: correct it"
                )
        if self.target.launch is None:
            self._attached_only()
        return self

    def _attached_only(self) -> None:
        if self.repeats.sessions > 1:
            raise ValueError("an attached server cannot be restarted: set `sessions` to 1, or launch it")
        for sweep in self.sweeps:
            if not sweep.command:
                raise ValueError(
                    f"the sweep {sweep.id} changes an argument of a server that the plan does not start: "
                    "launch it, or give a `command` that brings the value about"
                )
