"""A project of sample records for tests that build its site."""

from pathlib import Path

import pytest

from tests.site.samples import make_project


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project with the sample records; caches go beside them."""
    monkeypatch.delenv("KBTOOL_CACHE", raising=False)
    return make_project(tmp_path / "project")
