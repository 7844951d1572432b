"""The traps of the first documents, each caught by the rule that was written for it."""

from dataclasses import replace
from typing import Any

import pytest

from kbtool.lint.lookup import FileView, Lookup
from kbtool.lint.rule import Rule
from kbtool.lint.rules.arithmetic import batch_faster_than_one, latency_not_the_sum, ratio_not_recomputed
from kbtool.lint.rules.comparability import condition_missing, point_measured_twice, repeat_of_nothing
from kbtool.lint.rules.gaps import field_not_accounted_for
from kbtool.lint.rules.hardware import (
    edition_not_the_one_named,
    power_limit_above_board,
    weights_beyond_memory,
)
from kbtool.lint.rules.prose import (
    convention_in_prose,
    figure_only_in_notes,
    history_in_prose,
    omission_in_prose,
    placeholder,
    shouting,
)
from kbtool.lint.rules.speculation import acceptance_length_impossible, graphs_outgrown, perfect_acceptance
from kbtool.lint.rules.topology import (
    layout_smaller_than_system,
    queueing_not_told,
    request_longer_than_context,
)
from kbtool.lint.rules.values import unknown_metric, value_not_positive
from kbtool.schema import Accelerator, Benchmark
from tests.analysis.records import BASE, benchmark, plain_result
from tests.lint.views import view_of

MAX_Q = Accelerator.model_validate(
    {
        **BASE["accelerators/base-accelerator"],
        "edition": "Max-Q",
        "title": "Base Accelerator 96GB Max-Q",
        "power": {"default_w": {"value": 300}, "max_limit_w": {"value": 300}},
    }
)
REFS = Lookup.over({"accelerators/base-accelerator": MAX_Q})


def found(rule: Rule, record: Benchmark, *more: Any) -> list[tuple[str, str | None]]:
    """Return place and severity of what a rule finds."""
    return [(problem.at, problem.severity) for problem in rule.check(record, *more)]


def test_220_of_600_w_on_a_card_of_300_w() -> None:
    """A limit in force is an error; a printed one warns, until a claim says what speaks against it."""
    limit = benchmark(system={"power_limit_w": 600, "power_limit_as_published": "600 W"})
    assert found(power_limit_above_board, limit, REFS) == [("/system/power_limit_w", None)]

    printed = {"power_limit_w": None, "power_limit_as_published": "600 W"}
    assert found(power_limit_above_board, benchmark(system=printed), REFS) == [
        ("/system/power_limit_as_published", "warning")
    ]
    claim = {
        "id": "cap",
        "statement": "600 W.",
        "verdict": "contradicted",
        "fields": ["system.power_limit_w"],
    }
    assert found(power_limit_above_board, benchmark(system=printed, claims=[claim]), REFS) == []
    assert found(power_limit_above_board, benchmark(system={"power_limit_w": 300}), REFS) == []
    assert found(power_limit_above_board, limit, Lookup.over({})) == []


def test_another_edition_than_the_one_named() -> None:
    """The source says Workstation, the record points at the Max-Q; a guess says so itself."""
    assert found(edition_not_the_one_named, benchmark(), REFS) == [("/system/accelerator", None)]
    named = benchmark(
        system={"accelerator_as_published": "Base Accelerator Max-Q Workstation Edition, 96 GB"}
    )
    assert found(edition_not_the_one_named, named, REFS) == []
    assert found(edition_not_the_one_named, benchmark(system={"accelerator_basis": "inferred"}), REFS) == []


def test_graphs_to_32_rows_and_32_requests_of_two() -> None:
    """349 tok/s at 16 requests, 78 at 32."""
    eagle = {"method": "eagle", "draft_tok": 1, "acceptance_length": "1.6"}
    before = benchmark(speculation=eagle, serving={"max_running_requests": 32, "cuda_graph_max_batch": 32})
    after = benchmark(speculation=eagle, serving={"max_running_requests": 16, "cuda_graph_max_batch": 32})
    assert found(graphs_outgrown, before) == [("/serving/cuda_graph_max_batch", None)]
    assert found(graphs_outgrown, after) == []


@pytest.mark.parametrize(
    ("ratio", "numerator", "denominator", "holds"),
    [
        ("7.8", "946.6", "122", True),
        ("5.3", "653", "122", True),
        ("10", "204", "19", True),
        ("5", "204", "46.6", False),
    ],
)
def test_ratios_are_recomputed(ratio: str, numerator: str, denominator: str, *, holds: bool) -> None:
    """7.8x and 5.3x hold at the digits printed; five times the single stream of 46.6 is 4.4."""
    results = [
        plain_result(
            metric="throughput_ratio",
            value=ratio,
            as_published=f"{ratio}x",
            basis="derived",
            derivation={"formula": "a / b", "inputs": ["a", "b"]},
        ),
        plain_result(id="a", value=numerator),
        plain_result(id="b", value=denominator, at={"concurrency": 2}),
    ]
    problems = found(ratio_not_recomputed, benchmark(results=results), Lookup.over({}))
    assert problems == ([] if holds else [("/results/0/value", None)])


def test_a_ratio_over_another_record() -> None:
    """An input may stand in another record; one that cannot be found is no finding."""
    result = plain_result(
        metric="throughput_ratio",
        value="2",
        derivation={"formula": "a / b", "inputs": ["a", "benchmarks/other#decode-prose-1"]},
    )
    record = benchmark(results=[result, plain_result(id="a", value="300")])
    other = Lookup.over({"benchmarks/other": benchmark(results=[plain_result(value="100")])})
    assert len(found(ratio_not_recomputed, record, other)) == 1
    assert found(ratio_not_recomputed, record, Lookup.over({})) == []


def test_48_in_flight_where_16_run() -> None:
    """The others wait; a result may change the limit, and a box has two instances."""
    at = {"concurrency": 48}
    assert found(
        queueing_not_told, benchmark(serving={"max_running_requests": 16}, results=[plain_result(at=at)])
    )
    wider = plain_result(at=at, **{"with": [{"field": "serving.max_running_requests", "value": 64}]})
    assert not found(queueing_not_told, benchmark(serving={"max_running_requests": 16}, results=[wider]))
    told = plain_result(at={**at, "queued": True})
    assert not found(queueing_not_told, benchmark(serving={"max_running_requests": 16}, results=[told]))
    box = benchmark(
        serving={"max_running_requests": 24}, deployment={"instances": 2}, results=[plain_result(at=at)]
    )
    assert not found(queueing_not_told, box)


def test_the_aggregate_of_32_users_is_below_32_lone_ones() -> None:
    """946.6 / 32 is 29.6, far below 204; 12,000 would be no output throughput."""
    lone = plain_result(value="204")
    for value, expected in (("946.6", 0), ("12000", 1)):
        box = plain_result(id="box", metric="output_tok_s", value=value, at={"concurrency": 32})
        assert len(found(batch_faster_than_one, benchmark(results=[lone, box]))) == expected


def test_latencies_are_summed_only_where_all_three_are_means() -> None:
    """Percentiles do not add up, and neither do figures of other conditions."""
    figures = {"ttft_ms": "500", "tpot_ms": "10", "e2el_ms": "90000"}
    for statistic, expected in (("mean", 1), ("p99", 0)):
        results = [
            plain_result(id=each.replace("_", "-"), metric=each, value=value, statistic=statistic)
            for each, value in figures.items()
        ]
        assert len(found(latency_not_the_sum, benchmark(results=results))) == expected


def test_three_baselines_in_one_article_are_three_points_or_a_dispute() -> None:
    """46.6 and 19 under the same words; the one that lost is disputed."""
    results = [plain_result(value="46.6"), plain_result(id="other", value="19")]
    assert found(point_measured_twice, benchmark(results=results)) == [("/results/1", None)]
    results[1] = plain_result(id="other", value="19", standing="disputed", standing_reason="46.6 elsewhere.")
    assert found(point_measured_twice, benchmark(results=results)) == []


def test_an_unknown_factor_may_be_what_is_missing() -> None:
    """TP 4 on 8 cards is half of them, unless nobody knows the pipeline stages."""
    half = {"system": {"accelerator_count": 8, "accelerators_present": 8}}
    assert found(layout_smaller_than_system, benchmark(**half, deployment={"tp": 4}))
    assert not found(layout_smaller_than_system, benchmark(**half, deployment={"tp": 4, "pp": None}))


def test_settings_of_a_result_count() -> None:
    """A longer context, or more drafts, in one result of a sweep."""
    long = plain_result(at={"input_tok": 131072, "output_tok": 1})
    assert found(request_longer_than_context, benchmark(results=[long]))
    wider = {**long, "with": [{"field": "serving.context_tok", "value": 262144}]}
    assert not found(request_longer_than_context, benchmark(results=[wider]))

    accepted = plain_result(metric="acceptance_length", value="3.3")
    assert found(acceptance_length_impossible, benchmark(results=[accepted]))
    deeper = {**accepted, "with": [{"field": "speculation.draft_tok", "value": 5}]}
    assert not found(acceptance_length_impossible, benchmark(results=[deeper]))


def test_every_draft_accepted() -> None:
    """A ratio of 1 over several drafts, measured or stated."""
    drafts = {"draft_tok": 5, "acceptance_length": "3.3"}
    perfect = plain_result(metric="acceptance_ratio", value="1.0")
    assert found(perfect_acceptance, benchmark(speculation=drafts, results=[perfect])) == [
        ("/results/0/value", None)
    ]
    assert found(perfect_acceptance, benchmark(speculation={"draft_tok": 5, "acceptance_length": "6"}))
    assert not found(perfect_acceptance, benchmark(speculation=drafts))


def test_weights_that_do_not_fit() -> None:
    """156 GB on one card of 96; on two they fit, and on two instances of one they do not."""
    record = benchmark(model={"weights_gb": 156})
    assert not found(weights_beyond_memory, record, REFS)
    assert found(
        weights_beyond_memory, benchmark(model={"weights_gb": 156}, deployment={"instances": 2}), REFS
    )


def test_a_missing_condition_has_one_rule() -> None:
    """What the disclosure fields ask for is not asked again."""
    power = plain_result(metric="power_w", value="220", as_published="220 W")
    record = benchmark(results=[power])
    assert found(condition_missing, record) == [("/results/0/at", None)]
    assert found(field_not_accounted_for, record) == []
    speed = benchmark(results=[plain_result(at={"concurrency": None})])
    assert found(condition_missing, speed) == []
    assert ("/results/0", None) in found(field_not_accounted_for, speed)


SEED_NOTES = (
    "SGLang version/commit, driver version and the SSH-tunnel bandwidth are OMITTED BY SOURCE. "
    "INTERCONNECT IDS FILLED 2026-10-04: interconnect_ids was empty. BASIS AND ITS LIMITS, stated because this is easy "
    "to over-read: it records the fabric present in the hardware, which is how every previously-filled record in this "
    "repo reads it. The 32K prompt reads 7,196 tok/s."
)


@pytest.mark.parametrize(
    "rule",
    [shouting, omission_in_prose, history_in_prose, convention_in_prose, figure_only_in_notes],
    ids=lambda rule: rule.code,
)
def test_facts_in_prose(rule: Rule) -> None:
    """The notes of the first records held an omission, a history, a convention and a figure, partly in capitals."""
    for notes, expected in ((SEED_NOTES, [("/notes", None)]), ("Eight cards in one chassis.", [])):
        record = benchmark(notes=notes)
        assert found(rule, record, replace(view_of(), record=record)) == expected


def test_two_results_that_repeat_each_other() -> None:
    """A repeat names the first of them; in a circle there is none."""
    one = plain_result(id="one", repeat_of="two")
    two = plain_result(id="two", repeat_of="one")
    three = plain_result(id="three", repeat_of="one")
    record = benchmark(headline="one", results=[one, two, three])
    assert [place for place, _ in found(repeat_of_nothing, record)] == [
        "/results/0/repeat_of",
        "/results/1/repeat_of",
        "/results/2/repeat_of",
    ]
    assert found(repeat_of_nothing, benchmark(headline="two", results=[plain_result(id="two"), one])) == []


def test_a_misspelt_metric_is_one_finding() -> None:
    """A repeat of a result whose metric does not exist is not said to measure something else as well."""
    record = benchmark(
        headline="one",
        results=[plain_result(id="one", metric="tok_per_s"), plain_result(id="two", repeat_of="one")],
    )
    assert found(repeat_of_nothing, record) == []
    assert found(unknown_metric, record) == [("/results/0/metric", None)]


@pytest.mark.parametrize("word", ["throughput", "tok/s", "TPS", "tokens_per_second", "latency"])
def test_a_loose_word_for_a_metric_leads_to_the_choices(word: str) -> None:
    """None of them is suggested, as each would be a guess."""
    (problem,) = unknown_metric.check(
        benchmark(headline="one", results=[plain_result(id="one", metric=word)])
    )
    assert problem.suggestion is None
    assert "_ms`" in problem.message or "_tok_s`" in problem.message


@pytest.mark.parametrize("word", ["N/A", "unknown", "not stated", "TBD", "todo"])
def test_a_word_for_nothing_is_no_value(word: str) -> None:
    """In a field of free text; `unknown` among the words of a closed set is an answer."""
    values = {"system": {"os": word}, "measured": {"by": "unknown"}}
    text = f"system:\n  os: {word}\nmeasured:\n  by: unknown\n"
    record = benchmark(**values)
    assert found(placeholder, record, FileView("x.yaml", "benchmark", text, values, record)) == [
        ("/system/os", None)
    ]


def test_a_valid_zero_is_not_refused() -> None:
    """No errors is a result; a throughput of 0 is a failed run."""
    errors = {"id": "decode-prose-1", "metric": "error_ratio", "value": "0", "as_published": "0"}
    assert found(value_not_positive, benchmark(results=[plain_result(**errors)])) == []
    none = {"id": "decode-prose-1", "metric": "output_tok_s", "value": "0", "as_published": "0"}
    assert found(value_not_positive, benchmark(results=[plain_result(**none)])) == [
        ("/results/0/value", None)
    ]
