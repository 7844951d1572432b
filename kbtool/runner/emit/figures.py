"""The results of a benchmark record, from the cells of a run: the figures that are published, and their conditions."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final, cast

from kbtool.errors import RecordError
from kbtool.runner.metrics import Measurement
from kbtool.runner.metrics.bounds import is_too_wide
from kbtool.runner.plan import Plan
from kbtool.runner.results import CellResult
from kbtool.runner.stats import median, stdev
from kbtool.schema.benchmark import At, Result, Setting, Slo, Spread
from kbtool.schema.common import Evidence
from kbtool.vocab.metrics import METRICS
from kbtool.vocab.terms import MeasuringPath, RunWarning, Statistic
from kbtool.vocab.units import format_number
from kbtool.vocab.warnings import WarningCode

__all__ = ["FAILED_RATIO", "result_of", "results_of", "rounded"]

FAILED_RATIO: Final = 0.02
"""Share of failed requests above which a cell publishes nothing but that share."""
MAX_RESULTS: Final = 220
"""A result takes about 800 bytes of its record's file, which may have 256 KiB."""
DIGITS: Final = 5
"""Significant digits that are published; the raw data has all of them."""
_FEWER_DIGITS: Final = ((0.05, 3), (0.01, 4))
"""Standard deviation of the rounds as a share of the figure, above which it is published with fewer digits."""
_Wanted = tuple[tuple[str, tuple[str, ...]], ...]
"""Metrics and the statistics of each of which the first that there is gets published."""
_CORE: Final[_Wanted] = (
    ("tok_s_per_user", ("p50", "mean")),
    ("output_tok_s", ("median", "single")),
    ("total_tok_s", ("median", "single")),
    ("ttft_ms", ("p50", "mean")),
    ("prefill_tok_s", ("mean",)),
    ("goodput_req_s", ("median", "single")),
    ("acceptance_length", ("median", "single", "mean")),
    ("energy_j_per_tok", ("median", "single")),
    ("error_ratio", ("single", "mean", "median")),
)
_TAILS: Final[_Wanted] = (
    ("ttft_ms", ("p90",)),
    ("ttft_ms", ("p99", "max")),
    # Means of a time and of its inverse are not inverse to one another, medians are.
    ("tpot_ms", ("p50",)),
    ("tpot_ms", ("p99",)),
    ("itl_ms", ("p50",)),
    ("itl_ms", ("p99", "max")),
    ("step_gap_ms", ("p99", "max")),
    ("e2el_ms", ("p50", "mean")),
    ("req_s", ("median", "single")),
    ("tok_s_per_accelerator", ("median", "single")),
    ("acceptance_ratio", ("median", "single", "mean")),
)
_PREFILL: Final[_Wanted] = (
    ("prefill_tok_s", ("p50", "mean")),
    ("ttft_ms", ("p50", "mean")),
    ("ttft_ms", ("p99", "max")),
    ("error_ratio", ("single",)),
)
"""Of prompts that are there to be read: what follows them is too short to time, and drafts on it say nothing."""
_LONE: Final = frozenset({"single_stream", "prefill", "concurrency", "long_decode"})
"""Kinds of load in which one user means one request at a time."""
_FAILURES: Final = "error_ratio"
_TOO_WIDE: Final = (
    "Its 95 % interval is too wide to give: it reaches below 0, or above what the metric can be."
)


@dataclass(frozen=True, slots=True)
class _Stands:
    """What stands beside every figure of a cell."""

    at: At
    changed: tuple[Setting, ...]
    evidence: tuple[Evidence, ...]


def results_of(cells: Sequence[CellResult], plan: Plan, source: str) -> tuple[Result, ...]:
    """Return what is published of the cells; percentiles are left to the raw data where the record would overflow."""
    found: tuple[Result, ...] = ()
    for chosen in ((*_CORE, *_TAILS), _CORE, _CORE[:4]):
        found = tuple(
            result for cell in cells for result in _of_cell(cell, _alike(cell, cells, chosen), plan, source)
        )
        if len(found) <= MAX_RESULTS:
            return tuple(_with_repeats(found))
    raise RecordError(
        f"the run has {len(found)} figures; a record holds {MAX_RESULTS}: split the plan, and measure each part as a run"
    )


def _with_repeats(results: Sequence[Result]) -> Iterator[Result]:
    """Name the first of results that measure one thing twice: two workloads of a plan may meet in one point."""
    first: dict[tuple[object, ...], str] = {}
    for each in results:
        key = (each.metric, each.statistic, each.at.model_dump_json(), str(each.with_))
        known = first.setdefault(key, each.id)
        yield each if known == each.id else each.model_copy(update={"repeat_of": known})


def result_of(cell: CellResult, metric: str, statistic: Statistic, plan: Plan, source: str) -> Result | None:
    """Return one figure of a cell as a result; None where there is none, or none that may be published."""
    failed = cell.summary.measurement(_FAILURES, "single")
    found = cell.summary.measurement(metric, statistic)
    if found is None or (failed is not None and failed.value > FAILED_RATIO and metric != _FAILURES):
        return None
    if cell.cell.kind == "prefill" and metric not in {each for each, _ in _PREFILL}:
        return None
    if not _says_something(found) or _is_no_prefill(cell, metric):
        return None
    return _result(cell, found, _stands(cell, plan, source))


def _stands(cell: CellResult, plan: Plan, source: str) -> _Stands:
    changed = () if cell.setting is None else (Setting(field=cell.setting, value=cell.value),)
    return _Stands(_at(cell, plan), changed, _evidence(cell, source))


def _of_cell(cell: CellResult, chosen: _Wanted, plan: Plan, source: str) -> Iterator[Result]:
    failed = cell.summary.measurement(_FAILURES, "single")
    unusable = failed is not None and failed.value > FAILED_RATIO
    stands = _stands(cell, plan, source)
    is_prefill = cell.cell.kind == "prefill"
    for metric, statistics in chosen:
        if unusable and metric != _FAILURES:
            continue
        found = next(
            (
                each
                for word in statistics
                if (each := cell.summary.measurement(metric, cast("Statistic", word)))
            ),
            None,
        )
        if found is not None and _says_something(found) and not _is_no_prefill(cell, metric):
            yield _result(cell, found, stands)
    if not unusable and not is_prefill:
        yield from _from_rounds(cell, stands)
    if not unusable and cell.cell.straight_to is None:
        yield from _from_instances(cell, stands)


def _alike(cell: CellResult, cells: Sequence[CellResult], chosen: _Wanted) -> _Wanted:
    """Return what is published of a cell, with those statistics first that all cells of its workload have.

    A small load has too few requests for a median: beside the median of a larger one, its mean would be compared with it.
    """
    peers = [each for each in cells if each.cell.workload == cell.cell.workload]
    wanted = _PREFILL if cell.cell.kind == "prefill" else chosen
    return tuple((metric, _shared_first(metric, statistics, peers)) for metric, statistics in wanted)


def _shared_first(metric: str, statistics: tuple[str, ...], peers: Sequence[CellResult]) -> tuple[str, ...]:
    had = [
        held
        for each in peers
        if (
            held := {word for word in statistics if each.summary.measurement(metric, cast("Statistic", word))}
        )
    ]
    return tuple(sorted(statistics, key=lambda word: not all(word in held for held in had)))


def _is_no_prefill(cell: CellResult, metric: str) -> bool:
    """Return whether a prefill speed would time a queue, or what the cache skipped."""
    if metric != "prefill_tok_s":
        return False
    alone = cell.cell.streams == 1 and cell.cell.kind in _LONE
    return not alone or cell.summary.cache.state in {"contaminated", "warm", "restart_warm"}


def _says_something(found: Measurement) -> bool:
    return METRICS[found.metric].zero_is_valid or found.value > 0


def _result(cell: CellResult, found: Measurement, stands: _Stands) -> Result:
    value = rounded(found.value, _digits(found))
    too_wide = is_too_wide(found.metric, found.low, found.high)
    low, high = (None, None) if too_wide else _interval(found)
    spread = rounded(found.spread_stdev) if found.spread_stdev else None
    return Result(
        id=slug(f"{cell.name}-{found.metric}-{found.statistic}"),
        metric=found.metric,
        value=value,
        low=low,
        high=high,
        range_meaning=None if low is None else "ci95",
        statistic=found.statistic,
        as_published=published(value, found.metric, low, high),
        repeats=found.n_rounds,
        sessions=found.n_sessions,
        samples=found.n_samples or None,
        spread=None if spread is None else Spread(kind="stdev", value=spread),
        at=stands.at,
        with_=stands.changed,
        evidence=stands.evidence,
        warnings=warnings_of(found.warnings),
        note=_TOO_WIDE if too_wide else None,
    )


def _interval(found: Measurement) -> tuple[Decimal | None, Decimal | None]:
    """Return the ends of the interval; none of a figure that was 0 each time."""
    if found.low is None or found.high is None or found.low <= 0:
        return None, None
    return rounded(found.low), rounded(found.high)


def _from_rounds(cell: CellResult, stands: _Stands) -> Iterator[Result]:
    """Yield what telemetry and server counters give for each round, as the median over the rounds."""
    rounds = cell.rounds
    energies = [each.note.energy for each in rounds if each.note.energy is not None]
    speculation = [each.speculation for each in rounds if each.speculation.state == "enabled"]
    has_own = cell.summary.measurement("acceptance_length", "mean") or cell.summary.measurement(
        "acceptance_length", "median"
    )
    values = {
        "power_w": [each.mean_power_w for each in energies],
        "utilization_ratio": [each.utilization_ratio for each in energies],
        "acceptance_length": [] if has_own else [each.acceptance_length for each in speculation],
    }
    for metric, found in values.items():
        known = [each for each in found if each is not None]
        if len(known) == len(rounds) and known:
            yield _round_result(cell, metric, known, stands)


def _from_instances(cell: CellResult, stands: _Stands) -> Iterator[Result]:
    """Yield how a router spread the load, and what the second turn of a conversation found of the first."""
    shares = [each.split.shares_ratio for each in cell.rounds if each.split is not None]
    known = [tuple(each.values()) for each in shares if each is not None]
    if known and len(known) == len(cell.rounds):
        for statistic, pick in (("max", max), ("min", min)):
            found = [pick(each) for each in known]
            yield _round_result(
                cell, "instance_share_ratio", found, stands, statistic=cast("Statistic", statistic)
            )
    second = [[turn for turn in each.turns if turn.turn == 2] for each in cell.rounds]
    cached = [[turn.cached_tok for turn in each] for each in second]
    told = [[tok for tok in each if tok is not None] for each in cached]
    if all(told) and told == cached:
        prompts = [turn.prompt_tok for each in second for turn in each]
        at = stands.at.model_copy(update={"turn": 2, "input_tok": round(sum(prompts) / len(prompts))})
        means = [sum(each) / len(each) for each in told]
        yield _round_result(cell, "cached_tok", means, replace(stands, at=at), statistic="mean")


def _round_result(
    cell: CellResult,
    metric: str,
    values: Sequence[float],
    stands: _Stands,
    *,
    statistic: Statistic | None = None,
) -> Result:
    """Return the median over the rounds of a figure that each round has; of extremes, the most or the least."""
    pick = {"max": max, "min": min}.get(statistic or "", median)
    value = rounded(pick(values))
    deviation = stdev(values)
    spread = rounded(deviation) if deviation else None
    interval = (
        "each measured round, first request to last byte"
        if "interval" in METRICS[metric].conditions
        else None
    )
    return Result(
        id=slug(f"{cell.name}-{metric}{f'-{statistic}' if statistic else ''}"),
        metric=metric,
        value=value,
        statistic=statistic or ("median" if len(values) > 1 else "single"),
        as_published=published(value, metric),
        repeats=len(values),
        sessions=cell.summary.n_sessions,
        spread=None if spread is None else Spread(kind="stdev", value=spread),
        at=stands.at.model_copy(update={"interval": interval}),
        with_=stands.changed,
        evidence=stands.evidence,
        warnings=warnings_of(cell.summary.warnings),
    )


def _at(cell: CellResult, plan: Plan) -> At:
    load, summary = cell.cell, cell.summary
    totals = [each.figures.totals for each in cell.rounds]
    ok = sum(each.figures.n_ok for each in cell.rounds)
    state = summary.cache.state
    prompt_class = None if load.trace_path else load.prompt_class
    return At(
        concurrency=None if load.kind in {"rate", "replay"} else load.streams,
        request_rate_req_s=None if load.rate_req_s is None else rounded(load.rate_req_s),
        input_tok=round(sum(each.input_tok for each in totals) / ok) if ok else None,
        output_tok=round(sum(each.output_tok for each in totals) / ok) if ok else None,
        prompt_class=cast("Any", prompt_class or "mixed"),
        prompt_as_published="lengths and times of a recorded trace" if load.trace_path else None,
        temperature=rounded(load.temperature),
        prefix_cache="cold" if state == "proven_cold" else cast("Any", state),
        cache_proof=summary.cache.proofs,
        measuring_path=_path(cell, plan),
        instances=1 if load.straight_to and len(plan.target.endpoints) != 1 else None,
        slo=tuple(Slo(metric=metric, limit=rounded(limit)) for metric, limit in load.slo),
        queued=True if WarningCode.QUEUED in summary.warnings else None,
    )


def _path(cell: CellResult, plan: Plan) -> MeasuringPath | None:
    target = plan.target
    if target.measuring_path is not None:
        return target.measuring_path
    if target.router is not None and cell.cell.straight_to is None:
        return "through_proxy"
    local = target.launch is not None or all(each.is_loopback for each in target.endpoints)
    return "on_host" if local else None


def _evidence(cell: CellResult, source: str) -> tuple[Evidence, ...]:
    """Point at the raw tables of each visit."""
    found = []
    for visit in cell.visits:
        numbers = [each.note.number for each in visit.rounds]
        which = f"rounds {numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else f"round {numbers[0]}"
        found.append(Evidence(source=source, locator=f"cells/{visit.key}, {which}"))
    return tuple(found)


def warnings_of(found: Sequence[WarningCode]) -> tuple[RunWarning, ...]:
    """Return warnings as a record's words."""
    return tuple(each.value for each in found)


def _digits(found: Measurement) -> int:
    """Return how many digits of a figure mean something: fewer where its rounds lie far apart."""
    if not found.spread_stdev or not found.value:
        return DIGITS
    share = found.spread_stdev / abs(found.value)
    return next((digits for limit, digits in _FEWER_DIGITS if share > limit), DIGITS)


def rounded(value: float, digits: int = DIGITS) -> Decimal:
    """Return a figure with so many significant digits, and no more than nine decimals."""
    exact = Decimal(f"{value:.{digits}g}")
    text = format(exact, "f")
    if "." in text:
        whole, _, decimals = text.partition(".")
        text = f"{whole}.{decimals[:9]}".rstrip("0").rstrip(".")
    return Decimal(text)


def published(value: Decimal, metric: str, low: Decimal | None = None, high: Decimal | None = None) -> str:
    """Return a figure as the run's report prints it."""
    unit = METRICS[metric].unit
    text = format_number(value) if unit in {"ratio", "count"} else f"{format_number(value)} {unit}"
    if low is None or high is None:
        return text
    return f"{text} (95 % interval {format_number(low)} to {format_number(high)})"


def slug(text: str) -> str:
    """Return a text as the id of a result."""
    words = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    return words if words[:1].isalpha() else f"r-{words}"
