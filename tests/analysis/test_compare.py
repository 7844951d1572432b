"""What may stand side by side, and what differs where it may not."""

from decimal import Decimal
from typing import Any

import pytest

from kbtool.analysis.compare import Comparison, Side, compare
from tests.analysis.records import benchmark, plain_result

LOAD = {"concurrency": 64, "input_tok": 2048, "output_tok": 512, "prompt_class": "prose"}
SYSTEM = {"metric": "output_tok_s", "at": LOAD, "statistic": "mean"}


def side(
    name: str = "one", of_result: dict[str, Any] | None = None, *, status: str = "draft", **over: Any
) -> Side:
    """Return a throughput of the base benchmark with something laid over result and record."""
    record = benchmark(results=[plain_result(**{**SYSTEM, **(of_result or {})})], **over)
    return Side(f"benchmarks/{name}", record, record.results[0], status)


def against(of_result: dict[str, Any] | None = None, **over: Any) -> Comparison:
    """Return the comparison of the base with another side."""
    return compare(side(), side("other", of_result, **over))


def test_like_is_compared_with_like() -> None:
    """Two results under equal conditions have a ratio and no reservation."""
    found = against({"value": "46.95", "as_published": "46.95"})
    assert (found.verdict, found.ratio) == ("comparable", Decimal(2))
    assert found.sentence == "Comparable: the first is 2.000 times the second."


@pytest.mark.parametrize(
    ("of_result", "over", "reason"),
    [
        ({"metric": "total_tok_s"}, {}, "another count of tokens: output tokens against input and output tokens"),
        ({"metric": "tok_s_per_user"}, {}, "another scope: the whole system against one user"),
        ({"metric": "ttft_ms"}, {}, "another count of tokens"),
        ({"statistic": "p99"}, {}, "another statistic: mean against p99"),
        ({"metric": "output_tok_s_per_instance", "statistic": "p90"}, {}, "another statistic: mean against p90"),
        ({"at": {**LOAD, "input_tok": 32768}}, {}, "another input length: 2,048 against 32,768"),
        ({"at": {**LOAD, "output_tok": 64}}, {}, "another output length: 512 against 64"),
        ({"at": {**LOAD, "prompt_class": "code"}}, {}, "another prompt class: prose against code"),
        ({}, {"model": {"weight_dtype": "int4"}}, "another precision of the weights: fp8_e4m3 against int4"),
        ({}, {"model": {"model": "models/other"}}, "another model: models/base-model against models/other"),
        ({"warnings": ["synthetic_acceptance"]}, {}, "were accepted by decree"),
        (
            {}, {"comparison_class": "mlperf-inference-v6.1/llama2-70b-99/closed/offline"},
            "a result of the closed class mlperf-inference-v6.1/llama2-70b-99/closed/offline stands beside results of",
        ),
        ({}, {"status": "retracted", "status_reason": "x"}, ""),
        ({"standing": "withdrawn", "standing_reason": "x"}, {}, "was withdrawn by its source"),
        ({"value": None, "low": "90", "high": "95"}, {}, "gives a range and no single figure"),
    ],
)  # fmt: skip
def test_what_is_refused(of_result: dict[str, Any], over: dict[str, Any], reason: str) -> None:
    """A refusal names the condition with both of its values, and gives no ratio."""
    if "status" in over:
        found = compare(side(), side("other", status="retracted"))
        reason = "benchmarks/other is retracted"
    else:
        found = against(of_result, **over)
    assert found.verdict == "refused"
    assert found.ratio is None
    assert any(reason in each for each in found.refused), found.refused
    assert found.sentence.startswith("Not comparable: ")


def test_mlperf_compares_within_its_class() -> None:
    """Same round, benchmark, division and scenario; another scenario is another class."""
    one = "mlperf-inference-v6.1/llama2-70b-99/closed/offline"
    assert compare(side(comparison_class=one), side("other", comparison_class=one)).verdict != "refused"
    other = compare(
        side(comparison_class=one), side("other", comparison_class=one.replace("offline", "server"))
    )
    assert "another closed class" in other.sentence


def test_cache_state_matters_to_a_prefill() -> None:
    """Cold and off are one state; a warm cache is refused."""

    def prefill(state: str) -> dict[str, Any]:
        return {"metric": "prefill_tok_s", "at": {"concurrency": 1, "input_tok": 8192, "prefix_cache": state}}

    cold = side("cold", prefill("cold"))
    assert compare(cold, side("off", prefill("off"))).verdict != "refused"
    warm = compare(cold, side("warm", prefill("warm")))
    assert warm.refused == ("another cache state: cold against warm",)


def test_a_depth_matters_to_a_prefill() -> None:
    """512 tokens behind 4,096 are neither 512 alone nor a prompt of 4,608; a context that starts empty need not be stated."""

    def prefill(input_tok: int, depth_tok: int | None = None) -> Side:
        at = {"concurrency": 1, "input_tok": input_tok, "depth_tok": depth_tok, "prefix_cache": "off"}
        return side(f"p{input_tok}d{depth_tok}", {"metric": "prefill_tok_s", "at": at})

    behind = prefill(512, 4096)
    assert compare(prefill(512), behind).refused == (
        "another depth of the context before the input: 0 against 4,096",
    )
    assert any(
        each.one == "0" and each.other == "4,096" for each in compare(prefill(512), behind).differences
    )
    assert compare(prefill(4608), behind).verdict == "refused"
    assert compare(prefill(512, 4096), behind).verdict != "refused"
    assert compare(prefill(512), prefill(512)).verdict != "refused"


def test_disaggregated_systems_count_all_their_accelerators() -> None:
    """8 that prefill and 16 that decode are 24: per accelerator against 8 plain ones."""
    pools = {"prefill_accelerators": 8, "decode_accelerators": 16}
    split = side(
        "split",
        {"value": "2400", "as_published": "2,400"},
        deployment=pools,
        system={"accelerator_count": 24},
    )
    plain = side("plain", {"value": "600", "as_published": "600"}, system={"accelerator_count": 8})
    found = compare(split, plain)
    assert found.ratio is not None
    assert round(found.ratio, 4) == round(Decimal(100) / Decimal(75), 4)
    assert found.basis == "per accelerator: 2400 tok/s / 24 accelerators against 600 tok/s / 8 accelerators"


def test_a_share_is_compared_with_a_whole_per_accelerator() -> None:
    """A published figure per accelerator stands as it is; the system's is divided."""
    share = side("share", {"metric": "tok_s_per_accelerator", "value": "100", "as_published": "100"})
    whole = side("whole", {"value": "400", "as_published": "400"}, system={"accelerator_count": 8})
    assert compare(share, whole).ratio == 2
    unknown = side("unknown", {"value": "400", "as_published": "400"}, system={"accelerator_count": None})
    refused = compare(share, unknown)
    assert refused.refused == (
        "benchmarks/unknown#decode-prose-1 cannot be given per accelerator: the number of accelerators is not stated",
    )


def test_a_node_is_not_the_system() -> None:
    """A result of fewer accelerators than the system has is divided by those that it used."""
    node = side(
        "node",
        {"value": "400", "as_published": "400", "at": {**LOAD, "accelerators": 4}},
        system={"accelerator_count": 8},
    )
    whole = side("whole", {"value": "400", "as_published": "400"}, system={"accelerator_count": 8})
    assert compare(node, whole).ratio == 2


def test_a_pool_is_not_the_system() -> None:
    """The decode pool alone is faster per accelerator than a system that needs a prefill pool beside it."""
    pools = {"prefill_accelerators": 8, "decode_accelerators": 16}
    share = {"metric": "tok_s_per_accelerator", "value": "100", "as_published": "100"}
    pool = side(
        "pool",
        {**share, "at": {**LOAD, "accelerators": 16}},
        deployment=pools,
        system={"accelerator_count": 24},
    )
    found = compare(pool, side("plain", share, system={"accelerator_count": 8}))
    assert found.refused == (
        "another part of the system: the decode pool of a disaggregated system against all that serve",
    )
    assert pool.facts.why_not.startswith("it is of the decode pool")


@pytest.mark.parametrize("metric", ["tpot_ms", "itl_ms", "ttft_ms"])
def test_a_latency_depends_on_the_load(metric: str) -> None:
    """At another concurrency, and at another request rate, a latency is another."""
    latency = {"metric": metric, "statistic": "mean"}
    at_one = side("a", {**latency, "at": {**LOAD, "concurrency": 1}})
    assert "another concurrency: 1 against 64" in compare(at_one, side("b", latency)).refused
    slow = side("c", {**latency, "at": {**LOAD, "concurrency": None, "request_rate_req_s": "30"}})
    fast = side("d", {**latency, "at": {**LOAD, "concurrency": None, "request_rate_req_s": "60"}})
    assert "another request rate: 30 against 60" in compare(slow, fast).refused


def test_only_what_adds_up_is_shared_out() -> None:
    """Energy per token of a larger system, or its error ratio, is not divided by its accelerators."""
    energy = {"metric": "energy_j_per_tok", "value": "10", "as_published": "10"}
    assert (
        compare(
            side("a", energy, system={"accelerator_count": 4}),
            side("b", energy, system={"accelerator_count": 2}),
        ).ratio
        == 1
    )
    one = side("c", {"metric": "power_w", "value": "300", "as_published": "300", "at": {"interval": "run"}})
    assert (
        compare(
            one,
            side(
                "d",
                {
                    "metric": "system_power_w",
                    "value": "3000",
                    "as_published": "3000",
                    "at": {"interval": "run"},
                },
            ),
        ).verdict
        == "refused"
    )


def test_decoding_depends_on_the_context() -> None:
    """2K and 32K of context are two speeds."""
    user = {"metric": "tok_s_per_user"}
    found = compare(side("a", user), side("b", {**user, "at": {**LOAD, "input_tok": 32768}}))
    assert found.refused == ("another input length: 2,048 against 32,768",)


def test_a_throughput_from_the_cache_is_another() -> None:
    """Where both say what the cache held, that has to agree; silence is no reservation."""
    warm, cold = ({"at": {**LOAD, "prefix_cache": state}} for state in ("warm", "cold"))
    assert compare(side("a", warm), side("b", cold)).refused == ("another cache state: warm against cold",)
    assert against(warm).verdict == "comparable"


def test_words_that_may_mean_one_thing_are_not_refused() -> None:
    """fp8 may be fp8_e4m3, a single run is a small sample of a median, and what nobody proved may be cold."""
    assert against(model={"weight_dtype": "fp8"}).verdict == "comparable"
    assert against({"statistic": "single"}).reservations == ("one of the two is a single run",)
    assert (
        compare(side("a", {"statistic": "median"}), side("b", {"statistic": "p50"})).verdict == "comparable"
    )
    prefill = {
        "metric": "prefill_tok_s",
        "at": {"concurrency": 1, "input_tok": 8192, "prefix_cache": "unproven"},
    }
    cold = {**prefill, "at": {"concurrency": 1, "input_tok": 8192, "prefix_cache": "cold"}}
    found = compare(side("a", prefill), side("b", cold))
    assert found.reservations == ("benchmarks/a#decode-prose-1 does not state the cache state",)


def test_what_is_not_stated_is_a_reservation() -> None:
    """Nobody can say that lengths agree where one source is silent."""
    found = against({"at": {**LOAD, "input_tok": None}, "statistic": None})
    assert found.verdict == "with_reservations"
    assert "benchmarks/other#decode-prose-1 does not state the input length" in found.reservations
    assert "one of the two does not say which statistic it is" in found.reservations
    assert found.ratio == 1


def test_a_throughput_may_choose_its_load_and_a_user_may_not() -> None:
    """A throughput's load may be near with a reservation, and not far; a user's speed depends on how many there are."""
    near = against({"at": {**LOAD, "concurrency": 128}})
    assert near.reservations == ("the concurrency is near and not equal: 64 against 128",)
    far = against({"at": {**LOAD, "concurrency": 129}})
    assert far.refused == ("another concurrency: 64 against 129",)
    user = {"metric": "tok_s_per_user"}
    found = compare(side("a", user), side("b", {**user, "at": {**LOAD, "concurrency": 128}}))
    assert found.refused == ("another concurrency: 64 against 128",)


def test_the_load_of_a_larger_system_may_be_as_much_larger() -> None:
    """64 requests on 8 accelerators are as 512 on 64, and 64 on both is one load too; 512 on 8 is another."""

    def of(concurrency: int, accelerators: int) -> Side:
        at = {**LOAD, "concurrency": concurrency, "accelerators": accelerators}
        return side(f"c{concurrency}", {"at": at})

    base = side("base", {"at": {**LOAD, "concurrency": 64, "accelerators": 2}})
    assert compare(base, of(256, 8)).verdict == "comparable"
    assert compare(base, of(64, 8)).verdict == "comparable"
    assert compare(base, of(384, 8)).reservations == (
        "the concurrency is near and not equal: 64 on 2 accelerators against 384 on 8",
    )
    assert compare(base, of(1024, 8)).refused == (
        "another concurrency: 64 on 2 accelerators against 1,024 on 8",
    )


def test_a_rate_says_more_of_a_load_than_a_cap_on_requests() -> None:
    """Where both tell the offered rate, their caps on requests in flight matter no more."""

    def at_rate(rate: str, concurrency: int) -> Side:
        return side(f"r{rate}", {"at": {**LOAD, "request_rate_req_s": rate, "concurrency": concurrency}})

    assert compare(at_rate("2.5", 64), at_rate("2.50", 512)).verdict == "comparable"
    assert compare(at_rate("2.5", 64), at_rate("5.1", 64)).refused == (
        "another request rate: 2.5 against 5.1",
    )


def test_a_pool_alone_stands_beside_its_like_alone() -> None:
    """A node that decodes is no node that serves, and has no figure per accelerator of the system, whatever its size."""
    whole = side("whole", {"at": {**LOAD, "accelerators": 8}})
    node = side("node", {"at": {**LOAD, "accelerators": 8, "pool": "decode"}})
    assert compare(whole, node).refused == (
        "another part of the system: all that serve against the decode pool of a disaggregated system",
    )
    assert not node.facts.per_accelerator
    assert "of the decode pool" in node.facts.why_not
    assert compare(node, node).verdict == "comparable"


def test_lengths_within_a_template_are_one_length() -> None:
    """2,048 and 2,100 tokens differ by what a chat template adds."""
    assert against({"at": {**LOAD, "input_tok": 2100}}).verdict == "comparable"


def test_what_is_compared_is_listed() -> None:
    """Hardware, engine and layout may differ: that is the question."""
    found = against(
        system={"power_limit_w": "300", "power_limit_as_published": "300 W"}, engine={"version": "9.9"}
    )
    assert {each.what for each in found.differences} >= {"Power limit, W", "Engine version"}
    assert all(each.one != each.other for each in found.differences)


def test_order_turns_the_ratio_alone() -> None:
    """Whichever comes first, the verdict is the same."""
    a, b = side("a"), side("b", {"value": "46.95", "as_published": "46.95"})
    there, back = compare(a, b), compare(b, a)
    assert there.ratio is not None
    assert back.ratio is not None
    assert there.ratio * back.ratio == 1
    assert there.verdict == back.verdict


def test_p99_is_not_p90() -> None:
    """A 99th percentile was published as the 90th: the two are two statistics, whatever else agrees."""
    ttft = {"metric": "ttft_ms", "at": {**LOAD, "prefix_cache": "cold"}}
    found = compare(side("a", {**ttft, "statistic": "p99"}), side("b", {**ttft, "statistic": "p90"}))
    assert found.refused == ("another statistic: p99 against p90",)


def test_a_valid_zero_is_a_figure() -> None:
    """No errors is a result: it is compared, and has no ratio where it would divide."""
    errors = {"metric": "error_ratio", "at": LOAD}
    none = side("none", {**errors, "value": "0", "as_published": "0"})
    some = side("some", {**errors, "value": "0.02", "as_published": "2 %"})
    assert compare(none, some).ratio == 0
    found = compare(some, none)
    assert found.ratio is None
    assert found.sentence.startswith("Comparable")
