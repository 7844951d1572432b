"""InferenceX aggregates: seconds, denominators that differ, and statistics that do not turn over."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from kbtool.ingest import Catalogue, Drafts, File, IngestError, Origin, record_text
from kbtool.ingest.inferencex import drafts, wanted
from kbtool.lint import check
from kbtool.schema import Benchmark, Source
from tests.ingest.mlperf_samples import ORIGIN, catalogue, write_things
from tests.lint.projects import write

WHERE = Origin(ORIGIN.accessed, url="https://example.org/run")
APART = {
    "is_multinode": True, "disagg": True, "prefill_tp": 4, "prefill_ep": 4, "prefill_dp_attention": "true",
    "prefill_num_workers": 1, "decode_tp": 8, "decode_ep": 8, "decode_dp_attention": "true", "decode_num_workers": 1,
    "num_prefill_gpu": 4, "num_decode_gpu": 8, "tput_per_gpu": 900.0, "output_tput_per_gpu": 600.0,
    "input_tput_per_gpu": 1500.0,
}  # fmt: skip


def known() -> Catalogue:
    """Return a catalogue with one model more."""
    base = catalogue()
    return Catalogue(base.accelerators, base.engines, base.models | {"llama-3-3-70b"})


def point(**changes: Any) -> dict[str, Any]:
    """Return one point as `process_result.py` writes it for one node."""
    entry = {
        "hw": "b200-dgxc", "conc": 64, "image": "engine/server:1", "model": "org/Model", "infmax_model_prefix": "llama70b",
        "framework": "vllm", "precision": "fp8", "spec_decoding": "none", "disagg": False, "recipe_fingerprint": "ab",
        "isl": 8192, "osl": 1024, "is_multinode": False, "tp": 8, "pp": 1, "dcp_size": 1, "pcp_size": 1, "ep": 1,
        "dp_attention": "false", "tput_per_gpu": 1875.0625, "output_tput_per_gpu": 1500.0, "input_tput_per_gpu": 375.0625,
        "mean_ttft": 0.1505, "p99_ttft": 0.2503, "median_tpot": 0.025, "median_intvty": 40.0, "p99_intvty": 22.2,
        "mean_itl": 0.026, "std_ttft": 0.01, "p99.9_ttft": 0.3, "median_e2el": 1.5,
    }  # fmt: skip
    return entry | changes


def imported(*points: dict[str, Any]) -> Drafts:
    """Return the drafts of a collected file."""
    return drafts((File("out/agg_x.json", json.dumps(points).encode()),), known(), WHERE)


def values(record: Benchmark) -> dict[str, Decimal | None]:
    """Return values by metric and statistic."""
    return {f"{each.metric} {each.statistic or ''}".strip(): each.value for each in record.results}


def test_seconds_become_ms() -> None:
    """Times of an aggregate are seconds; the record prints both."""
    found = values(imported(point()).benchmarks[0])
    assert found["ttft_ms mean"] == Decimal("150.5")
    assert found["ttft_ms p99"] == Decimal("250.3")
    assert found["tpot_ms p50"] == 25
    assert found["e2el_ms p50"] == 1500


def test_itl_of_the_client_is_a_gap_between_chunks() -> None:
    """One sample an event of the stream, so that it is no time between tokens."""
    found = values(imported(point()).benchmarks[0])
    assert found["icl_ms mean"] == 26
    assert not any(name.startswith("itl_ms") for name in found)


def test_throughput_per_gpu_is_input_and_output() -> None:
    """`tput_per_gpu` counts both; output alone is a figure of its own, and the system's is derived."""
    found = values(imported(point()).benchmarks[0])
    assert found["total_tok_s_per_accelerator"] == Decimal("1875.0625")
    assert found["tok_s_per_accelerator"] == 1500
    assert found["output_tok_s"] == 12000


def test_output_per_decode_gpu_is_shared_with_the_prefill_gpus() -> None:
    """Dividing by decode GPUs alone flatters a system whose prefill GPUs serve too."""
    (record,) = imported(point(**APART)).benchmarks
    share = next(each for each in record.results if each.metric == "tok_s_per_accelerator")
    assert share.value == 400
    assert share.basis == "derived"
    assert "600.0 tok/s per decode GPU" in (share.note or "")
    assert values(record)["output_tok_s"] == 4800
    assert record.system.accelerator_count == 12
    assert (record.deployment.prefill_accelerators, record.deployment.decode_accelerators) == (4, 8)


def test_several_nodes_without_decode_gpus_divide_by_all() -> None:
    """Where nothing runs apart, the script divides by all GPUs."""
    (record,) = imported(point(**APART | {"num_decode_gpu": 0})).benchmarks
    assert values(record)["tok_s_per_accelerator"] == 600
    assert values(record)["output_tok_s"] == 2400


def test_only_the_median_of_the_speed_turns_over() -> None:
    """1000 / p99 TPOT is the speed of the slowest, and no p99 of the speed; it is named and not taken."""
    made = imported(point())
    assert values(made.benchmarks[0])["tok_s_per_user p50"] == 40
    left = {each.place: each.kind for each in made.left_out}
    assert left == {"p99_intvty": "unmapped", "std_ttft": "unmapped", "p99.9_ttft": "unmapped"}


def test_points_of_one_setup_are_one_record() -> None:
    """A sweep over concurrency is one record with results at each; another layout is another record."""
    made = imported(point(), point(conc=128), point(tp=4))
    assert [len({each.at.concurrency for each in record.results}) for record in made.benchmarks] in (
        [2, 1],
        [1, 2],
    )


def test_lengths_are_nominal() -> None:
    """Prompts are random tokens around a length, which is not claimed to be exact."""
    at = imported(point()).benchmarks[0].results[0].at
    assert (at.input_tok, at.input_nominal, at.output_tok, at.prompt_class) == (
        None,
        "8192",
        None,
        "random_tokens",
    )


def test_layout_of_one_node() -> None:
    """Attention data parallelism reuses the tensor-parallel ranks."""
    layout = imported(point(dp_attention="true", ep=8)).benchmarks[0].deployment
    assert (layout.tp, layout.ep, layout.attn_dp, layout.dcp) == (8, 8, 8, None)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"hw": "x900"}, "hardware 'x900' is not in the table of names"),
        ({"hw": "h200"}, "no record accelerators/nvidia-h200-sxm"),
        ({"framework": "other"}, "framework 'other' is not in the table of names"),
        ({"framework": "dynamo-sglang"}, "no record engines/sglang"),
        ({"infmax_model_prefix": "m9"}, "model 'm9' is not in the table of names"),
        ({"infmax_model_prefix": "dsr1"}, "no record models/deepseek-r1"),
        (
            {"prefill_hw": "gb200", "decode_hw": "h100"},
            "prefill and decode on two kinds of accelerator: a record names one",
        ),
    ],
)
def test_what_is_missing_is_refused_by_name(changes: dict[str, Any], reason: str) -> None:
    """A point that needs a record which does not exist says which."""
    made = imported(point(), point(conc=1, **changes))
    assert [each.reason for each in made.refused] == [reason]
    assert (made.rows, made.taken) == (2, 1)


def test_router_in_front_is_named() -> None:
    """`dynamo-vllm` is vLLM behind a router."""
    (record,) = imported(point(framework="dynamo-vllm")).benchmarks
    assert record.engine.engine == "engines/vllm"
    assert record.deployment.router is not None
    assert record.deployment.router.name == "NVIDIA Dynamo"


def test_same_point_twice_is_refused() -> None:
    """Two figures for one point are not both taken, and none is chosen."""
    made = imported(point(), point(tput_per_gpu=1.0))
    assert {each.reason for each in made.refused} == {"one point twice in a setup"}


def test_result_without_hardware_is_another_tools_file() -> None:
    """The experimental results name no hardware: they are files of the client, and no aggregates."""
    with pytest.raises(IngestError, match="kbtool bench import"):
        imported({"model_id": "m", "max_concurrency": 4, "output_throughput": 95.4})


def test_single_file_without_address_is_read_via_itself() -> None:
    """An artefact of a run has no address that stays; the hash tells which file it was."""
    made = drafts((File("agg_x.json", json.dumps(point()).encode()),), known(), ORIGIN)
    (source,) = made.sources
    assert source.url is None
    assert source.read_via == "the files themselves: agg_x.json"


def test_wanted_files() -> None:
    """Of a folder of artefacts the aggregates are read."""
    assert wanted("a/agg_bmk.json")
    assert not wanted("a/bmk.json")


def test_drafts_lint_without_a_finding(tmp_path: Path) -> None:
    """Records of both kinds of layout pass every rule, warnings included."""
    write(tmp_path)
    write_things(tmp_path)
    where = Catalogue(known().accelerators, known().engines, known().models)
    points = [point(), point(conc=128), point(**APART)]
    made = drafts((File("agg_x.json", json.dumps(points).encode()),), where, WHERE)
    records: tuple[Benchmark | Source, ...] = (*made.benchmarks, *made.sources)
    for each in records:
        relative = f"records/{type(each).__name__.lower()}s/{each.id}.yaml"
        text = record_text(each, relative).replace("models/llama-3-3-70b", "models/llama-3-1-70b")
        (tmp_path / relative).write_text(text, encoding="utf-8")
    found = [
        f"{each.path} {each.code} {each.message}" for each in check(tmp_path) if "inferencex" in each.path
    ]
    assert found == []
