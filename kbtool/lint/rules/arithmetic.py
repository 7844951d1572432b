"""Rules about figures beside figures: what was measured together has to add up."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from kbtool.analysis.consistency import (
    SHARED_SPEED_SLACK,
    conditions,
    falling_percentiles,
    figures_by_conditions,
)
from kbtool.analysis.normalise import accelerators_serving
from kbtool.analysis.published import agree, agrees_when_rounded
from kbtool.analysis.settings import in_force
from kbtool.lint.lookup import Lookup
from kbtool.lint.rule import Problem, rule
from kbtool.schema import Benchmark
from kbtool.schema.refs import split
from kbtool.vocab.terms import CENTRES

_CENTRAL: Final = (None, "single", *CENTRES)
"""Statistics between which 1000 / TPOT holds well enough; the slowest per cent of one is the fastest of the other."""
_CLOSE: Final = Decimal("0.1")
"""The mean of 1/x is not 1 / the mean of x, and outputs end early: such sums hold to about 10 %."""
_NEAR: Final = Decimal("0.02")


@rule("U101", "percentiles-out-of-order")
def percentiles_out_of_order(record: Benchmark) -> Iterator[Problem]:
    """Flag percentiles of one metric that fall where they can only rise.

    min <= p50 <= p90 <= p95 <= p99 <= max holds for any distribution, a mean lies between minimum and maximum, and no mean is
    above the peak: two columns were exchanged, the figures come from two runs, or the peak counts chunks and the mean tokens.

    Bad:
        results:
          - {id: decode-prose-1, metric: e2el_ms, value: 900, statistic: p50, as_published: 900 ms, repeats: 3,
             at: {concurrency: 8, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
          - {id: slowest, metric: e2el_ms, value: 100, statistic: p99, as_published: 100 ms, repeats: 3,
             at: {concurrency: 8, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        results:
          - {id: decode-prose-1, metric: e2el_ms, value: 100, statistic: p50, as_published: 100 ms, repeats: 3,
             at: {concurrency: 8, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
          - {id: slowest, metric: e2el_ms, value: 900, statistic: p99, as_published: 900 ms, repeats: 3,
             at: {concurrency: 8, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    if len({each.statistic for each in record.results}) < 2:
        return
    results = record.results
    for lower, upper in falling_percentiles(results):
        low, high = results[lower], results[upper]
        message = (
            f"{high.metric} has {low.statistic} {low.value} and {high.statistic} {high.value} under the same "
            "conditions, but cannot fall: correct the one that the source contradicts"
        )
        yield Problem(f"/results/{upper}/value", message)


@rule("U102", "first-token-after-last")
def first_token_after_last(record: Benchmark) -> Iterator[Problem]:
    """Flag a time to first token above the end-to-end latency of the same requests.

    The last byte cannot come before the first: the two come from different runs, or one has another unit.

    Bad:
        results:
          - {id: decode-prose-1, metric: e2el_ms, value: 400, statistic: mean, as_published: 400 ms, repeats: 3,
             at: {concurrency: 1, input_tok: 1024, output_tok: 512, prompt_class: prose, prefix_cache: cold,
                  cache_proof: [unique_prompt], measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
          - {id: first, metric: ttft_ms, value: 5000, statistic: mean, as_published: 5000 ms, repeats: 3,
             at: {concurrency: 1, input_tok: 1024, output_tok: 512, prompt_class: prose, prefix_cache: cold,
                  cache_proof: [unique_prompt], measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        results:
          - {id: decode-prose-1, metric: e2el_ms, value: 5000, statistic: mean, as_published: 5000 ms, repeats: 3,
             at: {concurrency: 1, input_tok: 1024, output_tok: 512, prompt_class: prose, prefix_cache: cold,
                  cache_proof: [unique_prompt], measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
          - {id: first, metric: ttft_ms, value: 400, statistic: mean, as_published: 400 ms, repeats: 3,
             at: {concurrency: 1, input_tok: 1024, output_tok: 512, prompt_class: prose, prefix_cache: cold,
                  cache_proof: [unique_prompt], measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    for first, whole in _pairs(record, "ttft_ms", "e2el_ms"):
        ttft, e2el = _value(record, first), _value(record, whole)
        if ttft > e2el:
            message = f"TTFT is {ttft} ms, but the whole request takes {e2el} ms: correct the one with the other unit"
            yield Problem(f"/results/{first}/value", message)


@rule("U103", "speed-not-the-inverse", severity="warning")
def speed_not_the_inverse(record: Benchmark) -> Iterator[Problem]:
    """Flag a speed per user that is not 1000 / TPOT under the same conditions.

    The two are one measurement in two units. Where they differ, the TPOT often holds the prefill (E2EL /
    OSL), or the speed is system throughput divided by concurrency.

    Bad:
        results:
          - {id: decode-prose-1, metric: tok_s_per_user, value: 50, statistic: mean, as_published: 50 tok/s, repeats: 3,
             at: {concurrency: 1, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
          - {id: tpot, metric: tpot_ms, value: 10, statistic: mean, as_published: 10 ms, repeats: 3,
             at: {concurrency: 1, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        results:
          - {id: decode-prose-1, metric: tok_s_per_user, value: 100, statistic: mean, as_published: 100 tok/s,
             at: {concurrency: 1, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}], repeats: 3}
          - {id: tpot, metric: tpot_ms, value: 10, statistic: mean, as_published: 10 ms, repeats: 3,
             at: {concurrency: 1, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    for fast, slow in _pairs(record, "tok_s_per_user", "tpot_ms", _CENTRAL):
        speed, tpot = _value(record, fast), _value(record, slow)
        if tpot and not agree(speed, 1000 / tpot, _CLOSE):
            message = f"{speed} tok/s, but 1000 / {tpot} ms is {1000 / tpot:.1f}: check which of the two is per user"
            yield Problem(f"/results/{fast}/value", message)


@rule("U104", "latency-not-the-sum", severity="warning")
def latency_not_the_sum(record: Benchmark) -> Iterator[Problem]:
    """Flag an end-to-end latency that is not TTFT + (OSL - 1) x TPOT.

    TPOT is defined by this sum. A difference of more than 10 % says that a tool counts chunks as tokens, or
    that one of the figures is from another run.

    Bad:
        results:
          - {id: decode-prose-1, metric: e2el_ms, value: 9000, statistic: mean, as_published: 9000 ms, repeats: 3,
             at: {concurrency: 1, input_tok: 1024, output_tok: 101, prompt_class: prose, prefix_cache: cold,
                  cache_proof: [unique_prompt], measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
          - {id: ttft, metric: ttft_ms, value: 500, statistic: mean, as_published: 500 ms, repeats: 3,
             at: {concurrency: 1, input_tok: 1024, output_tok: 101, prompt_class: prose, prefix_cache: cold,
                  cache_proof: [unique_prompt], measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
          - {id: tpot, metric: tpot_ms, value: 10, statistic: mean, as_published: 10 ms, repeats: 3,
             at: {concurrency: 1, input_tok: 1024, output_tok: 101, prompt_class: prose, prefix_cache: cold,
                  cache_proof: [unique_prompt], measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        results:
          - {id: decode-prose-1, metric: e2el_ms, value: 1500, statistic: mean, as_published: 1500 ms, repeats: 3,
             at: {concurrency: 1, input_tok: 1024, output_tok: 101, prompt_class: prose, prefix_cache: cold,
                  cache_proof: [unique_prompt], measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
          - {id: ttft, metric: ttft_ms, value: 500, statistic: mean, as_published: 500 ms, repeats: 3,
             at: {concurrency: 1, input_tok: 1024, output_tok: 101, prompt_class: prose, prefix_cache: cold,
                  cache_proof: [unique_prompt], measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
          - {id: tpot, metric: tpot_ms, value: 10, statistic: mean, as_published: 10 ms, repeats: 3,
             at: {concurrency: 1, input_tok: 1024, output_tok: 101, prompt_class: prose, prefix_cache: cold,
                  cache_proof: [unique_prompt], measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    for first, whole in _pairs(record, "ttft_ms", "e2el_ms", ("mean",)):
        osl = record.results[whole].at.output_tok
        for other, each in _pairs(record, "tpot_ms", "e2el_ms", ("mean",)):
            if each != whole or osl is None:
                continue
            total = _value(record, first) + (osl - 1) * _value(record, other)
            e2el = _value(record, whole)
            if not agree(e2el, total, _CLOSE):
                message = f"E2EL is {e2el} ms, but TTFT + (OSL - 1) x TPOT is {total} ms: check that one run gave them all"
                yield Problem(f"/results/{whole}/value", message)


@rule("U105", "total-below-output")
def total_below_output(record: Benchmark) -> Iterator[Problem]:
    """Flag a total throughput below the output throughput that it contains.

    Total counts input and output tokens; the two were exchanged, or one of them is a share.

    Bad:
        results:
          - {id: decode-prose-1, metric: output_tok_s, value: 900, as_published: 900 tok/s, repeats: 3,
             at: {concurrency: 32, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
          - {id: total, metric: total_tok_s, value: 300, as_published: 300 tok/s, repeats: 3,
             at: {concurrency: 32, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        results:
          - {id: decode-prose-1, metric: output_tok_s, value: 300, as_published: 300 tok/s, repeats: 3,
             at: {concurrency: 32, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
          - {id: total, metric: total_tok_s, value: 900, as_published: 900 tok/s, repeats: 3,
             at: {concurrency: 32, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    for total, output in _pairs(record, "total_tok_s", "output_tok_s"):
        if _value(record, total) < _value(record, output):
            message = f"total is {_value(record, total)}, but output alone is {_value(record, output)}: exchange the two"
            yield Problem(f"/results/{total}/value", message)


@rule("U106", "share-not-the-quotient", severity="warning")
def share_not_the_quotient(record: Benchmark) -> Iterator[Problem]:
    """Flag a throughput per accelerator that is not the system's divided by the accelerators.

    The denominator decides every comparison of machines. Dividing by decode accelerators alone flatters a
    disaggregated system.

    Bad:
        results:
          - {id: decode-prose-1, metric: output_tok_s, value: 900, as_published: 900 tok/s, repeats: 3,
             at: {concurrency: 32, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
          - {id: each, metric: tok_s_per_accelerator, value: 900, as_published: 900 tok/s, repeats: 3,
             at: {concurrency: 32, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        results:
          - {id: decode-prose-1, metric: output_tok_s, value: 900, as_published: 900 tok/s, repeats: 3,
             at: {concurrency: 32, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
          - {id: each, metric: tok_s_per_accelerator, value: 450, as_published: 450 tok/s, repeats: 3,
             at: {concurrency: 32, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    shares = [
        *_pairs(record, "tok_s_per_accelerator", "output_tok_s"),
        *_pairs(record, "total_tok_s_per_accelerator", "total_tok_s"),
    ]
    for each, whole in shares:
        setup = in_force(record, record.results[whole])
        count, decode = (
            accelerators_serving(setup, record.results[whole]),
            setup.deployment.decode_accelerators,
        )
        if count is None or agree(_value(record, each), _value(record, whole) / count, _NEAR):
            continue
        total = _value(record, whole)
        message = f"{_value(record, each)} each, but {total} / {count} is {total / count:.1f}: say by how many it was divided"
        if decode and agree(_value(record, each), total / decode, _NEAR):
            message = (
                f"{_value(record, each)} each is {total} / {decode}, those that decode alone; all {count} share it, "
                f"{total / count:.1f} each: correct it, or say `accelerators: {decode}` in its `at`"
            )
        yield Problem(f"/results/{each}/value", message)


@rule("U107", "batch-faster-than-one", severity="warning")
def batch_faster_than_one(record: Benchmark) -> Iterator[Problem]:
    """Flag an output throughput that gives each of many users more than a lone user gets.

    Requests share the accelerators, so that throughput / concurrency stays below the speed of a lone user; 10
    % is left for the spread between runs. Above it, the total counts input tokens, or the concurrency is
    another.

    Bad:
        results:
          - {id: decode-prose-1, metric: tok_s_per_user, value: 50, as_published: 50 tok/s, repeats: 3,
             at: {concurrency: 1, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
          - {id: box, metric: output_tok_s, value: 900, as_published: 900 tok/s, repeats: 3,
             at: {concurrency: 8, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        results:
          - {id: decode-prose-1, metric: tok_s_per_user, value: 50, as_published: 50 tok/s, repeats: 3,
             at: {concurrency: 1, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
          - {id: box, metric: output_tok_s, value: 300, as_published: 300 tok/s, repeats: 3,
             at: {concurrency: 8, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    metrics = {each.metric for each in record.results}
    if not {"tok_s_per_user", "output_tok_s"} <= metrics:
        return
    lone = {
        conditions(each, load=False): each.value
        for each in record.results
        if each.metric == "tok_s_per_user"
        and each.at.concurrency == 1
        and each.value
        and each.standing == "stands"
    }
    for index, result in enumerate(record.results):
        alone = lone.get(conditions(result, load=False)) if result.metric == "output_tok_s" else None
        users = result.at.concurrency
        if alone is None or users is None or result.value is None:
            continue
        if result.value / users > alone * SHARED_SPEED_SLACK:
            message = (
                f"{result.value} tok/s for {users} users is {result.value / users:.1f} each, but a lone user gets {alone}: "
                "check concurrency and which tokens count"
            )
            yield Problem(f"/results/{index}/value", message)


@rule("U108", "tokens-not-requests-times-length", severity="warning")
def tokens_not_requests_times_length(record: Benchmark) -> Iterator[Problem]:
    """Flag an output throughput above requests a second times output tokens a request.

    Outputs may end early, so that it can be less; more cannot come out.

    Bad:
        results:
          - {id: decode-prose-1, metric: output_tok_s, value: 900, as_published: 900 tok/s, repeats: 3,
             at: {concurrency: 32, input_tok: 1024, output_tok: 100, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
          - {id: requests, metric: req_s, value: 3, as_published: 3 req/s,
             at: {concurrency: 32, input_tok: 1024, output_tok: 100, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        results:
          - {id: decode-prose-1, metric: output_tok_s, value: 300, as_published: 300 tok/s, repeats: 3,
             at: {concurrency: 32, input_tok: 1024, output_tok: 100, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
          - {id: requests, metric: req_s, value: 3, as_published: 3 req/s,
             at: {concurrency: 32, input_tok: 1024, output_tok: 100, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    for tokens, requests in _pairs(record, "output_tok_s", "req_s"):
        length = record.results[tokens].at.output_tok
        if length is None:
            continue
        most = _value(record, requests) * length
        if _value(record, tokens) > most * (1 + _CLOSE):
            message = f"{_value(record, tokens)} tok/s, but {_value(record, requests)} req/s x {length} tok is {most}: check both"
            yield Problem(f"/results/{tokens}/value", message)


@rule("U109", "ratio-not-recomputed", severity="warning")
def ratio_not_recomputed(record: Benchmark, refs: Lookup) -> Iterator[Problem]:
    """Flag a ratio that its own two parts do not give.

    `derivation.inputs` names numerator and denominator, in this order. A source may round or cut off its
    last digit; more is an error of the source, which is worth a claim, or of the record.

    Bad:
        results:
          - {id: decode-prose-1, metric: throughput_ratio, value: 7.8, as_published: 7.8x, at: {concurrency: 32, baseline: b},
             derivation: {formula: a / b, inputs: [a, b]}, basis: derived,
             evidence: [{source: sources/base-source, locator: Table 3}]}
          - {id: a, metric: req_s, value: 900, as_published: "900", at: {concurrency: 32, input_tok: 1, output_tok: 1,
             prompt_class: prose}, evidence: [{source: sources/base-source, locator: Table 3}]}
          - {id: b, metric: req_s, value: 100, as_published: "100", at: {concurrency: 16, input_tok: 1, output_tok: 1,
             prompt_class: prose}, evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        results:
          - {id: decode-prose-1, metric: throughput_ratio, value: 9.0, as_published: 9.0x, at: {concurrency: 32, baseline: b},
             derivation: {formula: a / b, inputs: [a, b]}, basis: derived,
             evidence: [{source: sources/base-source, locator: Table 3}]}
          - {id: a, metric: req_s, value: 900, as_published: "900", at: {concurrency: 32, input_tok: 1, output_tok: 1,
             prompt_class: prose}, evidence: [{source: sources/base-source, locator: Table 3}]}
          - {id: b, metric: req_s, value: 100, as_published: "100", at: {concurrency: 16, input_tok: 1, output_tok: 1,
             prompt_class: prose}, evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    for index, result in enumerate(record.results):
        derivation = result.derivation
        if derivation is None or result.value is None or not result.metric.endswith("_ratio"):
            continue
        inputs = [_input(record, refs, each) for each in derivation.inputs]
        if len(inputs) != 2 or inputs[0] is None or not inputs[1]:
            continue
        quotient = inputs[0] / inputs[1]
        if not agrees_when_rounded(result.value, quotient):
            message = f"{result.value} is stated, but {inputs[0]} / {inputs[1]} is {quotient:.3f}: correct it, or its inputs"
            yield Problem(f"/results/{index}/value", message)


def _pairs(
    record: Benchmark, metric: str, other: str, statistics: tuple[str | None, ...] | None = None
) -> Iterator[tuple[int, int]]:
    """Yield the results of two metrics under equal conditions and of one statistic, by index."""
    metrics = {each.metric for each in record.results}
    if metric not in metrics or other not in metrics:
        return
    for group in figures_by_conditions(record.results):
        for (name, statistic), index in group.items():
            if name == metric and (statistics is None or statistic in statistics):
                partner = group.get((other, statistic))
                if partner is not None:
                    yield index, partner


def _value(record: Benchmark, index: int) -> Decimal:
    value = record.results[index].value
    assert value is not None, "figures_by_conditions gives results with a value"
    return value


def _input(record: Benchmark, refs: Lookup, name: str) -> Decimal | None:
    """Return the value of a result of this record (`a`) or of another one (`benchmarks/x#a`)."""
    holder: Benchmark | None = record
    if name.startswith("benchmarks/"):
        holder, name = refs.get(name, Benchmark), split(name)[2]
    return next((each.value for each in holder.results if each.id == name), None) if holder else None
