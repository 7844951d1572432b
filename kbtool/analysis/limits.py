"""How near a result is to what its hardware can do at all: bandwidth, compute, links between accelerators, cache memory.

A *hard* bound takes the datasheet's peaks and the least bytes and operations that the result can have cost. Nothing is faster;
a result above it has another unit, scope, edition or count than it says. A *soft* bound needs an assumption about software,
which it names, and is for orientation alone.

A bound whose input is missing is not checked, and says which input: a check that could not be made is not a check passed.

Sources: weights are read once a step and a token costs two operations a parameter (Pope et al., arXiv 2211.05102; Austin et al.,
How to Scale Your Model, chapter Inference); at most draft tokens + 1 a step (Leviathan et al., arXiv 2211.17192); the bus factor
of an all-reduce is 2 (n - 1) / n (NVIDIA, nccl-tests, PERFORMANCE.md).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal, NamedTuple

from kbtool.analysis.consistency import longest_acceptance
from kbtool.analysis.normalise import accelerators_serving
from kbtool.analysis.quantity import Quantity, quantity
from kbtool.analysis.settings import in_force
from kbtool.schema import Accelerator, Benchmark, Interconnect, Model, Record
from kbtool.schema.benchmark import Result
from kbtool.schema.common import Figure
from kbtool.schema.things import Bandwidth, Compute, KvBytes
from kbtool.vocab.metrics import METRICS
from kbtool.vocab.units import format_number

__all__ = [
    "HARD_SLACK",
    "TITLES",
    "Bound",
    "BoundCode",
    "Find",
    "Input",
    "NotChecked",
    "binding",
    "broken",
    "explanations",
    "hard_limits",
    "limits",
]

BoundCode = Literal["bandwidth", "compute", "all_reduce", "kv_capacity"]
Find = Callable[[str], Record | None]

HARD_SLACK: Final = Decimal("1.2")
"""Embedding tables are hardly read (up to 15 % of a small model), counts are rounded, clocks boosted; beyond, something is wrong."""
TITLES: Final[dict[BoundCode, str]] = {
    "bandwidth": "Memory bandwidth", "compute": "Compute", "all_reduce": "Links between accelerators",
    "kv_capacity": "Memory for the KV cache",
}  # fmt: skip

_DECODES: Final = frozenset(
    {"tok_s_per_user", "decode_tok_s_per_user", "output_tok_s", "steady_output_tok_s", "output_tok_s_per_instance", "tok_s_per_accelerator"}
)  # fmt: skip
_READS: Final = frozenset({"prefill_tok_s", "input_tok_s", "total_tok_s", "total_tok_s_per_accelerator"})
_BOUNDED: Final = _DECODES | _READS
_OF_ONE_USER: Final = frozenset({"tok_s_per_user", "decode_tok_s_per_user"})
_BITS: Final[dict[str, int]] = {
    "fp64": 64, "fp32": 32, "tf32": 32, "bf16": 16, "fp16": 16, "fp8": 8, "fp8_e4m3": 8, "fp8_e5m2": 8, "fp8_ds_mla": 8, "mxfp8": 8,
    "int8": 8, "gguf_q8": 8, "fp6": 6, "mxfp6": 6, "gguf_q6": 6, "gguf_q5": 5, "fp4": 4, "nvfp4": 4, "mxfp4": 4, "nvfp4_ds_mla": 4,
    "int4": 4, "int4_awq": 4, "int4_gptq": 4, "gguf_q4": 4, "gguf_q3": 3, "gguf_q2": 2,
}  # fmt: skip
"""Bits of an element without its scales: the least that it can take."""
_NATIVE_BITS: Final = (4, 6, 8, 16, 32)
"""Widths of operands that hardware multiplies; 4.45 bits a weight are multiplied as 4 at the best."""
_PLAIN_ATTENTION: Final = frozenset({"GQA", "MHA", "MQA", "MLA"})
"""Kinds that read the whole cache at each step; sparse, windowed and linear ones read less."""


class Input(NamedTuple):
    """One thing that went into a bound."""

    name: str
    value: Decimal | int
    unit: str
    ref: str
    """The record that it is from; empty for the benchmark's own."""

    @property
    def text(self) -> str:
        """The value with its unit."""
        return f"{format_number(self.value)} {self.unit}".rstrip()


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound, and how much of it the result reaches."""

    code: BoundCode
    hard: bool
    bound: Quantity
    measured: Quantity
    """In the dimension of the bound."""
    formula: str
    inputs: tuple[Input, ...]
    assumption: str = ""
    """What a soft bound takes for granted."""

    @property
    def share(self) -> Decimal:
        """How much of the bound is reached; above 1 is impossible for a hard one."""
        return self.measured.share_of(self.bound)

    @property
    def broken(self) -> bool:
        """Whether the result is impossible as it stands."""
        return self.hard and self.share > HARD_SLACK


@dataclass(frozen=True, slots=True)
class NotChecked:
    """A bound that could not be worked out."""

    code: BoundCode
    reason: str
    """A clause that follows "because"."""


class _Missing(Exception):
    """An input that is not known."""


def limits(record: Benchmark, result: Result, find: Find) -> tuple[Bound | NotChecked, ...]:
    """Return the bounds that apply to a result, those that cannot be checked included.

    Args:
        record: The record.
        result: One of its results.
        find: Returns the record of a reference, or None.
    """
    return tuple(_tried(record, result, find, _BOUNDS))


def hard_limits(record: Benchmark, result: Result, find: Find) -> tuple[Bound | NotChecked, ...]:
    """Return the hard ones of `limits`, without working out the others."""
    return tuple(_tried(record, result, find, _HARD))


def broken(record: Benchmark, result: Result, find: Find) -> Bound | None:
    """Return the first hard bound that a result exceeds, or None; what cannot be checked exceeds nothing."""
    tried = _tried(record, result, find, _HARD)
    return next((each for each in tried if isinstance(each, Bound) and each.broken), None)


def binding(found: tuple[Bound | NotChecked, ...]) -> Bound | None:
    """Return the hard bound of which the largest share is reached; None where none could be checked."""
    hard = [each for each in found if isinstance(each, Bound) and each.hard]
    return max(hard, key=lambda each: each.share, default=None)


def explanations() -> dict[BoundCode, tuple[str, ...]]:
    """Return how each bound is worked out: what it rests on, then its formula, a paragraph each."""
    return {code: _paragraphs(bound.__doc__ or "") for code, bound in _BOUNDS.items()}


def _paragraphs(text: str) -> tuple[str, ...]:
    return tuple([" ".join(each.split()) for each in text.split("\n\n") if each.strip()])


def _tried(
    record: Benchmark, result: Result, find: Find, bounds: Mapping[BoundCode, "Check"]
) -> Iterator[Bound | NotChecked]:
    if result.value is None or result.metric not in _BOUNDED:
        return
    case = _Case(in_force(record, result), result, find)
    for code, bound in bounds.items():
        case.inputs = []
        try:
            found = bound(case)
        except _Missing as missing:
            yield NotChecked(code, str(missing))
        else:
            if found is not None:
                yield found


# --- Inputs -----------------------------------------------------------------------------------


class _Case:
    """One result and what is known of its hardware and model."""

    def __init__(self, record: Benchmark, result: Result, find: Find) -> None:
        self.record, self.result, self.find = record, result, find
        self.inputs: list[Input] = []
        """What the bound that is being worked out has taken so far."""
        self._accelerator = find(record.system.accelerator)
        self._model = find(record.model.model)

    @property
    def accelerator(self) -> Accelerator:
        if not isinstance(self._accelerator, Accelerator):
            raise _Missing("the accelerator has no record")
        return self._accelerator

    @property
    def model(self) -> Model:
        if not isinstance(self._model, Model):
            raise _Missing("the model has no record")
        return self._model

    def count(self) -> int:
        """Accelerators behind the figure: of one instance for one user, else all that serve; 1 for a share."""
        scope = METRICS[self.result.metric].scope
        total = accelerators_serving(self.record, self.result)
        if scope == "accelerator":
            return 1
        if total is None:
            raise _Missing("the number of accelerators is not stated")
        instances = self.result.at.instances or self.record.deployment.instances or 1
        of_one = scope in {"request", "user", "instance"} and total % instances == 0
        return total // instances if of_one else total

    def figure(self, name: str, figure: Figure | None, unit: str, ref: str) -> Decimal:
        """Return a figure of a thing, and note it as an input."""
        if figure is None or not figure.value or figure.value < 0:
            raise _Missing(f"{ref} does not give {name}")
        self.inputs.append(Input(name, figure.value, unit, ref))
        return figure.value

    def note(self, name: str, value: Decimal | int, unit: str = "") -> None:
        """Note an input that the record itself states."""
        self.inputs.append(Input(name, value, unit, ""))

    def active(self, *, prefill: bool) -> Decimal:
        """Active parameters of one token."""
        model = self.model
        special = model.active_parameters_prefill if prefill else model.active_parameters_decode
        return self.figure(
            "active parameters", special or model.active_parameters, "", self.record.model.model
        )

    def least_bits(self) -> Decimal:
        """The fewest bits that a weight takes, by the stated types and by the size of the files."""
        setup = self.record.model
        stated = [Decimal(_BITS[each]) for each in (setup.weight_dtype, setup.expert_dtype) if each in _BITS]
        total = self.model.total_parameters
        if setup.weights_gb is not None and total is not None and total.value:
            stated.append(setup.weights_gb * 8 * 10**9 / total.value)
        if not stated:
            unclear = setup.quantization_as_published is not None
            raise _Missing(
                "what the source calls the weights names no data type that is certain"
                if unclear
                else "the data type of the weights is not stated"
            )
        bits = min(stated)
        self.note("bits a weight, at least", round(bits, 2))
        return bits

    def steps_to_tokens(self) -> int:
        """The most tokens of one user that one step can give."""
        speculation = self.record.speculation
        if speculation.method is None:
            raise _Missing("whether drafts are used is not stated")
        longest = longest_acceptance(speculation)
        if longest is None:
            raise _Missing("the number of draft tokens is not stated")
        if longest > 1:
            self.note("tokens a step, at most", longest)
        return longest

    def measured(self, unit: str) -> Quantity:
        """The figure, as a rate of tokens of whatever kind, for the accelerators behind it."""
        assert self.result.value is not None
        return quantity(self.result.value, unit)

    def cache(self) -> tuple[KvBytes | None, int | None]:
        """The model's cache at 16 bits, and the bits that the run keeps an element in; None for what is not known."""
        layout = next((each for each in self.model.kv_cache if each.layout.startswith("bf16")), None)
        return layout, _BITS.get(self.record.serving.kv_cache_dtype or "")

    def cold(self) -> None:
        """Refuse a figure whose prompt may have come from a cache."""
        if self.result.at.prefix_cache not in {"cold", "off"}:
            raise _Missing("nothing shows that no prompt came from a prefix cache")


# --- Bounds -----------------------------------------------------------------------------------


def _bandwidth(case: _Case) -> Bound | None:
    """Weights are read once a step, and the cache of each user too.

    users x tokens a step x accelerators x bandwidth / (active parameters x bytes + users x context x cache bytes)
    """
    if case.result.metric not in _DECODES:
        return None
    users = 1 if case.result.metric in _OF_ONE_USER else case.result.at.concurrency
    if users is None:
        raise _Missing("the concurrency is not stated")
    count = case.count()
    if METRICS[case.result.metric].scope == "accelerator":
        raise _Missing("a share of one accelerator does not say how many users it serves")
    steps = case.steps_to_tokens()
    bandwidth = quantity(
        case.figure(
            "memory bandwidth", case.accelerator.memory.bandwidth_gb_s, "GB/s", case.record.system.accelerator
        ),
        "GB/s",
    )
    weights = quantity(case.active(prefill=False) * case.least_bits() / 8, "B/step")
    cache = _cache_bytes(case, users)
    read = weights if cache is None else weights + cache
    bound = bandwidth * count / read * quantity(users * steps, "tok/step")
    case.note("accelerators", count)
    if users > 1:
        case.note("users", users)
    formula = "users x tokens a step x accelerators x bandwidth / bytes read a step"
    return Bound("bandwidth", True, bound, case.measured("tok/s"), formula, tuple(case.inputs))


def _cache_bytes(case: _Case, users: int) -> Quantity | None:
    """Return the bytes of cache that a step reads at least; None where the kind of attention may read less, or is unknown."""
    model, at = case.model, case.result.at
    kind = model.attention.kind if model.attention else None
    layout, bits = case.cache()
    if (
        kind is None
        or kind.value not in _PLAIN_ATTENTION
        or layout is None
        or bits is None
        or at.input_tok is None
    ):
        return None
    size = layout.bytes_per_tok.value
    if size is None:
        return None
    each = size * bits / 16
    case.inputs.append(Input("cache bytes a token", each, "B/tok", case.record.model.model))
    case.note("context", at.input_tok, "tok")
    return quantity(each * at.input_tok * users, "B/step")


def _compute(case: _Case) -> Bound | None:
    """Each token costs two operations for each active parameter; attention comes on top.

    accelerators x dense peak / (2 x active parameters)
    """
    reads = case.result.metric in _READS
    if reads:
        case.cold()
    count = case.count()
    peak = _peak(case)
    active = case.active(prefill=reads)
    bound = peak * count / quantity(2 * active, "op/tok")
    case.note("accelerators", count)
    return Bound(
        "compute",
        True,
        bound,
        case.measured("tok/s"),
        "accelerators x dense peak / (2 x active parameters)",
        tuple(case.inputs),
    )


def _peak(case: _Case) -> Quantity:
    """Return the largest rate at which operands as narrow as the weights could be multiplied.

    A type of twice the width runs at most half as fast, so that the peak of a narrower type bounds it too, by its share: boards
    whose datasheet gives 16 bits with the slower accumulation alone have a bound that holds for the faster one.
    """
    bits, ref = case.least_bits(), case.record.system.accelerator
    native = max((each for each in _NATIVE_BITS if each <= bits), default=_NATIVE_BITS[0])
    best: tuple[Decimal, Compute] | None = None
    for each in case.accelerator.compute:
        width, peak = _BITS.get(each.dtype), each.tflops.value
        if each.sparsity != "dense" or each.measured or width is None or not peak:
            continue
        reached = peak * min(width, native) / native
        if best is None or reached > best[0]:
            best = reached, each
    if best is None:
        raise _Missing(f"{ref} gives no dense peak")
    reached, entry = best
    case.figure(f"dense peak, {entry.dtype}", entry.tflops, "TFLOPS", ref)
    return quantity(reached, "TFLOPS")


def _all_reduce(case: _Case) -> Bound | None:
    """Two all-reduces a layer, each of one hidden state of 16 bits a token, over a ring.

    bus bytes a token = layers x 2 x hidden size x 2 B x 2 (n - 1) / n; tokens a second x bus bytes, against one direction of
    the link.
    """
    ranks = case.record.deployment.tp
    if case.result.metric not in _OF_ONE_USER | {"prefill_tok_s"}:
        return None
    if ranks is None:
        raise _Missing("tensor parallelism is not stated")
    if ranks == 1:
        return None
    attention = case.model.attention
    if attention is None:
        raise _Missing(f"{case.record.model.model} does not give its layers")
    layers = case.figure("layers", attention.layers, "", case.record.model.model)
    hidden = case.figure("hidden size", attention.hidden_size, "", case.record.model.model)
    link, ref = _link(case)
    steps = case.steps_to_tokens() if case.result.metric in _OF_ONE_USER else 1
    bus = quantity(layers * 2 * hidden * 2 * 2 * (ranks - 1) / ranks, "B/tok")
    # Each verified row crosses, accepted or not: at best every row is a token.
    measured = case.measured("tok/s") * bus
    case.note("ranks", ranks)
    case.inputs.append(Input("link, one direction", link.to("GB/s"), "GB/s", ref))
    formula = "tokens a second x layers x 2 x hidden size x 2 B x 2 (ranks - 1) / ranks, against the link"
    assumption = "activations of 16 bits, two all-reduces a layer, a ring" + (
        ", every draft accepted" if steps > 1 else ""
    )
    return Bound("all_reduce", False, link, measured, formula, tuple(case.inputs), assumption)


def _link(case: _Case) -> tuple[Quantity, str]:
    """Return one direction of the fastest link that the system has between its accelerators."""
    found = [
        (quantity(each.gb_s.value, "GB/s"), use.interconnect)
        for use in case.record.system.interconnects
        if use.role != "scale_out"
        for each in _bandwidths(case.find(use.interconnect))
        if (each.scope, each.direction, each.measured) == ("per_device", "per_direction", False)
        and each.gb_s.value
    ]
    if not found:
        raise _Missing(
            "no link between the accelerators is known with its bandwidth per device and direction"
        )
    return max(found, key=lambda each: each[0].base_value)


def _bandwidths(record: Record | None) -> tuple[Bandwidth, ...]:
    return record.bandwidth if isinstance(record, Interconnect) else ()


def _kv_capacity(case: _Case) -> Bound | None:
    """All contexts of all users beside the weights.

    users x (input + output tokens) x cache bytes, against accelerators x memory - weights
    """
    at, ref = case.result.at, case.record.model.model
    if at.concurrency is None or at.input_tok is None or case.result.metric not in _DECODES:
        return None
    if METRICS[case.result.metric].scope == "accelerator":
        return None
    layout, bits = case.cache()
    if bits is None:
        raise _Missing("the data type of the KV cache is not stated")
    if layout is None:
        raise _Missing(f"{ref} does not give its cache bytes per token")
    per_token = case.figure("cache bytes a token, bf16", layout.bytes_per_tok, "B/tok", ref) * bits / 16
    count = accelerators_serving(case.record, case.result)
    if count is None:
        raise _Missing("the number of accelerators is not stated")
    # Memory is sold in GB and made in GiB: 141 "GB" hold 150.8 x 10^9 bytes.
    memory = quantity(
        case.figure("memory", case.accelerator.memory.capacity_gb, "GiB", case.record.system.accelerator),
        "GiB",
    )
    total = case.figure("parameters", case.model.total_parameters, "", ref)
    weights = quantity(total * case.least_bits() / 8, "B")
    instances = at.instances or case.record.deployment.instances or 1
    room = memory * count - weights * instances
    if room.base_value <= 0:
        raise _Missing("the weights as stated leave no room in the memory: part of them must lie elsewhere")
    needed = quantity(at.concurrency * (at.input_tok + (at.output_tok or 0)) * per_token, "B")
    case.note("accelerators", count)
    case.note("instances", instances)
    formula = (
        "users x (input + output tokens) x cache bytes, against accelerators x memory - instances x weights"
    )
    assumption = "every context at its full length at once, no cache shared or copied between accelerators"
    return Bound("kv_capacity", False, room, needed, formula, tuple(case.inputs), assumption)


Check = Callable[[_Case], Bound | None]
_HARD: Final[Mapping[BoundCode, Check]] = {"bandwidth": _bandwidth, "compute": _compute}
_BOUNDS: Final[Mapping[BoundCode, Check]] = {
    **_HARD,
    "all_reduce": _all_reduce,
    "kv_capacity": _kv_capacity,
}
