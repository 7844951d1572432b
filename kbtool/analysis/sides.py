"""One side of a comparison: a result with all that a comparison looks at, as plain texts.

What is one side's own is decided here and once: settings in force, conditions as they are told, the figure per accelerator
with its formula. `kbtool.analysis.compare` then holds two sides against one another, in Python and, by the same rules, in the
browser (`site/assets/compare.js`), which is given these facts with the data file of each record.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, Final, NamedTuple, Self

from kbtool.analysis.normalise import Normalised, accelerators_serving, pool_of, scoped
from kbtool.analysis.quantity import of_metric
from kbtool.analysis.settings import in_force
from kbtool.schema import Benchmark
from kbtool.schema.benchmark import Result
from kbtool.vocab.metrics import METRICS
from kbtool.vocab.units import figure_text, format_number
from kbtool.vocab.warnings import WarningCode

__all__ = ["CONDITIONS", "SETTINGS", "Side", "SideFacts", "packed"]


class SideFacts(NamedTuple):
    """What a comparison looks at in one result; texts are empty where nothing is stated."""

    ref: str
    """`benchmarks/<id>`."""
    result: str
    status: str
    """Derived status of the record."""
    standing: str
    comparison_class: str
    metric: str
    model: str
    statistic: str
    decreed: bool
    """Whether drafts were accepted by decree."""
    told: Mapping[str, str]
    """Condition (of `CONDITIONS`) -> its value; those that are not stated are left out."""
    figure: str
    """The figure as it is shown, with sign and unit; as published where it is a range."""
    settings: Mapping[str, str]
    """Setting (of `SETTINGS`) -> its value; those that are not stated are left out."""
    accelerators: int | None
    """Accelerators that serve."""
    value: str
    """The figure in its own scope, as a decimal in base units; empty for a range."""
    per_accelerator: str
    """The same per accelerator; empty where it cannot be given so."""
    formula: str
    """How it was brought there; empty where it is published so."""
    why_not: str
    """Why it cannot be given per accelerator; empty where it can."""

    @property
    def name(self) -> str:
        """Reference with the result's anchor."""
        return f"{self.ref}#{self.result}"

    def plain(self) -> dict[str, Any]:
        """Return the facts as JSON data."""
        return self._asdict()

    @classmethod
    def of_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Return the facts of `plain()`."""
        return cls(**plain)


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

    @cached_property
    def facts(self) -> SideFacts:
        """What a comparison looks at."""
        result, metric = self.result, METRICS.get(self.result.metric)
        shared = scoped(self.setup, result, "accelerator")
        own = of_metric(metric, result.value).base_value if metric and result.value is not None else None
        return SideFacts(
            ref=self.ref,
            result=result.id,
            status=self.status,
            standing=result.standing,
            comparison_class=self.record.comparison_class or "",
            metric=result.metric,
            model=self.setup.model.model,
            statistic=result.statistic or "",
            decreed=WarningCode.SYNTHETIC_ACCEPTANCE in result.warnings,
            told=_stated(CONDITIONS, self),
            figure=result.as_published
            if result.value is None
            else figure_text(result.value, metric.unit if metric else "", result.qualifier),
            settings=_stated(SETTINGS, self),
            accelerators=accelerators_serving(self.setup, result),
            value="" if own is None else f"{own:f}",
            per_accelerator=f"{shared.value.base_value:f}" if isinstance(shared, Normalised) else "",
            formula=shared.formula if isinstance(shared, Normalised) else "",
            why_not="" if isinstance(shared, Normalised) else shared.reason,
        )


def packed(sides: Sequence[SideFacts]) -> dict[str, Any]:
    """Return the sides of one record as JSON data in which what all of them share stands once.

    `all` holds what is shared, `each` what is not, in the order of the results; of `told` and `settings` name by name.
    """
    plain = [each.plain() for each in sides]
    shared: dict[str, Any] = _shared([{**each, **dict.fromkeys(_BY_NAME)} for each in plain])
    for name in _BY_NAME:
        shared[name] = _shared([each[name] for each in plain])
    return {"all": shared, "each": [_beyond(each, shared) for each in plain]}


_BY_NAME: Final = ("told", "settings")


def _shared(dicts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    first, *rest = dicts
    return {key: value for key, value in first.items() if all(each.get(key) == value for each in rest)}


def _beyond(plain: Mapping[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
    own = {key: value for key, value in plain.items() if key not in shared}
    for name in _BY_NAME:
        more = {key: value for key, value in plain[name].items() if key not in shared[name]}
        if more:
            own[name] = more
    return own


Reader = Callable[[Side], object]
_COLD: Final = frozenset({"cold", "off"})


def _cache(side: Side) -> str | None:
    """Return the state of the cache; one that nobody proved is as one that is not stated."""
    state = side.result.at.prefix_cache
    return "cold" if state in _COLD else None if state == "unproven" else state


def _depth(side: Side) -> int | None:
    """Return the context before the input; a speed of reading that names none has none."""
    metric = METRICS.get(side.result.metric)
    return side.result.at.depth_tok or (0 if metric and metric.tokens == "input" else None)


def _part(side: Side) -> str:
    pool = pool_of(side.setup, side.result)
    return "all that serve" if pool is None else f"the {pool} pool of a disaggregated system"


def _changed(side: Side) -> str | None:
    return ", ".join(f"{each.field} {each.value}" for each in side.result.with_) or None


CONDITIONS: Final[Mapping[str, Reader]] = {
    "concurrency": lambda side: side.result.at.concurrency,
    "request_rate": lambda side: side.result.at.request_rate_req_s,
    "input_tok": lambda side: side.result.at.input_tok,
    "output_tok": lambda side: side.result.at.output_tok,
    "depth_tok": lambda side: side.result.at.depth_tok or 0,
    "prompt_class": lambda side: side.result.at.prompt_class,
    "prefix_cache": _cache,
    "interval": lambda side: side.result.at.interval,
    "baseline": lambda side: side.result.at.baseline,
    "slo": lambda side: side.result.at.slo or None,
    "precision": lambda side: side.setup.model.weight_dtype,
    "expert_precision": lambda side: side.setup.model.expert_dtype,
    "part": _part,
}
"""Condition -> its value on one side; None where it is not stated."""
SETTINGS: Final[Mapping[str, Reader]] = {
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
    "Experts": lambda side: side.setup.model.expert_dtype,
    "KV cache": lambda side: side.setup.serving.kv_cache_dtype,
    "Speculation": lambda side: side.setup.speculation.method,
    "Draft tokens": lambda side: side.setup.speculation.draft_tok,
    "Concurrency": lambda side: side.result.at.concurrency,
    "Request rate, req/s": lambda side: side.result.at.request_rate_req_s,
    "Input tokens": lambda side: side.result.at.input_tok,
    "Output tokens": lambda side: side.result.at.output_tok,
    "Context before the input, tokens": _depth,
    "Prompts": lambda side: side.result.at.prompt_class,
    "Prefix cache": lambda side: side.result.at.prefix_cache,
    "Measured from": lambda side: side.result.at.measuring_path,
    "Measured by": lambda side: side.record.measured.by,
    "Changed settings": _changed,
}
"""What is compared, in the order in which a reader looks for it."""


def _stated(readers: Mapping[str, Reader], side: Side) -> dict[str, str]:
    return {name: _shown(value) for name, read in readers.items() if (value := read(side)) is not None}


def _shown(value: object) -> str:
    """Return a value as text; equal values have equal texts."""
    if isinstance(value, Decimal):
        return format_number(_shortest(value))
    if isinstance(value, int) and not isinstance(value, bool):
        return format_number(value)
    if isinstance(value, tuple):
        return ", ".join(
            " ".join(filter(None, (each.metric, each.statistic, f"{_shortest(each.limit):f}")))
            for each in value
        )
    return str(value)


def _shortest(value: Decimal) -> Decimal:
    """Return a number without zeros at its end: 300.0 and 300 are one limit."""
    return value.quantize(Decimal(1)) if value == value.to_integral() else value.normalize()
