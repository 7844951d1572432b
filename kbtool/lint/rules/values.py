"""Rules about values: metrics that exist, numbers that can be, and ranges the right way round."""

import re
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Final

from kbtool.analysis.completeness import is_listed
from kbtool.analysis.parts import parts
from kbtool.lint.facts import Facts
from kbtool.lint.rule import CorpusProblem, Problem, corpus_rule, rule
from kbtool.schema import Accelerator, Benchmark, Engine, Interconnect, Model
from kbtool.schema.common import Figure
from kbtool.store.suggest import nearest
from kbtool.vocab.metrics import METRICS

_LARGEST_SHARE: Final = Decimal(1)
_END_OF_CENTURY: Final = "2099-12-31"


@rule("U001", "unknown-metric")
def unknown_metric(record: Benchmark) -> Iterator[Problem]:
    """Flag a metric that the vocabulary does not have.

    A metric fixes unit, scope and which tokens count. A word of a source's own (`tok/s`, `throughput`) fixes
    none.

    Bad:
        results:
          - {id: decode-prose-1, metric: tok_s_per_usr, value: 93.9, as_published: 93.9 tok/s, repeats: 3,
             at: {concurrency: 1, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        results:
          - {id: decode-prose-1, metric: tok_s_per_user, value: 93.9, as_published: 93.9 tok/s, repeats: 3,
             at: {concurrency: 1, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    for index, result in enumerate(record.results):
        if result.metric not in METRICS:
            yield _unknown(f"/results/{index}/metric", result.metric)
        for number, slo in enumerate(result.at.slo):
            if slo.metric not in METRICS:
                yield _unknown(f"/results/{index}/at/slo/{number}/metric", slo.metric)


@rule("U002", "value-not-positive")
def value_not_positive(record: Benchmark) -> Iterator[Problem]:
    """Flag a figure of 0 or less where the metric has none.

    A throughput of 0 is a failed run and not a result; a failed run is a gotcha or a claim.

    Bad:
        results:
          - {id: decode-prose-1, metric: tok_s_per_user, value: 0, as_published: 0 tok/s, repeats: 3,
             at: {concurrency: 1, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        results:
          - {id: decode-prose-1, metric: error_ratio, value: 0, as_published: "0", at: {concurrency: 1},
             evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    for index, result in enumerate(record.results):
        metric = METRICS.get(result.metric)
        if metric is None:
            continue
        for name, value in (("value", result.value), ("low", result.low), ("high", result.high)):
            if value is not None and (value < 0 or (value == 0 and not metric.zero_is_valid)):
                least = "0 or more" if metric.zero_is_valid else "more than 0"
                message = (
                    f"{result.metric} is {value:f}; expected {least}: correct it, or leave the failed run out"
                )
                yield Problem(f"/results/{index}/{name}", message)


@rule("U003", "value-not-plausible")
def value_not_plausible(record: Benchmark) -> Iterator[Problem]:
    """Flag a figure above anything that the metric can be.

    Such a value is a slip of unit (microseconds as milliseconds) or of scope (a whole system as one user).

    Bad:
        results:
          - {id: decode-prose-1, metric: tpot_ms, value: 106500, as_published: "106500", statistic: mean, repeats: 3,
             at: {concurrency: 1, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        results:
          - {id: decode-prose-1, metric: tpot_ms, value: 106.5, as_published: "106.5", statistic: mean, repeats: 3,
             at: {concurrency: 1, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    for index, result in enumerate(record.results):
        metric = METRICS.get(result.metric)
        if metric is None or metric.plausible_max is None or metric.plausible_max == _LARGEST_SHARE:
            continue
        for name, value in (("value", result.value), ("high", result.high)):
            if value is not None and value > metric.plausible_max:
                message = (
                    f"{result.metric} is {value:f} {metric.unit}; expected at most {metric.plausible_max:f}: "
                    f"check unit and scope ({metric.scope})"
                )
                yield Problem(f"/results/{index}/{name}", message)


@rule("U004", "share-above-one")
def share_above_one(record: Benchmark) -> Iterator[Problem]:
    """Flag a share above 1, such as 87 for 87 %.

    Shares are written as 0 to 1 and end in `_ratio`; a per cent among them is a hundred times too large in
    every chart.

    Bad:
        results:
          - {id: decode-prose-1, metric: acceptance_ratio, value: 73, as_published: 73%,
             at: {concurrency: 1, prompt_class: code}, evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        results:
          - {id: decode-prose-1, metric: acceptance_ratio, value: 0.73, as_published: 73%,
             at: {concurrency: 1, prompt_class: code}, evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    for index, result in enumerate(record.results):
        metric = METRICS.get(result.metric)
        if metric is None or metric.plausible_max != _LARGEST_SHARE:
            continue
        for name, value in (("value", result.value), ("high", result.high)):
            if value is not None and value > 1:
                message = f"{result.metric} is {value:f}; expected 0 to 1: write per cent as {value / 100:f}"
                yield Problem(f"/results/{index}/{name}", message)


@rule("U005", "range-reversed")
def range_reversed(record: Benchmark | Accelerator | Interconnect | Engine | Model) -> Iterator[Problem]:
    """Flag a range whose lower end is above its upper end.

    Bad:
        results:
          - {id: decode-prose-1, metric: tok_s_per_user, low: 97, high: 92, range_meaning: min_max, repeats: 3,
             as_published: 92-97, evidence: [{source: sources/base-source, locator: Table 3}],
             at: {concurrency: 1, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host}}

    Good:
        results:
          - {id: decode-prose-1, metric: tok_s_per_user, low: 92, high: 97, range_meaning: min_max, repeats: 3,
             as_published: 92-97, evidence: [{source: sources/base-source, locator: Table 3}],
             at: {concurrency: 1, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host}}
    """
    for pointer, low, _, high in _ranges(record):
        if low is not None and high is not None and low > high:
            yield Problem(f"{pointer}/low", f"low is {low:f} and high is {high:f}: exchange the two")


@rule("U006", "value-outside-range")
def value_outside_range(record: Benchmark | Accelerator | Interconnect | Engine | Model) -> Iterator[Problem]:
    """Flag a figure below the lower or above the upper end of its own range.

    Bad:
        results:
          - {id: decode-prose-1, metric: tok_s_per_user, value: 98, low: 92, high: 97, range_meaning: min_max,
             as_published: 98 (92-97), evidence: [{source: sources/base-source, locator: Table 3}], repeats: 3,
             at: {concurrency: 1, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host}}

    Good:
        results:
          - {id: decode-prose-1, metric: tok_s_per_user, value: 95, low: 92, high: 97, range_meaning: min_max,
             as_published: 95 (92-97), evidence: [{source: sources/base-source, locator: Table 3}], repeats: 3,
             at: {concurrency: 1, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host}}
    """
    for pointer, low, value, high in _ranges(record):
        if value is None:
            continue
        reversed_range = low is not None and high is not None and low > high
        outside = (low is not None and value < low) or (high is not None and value > high)
        if outside and not reversed_range:
            yield Problem(
                f"{pointer}/value", f"{value:f} is outside of its range {low} to {high}: correct one of them"
            )


@rule("U007", "result-without-figure")
def result_without_figure(record: Benchmark) -> Iterator[Problem]:
    """Flag a result that has neither a value nor a range.

    Bad:
        results:
          - {id: decode-prose-1, metric: tok_s_per_user, as_published: very fast, repeats: 3,
             at: {concurrency: 1, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        results:
          - {id: decode-prose-1, metric: tok_s_per_user, low: 92, high: 97, range_meaning: min_max, repeats: 3,
             as_published: 92-97, evidence: [{source: sources/base-source, locator: Table 3}],
             at: {concurrency: 1, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host}}
    """
    for index, result in enumerate(record.results):
        if result.value is None and (result.low is None or result.high is None):
            message = "no figure; expected `value`, or `low` and `high`: give it, or make it a claim instead"
            yield Problem(f"/results/{index}", message)


@rule("U008", "latency-without-statistic", severity="warning")
def latency_without_statistic(record: Benchmark) -> Iterator[Problem]:
    """Flag a latency under load that does not say which statistic it is.

    Under load, mean and p99 of one run differ by factors. A range says by `range_meaning` what it is, and a
    single user's latency hardly spreads.

    Bad:
        results:
          - {id: decode-prose-1, metric: tpot_ms, value: 12.5, as_published: 12.5 ms, repeats: 3,
             at: {concurrency: 16, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        results:
          - {id: decode-prose-1, metric: tpot_ms, value: 12.5, as_published: 12.5 ms, repeats: 3, statistic: p50,
             at: {concurrency: 16, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    for index, result in enumerate(record.results):
        if result.statistic is None and result.value is not None and result.metric.endswith("_ms"):
            loaded = result.at.request_rate_req_s is not None or (result.at.concurrency or 1) > 1
            if loaded and not is_listed(record, "results.statistic"):
                message = (
                    "a latency under load without statistic; expected mean, p50, p99 or another: say which, or list "
                    "results.statistic in `omitted_by_source`"
                )
                yield Problem(f"/results/{index}", message)


@rule("U009", "range-without-meaning", severity="warning")
def range_without_meaning(record: Benchmark) -> Iterator[Problem]:
    """Flag a range that does not say what its ends are.

    Smallest and largest of three runs are not a 95 % interval. Where the source does not say, `unspecified`
    says that.

    Bad:
        results:
          - {id: decode-prose-1, metric: tok_s_per_user, low: 92, high: 97, as_published: 92-97, repeats: 3,
             at: {concurrency: 1, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        results:
          - {id: decode-prose-1, metric: tok_s_per_user, low: 92, high: 97, range_meaning: unspecified, repeats: 3,
             as_published: 92-97, evidence: [{source: sources/base-source, locator: Table 3}],
             at: {concurrency: 1, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host}}
    """
    for index, result in enumerate(record.results):
        if result.low is not None and result.high is not None and result.range_meaning is None:
            message = "a range without `range_meaning`: say what its ends are, or `unspecified` where the source does not"
            yield Problem(f"/results/{index}", message)


@rule("U010", "spread-in-per-cent")
def spread_in_per_cent(record: Benchmark) -> Iterator[Problem]:
    """Flag a relative difference above 1, which is one in per cent.

    Bad:
        results:
          - {id: decode-prose-1, metric: tok_s_per_user, value: 93.9, as_published: 93.9 tok/s, repeats: 2,
             spread: {kind: relative_difference, value: 1.3},
             at: {concurrency: 1, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        results:
          - {id: decode-prose-1, metric: tok_s_per_user, value: 93.9, as_published: 93.9 tok/s, repeats: 2,
             spread: {kind: relative_difference, value: 0.013},
             at: {concurrency: 1, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    for index, result in enumerate(record.results):
        spread = result.spread
        if spread is not None and spread.kind == "relative_difference" and abs(spread.value) > 1:
            message = f"a relative difference of {spread.value}; expected a share: write per cent as {spread.value / 100}"
            yield Problem(f"/results/{index}/spread/value", message)


@corpus_rule("U011", "date-in-the-future", partial=True)
def date_in_the_future(facts: Facts) -> Iterator[CorpusProblem]:
    """Flag a day that has not come yet, for something that has happened.

    Checked against the day that is given (`--as-of`), one day being allowed for time zones. Without one, a green
    repository stays green tomorrow: only days beyond this century are flagged.

    Bad:
        updated: "2999-01-01"

    Good:
        updated: "2026-09-21"
    """
    limit = _END_OF_CENTURY if facts.as_of is None else (facts.as_of + timedelta(days=1)).isoformat()
    for ref, record in facts.records.items():
        if record.latest_date > limit:
            message = f"{record.latest_date} is after {facts.as_of or _END_OF_CENTURY}: correct the day"
            yield CorpusProblem(ref, record.latest_date_at, message)


def _ranges(
    record: Benchmark | Accelerator | Interconnect | Engine | Model,
) -> Iterator[tuple[str, Decimal | None, Decimal | None, Decimal | None]]:
    """Yield pointer, low, value and high of everything that has a range."""
    if isinstance(record, Benchmark):
        for index, result in enumerate(record.results):
            if result.low is not None or result.high is not None:
                yield f"/results/{index}", result.low, result.value, result.high
        return
    for pointer, figure in parts(record, Figure):
        if figure.low is not None or figure.high is not None:
            yield pointer, figure.low, figure.value, figure.high


def _unknown(at: str, metric: str) -> Problem:
    meant = _LOOSE_WORDS.get(re.sub(r"[^a-z]", "", metric.casefold()))
    if meant:
        return Problem(
            at, f"`{metric}` says neither whose nor which tokens; expected {meant}: choose by the formula"
        )
    near = nearest(metric, METRICS)
    hint = (
        f": did you mean `{near}`?"
        if near
        else f"; expected one of {', '.join(METRICS)}: choose by the formula, as `kbtool explain METRIC` gives it"
    )
    return Problem(at, f"there is no metric `{metric}`{hint}", suggestion=near)


_SPEEDS: Final = "`output_tok_s` (of all users), `tok_s_per_user` (of one), `total_tok_s` (input too) or `prefill_tok_s` (input alone)"
_LATENCIES: Final = (
    "`ttft_ms` (to the first token), `tpot_ms` (a token), `e2el_ms` (the whole request) or `itl_ms`"
)
_LOOSE_WORDS: Final = {
    **dict.fromkeys(
        ("throughput", "tps", "toks", "ts", "tokenspersecond", "tokenpersecond", "toksec", "speed"), _SPEEDS
    ),
    **dict.fromkeys(("latency", "delay", "responsetime"), _LATENCIES),
}
"""Words of sources that stand for more than one metric."""
