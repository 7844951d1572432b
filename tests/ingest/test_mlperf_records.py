"""What a record made of an MLPerf row says, and what the rules of MLCommons ask of it."""

from decimal import Decimal
from pathlib import Path

import pytest

from kbtool.ingest import IngestError, Origin, record_text
from kbtool.ingest.mlperf import drafts
from kbtool.ingest.mlperf_submitters import _KINDS
from kbtool.ingest.published import File, slug
from kbtool.lint import check
from kbtool.schema import Benchmark, Source
from kbtool.schema.benchmark import Result
from kbtool.vocab.closed import MLPERF_TRADEMARK
from tests.ingest.mlperf_samples import (
    COMMIT,
    DESCRIPTION,
    FIXTURES,
    ORIGIN,
    catalogue,
    import_of,
    row,
    summary,
    write_things,
)
from tests.lint.projects import write


def result(record: Benchmark, result_id: str) -> Result:
    """Return one result of a record."""
    return next(each for each in record.results if each.id == result_id)


def text(record: Benchmark) -> str:
    """Return the notes in one line."""
    return " ".join((record.notes or "").split())


def test_footnote_has_everything_that_mlcommons_asks_for() -> None:
    """Suite, version, division, benchmark, scenario, source, day, result ID, verification and trademark line."""
    (record,) = import_of(row()).benchmarks
    expected = (
        "MLPerf\u00ae Inference v6.0, closed division, datacenter, llama2-70b-99, Offline. Retrieved from "
        "github.com/mlcommons/inference_results_v6.0 on 2026-11-30, entry 6.0-0500. Result verified by MLCommons "
        f"Association. {MLPERF_TRADEMARK}"
    )
    assert text(record).startswith(expected)


def test_every_result_names_its_entry() -> None:
    """A row of the data files leads to the footnote by its result ID, division and scenario."""
    cells = row(Scenario="Server")
    (record,) = import_of(cells).benchmarks
    assert all(
        "MLPerf entry 6.0-0500, closed, Server: see the footnote." in (each.note or "")
        for each in record.results
    )


def test_class_holds_round_benchmark_division_and_scenario() -> None:
    """Each scenario is a record of its own, as figures compare only inside one."""
    made = import_of(row(), row(Scenario="Server"))
    assert [each.comparison_class for each in made.benchmarks] == [
        "mlperf-inference-v6.0/llama2-70b-99/closed/datacenter/offline",
        "mlperf-inference-v6.0/llama2-70b-99/closed/datacenter/server",
    ]


def test_scenarios_of_one_system_are_linked() -> None:
    """The second record of a system says that it is one with the first."""
    offline, server = import_of(row(Scenario="Server"), row()).benchmarks
    assert offline.links == ()
    assert [(each.relation, each.target) for each in server.links] == [
        ("same_system_as", f"benchmarks/{offline.id}")
    ]


def test_preview_says_so() -> None:
    """A system that could not be bought is marked in the footnote and by a tag."""
    (record,) = import_of(row(Availability="preview")).benchmarks
    assert "datacenter, preview, llama2-70b-99" in text(record)
    assert "preview" in record.tags


def test_share_per_accelerator_is_derived_and_not_verified() -> None:
    """MLCommons publishes the system's figure; the share is ours, with formula and inputs."""
    share = result(import_of(row()).benchmarks[0], "offline-per-accelerator")
    assert (share.value, share.basis) == (Decimal("12500.1"), "derived")
    assert share.derivation is not None
    assert share.derivation.inputs == ("offline", "system.accelerator_count")
    assert (share.note or "").startswith("Derived here; not verified by MLCommons Association.")


def test_power_is_there_only_where_it_was_measured() -> None:
    """No power is made of a limit or of a design figure; digits beyond the record's are rounded and say so."""
    plain, measured = import_of(
        row(Notes="B200 TGP 1000W"), row(ID="6.0-0501", Power_Result=10400.9988793425, Power_Units="Watts")
    ).benchmarks
    assert [each.metric for each in plain.results] == ["output_tok_s", "tok_s_per_accelerator"]
    power = result(measured, "offline-power")
    assert (power.metric, power.value, power.basis) == (
        "system_power_w",
        Decimal("10400.998879342"),
        "derived",
    )
    assert power.as_published == "10400.9988793425 Watts"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"Notes": "B200 TGP 1000W"}, 1000),
        ({"Notes": "NVIDIA GB200 NVL72, 900W TGP Per GPU"}, 900),
        ({"Notes": "GPU 450W / 600W (reduced)"}, 450),
        ({"Notes": "B200 TGP 1200W"}, None),
        ({"Notes": "B200 TGP 1000W", "Platform": "box_B200x8_MaxQ"}, None),
        ({"Notes": "Accelerator memory 1000 W"}, None),
    ],
)
def test_power_limit_is_the_stated_one(changes: dict[str, str], expected: int | None) -> None:
    """A limit above the board's, and that of a run tuned below it, are not taken."""
    assert import_of(row(**changes)).benchmarks[0].system.power_limit_w == expected


def test_power_cap_in_the_name_is_the_limit() -> None:
    """`(Power Cap 1000 W)` is a setting and no other accelerator."""
    name = "AMD Instinct MI355X 288GB HBM3e (Power Cap 1000 W)"
    (record,) = import_of(row(Accelerator=name, Software="vLLM 0.9.0")).benchmarks
    assert record.system.accelerator == "accelerators/amd-mi355x"
    assert record.system.power_limit_w == 1000


def test_latencies_are_those_of_loadgen_in_ms() -> None:
    """Nanoseconds of the summary become ms, digit for digit, and the rate is the offered one."""
    cells = row(Scenario="Server")
    lines = {
        "completed tokens per second": 100000.5,
        "99.00 percentile first token latency (ns)": 435976100,
        "99.00 percentile time to output token (ns)": 39507635,
    }
    beside = summary(cells, lines)
    beside = File(beside.name, beside.data + b"target_qps : 29.5\n")
    (record,) = import_of(cells, beside=(beside,)).benchmarks
    ttft, tpot = result(record, "server-ttft-p99"), result(record, "server-tpot-p99")
    assert (ttft.metric, ttft.value, ttft.statistic) == ("ttft_ms", Decimal("435.976100"), "p99")
    assert (tpot.metric, tpot.value, tpot.as_published) == ("tpot_ms", Decimal("39.507635"), "39507635 ns")
    assert {each.at.request_rate_req_s for each in record.results} == {Decimal("29.5")}
    assert ttft.evidence[0].locator.startswith("closed/Dell/results/")


def test_single_stream_is_a_latency_of_one_user() -> None:
    """The figure of that scenario is a 90th percentile in ms, and no throughput."""
    cells = {"Scenario": "SingleStream", "Performance_Units": "Latency (ms)", "Suite": "edge"}
    (record,) = import_of(row(Performance_Result=3545.895439, **cells)).benchmarks
    (only,) = record.results
    assert (only.metric, only.statistic, only.at.concurrency) == ("e2el_ms", "p90", 1)


def test_single_stream_says_which_percentile_it_is() -> None:
    """The table prints LoadGen's early-stopping estimate, which lies above the percentile of the run."""
    cells = row(Scenario="SingleStream", Performance_Units="Latency (ms)", Performance_Result=4176.62608)
    lines = {
        "90th percentile latency (ns)": 4149771822,
        " * Early stopping 90th percentile estimate": 4176626080,
    }
    (told,) = import_of(cells, beside=(summary(cells, lines),)).benchmarks
    (plain,) = import_of(cells).benchmarks
    assert (told.results[0].note or "").startswith("LoadGen's early-stopping estimate of the 90th percentile")
    assert (plain.results[0].note or "").startswith("The 90th percentile")


def test_edition_that_the_name_leaves_out_is_inferred() -> None:
    """A card of two editions in a rack server is taken for the passive one, and the record says that it was told so."""
    stated, inferred = import_of(
        row(), row(ID="6.0-0501", Accelerator="NVIDIA RTX PRO 4500 Blackwell")
    ).benchmarks
    assert (stated.system.accelerator_basis, inferred.system.accelerator_basis) == ("stated", "inferred")
    assert inferred.system.accelerator == "accelerators/nvidia-rtx-pro-4500-blackwell-server"


def test_processors_that_the_name_counts_otherwise_are_left_out() -> None:
    """A table says eight processors a node of a system named for two."""
    known, unsure = import_of(
        row(), row(ID="6.0-0501", Platform="8xB200_2xEPYC_9575F", host_processors_per_node=8)
    ).benchmarks
    assert (known.system.host_sockets, unsure.system.host_sockets) == (2, None)


def test_source_is_the_submitters_results_of_a_round() -> None:
    """Two submitters that print one figure measured twice: each is a source and a group of its own."""
    made = import_of(row(), row(ID="6.0-0501", Submitter="HPE"))
    assert [each.id for each in made.sources] == [
        "mlperf-inference-v6-0-dell",
        "mlperf-inference-v6-0-hpe",
    ]
    assert {each.group for each in made.sources} == {each.id for each in made.sources}
    assert {each.publisher for each in made.sources} == {"MLCommons"}


def test_each_division_is_a_source_whose_address_leads_to_its_folder() -> None:
    """Rows of the open division once led to the closed one's folder, where their files are not; the submitter is one group."""
    made = import_of(row(), row(ID="6.0-0501", Category="open"))
    assert [(each.id, (each.url or "").partition(COMMIT)[2]) for each in made.sources] == [
        ("mlperf-inference-v6-0-dell", "/closed/Dell"),
        ("mlperf-inference-v6-0-dell-open", "/open/Dell"),
    ]
    assert {each.group for each in made.sources} == {"mlperf-inference-v6-0-dell"}
    assert [(each.primary_source, each.sources[0].group) for each in made.benchmarks] == [
        (f"sources/{each.id}", each.group) for each in made.sources
    ]
    closed, opened = (str(each.model_dump(mode="json")) for each in made.benchmarks)
    assert "v6-0-dell-open" in opened
    assert "v6-0-dell-open" not in closed
    assert "'sources/mlperf-inference-v6-0-dell'" not in opened


def test_submitter_with_the_open_division_alone_has_one_source() -> None:
    """Its id is the group's; nothing of a closed division is named."""
    (source,) = import_of(row(Category="open")).sources
    assert (source.id, source.path) == (
        "mlperf-inference-v6-0-dell",
        "summary_results.json, and open/Dell/ with system descriptions and summaries of runs",
    )
    assert source.title.endswith("results of Dell, open division")


@pytest.mark.parametrize(
    ("submitter", "measured_by", "interest"),
    [
        ("NVIDIA", "vendor", "vendor"),
        ("Supermicro_RedHat", "vendor", "vendor"),
        ("HPE", "vendor", "sells_hardware"),
        ("ORACLE", "vendor", "sells_service"),
        ("Krai", "third_party", "none_stated"),
    ],
)
def test_who_submits_measures(submitter: str, measured_by: str, interest: str) -> None:
    """MLCommons reviews and measures nothing: its records once said `auditor`, and hid that vendors ran them."""
    made = import_of(row(Submitter=submitter))
    assert made.benchmarks[0].measured.by == measured_by
    assert made.sources[0].interest == interest
    method = made.benchmarks[0].measured.method or ""
    assert method == f"Run by the submitter, {submitter}, and reviewed under the rules of MLCommons."


def test_submitter_that_nobody_knows_is_refused() -> None:
    """Whether it sells what it ran would be a guess."""
    (refused,) = import_of(row(), row(ID="6.0-0501", Submitter="Other Lab")).refused
    assert refused.reason == "submitter 'Other Lab' is not in the lists of submitters"


def test_every_submitter_stands_in_one_list() -> None:
    """A name in two would have the interest of whichever list comes first."""
    names = [name for found, _ in _KINDS for name in found]
    assert len(names) == len(set(names))
    assert all(name == slug(name) for name in names)


def test_commit_is_asked_for() -> None:
    """Submitters correct their folders: an address without a commit is another table tomorrow."""
    table = File("summary_results.json", (FIXTURES / "summary_results_v5.1.json").read_bytes())
    with pytest.raises(IngestError, match="give the commit"):
        drafts((table,), catalogue(), Origin(ORIGIN.accessed))


@pytest.mark.parametrize(
    "name", ["summary_results_v4.1.json", "summary_results_v5.1.json", "summary_results_v6.0.json"]
)
def test_drafts_lint_without_a_finding(name: str, tmp_path: Path) -> None:
    """Records of three rounds pass every rule, warnings included."""
    write(tmp_path)
    write_things(tmp_path)
    made = drafts((File(name, (FIXTURES / name).read_bytes()), DESCRIPTION), catalogue(), ORIGIN)
    records: tuple[Benchmark | Source, ...] = (*made.benchmarks, *made.sources)
    for each in records:
        relative = f"records/{type(each).__name__.lower()}s/{each.id}.yaml"
        (tmp_path / relative).write_text(record_text(each, relative), encoding="utf-8")
    found = [
        f"{each.path}:{each.line} {each.code} {each.message}"
        for each in check(tmp_path)
        if "mlperf" in each.path
    ]
    assert found == []
