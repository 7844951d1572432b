"""Pages of the real records stay small enough to be read on a bad line."""

import shutil
from pathlib import Path

import pytest

from kbtool.schema import FOLDERS
from tests.site.samples import the_build

ROOT = Path(__file__).resolve().parents[2]
MOST_BYTES = 40_000
_LISTS = frozenset({"explore", "cost", "coverage"})
"""Folders of pages that list results of many records."""
SHELL_BYTES = 6_000
"""What header, navigation and footer of the real shell add to the page; the plain one adds next to nothing."""


def test_no_page_of_a_record_is_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However much a record says: its results and its evidence spread over pages of their own."""
    monkeypatch.delenv("KBTOOL_CACHE", raising=False)
    shutil.copytree(ROOT / "records", tmp_path / "records")
    the_build(tmp_path, monkeypatch)
    pages = [
        path
        for folder in (*FOLDERS, "explore", "cost", "coverage")
        for path in (tmp_path / "out" / folder).glob("*.html")
    ]
    lists = [path for path in pages if path.name.startswith("index.") or path.parent.name in _LISTS]
    records = [path for path in pages if path not in lists and ".evidence" not in path.name]
    large = {path.name: size for path in records if (size := path.stat().st_size) > MOST_BYTES - SHELL_BYTES}
    assert len(records) > 100
    assert large == {}
    assert max(path.stat().st_size for path in pages) < 100_000
