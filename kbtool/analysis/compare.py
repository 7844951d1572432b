"""Whether two results may stand side by side, what differs between them, and their ratio where one is fair.

A comparison is refused where a condition differs that the metric depends on, and the refusal names the condition with both
of its values. What a source leaves out cannot be shown to be equal: it is a reservation, and no refusal. What is being
compared (hardware, engine, version, layout) may differ, and is listed.

The same words stand on the command line and on the site; no other place decides.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Final, Literal, NamedTuple

from kbtool.analysis.normalise import Normalised, NotNormalised, accelerators_serving, scoped
from kbtool.analysis.quantity import of_metric
from kbtool.analysis.settings import in_force
from kbtool.schema import Benchmark
from kbtool.schema.benchmark import Result
from kbtool.vocab.metrics import METRICS, Metric
from kbtool.vocab.units import format_number
from kbtool.vocab.warnings import WarningCode

__all__ = ["Comparison", "Difference", "Side", "Verdict", "compare"]

Verdict = Literal["comparable", "with_reservations", "refused"]

_LENGTH_SLACK: Final = Decimal("0.05")
"""Chat templates and samplers move lengths by a few per cent."""
_TOKENS: Final = {
    "output": "output tokens", "input": "input tokens", "input_and_output": "input and output tokens", "none": "no tokens",
}  # fmt: skip
_SCOPES: Final = {
    "request": "one request", "user": "one user", "accelerator": "one accelerator", "instance": "one instance",
    "system": "the whole system", "model": "the model",
}  # fmt: skip
_COLD: Final = frozenset({"cold", "off"})
_FREE_LOAD: Final = frozenset({"output", "input", "input_and_output"})
"""Throughput of tokens is often given at the load that suits each system best: its concurrency is listed, not refused."""


@dataclass(frozen=True)
class Side:
    """One result with the record that it stands in."""

    ref: str
    """`benchmarks/<id>`."""
    record: Benchmark
    result: Result
    status: str
    """Derived status of the record."""

    @cached_property
    def setup(self) -> Benchmark:
        """The record as it was set up for this result."""
        return in_force(self.record, self.result)

    @property
    def name(self) -> str:
        """Reference with the result's anchor."""
        return f"{self.ref}#{self.result.id}"


class Difference(NamedTuple):
    """One condition or setting whose values differ, or that one side does not state."""

    what: str
    one: str
    """Empty where it is not stated."""
    other: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """What two results come to."""

    verdict: Verdict
    refused: tuple[str, ...]
    """Why they do not stand side by side; each a sentence without its full stop."""
    reservations: tuple[str, ...]
    """What cannot be shown to be equal."""
    differences: tuple[Difference, ...]
    """What is being compared."""
    ratio: Decimal | None
    """The first divided by the second, in the scope that both were brought to; None where refused."""
    basis: str
    """What the ratio is of, such as `per accelerator: 653 tok/s / 24 accelerators against 210 tok/s / 8 accelerators`."""

    @property
    def sentence(self) -> str:
        """Return the verdict as a reader gets it."""
        if self.verdict == "refused":
            return "Not comparable: " + "; ".join(self.refused) + "."
        stated = (
            f"Comparable: the first is {self.ratio:.3f} times the second"
            if self.ratio is not None
            else "Comparable"
        )
        basis = f" ({self.basis})" if self.basis else ""
        if not self.reservations:
            return f"{stated}{basis}."
        return f"{stated}{basis}, with reservations: " + "; ".join(self.reservations) + "."


def compare(one: Side, other: Side) -> Comparison:
    """Return whether two results may stand side by side.

    Args:
        one: The result that is divided.
        other: The result that divides.
    """
    refused = list(_refusals(one, other))
    differences = tuple(_differences(one, other))
    if refused:
        return Comparison("refused", tuple(refused), (), differences, None, "")
    brought = _brought_together(one, other)
    if isinstance(brought, NotNormalised):
        return Comparison("refused", (brought.reason,), (), differences, None, "")
    first, second = brought
    ratio = first.value.share_of(second.value) if second.value.base_value else None
    reservations = tuple(_reservations(one, other))
    verdict: Verdict = "with_reservations" if reservations else "comparable"
    return Comparison(verdict, (), reservations, differences, ratio, _basis(first, second))


# --- Refusals ---------------------------------------------------------------------------------


def _refusals(one: Side, other: Side) -> Iterator[str]:
    """Yield why two results do not stand side by side, what they are before how they were measured."""
    found = list(_of_what_they_are(one, other))
    yield from found
    if not found:
        yield from _of_conditions(one, other)


def _of_what_they_are(one: Side, other: Side) -> Iterator[str]:
    for side in (one, other):
        if side.status in {"retracted", "superseded"}:
            yield f"{side.ref} is {side.status}"
        elif side.result.standing == "withdrawn":
            yield f"{side.name} was withdrawn by its source"
        elif side.result.value is None:
            yield f"{side.name} gives a range and no single figure"
    classes = (one.record.comparison_class, other.record.comparison_class)
    if classes[0] != classes[1]:
        yield _closed(*classes)
    metrics = (METRICS.get(one.result.metric), METRICS.get(other.result.metric))
    if metrics[0] is None or metrics[1] is None:
        yield "one of the metrics is not in the vocabulary"
    elif metrics[0] is not metrics[1]:
        reason = _other_metric(metrics[0], metrics[1])
        if reason:
            yield reason
    if one.setup.model.model != other.setup.model.model:
        yield f"another model: {one.setup.model.model} against {other.setup.model.model}"


def _closed(one: str | None, other: str | None) -> str:
    if one is None or other is None:
        return f"a result of the closed class {one or other} stands beside results of that class alone"
    return f"another closed class: {one} against {other}"


def _other_metric(one: Metric, other: Metric) -> str:
    """Return why two metrics do not compare; empty where they differ in nothing but a scope that can be changed."""
    if one.tokens != other.tokens:
        return f"another count of tokens: {_TOKENS[one.tokens]} against {_TOKENS[other.tokens]}"
    if one.unit != other.unit:
        return f"another metric: {one.title} ({one.unit}) against {other.title} ({other.unit})"
    shared = frozenset({"accelerator", "instance", "system"})
    if {one.scope, other.scope} <= shared and one.scope != other.scope:
        return ""
    if one.scope != other.scope:
        return f"another scope: {_SCOPES[one.scope]} against {_SCOPES[other.scope]}"
    return f"another metric: {one.title} against {other.title}"


def _of_conditions(one: Side, other: Side) -> Iterator[str]:
    a, b = one.result, other.result
    if None not in (a.statistic, b.statistic) and _kind_of(a.statistic) != _kind_of(b.statistic):
        yield f"another statistic: {a.statistic} against {b.statistic}"
    conditions = {*METRICS[a.metric].conditions, *METRICS[b.metric].conditions}
    for name, told in _TOLD.items():
        values = (told(one), told(other))
        if name in conditions | _ALWAYS and None not in values and not _equal(name, *values):
            if (
                name == "concurrency"
                and METRICS[a.metric].tokens in _FREE_LOAD
                and METRICS[a.metric].scope != "user"
            ):
                continue
            yield f"another {_NAMES[name]}: {_shown(values[0])} against {_shown(values[1])}"
    decreed = [WarningCode.SYNTHETIC_ACCEPTANCE in side.result.warnings for side in (one, other)]
    if decreed[0] != decreed[1]:
        yield f"drafts of {(one if decreed[0] else other).name} were accepted by decree"


def _kind_of(statistic: str | None) -> str | None:
    """Return what a statistic tells of: a single run is a small sample of what a mean tells."""
    return "mean" if statistic == "single" else statistic


def _cache(side: Side) -> str | None:
    state = side.result.at.prefix_cache
    return "cold" if state in _COLD else state


_TOLD: Final[dict[str, Callable[[Side], object]]] = {
    "concurrency": lambda side: side.result.at.concurrency,
    "request_rate": lambda side: side.result.at.request_rate_req_s,
    "input_tok": lambda side: side.result.at.input_tok,
    "output_tok": lambda side: side.result.at.output_tok,
    "prompt_class": lambda side: side.result.at.prompt_class,
    "prefix_cache": _cache,
    "interval": lambda side: side.result.at.interval,
    "baseline": lambda side: side.result.at.baseline,
    "slo": lambda side: side.result.at.slo or None,
    "precision": lambda side: side.setup.model.weight_dtype,
}
"""Condition -> its value on one side; None where it is not stated."""
_NAMES: Final = {
    "concurrency": "concurrency", "request_rate": "request rate", "input_tok": "input length", "output_tok": "output length",
    "prompt_class": "prompt class", "prefix_cache": "cache state", "interval": "interval", "baseline": "baseline",
    "slo": "set of limits", "precision": "precision of the weights",
}  # fmt: skip
_ALWAYS: Final = frozenset({"precision"})


def _equal(name: str, one: object, other: object) -> bool:
    if name in {"input_tok", "output_tok"}:
        assert isinstance(one, int)
        assert isinstance(other, int)
        return abs(one - other) <= _LENGTH_SLACK * max(one, other)
    return one == other


# --- Bringing together ------------------------------------------------------------------------


def _brought_together(one: Side, other: Side) -> tuple[Normalised, Normalised] | NotNormalised:
    """Return both figures in one scope: their own where it is the same, else per accelerator."""
    metrics = (METRICS[one.result.metric], METRICS[other.result.metric])
    if metrics[0].scope == metrics[1].scope and not _parts_of_systems(one, other, metrics[0]):
        found = []
        for side, metric in zip((one, other), metrics, strict=True):
            assert side.result.value is not None
            found.append(Normalised(of_metric(metric, side.result.value), metric.scope, "", None))
        return found[0], found[1]
    brought = [scoped(side.setup, side.result, "accelerator") for side in (one, other)]
    for side, each in zip((one, other), brought, strict=True):
        if isinstance(each, NotNormalised):
            return NotNormalised(f"{side.name} cannot be given per accelerator: {each.reason}")
    first, second = brought
    assert isinstance(first, Normalised)
    assert isinstance(second, Normalised)
    return first, second


def _parts_of_systems(one: Side, other: Side, metric: Metric) -> bool:
    """Return whether two systems of different size are held against one another by what each has as a whole."""
    if metric.scope != "system" or metric.tokens == "none":
        return False
    counts = [accelerators_serving(side.setup, side.result) for side in (one, other)]
    return None not in counts and counts[0] != counts[1]


def _basis(one: Normalised, other: Normalised) -> str:
    if not one.formula and not other.formula:
        return ""
    return f"per accelerator: {one.formula or 'as published'} against {other.formula or 'as published'}"


# --- Reservations and differences -------------------------------------------------------------


def _reservations(one: Side, other: Side) -> Iterator[str]:
    conditions: set[str] = {*METRICS[one.result.metric].conditions, *METRICS[other.result.metric].conditions}
    if "concurrency" in conditions and all(side.result.at.request_rate_req_s for side in (one, other)):
        conditions = conditions - {"concurrency"} | {"request_rate"}
    for name, told in _TOLD.items():
        if name not in conditions | _ALWAYS:
            continue
        silent = [side.name for side in (one, other) if told(side) is None]
        if len(silent) == 2:
            yield f"neither states the {_NAMES[name]}"
        elif silent:
            yield f"{silent[0]} does not state the {_NAMES[name]}"
    if (one.result.statistic is None) != (other.result.statistic is None):
        yield "one of the two does not say which statistic it is"
    elif one.result.statistic != other.result.statistic:
        yield "one of the two is a single run"
    for side in (one, other):
        if side.status == "disputed" or side.result.standing == "disputed":
            yield f"{side.name} is disputed"


def _differences(one: Side, other: Side) -> Iterator[Difference]:
    for what, told in _SETTINGS.items():
        values = [told(side) for side in (one, other)]
        if values[0] != values[1]:
            yield Difference(what, _shown(values[0]), _shown(values[1]))
    changed = [", ".join(f"{each.field} {each.value}" for each in side.result.with_) for side in (one, other)]
    if changed[0] != changed[1]:
        yield Difference("Changed settings", *changed)


_SETTINGS: Final[dict[str, Callable[[Side], object]]] = {
    "Accelerator": lambda side: side.setup.system.accelerator,
    "Accelerators": lambda side: accelerators_serving(side.setup, side.result),
    "Power limit, W": lambda side: side.setup.system.power_limit_w,
    "Engine": lambda side: side.setup.engine.engine,
    "Engine version": lambda side: side.setup.engine.version,
    "Instances": lambda side: side.setup.deployment.instances,
    "Tensor parallelism": lambda side: side.setup.deployment.tp,
    "Pipeline parallelism": lambda side: side.setup.deployment.pp,
    "Data parallelism": lambda side: side.setup.deployment.dp,
    "Expert parallelism": lambda side: side.setup.deployment.ep,
    "Weights": lambda side: side.setup.model.weight_dtype or side.setup.model.quantization_as_published,
    "KV cache": lambda side: side.setup.serving.kv_cache_dtype,
    "Speculation": lambda side: side.setup.speculation.method,
    "Draft tokens": lambda side: side.setup.speculation.draft_tok,
    "Concurrency": lambda side: side.result.at.concurrency,
    "Request rate, req/s": lambda side: side.result.at.request_rate_req_s,
    "Input tokens": lambda side: side.result.at.input_tok,
    "Output tokens": lambda side: side.result.at.output_tok,
    "Prompts": lambda side: side.result.at.prompt_class,
    "Prefix cache": lambda side: side.result.at.prefix_cache,
    "Measured from": lambda side: side.result.at.measuring_path,
    "Measured by": lambda side: side.record.measured.by,
}
"""What is compared, in the order in which a reader looks for it."""


def _shown(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return format_number(value)
    if isinstance(value, tuple):
        return ", ".join(f"{each.metric} {each.limit}" for each in value)
    return str(value)
