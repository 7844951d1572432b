"""Mistakes that were published elsewhere, each tried here as a project on disk: it is found, and what is right passes.

One section a mistake. A wrong record yields one code at one place, with a message that says what was expected and what to do; its
right counterpart yields nothing. Mistakes of drawings and of the search are tried in a browser, under `tests/browser`.
"""

import csv
import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pytest

from kbtool.analysis.cost import usd_per_million
from kbtool.analysis.limits import Bound, NotChecked, hard_limits
from kbtool.analysis.quantity import DimensionError, quantity
from kbtool.cli import main
from kbtool.lint import run
from kbtool.schema import Benchmark
from kbtool.store import load
from tests.lint.projects import BENCHMARK, edit, write
from tests.site.samples import text_of, the_build

NGRAM: Final = Path(__file__).parents[1] / "fixtures" / "ingest" / "vllm-bench-ngram.json"
"""What `vllm bench serve` wrote of a server that speculates; several tokens a chunk."""
AT: Final = {
    "concurrency": 32, "input_tok": 1024, "output_tok": 512, "prompt_class": "prose", "measuring_path": "on_host",
}  # fmt: skip
COLD: Final = {**AT, "prefix_cache": "cold", "cache_proof": ["unique_prompt"]}

Program = Callable[..., tuple[int, str]]


@pytest.fixture
def kbtool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Program:
    """Return the program, run in the project of the test: its exit code, and what it said."""
    monkeypatch.chdir(tmp_path)
    for name, value in (("COLUMNS", "300"), ("NO_COLOR", "1")):
        monkeypatch.setenv(name, value)

    def run_one(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["kbtool", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main()
        said = capsys.readouterr()
        return int(stopped.value.code or 0), said.out + said.err

    return run_one


def result(metric: str, value: str, published: str = "", *, name: str = "decode-prose-1", **more: Any) -> str:
    """Return a result as YAML in one line; the first of a record is its headline."""
    fields: dict[str, Any] = {
        "id": name, "metric": metric, "value": Decimal(value), "as_published": published or value, "repeats": 3, "at": AT,
        "evidence": [{"source": "sources/base-source", "locator": "Table 3"}], **more,
    }  # fmt: skip
    return f"  - {flow(fields)}\n"


def flow(value: Any) -> str:
    """Return plain data in YAML's flow style, decimals with their digits."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {flow(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    return f"{value:f}" if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=False)


def found(root: Path, *fragments: str, base: str | None = None) -> list[tuple[str, str, str]]:
    """Write a project, check it, and return code, line of the place, and message of each finding."""
    if fragments:
        write(root, "".join(fragments))
    report = run(root, cache=False, base=base)
    return [
        (
            each.code,
            (root / each.path).read_text(encoding="utf-8").splitlines()[each.line - 1].strip(),
            each.message,
        )
        for each in report.findings
    ]


def one(root: Path, *fragments: str, code: str, place: str, says: Iterable[str]) -> None:
    """A project has one finding: this code, at this line, with these words."""
    findings = found(root, *fragments)
    assert [(each, line) for each, line, _ in findings] == [(code, place)]
    message = findings[0][2]
    for words in says:
        assert words in message


# --- 1. Throughput of a disaggregated system divided by the accelerators that decode alone -----------------


POOLS: Final = """
system: {accelerator_count: 24, nodes: 3}
deployment: {instances: 3, tp: 8, prefill_accelerators: 8, decode_accelerators: 16}
"""
PLAIN: Final = f"""
benchmarks/plain:
  title: Base Engine on eight plain accelerators
  headline: whole
  system: {{accelerator_count: 8}}
  deployment: {{tp: 8}}
  results:
  {result("output_tok_s", "4000", name="whole")}
"""


def test_a_share_of_the_decode_pool_is_no_share_of_the_system(tmp_path: Path) -> None:
    """9,600 tok/s of 8 + 16 are 400 each; 600 leave the eight that prefill out."""
    whole = result("output_tok_s", "9600", name="whole")
    one(
        tmp_path / "bad",
        POOLS, "results:\n", result("tok_s_per_accelerator", "600"), whole,
        code="U106", place="value: 600",
        says=("600 each is 9600 / 16, those that decode alone", "all 24 share it, 400.0 each", "correct it, or say"),
    )  # fmt: skip
    assert found(tmp_path / "good", POOLS, "results:\n", result("tok_s_per_accelerator", "400"), whole) == []


def test_a_share_without_its_system_says_what_it_was_divided_by(tmp_path: Path) -> None:
    """Alone, 600 may be of 16 or of 24, and nobody could see it."""
    share = {"metric": "tok_s_per_accelerator", "value": "600"}
    one(
        tmp_path / "bad", POOLS, "results:\n", result(**share),
        code="T016", place="at:", says=("of 24 or of the 16 that decode?", "Say `at.accelerators`"),
    )  # fmt: skip
    told = result(**share, at={**AT, "accelerators": 16})
    assert found(tmp_path / "good", POOLS, "results:\n", told) == []


def test_pools_compare_by_all_of_their_accelerators(tmp_path: Path, kbtool: Program) -> None:
    """Against eight plain ones 8 + 16 are slower each; the decode pool alone stands beside nothing."""
    share = result("tok_s_per_accelerator", "600", name="pool", at={**AT, "accelerators": 16})
    assert found(tmp_path, POOLS, "results:\n", result("output_tok_s", "9600"), share, PLAIN) == []
    code, said = kbtool("compare", "base-benchmark", "plain")
    assert code == 0
    assert "the first is 0.800 times the second" in said
    assert "9600 tok/s / 24 accelerators against 4000 tok/s / 8 accelerators" in said
    code, said = kbtool("compare", "base-benchmark#pool", "plain")
    assert code == 1
    assert "Not comparable: " in said
    assert "pool of a disaggregated system" in said


# --- 2. Input and output tokens under a name that says generated -------------------------------------------


def test_total_tokens_under_the_name_of_output(tmp_path: Path) -> None:
    """The source's own words say which tokens it counts."""
    one(
        tmp_path / "bad", "results:\n", result("output_tok_s", "900", "900 total tokens/s"),
        code="P107", place="metric: output_tok_s",
        says=("prints '900 total tokens/s'", "output_tok_s counts output tokens", "take the metric that counts input and output"),
    )  # fmt: skip
    assert found(tmp_path / "good", "results:\n", result("total_tok_s", "900", "900 total tokens/s")) == []


def test_a_total_below_the_output_that_it_holds(tmp_path: Path) -> None:
    """The two columns were exchanged."""
    columns = [("output_tok_s", "900"), ("total_tok_s", "300")]
    one(
        tmp_path / "bad", "results:\n", result(*columns[0]), result(*columns[1], name="total"),
        code="U105", place="value: 300", says=("output alone is 900", "exchange the two"),
    )  # fmt: skip
    good = result("output_tok_s", "300"), result("total_tok_s", "900", name="total")
    assert found(tmp_path / "good", "results:\n", *good) == []


def test_output_and_total_share_no_chart_and_no_ratio(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kbtool: Program
) -> None:
    """On the page of a record each has a drawing whose axis names it; a comparison of the two is refused."""
    sweep = [
        result(metric, value, name=f"{metric.split('_')[0]}-{users}", at={**AT, "concurrency": users})
        for metric, values in {"output_tok_s": (90, 170, 320), "total_tok_s": (270, 510, 960)}.items()
        for users, value in zip((1, 2, 4), map(str, values), strict=True)
    ]
    assert found(tmp_path, "headline: output-1\nresults:\n", *sweep) == []
    code, said = kbtool("compare", "base-benchmark#output-4", "base-benchmark#total-4")
    assert code == 1
    assert "Not comparable: another count of tokens: output tokens against input and output tokens." in said

    the_build(tmp_path, monkeypatch)
    page = (tmp_path / "out/benchmarks/base-benchmark.html").read_text(encoding="utf-8")
    drawings = [each.partition("</svg>")[0] for each in page.split("<svg")[1:] if "polyline" in each]
    axes = [
        name
        for each in drawings
        for name in ("Output throughput, tok/s", "Total throughput, tok/s")
        if name in each
    ]
    assert axes == ["Output throughput, tok/s", "Total throughput, tok/s"]
    assert [each.count("<circle") for each in drawings] == [3, 3]
    assert [">960<" in each for each in drawings] == [False, True]


# --- 4. A number of nodes, or of one node, read as the whole system -----------------------------------------


@pytest.mark.parametrize(
    ("system", "place", "says"),
    [
        ("{nodes: 4, accelerator_count: 2}", "accelerator_count: 2", "2 accelerators in 4 nodes"),
        (
            "{nodes: 2, accelerator_count: 8, accelerator_as_published: '2 nodes, 8 GPUs per node'}",
            "accelerator_count: 8",
            "2 nodes of 8 are 16, but the record has 8",
        ),
    ],
)
def test_the_accelerators_of_one_node_are_not_all(tmp_path: Path, system: str, place: str, says: str) -> None:
    """The count is of all nodes together."""
    tp = 2 if "count: 2" in system else 8
    bad = f"system: {system}\ndeployment: {{tp: {tp}}}\n"
    one(tmp_path / "bad", bad, code="T015", place=place, says=(says, "count those of all nodes"))
    right = system.replace("count: 2", "count: 4").replace("count: 8", "count: 16")
    good = f"system: {right}\ndeployment: {{tp: {tp}, pp: 2}}\n"
    assert found(tmp_path / "good", good) == []


def test_a_throughput_of_one_node_is_not_the_systems(tmp_path: Path) -> None:
    """Its source says so; the record says how many accelerators that is, or has one node."""
    nodes = "system: {nodes: 2}\n"
    figure = {"metric": "output_tok_s", "value": "2282", "published": "2,282 tokens/sec per node"}
    one(
        tmp_path / "bad", nodes, "results:\n", result(**figure),
        code="P107", place="metric: output_tok_s", says=("per node", "is of the whole system", "take `at.accelerators`"),
    )  # fmt: skip
    told = result(**figure, at={**AT, "accelerators": 1})
    assert found(tmp_path / "told", nodes, "results:\n", told) == []
    assert found(tmp_path / "one", "results:\n", result(**figure)) == []


# --- 5. A p99 under the name of p90 --------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["figure", "quote", "column"])
def test_a_p99_is_not_a_p90(tmp_path: Path, where: str) -> None:
    """The words nearest to the figure name the percentile."""
    words = {
        "figure": ("900 ms (P99)", {"locator": "Table 3"}),
        "quote": ("900 ms", {"locator": "Table 3", "quote": "The 99th percentile of TTFT is 900 ms."}),
        "column": ("900 ms", {"locator": "Table 3, column p99_ttft_ms"}),
    }
    published, place = words[where]
    figure: dict[str, Any] = {
        "metric": "ttft_ms", "value": "900", "published": published, "at": COLD,
        "evidence": [{"source": "sources/base-source", **place}],
    }  # fmt: skip
    one(
        tmp_path / "bad", "results:\n", result(**figure, statistic="p90"),
        code="P108", place="statistic: p90", says=("the source names p99, but statistic is p90", "correct the one misread"),
    )  # fmt: skip
    assert found(tmp_path / "good", "results:\n", result(**figure, statistic="p99")) == []


def test_a_p90_above_the_p99(tmp_path: Path) -> None:
    """Exchanged columns show where percentiles fall."""
    one(
        tmp_path / "bad", "results:\n", result("e2el_ms", "900", statistic="p90"),
        result("e2el_ms", "700", name="p99", statistic="p99"),
        code="U101", place="value: 700", says=("p90 900 and p99 700", "cannot fall", "correct the one"),
    )  # fmt: skip
    good = result("e2el_ms", "700", statistic="p90"), result("e2el_ms", "900", name="p99", statistic="p99")
    assert found(tmp_path / "good", "results:\n", *good) == []


# --- 6. A published table that is not what its raw file holds -------------------------------------------------


def imported(root: Path, kbtool: Program) -> Path:
    """Import a result file of a load tool beside the base records, and return the draft."""
    write(root)
    code, said = kbtool(
        "bench", "import", str(NGRAM), "--accelerator", "accelerators/base-accelerator",
        "--engine", "engines/base-engine", "--model", "models/base-model", "--publisher", "Example Lab", "--id", "ngram", "--accessed", "2026-11-29",
    )  # fmt: skip
    assert code == 0, said
    return root / "records/benchmarks/ev-ngram.yaml"


def test_figures_are_those_of_the_raw_file(tmp_path: Path, kbtool: Program) -> None:
    """The file's own digits are the figures; a rounder one from a table of the same run is found, or is a claim of its own."""
    draft = imported(tmp_path, kbtool)
    raw = json.loads(NGRAM.read_text(encoding="utf-8"), parse_float=Decimal)
    record = load(tmp_path).get("benchmarks/ev-ngram")
    assert isinstance(record, Benchmark)
    figures = {f"{each.metric} {each.statistic}": each.value for each in record.results}
    for name, key in (
        ("tpot_ms mean", "mean_tpot_ms"),
        ("e2el_ms p99", "p99_e2el_ms"),
        ("output_tok_s single", "output_throughput"),
    ):
        assert figures[name] == raw[key]
    assert not [each for each in found(tmp_path) if each[0] == "P101"]

    edit(tmp_path, "value: 158.751", "value: 15.8751", draft.relative_to(tmp_path).as_posix())
    findings = [each for each in found(tmp_path) if each[0] == "P101"]
    assert [line for _, line, _ in findings] == ["value: 15.8751"]
    assert "is not a number of" in findings[0][2]
    assert "correct the one that differs from the source" in findings[0][2]


def test_a_table_that_contradicts_its_raw_file_is_told(tmp_path: Path) -> None:
    """The quote of a table without the figure is found; a claim that is contradicted names what contradicts it."""
    table = {"source": "sources/base-source", "locator": "Table 3", "quote": "| 32 | 4,150 tok/s |"}
    figure = {"metric": "output_tok_s", "value": "415.0", "published": "415.0"}
    one(
        tmp_path / "bad", "results:\n", result(**figure, evidence=[table]),
        code="P105", place="evidence:", says=("no quote holds the figure (415.0)", "quote the words or the cell"),
    )  # fmt: skip
    raw = {"source": "sources/base-source", "locator": "results.json, key output_throughput"}
    claim = {
        "id": "table", "statement": "The table prints ten times the figure of its raw file.", "value": "4,150 tok/s",
        "verdict": "contradicted", "fields": ["decode-prose-1"], "evidence": [table],
    }  # fmt: skip
    told = {**claim, "counter": [{"evidence": raw, "value": "415.0"}]}
    good = result(**figure, evidence=[raw])
    assert found(tmp_path / "good", "results:\n", good, f"claims: [{flow(told)}]\n") == []
    one(
        tmp_path / "silent", "results:\n", good, f"claims: [{flow(claim)}]\n",
        code="P018", place="verdict: contradicted", says=("nothing says by what", "add `counter`"),
    )  # fmt: skip


def test_a_raw_file_that_changed_is_not_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kbtool: Program
) -> None:
    """One digit is exchanged, so that its size stays: the record does not hand it out as the file of its figures."""
    imported(tmp_path, kbtool)
    raw = next((tmp_path / "raw").rglob("*.json"))
    place = raw.relative_to(tmp_path)
    the_build(tmp_path, monkeypatch, out="before")
    assert (tmp_path / "before" / place).read_bytes() == NGRAM.read_bytes()
    raw.write_bytes(raw.read_bytes().replace(b"158.751", b"185.751"))
    the_build(tmp_path, monkeypatch, out="after")
    assert not (tmp_path / "after" / place).exists()


# --- 7. Chunks of a stream counted as tokens -------------------------------------------------------------------


def test_gaps_of_a_speculating_server_are_imported_as_gaps_of_chunks(tmp_path: Path, kbtool: Program) -> None:
    """Its "ITL" of 365 ms is 2.3 times its TPOT; its peak of 20.0 counts chunks, and is below its mean of 20.6."""
    imported(tmp_path, kbtool)
    record = load(tmp_path).get("benchmarks/ev-ngram")
    assert isinstance(record, Benchmark)
    means = {each.metric: each.value for each in record.results if each.statistic == "mean"}
    assert (means["icl_ms"], means["tpot_ms"]) == (Decimal("365.344"), Decimal("158.751"))
    assert "itl_ms" not in {each.metric for each in record.results}
    assert Decimal("20.0") not in {each.value for each in record.results}
    assert not [each for each in found(tmp_path) if each[0] == "S013"]


def test_a_gap_of_chunks_under_the_name_of_itl(tmp_path: Path) -> None:
    """Longer than TPOT by the acceptance length; without drafts a chunk is a token."""
    tpot = result("tpot_ms", "12.0", name="tpot", statistic="mean")
    itl = result("itl_ms", "20.1", statistic="mean")
    one(
        tmp_path / "bad", "results:\n", itl, tpot,
        code="S013", place="metric: itl_ms", says=("ITL is 20.1 ms and TPOT 12.0 ms", "chunks were counted", "as `icl_ms`"),
    )  # fmt: skip
    gap = result("icl_ms", "20.1", statistic="mean")
    assert found(tmp_path / "good", "results:\n", gap, tpot) == []
    near = result("itl_ms", "12.3", statistic="mean")
    assert found(tmp_path / "near", "results:\n", near, tpot) == []


def test_a_gap_from_a_client_that_counts_chunks(tmp_path: Path) -> None:
    """Without TPOT beside it, the client decides; and whether there were drafts."""
    tool, itl = "measured: {tool: vllm bench serve 0.32.0}\n", result("itl_ms", "20.1", statistic="mean")
    one(
        tmp_path / "bad", tool, "results:\n", itl,
        code="S013", place="metric: itl_ms", says=("one sample a chunk", "several tokens in one", "write it as `icl_ms`"),
    )  # fmt: skip
    plain = "speculation: {method: none, draft_tok: null, acceptance_length: null}\n"
    assert found(tmp_path / "good", tool, plain, "results:\n", itl) == []


def test_a_peak_below_the_mean(tmp_path: Path) -> None:
    """A peak of 111 tok/s counted chunks, the mean of 415 tokens."""
    mean = result("output_tok_s", "415", statistic="mean")
    one(
        tmp_path / "bad", "results:\n", mean, result("output_tok_s", "111", name="peak", statistic="peak"),
        code="U101", place="value: 111", says=("mean 415 and peak 111", "cannot fall", "correct the one"),
    )  # fmt: skip
    peak = result("output_tok_s", "511", name="peak", statistic="peak")
    assert found(tmp_path / "good", "results:\n", mean, peak) == []


# --- 8. 3.10 turned into 3.1 -------------------------------------------------------------------------------------


def test_a_version_keeps_its_last_zero(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kbtool: Program
) -> None:
    """A reader of floats makes 3.1 of it: here every way in and out keeps the zero, quoted or not."""
    write(tmp_path, "engine: {arguments: {python: 3.10}}\n")
    edit(tmp_path, 'version: "1.10"', "version: 3.10")
    for command in (("lint", "--fix"), ("fmt",), ("lint", "--fix")):
        assert kbtool(*command)[0] == 0
    text = (tmp_path / BENCHMARK).read_text(encoding="utf-8")
    assert 'version: "3.10"\n' in text
    assert "python: 3.10\n" in text
    assert found(tmp_path) == []

    for output in ("json", "yaml"):
        code, said = kbtool("show", "base-benchmark", "--format", output)
        assert code == 0
        assert said.count("3.10") == 2
    for output in ("json", "csv", "table"):
        code, said = kbtool("find", "--format", output, "--columns", "engine_version")
        assert (code, "3.10" in said) == (0, True)

    the_build(tmp_path, monkeypatch)
    out = tmp_path / "out"
    page = text_of((out / "benchmarks/base-benchmark.html").read_text(encoding="utf-8"))
    assert "python = 3.10" in page
    record = (out / "data/records/benchmarks/base-benchmark.json").read_text(encoding="utf-8")
    assert '"version":"3.10"' in record
    assert '"python":3.10' in record
    with (out / "data/results.csv").open(encoding="utf-8", newline="") as file:
        assert {row["engine_version"] for row in csv.DictReader(file)} == {"3.10"}
    words = [
        word for path in out.glob("search/words-*.json") for word in json.loads(path.read_bytes())["words"]
    ]
    assert "3.10" in words
    assert "3.1" not in words


def test_two_versions_that_differ_in_a_zero_are_two(tmp_path: Path) -> None:
    """A correction of 3.1 to 3.10 is none to a reader of floats."""
    entry = {
        "date": "2026-09-19",
        "fields": ["engine.version"],
        "old": "3.1",
        "new": "3.10",
        "why": "Misread.",
    }
    assert found(tmp_path / "good", f'engine: {{version: "3.10"}}\nchanges: [{flow(entry)}]\n') == []
    one(
        tmp_path / "bad", f'engine: {{version: "3.1"}}\nchanges: [{flow(entry)}]\n',
        code="P020", place='- date: "2026-09-19"', says=("engine.version is 3.1 again, which was corrected to 3.10",),
    )  # fmt: skip


# --- 9. A correction that was merged, and reverted later -----------------------------------------------------------


def corrected(value: str) -> str:
    """Return a record that says it corrected 93.9 to 95.1, with this value."""
    figure = result("tok_s_per_user", value, at={**AT, "concurrency": 1})
    entry = flow(
        {
            "date": "2026-09-19", "fields": ["results.decode-prose-1"], "old": Decimal("93.9"), "new": Decimal("95.1"),
            "why": "The source corrected it.",
        }
    )  # fmt: skip
    return f"results:\n{figure}changes:\n  - {entry}\n"


def test_a_correction_stays(tmp_path: Path) -> None:
    """The entry that names old and new value is a guard for good."""
    one(
        tmp_path / "bad", corrected("93.9"),
        code="P020", place='- date: "2026-09-19"',
        says=("93.9 again", "was corrected to 95.1 on 2026-09-19", "restore the correction, or add a `changes` entry"),
    )  # fmt: skip
    assert found(tmp_path / "good", corrected("95.1")) == []


def test_an_older_copy_does_not_take_a_correction_back(tmp_path: Path) -> None:
    """Merged over the correction, it has neither the value nor the entry: the change itself is refused."""
    write(tmp_path, corrected("95.1"))
    git = ("git", "-C", str(tmp_path), "-c", "user.name=A", "-c", "user.email=a@example.org")
    for command in (("init", "-q"), ("add", "."), ("commit", "-qm", "Correct a figure")):
        subprocess.run([*git, *command], check=True, capture_output=True)
    assert found(tmp_path, base="HEAD") == []
    write(tmp_path, "results:\n" + result("tok_s_per_user", "93.9", at={**AT, "concurrency": 1}))
    assert found(tmp_path) == []
    findings = found(tmp_path, base="HEAD")
    assert [(code, line) for code, line, _ in findings] == [("B001", "value: 93.9")]
    assert "95.1 tok_s_per_user became 93.9 tok_s_per_user: add a `changes` entry" in findings[0][2]


# --- 10. Three contexts of one model --------------------------------------------------------------------------------


def context(value: int, published: str, others: str = "[]") -> str:
    """Return a model with this context, as its source prints it."""
    evidence = "[{source: sources/base-source, locator: Section 2}]"
    return (
        f"models/base-model: {{context_tok: {{value: {value}, as_published: {published}, evidence: {evidence}, "
        f"others: {others}}}}}\n"
    )


def test_one_context_has_one_number(tmp_path: Path) -> None:
    """512K is 524,288 or 512,000, and never 1,000,000; what other sources say stands beside it with the reason."""
    for number in (512_000, 524_288):
        assert found(tmp_path / str(number), context(number, "512K tokens")) == []
    one(
        tmp_path / "bad", context(1_000_000, "512K tokens"),
        code="P102", place="value: 1000000", says=("1000000 is not a number of '512K tokens'", "correct the one"),
    )  # fmt: skip


def test_an_engine_accepts_no_longer_context_than_the_model_has(tmp_path: Path) -> None:
    """The advertised million is not the model's."""
    model = context(524_288, '"524,288"')
    one(
        tmp_path / "bad", model, "serving: {context_tok: 1000000}\n",
        code="T009", place="context_tok: 1000000", says=("models/base-model has 524288", "correct the one misread"),
    )  # fmt: skip
    assert found(tmp_path / "good", model, "serving: {context_tok: 512000}\n") == []


def test_the_page_of_a_model_shows_every_context_with_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader sees which is used, and why the others are not."""
    evidence = "[{source: sources/base-source, locator: Section 3}]"
    others = (
        f"[{{value: 512000, as_published: 512K, why_not: Rounded., evidence: {evidence}}}, "
        f"{{value: 1000000, as_published: 1M, why_not: With positions stretched., evidence: {evidence}}}]"
    )
    assert found(tmp_path, context(524_288, '"524,288"', others)) == []
    the_build(tmp_path, monkeypatch)
    page = text_of((tmp_path / "out/models/base-model.html").read_text(encoding="utf-8"))
    for shown in ("524,288", "512,000", "1,000,000", "Rounded.", "With positions stretched."):
        assert shown in page


# --- 12. What holds today, read as "since" ----------------------------------------------------------------------------


def feature(value: str, locator: str) -> str:
    """Return an engine with a fact."""
    fact = {
        "value": value,
        "evidence": [{"source": "sources/base-source", "locator": locator, "quote": "Chunked prefill is on by default."}],
    }  # fmt: skip
    return f"engines/base-engine: {{features: [{flow({'name': 'chunked-prefill', 'fact': fact})}]}}\n"


def test_a_page_of_today_says_nothing_of_a_start(tmp_path: Path) -> None:
    """A start needs words of the source that name it."""
    one(
        tmp_path / "bad", feature("On by default since 1.10", "Section 4"),
        code="P021", place="value: On by default since 1.10",
        says=("'since 1.10', but no evidence names 1.10", "say what holds in the source as read, or quote"),
    )  # fmt: skip
    assert found(tmp_path / "plain", feature("On by default", "Section 4")) == []
    assert found(tmp_path / "told", feature("On by default since 1.10", "Release notes, section 1.10")) == []
    other = feature("On by default since 1.1", "Release notes, section 1.10")
    assert [code for code, _, _ in found(tmp_path / "other", other)] == ["P021"]


def test_the_day_of_reading_is_not_the_day_of_measuring(tmp_path: Path) -> None:
    """An article of the 14th, read on the 15th, cannot report what was measured on the 15th."""
    one(
        tmp_path / "bad", 'measured: {day: "2026-09-15"}\n',
        code="P016", place='day: "2026-09-15"', says=("published by 2026-09-14", "correct the day that is wrong"),
    )  # fmt: skip
    assert found(tmp_path / "good", 'measured: {day: "2026-09-14"}\n') == []


# --- 13. A fixer that ends well while faults are left -------------------------------------------------------------------


def test_fix_fails_while_a_fault_is_left(tmp_path: Path, kbtool: Program) -> None:
    """The exit code is that of what remains; a second run says the same; a mended project ends with 0."""
    write(tmp_path)
    edit(tmp_path, "tp: 2", 'tp: "2"')
    edit(tmp_path, "statistic: mean", "statistic: meen")
    for _ in range(2):
        code, said = kbtool("lint", "--fix")
        assert code == 1
        assert "meen" in said
        assert "mean" in said
        assert "tp:" not in said
    assert kbtool("lint")[0] == 1
    edit(tmp_path, "statistic: meen", "statistic: mean")
    edit(tmp_path, "tp: 2", 'tp: "2"')
    assert kbtool("lint", "--fix")[0] == 0
    assert kbtool("lint")[0] == 0


# --- 14. A valid zero that is refused --------------------------------------------------------------------------------------


ZEROS: Final = {
    "no errors": result("error_ratio", "0", at={"concurrency": 1}),
    "no errors, as a range": result(
        "error_ratio", "0", "0 to 0.1", low=Decimal(0), high=Decimal("0.1"), range_meaning="min_max", at={"concurrency": 1}
    ),
    "nothing accepted": result("acceptance_ratio", "0", "0%"),
    "nothing cached": result("cached_tok", "0"),
    "no goodput": result("goodput_req_s", "0", at={**AT, "slo": [{"metric": "ttft_ms", "limit": 1, "statistic": "p99"}]}),
    "temperature": result("req_s", "3", at={**AT, "temperature": 0}),
    "no spread": result("req_s", "3", spread={"kind": "stdev", "value": 0}),
}  # fmt: skip


@pytest.mark.parametrize("name", ZEROS)
def test_a_valid_zero_is_a_value(tmp_path: Path, name: str) -> None:
    """Zero is a measurement like another one."""
    assert found(tmp_path, "results:\n", ZEROS[name]) == []


def test_a_throughput_of_zero_is_a_failed_run(tmp_path: Path) -> None:
    """Where nothing came out, nothing was measured."""
    one(
        tmp_path, "results:\n", result("output_tok_s", "0"),
        code="U002", place="value: 0", says=("output_tok_s is 0; expected more than 0", "leave the failed run out"),
    )  # fmt: skip


def test_a_zero_is_shown_and_written_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kbtool: Program
) -> None:
    """Neither a page nor a file takes it for unknown; a price of 0 gives a cost of 0."""
    figures = ZEROS["no errors"], result("output_tok_s", "900", name="box")
    assert found(tmp_path, "results:\n", *figures, priced("0", "free of charge, 0 USD")) == []
    the_build(tmp_path, monkeypatch)
    code, said = kbtool(
        "find", "--where", "metric=error_ratio", "--columns", "value,value", "--format", "csv"
    )
    assert (code, said.splitlines()[1:]) == (0, ["0,0"])
    table = next(
        table
        for table in (tmp_path / "out/benchmarks/base-benchmark.html")
        .read_text(encoding="utf-8")
        .split("<table")
        if "Failed requests" in table or "decode-prose-1" in table
    )
    assert ">0<" in table
    cost = costs(tmp_path)
    assert "0 USD x 2 accelerators / (900 tok/s x 3,600 s) x 1,000,000" in cost


# --- 15. Dense and sparse peaks in one roofline ----------------------------------------------------------------------------


def peaks(*entries: tuple[str, int, str]) -> str:
    """Return an accelerator with these peaks: sparsity, TFLOPS, and how the source prints it."""
    compute = [
        {
            "dtype": "fp8_e4m3", "sparsity": sparsity, "measured": False,
            "tflops": {
                "value": value, "as_published": published,
                "evidence": [{"source": "sources/base-source", "locator": "Table 1"}],
            },
        }
        for sparsity, value, published in entries
    ]  # fmt: skip
    return f"accelerators/base-accelerator: {{compute: {flow(compute)}}}\n"


def test_a_sparse_peak_is_not_entered_as_dense(tmp_path: Path) -> None:
    """The source says `with sparsity`."""
    one(
        tmp_path / "bad", peaks(("dense", 2000, "2,000 TFLOPS with sparsity")),
        code="U213", place="sparsity: dense", says=("prints it as sparse, the entry says dense", "correct the one misread"),
    )  # fmt: skip
    good = peaks(("dense", 1000, "1,000 TFLOPS"), ("sparse", 2000, "2,000 TFLOPS with sparsity"))
    assert found(tmp_path / "good", good) == []


def test_dense_and_sparse_are_not_exchanged(tmp_path: Path) -> None:
    """The sparse peak is twice the dense one."""
    one(
        tmp_path, peaks(("dense", 2000, "2,000"), ("sparse", 1000, "1,000")),
        code="U208", place="value: 1000", says=("sparse is 1000, dense 2000; expected about twice", "check which figure is which"),
    )  # fmt: skip


def test_a_bound_takes_the_dense_peak_alone(tmp_path: Path) -> None:
    """With a sparse peak and no dense one the bound is not checked, rather than twice too high."""
    both = peaks(("sparse", 2000, "2,000"), ("dense", 1000, "1,000"))
    bounds = {}
    for name, fragment in (("both", both), ("sparse", peaks(("sparse", 2000, "2,000")))):
        write(tmp_path / name, fragment)
        corpus = load(tmp_path / name)
        record = corpus.get("benchmarks/base-benchmark")
        assert isinstance(record, Benchmark)
        bounds[name] = next(
            each for each in hard_limits(record, record.results[0], corpus.get) if each.code == "compute"
        )
    dense, none = bounds["both"], bounds["sparse"]
    assert isinstance(dense, Bound)
    assert [(each.name, each.value) for each in dense.inputs if "peak" in each.name] == [
        ("dense peak, fp8_e4m3", 1000)
    ]
    assert none == NotChecked("compute", "accelerators/base-accelerator gives no dense peak")


# --- 16. A cost 3,600 times too high -----------------------------------------------------------------------------------------


def priced(amount: str, published: str) -> str:
    """Return an accelerator with a price by the hour."""
    price = {
        "amount": Decimal(amount), "currency": "USD", "per": "hour", "accelerators": 1, "basis": "cloud_on_demand",
        "seen": "2026-09-15", "as_published": published,
        "evidence": [{"source": "sources/base-source", "locator": "Table 5"}],
    }  # fmt: skip
    return f"accelerators/base-accelerator: {{prices: [{flow(price)}]}}\n"


def costs(project: Path) -> str:
    """Return the text of all pages of the built site that are about costs."""
    pages = sorted((project / "out").rglob("*.html"))
    return " ".join(
        text_of(each.read_text(encoding="utf-8"))
        for each in pages
        if each.relative_to(project / "out").as_posix().startswith("cost")
    )


def test_an_hour_is_3600_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """2.2712 USD an hour at 14,991.62 tok/s are 0.0421 USD a million tokens, and not 151.50; the page shows each step."""
    setup = "system: {accelerator_count: 1}\ndeployment: {tp: 1}\nserving: {max_running_requests: 256}\n"
    figure = result("output_tok_s", "14991.62", "14,991.62 tok/s", at={**AT, "concurrency": 256})
    assert found(tmp_path, setup, "results:\n", figure, priced("2.2712", "$2.2712/h")) == []
    the_build(tmp_path, monkeypatch)
    page = costs(tmp_path)
    assert "0.0421" in page
    assert "2.2712 USD x 1 accelerator / (14,991.62 tok/s x 3,600 s) x 1,000,000" in page
    assert "151.5" not in page
    assert "2026-09-15" in page


def test_a_price_and_a_rate_of_different_things_make_no_cost() -> None:
    """USD an hour and accelerator over tokens a second of the system is no price of tokens."""
    rate = quantity("14991.62", "tok[output]/s")
    price = quantity("2.2712", "USD/h")
    assert round(usd_per_million(price, rate, "output"), 4) == Decimal("0.0421")
    with pytest.raises(DimensionError):
        usd_per_million(price / quantity(1, "accelerator"), rate, "output")
    with pytest.raises(DimensionError):
        usd_per_million(price, quantity("14991.62", "tok[both]/s"), "output")


# --- 17. An impossible outlier among its siblings --------------------------------------------------------------------------------


def sweep_of(metric: str, *values: str, **more: Any) -> str:
    """Return results at 1, 2, 4, ... requests in flight; the second has `more`."""
    lines = [
        result(
            metric, value, name=f"c{1 << at}", at={**AT, "concurrency": 1 << at}, **(more if at == 1 else {})
        )
        for at, value in enumerate(values)
    ]
    return "headline: c1\nresults:\n" + "".join(lines)


def test_a_point_far_from_its_neighbours(tmp_path: Path) -> None:
    """170 with its comma lost is 1,700; a figure that the source prints so is disputed, and not silently kept."""
    one(
        tmp_path / "bad", sweep_of("output_tok_s", "90", "1700", "320", "600"),
        code="U110", place="value: 1700",
        says=("neighbours by concurrency are c1 90 and c4 320", "check digits and unit", "say `standing: disputed`"),
    )  # fmt: skip
    assert found(tmp_path / "good", sweep_of("output_tok_s", "90", "170", "320", "600")) == []
    disputed = {"standing": "disputed", "standing_reason": "Ten times its neighbours; printed so."}
    assert found(tmp_path / "told", sweep_of("output_tok_s", "90", "1700", "320", "600", **disputed)) == []


def test_a_cliff_is_no_outlier(tmp_path: Path) -> None:
    """A throughput that falls and stays low is what a sweep is made to find."""
    assert found(tmp_path, sweep_of("output_tok_s", "90", "170", "320", "60", "58")) == []


def test_a_figure_beyond_the_hardware(tmp_path: Path) -> None:
    """The last point of a sweep has one neighbour; what memory can give bounds it all the same."""
    findings = found(tmp_path, sweep_of("tok_s_per_user", "90", "80", "7000"))
    assert [(code, line) for code, line, _ in findings] == [("U216", "value: 7000")]
    assert "of what memory bandwidth allows" in findings[0][2]
    assert "check unit, scope, tokens counted, accelerators and cache" in findings[0][2]


# --- 18. A 300 W card at 600 W ---------------------------------------------------------------------------------------------------


MAX_Q: Final = """
accelerators/base-accelerator:
  title: Base Accelerator 96GB Max-Q
  edition: Max-Q
  power: {default_w: {value: 300, as_published: 300 W}, max_limit_w: {value: 300, as_published: 300 W}}
"""


def card(limit: int, name: str = "Base Accelerator 96GB Max-Q") -> str:
    """Return a system of that accelerator with a power limit."""
    return f"system: {{power_limit_w: {limit}, power_limit_as_published: {limit} W, accelerator_as_published: {name}}}\n"


def test_a_card_of_300_w_does_not_draw_600(tmp_path: Path) -> None:
    """The limit of another edition was taken for its own."""
    one(
        tmp_path / "bad", MAX_Q, card(600),
        code="U201", place="power_limit_w: 600", says=("600", "300"),
    )  # fmt: skip
    assert found(tmp_path / "good", MAX_Q, card(300)) == []


def test_a_card_named_by_another_edition(tmp_path: Path) -> None:
    """The source says Workstation, the record points at the Max-Q."""
    one(
        tmp_path, MAX_Q, card(300, "Base Accelerator 96GB Workstation"),
        code="U203", place="accelerator: accelerators/base-accelerator",
        says=("names 'Base Accelerator 96GB Workstation'", "is another edition", "refer to the one named"),
    )  # fmt: skip


def test_a_draw_above_the_board(tmp_path: Path) -> None:
    """480 W were measured on it: another card, or the whole system."""
    at = {"concurrency": 32, "interval": "the whole run"}
    one(
        tmp_path / "bad", MAX_Q, card(300), "results:\n", result("power_w", "480", "480 W", at=at),
        code="U202", place="value: 480", says=("480", "300", "check"),
    )  # fmt: skip
    good = result("power_w", "280", "280 W", at=at)
    assert found(tmp_path / "good", MAX_Q, card(300), "results:\n", good) == []
