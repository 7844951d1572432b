"""Rules about prefill and caches: a speed of reading is one of reading, and not of remembering."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final

from kbtool.lint.rule import Problem, rule
from kbtool.schema import Benchmark
from kbtool.vocab.metrics import METRICS

_SUSPICIOUS: Final = 3
"""Prefill speeds of one length on one setup differ by tens of per cent; a cache hit multiplies them."""


@rule("C004", "prefill-not-cold")
def prefill_not_cold(record: Benchmark) -> Iterator[Problem]:
    """Flag a prefill speed on a cache that held the prompt.

    The metric times the reading of a prompt. A warm cache skips what it seems to time, and the speed has no
    bound. Report such a case as TTFT with `prefix_cache: warm`. A figure that stands as withdrawn is left alone.

    Bad:
        results:
          - {id: decode-prose-1, metric: prefill_tok_s, value: 90000, as_published: "90,000", repeats: 3,
             at: {concurrency: 1, input_tok: 32768, prefix_cache: warm, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        results:
          - {id: decode-prose-1, metric: prefill_tok_s, value: 7196, as_published: "7,196", repeats: 3,
             at: {concurrency: 1, input_tok: 32768, prefix_cache: "off", measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    for index, result in enumerate(record.results):
        state = result.at.prefix_cache
        if result.standing == "withdrawn" or result.metric != "prefill_tok_s":
            continue
        if state not in (None, "cold", "unproven", "off"):
            message = (
                f"a prefill speed on a {state} cache; expected cold or off: report it as ttft_ms instead"
            )
            yield Problem(f"/results/{index}/at/prefix_cache", message)


@rule("C005", "prefill-under-load")
def prefill_under_load(record: Benchmark) -> Iterator[Problem]:
    """Flag a prefill speed of more than one request.

    Under load, TTFT holds the queue. The input tokens of all requests over wall time are `input_tok_s`.

    Bad:
        results:
          - {id: decode-prose-1, metric: prefill_tok_s, value: 7196, as_published: "7,196", repeats: 3,
             at: {concurrency: 8, input_tok: 32768, prefix_cache: "off", measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        results:
          - {id: decode-prose-1, metric: input_tok_s, value: 7196, as_published: "7,196", repeats: 3,
             at: {concurrency: 8, input_tok: 32768, output_tok: 1, prompt_class: prose, prefix_cache: "off",
                  measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    for index, result in enumerate(record.results):
        if result.metric == "prefill_tok_s" and (result.at.concurrency or 1) > 1:
            message = (
                f"a prefill speed at concurrency {result.at.concurrency}; expected 1: take `input_tok_s`"
            )
            yield Problem(f"/results/{index}/at/concurrency", message)


@rule("C006", "prefill-looks-cached", severity="warning")
def prefill_looks_cached(record: Benchmark) -> Iterator[Problem]:
    """Flag a cold prefill speed far above another cold one of the same length and settings.

    Published "cold" figures were later withdrawn as cache hits by their own author. Three times the speed on
    the same machine is not spread.

    Bad:
        results:
          - {id: decode-prose-1, metric: prefill_tok_s, value: 6853, as_published: "6,853", repeats: 3,
             at: {concurrency: 1, input_tok: 32768, prefix_cache: cold, cache_proof: [label_only], measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
          - {id: again, metric: prefill_tok_s, value: 68530, as_published: "68,530", repeats: 3, repeat_of: decode-prose-1,
             at: {concurrency: 1, input_tok: 32768, prefix_cache: cold, cache_proof: [label_only], measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        results:
          - {id: decode-prose-1, metric: prefill_tok_s, value: 6853, as_published: "6,853", repeats: 3,
             at: {concurrency: 1, input_tok: 32768, prefix_cache: cold, cache_proof: [label_only], measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
          - {id: again, metric: prefill_tok_s, value: 6765, as_published: "6,765", repeats: 3, repeat_of: decode-prose-1,
             at: {concurrency: 1, input_tok: 32768, prefix_cache: cold, cache_proof: [label_only], measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    cold: dict[Any, list[tuple[Decimal, int]]] = {}
    for index, result in enumerate(record.results):
        at = result.at
        if result.metric == "prefill_tok_s" and at.prefix_cache == "cold" and result.value:
            settings = tuple((each.field, each.value) for each in result.with_)
            key = (at.input_tok or at.input_nominal, at.depth_tok, at.accelerators, settings)
            cold.setdefault(key, []).append((result.value, index))
    for found in cold.values():
        (slowest, first), (fastest, last) = min(found), max(found)
        if fastest > _SUSPICIOUS * slowest:
            message = (
                f"{fastest} tok/s, but {record.results[first].id} reads {slowest} under the same settings: "
                "look for a cache hit, and for the count of cached tokens"
            )
            yield Problem(f"/results/{last}/value", message)


@rule("C007", "cold-without-proof", severity="warning")
def cold_without_proof(record: Benchmark) -> Iterator[Problem]:
    """Flag a cold cache without a word on what shows it.

    Where the source only says "cold", `cache_proof: [label_only]` says that.

    Bad:
        results:
          - {id: decode-prose-1, metric: prefill_tok_s, value: 6853, as_published: "6,853", repeats: 3,
             at: {concurrency: 1, input_tok: 32768, prefix_cache: cold, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        results:
          - {id: decode-prose-1, metric: prefill_tok_s, value: 6853, as_published: "6,853", repeats: 3,
             at: {concurrency: 1, input_tok: 32768, prefix_cache: cold, cache_proof: [label_only], measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    for index, result in enumerate(record.results):
        if result.at.prefix_cache == "cold" and not result.at.cache_proof:
            message = (
                "a cold cache without proof: add `cache_proof`, or [label_only] where the source only says so"
            )
            yield Problem(f"/results/{index}/at/prefix_cache", message)


@rule("C017", "depth-of-generation")
def depth_of_generation(record: Benchmark) -> Iterator[Problem]:
    """Flag a context that stands apart from the input where the figure is one of generation.

    Each token is generated from the whole context, whenever that was read: it is the input. Reading is another matter: 512 tokens
    behind 4,096 cost what 512 do and what looking back costs, and are no prompt of 4,608. `depth_tok` is for that alone.

    Bad:
        results:
          - {id: decode-prose-1, metric: tok_s_per_user, value: 53.95, as_published: "53.95", repeats: 5,
             at: {concurrency: 1, input_tok: 512, depth_tok: 4096, output_tok: 32, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        results:
          - {id: decode-prose-1, metric: tok_s_per_user, value: 53.95, as_published: "53.95", repeats: 5,
             at: {concurrency: 1, input_tok: 4608, output_tok: 32, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
          - {id: behind-4096, metric: prefill_tok_s, value: 1200, as_published: "1200", repeats: 5,
             at: {concurrency: 1, input_tok: 512, depth_tok: 4096, prefix_cache: "off", measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    for index, result in enumerate(record.results):
        depth, metric = result.at.depth_tok, METRICS.get(result.metric)
        if depth is None or metric is None or metric.tokens == "input" or metric.id == "ttft_ms":
            continue
        message = (
            f"{depth:,} tokens stand apart from the input of a figure in {metric.title.lower()}; expected them in "
            "`input_tok`, which generation starts from: `depth_tok` is for speeds of reading behind them"
        )
        yield Problem(f"/results/{index}/at/depth_tok", message)
