"""MLPerf tables: what a row says, the traps of the real files, and why a row is refused."""

import json
from decimal import Decimal
from typing import Any

import pytest

from kbtool.ingest import Drafts, File, IngestError
from kbtool.ingest.mlperf import drafts, wanted
from kbtool.schema import Benchmark
from tests.ingest.mlperf_samples import (
    DESCRIPTION,
    FIXTURES,
    ORIGIN,
    catalogue,
    import_of,
    row,
    summary,
    system,
)

OTHER_TARGET = {"Model": "llama2-70b-99.9", "UsedModel": "llama2-70b-99.9"}
FIGURES = {
    "99.00 percentile first token latency (ns)": 435976100,
    "99.00 percentile time to output token (ns)": 39507635,
}


def reasons(made: Drafts) -> list[str]:
    """Return why rows were refused."""
    return [each.reason for each in made.refused]


def fixture(name: str) -> Drafts:
    """Return the drafts of a table cut out of a published one."""
    return drafts((File(name, (FIXTURES / name).read_bytes()), DESCRIPTION), catalogue(), ORIGIN)


@pytest.mark.parametrize("count", [8, 8.0, "8"], ids=["whole", "fraction", "text"])
def test_count_is_read_however_it_is_written(count: Any) -> None:
    """Rounds write a count as a whole number, a fraction or text, and leave the total empty."""
    made = import_of(row(**{"a#": count, "Total Accelerators": ""}))
    assert made.benchmarks[0].system.accelerator_count == 8


def test_empty_count_and_no_accelerator_is_a_run_on_processors() -> None:
    """A row without accelerator has an empty text where others have a count, and no record to refer to."""
    made = import_of(row(), row(ID="6.0-0501", Accelerator="", **{"a#": "", "Total Accelerators": 0}))
    assert reasons(made) == ["no accelerator: the processors compute"]


def test_count_per_node_is_not_the_total() -> None:
    """Eight a node on four nodes are 32, where the table has no total."""
    made = import_of(row(Nodes=4, **{"Total Accelerators": ""}))
    assert made.benchmarks[0].system.accelerator_count == 32


def test_total_that_contradicts_the_nodes_is_refused() -> None:
    """A total that is that of one node would make every share four times too large."""
    made = import_of(row(), row(ID="6.0-0501", Nodes=4))
    assert reasons(made) == ["8 accelerators in all, but 8 a node on 4 nodes"]


@pytest.mark.parametrize("text", ["A 192GB (x32), B 256GB (x16)", "A 192GB (x8) and B 256GB (x8)"])
def test_two_accelerators_in_one_cell_are_refused(text: str) -> None:
    """A record is about one kind of accelerator."""
    made = import_of(row(), row(ID="6.0-0501", Accelerator=text))
    assert reasons(made) == ["two kinds of accelerator in one system: a record names one"]


@pytest.mark.parametrize("text", ["INT8", "int8"])
def test_weight_type_is_one_word_in_either_case(text: str) -> None:
    """`INT8` and `int8` are one type; the record keeps what was printed."""
    model = import_of(row(weight_data_types=text)).benchmarks[0].model
    assert (model.weight_dtype, model.quantization_as_published) == ("int8", f"weight_data_types: {text}")


def test_weight_type_of_the_first_checkpoint_is_not_taken() -> None:
    """v4.1 says fp16 even of a preview that ran in FP4: the type before quantisation."""
    (record,) = import_of(row(version="v4.1", ID="v4.1-0500", weight_data_types="fp16")).benchmarks
    model = record.model
    assert (model.weight_dtype, model.quantization_as_published) == (None, "weight_data_types: fp16")
    assert _why_no_type(record) == (
        "fp16 in this round's table may be that of the weights before they were quantised."
    )


def test_weight_type_in_the_models_name_counts_where_the_column_is_silent() -> None:
    """`llama3_1-70b-fp8_dyn` runs FP8 weights; a filter on fp8 once lost these rows, whose column says UNSET."""
    named = {"Category": "open", "UsedModel": "llama3_1-70b-fp8_dyn"}
    silent, untrusted, other = import_of(
        row(**named, weight_data_types="UNSET"),
        row(**named, ID="6.0-0501", weight_data_types="fp32"),
        row(**named, ID="6.0-0502", weight_data_types="fp16"),
    ).benchmarks
    assert [each.model.weight_dtype for each in (silent, untrusted, other)] == ["fp8", "fp8", None]
    assert [_why_no_type(each) for each in (silent, untrusted)] == [None, None]
    assert _why_no_type(other) == "The model's name says fp8, the column fp16."


def test_several_weight_types_are_none() -> None:
    """The list of a checkpoint's tensors says which types there are, and not which one most weights have."""
    (record,) = import_of(row(weight_data_types="BF16/F32/F8_E4M3/U8")).benchmarks
    assert record.model.weight_dtype is None
    assert _why_no_type(record) == "The column names no single type."


def _why_no_type(record: Benchmark) -> str | None:
    return next(
        (each.searched for each in record.omitted_by_source if each.field == "model.weight_dtype"), None
    )


def test_model_spelled_two_ways_is_one_record() -> None:
    """`llama3_1-8b` and `llama3.1-8b` are one model."""
    cells = {"Model": "llama3.1-8b", "Scenario": "Server", "ID": "6.0-0501"}
    made = import_of(row(Model="llama3.1-8b", UsedModel="llama3.1-8b"), row(UsedModel="llama3_1-8b", **cells))
    assert {each.model.model for each in made.benchmarks} == {"models/llama-3-1-8b"}


def test_open_division_runs_another_model_than_the_benchmark() -> None:
    """The record is about the model that ran; the class stays the benchmark's."""
    (made,) = import_of(
        row(
            Category="open",
            Model="llama2-70b-99.9",
            UsedModel="llama3_1-70b-fp8_dyn",
            weight_data_types="UNSET",
        )
    ).benchmarks
    assert made.model.model == "models/llama-3-1-70b"
    assert made.comparison_class == "mlperf-inference-v6.0/llama2-70b-99.9/open/datacenter/offline"


def test_two_targets_of_one_measurement_are_one_record() -> None:
    """A 99 and a 99.9 row with one figure are kept once, in the stricter class, and both are named."""
    made = import_of(row(), row(**OTHER_TARGET))
    (record,) = made.benchmarks
    assert (made.rows, made.taken) == (2, 2)
    assert "/llama2-70b-99.9/" in (record.comparison_class or "")
    assert {"llama2-70b-99-9", "llama2-70b-99"} <= set(record.tags)
    assert "llama2-70b-99.9 and llama2-70b-99, Offline" in " ".join((record.notes or "").split())


def test_two_targets_with_two_figures_are_two_records() -> None:
    """Where the figures differ, two runs were made."""
    made = import_of(row(), row(Performance_Result=99000, **OTHER_TARGET))
    assert len(made.benchmarks) == 2


def test_two_targets_with_one_figure_and_two_summaries_are_two_records() -> None:
    """Two runs may print one throughput; their summaries tell them apart."""
    first, second = row(Scenario="Server"), row(Scenario="Server", **OTHER_TARGET)
    beside = (
        summary(first, {"completed tokens per second": 100000.5} | FIGURES),
        summary(second, {"completed tokens per second": 100000.6} | FIGURES),
    )
    assert len(import_of(first, second, beside=beside).benchmarks) == 2


def test_name_that_says_87_means_88() -> None:
    """The table counts eight on each of eleven nodes; the record says that the name says otherwise."""
    (record, *_) = fixture("summary_results_v6.0.json").benchmarks
    assert record.system.accelerator_count == 88
    assert "The name says 87, the table counts 88" in " ".join((record.notes or "").split())


def test_board_with_two_gpus_has_no_share_per_accelerator() -> None:
    """The table counts boards; who counts GPUs gets twice as many, so that no share is derived."""
    name = "[MAXSUN] MS-Intel Arc Pro B60 Dual 48G Turbo"
    (record,) = import_of(
        row(Accelerator=name, Software="vLLM 0.9.0", **{"a#": 4, "Total Accelerators": 4})
    ).benchmarks
    assert record.system.accelerator_count == 4
    assert [each.metric for each in record.results] == ["output_tok_s"]
    assert "4 of them are 8 GPUs" in (record.notes or "")


def test_machine_with_more_accelerators_than_take_part() -> None:
    """The platform's name says four; the notes say that one was used, as the count does."""
    notes = "Dell box 4xH100-SXM-80GB system (1 GPU used). VM"
    cells = {"Accelerator": "NVIDIA H100-SXM-80GB", "Software": "vLLM 0.10.0, RHEL 9.6", "Notes": notes}
    (record,) = import_of(row(**cells, **{"a#": 1, "Total Accelerators": 1})).benchmarks
    assert (record.system.accelerator_count, record.system.accelerators_present) == (1, 4)


def test_link_that_the_card_does_not_have_is_a_claim_and_no_fact() -> None:
    """Descriptions hold text pasted from other systems: the links come from the accelerator's record."""
    cells = {"Accelerator": "NVIDIA RTX PRO 6000 Blackwell Server Edition"}
    (record,) = import_of(row(**cells), beside=(system("18x 5th Gen NVLink, 14.4 TB/s"),)).benchmarks
    assert record.system.interconnects == ()
    assert [(each.verdict, each.value) for each in record.claims] == [
        ("contradicted", "18x 5th Gen NVLink, 14.4 TB/s")
    ]


def test_link_of_another_generation_is_a_claim() -> None:
    """The fifth generation of a link is not that of a card with the fourth."""
    made = import_of(row(), beside=(system("18x 4th Gen NVLink"),))
    assert [each.id for each in made.benchmarks[0].claims] == ["link-of-another-system"]
    assert import_of(row(), beside=(system("18x 5th Gen NVLink"),)).benchmarks[0].claims == ()


def test_tokens_printed_as_queries_are_told_by_the_summary() -> None:
    """v5.1 prints Queries/s for eight rows whose figure is tokens a second; without a summary they are refused."""
    cells = row(Performance_Units="Queries/s", Scenario="Interactive")
    made = import_of(row(), cells, beside=(summary(cells, {"completed tokens per second": 100000.4}),))
    record = next(each for each in made.benchmarks if each.headline == "interactive")
    assert record.results[0].metric == "output_tok_s"
    assert (record.results[0].note or "").startswith("The table prints Queries/s")
    assert reasons(import_of(row(), cells)) == [
        "Queries/s for a benchmark that counts tokens, and no LoadGen summary that settles it"
    ]


def test_tokens_printed_as_samples_are_told_by_the_summary() -> None:
    """v4.1 prints Samples/s for rows of the open division whose figure is tokens a second: 1,871 samples would be 290 times it."""
    cells = row(Performance_Units="Samples/s")
    (record,) = import_of(cells, beside=(summary(cells, {"Tokens per second": 100000.4}),)).benchmarks
    assert record.results[0].metric == "output_tok_s"
    assert (record.results[0].note or "").startswith("The table prints Samples/s")
    assert reasons(import_of(row(Scenario="Server"), cells)) == [
        "Samples/s for a benchmark that counts tokens, and no LoadGen summary that settles it"
    ]


def test_tokens_that_loadgen_infers_say_so() -> None:
    """Where LoadGen multiplies samples instead of counting tokens, the figure carries that."""
    cells = row()
    made = import_of(cells, beside=(summary(cells, {"Tokens per second (inferred)": 100000.5}),))
    assert "infers the tokens" in (made.benchmarks[0].results[0].note or "")


def test_table_and_summary_that_disagree_are_refused() -> None:
    """A row whose own log says another figure is not taken."""
    cells = row(Scenario="Server")
    made = import_of(row(), cells, beside=(summary(cells, {"completed tokens per second": 90000}),))
    assert reasons(made) == ["the table's tokens a second are not those of LoadGen's summary"]


def test_invalid_run_is_refused() -> None:
    """LoadGen's verdict counts, whatever the table prints."""
    cells = row(Scenario="Server")
    made = import_of(row(), cells, beside=(summary(cells, result="INVALID"),))
    assert reasons(made) == ["LoadGen's summary does not say VALID"]


def test_flag_inferred_drops_nothing() -> None:
    """`inferred` is 1 for every Interactive row of v6.0, each of which has a valid log."""
    assert len(import_of(row(inferred=1, Scenario="Interactive")).benchmarks) == 1


def test_table_without_result_ids_is_refused() -> None:
    """`summary.json` of v6.1 has no result IDs, without which no footnote can be made."""
    cells = {
        "Organization": "Dell", "Availability": "available", "Division": "closed", "SystemType": "datacenter",
        "SystemName": "Box", "Platform": "box", "Model": "llama2-70b-99", "MlperfModel": "llama2-70b-99",
        "Scenario": "Offline", "Result": 1.5, "number_of_nodes": 1, "accelerator_model_name": "NVIDIA B200-SXM-180GB",
        "accelerators_per_node": 8, "total_accelerators": 8, "framework": "vLLM", "notes": None, "version": "v6.1",
        "Units": "Tokens/s", "weight_data_types": "fp4", "PrivateID": None, "Location": "./closed/Dell/results/box",
    }  # fmt: skip
    made = drafts((File("summary.json", json.dumps({"0": cells}).encode()),), catalogue(), ORIGIN)
    assert made.benchmarks == ()
    assert reasons(made) == ["no result ID: the footnote that MLCommons asks for cannot be made"]


def test_table_of_columns_is_read_like_the_published_one() -> None:
    """A table with columns of its own gives the same record as the row that it was made of."""
    header = (
        "round,result_id,submitter,division,availability,suite,system,platform,model,used_model,scenario,result,units,"
        "accelerator,accelerators_per_node,total_accelerators,nodes,software,location,ttft_p99_ms,tpot_p99_ms"
    )
    line = (
        "v6.0,6.0-0500,Dell,closed,available,datacenter,Box,box,llama2-70b-99,llama2-70b-99,server,900.5,Tokens/s,"
        "NVIDIA B200-SXM-180GB,8,,1,vLLM 0.9.0,closed/Dell/results/box/llama2-70b-99/Server,435.976,39.508"
    )
    (record,) = drafts((File("t.csv", f"{header}\n{line}\n".encode()),), catalogue(), ORIGIN).benchmarks
    found = {each.id: each.value for each in record.results}
    assert found == {
        "server": Decimal("900.5"),
        "server-per-accelerator": Decimal("112.562"),
        "server-ttft-p99": Decimal("435.976"),
        "server-tpot-p99": Decimal("39.508"),
    }


def test_changed_weights_are_no_model_of_a_record() -> None:
    """A pruned or fine-tuned model is another one, wherever its name says so."""
    made = import_of(
        row(),
        row(ID="6.0-0501", Category="open", Platform="box_DepthPruned"),
        row(ID="6.0-0502", Category="open", UsedModel="llama2-70b_finetuned"),
    )
    assert len(made.refused) == 2
    assert all("the weights were changed" in each for each in reasons(made))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"Accelerator": "NVIDIA X900"}, "accelerator 'NVIDIA X900' is not in the table of names"),
        ({"Accelerator": "NVIDIA L40S"}, "no record accelerators/nvidia-l40s"),
        ({"Accelerator": "NVIDIA H200-SXM-141GB-CTS"}, "another edition"),
        ({"Model": "gptj-99", "UsedModel": "gptj-99"}, "no record models/gpt-j-6b"),
        ({"UsedModel": "llama9"}, "model 'llama9' is not in the table of names"),
        ({"Software": "SGLang v0.4.9"}, "no record engines/sglang"),
        ({"Software": "PyTorch 2.9, ROCm 7.0"}, "no engine named"),
        ({"Performance_Units": "Frames/s"}, "unit 'Frames/s' is none that is known for Offline"),
        ({"Performance_Result": 0}, "nothing was measured"),
    ],
)
def test_what_is_missing_is_refused_by_name(changes: dict[str, Any], reason: str) -> None:
    """A row that needs a record which does not exist, or that names none, says which; none is made up."""
    made = import_of(row(), row(ID="6.0-0501", **changes))
    assert len(made.benchmarks) == 1
    assert reason in reasons(made)[0]


@pytest.mark.parametrize(
    ("software", "other", "expected"),
    [
        ("vLLM 0.6.5.dev964+mlperf50, ROCm 6.3.1", "", ("vllm", "0.6.5.dev964+mlperf50", None)),
        (
            "PyTorch 2.9.1, ROCm 7.0.0",
            "hipblaslt-1.0, vllm-11b6af52, aiter-6af8b687",
            ("vllm", None, "11b6af52"),
        ),
        ("CUDA 12.2", "{'cuda_version': '12.2', 'vllm': '0.5.1'}", ("vllm", "0.5.1", None)),
        ("TensorRT 10.14, CUDA 13.1", "", ("tensorrt-llm", None, None)),
        ("TensorRT 10.14, TensorRT-LLM feat/1.2, vLLM CentML:q3vl-v6.0", "", ("tensorrt-llm", None, None)),
        ("vLLM v0.15.0-dev", "vllm/vllm-openai:nightly-d88a1df6", ("vllm", "0.15.0-dev", None)),
        ("vLLM 0.9.2, vLLM 0.9.3", "", ("vllm", None, None)),
        ("ROCm 6.10.5", "LLMBoost-0.5.2, Python 3.12", ("llmboost", "0.5.2", None)),
        ("Mango LLMBoost AI Enterprise Platform, vllm-0.9.0.2", "", ("llmboost", None, None)),
        (
            "TensorRT 10.8, CUDA 12.8",
            "Cuda 13.0, NVIDIA TensorRT Edge LLM",
            ("tensorrt-edge-llm", None, None),
        ),
    ],
)
def test_engine_comes_from_table_or_description(
    software: str, other: str, expected: tuple[str, str | None, str | None]
) -> None:
    """Version and commit are taken where one is named, and neither where there are two."""
    (record,) = import_of(
        row(Software=software), beside=(system(other=other, framework=software),)
    ).benchmarks
    engine = record.engine
    assert (engine.engine.removeprefix("engines/"), engine.version, engine.commit) == expected


def test_unreadable_description_is_listed_and_the_row_stands() -> None:
    """Submitters write descriptions by hand, one with a key twice: nothing of it is taken, and it is named."""
    broken = File(
        "repository/closed/Dell/systems/box_B200x8_TRT.json", b'{"submitter": "a", "submitter": "b"}'
    )
    made = import_of(row(), beside=(broken,))
    assert len(made.benchmarks) == 1
    assert [each.place for each in made.left_out if "systems/" in each.place] == [broken.name]


def test_row_that_two_tables_hold_counts_once() -> None:
    """A table and a copy of it give one record."""
    table = File("summary_results.json", json.dumps([row()]).encode())
    made = drafts((table, table), catalogue(), ORIGIN)
    assert (made.rows, len(made.benchmarks)) == (1, 1)


def test_columns_without_a_field_are_listed() -> None:
    """Nothing of a table is dropped in silence."""
    found = {each.place: each.kind for each in import_of(row(Accuracy="ROUGE1: 44", Extra=1)).left_out}
    assert found["Accuracy"] == "unmapped"
    assert found["Extra"] == "unknown"


def test_other_benchmarks_of_the_table_are_counted() -> None:
    """Rows that are no language models are not asked for, and their number is told."""
    made = import_of(row(), row(Model="resnet", UsedModel="resnet"))
    assert "1 rows of benchmarks that are no language models" in {each.place for each in made.left_out}


@pytest.mark.parametrize(
    "name", ["summary_results_v4.1.json", "summary_results_v5.1.json", "summary_results_v6.0.json"]
)
def test_published_rounds_are_read(name: str) -> None:
    """Rows cut out of three rounds become records, or are refused for a record that the test lacks."""
    made = fixture(name)
    assert made.rows == made.taken + len(made.refused)
    assert made.benchmarks
    assert set(reasons(made)) <= {"no record models/gpt-j-6b"}


def test_wrong_files_are_refused() -> None:
    """A file that is none of MLPerf's ends the import, with what to give instead."""
    with pytest.raises(IngestError, match="give the files of a results repository"):
        drafts((File("x.json", b'{"a": 1}'),), catalogue(), ORIGIN)
    with pytest.raises(IngestError, match=r"give summary_results\.json"):
        drafts((system(),), catalogue(), ORIGIN)


def test_summary_without_its_folder_is_refused() -> None:
    """A summary does not say whose it is; its path does."""
    with pytest.raises(IngestError, match="give the path from the repository's root"):
        import_of(
            row(), beside=(File("mlperf_log_summary.txt", b"MLPerf Results Summary\nResult is : VALID\n"),)
        )


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("r/summary_results.json", True),
        ("r/closed/Dell/systems/box.json", True),
        ("r/closed/Dell/results/box/llama2-70b-99/Offline/performance/run_1/mlperf_log_summary.txt", True),
        (
            "r/closed/Dell/compliance/box/llama2-70b-99/Offline/TEST06/performance/run_1/mlperf_log_summary.txt",
            False,
        ),
        ("r/closed/Dell/results/box/llama2-70b-99/Offline/accuracy/mlperf_log_accuracy.json", False),
        ("r/closed/Dell/code/common/systems/custom_list.json", False),
        ("r/open/Dell/measurements/box/dlrm-v2-99/offline/summary.json", False),
        ("r/summary.json", True),
    ],
)
def test_files_of_a_checkout_that_are_read(path: str, *, expected: bool) -> None:
    """Of a whole repository only tables, descriptions and summaries of performance runs are read."""
    assert wanted(path) is expected
