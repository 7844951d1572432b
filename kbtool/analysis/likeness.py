"""Whether two results may be of one load on one kind of system, so that a large difference between them needs a reason.

This is a net for errors and no comparison: what a source leaves out counts as possibly alike. Published figures that
were wrong by a factor were caught so: a prefill that the cache had done already (180,455 against 11,269 tok/s on one
box), input tokens counted as output (60,131 against 11,218 tok/s on another).
"""

from decimal import Decimal
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, NamedTuple

from kbtool.analysis.published import numbers_in

if TYPE_CHECKING:
    # A lint run in which nothing changed reads loads from the cache and needs no models.
    from kbtool.schema import Benchmark
    from kbtool.schema.benchmark import Result

__all__ = ["FAR_APART", "Load", "far_apart", "load_of", "may_be_one"]

FAR_APART: Final = 3
"""Versions, settings and prompts move the speed of one system by tens of per cent, at times by two."""
_NEAR: Final = 2
"""Loads within this factor of one another are near."""
_SPEEDS: Final = frozenset(
    {
        "input_tok_s", "output_tok_s", "output_tok_s_per_instance", "prefill_tok_s", "tok_s_per_accelerator",
        "tok_s_per_user", "total_tok_s",
    }
)  # fmt: skip


class Load(NamedTuple):
    """What a speed was measured on and under; None is not stated."""

    system: str
    """Hash of metric, accelerator, accelerators in use, engine, model and method of speculation."""
    concurrency: int
    input_tok: int | None
    output_tok: int | None
    prompt_class: str | None
    prefix_cache: str | None
    weights: str | None
    """Data type of the weights, or how the source calls their quantization."""
    power_limit_w: str | None
    depth_tok: int


def load_of(record: "Benchmark", result: "Result") -> Load | None:
    """Return the load of a standing speed under the record's own settings; None where too little is stated of it.

    A result of a closed class is never held against others, and one with changed settings is another system.
    """
    system, at = record.system, result.at
    named = (
        system.accelerator,
        at.accelerators or system.accelerator_count,
        record.engine.engine,
        record.model.model,
    )
    concurrency = at.concurrency or (1 if result.metric == "prefill_tok_s" else None)
    if (
        result.metric not in _SPEEDS or result.standing != "stands" or result.value is None or result.with_
        or record.comparison_class is not None or concurrency is None or None in named
    ):  # fmt: skip
        return None
    key = repr((result.metric, *named, at.instances, record.speculation.method))
    return Load(
        blake2b(key.encode(), digest_size=8).hexdigest(),
        concurrency,
        at.input_tok or _rounded(at.input_nominal),
        at.output_tok,
        at.prompt_class,
        at.prefix_cache,
        record.model.weight_dtype or record.model.quantization_as_published,
        None if system.power_limit_w is None else format(system.power_limit_w, "f"),
        at.depth_tok or 0,
    )


def may_be_one(one: Load, other: Load) -> bool:
    """Return whether two loads may be one: near in what is a number, equal in what is a word, wherever both state it."""
    if one.system != other.system:
        return False
    if any(a is not None and b is not None and a != b for a, b in zip(one[4:], other[4:], strict=True)):
        return False
    return all(
        a is None or b is None or _NEAR * min(a, b) >= max(a, b)
        for a, b in zip(one[1:4], other[1:4], strict=True)
    )


def far_apart(one: Decimal, other: Decimal) -> bool:
    """Return whether one positive figure is more than `FAR_APART` times the other."""
    return max(one, other) > FAR_APART * min(one, other) > 0


def _rounded(nominal: str | None) -> int | None:
    """Return the length that a source rounds, such as 131072 for `128K`; None where it names no single one."""
    found = numbers_in(nominal or "")
    longest = max(found[0].readings()) if len(found) == 1 else Decimal(0)
    return int(longest) if longest >= 1 else None
