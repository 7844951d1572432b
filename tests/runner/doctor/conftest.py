"""A real llama.cpp server for the tests of this folder: one a worker."""

from collections.abc import Iterator

import pytest

from tests.support.llama_server import LlamaServer, running_llama


@pytest.fixture(scope="session")
def llama() -> Iterator[LlamaServer]:
    """Run a real llama.cpp server with the tiny model."""
    with running_llama() as server:
        yield server
