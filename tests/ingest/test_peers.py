"""Installed load tools: their commands, whether they are there, and what they leave."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from kbtool.errors import UsageError
from kbtool.ingest import PEERS, Compared, IngestError, Job, command, compare, crosscheck, installed
from kbtool.ingest.bias import known_bias
from kbtool.ingest.compare import Ours
from kbtool.ingest.peers import peer
from tests.ingest.files import data_of, imported

RESULTS = {
    "vllm-bench": ("vllm-bench.json", "vllm-bench-detailed.json"),
    "sglang-bench": ("sglang-bench.jsonl", "sglang-bench.jsonl"),
    "guidellm": ("guidellm.json", "guidellm.json"),
    "aiperf": ("run/profile_export_aiperf.json", "aiperf.json"),
    "inference-perf": ("summary_lifecycle_metrics.json", "inference-perf.json"),
}
"""Peer -> where it writes, and the fixture that stands for it."""


def job(folder: Path, **changes: Any) -> Job:
    """Return a small load."""
    load = Job("http://127.0.0.1:8900", "tiny", 16, 64, 32, 240, folder, tokenizer="tok")
    return replace(load, **changes)


@pytest.mark.parametrize("tool", sorted(RESULTS))
def test_command_holds_the_whole_load(tool: str, tmp_path: Path) -> None:
    """Address, model, concurrency, requests and lengths are all in the arguments or the settings file."""
    what = command(peer(tool), job(tmp_path))
    said = " ".join(what.argv) + b"".join(what.files.values()).decode()
    for word in ("http://127.0.0.1:8900", "tiny", "16", "64", "32", "240", "tok"):
        assert word in said, word
    assert all(isinstance(each, str) for each in what.argv)


def test_vllm_command_asks_for_what_the_reader_takes(tmp_path: Path) -> None:
    """Fixed length, all latencies, the percentiles of the vocabulary, and a file of a known name."""
    argv = command(peer("vllm-bench"), job(tmp_path)).argv
    assert argv[:3] == ("vllm", "bench", "serve")
    assert argv[argv.index("--percentile-metrics") + 1] == "ttft,tpot,itl,e2el"
    assert {"--ignore-eos", "--save-result", "--save-detailed"} <= set(argv)


def test_sglang_command_asks_the_server_for_usage(tmp_path: Path) -> None:
    """Without usage that tool counts the requested length."""
    argv = command(peer("sglang-bench"), job(tmp_path)).argv
    body = json.loads(argv[argv.index("--extra-request-body") + 1])
    assert body == {"stream_options": {"include_usage": True}}


def test_aiperf_and_inference_perf_count_with_the_server(tmp_path: Path) -> None:
    """Both would tokenise the text again."""
    assert "--use-server-token-count" in command(peer("aiperf"), job(tmp_path)).argv
    settings = json.loads(command(peer("inference-perf"), job(tmp_path)).files["inference-perf.yaml"])
    assert settings["report"]["request_lifecycle"]["use_server_output_tokens"] is True
    assert settings["load"]["stages"] == [{"num_requests": 64, "concurrency_level": 16}]


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"concurrency": 0}, "concurrency is 0"), ({"base_url": "http://h:1/v1"}, "without /v1"), ({"base_url": "ftp://h"}, "without /v1")],
)  # fmt: skip
def test_load_that_is_none_is_refused(changes: dict[str, Any], words: str, tmp_path: Path) -> None:
    """A wrong load is told before anything starts."""
    with pytest.raises(UsageError, match=words):
        command(peer("guidellm"), job(tmp_path, **changes))


def test_unknown_peer_is_refused_with_the_known_ones() -> None:
    """The message names those that there are."""
    with pytest.raises(UsageError, match="vllm-bench, sglang-bench"):
        peer("wrk")


def test_program_is_installed_where_the_path_has_it() -> None:
    """Nothing is started to find a program."""
    assert installed(peer("guidellm"), which=lambda name: f"/bin/{name}") is True
    assert installed(peer("guidellm"), which=lambda _name: None) is False


def test_module_is_asked_for_through_the_given_function() -> None:
    """Only an interpreter knows its modules; without leave to start one the answer is open."""
    started: list[Sequence[str]] = []

    def run(argv: Sequence[str], _environment: Mapping[str, str]) -> int:
        started.append(argv)
        return 1

    one = peer("sglang-bench")
    assert installed(one, which=lambda name: f"/bin/{name}") is None
    assert installed(one, which=lambda name: f"/bin/{name}", run=run) is False
    assert started[0][:2] == ("python3", "-c")
    assert installed(one, which=lambda _name: None, run=run) is False


@pytest.mark.parametrize("tool", sorted(RESULTS))
def test_crosscheck_reads_what_the_peer_leaves(tool: str, tmp_path: Path) -> None:
    """The caller's function starts it; its file is read by its own reader."""

    def run(_argv: Sequence[str], _environment: Mapping[str, str]) -> int:
        where, fixture = RESULTS[tool]
        (tmp_path / where).parent.mkdir(exist_ok=True)
        (tmp_path / where).write_bytes(data_of(fixture))
        return 0

    assert crosscheck(peer(tool), job(tmp_path), run).tool == tool
    for name in command(peer(tool), job(tmp_path)).files:
        assert (tmp_path / name).is_file()


def test_failed_peer_is_no_measurement(tmp_path: Path) -> None:
    """An exit status or a missing file is told, never read over."""
    with pytest.raises(IngestError, match="exit status 3; expected 0"):
        crosscheck(peer("guidellm"), job(tmp_path), lambda _argv, _environment: 3)
    with pytest.raises(IngestError, match=r"no result file; expected guidellm\.json"):
        crosscheck(peer("guidellm"), job(tmp_path), lambda _argv, _environment: 0)


def pairs(*ours: Ours, name: str = "vllm-bench-detailed.json") -> tuple[Compared, ...]:
    """Return our figures beside a peer's."""
    return compare(ours, imported(name))


def test_compare_gives_ratio_and_known_error() -> None:
    """A peer's TTFT 8 % above ours is what its known error says: the explained ratio is near 1."""
    (one,) = pairs(Ours("ttft_ms", "mean", Decimal("212.0"), Decimal(211), Decimal(213)))
    assert one.ratio == Decimal("1.08248")
    assert one.inside_ours is False
    assert one.bias is not None
    assert one.bias.error_ratio == Decimal("0.08")
    assert one.explained_ratio == Decimal("1.0023")
    assert any("role chunk" in each for each in one.notes)


def test_compare_takes_a_rate_whatever_it_is_called() -> None:
    """Of a throughput there is one value a run: our median over rounds stands beside the peer's single."""
    (one,) = pairs(Ours("output_tok_s", "median", Decimal("2114.63")))
    assert (one.ratio, one.inside_ours) == (Decimal(1), None)


def test_compare_leaves_out_what_only_one_has() -> None:
    """No pair is made of two metrics or two percentiles."""
    assert pairs(Ours("itl_ms", "mean", Decimal(7)), Ours("ttft_ms", "p95", Decimal(220))) == ()


def test_compare_survives_a_zero() -> None:
    """A failure ratio of 0 has no ratio to another one."""
    (one,) = pairs(Ours("error_ratio", "single", Decimal(0)))
    assert one.ratio is None


@pytest.mark.parametrize(
    ("tool", "metric", "concurrency", "several", "error"),
    [
        ("vllm-bench", "ttft_ms", 1024, False, "4.47"),
        ("vllm-bench", "ttft_ms", 300, False, "1.44"),
        ("vllm-bench", "ttft_ms", 4, False, "0.1"),
        ("guidellm", "output_tok_s", 256, False, "-0.391"),
        ("aiperf", "tpot_ms", 64, False, "0.027"),
        ("sglang-bench", "ttft_ms", 16, True, "0"),
    ],
)
def test_known_error_is_that_of_the_nearest_measured_load(
    tool: str, metric: str, concurrency: int, several: bool, error: str
) -> None:
    """Each figure is a measured one, with its load, version and day beside it."""
    bias = known_bias(tool, metric, concurrency, several_tokens=several)
    assert bias is not None
    assert bias.error_ratio == Decimal(error)
    assert "measured on 2026-11-29 by this project" in bias.text


def test_nothing_is_known_of_what_was_not_measured() -> None:
    """No load, no tool or no such metric: no error is made up; and a gap between chunks is no wrong one."""
    assert known_bias("vllm-bench", "ttft_ms", None) is None
    assert known_bias("llama-bench", "ttft_ms", 1) is None
    assert known_bias("vllm-bench", "e2el_ms", 16) is None
    assert known_bias("vllm-bench", "icl_ms", 16, several_tokens=True) is None


def test_every_peer_has_a_reader() -> None:
    """A crosscheck can always be read."""
    assert {each.tool for each in PEERS} == set(RESULTS)
