"""TensorRT-LLM pages: what a figure counts is decided by the page, and a layout says how many GPUs it takes."""

from decimal import Decimal
from pathlib import Path

import pytest

from kbtool.ingest import Catalogue, Drafts, File, IngestError, Origin, record_text
from kbtool.ingest.tensorrt_llm import drafts
from kbtool.lint import check
from kbtool.schema import Benchmark, Source
from tests.ingest.mlperf_samples import ORIGIN, catalogue, write_things
from tests.lint.projects import write

PER_GPU = "The reported metric is `Output Throughput per GPU (tokens/sec/GPU)`."
TOTAL = "The reported metric is `Total Output Throughput (tokens/sec)`."
TABLE = """
# LLaMA v3.3 70B

| Sequence Length (ISL/OSL) | B200<br/>TP1 (FP4) | H100<br/>TP2 (FP8) |
|---|---|---|
| 1000/1000 | 6,920 | 2,209 |
| 1024/8192 | 3,242 | |
"""
CARDS = """
#### Llama 3.3 70B

RTX 6000 Pro Blackwell Server Edition
| Sequence Length (ISL/OSL) | **1 GPUs**<br/>TP1,PP1 (FP4) | **2 GPUs**<br/>TP1,PP2 (FP4) |
|---|---|---|
| 128/128 | 3,264 | 6,172 |
"""
OPTIONS = """
## Reproducing Benchmarked Results

| Input Length | Output Length | Number of Requests |
|--------------|---------------|--------------------|
| 1024         | 8192          | 1500               |

For MoE models:

```shell
trtllm-bench --model $model_name throughput
```

GPT-OSS:

`llm_options.yml`
```yaml
cuda_graph_config:
  enable_padding: true
  batch_sizes:
    - 1
    - 2
kv_cache_config:
  dtype: fp8
  # Hopper: use auto
moe_config:
  backend: CUTLASS
  # Hopper: use TRITON
```
"""


def known(model: str = "llama-3-3-70b") -> Catalogue:
    """Return a catalogue with one model more."""
    base = catalogue()
    return Catalogue(base.accelerators, base.engines, base.models | {model})


def imported(text: str, where: Catalogue | None = None) -> Drafts:
    """Return the drafts of a page."""
    return drafts((File("perf-overview.md", text.encode()),), where or known(), ORIGIN)


def figures(record: Benchmark) -> dict[str, tuple[str, Decimal | None]]:
    """Return metric and value by result."""
    return {each.id: (each.metric, each.value) for each in record.results}


def test_newer_page_prints_figures_per_gpu() -> None:
    """The sentence of the page says so; nothing in the table does."""
    b200, h100 = imported(PER_GPU + TABLE).benchmarks
    assert figures(b200) == {
        "in1000-out1000": ("tok_s_per_accelerator", Decimal(6920)),
        "in1024-out8192": ("tok_s_per_accelerator", Decimal(3242)),
    }
    assert h100.system.accelerator_count == 2
    assert h100.results[0].as_published == "2,209 tokens/s/GPU"


def test_older_page_prints_totals() -> None:
    """The same table below another sentence is about the whole configuration."""
    _, h100 = imported(TOTAL + TABLE).benchmarks
    assert figures(h100) == {"in1000-out1000": ("output_tok_s", Decimal(2209))}


@pytest.mark.parametrize("text", [TABLE, PER_GPU + TOTAL + TABLE], ids=["none", "both"])
def test_page_that_does_not_say_what_it_counts_is_refused(text: str) -> None:
    """Without the sentence a figure may be eight times another; nothing is guessed."""
    with pytest.raises(IngestError, match="import a version that says it"):
        imported(text)


@pytest.mark.parametrize(
    "said",
    [
        "All performance values are measured in `output tokens per second per GPU`, first token included.",
        "unit: `output tokens per second per GPU`",
        "*Unit: output tokens per second per GPU*",
        "*Shows only the best configuration per GPU count based on throughput per GPU*",
    ],
)
def test_page_that_contradicts_itself_is_refused(said: str) -> None:
    """For a time the tables were those per GPU, below a sentence that still said the total."""
    with pytest.raises(IngestError, match="two metrics"):
        imported(TOTAL + TABLE + said)
    assert imported(PER_GPU + TABLE + said).rows == 3


def test_type_in_the_head_is_not_that_of_weights_stored_in_another() -> None:
    """gpt-oss is published in MXFP4: an FP8 column may be about its arithmetic, and the record says why it has no type."""
    text = (PER_GPU + TABLE).replace("LLaMA v3.3 70B", "GPT-OSS 120B")
    b200, h100 = imported(text, known("gpt-oss-120b")).benchmarks
    assert (b200.model.weight_dtype, b200.model.quantization_as_published) == ("fp4", "FP4")
    assert (h100.model.weight_dtype, h100.model.quantization_as_published) == (None, "FP8")
    said = {each.field: each.searched for each in h100.omitted_by_source}
    assert (said["model.weight_dtype"] or "").startswith(
        "The column says FP8, which may be that of the arithmetic"
    )
    assert "model.weight_dtype" not in {each.field for each in b200.omitted_by_source}


CHECKPOINTS = """
### FP4 Models

```text
nvidia/DeepSeek-R1-0528-NVFP4-v2
nvidia/Llama-3.3-70B-Instruct-{fp4}
```

### FP8 Models

```text
nvidia/Llama-3.1-8B-Instruct-FP8
nvidia/Llama-3.3-70B-Instruct-FP8
```
"""


@pytest.mark.parametrize(("fp4", "dtype"), [("FP4", "fp4"), ("NVFP4", "nvfp4")])
def test_checkpoint_is_the_one_that_the_page_lists_for_the_columns_type(fp4: str, dtype: str) -> None:
    """Its name says NVFP4 where the column says FP4; without that the encoding is not stated."""
    b200, h100 = imported(PER_GPU + CHECKPOINTS.format(fp4=fp4) + TABLE).benchmarks
    assert (b200.model.checkpoint, b200.model.weight_dtype) == (f"nvidia/Llama-3.3-70B-Instruct-{fp4}", dtype)
    assert (h100.model.checkpoint, h100.model.weight_dtype) == ("nvidia/Llama-3.3-70B-Instruct-FP8", "fp8")
    places = {tuple(each.fields): each.evidence.locator for each in h100.setup_evidence}
    assert places["model.checkpoint",] == "section 'FP8 Models', nvidia/Llama-3.3-70B-Instruct-FP8"


def test_checkpoint_is_none_where_the_page_lists_two() -> None:
    """Which of two was loaded is not guessed, and the column's type stays."""
    listed = CHECKPOINTS.format(fp4="FP4\nnvidia/Llama-3.3-70B-Instruct-NVFP4")
    b200, _ = imported(PER_GPU + listed + TABLE).benchmarks
    assert (b200.model.checkpoint, b200.model.weight_dtype) == (None, "fp4")


def test_empty_cell_is_no_result() -> None:
    """A configuration that was not tested has no figure, and is no row."""
    assert imported(PER_GPU + TABLE).rows == 3


def test_card_named_above_the_table() -> None:
    """The heading names the model, the line below it the card, the column how many."""
    one, two = imported(TOTAL + CARDS).benchmarks
    assert {each.system.accelerator for each in (one, two)} == {
        "accelerators/nvidia-rtx-pro-6000-blackwell-server"
    }
    assert (two.deployment.tp, two.deployment.pp, two.system.accelerator_count) == (1, 2, 2)


def test_card_named_in_the_heading() -> None:
    """Newer pages put the card behind a dash in the heading."""
    text = CARDS.replace("70B\n", "70B - RTX 6000 Pro Blackwell Server Edition\n").replace(
        "\nRTX 6000 Pro Blackwell Server Edition\n", "\n*Shows*\n\n"
    )
    assert len(imported(PER_GPU + text).benchmarks) == 2


def test_dep_is_attention_data_parallelism_over_experts() -> None:
    """DEP4 takes four GPUs, which hold attention replicas and share the experts."""
    (record,) = imported(
        PER_GPU + TABLE.replace("TP1", "DEP4").replace("| H100<br/>TP2 (FP8) ", "")
    ).benchmarks
    layout = record.deployment
    assert (layout.tp, layout.ep, layout.attn_dp, record.system.accelerator_count) == (4, 4, 4, 4)
    assert layout.layout_as_published == "DEP4"


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("B200<br/>", "X900<br/>", "device 'X900' is not in the table of names"),
        ("H100<br/>", "H200<br/>", "no record accelerators/nvidia-h200-sxm"),
        ("TP1 (", "QP1 (", "layout 'QP1' is none that is known"),
        ("6,920", "n/a", "figure 'n/a' is no throughput"),
        ("1024/8192", "1000/1000", "one pair of lengths twice in a column"),
    ],
)
def test_column_that_cannot_be_taken_is_refused_whole(old: str, new: str, reason: str) -> None:
    """Each of its figures is listed with the reason."""
    made = imported(PER_GPU + TABLE.replace(old, new))
    assert {each.reason for each in made.refused} == {reason}
    assert made.rows == made.taken + len(made.refused)


def test_count_that_contradicts_the_layout_is_refused() -> None:
    """Two GPUs in the head and a layout of one contradict each other."""
    made = imported(TOTAL + CARDS.replace("TP1,PP2", "TP1,PP1"))
    assert {each.reason for each in made.refused} == {"2 GPUs in the column's head, but TP1,PP1 takes 1"}


def test_missing_model_is_refused_by_name() -> None:
    """No model is made up."""
    assert {each.reason for each in imported(PER_GPU + TABLE, catalogue()).refused} == {
        "no record models/llama-3-3-70b"
    }


def test_table_of_typed_rows_says_its_unit() -> None:
    """Rows typed from a page carry the unit; rows of two units are refused."""
    header = "model,gpu,parallelism,gpu_count_from_parallelism,precision,isl,osl,value,unit\n"
    line = "Llama-3.3-70B,B200,TP1,1,FP4,1000,1000,6920,output tokens/s/GPU\n"
    (record,) = imported(header + line).benchmarks
    assert figures(record) == {"in1000-out1000": ("tok_s_per_accelerator", Decimal(6920))}
    with pytest.raises(IngestError, match="line 2: no precision"):
        imported(header + line.replace("FP4", ""))
    with pytest.raises(IngestError, match="no word on what the figures count"):
        imported(header + line.replace("output tokens/s/GPU", "tokens"))


def test_options_and_requests_of_the_page_are_in_the_record() -> None:
    """What the page says of its runs is no gap: it stands in the record, with the place."""
    text = PER_GPU + TABLE + OPTIONS
    b200, h100 = imported(text.replace("LLaMA v3.3 70B", "GPT-OSS 120B"), known("gpt-oss-120b")).benchmarks
    assert b200.engine.arguments["kv_cache_config.dtype"] == "fp8 (Hopper: use auto)"
    assert (b200.serving.kv_cache_dtype, h100.serving.kv_cache_dtype) == ("fp8", None)
    assert (b200.serving.moe_backend, h100.serving.moe_backend) == ("CUTLASS", "TRITON")
    assert [each.samples for each in b200.results] == [None, 1500]
    assert not {"engine.arguments", "serving.cuda_graph_decode"} & {
        each.field for each in b200.omitted_by_source
    }
    assert "serving.kv_cache_dtype" in {each.field for each in h100.omitted_by_source}
    assert b200.setup_evidence[1].evidence.locator == "section 'Running the Benchmark', GPT-OSS"


def test_model_without_options_of_its_own_has_a_gap() -> None:
    """Options of one model are not taken for another's."""
    (record, _) = imported(PER_GPU + TABLE + OPTIONS).benchmarks
    assert record.engine.arguments == {}
    assert "engine.arguments" in {each.field for each in record.omitted_by_source}


def test_commit_and_one_page_are_asked_for() -> None:
    """A page changes with every release, and two pages are two sources."""
    page = File("perf-overview.md", (PER_GPU + TABLE).encode())
    with pytest.raises(IngestError, match="give the commit"):
        drafts((page,), known(), Origin(ORIGIN.accessed))
    with pytest.raises(IngestError, match="one by one"):
        drafts((page, page), known(), ORIGIN)


def test_drafts_lint_without_a_finding(tmp_path: Path) -> None:
    """Records of a page pass every rule, warnings included."""
    write(tmp_path)
    write_things(tmp_path)
    made = imported((PER_GPU + TABLE).replace("LLaMA v3.3 70B", "Llama 3.1 8B"))
    records: tuple[Benchmark | Source, ...] = (*made.benchmarks, *made.sources)
    for each in records:
        relative = f"records/{type(each).__name__.lower()}s/{each.id}.yaml"
        (tmp_path / relative).write_text(record_text(each, relative), encoding="utf-8")
    found = [
        f"{each.path} {each.code} {each.message}"
        for each in check(tmp_path)
        if "t-llm" in each.path or "trtllm" in each.path
    ]
    assert found == []
