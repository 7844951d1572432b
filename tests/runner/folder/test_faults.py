"""Whatever happens to the disk, the power or the process: what was sealed stays, and the run goes on."""

import errno
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Final

import pytest

from kbtool.runner.folder import FolderError, Mode, NotARunError, Resumed, RunFolder, StorageError, verify
from kbtool.runner.folder import cell as cell_module
from kbtool.runner.folder.fs import FileSystem
from kbtool.runner.folder.raw import encode_traces
from kbtool.runner.folder.table import encode
from kbtool.runner.trace import RequestTrace
from tests.runner.folder.disks import (
    CountingDisk,
    FailingDisk,
    FullDisk,
    LossyDisk,
    PowerLossError,
    ShortDisk,
)
from tests.runner.folder.scenario import CELLS, carry_out, create, ended_cells, options, resume

ROOT: Final = Path(__file__).resolve().parents[3]
THOROUGH: Final = os.environ.get("KBTOOL_TEST_THOROUGH") == "1"
"""Set KBTOOL_TEST_THOROUGH=1 before a release: 100 kills instead of 6, and no call to the disk is passed over."""
N_KILLS: Final = 100 if THOROUGH else 6
POWER_CUT_STEP: Final = 1 if THOROUGH else 8
FAULT_STEPS: Final = {"eio": 3, "full": 2, "short": 4, "read-only": 5, "gone": 5}
"""Every how many calls each fault is tried: those that take the same way through the code less often."""


@pytest.fixture(autouse=True)
def encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the bytes of each table once: hundreds of runs here write the same ones."""
    monkeypatch.setattr(cell_module, "encode_traces", _encode_traces_once)
    monkeypatch.setattr(cell_module, "encode", _encode_once)


@lru_cache
def _encode_traces(traces: tuple[RequestTrace, ...]) -> tuple[bytes, bytes]:
    return encode_traces(traces)


def _encode_traces_once(traces: list[RequestTrace]) -> tuple[bytes, bytes]:
    return _encode_traces(tuple(traces))


_encode_once: Final = lru_cache(encode)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run to which nothing happened."""
    root = tmp_path_factory.mktemp("undisturbed") / "run"
    with create(root, options()) as folder:
        carry_out(folder)
    return root


@pytest.fixture(scope="module")
def n_calls(tmp_path_factory: pytest.TempPathFactory) -> int:
    """Return how many calls to the disk a whole run makes."""
    disk = CountingDisk()
    with create(tmp_path_factory.mktemp("counted") / "run", options(disk)) as folder:
        carry_out(folder)
    return disk.calls


def _cell_files(root: Path) -> dict[str, bytes]:
    """Return name and content of every file of every cell that has ended."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted((root / "cells").rglob("*"))
        if path.is_file()
    }


def _go_on(root: Path) -> None:
    """Do what an operator does after a fault: resume, or start again where nothing was measured."""
    try:
        folder = resume(root, options())
    except NotARunError:
        shutil.rmtree(root, ignore_errors=True)
        folder = create(root, options())
    with folder:
        carry_out(folder)


def _assert_whole(root: Path, undisturbed: Path) -> None:
    """Assert that the run has each cell once, byte by byte as if nothing had happened, and says so."""
    assert verify(root) == ()
    folder = RunFolder.open(root, Mode.READ)
    assert folder.finished
    assert folder.sealed == CELLS
    assert _cell_files(root) == _cell_files(undisturbed)
    assert ended_cells(folder) == ended_cells(RunFolder.open(undisturbed, Mode.READ))
    moves = [
        move for line in folder.lines if line.kind == Resumed.kind for move in line.read(Resumed).set_aside
    ]
    assert {path.relative_to(root).as_posix() for path in (root / "aside").iterdir()} <= {
        m.target for m in moves
    }


def _sealed_files(root: Path) -> dict[str, bytes]:
    """Return what the ledger seals of a run, as it is on the disk."""
    try:
        folder = RunFolder.open(root, Mode.READ)
    except FolderError:
        return {}
    return {seal.path: (root / seal.path).read_bytes() for seal in folder.state.seals}


_DISKS: Final[dict[str, Callable[[int], FileSystem]]] = {
    "eio": lambda number: FailingDisk(number, errno.EIO),
    "read-only": lambda number: FailingDisk(number, errno.EROFS),
    "gone": lambda number: FailingDisk(number, errno.ENOENT),
    "full": FullDisk,
    "short": ShortDisk,
}


@pytest.mark.parametrize("fault", _DISKS)
def test_a_run_survives_a_failure_of_each_call_to_the_disk(
    tmp_path: Path, undisturbed: Path, n_calls: int, fault: str
) -> None:
    """Whichever call fails, the error is one of ours, sealed bytes stay, the abort is on record, and resuming works."""
    for number in range(1, n_calls + 1, 1 if THOROUGH else FAULT_STEPS[fault]):
        root = tmp_path / str(number)
        failure: FolderError | None = None
        folder: RunFolder | None = None
        try:
            folder = create(root, options(_DISKS[fault](number)))
            carry_out(folder)
            folder.close()
        except FolderError as error:
            failure = error
        sealed = _sealed_files(root)
        if failure is not None:
            _assert_told(failure, folder, root)
            if folder is not None:
                _close_after(folder)
        _go_on(root)
        _assert_whole(root, undisturbed)
        assert sealed.items() <= _sealed_files(root).items()
        shutil.rmtree(root)


def _assert_told(failure: FolderError, folder: RunFolder | None, root: Path) -> None:
    """Assert that the failure says what to do, and that the ledger ends as the failure says."""
    assert isinstance(failure, StorageError)
    assert "was sealed before is untouched" in str(failure)
    assert "resume the run" in str(failure)
    if failure.abort_recorded:
        assert RunFolder.open(root, Mode.READ).lines[-1].kind == "aborted"
    elif folder is not None and not folder.finished:
        assert failure.__notes__


def _close_after(folder: RunFolder) -> None:
    """Close what a failure has left open; nothing is left to be lost."""
    try:
        folder.close()
    except StorageError:
        folder.close()


def test_a_full_disk_is_on_record_whenever_the_run_had_begun(tmp_path: Path, n_calls: int) -> None:
    """The reserve makes room for the last words, wherever in a cell the disk gets full."""
    n_recorded = 0
    for number in range(1, n_calls + 1, 1 if THOROUGH else 4):
        root = tmp_path / str(number)
        failure = _run_until_full(root, number)
        if failure is not None:
            began = bool(_sealed_files(root))
            assert failure.abort_recorded or not began or RunFolder.open(root, Mode.READ).finished
            assert "Make room" in str(failure)
            n_recorded += failure.abort_recorded
    assert n_recorded > n_calls / 10


def _run_until_full(root: Path, number: int) -> StorageError | None:
    try:
        with create(root, options(FullDisk(number))) as folder:
            carry_out(folder)
    except StorageError as error:
        return error
    return None


def _half_written(root: Path) -> Path:
    """Make a run that was killed in its first cell, with all that a crash can leave behind."""
    folder = create(root, options())
    folder.begin_cell(CELLS[0], {"concurrency": 16}).write_bytes("partial.bin", b"x")
    folder.close()
    with (root / "ledger.jsonl").open("ab") as ledger:
        ledger.write(b'{"sha256":"torn')
    (root / "environment" / "stray.json").write_text("{}")
    return root


def _calls_to_resume(half: Path) -> int:
    disk = CountingDisk()
    root = half.with_name("counted")
    shutil.copytree(half, root)
    resume(root, options(disk)).close()
    return disk.calls


def test_resuming_survives_a_failure_of_each_call_to_the_disk(tmp_path: Path, undisturbed: Path) -> None:
    """Putting the folder in order can itself be cut short at any call, and be done again."""
    half = _half_written(tmp_path / "half")
    for number in range(1, _calls_to_resume(half) + 1):
        root = tmp_path / str(number)
        shutil.copytree(half, root)
        for make_disk in (_DISKS["full"], _DISKS["eio"]):
            try:
                resume(root, options(make_disk(number))).close()
            except StorageError as error:
                assert "resume the run" in str(error)  # noqa: PT017 - whether it is raised depends on the call
        _go_on(root)
        _assert_whole(root, undisturbed)
        torn = [path.read_bytes() for path in root.glob("ledger.jsonl.torn.*")]
        assert b'{"sha256":"torn' in torn
        assert any(path.name == "partial.bin" for path in (root / "aside").rglob("*"))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_run_survives_a_power_cut_at_any_call_to_the_disk(
    tmp_path: Path, undisturbed: Path, n_calls: int, seed: int
) -> None:
    """Of what was not synced any part may be lost: cells whose seal was reported are all there, and no wrong one is."""
    for number in range(seed, n_calls + 1, POWER_CUT_STEP):
        rng = random.Random(f"{seed}/{number}")
        disk = LossyDisk(number)
        reported: list[str] = []
        with suppress(PowerLossError), create(tmp_path / "run", options(disk)) as folder:
            carry_out(folder, sealed=reported)
        image = tmp_path / "image"
        disk.leave(tmp_path / "run", image, rng)
        assert set(reported) <= set(_sealed_cells(image))
        _go_on(image)
        _assert_whole(image, undisturbed)
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        shutil.rmtree(image)


def test_resuming_survives_a_power_cut_at_each_call_to_the_disk(tmp_path: Path, undisturbed: Path) -> None:
    """A power cut while the folder is put in order loses nothing, and leaves nothing aside that no entry names."""
    half = _half_written(tmp_path / "half")
    for number in range(1, _calls_to_resume(half) + 1):
        root, image = tmp_path / "run", tmp_path / "image"
        shutil.copytree(half, root)
        disk = LossyDisk(number)
        disk.adopt(root)
        with suppress(PowerLossError):
            resume(root, options(disk)).close()
        disk.leave(root, image, random.Random(number))
        _go_on(image)
        _assert_whole(image, undisturbed)
        torn = [path.read_bytes() for path in image.glob("ledger.jsonl.torn.*")]
        assert b'{"sha256":"torn' in torn
        assert any(path.name == "partial.bin" for path in (image / "aside").rglob("*"))
        shutil.rmtree(root)
        shutil.rmtree(image)


def _sealed_cells(root: Path) -> tuple[str, ...]:
    try:
        return RunFolder.open(root, Mode.READ).sealed
    except NotARunError:
        return ()


def test_a_run_can_be_resumed_from_a_ledger_cut_anywhere(tmp_path: Path, undisturbed: Path) -> None:
    """With the ledger cut at many places the run is put in order, what lost its seal is moved aside, and it ends whole."""
    ledger = (undisturbed / "ledger.jsonl").read_bytes()
    ends = [position + 1 for position, byte in enumerate(ledger) if byte == ord("\n")]
    cuts = {cut for end in ends for cut in (end - 1, end)} | set(range(0, len(ledger), 997))
    for cut in sorted(cut for cut in cuts if cut >= ends[0]):
        root = tmp_path / "run"
        shutil.copytree(undisturbed, root)
        (root / "manifest.json").unlink()
        (root / "ledger.jsonl").write_bytes(ledger[:cut])
        _go_on(root)
        _assert_whole(root, undisturbed)
        shutil.rmtree(root)


def _write(root: Path, *arguments: str) -> "subprocess.Popen[str]":
    command = [sys.executable, str(Path(__file__).with_name("writer.py")), str(root), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("seed", range(N_KILLS))
def test_a_run_survives_kill_9(tmp_path: Path, undisturbed: Path, n_calls: int, seed: int) -> None:
    """Killed in the middle of any call, even of a write, or from outside, a writer loses no cell that it reported."""
    rng = random.Random(seed)
    root = tmp_path / "run"
    if seed % 2:
        writer = _write(root)
        assert writer.stdout is not None
        told = [writer.stdout.readline().strip() for _ in range(rng.randint(0, 3))]
        writer.kill()
    else:
        writer = _write(root, str(rng.randint(1, n_calls)))
        told = []
    rest, _ = writer.communicate(timeout=60)
    reported = {line for line in [*told, *rest.splitlines()] if line in CELLS}
    if root.exists():
        assert reported <= set(_sealed_cells(root))
    _go_on(root)
    _assert_whole(root, undisturbed)
