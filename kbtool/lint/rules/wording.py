"""Rules about the words beside a figure: what a source calls it is what its fields say it is."""

import re
from collections.abc import Iterator
from typing import Final

from kbtool.analysis.normalise import accelerators_serving
from kbtool.analysis.parts import parts
from kbtool.analysis.settings import in_force
from kbtool.lint.rule import Problem, rule
from kbtool.schema import Accelerator, Benchmark, Engine, Interconnect, Model
from kbtool.schema.benchmark import Result
from kbtool.schema.common import Fact
from kbtool.vocab.metrics import METRICS

_RATES: Final = frozenset({"tok/s", "req/s", "samples/s", "W"})
"""Units of what belongs to somebody; `ms` of `143 ms/request` is nobody's share."""
_OF: Final = r"(?:/\s?|\bper[ -]|\bevery )"
_PARTS: Final = {
    "accelerator": re.compile(rf"{_OF}(?:gpu|accelerator|chip|card|npu|tpu|device)\b", re.IGNORECASE),
    "user": re.compile(rf"{_OF}(?:user|stream|session)\b", re.IGNORECASE),
    "instance": re.compile(rf"{_OF}(?:instance|replica|pod)\b", re.IGNORECASE),
    "node": re.compile(rf"{_OF}(?:node|host|server|machine)\b", re.IGNORECASE),
}
_METRICS_OF: Final = {
    "accelerator": "`tok_s_per_accelerator` or another metric per accelerator",
    "user": "`tok_s_per_user`",
    "instance": "`output_tok_s_per_instance`",
    "node": "`at.accelerators` with those of one node",
}
_TOKENS: Final = {
    "output": re.compile(r"\b(?:output|generated|generation|decode)[ -]tok", re.IGNORECASE),
    "input": re.compile(r"\b(?:input|prompt|prefill)[ -]tok", re.IGNORECASE),
    "input_and_output": re.compile(
        r"\b(?:total|combined)[ -]tok"
        r"|\b(?:input|prompt|prefill|in)\s?(?:\+|&|and)\s?(?:output|generated|generation|decode|out)\b",
        re.IGNORECASE,
    ),
}
_COUNTS: Final = {"output": "output", "input": "input", "input_and_output": "input and output"}
_PERCENTILE: Final = re.compile(
    r"(?<![a-z0-9])p(50|90|95|99)(?![0-9]|\.[0-9])|\b(50|90|95|99)(?:\.0+)?(?:th)?[ -]percentile"
)
_OTHER_STATISTIC: Final = {
    "mean": ("mean", "average", "avg"), "single": ("single", "one run"), "min": ("min",), "max": ("max",), "peak": ("peak",),
    "median": ("median",),
}  # fmt: skip
"""Statistics that are no percentile -> the words for them; a table may hold both."""
_START: Final = re.compile(
    r"\b(?:since|starting with|introduced in)\s+(?:version\s+)?(v?\d[\w.-]*\w)", re.IGNORECASE
)


@rule("P107", "scope-not-as-published")
def scope_not_as_published(record: Benchmark) -> Iterator[Problem]:
    """Flag a rate whose source prints it per accelerator, user, instance or node, or for other tokens, while its metric does not.

    A figure of one node read as that of the system is too low by the number of nodes, and a total of input and output read as
    output too high by the length of the prompts. One node is the system where `system.nodes` is 1; else `at.accelerators` says
    how many it has.

    Bad:
        system: {nodes: 2}
        results:
          - {id: decode-prose-1, metric: output_tok_s, value: 2282, as_published: "2,282 tok/s per node", repeats: 3,
             at: {concurrency: 32, input_tok: 2048, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        system: {nodes: 2}
        results:
          - {id: decode-prose-1, metric: output_tok_s, value: 2282, as_published: "2,282 tok/s per node", repeats: 3,
             at: {concurrency: 32, input_tok: 2048, output_tok: 512, prompt_class: prose, measuring_path: on_host, accelerators: 1},
             evidence: [{source: sources/base-source, locator: Table 3}]}

    Bad:
        results:
          - {id: decode-prose-1, metric: output_tok_s, value: 900, as_published: "900 total tokens/s", repeats: 3,
             at: {concurrency: 32, input_tok: 2048, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        results:
          - {id: decode-prose-1, metric: total_tok_s, value: 900, as_published: "900 total tokens/s", repeats: 3,
             at: {concurrency: 32, input_tok: 2048, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    for index, result in enumerate(record.results):
        metric = METRICS.get(result.metric)
        if metric is None or metric.unit not in _RATES or result.basis != "stated":
            continue
        text = result.as_published
        for part, words in _PARTS.items():
            found = words.search(text)
            if found and not _is_part(record, result, part):
                message = (
                    f"the source prints {text!r}, but {result.metric} is of the whole {metric.scope}: "
                    f"take {_METRICS_OF[part]}"
                )
                yield Problem(f"/results/{index}/metric", message)
        counted = [tokens for tokens, words in _TOKENS.items() if words.search(text)]
        if len(counted) == 1 and metric.tokens in _COUNTS and metric.tokens != counted[0]:
            message = (
                f"the source prints {text!r}, but {result.metric} counts {_COUNTS[metric.tokens]} tokens: "
                f"take the metric that counts {_COUNTS[counted[0]]} tokens"
            )
            yield Problem(f"/results/{index}/metric", message)


@rule("P108", "statistic-not-as-published")
def statistic_not_as_published(record: Benchmark) -> Iterator[Problem]:
    """Flag a statistic that is not the percentile which the source names.

    A p99 under the name of p90 makes a system look much worse in the tail than it is, or another one much better; nothing but
    the source's own words shows it.

    Bad:
        results:
          - {id: decode-prose-1, metric: ttft_ms, value: 900, as_published: 900 ms (P99), statistic: p90, repeats: 3,
             at: {concurrency: 32, input_tok: 1024, output_tok: 512, prompt_class: prose, prefix_cache: cold,
                  cache_proof: [unique_prompt], measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        results:
          - {id: decode-prose-1, metric: ttft_ms, value: 900, as_published: 900 ms (P99), statistic: p99, repeats: 3,
             at: {concurrency: 32, input_tok: 1024, output_tok: 512, prompt_class: prose, prefix_cache: cold,
                  cache_proof: [unique_prompt], measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    for index, result in enumerate(record.results):
        named = _percentiles_named(result)
        statistic = result.statistic
        if not named or statistic in named or (statistic == "median" and "p50" in named):
            continue
        own = _OTHER_STATISTIC.get(statistic or "", ())
        if any(word in text for word in own for text in _words(result)):
            continue
        given = statistic or "not given"
        message = f"the source names {' and '.join(named)}, but statistic is {given}: correct the one misread"
        yield Problem(f"/results/{index}/statistic" if statistic else f"/results/{index}", message)


@rule("P021", "start-not-in-source")
def start_not_in_source(record: Accelerator | Interconnect | Engine | Model) -> Iterator[Problem]:
    """Flag a fact that begins at a version or day of which its evidence does not speak.

    A page read today says what holds today. That something holds *since* a version, or since the day on which the page was
    read, is another statement, and needs words of the source that name the start: a release note, a tag, a change.

    Bad:
        engines/base-engine:
          features:
            - name: chunked-prefill
              fact:
                value: On by default since 1.10
                evidence: [{source: sources/base-source, locator: Section 4, quote: Chunked prefill is on by default.}]

    Good:
        engines/base-engine:
          features:
            - name: chunked-prefill
              fact:
                value: On by default
                evidence: [{source: sources/base-source, locator: Section 4, quote: Chunked prefill is on by default.}]
            - name: prefix-cache
              fact:
                value: On by default since 1.10
                evidence: [{source: sources/base-source, locator: "Release notes, section 1.10"}]
    """
    for pointer, fact in parts(record, Fact):
        told = " ".join(
            [fact.as_published or "", *(f"{each.locator} {each.quote}" for each in fact.evidence)]
        )
        for found in _START.finditer(fact.value):
            start = found[1].removeprefix("v").removeprefix("V")
            if not re.search(rf"(?<![\d.]){re.escape(start)}(?![\d]|\.\d)", told):
                message = (
                    f"{found[0]!r}, but no evidence names {found[1]}: say what holds in the source as read, or quote "
                    "the words that name the start"
                )
                yield Problem(f"{pointer}/value", message)


def _is_part(record: Benchmark, result: Result, part: str) -> bool:
    """Return whether a result is of one accelerator, user, instance or node: by its metric, by its conditions, or as there is one."""
    scope = METRICS[result.metric].scope
    if scope == part or (part == "user" and scope == "request"):
        return True
    setup = in_force(record, result)
    if part == "accelerator":
        return accelerators_serving(setup, result) == 1
    if part == "instance":
        return (result.at.instances or setup.deployment.instances) == 1
    if part == "node":
        return setup.system.nodes == 1 or result.at.accelerators is not None or scope == "instance"
    return result.at.concurrency == 1


def _percentiles_named(result: Result) -> list[str]:
    """Return the percentiles of the words nearest to a figure that name any: the figure's own, its quotes, its places."""
    quotes = [each.quote for each in result.evidence if each.quote is not None]
    for texts in ([result.as_published], quotes, [each.locator for each in result.evidence]):
        found = {f"p{one or other}" for text in texts for one, other in _PERCENTILE.findall(text.casefold())}
        if found:
            return sorted(found)
    return []


def _words(result: Result) -> list[str]:
    texts = [result.as_published]
    for each in result.evidence:
        texts += [each.locator, each.quote or ""]
    return [text.casefold() for text in texts]
