"""Each reader against a real file of its tool: the figures are those of the file, under the right names."""

import json
from copy import deepcopy
from decimal import Decimal
from typing import Any, Final

import pytest

from kbtool.ingest import detect, read
from tests.ingest.files import NAMES, data_of, figures, imported, reasons, value_of

TOOLS: Final = {
    "aiperf-records.jsonl": "aiperf",
    "aiperf.json": "aiperf",
    "ds4-bench.csv": "ds4-bench",
    "evalscope.json": "evalscope",
    "guidellm.json": "guidellm",
    "inference-perf-requests.json": "inference-perf",
    "inference-perf.json": "inference-perf",
    "llama-bench.json": "llama-bench",
    "llama-bench.md": "llama-bench",
    "llmd-report.yaml": "llmd-report",
    "sglang-bench.jsonl": "sglang-bench",
    "vllm-bench-detailed.json": "vllm-bench",
    "vllm-bench-ngram.json": "vllm-bench",
}


def stats(metric: str, prefix: str, suffix: str = "", **words: str) -> list[tuple[str, str, str]]:
    """Return metric, statistic and path of each statistic of one word of a tool."""
    return [(metric, statistic, f"{prefix}{word}{suffix}") for statistic, word in words.items()]


_GUIDELLM: Final = "benchmarks/0/metrics/"
_AIPERF: Final = {each: each for each in ("p50", "p90", "p95", "p99", "min", "max")} | {"mean": "avg"}
_IPERF: Final = {each: each for each in ("mean", "p90", "p95", "p99", "min", "max")} | {"p50": "median"}
GOLDEN: Final[dict[str, list[tuple[str, str, str]]]] = {
    "vllm-bench-detailed.json": [
        *stats("ttft_ms", "", "_ttft_ms", mean="mean", p50="p50", p90="p90", p99="p99"),
        *stats("tpot_ms", "", "_tpot_ms", mean="mean", p50="p50", p90="p90", p99="p99"),
        *stats("icl_ms", "", "_itl_ms", mean="mean", p50="p50", p90="p90", p99="p99"),
        *stats("e2el_ms", "", "_e2el_ms", mean="mean", p50="p50", p90="p90", p99="p99"),
        ("req_s", "single", "request_throughput"),
        ("output_tok_s", "single", "output_throughput"),
        ("total_tok_s", "single", "total_token_throughput"),
    ],
    "vllm-bench-ngram.json": [
        *stats("icl_ms", "", "_itl_ms", mean="mean", p99="p99"),
        ("acceptance_length", "mean", "spec_decode_acceptance_length"),
        ("acceptance_ratio", "mean", "spec_decode_acceptance_rate/-2"),
        ("output_tok_s", "single", "output_throughput"),
    ],
    "sglang-bench.jsonl": [
        *stats("ttft_ms", "", "_ttft_ms", mean="mean", p50="median", p90="p90", p95="p95", p99="p99"),
        *stats("e2el_ms", "", "_e2e_latency_ms", mean="mean", p50="median", p99="p99"),
        *stats("tpot_ms", "", "_tpot_ms", mean="mean", p50="median", p99="p99"),
        *stats("icl_ms", "", "_itl_ms", mean="mean", p50="median", p95="p95", p99="p99"),
        ("input_tok_s", "single", "input_throughput"),
        ("output_tok_s", "single", "output_throughput"),
        ("total_tok_s", "single", "total_throughput"),
        ("acceptance_length", "mean", "accept_length"),
    ],
    "guidellm.json": [
        *stats("ttft_ms", f"{_GUIDELLM}time_to_first_token_ms/successful/", mean="mean", min="min", max="max"),
        *stats("ttft_ms", f"{_GUIDELLM}time_to_first_token_ms/successful/percentiles/", p50="p50", p90="p90", p99="p99"),
        *stats("tpot_ms", f"{_GUIDELLM}inter_token_latency_ms/successful/", mean="mean", max="max"),
        *stats("normalized_tpot_ms", f"{_GUIDELLM}time_per_output_token_ms/successful/", mean="mean", p50="median"),
        ("e2el_ms", "mean", f"{_GUIDELLM}request_latency/successful/mean/3"),
        ("output_tok_s", "single", f"{_GUIDELLM}output_tokens_per_second/successful/mean"),
        ("total_tok_s", "single", f"{_GUIDELLM}tokens_per_second/successful/mean"),
        ("input_tok_s", "single", f"{_GUIDELLM}prompt_tokens_per_second/successful/mean"),
        ("req_s", "single", f"{_GUIDELLM}requests_per_second/successful/mean"),
    ],
    "aiperf.json": [
        *stats("ttft_ms", "time_to_first_token/", **_AIPERF),
        *stats("e2el_ms", "request_latency/", **_AIPERF),
        *stats("icl_ms", "inter_chunk_latency/", **_AIPERF),
        *stats("tpot_ms", "inter_token_latency/", **_AIPERF),
        *stats("tok_s_per_user", "output_token_throughput_per_user/", **_AIPERF),
        ("output_tok_s", "single", "output_token_throughput/avg"),
        ("req_s", "single", "request_throughput/avg"),
    ],
    "inference-perf.json": [
        *stats("ttft_ms", "successes/latency/time_to_first_token/", "/3", **_IPERF),
        *stats("e2el_ms", "successes/latency/request_latency/", "/3", **_IPERF),
        *stats("tpot_ms", "successes/latency/time_per_output_token/", "/3", **_IPERF),
        *stats("normalized_tpot_ms", "successes/latency/normalized_time_per_output_token/", "/3", **_IPERF),
        ("itl_ms", "mean", "successes/latency/inter_token_latency/mean/3"),
        ("output_tok_s", "single", "successes/throughput/output_tokens_per_sec"),
        ("total_tok_s", "single", "successes/throughput/total_tokens_per_sec"),
        ("input_tok_s", "single", "successes/throughput/input_tokens_per_sec"),
        ("req_s", "single", "successes/throughput/requests_per_sec"),
    ],
    "evalscope.json": [
        ("ttft_ms", "mean", "Avg TTFT (ms)"),
        ("tpot_ms", "mean", "Avg TPOT (ms)"),
        ("icl_ms", "mean", "Avg ITL (ms)"),
        ("e2el_ms", "mean", "Avg Latency (s)/3"),
        ("req_s", "single", "Req Throughput (req%s)"),
        ("output_tok_s", "single", "Output Throughput (tok%s)"),
    ],
}  # fmt: skip
"""Fixture -> metric, statistic, path of the figure; a number behind the path is a power of ten between the units."""


def _at_path(value: Any, path: str) -> Decimal:
    *parts, last = path.split("/")
    power = 0
    if last.lstrip("-").isdigit():
        power, last = int(last), parts.pop()
    for part in [*parts, last]:
        key = part.replace("%s", "/s")
        value = value[int(key)] if isinstance(value, list) else value[key]
    return Decimal(str(value)).scaleb(power)


@pytest.mark.parametrize("name", NAMES)
def test_detect_knows_each_file_by_its_keys(name: str) -> None:
    """Each file is taken by the reader of the tool that wrote it."""
    assert detect(data_of(name), name) == TOOLS[name]


@pytest.mark.parametrize("name", sorted(GOLDEN))
def test_figures_are_those_of_the_file(name: str) -> None:
    """Every figure equals the number of the file in the metric's unit."""
    value, found = value_of(name), figures(imported(name))
    for metric, statistic, path in GOLDEN[name]:
        assert found[metric, statistic] == _at_path(value, path), (metric, statistic)


@pytest.mark.parametrize("name", NAMES)
def test_each_figure_says_where_it_stands(name: str) -> None:
    """Every stated figure has its own place, and every derived one a formula with inputs."""
    for each in imported(name).measurements:
        assert each.place
        assert each.as_published.startswith(tuple("0123456789"))
        assert (each.basis == "derived") == bool(each.formula and each.inputs)


def test_seconds_are_published_as_seconds() -> None:
    """A figure keeps the digits and the unit of the file, and is converted without losing one."""
    first = next(each for each in imported("inference-perf.json").measurements if each.metric == "ttft_ms")
    assert (first.as_published, first.value) == ("0.214713 s", Decimal("214.713"))


def test_long_floats_are_rounded_and_say_so() -> None:
    """A float with more digits than a record holds is rounded, derived, and keeps the file's digits beside it."""
    first = imported("llmd-report.yaml").measurements[0]
    assert first.as_published == "1329.35550962506 ms"
    assert (str(first.value), first.basis) == ("1329.355509625", "derived")


@pytest.mark.parametrize(
    ("name", "concurrency", "output_tok", "day"),
    [
        ("vllm-bench-detailed.json", 16, 240, "2026-11-29"),
        ("sglang-bench.jsonl", 16, 240, None),
        ("guidellm.json", 16, 240, "2026-11-29"),
        ("aiperf.json", 16, 240, "2026-11-29"),
        ("evalscope.json", 16, 240, None),
        ("llmd-report.yaml", 4, 64, "2026-11-29"),
        ("inference-perf.json", None, 240, None),
    ],
)
def test_conditions_come_from_the_file(
    name: str, concurrency: int | None, output_tok: int, day: str | None
) -> None:
    """Load, length and day are those of the file, and nothing where it does not say."""
    result = imported(name)
    at = result.measurements[0].at
    assert (at.concurrency, at.output_tok) == (concurrency, output_tok)
    assert result.day is None if day is None else str(result.day) == day


def test_exact_length_needs_every_request() -> None:
    """A mean length is given in words; an exact one only where each request shows it."""
    value = value_of("vllm-bench-ngram.json")
    assert imported(value).measurements[0].at.input_nominal == "66 on average"
    value |= {"input_lens": [66] * 8, "output_lens": [64] * 8}
    at = imported(value).measurements[0].at
    assert (at.input_tok, at.input_nominal, at.output_tok) == (66, None, 64)


def test_lists_cut_short_are_not_used() -> None:
    """Two of 64 lengths say nothing about the rest, and the reader says so."""
    assert "2 entries for 64" in reasons(imported("vllm-bench-detailed.json"), "flagged")["input_lens"]


def test_percentile_without_samples_beyond_it_says_so() -> None:
    """The p99 of 64 requests is nearly their maximum."""
    found = {(each.metric, each.statistic): each.notes for each in imported("guidellm.json").measurements}
    assert found["ttft_ms", "p99"] == ("only 64 samples: fewer than 10 lie beyond the p99",)
    assert found["ttft_ms", "mean"] == ()


def test_llama_bench_speed_is_tokens_over_mean_time() -> None:
    """The mean of rates was 26 % above the rate of the mean time in this run; the latter is taken."""
    result = imported("llama-bench.json")
    first = result.measurements[0]
    assert first.metric == "prefill_tok_s"
    assert first.value == Decimal("2658.47")  # 512 tokens / 192.591893 ms
    assert first.repeats == 5
    assert first.stdev == Decimal("2032.354985")
    assert "3337.66" in first.notes[0]
    assert "mean of rates" in reasons(result, "converted")["avg_ts"]


def test_llama_bench_table_gives_what_it_prints() -> None:
    """Each row becomes the metric of its test, with the spread that the table prints."""
    result = imported("llama-bench.md")
    found = [
        (each.metric, str(each.value), str(each.stdev), each.at.input_tok, each.at.depth_tok)
        for each in result.measurements
    ]
    assert found == [
        ("prefill_tok_s", "3337.66", "2032.35", 512, None),
        ("tok_s_per_user", "631.30", "437.25", None, None),
        ("prefill_tok_s", "1200.00", "100.00", 512, 4096),
        ("tok_s_per_user", "310.50", "12.25", 4096, None),
        ("total_tok_s", "900.00", "50.00", 512, None),
    ]
    assert result.tool_version == "b11434 (1a2b3c4d)"


def test_llama_bench_refuses_one_time_of_prompt_and_answer_at_a_depth() -> None:
    """Input and output tokens behind a filled cache: no metric says the speed of that."""
    text = data_of("llama-bench.md").decode().replace("pp512+tg64", "pp512+tg64 @ d4096")
    result = imported_text(text)
    assert "total_tok_s" not in {each.metric for each in result.measurements}
    assert "behind a filled cache" in reasons(result, "refused")["row 5 pp512+tg64 @ d4096"]


def test_ds4_prefill_is_of_the_whole_prompt_and_of_each_interval_behind_it() -> None:
    """Three intervals of 2,048 tokens at 400, 320 and 256 tok/s read 6,144 tokens in 19.52 s: 314.754 tok/s."""
    result = imported("ds4-bench.csv")
    found = [
        (each.at.input_tok, each.at.depth_tok, str(each.value))
        for each in result.measurements
        if each.metric == "prefill_tok_s"
    ]
    assert found == [
        (2048, None, "400.00"),
        (4096, None, "355.556"), (2048, 2048, "320.00"),
        (6144, None, "314.754"), (2048, 4096, "256.00"),
    ]  # fmt: skip
    speeds = [str(each.value) for each in result.measurements if each.metric == "tok_s_per_user"]
    assert speeds == ["26.76", "26.52", "26.16"]


def test_ds4_rows_that_do_not_add_up_give_the_intervals_alone() -> None:
    """Where a walk begins behind a filled cache, the time of the whole prompt is not known."""
    lines = data_of("ds4-bench.csv").decode().splitlines()
    result = imported_text("\n".join([lines[0], *lines[2:]]))
    prefills = [each.at.depth_tok for each in result.measurements if each.metric == "prefill_tok_s"]
    assert prefills == [2048, 4096]
    assert "prefill_tps" in reasons(result, "refused")


def imported_text(text: str) -> Any:
    """Return what the text of a table says."""
    return read(None, text.encode(), "table.csv")


def test_aiperf_records_are_summed_up_here() -> None:
    """Mean, extremes and rates follow from the single requests; no percentile without samples beyond it."""
    line = value_of("aiperf-records.jsonl")
    lines = [_shifted(line, index) for index in range(30)]
    text = "\n".join(map(json.dumps, lines))
    found = figures(read(None, text.encode(), "profile_export.jsonl"))
    assert found["ttft_ms", "min"] == Decimal("233.122")
    assert found["ttft_ms", "max"] == Decimal("262.122")
    assert found["ttft_ms", "mean"] == Decimal("247.622")
    assert found["ttft_ms", "p50"] == Decimal("247.622")
    assert ("ttft_ms", "p90") not in found
    assert found["error_ratio", "single"] == Decimal(0)
    seconds = (
        Decimal(lines[0]["metadata"]["request_end_ns"] - lines[0]["metadata"]["request_start_ns"]) / 10**9
    )
    assert found["output_tok_s", "single"] == Decimal(f"{30 * 240 / seconds:.6g}")


def _shifted(line: Any, index: int) -> Any:
    copy = deepcopy(line)
    copy["metrics"]["time_to_first_token"]["value"] = round(233.122 + index, 3)
    return copy


def test_aiperf_record_of_the_warm_up_does_not_count() -> None:
    """Requests of another phase, cancelled ones and failed ones are in no statistic."""
    line = value_of("aiperf-records.jsonl")
    warm, failed = deepcopy(line), deepcopy(line)
    warm["metadata"]["benchmark_phase"] = "warmup"
    warm["metrics"]["time_to_first_token"]["value"] = 9000
    failed["error"] = {"type": "timeout"}
    result = read(None, "\n".join(map(json.dumps, (line, warm, failed))).encode(), "profile_export.jsonl")
    assert figures(result)["ttft_ms", "max"] == Decimal("233.122")
    assert figures(result)["error_ratio", "single"] == Decimal("0.5")
    assert "other phases" in reasons(result, "flagged")["benchmark_phase"]


def test_inference_perf_requests_give_gaps_between_chunks() -> None:
    """Time to first chunk, gaps and time per token follow from the chunk times and the server's usage."""
    entry = value_of("inference-perf-requests.json")[0]
    entry |= {"start_time": 100, "end_time": 101}
    entry["info"]["response_metrics"]["chunk_times"] = [100.2, 100.4, 100.6, 101]
    entry["info"]["response_metrics"]["server_usage"]["completion_tokens"] = 9
    result = imported([entry, entry])
    found = figures(result)
    assert found["ttft_ms", "mean"] == 200
    assert found["icl_ms", "max"] == 400
    assert found["tpot_ms", "mean"] == 100
    assert found["output_tok_s", "single"] == 18
    assert result.measurements[0].at.prefix_cache == "cold"
    assert result.measurements[0].at.cache_proof == ("cached_tokens_zero",)
