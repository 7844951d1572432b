"""Installed load tools as second opinions: their command for one load, and the reader of what they write.

Nothing is started here but through a function that the caller hands in.
"""

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kbtool.errors import UsageError
from kbtool.ingest.fault import IngestError
from kbtool.ingest.model import Imported
from kbtool.ingest.tools import read

__all__ = ["PEERS", "Command", "Job", "Peer", "Run", "command", "crosscheck", "installed", "peer"]

_LARGEST_RESULT_BYTES: Final = 64 * 1024**2


@dataclass(frozen=True, slots=True)
class Job:
    """One load, the same for every peer."""

    base_url: str
    """Address of the server without `/v1`."""
    model: str
    concurrency: int
    requests: int
    input_tok: int
    output_tok: int
    folder: Path
    """Where the peer writes; empty, and only for this run."""
    tokenizer: str | None = None
    """Folder or name of the tokenizer; most peers need one to make prompts."""
    seed: int = 1
    python: str = "python3"
    """Interpreter for peers that are modules."""


@dataclass(frozen=True, slots=True)
class Command:
    """What to start, and what it leaves behind."""

    tool: str
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    """Added to the caller's; never a secret."""
    files: Mapping[str, bytes]
    """To be written into the job's folder before the start, by name."""
    results: tuple[str, ...]
    """Patterns below the job's folder; the first that exists is the result."""


Run = Callable[[Sequence[str], Mapping[str, str]], int]
"""Starts a program by its arguments with these variables added to the environment, and returns its exit status."""


@dataclass(frozen=True, slots=True)
class Peer:
    """One tool that can be asked."""

    tool: str
    """Id of its reader."""
    title: str
    executable: str | None
    """Program on the path; None for a module."""
    module: str | None
    """Module of the job's interpreter; None for a program."""
    build: Callable[[Job], Command]


def _vllm(job: Job) -> Command:
    argv = (
        "vllm", "bench", "serve", "--backend", "openai-chat", "--base-url", job.base_url, "--endpoint", "/v1/chat/completions",
        "--model", job.model, *_tokenizer(job), "--dataset-name", "random", "--random-input-len", str(job.input_tok),
        "--random-output-len", str(job.output_tok), "--ignore-eos", "--num-prompts", str(job.requests),
        "--max-concurrency", str(job.concurrency), "--seed", str(job.seed), "--disable-tqdm",
        "--percentile-metrics", "ttft,tpot,itl,e2el", "--metric-percentiles", "50,90,95,99",
        "--save-result", "--save-detailed", "--result-dir", str(job.folder), "--result-filename", "vllm-bench.json",
    )  # fmt: skip
    return Command("vllm-bench", argv, {}, {}, ("vllm-bench.json",))


def _tokenizer(job: Job) -> tuple[str, ...]:
    return ("--tokenizer", job.tokenizer) if job.tokenizer else ()


def _sglang(job: Job) -> Command:
    out = job.folder / "sglang-bench.jsonl"
    argv = (
        job.python, "-m", "sglang.bench_serving", "--backend", "sglang-oai-chat", "--base-url", job.base_url,
        "--model", job.model, *_tokenizer(job), "--dataset-name", "random-ids", "--random-input-len", str(job.input_tok),
        "--random-output-len", str(job.output_tok), "--random-range-ratio", "1.0", "--num-prompts", str(job.requests),
        "--max-concurrency", str(job.concurrency), "--seed", str(job.seed), "--disable-tqdm",
        "--extra-request-body", json.dumps({"stream_options": {"include_usage": True}}),
        "--output-file", str(out), "--output-details",
    )  # fmt: skip
    return Command("sglang-bench", argv, {}, {}, (out.name,))


def _guidellm(job: Job) -> Command:
    backend = {
        "kind": "openai_http",
        "target": job.base_url,
        "model": job.model,
        "request_format": "/v1/chat/completions",
    }
    data = {"kind": "synthetic_text", "prompt_tokens": job.input_tok, "output_tokens": job.output_tok}
    out = job.folder / "guidellm.json"
    argv = (
        "guidellm", "run", "--backend", json.dumps(backend), "--profile", f"kind=concurrent,streams={job.concurrency}",
        "--constraint", f"kind=max_requests,count={job.requests}", "--data", json.dumps(data),
        *(("--tokenizer", json.dumps({"kind": "huggingface_auto", "model": job.tokenizer})) if job.tokenizer else ()),
        "--seed", f"kind=static,value={job.seed}", "--output", f"kind=json,path={out}", "--disable-console",
    )  # fmt: skip
    return Command("guidellm", argv, {}, {}, (out.name,))


def _aiperf(job: Job) -> Command:
    argv = (
        "aiperf", "profile", "--model", job.model, "--url", job.base_url, "--endpoint-type", "chat", "--streaming",
        "--concurrency", str(job.concurrency), "--request-count", str(job.requests), "--isl", str(job.input_tok),
        "--isl-stddev", "0", "--osl", str(job.output_tok), "--osl-stddev", "0", "--extra-inputs", "ignore_eos:true",
        *_tokenizer(job), "--use-server-token-count", "--random-seed", str(job.seed), "--ui", "none",
        "--artifact-dir", str(job.folder),
    )  # fmt: skip
    return Command("aiperf", argv, {}, {}, ("profile_export_aiperf.json", "*/profile_export_aiperf.json"))


def _inference_perf(job: Job) -> Command:
    def fixed(tokens: int) -> dict[str, object]:
        return {
            "type": "fixed",
            "min": tokens,
            "max": tokens,
            "mean": tokens,
            "std_dev": 0,
            "total_count": job.requests,
        }

    settings = {
        # Its made-up prompts are for text completions alone.
        "api": {"type": "completion", "streaming": True},
        "data": {"type": "random", "input_distribution": fixed(job.input_tok), "output_distribution": fixed(job.output_tok)},
        "load": {
            "type": "concurrent",
            "stages": [{"num_requests": job.requests, "concurrency_level": job.concurrency}],
            "num_workers": 1,
            "worker_max_concurrency": job.concurrency,
            "base_seed": job.seed,
        },
        "server": {"type": "vllm", "model_name": job.model, "base_url": job.base_url, "ignore_eos": True},
        "report": {"request_lifecycle": {"summary": True, "per_stage": True, "per_request": False, "use_server_output_tokens": True}},
        "storage": {"local_storage": {"path": str(job.folder)}},
    }  # fmt: skip
    if job.tokenizer:
        settings["tokenizer"] = {"pretrained_model_name_or_path": job.tokenizer}
    config = job.folder / "inference-perf.yaml"
    argv = ("inference-perf", "--config_file", str(config))
    results = ("stage_0_lifecycle_metrics.json", "summary_lifecycle_metrics.json")
    return Command(
        "inference-perf", argv, {}, {config.name: json.dumps(settings, indent=2).encode()}, results
    )


PEERS: Final = (
    Peer("vllm-bench", "vllm bench serve", "vllm", None, _vllm),
    Peer("sglang-bench", "sglang.bench_serving", None, "sglang.bench_serving", _sglang),
    Peer("guidellm", "guidellm", "guidellm", None, _guidellm),
    Peer("aiperf", "aiperf", "aiperf", None, _aiperf),
    Peer("inference-perf", "inference-perf", "inference-perf", None, _inference_perf),
)


def peer(tool: str) -> Peer:
    """Return the peer with this id.

    Raises:
        UsageError: There is none.
    """
    found = next((each for each in PEERS if each.tool == tool), None)
    if found is None:
        known = ", ".join(each.tool for each in PEERS)
        raise UsageError(f"no peer `{tool}`; expected one of {known}: name one of them")
    return found


def installed(
    one: Peer,
    *,
    python: str = "python3",
    run: Run | None = None,
    which: Callable[[str], str | None] = shutil.which,
) -> bool | None:
    """Return whether a peer can be started; None where only a started interpreter could tell and `run` is not given."""
    if one.executable is not None:
        return which(one.executable) is not None
    if which(python) is None:
        return False
    if run is None:
        return None
    top, _, _ = (one.module or "").partition(".")
    probe = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({top!r}) is None)"
    return run((python, "-c", probe), {}) == 0


def command(one: Peer, job: Job) -> Command:
    """Return what to start for a load.

    Raises:
        UsageError: The load is none.
    """
    for name in ("concurrency", "requests", "input_tok", "output_tok"):
        value = getattr(job, name)
        if value < 1:
            raise UsageError(f"crosscheck: {name} is {value}; expected at least 1: correct the load")
    if not job.base_url.startswith(("http://", "https://")) or job.base_url.rstrip("/").endswith("/v1"):
        raise UsageError(
            f"crosscheck: the address {job.base_url} ; expected http://HOST:PORT without /v1: correct it"
        )
    return one.build(job)


def crosscheck(one: Peer, job: Job, run: Run) -> Imported:
    """Run a peer once, through the function that the caller hands in, and return what it says.

    Raises:
        UsageError: The load is none.
        IngestError: The peer failed, left no result, or one that cannot be read.
    """
    what = command(one, job)
    for name, content in what.files.items():
        (job.folder / name).write_bytes(content)
    status = run(what.argv, what.environment)
    if status != 0:
        raise IngestError(
            one.title, "", f"exit status {status}", "0", "look at its output, and run the command by hand"
        )
    return read(what.tool, *_result(one, job, what))


def _result(one: Peer, job: Job, what: Command) -> tuple[bytes, str]:
    for pattern in what.results:
        for path in sorted(job.folder.glob(pattern)):
            if path.is_file() and not path.is_symlink():
                if path.stat().st_size > _LARGEST_RESULT_BYTES:
                    raise IngestError(
                        path.name,
                        "",
                        "a result that is too large",
                        f"at most {_LARGEST_RESULT_BYTES:,} bytes",
                        "ask for fewer requests",
                    )
                return path.read_bytes(), path.name
    raise IngestError(
        one.title, str(job.folder.name), "no result file", " or ".join(what.results), "look at its output"
    )
