"""Whether two results may stand side by side, what differs between them, and their ratio where one is fair.

A comparison is refused where a condition differs that the metric depends on, and the refusal names the condition with both
of its values. What a source leaves out cannot be shown to be equal: it is a reservation, and no refusal. What is being
compared (hardware, engine, version, layout) may differ, and is listed.

The same words stand on the command line and on the site. `site/assets/compare.js` holds two sides against one another by
these rules, for pairs that no page was made for; a test in a browser holds it equal to this module over all pairs of several
hundred results. What is one side's own is decided in `kbtool.analysis.sides` alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, Literal, NamedTuple

from kbtool.analysis.sides import CONDITIONS, SETTINGS, Side, SideFacts
from kbtool.vocab.metrics import METRICS, Metric
from kbtool.vocab.terms import CENTRES, WITHDRAWN

__all__ = [
    "Comparison",
    "Difference",
    "Side",
    "SideFacts",
    "Verdict",
    "compare",
    "held_against",
    "is_refused",
    "rules_as_data",
]

Verdict = Literal["comparable", "with_reservations", "refused"]

_LENGTH_SLACK_PERCENT: Final = 5
"""Chat templates and samplers move lengths by a few per cent."""
_TOKENS: Final = {
    "output": "output tokens", "input": "input tokens", "input_and_output": "input and output tokens", "none": "no tokens",
}  # fmt: skip
_SCOPES: Final = {
    "request": "one request", "user": "one user", "accelerator": "one accelerator", "instance": "one instance",
    "system": "the whole system", "model": "the model",
}  # fmt: skip
_FAMILIES: Final = {
    "input_tok_s": "input", "output_tok_s": "output", "output_tok_s_per_instance": "output", "tok_s_per_accelerator": "output",
    "steady_output_tok_s": "steady output", "total_tok_s": "total", "total_tok_s_per_accelerator": "total",
}  # fmt: skip
"""Throughput of tokens: metrics of one family are one figure in several scopes, and can be brought to one accelerator.

It is often given at the load that suits each system best, so that loads need not be equal: see `_NEAR_LOAD`.
"""
_NAMES: Final = {
    "concurrency": "concurrency", "request_rate": "request rate", "input_tok": "input length", "output_tok": "output length",
    "depth_tok": "depth of the context before the input",
    "prompt_class": "prompt class", "prefix_cache": "cache state", "interval": "interval", "baseline": "baseline",
    "slo": "set of limits", "precision": "precision of the weights", "expert_precision": "precision of the experts",
    "part": "part of the system",
}  # fmt: skip
_ALWAYS: Final = ("precision",)
_WHERE_STATED: Final = ("depth_tok", "expert_precision", "part", "prefix_cache", "request_rate")
"""Conditions that refuse where both sides state them; silence on them is no reservation."""
_MORE: Final = {
    "tok_s_per_user": ("input_tok",), "decode_tok_s_per_user": ("input_tok",),
}  # fmt: skip
"""Conditions of a comparison beyond those without which a record is incomplete: decoding slows down with the context."""
_GENERIC: Final = ("fp4", "fp6", "fp8", "int4")
"""Data types whose encoding is not stated: `fp4` may be `mxfp4`."""
_LENGTHS: Final = frozenset({"depth_tok", "input_tok", "output_tok"})
_LOADS: Final = ("request_rate", "concurrency")
"""What says how much a system was asked at once; where two tell both, the rate says it better than a cap on its requests."""
_NEAR_LOAD: Final = 2
"""Throughput grows with the load: loads further apart than this factor refuse, nearer ones that are not equal are a reservation.

Where figures are held against one another per accelerator, so may their loads be: 64 requests on 8 accelerators are as 8 on 1.
"""


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
    return held_against(one.facts, other.facts)


def held_against(one: SideFacts, other: SideFacts) -> Comparison:
    """Return the same for two sides whose facts are at hand."""
    refused = tuple(_refusals(one, other)) or _brought_together(one, other)
    differences = tuple(_differences(one, other))
    if refused:
        return Comparison("refused", refused, (), differences, None, "")
    shared = _per_accelerator(one, other)
    values = [Decimal(side.per_accelerator if shared else side.value) for side in (one, other)]
    ratio = values[0] / values[1] if values[1] else None
    reservations = tuple(_reservations(one, other))
    verdict: Verdict = "with_reservations" if reservations else "comparable"
    return Comparison(verdict, (), reservations, differences, ratio, _basis(one, other) if shared else "")


def is_refused(one: SideFacts, other: SideFacts) -> bool:
    """Return whether `held_against` refuses, without working out what differs."""
    return any(True for _ in _refusals(one, other)) or bool(_brought_together(one, other))


def rules_as_data() -> dict[str, Any]:
    """Return the words and tables of these rules as JSON data, for the same rules in the browser."""
    return {
        "centres": list(CENTRES),
        "conditions": list(CONDITIONS),
        "families": _FAMILIES,
        "generic": list(_GENERIC),
        "length_slack_percent": _LENGTH_SLACK_PERCENT,
        "lengths": sorted(_LENGTHS),
        "loads": list(_LOADS),
        "metrics": {
            each.id: [each.title, each.unit, each.scope, each.tokens, list(_asked(each)), each.direction]
            for each in METRICS.values()
        },
        "names": _NAMES,
        "near_load": _NEAR_LOAD,
        "scopes": _SCOPES,
        "settings": list(SETTINGS),
        "tokens": _TOKENS,
        "where_stated": list(_WHERE_STATED),
    }


# --- Refusals ---------------------------------------------------------------------------------


def _refusals(one: SideFacts, other: SideFacts) -> Iterator[str]:
    """Yield why two results do not stand side by side, what they are before how they were measured."""
    found = list(_of_what_they_are(one, other))
    yield from found
    if not found:
        yield from _of_conditions(one, other)


def _of_what_they_are(one: SideFacts, other: SideFacts) -> Iterator[str]:
    for side in (one, other):
        if side.status in WITHDRAWN:
            yield f"{side.ref} is {side.status}"
        elif side.standing == "withdrawn":
            yield f"{side.name} was withdrawn by its source"
        elif not side.value and side.metric in METRICS:
            yield f"{side.name} gives a range and no single figure"
    if one.comparison_class != other.comparison_class:
        yield _closed(one.comparison_class, other.comparison_class)
    metrics = (METRICS.get(one.metric), METRICS.get(other.metric))
    if metrics[0] is None or metrics[1] is None:
        yield "one of the metrics is not in the vocabulary"
    elif metrics[0] is not metrics[1]:
        reason = _other_metric(metrics[0], metrics[1])
        if reason:
            yield reason
    if one.model != other.model:
        yield f"another model: {one.model} against {other.model}"


def _closed(one: str, other: str) -> str:
    if not one or not other:
        return f"a result of the closed class {one or other} stands beside results of that class alone"
    return f"another closed class: {one} against {other}"


def _other_metric(one: Metric, other: Metric) -> str:
    """Return why two metrics do not compare; empty where they differ in nothing but a scope that can be changed."""
    if one.tokens != other.tokens:
        return f"another count of tokens: {_TOKENS[one.tokens]} against {_TOKENS[other.tokens]}"
    if one.unit != other.unit:
        return f"another metric: {one.title} ({one.unit}) against {other.title} ({other.unit})"
    if one.id in _FAMILIES and _FAMILIES[one.id] == _FAMILIES.get(other.id):
        return ""
    if one.scope != other.scope:
        return f"another scope: {_SCOPES[one.scope]} against {_SCOPES[other.scope]}"
    return f"another metric: {one.title} against {other.title}"


def _of_conditions(one: SideFacts, other: SideFacts) -> Iterator[str]:
    metric = METRICS[one.metric]
    if one.statistic and other.statistic and not _one_kind(one.statistic, other.statistic):
        yield f"another statistic: {one.statistic} against {other.statistic}"
    conditions = {*_asked(metric), *_asked(METRICS[other.metric]), *_WHERE_STATED}
    for name in CONDITIONS:
        a, b = one.told.get(name), other.told.get(name)
        if name not in conditions or a is None or b is None or _equal(name, a, b):
            continue
        if name in _LOADS and one.metric in _FAMILIES:
            continue  # `_loads` weighs them
        yield f"another {_NAMES[name]}: {a} against {b}"
    loads = _loads(one, other)
    if loads is not None and not loads.near:
        yield f"another {_NAMES[loads.name]}: {loads.words}"
    if one.decreed != other.decreed:
        yield f"drafts of {(one if one.decreed else other).name} were accepted by decree"


class _Loads(NamedTuple):
    """How much two systems were asked at once."""

    name: str
    pairs: tuple[tuple[Decimal, Decimal], ...]
    """Both loads as they are told, then in proportion to the accelerators where the throughputs are per accelerator."""
    words: str

    @property
    def equal(self) -> bool:
        return any(a == b for a, b in self.pairs)

    @property
    def near(self) -> bool:
        return any(max(pair) <= _NEAR_LOAD * min(pair) for pair in self.pairs)


def _loads(one: SideFacts, other: SideFacts) -> _Loads | None:
    """Return the loads of two throughputs; None where they tell none in common."""
    name = next((each for each in _LOADS if each in one.told and each in other.told), None)
    if one.metric not in _FAMILIES or name is None:
        return None
    told = (one.told[name], other.told[name])
    whole = (Decimal(told[0].replace(",", "")), Decimal(told[1].replace(",", "")))
    counts = (one.accelerators, other.accelerators)
    is_shared = _per_accelerator(one, other) or METRICS[one.metric].scope == "accelerator"
    if not is_shared or counts[0] is None or counts[1] is None or counts[0] == counts[1]:
        return _Loads(name, (whole,), f"{told[0]} against {told[1]}")
    share = (whole[0] * counts[1], whole[1] * counts[0])
    words = f"{told[0]} on {counts[0]} accelerators against {told[1]} on {counts[1]}"
    return _Loads(name, (whole, share), words)


def _asked(metric: Metric) -> tuple[str, ...]:
    """Return the conditions that figures of a metric have to agree in."""
    return (*metric.conditions, *_MORE.get(metric.id, ()), *_ALWAYS)


def _one_kind(one: str, other: str) -> bool:
    """Return whether two statistics tell of the same: the median is the 50th percentile, a single run a small sample."""
    pair = {"p50" if each == "median" else each for each in (one, other)}
    return len(pair) == 1 or ("single" in pair and pair <= {"single", *CENTRES})


def _equal(name: str, one: str, other: str) -> bool:
    if name in _LENGTHS:
        a, b = int(one.replace(",", "")), int(other.replace(",", ""))
        return 100 * abs(a - b) <= _LENGTH_SLACK_PERCENT * max(a, b)
    if name in {"precision", "expert_precision"}:
        return one == other or any(
            (one == each and each in other) or (other == each and each in one) for each in _GENERIC
        )
    return one == other


# --- Bringing together ------------------------------------------------------------------------


def _brought_together(one: SideFacts, other: SideFacts) -> tuple[str, ...]:
    """Return why two figures cannot be brought to one scope; nothing where they can."""
    if not _per_accelerator(one, other):
        return ()
    lacking = next((side for side in (one, other) if side.why_not), None)
    return (f"{lacking.name} cannot be given per accelerator: {lacking.why_not}",) if lacking else ()


def _per_accelerator(one: SideFacts, other: SideFacts) -> bool:
    """Return whether two figures are held against one another per accelerator rather than in their own scope."""
    if one.metric != other.metric:
        return True
    if METRICS[one.metric].scope != "system" or one.metric not in _FAMILIES:
        return False
    counts = (one.accelerators, other.accelerators)
    return None not in counts and counts[0] != counts[1]


def _basis(one: SideFacts, other: SideFacts) -> str:
    if not one.formula and not other.formula:
        return ""
    return f"per accelerator: {one.formula or 'as published'} against {other.formula or 'as published'}"


# --- Reservations and differences -------------------------------------------------------------


def _reservations(one: SideFacts, other: SideFacts) -> Iterator[str]:
    yield from _silences(one, other)
    loads = _loads(one, other)
    if loads is not None and not loads.equal:
        yield f"the {_NAMES[loads.name]} is near and not equal: {loads.words}"
    if bool(one.statistic) != bool(other.statistic):
        yield "one of the two does not say which statistic it is"
    elif (one.statistic == "single") != (other.statistic == "single"):
        yield "one of the two is a single run"
    for side in (one, other):
        if side.status == "disputed" or side.standing == "disputed":
            yield f"{side.name} is disputed"


def _silences(one: SideFacts, other: SideFacts) -> Iterator[str]:
    """Yield each condition that the metric asks for and one of the two does not state."""
    conditions: set[str] = {*_asked(METRICS[one.metric]), *_asked(METRICS[other.metric])}
    if "concurrency" in conditions and "request_rate" in one.told and "request_rate" in other.told:
        conditions = conditions - {"concurrency"} | {"request_rate"}
    for name in CONDITIONS:
        if name not in conditions:
            continue
        silent = [side.name for side in (one, other) if name not in side.told]
        if len(silent) == 2:
            yield f"neither states the {_NAMES[name]}"
        elif silent:
            yield f"{silent[0]} does not state the {_NAMES[name]}"


def _differences(one: SideFacts, other: SideFacts) -> Iterator[Difference]:
    for what in SETTINGS:
        a, b = one.settings.get(what, ""), other.settings.get(what, "")
        if a != b:
            yield Difference(what, a, b)
