"""A real llama.cpp server with the tiny model, in a process of its own, on a free port.

As a program it serves until its standard input closes, so that it cannot outlive whoever started it.
"""

import importlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from kbtool.runner.client.outgoing import Endpoint

__all__ = ["MODEL", "SLOTS", "LlamaServer", "running_llama"]

ROOT: Final = Path(__file__).resolve().parent.parent.parent
MODEL: Final = "tiny"
SLOTS: Final = 4
CONTEXT_TOK: Final = 4096
"""Of each slot."""
DRAFT_TOK: Final = 4


@dataclass(frozen=True, slots=True)
class LlamaServer:
    """A server that answers."""

    url: str
    pid: int

    @property
    def endpoint(self) -> Endpoint:
        """Return where it listens."""
        parts = urlsplit(self.url)
        assert parts.hostname is not None
        assert parts.port is not None
        return Endpoint(name="server", host=parts.hostname, port=parts.port)


@contextmanager
def running_llama(*, drafts: bool = True, metrics: bool = True) -> Iterator[LlamaServer]:
    """Run the server until the block ends.

    Args:
        drafts: Look for continuations in the prompt and draft them.
        metrics: Offer `/metrics`.
    """
    words = [*(["drafts"] if drafts else []), *(["metrics"] if metrics else [])]
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.llama_server", *words],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
        )  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            url = process.stdout.readline().strip()
            if not url.startswith("http"):
                log.seek(0)
                raise RuntimeError(f"llama.cpp did not start: {log.read()[-2000:]!r}")
            yield LlamaServer(url, process.pid)
        finally:
            process.stdin.close()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            process.stdout.close()


def main() -> None:
    """Serve until standard input closes."""
    # The package carries no type information.
    xllamacpp = importlib.import_module("xllamacpp")
    tiny_model = importlib.import_module("tests.support.tiny_model").tiny_model
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(tiny_model())
    parameters.model_alias = {MODEL}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_parallel = SLOTS
    parameters.n_ctx = SLOTS * CONTEXT_TOK
    parameters.cpuparams.n_threads = 1
    parameters.warmup = False
    parameters.verbosity = -1
    parameters.endpoint_metrics = "metrics" in sys.argv
    parameters.endpoint_slots = True
    if "drafts" in sys.argv:
        kinds = xllamacpp.common_speculative_type
        parameters.speculative.types = [kinds.COMMON_SPECULATIVE_TYPE_NGRAM_SIMPLE]
        parameters.speculative.ngram_simple.size_n = 2
        parameters.speculative.ngram_simple.size_m = DRAFT_TOK
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)  # noqa: T201 - whoever started it waits for the address
    sys.stdin.read()


if __name__ == "__main__":
    main()
