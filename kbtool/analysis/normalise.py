"""From the scope that a figure was published in to another one: per accelerator, per instance, whole system.

A rate of the whole system divided by all accelerators that serve is a rate per accelerator. The other way, and from one
instance of several, the figure would claim what nobody measured. The speed of one user is never made from a throughput:
throughput divided by concurrency holds prefill and queueing.

A disaggregated system counts the accelerators that prefill and those that decode both. Dividing by those that decode alone
is how published figures per accelerator came out twice too high.
"""

from dataclasses import dataclass
from typing import Final

from kbtool.analysis.quantity import Quantity, of_metric, quantity
from kbtool.schema import Benchmark
from kbtool.schema.benchmark import Result
from kbtool.vocab.metrics import METRICS, Metric, Scope
from kbtool.vocab.terms import Pool

__all__ = [
    "Normalised",
    "NotNormalised",
    "accelerators_serving",
    "per_accelerator",
    "pool_of",
    "scoped",
]

_SCOPES: Final = frozenset({"accelerator", "instance", "system"})
_SHARED_OUT: Final = frozenset({"tok/s", "req/s", "samples/s"})
"""Units of what each accelerator adds its part to; an error ratio or the power of a host is no such thing."""


@dataclass(frozen=True, slots=True)
class NotNormalised:
    """Why a figure cannot be given in another scope."""

    reason: str
    """A clause, such as `the number of accelerators is not stated`."""


@dataclass(frozen=True, slots=True)
class Normalised:
    """A figure in a scope, and how it came there."""

    value: Quantity
    scope: Scope
    formula: str
    """With the numbers in place, such as `653 tok/s / 8 accelerators`; empty where the source gives it so."""
    denominator: int | None
    """Accelerators that it was divided by."""


def accelerators_serving(record: Benchmark, result: Result) -> int | None:
    """Return how many accelerators took part in a result, those that prefill and those that decode both.

    Those in use where fewer than the system's, else the prefill and decode pools where both are stated, else all.
    """
    if result.at.accelerators is not None:
        return result.at.accelerators
    pools = (record.deployment.prefill_accelerators, record.deployment.decode_accelerators)
    if pools[0] is not None and pools[1] is not None:
        return pools[0] + pools[1]
    return record.system.accelerator_count


def pool_of(record: Benchmark, result: Result) -> Pool | None:
    """Return the pool of a disaggregated system that a result is of alone; None where it is of all that serve.

    A decode pool alone is faster per accelerator than the system that needs a prefill pool beside it. Where the record does not
    name the pool, the accelerators in use tell, where they are as many as those of one.
    """
    at, layout = result.at, record.deployment
    if at.pool is not None or at.accelerators is None:
        return at.pool
    sizes: dict[Pool, int | None] = {
        "prefill": layout.prefill_accelerators,
        "decode": layout.decode_accelerators,
    }
    of_size = [pool for pool, size in sizes.items() if size == at.accelerators]
    if len(of_size) < len(sizes):
        return of_size[0] if of_size else None
    metric = METRICS.get(result.metric)
    return "prefill" if metric and metric.tokens == "input" else "decode"


def per_accelerator(record: Benchmark, result: Result) -> Normalised | NotNormalised:
    """Return a rate per accelerator.

    rate / accelerators that serve; of one instance, rate / (accelerators / instances).
    """
    return scoped(record, result, "accelerator")


def scoped(record: Benchmark, result: Result, scope: Scope) -> Normalised | NotNormalised:
    """Return a figure in a scope.

    Args:
        record: The record.
        result: One of its results, with a value.
        scope: `accelerator` or `system`, or the one that the figure has.
    """
    metric = METRICS.get(result.metric)
    if metric is None or result.value is None:
        return NotNormalised("it has no single value of a known metric")
    value = of_metric(metric, result.value)
    pool = pool_of(record, result)
    if scope == "accelerator" and pool is not None:
        return NotNormalised(
            f"it is of the {pool} pool of a disaggregated system, and the other pool has its share in each token"
        )
    if metric.scope == scope:
        return Normalised(value, scope, "", None)
    if metric.unit not in _SHARED_OUT or metric.scope not in _SCOPES:
        return NotNormalised(f"{metric.title} per {metric.scope} is not shared out over accelerators")
    found = {"accelerator": _shared, "system": _summed}.get(scope)
    if found is None:
        return NotNormalised(f"a figure per {metric.scope} is not made into one per {scope}")
    return found(record, result, metric, value)


def _shared(record: Benchmark, result: Result, metric: Metric, value: Quantity) -> Normalised | NotNormalised:
    count = accelerators_serving(record, result)
    if count is None:
        return NotNormalised("the number of accelerators is not stated")
    if metric.scope == "system":
        formula = f"{_shown(metric, result)} / {count} accelerators"
        return Normalised(value / quantity(count, "accelerator"), "accelerator", formula, count)
    instances = result.at.instances or record.deployment.instances
    if instances is None or count % instances:
        return NotNormalised("how many accelerators one instance has is not stated")
    each = count // instances
    formula = f"{_shown(metric, result)} / {each} accelerators of an instance"
    return Normalised(
        value * quantity(1, "instance") / quantity(each, "accelerator"), "accelerator", formula, each
    )


def _summed(record: Benchmark, result: Result, metric: Metric, value: Quantity) -> Normalised | NotNormalised:
    if metric.scope == "instance":
        if record.deployment.instances != 1:
            return NotNormalised("a figure of one instance says nothing of the others")
        return Normalised(
            value * quantity(1, "instance"), "system", f"{_shown(metric, result)} x 1 instance", None
        )
    count = accelerators_serving(record, result)
    if count is None:
        return NotNormalised("the number of accelerators is not stated")
    formula = f"{_shown(metric, result)} x {count} accelerators"
    return Normalised(value * quantity(count, "accelerator"), "system", formula, None)


def _shown(metric: Metric, result: Result) -> str:
    return f"{result.value:f} {metric.unit}"
