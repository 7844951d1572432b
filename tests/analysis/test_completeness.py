"""Each disclosure field is given, omitted, a gap, or nobody has looked."""

from kbtool.analysis.completeness import LESS_EXACT, accounts, completeness, is_listed, missing
from kbtool.analysis.paths import benchmark_paths
from kbtool.vocab.disclosure import DISCLOSURE_FIELDS
from tests.analysis.records import benchmark, plain_result


def states(**over: object) -> dict[str, str]:
    """Return path -> state of the base benchmark with something laid over it."""
    return {each.field.path: each.state for each in accounts(benchmark(**over))}


def test_the_base_is_complete() -> None:
    """A record that gives everything misses nothing."""
    assert set(states().values()) == {"given"}
    assert missing(benchmark()) == ()
    assert completeness(benchmark()).asked == len(DISCLOSURE_FIELDS)


def test_the_four_states() -> None:
    """What is not given is omitted by its source, a gap, or missing."""
    found = states(
        system={"driver": None, "host_cpu": None, "numa_nodes": None},
        omitted_by_source=[{"field": "system.driver", "source": "sources/base-source"}],
        gaps=[{"field": "system.numa_nodes", "reason": "not_observable"}],
    )
    assert found["system.driver"] == "omitted_by_source"
    assert found["system.numa_nodes"] == "gap"
    assert found["system.host_cpu"] == "missing"


def test_counts_add_up() -> None:
    """Given, explained and missing are all that is asked."""
    counts = completeness(
        benchmark(
            system={"driver": None, "host_cpu": None},
            gaps=[{"field": "system.driver", "reason": "not_observable"}],
        )
    )
    assert (counts.explained, counts.missing) == (1, 1)
    assert counts.given + 2 == counts.asked


def test_false_is_an_answer_and_an_empty_list_is_none() -> None:
    """Prefix caching that is off is stated; no interconnect listed is not."""
    record = benchmark(serving={"prefix_caching": False}, system={"interconnects": []})
    record = record.model_copy(update={"engine": record.engine.model_copy(update={"arguments": {}})})
    found = {each.field.path: each.state for each in accounts(record)}
    assert found["serving.prefix_caching"] == "given"
    assert found["system.interconnects"] == "missing"
    assert found["engine.arguments"] == "missing"


def test_a_less_exact_answer_is_an_answer() -> None:
    """`128K` says how long the prompt was, and a working day when it was measured."""
    found = states(
        measured={"day": None, "period": "a working day"},
        results=[plain_result(at={"input_tok": None, "input_nominal": "128K"})],
    )
    assert found["measured.day"] == "given"
    assert found["results.at.input_tok"] == "given"


def test_drafts_are_asked_for_only_where_there_are_drafts() -> None:
    """Without speculation nobody asks for draft tokens or acceptance."""
    found = states(speculation={"method": "none", "draft_tok": None, "acceptance_length": None})
    assert "speculation.draft_tok" not in found
    assert found["speculation.method"] == "given"


def test_results_are_asked_by_their_metric() -> None:
    """A power figure needs no prompt class; one result without a condition leaves the field open."""
    power = plain_result(
        id="w", metric="power_w", value="420", as_published="420 W", at={"concurrency": 1, "input_tok": None}
    )
    found = {each.field.path: each for each in accounts(benchmark(results=[power]))}
    assert "results.at.prompt_class" not in found
    both = {each.field.path: each for each in accounts(benchmark(results=[plain_result(), power]))}
    assert both["results.at.prompt_class"].absent_from == (0,)


def test_a_setting_that_each_result_states_is_given() -> None:
    """A sweep over chunk sizes has them in `with`."""
    sweep = [
        plain_result(
            id=f"c{size}", **{"with": [{"field": "serving.chunked_prefill_size_tok", "value": size}]}
        )
        for size in (1024, 2048)
    ]
    assert (
        states(serving={"chunked_prefill_size_tok": None}, results=sweep)["serving.chunked_prefill_size_tok"]
        == "given"
    )


def test_less_exact_fields_exist() -> None:
    """Both ends of the table are fields of a benchmark."""
    assert {*LESS_EXACT, *LESS_EXACT.values()} <= benchmark_paths()


def test_is_listed() -> None:
    """Listed for whatever reason."""
    record = benchmark(gaps=[{"field": "system.clocks", "reason": "not_observable"}])
    assert is_listed(record, "system.clocks")
    assert not is_listed(record, "system.os")


def test_results_answer_for_a_field_that_names_their_metric() -> None:
    """An acceptance length of each load says more than one of the setup could."""
    path = "speculation.acceptance_length"
    bare = {"speculation": {"acceptance_length": None}}
    told = [plain_result(), plain_result(id="drafts", metric="acceptance_length", value="2.1")]
    assert states(**bare)[path] != "given"
    assert states(**bare, results=told)[path] == "given"
