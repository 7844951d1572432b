"""Tests against a real vLLM: they need 3 GB and minutes, so that `make test-engines` alone collects them."""

import os
from collections.abc import Iterator

import pytest

from tests.engines.vllm_server import VllmServer, program, running_vllm

collect_ignore_glob = [] if os.environ.get("KBTOOL_TEST_ENGINES") == "1" else ["test_*.py"]


@pytest.fixture(scope="session")
def vllm() -> Iterator[VllmServer]:
    """Run one vLLM for all tests."""
    if not program().exists():
        pytest.fail(f"no {program()}: run this through `make test-engines`", pytrace=False)
    with running_vllm() as server:
        yield server
