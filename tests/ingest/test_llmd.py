"""The llm-d Benchmark Report, read and written."""

import json
from copy import deepcopy
from decimal import Decimal
from typing import Any

import pytest

from kbtool.ingest import IngestError, read, report_json, report_yaml, to_records, write_reports
from tests.ingest.files import data_of, figures, given, imported, reasons


def report(tool: str, **latency: Any) -> dict[str, Any]:
    """Return a small report as another program would write it."""
    return {
        "version": "0.2.1",
        "run": {"uid": "x", "time": {"start": "2026-11-29T20:14:24Z"}},
        "scenario": {
            "load": {
                "metadata": {},
                "native": {},
                "standardized": {
                    "tool": tool,
                    "tool_version": "1.0",
                    "source": "random",
                    "concurrency": 8,
                    "input_seq_len": {"distribution": "fixed", "value": 1024},
                    "output_seq_len": {"distribution": "fixed", "value": 128},
                },
            }
        },
        "results": {
            "request_performance": {
                "aggregate": {
                    "requests": {"total": 10, "failures": 1},
                    "latency": {"time_to_first_token": {"units": "s", "mean": 0.25, "p99": 0.5}, **latency},
                    "throughput": {"output_token_rate": {"units": "tokens/s", "mean": 512.5}},
                }
            }
        },
    }


def test_yaml_of_another_program_is_read() -> None:
    """Long floats, `.inf` and folded text of a YAML dump are read, digit for digit."""
    found = figures(imported("llmd-report.yaml"))
    assert found["ttft_ms", "p50"] == Decimal("1119.267108000")
    assert found["output_tok_s", "single"] == Decimal("20.568771265")
    assert imported("llmd-report.yaml").measurements[0].at.request_rate_req_s is None


def test_json_in_seconds_is_read() -> None:
    """Units are those of the report; fixed lengths and failures become conditions and a ratio."""
    result = imported(report("vllm-benchmark"))
    found, at = figures(result), result.measurements[0].at
    assert found["ttft_ms", "mean"] == 250
    assert found["error_ratio", "single"] == Decimal("0.1")
    assert (at.concurrency, at.input_tok, at.output_tok, at.prompt_class) == (8, 1024, 128, "random_tokens")
    assert result.client == "vllm-bench"


@pytest.mark.parametrize(
    ("tool", "metric"),
    [("vllm-benchmark", "icl_ms"), ("guidellm", "tpot_ms"), ("aiperf", "tpot_ms"), ("inference-perf", "itl_ms"), ("kbtool bench", "itl_ms")],
)  # fmt: skip
def test_itl_means_what_the_tool_means(tool: str, metric: str) -> None:
    """One word of the report stands for three quantities, by the tool that measured."""
    result = imported(report(tool, inter_token_latency={"units": "ms/token", "mean": 20.5}))
    assert figures(result)[metric, "mean"] == Decimal("20.5")


def test_itl_of_an_unknown_tool_is_refused() -> None:
    """Nobody can say what it counts."""
    result = imported(report("somebench", inter_token_latency={"units": "ms/token", "mean": 20.5}))
    assert any("inter_token_latency" in each for each in reasons(result, "refused"))


def test_other_version_or_unit_is_refused() -> None:
    """A report that this reader does not know is not guessed at."""
    with pytest.raises(IngestError, match=r"version: '0.1'; expected 0.2"):
        imported(report("guidellm") | {"version": "0.1"})
    wrong = report("guidellm", request_latency={"units": "fortnights", "mean": 1})
    with pytest.raises(IngestError, match=r"request_latency\.units: text 'fortnights'"):
        imported(wrong)


def stack(**parallelism: int) -> dict[str, Any]:
    """Return a report with one engine."""
    value = report("vllm-benchmark")
    engine = {
        "kind": "inference_engine", "tool": "vllm", "tool_version": "0.32.0", "role": "replica", "replicas": 2,
        "model": {"name": "example/model"},
        "accelerator": {"model": "H100", "count": 8, "parallelism": parallelism},
    }  # fmt: skip
    value["scenario"]["stack"] = [
        {"metadata": {"label": "a", "cfg_id": "b"}, "native": {}, "standardized": engine}
    ]
    return value


def test_layout_of_one_engine_is_taken() -> None:
    """Version, count and ranks become facts; data parallelism only where it can mean one thing."""
    facts = {each.field: each.value for each in imported(stack(tp=4, pp=1, dp=1)).facts}
    assert facts["engine.version"] == "0.32.0"
    assert facts["system.accelerator_count"] == 8
    assert (facts["deployment.tp"], facts["deployment.dp"], facts["deployment.instances"]) == (4, 1, 2)
    result = imported(stack(tp=4, dp=2))
    assert "deployment.dp" not in {each.field for each in result.facts}
    assert "own accelerators" in reasons(result, "refused")["parallelism.dp"]


def test_prefill_and_decode_engines_have_no_one_layout() -> None:
    """Of two engines none stands for the system."""
    value = stack(tp=4)
    value["scenario"]["stack"] *= 2
    assert "2 inference engines" in reasons(imported(value), "flagged")["scenario.stack"]


@pytest.mark.parametrize(
    "name", ["guidellm.json", "inference-perf.json", "sglang-bench.jsonl", "llmd-report.yaml"]
)
@pytest.mark.parametrize("form", ["json", "yaml"])
def test_what_is_written_is_read_back(name: str, form: str) -> None:
    """Every figure that a report has a word for comes back as it was."""
    benchmark, _ = to_records(imported(name), given())
    (written,) = write_reports(benchmark)
    data = report_json(written) if form == "json" else report_yaml(written)
    back = figures(read(None, data, f"report.{form}"))
    assert {metric for metric, _ in back} >= {"ttft_ms", "tpot_ms", "e2el_ms", "output_tok_s", "req_s"}
    before = figures(imported(name))
    assert {key: before[key] for key in back} == back


def test_chunk_gaps_are_not_written_as_token_gaps() -> None:
    """The report's ITL is one of tokens; what it has no word for is named."""
    benchmark, _ = to_records(imported("sglang-bench.jsonl"), given())
    (written,) = write_reports(benchmark)
    assert "inter_token_latency" not in report_json(written).decode()
    assert any(each.startswith("icl-ms-mean: gaps between chunks") for each in written.not_written)
    assert any(
        each.startswith("acceptance-length-mean: the report has no word") for each in written.not_written
    )


def test_nothing_unknown_is_filled_in() -> None:
    """Without count and layout the engine is written in the schema's free kind, not as one of a single rank."""
    benchmark, _ = to_records(imported("guidellm.json"), given())
    component = json.loads(report_json(write_reports(benchmark)[0]))["scenario"]["stack"][0]["standardized"]
    assert component["kind"] == "generic"
    assert "parallelism" not in json.dumps(component)


def test_full_layout_is_written_as_an_engine() -> None:
    """With count, instances and all ranks the engine's own kind is used."""
    result = imported(stack(tp=4, pp=1, dp=1, ep=1))
    component = json.loads(report_json(write_reports(to_records(result, given())[0])[0]))["scenario"][
        "stack"
    ][0]
    assert component["standardized"]["accelerator"] == {
        "model": "H100", "count": 8, "parallelism": {"tp": 4, "pp": 1, "dp": 1, "ep": 1},
    }  # fmt: skip


def test_each_load_is_a_report_of_its_own() -> None:
    """A report holds one set of conditions; a latency without a mean is not written, because the schema asks for one."""
    value = deepcopy(json.loads(data_of("guidellm.json")))
    second = deepcopy(value["benchmarks"][0])
    second["config"]["strategy"] = {"type_": "poisson", "rate": 2.5}
    value["benchmarks"].append(second)
    benchmark, _ = to_records(imported(value), given(statistics=frozenset({"single", "p50"})))
    written = write_reports(benchmark)
    loads = [json.loads(report_json(each))["scenario"]["load"]["standardized"] for each in written]
    assert [(each.get("concurrency"), each.get("rate_qps")) for each in loads] == [(16, None), (None, 2.5)]
    assert (
        "time_to_first_token: the report requires a mean, and the record has none" in written[0].not_written
    )


def test_same_record_gives_the_same_report() -> None:
    """Nothing in a report comes from a clock or a random number."""
    benchmark, _ = to_records(imported("guidellm.json"), given())
    assert report_json(write_reports(benchmark)[0]) == report_json(write_reports(benchmark)[0])
