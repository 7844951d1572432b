"""The load tools that are measured beside ours: where they lie, how they are started, and what they report.

Commands are those of `kbtool bench crosscheck`, so that measuring them here shows that those work.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from kbtool.ingest.peers import Job, command, peer

__all__ = ["PEERS", "Load", "Peer", "Reported", "Start", "missing"]

QUIET: Final = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "DO_NOT_TRACK": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "OMP_NUM_THREADS": "1",
}


@dataclass(frozen=True, slots=True)
class Load:
    """One load on one server."""

    host: str
    port: int
    streams: int
    requests: int
    """Of each stream."""
    output_tok: int
    folder: Path
    tokenizer: Path

    @property
    def base_url(self) -> str:
        """Return the address without `/v1`."""
        return f"http://{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Start:
    """What is started for a load."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Reported:
    """What a tool says of one load; None where it says nothing of the kind."""

    ttft_ms: float | None
    itl_ms: float | None
    """What it calls time per token, or between tokens."""
    gap_p99_ms: float | None
    output_tok: int | None
    failures: int | None = None


@dataclass(frozen=True, slots=True)
class Peer:
    """One load tool."""

    name: str
    folder: str
    """Below the folder of peers: a virtual environment, or for SGLang's client the unpacked wheel."""
    entry: str | None
    """`module:function` that a console script of it calls; None for a program without such."""
    start: Callable[[Path, Load], Start]
    report: Callable[[Path], Reported]
    preload: tuple[str, ...] = ()
    """Modules that it imports late, loaded before the first job."""
    environment: Mapping[str, str] = field(default_factory=lambda: QUIET)
    """Set while it runs, and while its modules are loaded."""

    def python(self, peers: Path) -> Path:
        """Return the Python that runs it."""
        return peers / self.folder / "bin" / "python"


def missing(one: Peer, peers: Path) -> str | None:
    """Return why a tool cannot be measured here; None if it can."""
    if one.entry is None:
        return None if _rust_library(peers) else f"no extension module below {one.folder}/"
    return None if one.python(peers).exists() else f"not installed in {one.folder}/"


def _job(load: Load) -> Job:
    return Job(
        base_url=load.base_url,
        model="truth",
        concurrency=load.streams,
        requests=load.streams * load.requests,
        input_tok=64,
        output_tok=load.output_tok,
        folder=load.folder,
        tokenizer=str(load.tokenizer),
    )


def _crosscheck(tool: str) -> Callable[[Path, Load], Start]:
    def start(_: Path, load: Load) -> Start:
        what = command(peer(tool), _job(load))
        for name, content in what.files.items():
            (load.folder / name).write_bytes(content)
        return Start(what.argv, what.environment)

    return start


def _rust_library(peers: Path) -> Path | None:
    found = sorted((peers / "sglang").glob("**/rust_extensions/_bench*.so"))
    return found[0] if found else None


def _rust(peers: Path, load: Load) -> Start:
    library = _rust_library(peers)
    assert library is not None
    argv = (
        "--backend", "sglang-oai-chat", "--base-url", load.base_url, "--model", "truth",
        "--tokenizer", str(load.tokenizer), "--dataset-name", "random-ids", "--random-input-len", "64",
        "--random-output-len", str(load.output_tok), "--random-range-ratio", "1.0",
        "--num-prompts", str(load.streams * load.requests), "--max-concurrency", str(load.streams),
        "--warmup-requests", "0", "--disable-tqdm", "--output-file", str(load.folder / "rust.jsonl"),
        "--output-details",
    )  # fmt: skip
    return Start(("python", "-c", _RUST, str(library), *argv), {})


_RUST: Final = """
import importlib.machinery, importlib.util, sys
loader = importlib.machinery.ExtensionFileLoader("_bench", sys.argv[1])
module = importlib.util.module_from_spec(importlib.util.spec_from_loader("_bench", loader))
loader.exec_module(module)
module.run_argv(["sglang-bench", *sys.argv[2:]])
"""
"""The wheel's package imports an engine: the client is loaded alone."""


def _json(folder: Path, *patterns: str) -> Any:
    for pattern in patterns:
        for path in sorted(folder.glob(pattern)):
            text = path.read_text(encoding="utf-8")
            return json.loads(text.splitlines()[0] if path.suffix == ".jsonl" else text)
    raise FileNotFoundError(f"no {' or '.join(patterns)} in {folder}")


def _flat(value: Mapping[str, Any]) -> Reported:
    return Reported(
        value["mean_ttft_ms"],
        value["mean_itl_ms"],
        value["p99_itl_ms"],
        value["total_output_tokens"],
        value.get("failed"),
    )


def _vllm(folder: Path) -> Reported:
    return _flat(_json(folder, "vllm-bench.json"))


def _sglang(folder: Path) -> Reported:
    return _flat(_json(folder, "rust.jsonl"))


def _guidellm(folder: Path) -> Reported:
    metrics = _json(folder, "guidellm.json")["benchmarks"][0]["metrics"]
    itl, count = metrics["inter_token_latency_ms"]["successful"], metrics["output_token_count"]["successful"]
    return Reported(
        metrics["time_to_first_token_ms"]["successful"]["mean"],
        itl["mean"],
        itl["percentiles"]["p99"],
        round(count["mean"] * count["count"]),
    )


def _aiperf(folder: Path) -> Reported:
    value = _json(folder, "profile_export_aiperf.json", "*/profile_export_aiperf.json")
    return Reported(
        value["time_to_first_token"]["avg"],
        value["inter_token_latency"]["avg"],
        value["inter_chunk_latency"]["p99"],
        round(value["output_sequence_length"]["avg"] * value["request_count"]["avg"]),
    )


def _inference_perf(folder: Path) -> Reported:
    good = _json(folder, "stage_0_lifecycle_metrics.json", "summary_lifecycle_metrics.json")["successes"]
    latency, tokens = good["latency"], good.get("output_tokens") or good["output_len"]
    return Reported(
        latency["time_to_first_token"]["mean"] * 1000,
        latency["inter_token_latency"]["mean"] * 1000,
        latency["inter_token_latency"]["p99"] * 1000,
        round(tokens["mean"] * good["count"]),
    )


def _ours(_: Path, load: Load) -> Start:
    argv = (load.host, load.port, load.streams, load.requests, load.output_tok, load.folder / "ours.json")
    return Start(("python", "-m", "benchmarks.runner_ours", *map(str, argv)), {})


def _read_ours(folder: Path) -> Reported:
    value = _json(folder, "ours.json")
    return Reported(
        value["ttft_ms"], value["itl_ms"], value["gap_p99_ms"], value["output_tok"], value["failures"]
    )


_WORKERS: Final = str(len(os.sched_getaffinity(0)))

PEERS: Final[Sequence[Peer]] = (
    Peer("kbtool", "", None, _ours, _read_ours),
    Peer("sglang rust", "sglang", None, _rust, _sglang),
    Peer(
        "vllm bench",
        "vllm",
        "vllm.entrypoints.cli.main:main",
        _crosscheck("vllm-bench"),
        _vllm,
        ("vllm.benchmarks.serve", "vllm.entrypoints.cli.benchmark.serve"),
    ),
    Peer(
        "inference-perf",
        "inference-perf",
        "inference_perf:main_cli",
        _crosscheck("inference-perf"),
        _inference_perf,
    ),
    # Told to stay offline, it refuses a tokenizer that lies in a folder.
    Peer(
        "aiperf",
        "aiperf",
        "aiperf.cli:app",
        _crosscheck("aiperf"),
        _aiperf,
        environment={**QUIET, "HF_HUB_OFFLINE": "", "TRANSFORMERS_OFFLINE": ""},
    ),
    # It starts ten worker processes unless told otherwise: here one a core.
    Peer(
        "guidellm",
        "guidellm",
        "guidellm.__main__:cli",
        _crosscheck("guidellm"),
        _guidellm,
        environment={**QUIET, "GUIDELLM__MAX_WORKER_PROCESSES": _WORKERS},
    ),
)
"""Ours first."""
