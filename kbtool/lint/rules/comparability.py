"""Rules about comparability: what must stand beside a figure before it may stand beside another."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple

from kbtool.analysis.completeness import is_listed
from kbtool.analysis.consistency import conditions
from kbtool.analysis.likeness import Load, far_apart, may_be_one
from kbtool.analysis.paths import RESULTS, benchmark_paths, is_known, value_at
from kbtool.analysis.published import numbers_in
from kbtool.analysis.settings import fits
from kbtool.lint.facts import Facts, RecordFacts
from kbtool.lint.lookup import Lookup
from kbtool.lint.rule import CorpusProblem, Problem, corpus_rule, rule
from kbtool.schema import Benchmark, Source
from kbtool.schema.benchmark import At
from kbtool.store.suggest import nearest
from kbtool.vocab.disclosure import DISCLOSURE_FIELDS
from kbtool.vocab.metrics import METRICS
from kbtool.vocab.terms import WITHDRAWN

_OTHER_RULES: Final = frozenset({"slo", "baseline"})
_STANDS_IN: Final = {
    "concurrency": "request_rate_req_s",
    "input_tok": "input_nominal",
    "prompt_class": "prompt_as_published",
}
_ASKED_ELSEWHERE: Final = {
    metric: frozenset(
        each.path.removeprefix(f"{RESULTS}at.")
        for each in DISCLOSURE_FIELDS
        if each.path.startswith(f"{RESULTS}at.") and (not each.metrics or metric in each.metrics)
    )
    for metric in METRICS
}
"""Metric -> conditions that are disclosure fields for it, which G001 asks for."""
_OWN_CONDITIONS: Final = {
    each.id: tuple(sorted(set(each.conditions) - _ASKED_ELSEWHERE[each.id] - _OTHER_RULES))
    for each in METRICS.values()
}
_GO_TOGETHER: Final = {
    "model.weight_dtype": ("model.quantization_as_published", "model.weights_gb", "model.weights_as_published"),
    "model.checkpoint": ("model.revision",),
    "speculation.draft_tok": ("speculation.acceptance_length", "speculation.verify_rows"),
    "speculation.method": (
        "speculation.draft_tok", "speculation.acceptance_length", "speculation.verify_rows", "speculation.block_size",
    ),
    "engine.version": ("engine.commit", "engine.image", "engine.image_digest"),
}  # fmt: skip
"""Setting -> those of which another value goes with each of its values."""
_ACCEPTANCE: Final = frozenset({"acceptance_length", "acceptance_ratio"})


@rule("C001", "condition-missing", draft="warning")
def condition_missing(record: Benchmark) -> Iterator[Problem]:
    """Flag a figure without a condition that its metric cannot be compared without.

    The conditions of each metric are on the page of metrics. Where the source does not say,
    `results.at.interval` or its like in `omitted_by_source` says that.

    Bad:
        results:
          - {id: decode-prose-1, metric: power_w, value: 420, as_published: 420 W, at: {concurrency: 1},
             evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        results:
          - {id: decode-prose-1, metric: power_w, value: 420, as_published: 420 W,
             at: {concurrency: 1, interval: the whole run}, evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    for index, result in enumerate(record.results):
        for name in _OWN_CONDITIONS.get(result.metric, ()):
            if result.metric in _ACCEPTANCE and name == "prompt_class":
                continue  # S005
            if not _is_stated(result.at, name) and not is_listed(record, f"results.at.{name}"):
                message = f"{result.metric} without {name}: give it, or list results.at.{name} in `omitted_by_source`"
                yield Problem(f"/results/{index}/at", message)


@rule("C002", "goodput-without-slo")
def goodput_without_slo(record: Benchmark) -> Iterator[Problem]:
    """Flag a goodput that does not say which limits a request had to meet.

    With limits wide enough every throughput is a goodput.

    Bad:
        results:
          - {id: decode-prose-1, metric: goodput_req_s, value: 3, as_published: "3",
             at: {concurrency: 8, input_tok: 1024, output_tok: 512}, evidence: [{source: sources/base-source, locator: T3}]}

    Good:
        results:
          - {id: decode-prose-1, metric: goodput_req_s, value: 3, as_published: "3",
             at: {concurrency: 8, input_tok: 1024, output_tok: 512, slo: [{metric: ttft_ms, limit: 2000, statistic: p99}]},
             evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    for index, result in enumerate(record.results):
        if result.metric == "goodput_req_s" and not result.at.slo:
            yield Problem(f"/results/{index}/at", "a goodput without `slo`: give the limits, or take `req_s`")


@rule("C003", "ratio-without-baseline")
def ratio_without_baseline(record: Benchmark) -> Iterator[Problem]:
    """Flag a ratio that does not say what it is relative to.

    "10x" over 19, 39 or 46 tok/s are three different findings, and one article claimed all of them.

    Bad:
        results:
          - {id: decode-prose-1, metric: throughput_ratio, value: 7.8, as_published: 7.8x, at: {concurrency: 32},
             evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        results:
          - {id: decode-prose-1, metric: throughput_ratio, value: 7.8, as_published: 7.8x,
             at: {concurrency: 32, baseline: 122 tok/s of the first engine},
             evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    for index, result in enumerate(record.results):
        if result.metric in ("throughput_ratio", "ttft_ratio") and result.at.baseline is None:
            yield Problem(f"/results/{index}/at", "a ratio without `baseline`: say what it is relative to")


@rule("C008", "aggregate-as-per-user")
def aggregate_as_per_user(record: Benchmark) -> Iterator[Problem]:
    """Flag a speed per user that is the throughput of all users.

    The same number under both metrics, at more than one request in flight: it is the system's, and every user
    seems as fast as the box.

    Bad:
        results:
          - {id: decode-prose-1, metric: tok_s_per_user, value: 653, as_published: "653", repeats: 3,
             at: {concurrency: 64, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host,
                  queued: true}, evidence: [{source: sources/base-source, locator: Table 3}]}
          - {id: box, metric: output_tok_s, value: 653, as_published: "653", repeats: 3,
             at: {concurrency: 64, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host,
                  queued: true}, evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        results:
          - {id: decode-prose-1, metric: tok_s_per_user, value: 12, as_published: "12", repeats: 3,
             at: {concurrency: 64, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host,
                  queued: true}, evidence: [{source: sources/base-source, locator: Table 3}]}
          - {id: box, metric: output_tok_s, value: 653, as_published: "653", repeats: 3,
             at: {concurrency: 64, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host,
                  queued: true}, evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    if not any(each.metric == "tok_s_per_user" and (each.at.concurrency or 1) > 1 for each in record.results):
        return
    totals = {(conditions(each), each.value) for each in record.results if each.metric == "output_tok_s"}
    for index, result in enumerate(record.results):
        users = result.at.concurrency or 1
        if result.metric == "tok_s_per_user" and users > 1 and (conditions(result), result.value) in totals:
            message = f"{result.value} tok/s is the throughput of all {users} users: drop it, or give the speed of one"
            yield Problem(f"/results/{index}/metric", message)


@rule("C009", "unknown-setting")
def unknown_setting(record: Benchmark) -> Iterator[Problem]:
    """Flag a changed setting whose path names no field, or whose value its field cannot hold.

    Under a misspelt path two points of a sweep look equal, and a count in quotes is no count.

    Bad:
        results:
          - {id: decode-prose-1, metric: req_s, value: 3, as_published: "3", with: [{field: serving.context, value: 4096}],
             at: {concurrency: 8, input_tok: 1024, output_tok: 512, prompt_class: prose},
             evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        results:
          - {id: decode-prose-1, metric: req_s, value: 3, as_published: "3", with: [{field: serving.context_tok, value: 4096}],
             at: {concurrency: 8, input_tok: 1024, output_tok: 512, prompt_class: prose},
             evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    for index, result in enumerate(record.results):
        for number, setting in enumerate(result.with_):
            path = setting.field
            if not is_known(path) or path.startswith(RESULTS):
                near = nearest(path, benchmark_paths())
                hint = f": did you mean `{near}`?" if near else ": name a field, or `engine.arguments.NAME`"
                at = f"/results/{index}/with/{number}/field"
                yield Problem(at, f"no setting has the path `{path}`{hint}", suggestion=near)
            elif path.count(".") == 1 and not fits(path, setting.value):
                message = f"{path} cannot be {setting.value!r}: write what the field of the setup would hold, or null"
                yield Problem(f"/results/{index}/with/{number}/value", message)


@rule("C010", "change-changes-nothing", severity="warning")
def change_changes_nothing(record: Benchmark) -> Iterator[Problem]:
    """Flag a changed setting whose value is that of the setup.

    The result would count as another configuration, though it is the record's own.

    Bad:
        results:
          - {id: decode-prose-1, metric: req_s, value: 3, as_published: "3", with: [{field: serving.context_tok, value: 65536}],
             at: {concurrency: 8, input_tok: 1024, output_tok: 512, prompt_class: prose},
             evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        results:
          - {id: decode-prose-1, metric: req_s, value: 3, as_published: "3", with: [{field: serving.context_tok, value: 4096}],
             at: {concurrency: 8, input_tok: 1024, output_tok: 512, prompt_class: prose},
             evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    for index, result in enumerate(record.results):
        for number, setting in enumerate(result.with_):
            path = setting.field
            if not is_known(path) or path.startswith(RESULTS) or setting.value is None:
                continue
            if value_at(record, path) == setting.value:
                message = (
                    f"{path} is {setting.value} in the setup too: drop it here, or correct one of the two"
                )
                yield Problem(f"/results/{index}/with/{number}", message)


@rule("C011", "point-measured-twice", severity="warning")
def point_measured_twice(record: Benchmark) -> Iterator[Problem]:
    """Flag two standing results of one metric under the same conditions and settings.

    A repeat says so (`repeat_of`), a figure that lost to another is `disputed`, and whatever else differs
    between the two belongs into `at` or `with`.

    Bad:
        results:
          - {id: decode-prose-1, metric: req_s, value: 3, as_published: "3",
             at: {concurrency: 8, input_tok: 1024, output_tok: 512, prompt_class: prose},
             evidence: [{source: sources/base-source, locator: Table 3}]}
          - {id: again, metric: req_s, value: 4, as_published: "4",
             at: {concurrency: 8, input_tok: 1024, output_tok: 512, prompt_class: prose},
             evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        results:
          - {id: decode-prose-1, metric: req_s, value: 3, as_published: "3",
             at: {concurrency: 8, input_tok: 1024, output_tok: 512, prompt_class: prose},
             evidence: [{source: sources/base-source, locator: Table 3}]}
          - {id: again, metric: req_s, value: 4, as_published: "4", repeat_of: decode-prose-1,
             at: {concurrency: 8, input_tok: 1024, output_tok: 512, prompt_class: prose},
             evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    if len(record.results) < 2:
        return
    seen: dict[Any, str] = {}
    for index, result in enumerate(record.results):
        if result.repeat_of is not None or result.standing != "stands":
            continue
        key = (result.metric, result.statistic, result.qualifier, conditions(result))
        other = seen.setdefault(key, result.id)
        if other != result.id:
            message = f"{other} has the same metric and conditions: say `repeat_of: {other}`, or what differs"
            yield Problem(f"/results/{index}", message)


@rule("C012", "mlperf-without-class")
def mlperf_without_class(record: Benchmark, refs: Lookup) -> Iterator[Problem]:
    """Flag an MLPerf result without its comparison class.

    MLPerf's rules allow comparison only within one benchmark, division and scenario, and ask for a footnote.

    Bad:
        sources: [{source: sources/mlperf, role: primary, group: example-lab}]
        setup_evidence: []
        results:
          - {id: decode-prose-1, metric: samples_s, value: 3, as_published: "3", at: {concurrency: 8},
             evidence: [{source: sources/mlperf, locator: Table 3}]}
        sources/mlperf: {title: Results, url: https://example.org/m, content_sha256: null, publisher: MLCommons}

    Good:
        comparison_class: mlperf-inference-v6.1/llama2-70b-99/closed/offline
        sources: [{source: sources/mlperf, role: primary, group: example-lab}]
        setup_evidence: []
        results:
          - {id: decode-prose-1, metric: samples_s, value: 3, as_published: "3", at: {concurrency: 8},
             evidence: [{source: sources/mlperf, locator: Table 3}]}
        sources/mlperf: {title: Results, url: https://example.org/m, content_sha256: null, publisher: MLCommons}
    """
    if record.comparison_class is not None:
        return
    for use in record.sources:
        source = refs.get(use.source, Source) if use.role == "primary" else None
        if source is not None and source.publisher.casefold().startswith(("mlcommons", "mlperf")):
            message = (
                "an MLPerf result without `comparison_class`: give round, benchmark, division and scenario"
            )
            yield Problem("/comparison_class", message)
            return


@rule("C013", "repeat-of-nothing")
def repeat_of_nothing(record: Benchmark) -> Iterator[Problem]:
    """Flag a repeat of a result that is not there, is the same one, or measures something else.

    Bad:
        results:
          - {id: decode-prose-1, metric: req_s, value: 3, as_published: "3", repeat_of: decode-prose-2,
             at: {concurrency: 8, input_tok: 1024, output_tok: 512, prompt_class: prose},
             evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        results:
          - {id: decode-prose-1, metric: req_s, value: 3, as_published: "3",
             at: {concurrency: 8, input_tok: 1024, output_tok: 512, prompt_class: prose},
             evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    for index, result in enumerate(record.results):
        if result.repeat_of is None:
            continue
        at = f"/results/{index}/repeat_of"
        first = next((each for each in record.results if each.id == result.repeat_of), None)
        if first is None or first is result:
            near = nearest(result.repeat_of, [each.id for each in record.results if each is not result])
            hint = f": did you mean `{near}`?" if near else ": name the first of the two, or none"
            yield Problem(at, f"`{result.repeat_of}` is no other result{hint}", suggestion=near)
        elif first.repeat_of == result.id:
            yield Problem(
                at, f"{first.id} and {result.id} repeat each other: drop `repeat_of` of the first of them"
            )
        elif first.repeat_of is not None:
            yield Problem(
                at, f"{first.id} is itself a repeat; expected the first of them: name {first.repeat_of}"
            )
        elif first.metric != result.metric and {first.metric, result.metric} <= METRICS.keys():
            yield Problem(
                at,
                f"{first.id} measures {first.metric}, not {result.metric}; a repeat measures the same: correct one",
            )
        elif first.with_ != result.with_:
            yield Problem(at, f"{first.id} has other settings; a repeat has the same: correct one")


@rule("C014", "length-not-the-nominal-one")
def length_not_the_nominal_one(record: Benchmark) -> Iterator[Problem]:
    """Flag an exact input length that is not what the source rounds.

    "128K" is 128,000 or 131,072, and the exact length is given only where the source says which.

    Bad:
        results:
          - {id: decode-prose-1, metric: req_s, value: 3, as_published: "3",
             at: {concurrency: 8, input_tok: 13107, input_nominal: 128K, output_tok: 512, prompt_class: prose},
             evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        results:
          - {id: decode-prose-1, metric: req_s, value: 3, as_published: "3",
             at: {concurrency: 8, input_tok: 31072, input_nominal: 32K, output_tok: 512, prompt_class: prose},
             evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    for index, result in enumerate(record.results):
        exact, nominal = result.at.input_tok, result.at.input_nominal
        if exact is None or nominal is None:
            continue
        readings = [reading for each in numbers_in(nominal) for reading in each.readings()]
        if readings and not any(abs(exact - each) <= each / 10 for each in readings):
            message = f"input_tok is {exact}, but the source says {nominal!r}: correct the one misread"
            yield Problem(f"/results/{index}/at/input_tok", message)


@rule("C016", "stale-setting", severity="warning")
def stale_setting(record: Benchmark) -> Iterator[Problem]:
    """Flag a changed setting beside one of the setup that goes with its old value.

    What the setup says is in force wherever a result does not change it. With other weights the name of the quantization and
    the size of the files are others, with more draft tokens so is the acceptance length, and with another version so is the
    image; without speculation there is neither draft nor acceptance. State the new one in `with`, or null where the source does
    not say. In an audit every eighth miss was of this kind.

    Bad:
        model: {weight_dtype: fp8_e4m3, quantization_as_published: FP8, weights_gb: 8, weights_as_published: 8 GB}
        results:
          - {id: decode-prose-1, metric: req_s, value: 3, as_published: "3", with: [{field: model.weight_dtype, value: bf16}],
             at: {concurrency: 8, input_tok: 1024, output_tok: 512, prompt_class: prose},
             evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        model: {weight_dtype: fp8_e4m3, quantization_as_published: FP8, weights_gb: null, weights_as_published: null}
        results:
          - {id: decode-prose-1, metric: req_s, value: 3, as_published: "3",
             with: [{field: model.weight_dtype, value: bf16}, {field: model.quantization_as_published, value: null}],
             at: {concurrency: 8, input_tok: 1024, output_tok: 512, prompt_class: prose},
             evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    for index, result in enumerate(record.results):
        changed = {each.field: each.value for each in result.with_}
        for field, dependents in _GO_TOGETHER.items():
            if field not in changed:
                continue
            stale = [
                each for each in dependents if each not in changed and value_at(record, each) is not None
            ]
            if stale:
                message = (
                    f"{field} is changed to {changed[field]}, and {', '.join(stale)} of the setup stays in force: state it for this "
                    "result too, or null where the source does not say"
                )
                yield Problem(f"/results/{index}/with", message)


@corpus_rule("C015", "far-from-its-like", severity="warning")
def far_from_its_like(facts: Facts) -> Iterator[CorpusProblem]:
    """Flag a speed over three times another that may be of the same load on the same kind of system.

    One box was printed at 11,218 and at 60,131 tok/s, for output tokens and for input and output together; another read
    prompts at 11,269 tok/s, and at 180,455 where the cache held them. Look for such a reason and correct the record; where
    both figures stand as they are, say so with a link, such as `contradicts` with a note. What a record leaves out counts as
    possibly alike, so that stating lengths, cache state, weights or prompts may be all that is missing.

    Bad:
        results:
          - {id: decode-prose-1, metric: output_tok_s, value: 60131, as_published: "60,131", repeats: 3,
             at: {concurrency: 700, input_tok: 2048, output_tok: 512, prompt_class: prose, measuring_path: on_host, queued: true},
             evidence: [{source: sources/base-source, locator: Table 3}]}
        benchmarks/other:
          title: Another report of the same box
          results:
            - {id: decode-prose-1, metric: output_tok_s, value: 11218, as_published: "11,218", repeats: 3,
               at: {concurrency: 1000, input_tok: 2048, output_tok: 512, prompt_class: prose, measuring_path: on_host, queued: true},
               evidence: [{source: sources/base-source, locator: Table 4}]}

    Good:
        results:
          - {id: decode-prose-1, metric: output_tok_s, value: 60131, as_published: "60,131", repeats: 3,
             at: {concurrency: 700, input_tok: 2048, output_tok: 512, prompt_class: prose, measuring_path: on_host, queued: true},
             evidence: [{source: sources/base-source, locator: Table 3}]}
        links: [{relation: contradicts, target: benchmarks/other, note: The page does not say which tokens count.}]
        benchmarks/other:
          title: Another report of the same box
          results:
            - {id: decode-prose-1, metric: output_tok_s, value: 11218, as_published: "11,218", repeats: 3,
               at: {concurrency: 1000, input_tok: 2048, output_tok: 512, prompt_class: prose, measuring_path: on_host, queued: true},
               evidence: [{source: sources/base-source, locator: Table 4}]}
    """
    for speeds in _speeds_by_system(facts).values():
        told: set[str] = set()
        for high in reversed(speeds):
            low = None if high.record.ref in told else _far_below(high, speeds, facts)
            if low is not None:
                told.add(high.record.ref)
                message = (
                    f"{high.value} tok/s, but {low.record.ref} has {low.value} on such a system under such a load: look for "
                    "input tokens counted, a warm cache or another scope; if both stand, link the two (`contradicts`, with a note)"
                )
                yield CorpusProblem(high.record.ref, f"{high.pointer}/value", message)


class _Speed(NamedTuple):
    value: Decimal
    pointer: str
    load: Load
    record: RecordFacts


def _speeds_by_system(facts: Facts) -> Mapping[str, Sequence[_Speed]]:
    """Return the speeds of each kind of system that more than one record is about, the slowest first."""
    found: dict[str, list[_Speed]] = {}
    for record in facts.of_kind("benchmark"):
        if record.status in WITHDRAWN:
            continue
        for each in record.measurements:
            if each.load is not None:
                speed = _Speed(Decimal(each.value), each.pointer, each.load, record)
                found.setdefault(each.load.system, []).append(speed)
    return {
        system: sorted(speeds, key=lambda each: (each.value, each.record.ref, each.pointer))
        for system, speeds in found.items()
        if any(each.record is not speeds[0].record for each in speeds)
    }


def _far_below(high: _Speed, speeds: Iterable[_Speed], facts: Facts) -> _Speed | None:
    """Return the slowest speed that is far below another one, of another record, though the load may be the same."""
    for low in speeds:
        if not far_apart(low.value, high.value):
            return None
        if (
            low.record is not high.record
            and may_be_one(low.load, high.load)
            and not facts.settled(low.record, high.record)
        ):
            return low
    return None


def _is_stated(at: At, name: str) -> bool:
    other = _STANDS_IN.get(name)
    return getattr(at, name) is not None or (other is not None and getattr(at, other) is not None)
