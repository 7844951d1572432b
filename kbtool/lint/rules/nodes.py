"""Rules about what a share is of: all nodes of a system, and both pools of a disaggregated one."""

import re
from collections.abc import Iterator
from typing import Final

from kbtool.analysis.consistency import figures_by_conditions
from kbtool.analysis.settings import in_force
from kbtool.lint.rule import Problem, rule
from kbtool.schema import Benchmark

_HOST: Final = r"(?:nodes?|hosts?|servers?|machines?)"
_EACH: Final = (
    re.compile(
        rf"\b(\d+)\s?(?:x|\u00d7)?(?:\s[A-Za-z][\w-]*){{0,3}}?\s?(?:/|per)\s?{_HOST}\b", re.IGNORECASE
    ),
    re.compile(rf"\beach(?:\s{_HOST})?\s(?:with|has|having|contains|containing)\s(\d+)\b", re.IGNORECASE),
    re.compile(
        rf"\b(?:\d+|two|three|four|eight)\s(\d+)\s?(?:x|\u00d7)(?:\s[\w-]+){{1,3}}?\s{_HOST}\b", re.IGNORECASE
    ),
)
"""How sources say what one host has: `8 per node`, `12 nodes, each with 8`, `two 8x H200 nodes`."""

_WHOLE: Final = {"tok_s_per_accelerator": "output_tok_s", "total_tok_s_per_accelerator": "total_tok_s"}
"""Share -> the throughput of the system that it is a share of; U106 holds the two against each other."""


@rule("T015", "count-of-one-node")
def count_of_one_node(record: Benchmark) -> Iterator[Problem]:
    """Flag a number of accelerators that is not that of all nodes together.

    `accelerator_count` is of the whole system. Where the number of nodes, or the accelerators of one node, stands there, every
    share is too high by the rest of the system.

    Bad:
        system: {nodes: 4, accelerator_count: 2, accelerator_as_published: 4 nodes}

    Good:
        system: {nodes: 4, accelerator_count: 8, accelerator_as_published: 4 nodes}
        deployment: {tp: 8}

    Bad:
        system: {nodes: 2, accelerator_count: 8, accelerator_as_published: "2 nodes, 8 GPUs per node"}
        deployment: {tp: 8}

    Good:
        system: {nodes: 2, accelerator_count: 16, accelerator_as_published: "2 nodes, 8 GPUs per node"}
        deployment: {tp: 8, pp: 2}
    """
    system = record.system
    nodes, count = system.nodes, system.accelerators_present or system.accelerator_count
    if nodes is None or count is None:
        return
    each = _of_each(system.accelerator_as_published, record.deployment.layout_as_published)
    if each is not None and count != nodes * each:
        message = f"{nodes} nodes of {each} are {nodes * each}, but the record has {count}: count those of all nodes"
        yield Problem("/system/accelerator_count", message)
    elif each is None and count < nodes:
        message = (
            f"{count} accelerators in {nodes} nodes: count those of all nodes, not the nodes or those of one"
        )
        yield Problem("/system/accelerator_count", message)


@rule("T016", "share-of-unsaid-pool", severity="warning")
def share_of_unsaid_pool(record: Benchmark) -> Iterator[Problem]:
    """Flag a figure per accelerator of a disaggregated system that does not say by how many accelerators it was divided.

    Published figures divide by those that decode alone, as if prefill cost nothing; beside a system without pools they look
    better by the share that prefills. Give `at.accelerators` or `at.pool`, or the throughput of the system under the
    same conditions.

    Bad:
        deployment: {tp: 1, prefill_accelerators: 1, decode_accelerators: 1}
        results:
          - {id: decode-prose-1, metric: tok_s_per_accelerator, value: 450, as_published: 450 tok/s/GPU, repeats: 3,
             at: {concurrency: 32, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        deployment: {tp: 1, prefill_accelerators: 1, decode_accelerators: 1}
        results:
          - {id: decode-prose-1, metric: tok_s_per_accelerator, value: 450, as_published: 450 tok/s/GPU, repeats: 3,
             at: {concurrency: 32, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host,
                  accelerators: 1},
             evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    shares = [
        index
        for index, each in enumerate(record.results)
        if each.metric in _WHOLE
        and each.at.accelerators is None
        and each.at.pool is None
        and each.basis == "stated"
    ]
    if not shares:
        return
    checkable = {
        index
        for group in figures_by_conditions(record.results)
        for (metric, statistic), index in group.items()
        if (_WHOLE.get(metric), statistic) in group
    }
    for index in shares:
        layout = in_force(record, record.results[index]).deployment
        prefill, decode = layout.prefill_accelerators, layout.decode_accelerators
        if prefill and decode and index not in checkable:
            message = (
                f"per accelerator, but of {prefill + decode} or of the {decode} that decode? Say `at.accelerators` or `at.pool`, or "
                "give the throughput of the system too"
            )
            yield Problem(f"/results/{index}/at", message)


def _of_each(*texts: str | None) -> int | None:
    """Return how many accelerators a source says that each node has; None where it does not, or names several numbers."""
    found = {
        int(match[1])
        for text in texts
        if text is not None
        for words in _EACH
        for match in words.finditer(text)
    }
    return found.pop() if len(found) == 1 else None
