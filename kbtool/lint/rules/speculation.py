"""Rules about speculative decoding: what drafts can give, and what must stand beside a speed that they made."""

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from kbtool.analysis.completeness import is_listed
from kbtool.analysis.consistency import (
    acceptance_length_from_ratio,
    figures_by_conditions,
    graph_rows,
    longest_acceptance,
)
from kbtool.analysis.published import agree
from kbtool.analysis.settings import in_force
from kbtool.lint.rule import Problem, rule
from kbtool.schema import Benchmark
from kbtool.schema.benchmark import Speculation
from kbtool.vocab.warnings import WarningCode

_NEAR: Final = Decimal("0.02")
_FAR: Final = Decimal("0.15")
_FILLER: Final = ("random_tokens", "synthetic")
_MADE_BY_DRAFTS: Final = frozenset({"tok_s_per_user", "acceptance_length", "acceptance_ratio"})
_RAISED_BY_DRAFTS: Final = _MADE_BY_DRAFTS | {
    "e2el_ms", "icl_ms", "itl_ms", "output_tok_s", "output_tok_s_per_instance", "tok_s_per_accelerator", "total_tok_s", "tpot_ms",
}  # fmt: skip
_BY_DECREE: Final = re.compile(r"synthetic|simulated?[ _-]acc|forced[ _-]accept", re.IGNORECASE)


@rule("S001", "acceptance-length-impossible")
def acceptance_length_impossible(record: Benchmark) -> Iterator[Problem]:
    """Flag an acceptance length outside 1 to draft tokens + 1.

    A verify step gives at least the bonus token and at most every draft token with it. Outside, the draft
    tokens are other ones, or the engine's counter is another metric.

    Source: Leviathan et al., "Fast Inference from Transformers via Speculative Decoding", arXiv 2211.17192.

    Bad:
        speculation: {draft_tok: 1, acceptance_length: 2.5}

    Good:
        speculation: {draft_tok: 3, acceptance_length: 2.5}
    """
    speculation = record.speculation
    length = speculation.acceptance_length
    if length is not None:
        yield from _outside(length, longest_acceptance(speculation), "/speculation/acceptance_length")
    for index, result in enumerate(record.results):
        if result.metric == "acceptance_length" and result.value is not None:
            longest = longest_acceptance(in_force(record, result).speculation)
            yield from _outside(result.value, longest, f"/results/{index}/value")


@rule("S002", "verify-rows-unusual", severity="warning")
def verify_rows_unusual(record: Benchmark) -> Iterator[Problem]:
    """Flag verify rows that are not draft tokens + 1.

    Engines differ in what they call draft tokens: a setting that counts the bonus token in was entered as
    `draft_tok`. Trees verify more rows than they accept; then `speculation.as_published` says so.

    Bad:
        speculation: {draft_tok: 1, verify_rows: 8}

    Good:
        speculation: {draft_tok: 1, verify_rows: 2}
    """
    speculation = record.speculation
    rows, drafted = speculation.verify_rows, speculation.draft_tok
    if rows is not None and drafted is not None and rows != drafted + 1 and speculation.as_published is None:
        message = f"verify_rows is {rows}; expected draft_tok + 1, {drafted + 1}: correct one, or add `as_published`"
        yield Problem("/speculation/verify_rows", message)


@rule("S003", "drafts-without-method")
def drafts_without_method(record: Benchmark) -> Iterator[Problem]:
    """Flag draft settings in a run that is said not to speculate.

    Bad:
        speculation: {method: none, acceptance_length: null}

    Good:
        speculation: {method: none, draft_tok: null, acceptance_length: null}
    """
    speculation = record.speculation
    if speculation.method != "none":
        return
    longest = speculation.acceptance_length
    given = [
        name for name in ("draft_tok", "block_size", "verify_rows") if (getattr(speculation, name) or 0) > 1
    ]
    given += ["draft_tok"] if speculation.draft_tok == 1 else []
    given += ["acceptance_length"] if longest is not None and longest > 1 else []
    for name in given:
        yield Problem(
            f"/speculation/{name}", f"{name} is given, but method is none: name the method, or drop it"
        )


@rule("S004", "acceptance-given-twice", severity="warning")
def acceptance_given_twice(record: Benchmark) -> Iterator[Problem]:
    """Flag an acceptance length of the setup that no measured one agrees with.

    Bad:
        speculation: {acceptance_length: 1.7}
        results:
          - {id: decode-prose-1, metric: acceptance_length, value: 1.3, as_published: "1.3",
             at: {concurrency: 1, prompt_class: prose}, evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        speculation: {acceptance_length: 1.7}
        results:
          - {id: decode-prose-1, metric: acceptance_length, value: 1.7, as_published: "1.7",
             at: {concurrency: 1, prompt_class: prose}, evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    stated = record.speculation.acceptance_length
    if stated is None:
        return
    measured = [
        (index, each.value)
        for index, each in enumerate(record.results)
        if each.metric == "acceptance_length" and each.value is not None and not each.with_
    ]
    if measured and not any(agree(stated, value, _NEAR) for _, value in measured):
        index, value = measured[0]
        message = (
            f"the setup says {stated}, the result {value}: correct one, or leave the setup's to the results"
        )
        yield Problem(f"/results/{index}/value", message)


@rule("S005", "speed-without-prompt-class", severity="warning")
def speed_without_prompt_class(record: Benchmark) -> Iterator[Problem]:
    """Flag a speed made by drafts on prompts of which nothing is known.

    Acceptance depends on the text: one engine, one setting gave 94 tok/s on prose and 134 on JSON. Where the
    source does not say, `results.at.prompt_class` in `omitted_by_source` says that.

    Bad:
        results:
          - {id: decode-prose-1, metric: acceptance_ratio, value: 0.73, as_published: 73%, at: {concurrency: 1},
             evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        results:
          - {id: decode-prose-1, metric: acceptance_ratio, value: 0.73, as_published: 73%,
             at: {concurrency: 1, prompt_as_published: our agents}, evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    for index, result in enumerate(record.results):
        if result.metric not in ("acceptance_ratio", "acceptance_length"):
            continue  # for speeds the disclosure fields ask, with or without drafts
        at = result.at
        known = at.prompt_class is not None or at.prompt_as_published is not None
        if not known and not is_listed(record, "results.at.prompt_class"):
            message = (
                "an acceptance without prompt class: say on what text, or list it in `omitted_by_source`"
            )
            yield Problem(f"/results/{index}/at", message)


@rule("S006", "perfect-acceptance", severity="warning")
def perfect_acceptance(record: Benchmark) -> Iterator[Problem]:
    """Flag drafts of several tokens that were all accepted.

    On repeated filler a draft head is always right. The speed is then that of copying, and no reader will
    see it.

    Bad:
        speculation: {draft_tok: 3, acceptance_length: 4}

    Good:
        speculation: {draft_tok: 3, acceptance_length: 2.8}
    """
    for at, speculation, ratio, length in _acceptances(record):
        drafted = speculation.draft_tok or speculation.block_size or 0
        if drafted > 1 and (ratio == 1 or length == drafted + 1):
            message = f"all of {drafted} draft tokens were accepted at every step: check the prompts for repeated filler"
            yield Problem(at, message)


@rule("S007", "acceptance-on-random-tokens", severity="warning")
def acceptance_on_random_tokens(record: Benchmark) -> Iterator[Problem]:
    """Flag a speed made by drafts that was measured on random tokens.

    There is nothing to predict in random tokens, and a model that answers them with a loop is predicted
    perfectly: either way the figure says nothing about text.

    Bad:
        results:
          - {id: decode-prose-1, metric: tok_s_per_user, value: 93.9, as_published: 93.9 tok/s, repeats: 3,
             at: {concurrency: 1, input_tok: 1024, output_tok: 512, prompt_class: random_tokens, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        results:
          - {id: decode-prose-1, metric: tok_s_per_user, value: 93.9, as_published: 93.9 tok/s, repeats: 3,
             at: {concurrency: 1, input_tok: 1024, output_tok: 512, prompt_class: code, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    for index, result in enumerate(record.results):
        if result.at.prompt_class not in _FILLER or result.metric not in _MADE_BY_DRAFTS:
            continue
        if in_force(record, result).speculation.method not in (None, "none"):
            message = f"drafts on {result.at.prompt_class}: the speed says nothing about text. Measure it on real prompts"
            yield Problem(f"/results/{index}/at/prompt_class", message)


@rule("S008", "graphs-outgrown", severity="warning")
def graphs_outgrown(record: Benchmark) -> Iterator[Problem]:
    """Flag decoding batches that outgrow the captured graphs.

    Each request takes draft tokens + 1 rows. Above the largest captured batch the engine decodes without
    graphs: one system fell from 349 to 78 tok/s between 16 and 17 requests. It may be what the run shows;
    then an exception or a gotcha says so.

    Bad:
        serving: {max_running_requests: 32, cuda_graph_max_batch: 32}

    Good:
        serving: {max_running_requests: 16, cuda_graph_max_batch: 32}
    """
    largest = record.serving.cuda_graph_max_batch
    rows = graph_rows(record.serving, record.speculation)
    if largest is None or rows is None or record.serving.cuda_graph_decode is False:
        return
    if rows > largest:
        message = (
            f"{record.serving.max_running_requests} requests take {rows} rows, but graphs end at {largest}: "
            "lower the requests, capture larger batches, or say in an exception that the run shows the fall"
        )
        yield Problem("/serving/cuda_graph_max_batch", message)


@rule("S009", "ratio-not-matching-length", severity="warning")
def ratio_not_matching_length(record: Benchmark) -> Iterator[Problem]:
    """Flag an acceptance ratio and an acceptance length that cannot be of one run.

    Over all drafted tokens, length = 1 + ratio x draft tokens. A ratio that is far too high is often the
    chance of the first position alone.

    Bad:
        speculation: {draft_tok: 5, acceptance_length: null}
        omitted_by_source: [{field: speculation.acceptance_length, source: sources/base-source}]
        results:
          - {id: decode-prose-1, metric: acceptance_length, value: 2, as_published: "2",
             at: {concurrency: 1, prompt_class: code}, evidence: [{source: sources/base-source, locator: Table 3}]}
          - {id: ratio, metric: acceptance_ratio, value: 0.73, as_published: 73%,
             at: {concurrency: 1, prompt_class: code}, evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        speculation: {draft_tok: 5, acceptance_length: null}
        omitted_by_source: [{field: speculation.acceptance_length, source: sources/base-source}]
        results:
          - {id: decode-prose-1, metric: acceptance_length, value: 4.65, as_published: "4.65",
             at: {concurrency: 1, prompt_class: code}, evidence: [{source: sources/base-source, locator: Table 3}]}
          - {id: ratio, metric: acceptance_ratio, value: 0.73, as_published: 73%,
             at: {concurrency: 1, prompt_class: code}, evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    metrics = {each.metric for each in record.results}
    if not {"acceptance_ratio", "acceptance_length"} <= metrics:
        return
    for group in figures_by_conditions(record.results):
        lengths = {statistic: i for (metric, statistic), i in group.items() if metric == "acceptance_length"}
        for (metric, statistic), index in group.items():
            if metric != "acceptance_ratio" or statistic not in lengths:
                continue
            ratio, other = record.results[index], record.results[lengths[statistic]]
            drafted = in_force(record, ratio).speculation.draft_tok
            if drafted is None or ratio.value is None or other.value is None:
                continue
            expected = acceptance_length_from_ratio(ratio.value, drafted)
            if not agree(other.value, expected, _FAR):
                message = f"{ratio.value} of {drafted} drafts is a length of {expected}, but {other.id} says {other.value}"
                yield Problem(
                    f"/results/{index}/value", f"{message}: check whether it is the first position alone"
                )


@rule("S010", "method-without-name")
def method_without_name(record: Benchmark) -> Iterator[Problem]:
    """Flag a speculation method `other` without the source's own name for it.

    Bad:
        speculation: {method: other}

    Good:
        speculation: {method: other, as_published: Lookahead}
    """
    if record.speculation.method == "other" and record.speculation.as_published is None:
        yield Problem(
            "/speculation/method", "method is other; expected its name: add `speculation.as_published`"
        )


@rule("S011", "drafts-beyond-block", severity="warning")
def drafts_beyond_block(record: Benchmark) -> Iterator[Problem]:
    """Flag more draft tokens than a block drafter's block holds.

    Bad:
        speculation: {draft_tok: 7, block_size: 5}

    Good:
        speculation: {draft_tok: 5, block_size: 5}
    """
    drafted, block = record.speculation.draft_tok, record.speculation.block_size
    if drafted is not None and block is not None and drafted > block:
        message = (
            f"{drafted} draft tokens from a block of {block}: correct the one that the source contradicts"
        )
        yield Problem("/speculation/draft_tok", message)


def _outside(length: Decimal, longest: int | None, at: str) -> Iterator[Problem]:
    if length < 1 or (longest is not None and length > longest):
        most = "draft tokens + 1" if longest is None else str(longest)
        yield Problem(
            at,
            f"acceptance length is {length}; expected 1 to {most}: check both, and what the counter counts",
        )


def _acceptances(record: Benchmark) -> Iterator[tuple[str, Speculation, Decimal | None, Decimal | None]]:
    """Yield pointer, speculation in force, acceptance ratio and acceptance length of the setup and of each result."""
    setup = record.speculation
    yield "/speculation/acceptance_length", setup, None, setup.acceptance_length
    for index, result in enumerate(record.results):
        if result.metric in ("acceptance_ratio", "acceptance_length"):
            is_ratio = result.metric == "acceptance_ratio"
            speculation = in_force(record, result).speculation
            yield (
                f"/results/{index}/value",
                speculation,
                result.value if is_ratio else None,
                None if is_ratio else result.value,
            )


@rule("S012", "synthetic-acceptance-unmarked")
def synthetic_acceptance_unmarked(record: Benchmark) -> Iterator[Problem]:
    """Flag a speed of drafts that were accepted by decree, and that does not say so where it stands.

    Engines can be told which share of drafts to accept without looking at them. Such a speed is an upper bound that no model
    and no text reaches, and it was published beside measured ones. Give each result that it made the warning
    `synthetic_acceptance`.

    Bad:
        engine: {arguments: {"--speculative-config": '{"rejection_sample_method": "synthetic"}'}}

    Good:
        engine: {arguments: {"--speculative-config": '{"rejection_sample_method": "synthetic"}'}}
        results:
          - {id: decode-prose-1, metric: tok_s_per_user, value: 93.9, as_published: 93.9 tok/s, repeats: 3,
             warnings: [synthetic_acceptance], qualifier: at_most,
             at: {concurrency: 1, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    settings = (*record.engine.arguments.items(), *record.engine.environment.items())
    texts = (record.speculation.as_published or "", *(f"{name}={value}" for name, value in settings))
    found = next((each for each in texts if _BY_DECREE.search(each)), None)
    if found is None:
        return
    for index, result in enumerate(record.results):
        if result.metric in _RAISED_BY_DRAFTS and WarningCode.SYNTHETIC_ACCEPTANCE not in result.warnings:
            message = f"drafts were accepted by decree ({found}): add the warning `synthetic_acceptance`"
            yield Problem(f"/results/{index}", message)
