"""Which load a result was measured under: read from its metric and conditions."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final, Literal, cast

from kbtool.runner.plan.target import EngineKind
from kbtool.runner.reproduce.lengths import Length, read_nominal
from kbtool.runner.reproduce.model import OpenPoint
from kbtool.schema.benchmark import At, Benchmark, Result
from kbtool.vocab.metrics import METRICS
from kbtool.vocab.numbers import number_text
from kbtool.vocab.terms import CENTRES, Statistic

__all__ = ["BELONGS", "OURS", "PROMPT_ONLY", "Load", "Reading", "read", "same_statistics"]

Kind = Literal["closed", "prefill", "rate", "conversation"]
Slo = Literal["ttft_ms", "tpot_ms", "e2el_ms"]
TextClass = Literal["prose", "code", "structured", "synthetic"]

OURS: Final[dict[str, Statistic]] = {
    "tok_s_per_user": "p50", "output_tok_s": "median", "total_tok_s": "median", "ttft_ms": "p50",
    "prefill_tok_s": "mean", "goodput_req_s": "median", "acceptance_length": "median", "energy_j_per_tok": "median",
    "tpot_ms": "p50", "itl_ms": "p50", "e2el_ms": "p50", "req_s": "median", "tok_s_per_accelerator": "median",
    "step_gap_ms": "p99", "acceptance_ratio": "median", "power_w": "median", "utilization_ratio": "median", "error_ratio": "single",
}  # fmt: skip
"""Metric that the record of a run gives -> the statistic that a link compares, where the target names none."""
BELONGS: Final = frozenset(
    {"power_w", "utilization_ratio", "error_ratio", "acceptance_length", "acceptance_ratio"}
)
"""Metrics seen beside a load: where the record does not say which, the load of the headline."""
_WHOLE: Final = frozenset(
    {"output_tok_s", "total_tok_s", "req_s", "tok_s_per_accelerator", "energy_j_per_tok"}
)
"""Metrics of a whole round."""
PROMPT_ONLY: Final = frozenset({"prefill_tok_s", "ttft_ms"})
"""Metrics that a prompt alone shows, without an answer."""
_MOST_REQ_S: Final = 1000
_MOST_USERS: Final = 1024
"""Four requests a user, three rounds and sessions stay within what one plan may send."""
_SHORTEST_PROMPT_TOK: Final = 43
"""Of the salt, a shared prefix and the closing request; `kbtool.runner.prompts` counts it for each class."""
_TAILS: Final = frozenset({None, "p99", "max"})
_OF_ANSWERS: Final = frozenset({"tok_s_per_user", "tpot_ms", "itl_ms"})
_MIDDLE: Final = frozenset({None, "single", *CENTRES})
_WHY_NOT: Final = {
    "samples_s": "what a sample is, the rules of its benchmark say; no plan sends samples",
    "kv_bytes_per_tok": "it follows from the model and the engine's memory layout; no load measures it",
    "kv_capacity_tok": "the engine says it at its start; no load measures it",
    "throughput_ratio": "it is a ratio of two results: ask for those two",
    "ttft_ratio": "it is a ratio of two results: ask for those two",
    "instance_share_ratio": "the run's report shows the share of each instance, but a record gives none to compare",
    "system_power_w": "the runner reads the power of accelerators, not of a whole system",
}
_CLASSES: Final[dict[str | None, tuple[TextClass, str]]] = {
    "prose": ("prose", ""),
    "code": ("code", ""),
    "structured": ("structured", ""),
    "synthetic": ("synthetic", ""),
    "mixed": ("prose", "prose: which classes were mixed, and how, is not said"),
    "random_tokens": ("synthetic", "synthetic text: the runner sends text, not random token ids"),
}
_COUNTING: Final[frozenset[EngineKind]] = frozenset({"vllm", "llama_cpp"})
"""Kinds of server with counters of drafts, whose differences are an acceptance."""
_SLO: Final[frozenset[str]] = frozenset({"ttft_ms", "tpot_ms", "e2el_ms"})


@dataclass(frozen=True, slots=True)
class Load:
    """A load, as far as a record says it; None is unknown. Equal loads are measured by one workload."""

    kind: Kind
    concurrency: int = 1
    rate_req_s: Decimal | None = None
    input_tok: int | None = None
    output_tok: int | None = None
    prompt_class: TextClass = "prose"
    cache: Literal["cold", "warm"] = "cold"
    temperature: Decimal = Decimal(0)
    turns: int = 1
    slo: tuple[tuple[Slo, Decimal], ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read of one result."""

    result: Result
    load: Load | None
    """None where it belongs to a load that another result states."""
    points: tuple[OpenPoint, ...]


def read(result: Result, record: Benchmark, engine: EngineKind) -> Reading | str:
    """Return the load of a result and what its record leaves open about it, or why no plan can measure it."""
    reason = _why_not(result, engine)
    if reason:
        return reason
    points = [*_of_figure(result)]
    if result.metric in BELONGS and not _has_load(result.at):
        if result.at.concurrency is None and result.metric in {"power_w", "utilization_ratio"}:
            interval = result.at.interval or "under a load that the record does not name"
            if "under load" not in interval:
                return f"it was read {interval}: that is no load of a plan"
        said = "the load it was read under is not said in full"
        points.append(OpenPoint("results.at", said, "the load of the first result"))
        return Reading(result, None, tuple(points))
    return _read_load(result, record, points)


def same_statistics(metric: str, statistic: Statistic | None) -> tuple[Statistic, ...]:
    """Return the statistics of a run that are the same as one of a record, the best first; none where none is."""
    ours = OURS.get(metric)
    if ours is None:
        return ()
    if ours == "median":
        # A figure of whole rounds: its statistic is over rounds, however many there were.
        return ("median", "single") if statistic in _MIDDLE else ()
    if statistic is None or statistic == "single" or ours == "single":
        others: tuple[Statistic, ...] = ("max",) if ours == "p99" else ("mean",)
        return (ours, *others) if ours not in {"single", "mean"} else (ours,)
    return ("p50",) if statistic == "median" else (statistic,)


def _why_not(result: Result, engine: EngineKind) -> str:
    """Return why no plan can measure this figure, or an empty text."""
    return next(iter((*_against_figure(result), *_against_metric(result, engine))), "")


def _against_metric(result: Result, engine: EngineKind) -> Iterator[str]:
    metric = result.metric
    if metric in _WHY_NOT:
        yield _WHY_NOT[metric]
    elif metric not in OURS:
        title = METRICS[metric].title if metric in METRICS else metric
        yield f"a record of a run does not give {title} ({metric}), so that there is nothing to compare"
    elif metric.startswith("acceptance_") and engine not in _COUNTING:
        yield "this kind of server has no counters of drafts, and an acceptance is a difference of counters"
    elif metric == "error_ratio" and not result.value:
        yield "there is no ratio to 0; every cell publishes its own share of failed requests"


def _against_figure(result: Result) -> Iterator[str]:
    at, metric = result.at, result.metric
    if result.standing == "withdrawn":
        yield f"it was withdrawn: {result.standing_reason or 'the record gives no reason'}"
    if result.value is None and (result.low is None or result.high is None):
        yield "the record gives no value to compare with"
    if at.input_tok is not None and at.input_tok < _SHORTEST_PROMPT_TOK and metric != "prefill_tok_s":
        yield f"prompts of {at.input_tok} tokens; one of our own has {_SHORTEST_PROMPT_TOK} or more, to be unlike the others"
    if at.request_rate_req_s is not None and at.request_rate_req_s > _MOST_REQ_S:
        yield f"{at.request_rate_req_s:,f} requests a second; such a rate means all at once, and a plan is kept to {_MOST_REQ_S:,}"
    if at.concurrency is not None and at.concurrency > _MOST_USERS:
        yield f"{at.concurrency:,} users at once; a plan of rounds and sessions is kept to {_MOST_USERS:,}"
    best_of_several = result.statistic in {"max", "peak"} and metric in _WHOLE
    given = _TAILS if OURS.get(metric) == "p99" else _MIDDLE
    if metric in OURS and result.statistic not in given and not best_of_several:
        yield (
            f"it is the {result.statistic}, and a link compares the {OURS[metric]}: one says little of the other; "
            "the run's raw data has every request"
        )
    if at.depth_tok:
        yield f"it is read behind {at.depth_tok:,} tokens of context, which no plan puts there untimed"
    if at.prompt_class == "multimodal":
        yield "the runner sends text alone"
    if at.prefix_cache in {"contaminated", "restart_warm"}:
        yield f"no plan brings about a cache that is `{at.prefix_cache}`"


def _of_figure(result: Result) -> Iterator[OpenPoint]:
    """Yield what is open about the figure itself."""
    ours = OURS[result.metric]
    same = same_statistics(result.metric, result.statistic)
    if result.value is None:
        yield OpenPoint(
            "results.value",
            f"a range, {number_text(result.low or Decimal(0))} to {number_text(result.high or Decimal(0))}",
            "its middle as the value to compare with",
        )
    if result.statistic is None:
        yield OpenPoint("results.statistic", f"not said for {result.metric}", f"the {ours}")
    elif result.statistic not in {*same, "median"}:
        chosen = f"the {ours}, as records of runs give it"
        yield OpenPoint(
            "results.statistic",
            f"the {result.statistic} of {result.metric}",
            chosen if same else f"{chosen}; it is not linked, as one says little of the other",
        )
    if result.standing == "disputed":
        yield OpenPoint(
            "results.standing", "the figure is disputed", "measured all the same: that is what settles it"
        )
    if result.at.interval and result.metric not in {"power_w", "utilization_ratio"}:
        yield OpenPoint("results.at.interval", result.at.interval, "whole rounds, first request to last byte")


def _has_load(at: At) -> bool:
    """Return whether conditions name a load, beyond a number of users."""
    known = (
        at.input_tok,
        at.input_nominal,
        at.output_tok,
        at.prompt_class,
        at.request_rate_req_s,
        at.prefix_cache,
    )
    return any(each is not None for each in known)


def _read_load(result: Result, record: Benchmark, points: list[OpenPoint]) -> Reading | str:
    at, metric = result.at, result.metric
    length = _input(at, record)
    if at.input_nominal and at.input_tok is None:
        if length is None:
            points.append(
                OpenPoint("results.at.input_tok", f"`{at.input_nominal}`, which names no length", "unknown")
            )
        else:
            points.append(
                OpenPoint("results.at.input_tok", f"`{at.input_nominal}`", f"{length.tok:,}: {length.why}")
            )
    prompt_class, class_point = _prompt_class(at)
    load = Load(
        "closed",
        concurrency=at.concurrency or 1,
        input_tok=None if length is None else length.tok,
        output_tok=at.output_tok,
        prompt_class=prompt_class,
        temperature=at.temperature or Decimal(0),
    )
    found = _kind(load, at, metric, record)
    if isinstance(found, str):
        return found
    load, more = found
    if load.kind == "prefill" and at.prompt_class is None:
        load = replace(load, prompt_class="synthetic")
    points += [*more, *class_point, *_common(at, load)]
    return Reading(result, load, tuple(points))


def _kind(load: Load, at: At, metric: str, record: Benchmark) -> tuple[Load, list[OpenPoint]] | str:
    """Return the load with its kind, or why there is none."""
    if metric == "goodput_req_s" or at.request_rate_req_s is not None:
        return _rate(load, at, metric)
    if at.prompt_class == "agent" or (at.turn or 1) > 1:
        return _conversation(load, at)
    points = []
    if at.concurrency is None:
        if metric in _WHOLE:
            return "the record does not say how many users there were"
        points.append(OpenPoint("results.at.concurrency", "not said", "1: a figure of one user or request"))
    cold_prompt = (
        at.prefix_cache == "cold"
        and load.input_tok is not None
        and metric in PROMPT_ONLY
        and not _answers_too(at, record)
    )
    of_prompt = cold_prompt or at.prefix_cache == "warm" or _of_prompts(load, at, metric, record)
    reason = next(_against_prompt(load, at, metric), "") if of_prompt else ""
    if reason:
        return reason
    if not of_prompt or load.concurrency > 1:
        return load, points
    if at.prefix_cache is None:
        points.append(
            OpenPoint("results.at.prefix_cache", "not said", "cold: a warm cache skips the prefill")
        )
    return replace(load, kind="prefill", cache="warm" if at.prefix_cache == "warm" else "cold"), points


def _answers_too(at: At, record: Benchmark) -> bool:
    """Return whether the record has a speed of answers under the same conditions: prompts were not all that was timed."""
    return at.output_tok is not None and any(
        each.at == at and each.metric in _OF_ANSWERS for each in record.results
    )


def _of_prompts(load: Load, at: At, metric: str, record: Benchmark) -> bool:
    return metric == "prefill_tok_s" and (load.concurrency > 1 or not _answers_too(at, record))


def _against_prompt(load: Load, at: At, metric: str) -> Iterator[str]:
    """Yield why a figure of long prompts cannot be measured."""
    warm = at.prefix_cache == "warm"
    if metric == "prefill_tok_s" and load.concurrency > 1:
        yield "prefill speed is of a lone request; the record gives it for several at once"
    if metric == "prefill_tok_s" and warm:
        yield "a warm cache skips the prefill: ask for the TTFT"
    if load.input_tok is None:
        yield "the record gives no length of the prompt, and the figure is about little else"
    if warm and load.concurrency > 1:
        yield "several users on one warm cache: no workload holds a cache warm for all of them"


def _rate(load: Load, at: At, metric: str) -> tuple[Load, list[OpenPoint]] | str:
    if at.request_rate_req_s is None:
        return "the record gives no arrival rate, and goodput is a figure of one"
    limits = [(each.metric, each.limit) for each in at.slo]
    unknown = [name for name, _ in limits if name not in _SLO]
    if unknown:
        return f"a limit on {', '.join(unknown)} is none that a request can be held against"
    if metric == "goodput_req_s" and not limits:
        return "goodput without its limits means nothing, and the record states none"
    points = [
        OpenPoint(
            "results.at.slo", f"a limit on the {each.statistic} of {each.metric}", "the limit on each request"
        )
        for each in at.slo
        if each.statistic is not None
    ]
    points.append(
        OpenPoint("results.at.request_rate_req_s", "how arrivals are spread is not said", "Poisson")
    )
    slo = tuple((cast("Slo", name), limit) for name, limit in limits)
    return replace(load, kind="rate", concurrency=1, rate_req_s=at.request_rate_req_s, slo=slo), points


def _conversation(load: Load, at: At) -> tuple[Load, list[OpenPoint]]:
    points = []
    if at.concurrency is None:
        points.append(OpenPoint("results.at.concurrency", "not said", "1 agent"))
    if at.turn is None:
        points.append(OpenPoint("results.at.turn", "the number of turns is not said", "8 turns"))
    else:
        points.append(
            OpenPoint(
                "results.at.turn",
                f"a figure of turn {at.turn}",
                "the figure over all turns, as records of runs give it; the raw data has each turn",
            )
        )
    return replace(load, kind="conversation", turns=at.turn or 8, prompt_class="prose", cache="cold"), points


def _input(at: At, record: Benchmark) -> Length | None:
    if at.input_tok is not None:
        return Length(at.input_tok, "")
    if at.input_nominal is None:
        return None
    exact = {each.at.input_tok for each in record.results if each.at.input_tok is not None}
    return read_nominal(at.input_nominal, sorted(exact))


def _prompt_class(at: At) -> tuple[TextClass, list[OpenPoint]]:
    if at.prompt_class is None or at.prompt_class == "agent":
        return "prose", []
    found, remark = _CLASSES[at.prompt_class]
    return found, [OpenPoint("results.at.prompt_class", f"`{at.prompt_class}`", remark)] if remark else []


def _common(at: At, load: Load) -> Iterator[OpenPoint]:
    """Yield what every kind of load may leave open."""
    if at.prompt_class is None:
        chosen = "synthetic text" if load.kind == "prefill" else "prose"
        yield OpenPoint(
            "results.at.prompt_class", "not said", f"{chosen}; with drafts, the class sets the speed"
        )
    if at.prompt_as_published:
        yield OpenPoint(
            "results.at.prompt_as_published", f"`{at.prompt_as_published}`", "the runner's own text"
        )
    if at.temperature is None:
        yield OpenPoint("results.at.temperature", "not said", "0, greedy")
    if at.prefix_cache == "unproven":
        yield OpenPoint(
            "results.at.prefix_cache", "meant to be cold, and not shown", "cold, shown by unique prompts"
        )
