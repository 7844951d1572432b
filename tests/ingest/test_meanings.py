"""Where a tool's word means something else than ours: converted, refused or flagged, and said so."""

from copy import deepcopy
from decimal import Decimal
from typing import Any, Final

import pytest

from kbtool.ingest import Imported
from tests.ingest.files import figures, imported, reasons, value_of

REFUSED: Final = {
    "vllm-bench-ngram.json": {"request_goodput", "max_output_tokens_per_s"},
    "sglang-bench.jsonl": {"[0].max_output_tokens_per_s"},
    "evalscope.json": {"Input Throughput (tok/s)", "Avg Decoded Tok/Iter", "Spec. Accept Rate"},
    "inference-perf.json": {
        f"successes.latency.inter_token_latency.{key}"
        for key in ("median", "p90", "p95", "p99", "min", "max")
    },
}


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_refused_is_exactly_this(name: str) -> None:
    """What would say something false is refused, and nothing else is."""
    assert set(reasons(imported(name), "refused")) == REFUSED[name]


@pytest.mark.parametrize(
    ("name", "word", "metric"),
    [
        ("vllm-bench-detailed.json", "itl", "icl_ms"),
        ("sglang-bench.jsonl", "itl", "icl_ms"),
        ("evalscope.json", "Avg ITL (ms)", "icl_ms"),
        ("guidellm.json", "inter_token_latency_ms", "tpot_ms"),
        ("guidellm.json", "time_per_output_token_ms", "normalized_tpot_ms"),
        ("aiperf.json", "inter_token_latency", "tpot_ms"),
        ("llmd-report.yaml", "inter_token_latency", "icl_ms"),
        ("ds4-bench.csv", "gen_tps", "tok_s_per_user"),
        ("llama-bench.json", "pp512", "prefill_tok_s"),
    ],
)
def test_converted_word_says_which_metric_and_why(name: str, word: str, metric: str) -> None:
    """A word that means another of our metrics is taken under that one, with the reason."""
    found = {each.word: each for each in imported(name).conversions if each.outcome == "converted"}
    assert found[word].metric == metric
    assert found[word].reason


@pytest.mark.parametrize("name", ["vllm-bench-detailed.json", "sglang-bench.jsonl", "guidellm.json", "evalscope.json", "aiperf.json"])  # fmt: skip
def test_no_chunk_or_mean_is_called_itl(name: str) -> None:
    """None of these tools measures gaps between tokens, whatever it calls them."""
    assert not [each for each in imported(name).measurements if each.metric == "itl_ms"]


def vllm(**changes: Any) -> Imported:
    """Return the reading of a changed result of vllm bench."""
    return imported(value_of("vllm-bench-ngram.json") | changes)


def test_vllm_role_chunk_is_told_by_the_first_gap() -> None:
    """Two first gaps of microseconds show that the role chunk was counted as a token."""
    flagged = [each.reason for each in imported("vllm-bench-detailed.json").conversions if each.word == "itl"]
    assert any("role chunk and first token came together" in each for each in flagged)


def test_vllm_rate_is_not_a_concurrency() -> None:
    """At a request rate the client's cap is no number of requests in flight."""
    at = vllm(request_rate=2.5).measurements[0].at
    assert (at.concurrency, at.request_rate_req_s) == (None, Decimal("2.5"))
    assert "max_concurrency" in reasons(vllm(request_rate=2.5), "flagged")


def test_vllm_burst_has_no_concurrency() -> None:
    """Without rate and cap everything is sent at once: there is no load to compare with."""
    result = vllm(max_concurrency=None)
    assert result.measurements[0].at.concurrency is None
    assert "at once" in reasons(result, "flagged")["request_rate"]


def test_vllm_failures_become_a_ratio() -> None:
    """Two of eight requests that failed are a quarter, and requests that vanished are flagged."""
    result = vllm(completed=6, failed=2)
    assert figures(result)["error_ratio", "single"] == Decimal("0.25")
    assert "num_prompts" in reasons(vllm(completed=5, failed=1), "flagged")


def test_vllm_acceptance_without_bonus_token_is_flagged() -> None:
    """1 + accepted / drafts must be the length; else the bonus token may be missing."""
    assert "spec_decode_acceptance_length" not in reasons(vllm(), "flagged")
    found = reasons(vllm(spec_decode_acceptance_length=1.93), "flagged")
    assert "bonus token" in found["spec_decode_acceptance_length"]


def test_vllm_zero_throughput_is_no_result() -> None:
    """A throughput of 0 is a failed run."""
    assert "output_throughput" in reasons(vllm(output_throughput=0.0), "refused")


def sglang(**changes: Any) -> Imported:
    """Return the reading of a changed result of SGLang's benchmark."""
    return imported([value_of("sglang-bench.jsonl") | changes])


def test_sglang_requested_length_is_flagged() -> None:
    """Answers of exactly the length asked for may never have been counted."""
    found = reasons(sglang(), "flagged")["total_output_tokens"]
    assert "without usage this tool counts the requested length" in found


def test_sglang_count_that_the_text_contradicts_is_flagged() -> None:
    """512 tokens where the text has 320 is the length asked for, not the one that came."""
    result = sglang(
        completed=8, total_output_tokens=512, random_output_len=64, total_output_tokens_retokenized=320
    )
    assert "ratio 1.6" in reasons(result, "flagged")["total_output_tokens"]
    noted = [each for each in result.measurements if each.metric in {"output_tok_s", "tpot_ms"}]
    assert all(any("320" in note for note in each.notes) for each in noted)


def test_sglang_divided_gaps_are_refused() -> None:
    """With an acceptance length of 3, gaps as short as TPOT were divided by the client."""
    result = sglang(mean_itl_ms=6.62)
    assert not [each for each in result.measurements if each.metric == "icl_ms"]
    assert "[0].mean_itl_ms" in reasons(result, "refused")


def test_sglang_gaps_without_speculation_are_chunks() -> None:
    """One token a chunk: gaps near TPOT are gaps between chunks."""
    assert figures(sglang(mean_itl_ms=6.62, accept_length=None))["icl_ms", "mean"] == Decimal("6.62")


@pytest.mark.parametrize(("attention", "fields"), [(False, {"deployment.dp": 4}), (True, {"deployment.attn_dp": 4, "deployment.dp": 1})])  # fmt: skip
def test_sglang_dp_is_ours_only_without_dp_attention(attention: bool, fields: dict[str, int]) -> None:
    """Ranks of attention data parallelism own no accelerators, and are another field."""
    info = {"tp_size": 8, "dp_size": 4, "enable_dp_attention": attention}
    found = {each.field: each.value for each in sglang(server_info=info).facts}
    assert {key: found[key] for key in found if "dp" in key} == fields


def test_sglang_server_information_becomes_setup() -> None:
    """Settings with a field of their own are facts; others that change speed are arguments in force; a path is neither."""
    info = {
        "version": "0.5.23", "tp_size": 4, "kv_cache_dtype": "fp8_e4m3", "disable_radix_cache": True,
        "disable_cuda_graph": False, "speculative_algorithm": "EAGLE3", "speculative_num_draft_tokens": 4,
        "mem_fraction_static": 0.85, "schedule_policy": "fcfs", "model_path": "/models/secret-name", "api_key": "sk-x",
    }  # fmt: skip
    result = sglang(server_info=info)
    found = {each.field: each.value for each in result.facts}
    assert found["engine.version"] == "0.5.23"
    assert found["serving.kv_cache_dtype"] == "fp8_e4m3"
    assert found["serving.prefix_caching"] is False
    assert found["serving.cuda_graph_decode"] is True
    assert found["serving.memory_fraction"] == Decimal("0.85")
    assert found["speculation.method"] == "eagle3"
    assert found["speculation.verify_rows"] == 4
    assert found["engine.arguments.schedule_policy"] == "fcfs"
    assert found["engine.arguments_basis"] == "in_force"
    assert "secret-name" not in repr(result)
    assert "sk-x" not in repr(result)


def guidellm(**metrics: Any) -> Imported:
    """Return the reading of a changed report of guidellm."""
    value = deepcopy(value_of("guidellm.json"))
    value["benchmarks"][0]["metrics"] |= metrics
    return imported(value)


def test_guidellm_load_not_reached_is_flagged() -> None:
    """A client that keeps 10 of 16 requests in flight measures another load than it says."""
    result = guidellm(request_concurrency={"successful": {"mean": 9.8, "count": 64}})
    assert "9.8 requests in flight" in reasons(result, "flagged")["request_concurrency"]


def test_guidellm_sweep_gives_each_benchmark_its_conditions() -> None:
    """Two benchmarks of one file are two loads, never one."""
    value = deepcopy(value_of("guidellm.json"))
    other = deepcopy(value["benchmarks"][0])
    other["config"]["strategy"] = {"type_": "constant", "rate": 2.5}
    value["benchmarks"].append(other)
    seen = {(each.at.concurrency, each.at.request_rate_req_s) for each in imported(value).measurements}
    assert seen == {(16, None), (None, Decimal("2.5"))}


def aiperf(**changes: Any) -> Imported:
    """Return the reading of a changed summary of aiperf."""
    return imported(deepcopy(value_of("aiperf.json")) | changes)


def test_aiperf_wrong_count_refuses_what_rests_on_it() -> None:
    """Where usage counts 14.7 % fewer tokens, throughput follows usage, and figures per token are refused."""
    counts = {"unit": "tokens", "avg": 209.2, "min": 200.0, "max": 220.0, "sum": 13392.0}
    result = aiperf(usage_completion_tokens=counts)
    found = figures(result)
    assert found["output_tok_s", "single"] == Decimal("1817.31")  # 13,392 / 7.36913 s
    assert not {metric for metric, _ in found} & {"tpot_ms", "tok_s_per_user"}
    assert {"inter_token_latency", "output_token_throughput"} <= set(reasons(result, "refused"))


def test_aiperf_count_without_usage_is_flagged() -> None:
    """Tokens that only the client counted are a doubt that travels with each figure."""
    value = value_of("aiperf.json")
    del value["usage_completion_tokens"]
    result = imported(value)
    assert "14.7 %" in reasons(result, "flagged")["output_sequence_length"]
    assert all(
        "14.7" in " ".join(each.notes) for each in result.measurements if each.metric == "output_tok_s"
    )
    value["run_info"]["cli_command"] += " --use-server-token-count"
    assert "output_sequence_length" not in reasons(imported(value), "flagged")


def inference_perf(change: Any) -> Imported:
    """Return the reading of a summary of inference-perf after `change` was applied to it."""
    value = deepcopy(value_of("inference-perf.json"))
    change(value)
    return imported(value)


def test_inference_perf_gaps_without_zeros_are_all_taken() -> None:
    """One token a chunk: the percentiles are those of gaps between tokens."""

    def change(value: Any) -> None:
        value["successes"]["latency"]["inter_token_latency"] |= {"min": 0.005, "median": 0.0066}

    found = figures(inference_perf(change))
    assert found["itl_ms", "p50"] == Decimal("6.6")
    assert found["itl_ms", "max"] == Decimal("119.94")


def test_inference_perf_wrong_count_refuses_what_rests_on_it() -> None:
    """Where the server counted fewer tokens, throughput follows the server, and TPOT is refused."""

    def change(value: Any) -> None:
        value["successes"]["output_tokens"]["total"] = 14100.0

    result = inference_perf(change)
    assert figures(result)["output_tok_s", "single"] == Decimal("1901.25")  # 14,100 / 7.41616 s
    assert "successes.latency.time_per_output_token" in reasons(result, "refused")


def test_evalscope_unstreamed_requests_have_no_first_token() -> None:
    """Without streaming, TTFT is the whole latency: it is refused."""
    result = imported(value_of("evalscope.json") | {"Non-Stream Requests": 64})
    assert {metric for metric, _ in figures(result)} >= {"e2el_ms", "output_tok_s"}
    assert "Avg TTFT (ms)" in reasons(result, "refused")


def test_llama_bench_of_two_setups_is_refused() -> None:
    """A record holds one setup: tests with other settings are not mixed into it."""
    value = value_of("llama-bench.json")
    value[1]["n_batch"] = 512
    with pytest.raises(Exception, match=r"other settings than the first test \(n_batch\)"):
        imported(value)
