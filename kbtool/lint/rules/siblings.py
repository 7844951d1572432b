"""Rules about a figure among its siblings: one point of a sweep, or one of several runs."""

from collections.abc import Hashable, Iterator
from decimal import Decimal
from itertools import pairwise
from operator import attrgetter
from typing import Any, Final

from kbtool.lint.rule import Problem, rule
from kbtool.schema import Benchmark
from kbtool.schema.benchmark import At, Result

_AXES: Final = ("concurrency", "request_rate_req_s", "input_tok", "output_tok", "depth_tok")
"""Conditions that sweeps go over."""
_CONSEQUENCES: Final = frozenset({"queued", "interval"})
"""Conditions that follow from the others."""
_FAR: Final = Decimal(3)
"""Of 595 inner points of 339 published sweeps, none stands more than 1.6 times above, or below, both of its neighbours."""
_FAR_LATENCY: Final = Decimal(5)
"""Of 234 latencies, four stand 2.6 to 4.1 times above: what a first batch of a size compiles or captures falls into them."""


@rule("U110", "apart-from-siblings", severity="warning")
def apart_from_siblings(record: Benchmark) -> Iterator[Problem]:
    """Flag a figure that stands far above, or far below, both of its neighbours in a sweep, or the run that it repeats.

    Load and length move a speed in one direction. A single point at three times both neighbours (five times for a latency) is a
    digit or a unit that slipped, or a run that was none, and it becomes the top of every ranking. Correct it; where the source
    prints it so, mark it `disputed` with the reason.

    Bad:
        serving: {max_running_requests: 64}
        results:
          - {id: decode-prose-1, metric: req_s, value: 3.9, as_published: "3.9",
             at: {concurrency: 8, input_tok: 1024, output_tok: 512, prompt_class: prose},
             evidence: [{source: sources/base-source, locator: Table 3}]}
          - {id: c16, metric: req_s, value: 61, as_published: "61",
             at: {concurrency: 16, input_tok: 1024, output_tok: 512, prompt_class: prose},
             evidence: [{source: sources/base-source, locator: Table 3}]}
          - {id: c32, metric: req_s, value: 8.7, as_published: "8.7",
             at: {concurrency: 32, input_tok: 1024, output_tok: 512, prompt_class: prose},
             evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        serving: {max_running_requests: 64}
        results:
          - {id: decode-prose-1, metric: req_s, value: 3.9, as_published: "3.9",
             at: {concurrency: 8, input_tok: 1024, output_tok: 512, prompt_class: prose},
             evidence: [{source: sources/base-source, locator: Table 3}]}
          - {id: c16, metric: req_s, value: 61, as_published: "61", standing: disputed,
             standing_reason: "Ten times what its neighbours allow; the source prints it so.",
             at: {concurrency: 16, input_tok: 1024, output_tok: 512, prompt_class: prose},
             evidence: [{source: sources/base-source, locator: Table 3}]}
          - {id: c32, metric: req_s, value: 8.7, as_published: "8.7",
             at: {concurrency: 32, input_tok: 1024, output_tok: 512, prompt_class: prose},
             evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    if len(record.results) < 2:
        return
    told: set[int] = set()
    for index, others, kind in (*_in_sweeps(record), *_repeats(record)):
        result = record.results[index]
        values = [_value(record.results[each]) for each in others]
        far = _FAR_LATENCY if result.metric.endswith("_ms") else _FAR
        value = _value(result)
        if index in told or (value < max(values) * far and value * far > min(values)):
            continue
        told.add(index)
        shown = " and ".join(f"{record.results[each].id} {values[at]:f}" for at, each in enumerate(others))
        message = (
            f"{value:f}, but {kind} {shown}: check digits and unit against the source; if it is printed so, say "
            "`standing: disputed`"
        )
        yield Problem(f"/results/{index}/value", message)


def _in_sweeps(record: Benchmark) -> Iterator[tuple[int, tuple[int, ...], str]]:
    """Yield each inner point of each sweep with its two neighbours, by index."""
    for axis in _AXES:
        for sweep in _sweeps(record, axis):
            for (before, index), (_, after) in pairwise(pairwise(sweep)):
                yield index, (before, after), f"its neighbours by {axis} are"


def _sweeps(record: Benchmark, axis: str) -> Iterator[list[int]]:
    """Yield the results that differ in one number alone, in its order; two at one number are no sweep."""
    rest = attrgetter(*(name for name in At.model_fields if name != axis and name not in _CONSEQUENCES))
    groups: dict[Hashable, dict[Any, int]] = {}
    doubled: set[Hashable] = set()
    for index, result in enumerate(record.results):
        place = getattr(result.at, axis)
        if place is None or not _counts(result) or result.repeat_of is not None:
            continue
        settings = tuple((each.field, each.value) for each in result.with_)
        key: Hashable = (result.metric, result.statistic, result.qualifier, rest(result.at), settings)
        if groups.setdefault(key, {}).setdefault(place, index) != index:
            doubled.add(key)
    for key, points in groups.items():
        if key not in doubled and len(points) > 2:
            yield [points[place] for place in sorted(points)]


def _repeats(record: Benchmark) -> Iterator[tuple[int, tuple[int, ...], str]]:
    """Yield each repeat with the run that it repeats."""
    by_id = {each.id: index for index, each in enumerate(record.results)}
    for index, result in enumerate(record.results):
        first = by_id.get(result.repeat_of or "")
        if first is None or first == index or not _counts(result) or not _counts(record.results[first]):
            continue
        if record.results[first].metric == result.metric != "prefill_tok_s":  # C006
            yield index, (first,), "the run that it repeats is"


def _counts(result: Result) -> bool:
    return result.value is not None and result.value > 0 and result.standing == "stands"


def _value(result: Result) -> Decimal:
    assert result.value is not None, "only figures with a value are held against one another"
    return result.value
