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
    "turn": "Turn",
    "accelerators": "Accelerators in use",
    "instances": "Instances in use",
    "interval": "Mean over",
    "baseline": "Relative to",
    "slo": "Limits",
    "queued": "Queueing",
}
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
    return tuple([found for make in _MAKERS if (found := make(at)) is not None])


def unstated(metric_id: str, stated: tuple[Condition, ...]) -> tuple[str, ...]:
    """Return the names of conditions that the metric cannot be compared without and that are not stated."""
    metric = METRICS.get(metric_id)
    if metric is None:
        return ()
    keys = {each.key for each in stated}
    wanted = [_KEY_OF_CONDITION.get(each, each) for each in metric.conditions]
    if "request_rate" in keys:
        keys.add("concurrency")
    return tuple([_TITLES[key].lower() for key in wanted if key not in keys])


def is_asked(key: str, metric_id: str) -> bool:
    """Return whether a reader of this metric needs the condition, so that its absence is a gap."""
    field = _ASKED.get(key)
    return field is not None and (not field.metrics or metric_id in field.metrics)


def _number(key: str, text: str, value: Decimal | int | None) -> Condition | None:
    return (
        None
        if value is None
        else Condition(key, _TITLES[key], text.format(counted(value)), scalar_text(value))
    )


def _input(at: At) -> Condition | None:
    if at.input_tok is not None:
        nominal = f" ({at.input_nominal})" if at.input_nominal else ""
        return Condition("input", "Input", f"{counted(at.input_tok)} tok{nominal}", str(at.input_tok))
    return (
        Condition("input", "Input", f"{at.input_nominal} nominal")
        if at.input_nominal
        else None
    )


def _prompt(at: At) -> Condition | None:
    if at.prompt_class is None and at.prompt_as_published is None:
        return None
    kind = words(at.prompt_class) if at.prompt_class else ""
    published = (
        f"\N{LEFT DOUBLE QUOTATION MARK}{at.prompt_as_published}\N{RIGHT DOUBLE QUOTATION MARK}"
        if at.prompt_as_published
        else ""
    )
    explanation = DEFINITIONS["prompt_class"][at.prompt_class] if at.prompt_class else ""
    return Condition("prompt", "Prompts", " ".join(filter(None, (kind, published))), explanation=explanation)


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


def _queued(at: At) -> Condition | None:
    if at.queued is None:
        return None
    return _line("queued", "requests waited" if at.queued else "none waited")


_MAKERS: Final[tuple[Callable[[At], Condition | None], ...]] = (
    lambda at: _number("concurrency", "{}", at.concurrency),
    lambda at: _number("request_rate", "{} req/s", at.request_rate_req_s),
    _input,
    lambda at: _number("output", "{} tok", at.output_tok),
    _prompt,
    _cache,
    _path,
    lambda at: _number("temperature", "{}", at.temperature),
    lambda at: _number("turn", "{}", at.turn),
    lambda at: _number("accelerators", "{}", at.accelerators),
    lambda at: _number("instances", "{}", at.instances),
    lambda at: _line("interval", at.interval),
    lambda at: _line("baseline", at.baseline),
    _slo,
    _queued,
)
