"""A real vLLM on a CPU with the tiny model and n-gram drafts, for tests that `make test-engines` alone runs."""

import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kbtool.runner.client.control import ControlError, get
from kbtool.runner.client.outgoing import Endpoint
from kbtool.runner.target.procfs import ProcessId, arguments_of, descendants, identify, processes, send
from tests.engines.hf_model import hf_model

__all__ = [
    "CONTEXT_TOK",
    "DRAFT_TOK",
    "ENVIRONMENT",
    "MODEL",
    "RUNNING_LIMIT",
    "VllmServer",
    "alive",
    "end",
    "family",
    "free_port",
    "program",
    "running_vllm",
    "servers_at",
    "serving",
]

ROOT: Final = Path(__file__).resolve().parent.parent.parent
MODEL: Final = "tiny"
CONTEXT_TOK: Final = 8192
RUNNING_LIMIT: Final = 16
DRAFT_TOK: Final = 4
START_S: Final = 900.0
"""A busy machine of two cores was seen to take 255 s."""
ENVIRONMENT: Final = {
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "OMP_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
}


@dataclass(frozen=True, slots=True)
class VllmServer:
    """A server that answers."""

    endpoint: Endpoint
    pid: int

    @property
    def url(self) -> str:
        """Return its address without `/v1`."""
        return f"http://{self.endpoint.host}:{self.endpoint.port}"


def program() -> Path:
    """Return the `vllm` program that `scripts/setup_vllm.sh` installed, or that VLLM_PROGRAM names."""
    return Path(os.environ.get("VLLM_PROGRAM") or ROOT / "build" / "engines" / "vllm-venv" / "bin" / "vllm")


def serving(port: int | str, model_name: str) -> list[str]:
    """Return the argument list of a server."""
    drafts = '{"method":"ngram","num_speculative_tokens":4,"prompt_lookup_max":3,"prompt_lookup_min":1}'
    return [
        str(program()), "serve", str(hf_model()), "--served-model-name", model_name, "--host", "127.0.0.1",
        "--port", str(port), "--max-model-len", str(CONTEXT_TOK), "--max-num-seqs", str(RUNNING_LIMIT),
        "--enforce-eager", "--enable-prompt-tokens-details", "--speculative-config", drafts,
    ]  # fmt: skip


def free_port() -> int:
    """Return a port that nobody holds."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def running_vllm() -> Iterator[VllmServer]:
    """Run a server until the block ends, and end all of it."""
    port = free_port()
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            serving(port, MODEL), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            env={**os.environ, **ENVIRONMENT},
        )  # fmt: skip
        endpoint = Endpoint("server", "127.0.0.1", port)
        try:
            if not _answers(endpoint, process):
                log.seek(0)
                raise RuntimeError(f"vLLM did not start: {log.read()[-3000:].decode('utf-8', 'replace')}")
            yield VllmServer(endpoint, process.pid)
        finally:
            parts = family(process.pid)
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            # Its engine outlives a killed server.
            end(parts)


def _answers(endpoint: Endpoint, process: "subprocess.Popen[bytes]") -> bool:
    """Return whether it came up; False where it ended or the time is over."""
    until_s = time.monotonic() + START_S
    while time.monotonic() < until_s and process.poll() is None:
        try:
            if get(endpoint, "/health", timeout_s=5, max_bytes=10_000).status == 200:
                return True
        except ControlError:
            time.sleep(0.5)
    return False


def servers_at(port: int) -> list[int]:
    """Return the process numbers of each vLLM that was told to listen there."""
    wanted = {"serve", str(port)}
    return [stat.id.pid for stat in processes() if wanted <= set(arguments_of(stat.id.pid) or ())]


def family(pid: int) -> tuple[ProcessId, ...]:
    """Return a process and all that descend from it.

    vLLM gives its processes titles, which are written over their environment: a mark in it does not find them.
    """
    me = identify(pid)
    return ((me,) if me is not None else ()) + descendants(pid)


def alive(some: Iterable[ProcessId]) -> list[ProcessId]:
    """Return those of them that live."""
    return [each for each in some if identify(each.pid) == each]


def end(some: Iterable[ProcessId]) -> None:
    """Kill what lives of them."""
    for each in alive(some):
        send(each, signal.SIGKILL)
