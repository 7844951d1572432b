"""A write leaves the old or the new file whole, whatever fails and whenever it is killed."""

import fcntl
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kbtool.store.atomic import TEMPORARY_SUFFIX, FileSystem, remove_leftovers, write_atomic

OLD = b"id: old\n"
NEW = b"id: new\n" * 1000


class Faulty(FileSystem):
    """Runs `fail` instead of the call number `at`, counted from 1."""

    def __init__(self, at: int, fail: Callable[[], None]) -> None:
        self.calls = 0
        self._at = at
        self._fail = fail

    def __getattribute__(self, name: str) -> Any:
        method = super().__getattribute__(name)
        if name not in vars(FileSystem):
            return method

        def counted(*arguments: object) -> object:
            self.calls += 1
            if self.calls == self._at:
                self._fail()
            return method(*arguments)

        return counted


def names(folder: Path) -> list[str]:
    """Return what is in a folder."""
    return sorted(path.name for path in folder.iterdir())


def fail() -> None:
    """Fail as a full disk does."""
    raise OSError(28, "No space left on device")


def interrupt() -> None:
    """Be interrupted by the keyboard."""
    raise KeyboardInterrupt


def number_of_calls(folder: Path) -> int:
    """Return how many system calls a write takes that nothing disturbs."""
    system = Faulty(0, fail)
    write_atomic(folder / "probe.yaml", NEW, system)
    (folder / "probe.yaml").unlink()
    return system.calls


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o777])
def test_file_is_written_whole_and_with_the_same_mode(tmp_path: Path, umask: int) -> None:
    """Whatever the umask is, and whether the file is new or not."""
    before = os.umask(umask)
    try:
        for data in (OLD, NEW, b""):
            write_atomic(tmp_path / "x.yaml", data)
            assert (tmp_path / "x.yaml").read_bytes() == data
            assert (tmp_path / "x.yaml").stat().st_mode & 0o7777 == 0o644
    finally:
        os.umask(before)
    assert names(tmp_path) == ["x.yaml"]


@pytest.mark.parametrize("failure", [fail, interrupt])
@pytest.mark.parametrize("exists", [True, False])
def test_any_failing_call_leaves_old_or_new_and_nothing_else(
    tmp_path: Path, failure: Callable[[], None], *, exists: bool
) -> None:
    """The n-th system call fails, for all n."""
    path = tmp_path / "x.yaml"
    total = number_of_calls(tmp_path)
    for at in range(1, total + 1):
        path.unlink(missing_ok=True)
        if exists:
            path.write_bytes(OLD)
        with pytest.raises((OSError, KeyboardInterrupt)):
            write_atomic(path, NEW, Faulty(at, failure))
        assert names(tmp_path) == (["x.yaml"] if path.exists() else [])
        assert not path.exists() or path.read_bytes() in ((OLD, NEW) if exists else (NEW,))
        is_renamed = path.exists() and path.read_bytes() == NEW
        assert is_renamed == (at > total - 3), (
            "only the three calls that sync the folder come after the rename"
        )


def test_short_write_is_continued(tmp_path: Path) -> None:
    """A full disk takes some bytes without an error."""

    class Reluctant(FileSystem):
        def write(self, descriptor: int, data: memoryview) -> int:
            return super().write(descriptor, data[:7])

    write_atomic(tmp_path / "x.yaml", NEW, Reluctant())
    assert (tmp_path / "x.yaml").read_bytes() == NEW


def test_write_that_takes_nothing_is_an_error(tmp_path: Path) -> None:
    """It does not spin for ever."""

    class Full(FileSystem):
        def write(self, descriptor: int, data: memoryview) -> int:  # noqa: ARG002  # takes nothing
            return 0

    with pytest.raises(OSError, match="took none of the last 8000 bytes"):
        write_atomic(tmp_path / "x.yaml", NEW, Full())
    assert names(tmp_path) == []


def test_content_is_on_the_disk_before_it_gets_its_name(tmp_path: Path) -> None:
    """Else a power cut could leave an empty file under the right name."""
    order: list[str] = []

    class Watched(FileSystem):
        def sync(self, descriptor: int) -> None:
            is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
            order.append("sync folder" if is_folder else "sync file")
            super().sync(descriptor)

        def replace(self, source: Path, target: Path) -> None:
            order.append("rename")
            super().replace(source, target)

    write_atomic(tmp_path / "x.yaml", NEW, Watched())
    assert order == ["sync file", "rename", "sync folder"]


def test_failure_of_the_cleaning_does_not_hide_its_cause(tmp_path: Path) -> None:
    """The first error is the one to mend."""

    class Broken(FileSystem):
        def sync(self, descriptor: int) -> None:  # noqa: ARG002  # fails for any
            fail()

        def remove(self, path: Path) -> None:
            raise PermissionError(13, "Permission denied", path)

    with pytest.raises(OSError, match="No space left") as error:
        write_atomic(tmp_path / "x.yaml", NEW, Broken())
    assert "could not be removed either" in error.value.__notes__[0]


def test_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    """What it points to stays as it is."""
    (tmp_path / "target").write_bytes(OLD)
    (tmp_path / "x.yaml").symlink_to("target")
    write_atomic(tmp_path / "x.yaml", NEW)
    assert (tmp_path / "target").read_bytes() == OLD
    assert not (tmp_path / "x.yaml").is_symlink()


KILLED = """
import os, signal, sys
from pathlib import Path
from tests.store.test_atomic import NEW, Faulty, number_of_calls, write_atomic

folder = Path(sys.argv[1])
for at in range(1, number_of_calls(folder) + 1):
    here = folder / str(at)
    here.mkdir()
    (here / "x.yaml").write_bytes(b"id: old\\n")
    child = os.fork()
    if not child:
        write_atomic(here / "x.yaml", NEW, Faulty(at, lambda: os.kill(os.getpid(), signal.SIGKILL)))
        os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), (at, status)
"""


def test_killed_writer_leaves_old_or_new_and_the_next_run_cleans_up(tmp_path: Path) -> None:
    """SIGKILL before each of its system calls."""
    subprocess.run(
        [sys.executable, "-c", KILLED, tmp_path], check=True, cwd=Path(__file__).parent.parent.parent
    )
    folders = sorted(tmp_path.iterdir())
    assert len(folders) == 10
    assert {(folder / "x.yaml").read_bytes() for folder in folders} == {OLD, NEW}
    assert sum(len(names(folder)) > 1 for folder in folders) == 6
    removed = remove_leftovers(tmp_path)
    assert len(removed) == 6
    assert removed == sorted(removed)
    assert all(names(folder) == ["x.yaml"] for folder in folders)


def test_file_of_a_living_writer_is_no_leftover(tmp_path: Path) -> None:
    """Another process may be writing at the same time."""
    path = tmp_path / f".1234{TEMPORARY_SUFFIX}"
    path.write_bytes(OLD)
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert remove_leftovers(tmp_path) == []
    assert remove_leftovers(tmp_path) == [path]


def test_leftover_that_is_no_file_is_left_alone(tmp_path: Path) -> None:
    """A link with such a name was not made by a writer."""
    (tmp_path / "x").write_bytes(OLD)
    (tmp_path / f".1{TEMPORARY_SUFFIX}").symlink_to("x")
    os.mkfifo(tmp_path / f".2{TEMPORARY_SUFFIX}")
    assert remove_leftovers(tmp_path) == []
    assert (tmp_path / "x").read_bytes() == OLD
