"""Every test of this folder runs without telemetry and without a look at other runs, unless it asks for them."""

import pytest

from tests.runner.session.driving import alone


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    alone(monkeypatch)
