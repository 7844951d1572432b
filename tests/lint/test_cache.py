"""The cache: what changes is checked again, what did not is not, and no cache can break a run."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from kbtool.lint import cache as cache_module
from kbtool.lint import run
from kbtool.lint.cache import Cache, default_path, stamp_of
from kbtool.site.state import state_path
from kbtool.store.read import Loaded
from tests.lint.projects import BENCHMARK, edit, write

CACHE = Path("build") / "cache" / "lint.sqlite"
ACCELERATOR = "records/accelerators/base-accelerator.yaml"
ENGINE = "records/engines/base-engine.yaml"


@pytest.fixture(autouse=True)
def _outside_of_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the default place of the cache be used, also where these tests run in CI."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("KBTOOL_CACHE", raising=False)


@contextmanager
def checked_files(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Collect the paths of the files that are checked anew."""
    from kbtool.lint import checker

    paths: list[str] = []
    original = checker.Checker.check

    def noting(self: checker.Checker, loaded: Loaded) -> checker.Checked:
        paths.append(loaded.file.relative)
        return original(self, loaded)

    with monkeypatch.context() as patch:
        patch.setattr(checker.Checker, "check", noting)
        yield paths


def test_second_run_checks_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing changed, nothing is checked, and the report is the same."""
    write(tmp_path, "headline: decode-prose-2\n")
    first = run(tmp_path)
    with checked_files(monkeypatch) as paths:
        assert run(tmp_path) == first
    assert paths == []


def test_changed_file_and_those_that_looked_at_it_are_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change of an accelerator concerns the benchmark whose rules looked at it, and no engine or source."""
    run(write(tmp_path))
    edit(tmp_path, "Example Maker", "Another Maker", ACCELERATOR)
    with checked_files(monkeypatch) as paths:
        run(tmp_path)
    assert ACCELERATOR in paths
    assert BENCHMARK in paths
    assert ENGINE not in paths


def test_cached_run_finds_what_a_fresh_one_finds(tmp_path: Path) -> None:
    """After each of many changes, a run with a cache and one without agree."""
    write(tmp_path, "gotchas/other: {title: Another trap}\n")
    run(tmp_path)
    other = tmp_path / "records" / "gotchas" / "other.yaml"
    changes: list[Callable[[], object]] = [
        partial(edit, tmp_path, "value: 600", "value: 500", ACCELERATOR),
        partial(edit, tmp_path, "headline: decode-prose-1", "headline: decode-prose-2"),
        partial(other.rename, other.with_name("another.yaml")),
        (tmp_path / ACCELERATOR).unlink,
        partial(edit, tmp_path, "title: Base Engine\n", "title: [\n", ENGINE),
        partial(edit, tmp_path, "title: [\n", "title: Base Engine\n", ENGINE),
        partial(write, tmp_path),
    ]
    for change in changes:
        change()
        assert run(tmp_path) == run(tmp_path, cache=False)


def test_a_file_that_appears_is_noticed_by_who_looked_for_it(tmp_path: Path) -> None:
    """A record that did not exist when a rule asked for it changes the rule's answer when it comes."""
    write(tmp_path)
    accelerator = (tmp_path / ACCELERATOR).read_bytes()
    (tmp_path / ACCELERATOR).unlink()
    run(tmp_path)
    (tmp_path / ACCELERATOR).write_bytes(accelerator.replace(b"value: 600\n", b"value: 300\n"))
    assert "U201" in {finding.code for finding in run(tmp_path).findings}


def test_unchanged_content_needs_no_check_after_a_touch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys are content: a fresh checkout has new times and the same results."""
    run(write(tmp_path))
    for path in tmp_path.rglob("*.yaml"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    with checked_files(monkeypatch) as paths:
        run(tmp_path)
    assert paths == []


def test_change_that_keeps_size_and_time_is_noticed(tmp_path: Path) -> None:
    """Setting the time of a file back hides no change."""
    run(write(tmp_path))
    status = (tmp_path / BENCHMARK).stat()
    edit(tmp_path, "headline: decode-prose-1", "headline: decode-prose-2")
    os.utime(tmp_path / BENCHMARK, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert [finding.code for finding in run(tmp_path).findings] == ["I005"]


def test_stamp_is_not_trusted_at_once(tmp_path: Path) -> None:
    """A file that has just changed could change again within one tick of the file system's clock."""
    file = tmp_path / "file"
    file.write_text("a")
    assert stamp_of(file)[1] is False


@pytest.mark.parametrize("content", [b"", b"not a database", b"SQLite format 3\0" + b"\0" * 200])
def test_broken_cache_is_made_anew(tmp_path: Path, content: bytes) -> None:
    """Whatever lies where the cache should be, the run is right."""
    write(tmp_path, "headline: decode-prose-2\n")
    (tmp_path / CACHE).parent.mkdir(parents=True)
    (tmp_path / CACHE).write_bytes(content)
    for _ in range(2):
        assert [finding.code for finding in run(tmp_path).findings] == ["I005"]


def test_cache_that_breaks_in_the_middle_is_left_out(tmp_path: Path) -> None:
    """Damage behind the header is met while reading: the run is right, and the next one starts anew."""
    write(tmp_path, "headline: decode-prose-2\n")
    run(tmp_path)
    data = bytearray((tmp_path / CACHE).read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    (tmp_path / CACHE).write_bytes(data)
    for _ in range(3):
        assert [finding.code for finding in run(tmp_path).findings] == ["I005"]


def test_cache_that_another_run_holds_is_left_out(tmp_path: Path) -> None:
    """Two runs at once are both right; one of them stores nothing."""
    write(tmp_path, "headline: decode-prose-2\n")
    run(tmp_path)
    other = sqlite3.connect(tmp_path / CACHE)
    other.execute("BEGIN EXCLUSIVE")
    edit(tmp_path, "headline: decode-prose-2", "headline: decode-prose-3")
    assert [finding.code for finding in run(tmp_path).findings] == ["I005"]
    other.close()


def test_cache_that_cannot_be_written_is_left_out(tmp_path: Path) -> None:
    """A folder in the place of the cache makes a run slower and not wrong."""
    write(tmp_path, "headline: decode-prose-2\n")
    (tmp_path / CACHE).mkdir(parents=True)
    assert [finding.code for finding in run(tmp_path).findings] == ["I005"]


def test_another_version_starts_anew(tmp_path: Path) -> None:
    """Reports of other rules are not believed."""
    path = tmp_path / "cache.sqlite"
    first = Cache.open(path, "one")
    first.store_report("key", [1])
    first.close()
    same = Cache.open(path, "one")
    assert same.report("key") == [1]
    same.close()
    other = Cache.open(path, "two")
    assert other.report("key") is None
    other.close()


def test_few_reports_are_kept(tmp_path: Path) -> None:
    """The cache does not grow with every run."""
    cache = Cache.open(tmp_path / "cache.sqlite", "one")
    for number in range(cache_module.MOST_REPORTS + 4):
        cache.store_report(str(number), number)
    kept = [
        number for number in range(cache_module.MOST_REPORTS + 4) if cache.report(str(number)) is not None
    ]
    cache.close()
    assert len(kept) == cache_module.MOST_REPORTS
    assert kept[-1] == cache_module.MOST_REPORTS + 3


def test_no_cache_is_believed_in_ci(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change that brings a cache along could otherwise vouch for itself."""
    assert default_path(tmp_path) == tmp_path / CACHE
    monkeypatch.setenv("CI", "true")
    assert default_path(tmp_path) is None
    monkeypatch.setenv("KBTOOL_CACHE", str(tmp_path / "own"))
    assert default_path(tmp_path) == tmp_path / "own" / "lint.sqlite"


def test_one_variable_places_the_caches_of_lint_and_site(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both lie in one folder, and neither in the way of the other."""
    monkeypatch.setenv("KBTOOL_CACHE", str(tmp_path / "own"))
    ours, theirs = default_path(tmp_path), state_path(tmp_path)
    assert ours is not None
    assert ours.parent == theirs.parent == tmp_path / "own"
    assert ours != theirs


def test_warm_run_imports_neither_models_nor_rules(tmp_path: Path) -> None:
    """A run in which nothing changed costs one look at each file."""
    program = (
        "import sys; from pathlib import Path; from kbtool.lint import run; run(Path(sys.argv[1]));"
        "heavy = {'pydantic', 'yaml', 'rapidfuzz', 'rich', 'kbtool.schema', 'kbtool.lint.rules', 'kbtool.lint.rule'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    write(tmp_path)
    outputs = [
        subprocess.run(
            [sys.executable, "-c", program, str(tmp_path)], check=True, capture_output=True, text=True
        ).stdout
        for _ in range(2)
    ]
    assert "pydantic" in outputs[0]
    assert outputs[1] == "[]\n"
