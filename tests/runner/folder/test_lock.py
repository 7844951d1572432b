"""Locks of the box, and names of files."""

import os
import stat
import string
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kbtool.runner.folder import (
    BoxLock,
    FolderError,
    Holder,
    LockedError,
    box_lock_folder,
    cell_key,
    make_run_id,
)
from kbtool.runner.folder.layout import cell_folder, is_safe_path, request_id, safe_name

FIRST = Holder.this_process("bench run a.yaml", "2029-11-30 01:45:12 UTC")
SECOND = Holder.this_process("bench run b.yaml", "2029-11-30 01:46:00 UTC")


def test_runs_that_share_one_accelerator_exclude_each_other(tmp_path: Path) -> None:
    """The second is refused with pid, time and command of the first, and holds nothing then."""
    with BoxLock(["gpu:1", "gpu:0"], holder=FIRST, folder=tmp_path):
        message = (
            rf"gpu:1 is in use by process {os.getpid()}, since 2029-11-30 01:45:12 UTC: bench run a\.yaml"
        )
        with pytest.raises(LockedError, match=message):
            BoxLock(["gpu:2", "gpu:1", "endpoint:127.0.0.1:30000"], holder=SECOND, folder=tmp_path)
        BoxLock(["gpu:2", "endpoint:127.0.0.1:30000"], holder=SECOND, folder=tmp_path).release()
    with BoxLock(["gpu:1", "gpu:1"], holder=SECOND, folder=tmp_path) as lock:
        lock.release()
        lock.release()
    assert len(list(tmp_path.iterdir())) == 4


@pytest.mark.parametrize("content", [b"", b"{}", b"[1", b'{"pid": "x"}', b"[" * 4000, b"\xff\xfe"])
def test_a_holder_that_does_not_say_who_it_is_still_holds(tmp_path: Path, content: bytes) -> None:
    """Whatever is in the file, the lock counts, and the message is whole."""
    with BoxLock(["gpu:0"], holder=FIRST, folder=tmp_path):
        (tmp_path / f"{safe_name('gpu:0')}.lock").write_bytes(content)
        with pytest.raises(LockedError, match="a process that has not yet said who it is"):
            BoxLock(["gpu:0"], holder=SECOND, folder=tmp_path)


_HOLDER: Final = """
import sys
from pathlib import Path
from kbtool.runner.folder import BoxLock, Holder
with BoxLock(["gpu:0"], holder=Holder.this_process("bench run c.yaml", "noon"), folder=Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_another_process_is_named_and_kill_9_frees_what_it_held(tmp_path: Path) -> None:
    """The message has the other's pid; once that is killed, its lock is taken without ado."""
    root = Path(__file__).resolve().parents[3]
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(tmp_path)],
        cwd=root,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        message = rf"gpu:0 is in use by process {other.pid}, since noon: bench run c\.yaml"
        with pytest.raises(LockedError, match=message):
            BoxLock(["gpu:0"], holder=SECOND, folder=tmp_path)
        other.kill()
        other.wait(timeout=60)
    BoxLock(["gpu:0"], holder=SECOND, folder=tmp_path).release()


def test_what_a_dead_process_has_left_is_no_obstacle(tmp_path: Path) -> None:
    """The file of a lock stays after its process: nobody holds it, however it reads."""
    BoxLock(["gpu:0"], holder=FIRST, folder=tmp_path).release()
    (path,) = tmp_path.iterdir()
    assert b"a.yaml" in path.read_bytes()
    BoxLock(["gpu:0"], holder=SECOND, folder=tmp_path).release()
    assert b"b.yaml" in path.read_bytes()


def test_the_folder_of_locks_is_private(tmp_path: Path) -> None:
    """It is made for its user alone, and one that others can write to, or a link, is refused."""
    folder = box_lock_folder(tmp_path)
    assert (folder.parent, stat.S_IMODE(folder.stat().st_mode)) == (tmp_path, 0o700)
    assert box_lock_folder(tmp_path) == folder
    folder.chmod(0o777)
    with pytest.raises(
        FolderError, match=r"that no one else can write to, and is not .*drwxrwxrwx.*remove it"
    ):
        box_lock_folder(tmp_path)
    folder.rmdir()
    folder.symlink_to(tmp_path)
    with pytest.raises(FolderError, match="lrwxrwxrwx"):
        box_lock_folder(tmp_path)


def test_the_folder_of_locks_has_a_fallback(tmp_path: Path) -> None:
    """Without a folder of the login, it is made elsewhere under a name with the user's number."""
    found = box_lock_folder(tmp_path / "missing", fallback=tmp_path)
    assert found in {tmp_path / f"kbtool-{os.getuid()}", Path(f"/run/user/{os.getuid()}/kbtool")}


@given(st.text(max_size=120))
@example("con")
@example("../../etc/passwd")
@example("c=16 prose")
@example("COM1.txt")
@example("a.")
def test_names_are_safe_whatever_the_text(text: str) -> None:
    """Short, of few characters, no device, no way out; applied twice it changes nothing."""
    name = safe_name(text)
    assert 1 <= len(name) <= 80
    assert set(name) <= set(string.ascii_lowercase + string.digits + "._-")
    assert name[0] not in "._-"
    assert not name.endswith(".")
    assert name.split(".")[0] not in {"con", "prn", "aux", "nul", "com1", "lpt1"}
    assert safe_name(name) == name
    assert is_safe_path(cell_folder(text, 2))


def test_different_texts_have_different_names() -> None:
    """Texts that look alike once cleaned are kept apart, and good names are kept as they are."""
    texts = ["c=1", "c 1", "C-1", "c-1", "c_1", "c.1", "", " ", "x", "é", "e\u0301"]
    assert len({safe_name(text) for text in texts}) == len(texts)
    assert safe_name("c-16.prose") == "c-16.prose"


@pytest.mark.parametrize(
    "path", ["", "/etc/passwd", "a//b", "a/../b", "./a", "a\\b", "a\0b", "a\nb", "a" * 401]
)
def test_paths_that_lead_out_or_hide_something_are_not_safe(path: str) -> None:
    """A seal may name none of these."""
    assert not is_safe_path(path)


def test_keys_and_ids_tell_things_apart() -> None:
    """Equal facts have equal keys in any order; ids name run, cell, round and request."""
    assert cell_key({"a": 1, "b": {"c": 2}}) == cell_key({"b": {"c": 2}, "a": 1})
    assert cell_key({"a": 1}) != cell_key({"a": "1"})
    assert make_run_id(1_890_697_512.9, bytes.fromhex("9f3a61c2ff")) == "20291130-014512-9f3a61c2"
    assert request_id("c", 2, 3) == "c/2/3"
    with pytest.raises(ValueError, match="at least 4 random ones"):
        make_run_id(0.0, b"abc")
