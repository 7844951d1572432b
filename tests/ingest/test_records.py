"""Drafts made of a result file: they lint, they say what is missing, and they are the same every time."""

from datetime import date
from pathlib import Path
from typing import Any, Final

import pytest

from kbtool.ingest import IngestError, record_text, to_records
from kbtool.lint import check
from kbtool.schema import Benchmark, Source
from tests.ingest.files import NAMES, data_of, given, imported, value_of
from tests.lint.projects import write

ONE: Final = "vllm-bench-ngram.json"


def drafts(name: str = ONE, **answers: Any) -> tuple[Benchmark, Source]:
    """Return the drafts of a fixture."""
    return to_records(imported(name), given(**answers))


def save(root: Path, *records: Benchmark | Source) -> None:
    """Write records into a project."""
    for record in records:
        relative = f"records/{type(record).__name__.lower()}s/{record.id}.yaml"
        (root / relative).write_text(record_text(record, relative), encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_drafts_lint_without_a_finding(name: str, tmp_path: Path) -> None:
    """Benchmark and source of every fixture pass every rule, warnings included."""
    write(tmp_path)
    record_id = name.replace(".", "-")
    save(tmp_path, *to_records(imported(name), given(record_id)))
    found = [
        f"{each.path}:{each.line} {each.code} {each.message}"
        for each in check(tmp_path)
        if record_id in each.path
    ]
    assert found == []


@pytest.mark.parametrize("name", NAMES)
def test_same_file_and_answers_give_the_same_bytes(name: str) -> None:
    """Importing twice changes nothing."""
    first, second = (
        [record_text(each, "records/x/x.yaml") for each in to_records(imported(name), given())]
        for _ in range(2)
    )
    assert first == second


def test_raw_file_is_kept_by_hash_and_place(tmp_path: Path) -> None:
    """A run of our own keeps the file beside the record; its source then needs no address."""
    write(tmp_path)
    benchmark, source = drafts(
        measured_by="self", url=None, raw_path="raw/ev-x/result.json", source_kind="measured_run"
    )
    assert benchmark.artifacts[0].sha256 == source.content_sha256 == imported(ONE).sha256
    assert benchmark.artifacts[0].size_bytes == len(data_of(ONE))
    save(tmp_path, benchmark, source)
    assert [each.message for each in check(tmp_path) if each.severity == "error"] == []


def test_what_the_file_lacks_is_listed_as_searched_for() -> None:
    """Disclosure fields without a value name the file that was searched, and given ones are not among them."""
    omitted = {each.field: each.source for each in drafts()[0].omitted_by_source}
    assert {"engine.version", "deployment.tp", "results.at.prompt_class"} <= set(omitted)
    assert not {"speculation.acceptance_length", "measured.day", "results.at.concurrency"} & set(omitted)
    assert set(omitted.values()) == {"sources/src-x"}


def test_condition_that_only_the_importer_knows_is_taken() -> None:
    """What the file says wins; where it is silent, whoever imports may say it."""
    benchmark, _ = drafts("inference-perf.json", conditions={"concurrency": 16, "output_tok": 7})
    assert {each.at.concurrency for each in benchmark.results} == {16}
    assert {each.at.output_tok for each in benchmark.results} == {240}


def test_doubts_travel_with_the_figure() -> None:
    """The first figure of a metric has them in full, and the others name it."""
    notes = {each.id: each.note or "" for each in drafts()[0].results}
    assert "chunks are counted" in notes["icl-ms-mean"]
    assert "see icl-ms-mean" in notes["icl-ms-p99"]
    assert "known error of this client" in notes["ttft-ms-mean"]
    assert "fewer than 10 lie beyond" in notes["ttft-ms-p99"]


def test_figures_of_several_loads_have_anchors_of_their_own() -> None:
    """Every result can be linked to, and one throughput is the headline."""
    value = value_of("guidellm.json")
    second = value_of("guidellm.json")["benchmarks"][0]
    second["config"]["strategy"] |= {"streams": 32, "max_concurrency": 32}
    value["benchmarks"].append(second)
    benchmark, _ = to_records(imported(value), given())
    ids = [each.id for each in benchmark.results]
    assert len(set(ids)) == len(ids)
    assert {"ttft-ms-p50-c16-out240", "ttft-ms-p50-c32-out240"} <= set(ids)
    assert benchmark.headline == "output-tok-s-single-c16-out240"


def test_statistics_can_be_chosen() -> None:
    """A record of hundreds of figures can be cut to those that matter."""
    benchmark, _ = drafts("guidellm.json", statistics=frozenset({"single", "p50"}))
    assert {each.statistic for each in benchmark.results} == {"single", "p50"}


def test_more_figures_than_a_record_holds_are_refused() -> None:
    """Nothing is cut off in silence."""
    value = value_of("guidellm.json")
    value["benchmarks"] *= 25
    with pytest.raises(IngestError, match="650 figures; expected 1 to 500"):
        to_records(imported(value), given())


def test_answer_that_no_record_takes_is_refused() -> None:
    """A wrong reference is told by its field."""
    with pytest.raises(IngestError, match="benchmark field system/accelerator"):
        drafts(accelerator="base-accelerator")


def test_path_of_a_model_stays_out() -> None:
    """The folder of the weights tells about a machine, not about the model."""
    value = value_of(ONE) | {"model_id": "/home/somebody/models/tiny"}
    texts = [record_text(each, "records/x/x.yaml") for each in to_records(imported(value), given())]
    assert "somebody" not in "".join(texts)


def test_two_values_for_one_field_are_none() -> None:
    """Two runs with another acceptance length leave the setup open; the results keep both."""
    line = value_of("sglang-bench.jsonl")
    benchmark, _ = to_records(imported([line, line | {"accept_length": 2.5, "max_concurrency": 8}]), given())
    assert benchmark.speculation.acceptance_length is None
    assert {str(each.value) for each in benchmark.results if each.metric == "acceptance_length"} == {
        "3.0",
        "2.5",
    }


def test_day_comes_from_the_file_first() -> None:
    """The day that somebody names is taken only where the file has none."""
    assert drafts(day=date(2026, 1, 1))[0].measured.day == date(2026, 11, 29)
    assert drafts("evalscope.json", day=date(2026, 1, 1))[0].measured.day == date(2026, 1, 1)
