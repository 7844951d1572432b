"""The conditions of a measurement: what stands with a number, in a reader's words."""

from collections.abc import Callable
from decimal import Decimal
from typing import Final, NamedTuple

from kbtool.schema.benchmark import At
from kbtool.site.views.text import counted, scalar_text, words
from kbtool.vocab import METRICS
from kbtool.vocab.disclosure import DISCLOSURE_FIELDS
from kbtool.vocab.terms import DEFINITIONS

__all__ = ["Condition", "condition_title", "conditions", "is_asked", "unstated"]


class Condition(NamedTuple):
    """One condition: its key in the record, its name, its value."""

    key: str
    label: str
    text: str
    raw: str = ""
    """The exact number, where it is one."""
    explanation: str = ""


_TITLES: Final = {
    "concurrency": "Concurrency",
    "request_rate": "Request rate",
    "input": "Input",
    "output": "Output",
    "prompt": "Prompts",
    "cache": "Prefix cache",
    "path": "Measured",
    "temperature": "Temperature",
    "depth": "Context before the input",
    "turn": "Turn",
    "accelerators": "Accelerators in use",
    "pool": "Pool",
    "instances": "Instances in use",
    "interval": "Mean over",
    "baseline": "Relative to",
    "slo": "Limits",
    "queued": "Queueing",
}
_MISSED: Final = {"input": "input tokens", "output": "output tokens", "prompt": "kind of prompts"}
_KEY_OF_CONDITION: Final = {
    "input_tok": "input", "output_tok": "output", "prompt_class": "prompt", "prefix_cache": "cache",
}  # fmt: skip
_ASKED: Final = {
    key: next(each for each in DISCLOSURE_FIELDS if each.path == f"results.at.{name}")
    for key, name in {
        "concurrency": "concurrency",
        "input": "input_tok",
        "output": "output_tok",
        "prompt": "prompt_class",
        "cache": "prefix_cache",
        "path": "measuring_path",
    }.items()
}
_PATHS: Final = {
    "on_host": "on the host itself",
    "lan": "over the local network",
    "tunnel": "through a tunnel",
    "through_proxy": "through a proxy",
    "internet": "over the internet",
}
_PROOFS: Final = {
    "cached_tokens_zero": "server counted no cached token",
    "unique_prompt": "unique prompts",
    "cache_reset": "cache reset and checked",
    "server_restart": "server restarted",
    "label_only": "by its label only",
}


def condition_title(key: str) -> str:
    """Return the heading of a column of conditions."""
    return _TITLES[key]


def conditions(at: At) -> tuple[Condition, ...]:
    """Return the stated conditions, in the order of reading."""
    given = at.model_fields_set
    return tuple([found for name, make in _MAKERS if name in given and (found := make(at)) is not None])


def compared_at(metric_id: str) -> tuple[str, ...]:
    """Return the names of the conditions that two figures of a metric have to share to be compared."""
    metric = METRICS.get(metric_id)
    keys = [_KEY_OF_CONDITION.get(each, each) for each in metric.conditions] if metric else []
    return tuple([_TITLES[key].lower() for key in keys])


def unstated(metric_id: str, stated: tuple[Condition, ...]) -> tuple[str, ...]:
    """Return the names of conditions that the metric cannot be compared without and that are not stated."""
    metric = METRICS.get(metric_id)
    if metric is None:
        return ()
    keys = {each.key for each in stated}
    wanted = [_KEY_OF_CONDITION.get(each, each) for each in metric.conditions]
    if "request_rate" in keys:
        keys.add("concurrency")
    return tuple([_MISSED.get(key, _TITLES[key].lower()) for key in wanted if key not in keys])


def is_asked(key: str, metric_id: str) -> bool:
    """Return whether a reader of this metric needs the condition, so that its absence is a gap."""
    field = _ASKED.get(key)
    return field is not None and (not field.metrics or metric_id in field.metrics)


def _number(key: str, value: Decimal | int | None, unit: str = "") -> Condition | None:
    if value is None:
        return None
    return Condition(key, _TITLES[key], counted(value) + unit, scalar_text(value))


def _input(at: At) -> Condition | None:
    exact = _number("input", at.input_tok, " tok")
    if exact is None or at.input_nominal is None:
        return exact
    return exact._replace(text=f"{exact.text} ({at.input_nominal})")


def _nominal_input(at: At) -> Condition | None:
    if at.input_tok is not None or at.input_nominal is None:
        return None
    return Condition("input", _TITLES["input"], f"{at.input_nominal} nominal")


def _prompt(at: At) -> Condition | None:
    if at.prompt_class is None:
        return None
    published = f" {_quoted(at.prompt_as_published)}" if at.prompt_as_published else ""
    text = words(at.prompt_class) + published
    return Condition(
        "prompt", _TITLES["prompt"], text, explanation=DEFINITIONS["prompt_class"][at.prompt_class]
    )


def _prompt_in_words(at: At) -> Condition | None:
    if at.prompt_class is not None or at.prompt_as_published is None:
        return None
    return Condition("prompt", _TITLES["prompt"], _quoted(at.prompt_as_published))


def _quoted(text: str) -> str:
    return f"\N{LEFT DOUBLE QUOTATION MARK}{text}\N{RIGHT DOUBLE QUOTATION MARK}"


def _cache(at: At) -> Condition | None:
    if at.prefix_cache is None:
        return None
    proof = ", ".join(_PROOFS[each] for each in at.cache_proof)
    text = words(at.prefix_cache) + (f" ({proof})" if proof else "")
    return Condition("cache", "Prefix cache", text, explanation=DEFINITIONS["cache_state"][at.prefix_cache])


def _path(at: At) -> Condition | None:
    if at.measuring_path is None:
        return None
    explanation = DEFINITIONS["measuring_path"][at.measuring_path]
    return Condition("path", "Measured", _PATHS[at.measuring_path], explanation=explanation)


def _line(key: str, text: str | None) -> Condition | None:
    return Condition(key, _TITLES[key], text) if text else None


def _slo(at: At) -> Condition | None:
    limits = []
    for each in at.slo:
        metric = METRICS.get(each.metric)
        unit = f" {metric.unit}" if metric else ""
        statistic = f"{each.statistic} " if each.statistic else ""
        limits.append(
            f"{statistic}{metric.title if metric else each.metric} \N{LESS-THAN OR EQUAL TO} {counted(each.limit)}{unit}"
        )
    return _line("slo", "; ".join(limits))


def _pool(at: At) -> Condition | None:
    if at.pool is None:
        return None
    return Condition("pool", _TITLES["pool"], f"{at.pool} alone", explanation=DEFINITIONS["pool"][at.pool])


def _queued(at: At) -> Condition | None:
    if at.queued is None:
        return None
    return _line("queued", "requests waited" if at.queued else "none waited")


_MAKERS: Final[tuple[tuple[str, Callable[[At], Condition | None]], ...]] = (
    ("concurrency", lambda at: _number("concurrency", at.concurrency)),
    ("request_rate_req_s", lambda at: _number("request_rate", at.request_rate_req_s, " req/s")),
    ("input_tok", _input),
    ("input_nominal", _nominal_input),
    ("output_tok", lambda at: _number("output", at.output_tok, " tok")),
    ("depth_tok", lambda at: _number("depth", at.depth_tok, " tok")),
    ("prompt_class", _prompt),
    ("prompt_as_published", _prompt_in_words),
    ("prefix_cache", _cache),
    ("measuring_path", _path),
    ("temperature", lambda at: _number("temperature", at.temperature)),
    ("turn", lambda at: _number("turn", at.turn)),
    ("accelerators", lambda at: _number("accelerators", at.accelerators)),
    ("pool", _pool),
    ("instances", lambda at: _number("instances", at.instances)),
    ("interval", lambda at: _line("interval", at.interval)),
    ("baseline", lambda at: _line("baseline", at.baseline)),
    ("slo", _slo),
    ("queued", _queued),
)
"""Field of the model -> what makes a condition of it, in the order of reading."""
