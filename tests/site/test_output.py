"""The output folder: what a build may remove, and what it must not."""

from pathlib import Path

import pytest

from kbtool.errors import UsageError
from kbtool.site.output import MANIFEST, Folder


def test_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    """A build into a folder of somebody's files would remove them: a slip in `--out` must cost nothing."""
    kept = tmp_path / "thesis.txt"
    kept.write_text("years of work", encoding="utf-8")
    with pytest.raises(UsageError, match="is not empty and holds no site"):
        Folder(tmp_path)
    assert kept.read_text(encoding="utf-8") == "years of work"


def test_manifest_of_another_program_does_not_open_the_folder(tmp_path: Path) -> None:
    """Other programs call a file manifest.json too."""
    (tmp_path / MANIFEST).write_text('{"name": "an app"}', encoding="utf-8")
    with pytest.raises(UsageError):
        Folder(tmp_path)


def test_empty_folder_is_claimed_before_the_first_file(tmp_path: Path) -> None:
    """A first build that is killed half way can be run again."""
    Folder(tmp_path / "site").write("index.html", b"half")
    assert Folder(tmp_path / "site").holds("index.html", b"half")
