"""Keeps the collector from looking through everything that the tests hold before each of some 300 exchanges."""

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def what_is_frozen_stays_frozen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the client's first pass over everything be the only one: each took longer than what was to be timed."""
    thaw = gc.unfreeze
    monkeypatch.setattr(gc, "unfreeze", lambda: None)
    yield
    thaw()
