"""Rules about stream chunks that were taken for tokens."""

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from kbtool.analysis.consistency import figures_by_conditions
from kbtool.analysis.settings import in_force
from kbtool.lint.rule import Problem, rule
from kbtool.schema import Benchmark

_COUNTS_CHUNKS: Final = re.compile(r"\bvllm bench\b|\bbenchmark_serving\b", re.IGNORECASE)
"""Clients whose "ITL" is one sample an event of the stream, whatever it holds."""
_LONGER: Final = Decimal("1.25")
"""ITL and TPOT have one mean over the tokens of a request; requests of unequal length move the two apart by some per cent."""


@rule("S013", "chunk-gap-as-itl", severity="warning")
def chunk_gap_as_itl(record: Benchmark) -> Iterator[Problem]:
    """Flag an inter-token latency that counts the chunks of a stream, of which each holds several accepted tokens.

    Under speculation the gap between chunks is longer than the gap between tokens, by the acceptance length. It shows where the
    mean of the two is not that of TPOT, and in clients that take one sample an event. Write such a figure as `icl_ms`.

    Bad:
        results:
          - {id: decode-prose-1, metric: itl_ms, value: 20.1, as_published: 20.1 ms, statistic: mean, repeats: 3,
             at: {concurrency: 8, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
          - {id: tpot, metric: tpot_ms, value: 12.0, as_published: 12.0 ms, statistic: mean, repeats: 3,
             at: {concurrency: 8, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        results:
          - {id: decode-prose-1, metric: icl_ms, value: 20.1, as_published: 20.1 ms, statistic: mean, repeats: 3,
             at: {concurrency: 8, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
          - {id: tpot, metric: tpot_ms, value: 12.0, as_published: 12.0 ms, statistic: mean, repeats: 3,
             at: {concurrency: 8, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    if all(each.metric != "itl_ms" for each in record.results):
        return
    longer = dict(_longer_than_tpot(record))
    counts_chunks = _COUNTS_CHUNKS.search(record.measured.tool or "")
    for index, result in enumerate(record.results):
        if result.metric != "itl_ms" or in_force(record, result).speculation.method in (None, "none"):
            continue
        if index in longer:
            message = f"ITL is {result.value} ms and TPOT {longer[index]} ms, with drafts: chunks were counted. Write it as `icl_ms`"
        elif counts_chunks:
            message = f"{record.measured.tool} takes one sample a chunk, and drafts put several tokens in one: write it as `icl_ms`"
        else:
            continue
        yield Problem(f"/results/{index}/metric", message, suggestion="icl_ms")


def _longer_than_tpot(record: Benchmark) -> Iterator[tuple[int, Decimal]]:
    """Yield each mean ITL that is longer than the mean TPOT of the same conditions, with that TPOT."""
    for group in figures_by_conditions(record.results):
        itl, tpot = group.get(("itl_ms", "mean")), group.get(("tpot_ms", "mean"))
        if itl is None or tpot is None:
            continue
        gap, token = record.results[itl].value, record.results[tpot].value
        if gap is not None and token is not None and gap > token * _LONGER:
            yield itl, token
