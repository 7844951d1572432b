"""The run folder: begun, resumed, read, verified, packed."""

import json
import os
import shutil
import tarfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kbtool.runner.folder import (
    After,
    CellStateError,
    CellStatus,
    DamagedError,
    DamageKind,
    EnvironmentChangedError,
    FolderError,
    Interrupted,
    LedgerDamagedError,
    Mode,
    NotARunError,
    OnDamage,
    Resumed,
    RunFinishedError,
    RunFolder,
    RunStarted,
    StorageError,
    Warned,
    pack,
    verify,
)
from kbtool.runner.folder.options import FolderOptions
from tests.runner.folder.scenario import (
    CELLS,
    FINGERPRINT,
    CalmDisk,
    FakeClock,
    carry_out,
    create,
    ended_cells,
    make_trace,
    options,
    resume,
)


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    """Return the folder of a finished run."""
    root = tmp_path / "finished"
    with create(root, options()) as folder:
        (folder.logs / "engine.log").write_text("ready\n")
        carry_out(folder)
    return root


@pytest.fixture
def half(tmp_path: Path) -> Path:
    """Return the folder of a run that was killed in its second cell."""
    root = tmp_path / "half"
    folder = create(root, options())
    cell = folder.begin_cell(CELLS[0])
    cell.write_round(1, [make_trace(1)])
    cell.seal({"ok": True})
    folder.begin_cell(CELLS[1]).write_round(1, [make_trace(2)])
    folder.close()
    return root


def test_a_run_is_read_as_it_was_written(finished: Path) -> None:
    """Plan, facts, environment, cells, rounds and tables come back, in order."""
    folder = RunFolder.open(finished, Mode.READ)
    assert (folder.run_id, folder.plan, folder.finished) == ("20291130-014512-9f3a61c2", b"plan: 1\n", True)
    assert folder.read_facts() == {"command": "bench run plan.yaml"}
    assert folder.read_environment() == {"host": {"cpu": "example"}}
    assert folder.sealed == CELLS
    cell = folder.cell(CELLS[1])
    assert (cell.rounds, cell.state.attempt, cell.state.facts) == ((1,), 2, {"warnings": []})
    assert folder.cell(CELLS[0]).rounds == (1, 2)
    assert cell.read_round(1) == tuple(make_trace(n, cell=CELLS[1]) for n in range(3))
    assert cell.read_round_facts(1) == {"lag_ns": 5}
    assert cell.read_json("cell") == {"cell": CELLS[1], "attempt": 2, "facts": {"concurrency": 16}}
    assert cell.read_table("telemetry", kind="telemetry", versions=(1,))["power_w"] == (300.0, None, 301.5)


def test_a_failed_attempt_is_kept_beside_the_next(finished: Path) -> None:
    """What came to nothing stays, sealed, with its reason; the next attempt has a folder of its own."""
    folder = RunFolder.open(finished, Mode.READ)
    (failed,) = folder.state.failed
    assert (failed.status, failed.reason, failed.detail) == (
        CellStatus.FAILED,
        "engine_died",
        "exit status 137",
    )
    assert folder.cell(CELLS[1]).state.folder == f"{failed.folder}~2"
    assert len(failed.files) == 4


def test_the_first_entry_is_on_the_disk_before_anything_is_measured(tmp_path: Path) -> None:
    """The run is on record, with the seal of its plan, when `create` returns."""
    with create(tmp_path / "run", options()) as folder:
        (line,) = RunFolder.open(folder.root, Mode.READ).lines
        started = line.read(RunStarted)
        assert started.fingerprint == FINGERPRINT
        assert {seal.path for seal in started.files} == {"plan.yaml", "run.json", "environment/host.json"}


def test_the_run_uses_its_sealed_copy_of_the_plan(half: Path) -> None:
    """A plan that is edited in the folder is refused, not followed."""
    (half / "plan.yaml").write_text("plan: 2\n")
    with pytest.raises(DamagedError, match=r"plan\.yaml: is not what was sealed"):
        _ = RunFolder.open(half, Mode.READ).plan
    with pytest.raises(DamagedError, match=r"plan\.yaml"):
        resume(half, options())


def test_resuming_moves_the_half_written_cell_aside_and_says_so(half: Path) -> None:
    """The sealed cell stays, the other one is kept under another name, and the ledger names the move."""
    with resume(half, options()) as folder:
        assert folder.sealed == (CELLS[0],)
        assert folder.state.cells[CELLS[1]].status is CellStatus.ABANDONED
        entry = RunFolder.open(half, Mode.READ).lines[-1].read(Resumed)
        assert (entry.after, entry.cut_bytes, entry.torn, entry.withdrawn) == (After.KILLED, 0, None, ())
        (move,) = entry.set_aside
        assert (move.reason, move.n_files) == ("half-written", 4)
        assert len(list((half / move.target).iterdir())) == 4
        assert not (half / move.source).exists()
        carry_out(folder)
    assert verify(half) == ()


def test_resuming_says_how_the_run_had_ended(tmp_path: Path) -> None:
    """An interrupt is told from a kill, which nobody writes down."""
    root = tmp_path / "run"
    with create(root, options()) as folder:
        folder.append(Interrupted("SIGINT", "asked by the operator"))
    resume(root, options()).close()
    resume(root, options()).close()
    endings = [
        line.read(Resumed).after for line in RunFolder.open(root, Mode.READ).lines if line.kind == "resumed"
    ]
    assert endings == [After.INTERRUPTED, After.KILLED]


def test_resuming_elsewhere_is_refused_and_lists_what_differs(half: Path) -> None:
    """One run has one environment: the message has place, old and new value, and nothing is changed."""
    before = {path: path.read_bytes() for path in half.rglob("*") if path.is_file() and path.name != ".lock"}
    other = {"accelerators": ["GPU-1"], "engine": {"name": "fastserve", "version": 0.1, "mtp": 3}}
    with pytest.raises(EnvironmentChangedError) as caught:
        resume(half, options(), other)
    assert caught.value.differences == (
        "accelerators: was ['GPU-1', 'GPU-2'], is ['GPU-1']",
        "engine.mtp: was absent, is 3",
        "engine.version: was '0.10', is 0.1",
    )
    assert "start a new run" in str(caught.value)
    assert before == {
        path: path.read_bytes() for path in half.rglob("*") if path.is_file() and path.name != ".lock"
    }


def test_a_true_and_a_one_differ() -> None:
    """Facts of different type are different facts, although Python calls them equal."""
    from kbtool.runner.folder.recover import differences

    assert list(differences({"a": True}, {"a": 1})) == ["a: was True, is 1"]
    assert list(differences({"a": {"b": 1}}, {"a": {"b": 1}})) == []


def test_damage_in_the_middle_of_the_ledger_is_refused(half: Path) -> None:
    """Lines after a broken one are intact, so no crash has done it; set aside on request, nothing is deleted."""
    path = half / "ledger.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], lines[2].replace(b"round_done", b"round_dune"), *lines[3:]]))
    assert [damage.kind for damage in verify(half)] == [DamageKind.BROKEN]
    with pytest.raises(LedgerDamagedError, match=r"ledger\.jsonl:3: this line is damaged, and 3 later ones"):
        resume(half, options())
    with _set_aside(half) as folder:
        assert folder.sealed == ()
        assert b"round_dune" in (half / "ledger.jsonl.torn.1").read_bytes()
        carry_out(folder)
    assert verify(half) == ()


def test_a_damaged_cell_is_refused_or_measured_again(half: Path) -> None:
    """A sealed cell that changed is never gone on with in silence."""
    target = half / RunFolder.open(half, Mode.READ).cell(CELLS[0]).state.folder / "round-01.events.parquet"
    target.write_bytes(target.read_bytes()[:-1])
    with pytest.raises(
        DamagedError, match=r"1 sealed files .*\n.*events\.parquet: changed: .*\n.*measures those cells"
    ):
        resume(half, options())
    with _set_aside(half) as folder:
        assert folder.sealed == ()
        entry = RunFolder.open(half, Mode.READ).lines[-1].read(Resumed)
        assert entry.withdrawn == (CELLS[0],)
        assert sorted(move.reason for move in entry.set_aside) == ["damaged", "half-written"]
        carry_out(folder)
    assert verify(half) == ()
    assert [
        key for key, _, kind in ended_cells(RunFolder.open(half, Mode.READ)) if kind == "cell_sealed"
    ] == [
        CELLS[0],
        *CELLS,
    ]


def _set_aside(root: Path) -> RunFolder:
    return RunFolder.open(
        root,
        Mode.RESUME,
        runner_version="1.0",
        fingerprint=FINGERPRINT,
        on_damage=OnDamage.SET_ASIDE,
        options=options(),
    )


def test_a_finished_run_takes_nothing_more(finished: Path) -> None:
    """It can be opened, is finished, and refuses every change."""
    before = (finished / "ledger.jsonl").read_bytes()
    with resume(finished, options()) as folder:
        assert folder.finished
        changes: list[Callable[[], object]] = [
            lambda: folder.append(Warned("x", "y")),
            lambda: folder.begin_cell("new"),
            folder.finish,
        ]
        for change in changes:
            with pytest.raises(RunFinishedError, match="start another one"):
                change()
    assert (finished / "ledger.jsonl").read_bytes() == before


def test_a_finished_run_without_its_manifest_is_completed(finished: Path) -> None:
    """A crash between the last entry and the manifest costs nothing."""
    manifest = (finished / "manifest.json").read_bytes()
    (finished / "manifest.json").unlink()
    with resume(finished, options()) as folder:
        assert folder.finished
    assert (finished / "manifest.json").read_bytes() == manifest


def test_a_finished_run_with_another_ledger_is_refused(finished: Path) -> None:
    """The ledger is sealed too: a finished run is never cut."""
    with (finished / "ledger.jsonl").open("ab") as ledger:
        ledger.write(b"x")
    with pytest.raises(DamagedError, match=r"ledger\.jsonl: changed"):
        resume(finished, options())


def test_verify_finds_a_flipped_bit_in_every_file(finished: Path) -> None:
    """Whichever file changes, by one bit, it is named; the manifest is compared with the ledger."""
    for path in sorted(path for path in finished.rglob("*") if path.is_file() and path.name != ".lock"):
        data = path.read_bytes()
        for position in {0, len(data) // 2, len(data) - 1}:
            flipped = bytearray(data)
            flipped[position] ^= 1
            path.write_bytes(flipped)
            assert verify(finished) != ()
        path.write_bytes(data)
    assert verify(finished) == ()


def test_verify_finds_every_change_of_the_manifest(finished: Path) -> None:
    """No byte of the manifest can change unseen: what it says is in the files, or in the ledger."""
    path = finished / "manifest.json"
    data = path.read_bytes()
    for position in range(0, len(data), 7):
        flipped = bytearray(data)
        flipped[position] ^= 1
        path.write_bytes(flipped)
        assert verify(finished) != ()


def test_a_manifest_that_says_the_same_in_other_bytes_is_refused(finished: Path) -> None:
    """A signature is over bytes: only those that kbtool writes are a manifest."""
    path = finished / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()), indent=2, sort_keys=True) + "\n")
    (damage,) = verify(finished)
    assert (damage.kind, damage.path) == (DamageKind.BROKEN, "manifest.json")


def test_verify_finds_missing_and_extra_files_and_links(finished: Path) -> None:
    """A file that is gone, one too many, and a link in the place of a file are told apart."""
    target = finished / "logs" / "engine.log"
    moved = finished.parent / "engine.log"
    target.rename(moved)
    assert {(damage.path, damage.kind) for damage in verify(finished)} == {
        ("logs/engine.log", DamageKind.MISSING)
    }
    target.symlink_to(moved)
    assert {(damage.path, damage.kind) for damage in verify(finished)} == {
        ("logs/engine.log", DamageKind.CHANGED)
    }
    target.unlink()
    moved.rename(target)
    (finished / "cells" / "more").mkdir()
    (finished / "cells" / "more" / "x").write_text("x")
    (finished / "derived").mkdir()
    (finished / "derived" / "report.html").write_text("made later, and as often as wanted")
    assert {(damage.path, damage.kind) for damage in verify(finished)} == {("cells/more/x", DamageKind.EXTRA)}


def test_a_complete_run_without_its_manifest_is_damaged(finished: Path) -> None:
    """The ledger says that there was one; what nobody sealed is named by the ledger alone."""
    (finished / "manifest.json").unlink()
    (damage,) = verify(finished)
    assert (damage.path, damage.kind) == ("manifest.json", DamageKind.MISSING)
    assert "restore it from a copy" in damage.message
    (finished / "environment" / "more.json").write_text("{}")
    (finished / "aside").mkdir(exist_ok=True)
    (finished / "aside" / "x").write_text("x")
    (finished / "derived").mkdir()
    (finished / "derived" / "x").write_text("x")
    assert [(each.path, each.kind) for each in verify(finished)] == [
        ("environment/more.json", DamageKind.EXTRA),
        ("manifest.json", DamageKind.MISSING),
    ]


def test_verify_of_an_unfinished_run_checks_what_is_sealed(half: Path) -> None:
    """A half-written cell is no damage; a file put into a sealed one is."""
    assert verify(half) == ()
    sealed = half / RunFolder.open(half, Mode.READ).cell(CELLS[0]).state.folder
    (sealed / "more.json").write_text("{}")
    with (half / "ledger.jsonl").open("ab") as ledger:
        ledger.write(b"torn")
    assert [damage.kind for damage in verify(half)] == [DamageKind.EXTRA, DamageKind.TORN]


def test_a_cell_is_read_only_as_it_was_sealed(finished: Path) -> None:
    """A changed file is refused before anything is made of it, a link too."""
    folder = RunFolder.open(finished, Mode.READ)
    cell = folder.cell(CELLS[0])
    path = finished / cell.state.folder / "round-01.requests.parquet"
    data = path.read_bytes()
    path.write_bytes(data + b"x")
    with pytest.raises(DamagedError, match=r"round-01\.requests\.parquet: cannot be read as it was sealed"):
        cell.read_round(1)
    path.unlink()
    (finished / "copy").write_bytes(data)
    path.symlink_to(finished / "copy")
    with pytest.raises(DamagedError, match="cannot be read as it was sealed"):
        cell.read_round(1)


def test_seals_of_a_stranger_do_not_lead_out_of_the_folder(finished: Path, tmp_path: Path) -> None:
    """A manifest that names a path outside is broken, and nothing there is read."""
    (tmp_path / "secret").write_text("secret")
    path = finished / "manifest.json"
    manifest = json.loads(path.read_bytes())
    manifest["files"][0]["path"] = "../secret"
    path.write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n")
    assert any(
        "outside the run" in damage.message or "changed" in damage.message for damage in verify(finished)
    )


def test_cells_are_ended_once_and_begun_one_at_a_time(tmp_path: Path) -> None:
    """Mistakes in the order of calls are refused, before the disk is touched."""
    with create(tmp_path / "run", options()) as folder:
        cell = folder.begin_cell("one")
        with pytest.raises(CellStateError, match="'one' has not ended"):
            folder.begin_cell("two")
        with pytest.raises(CellStateError, match="'one' has not ended"):
            folder.finish()
        with pytest.raises(ValueError, match="no name for a file"):
            cell.write_bytes("../x", b"")
        cell.write_json("probe", {})
        with pytest.raises(CellStateError, match="written once"):
            cell.write_json("probe", {})
        cell.seal()
        changes: list[Callable[[], object]] = [
            cell.seal,
            lambda: cell.write_round(1, []),
            lambda: cell.fail("x"),
        ]
        for change in changes:
            with pytest.raises(CellStateError, match="has ended"):
                change()
        with pytest.raises(CellStateError, match="is sealed: skip it"):
            folder.begin_cell("one")
        with pytest.raises(CellStateError, match="cell 'two' is unknown: sealed are one"):
            folder.cell("two")


def test_folders_for_reading_and_closed_ones_take_nothing(half: Path) -> None:
    """Only a folder opened to resume is written to."""
    with pytest.raises(FolderError, match="open for reading"):
        RunFolder.open(half, Mode.READ).append(Warned("x", "y"))
    folder = resume(half, options())
    folder.close()
    folder.close()
    with pytest.raises(FolderError, match="is closed"):
        folder.append(Warned("x", "y"))


def test_new_runs_do_not_go_where_something_is(tmp_path: Path, half: Path) -> None:
    """A folder with anything in it is refused, and so is one whose parent is missing."""
    with pytest.raises(FolderError, match="is not empty: resume the run in it"):
        create(half, options())
    with pytest.raises(FolderError, match="is no folder: make it first"):
        create(tmp_path / "missing" / "run", options())
    (tmp_path / "file").write_text("")
    with pytest.raises(FolderError, match="is no folder: give another place"):
        create(tmp_path / "file", options())


def test_a_run_whose_first_line_is_damaged_is_not_called_empty(half: Path) -> None:
    """Nobody is told to remove what was measured, even where the ledger tells nothing any more."""
    path = half / "ledger.jsonl"
    for data in (path.read_bytes().replace(b"run_started", b"run_startled"), b"", b"\0" * 100):
        path.write_bytes(data)
        message = r"ledger\.jsonl:1: .*Restore the ledger from a copy"
        with pytest.raises(LedgerDamagedError, match=message):
            RunFolder.open(half, Mode.READ)
        with pytest.raises(LedgerDamagedError, match=message):
            resume(half, options())
        assert [damage.kind for damage in verify(half)] == [DamageKind.BROKEN]


@pytest.mark.parametrize("content", [None, b"", b"garbage\n", b"\0" * 100])
def test_folders_without_a_run_are_refused(tmp_path: Path, content: bytes | None) -> None:
    """Nothing was measured there, and the message says so."""
    if content is not None:
        (tmp_path / "ledger.jsonl").write_bytes(content)
    with pytest.raises(NotARunError, match=r"no run folder|starts no run"):
        RunFolder.open(tmp_path, Mode.READ)
    with pytest.raises(NotARunError, match=r"no run folder|starts no run"):
        resume(tmp_path, options())


def test_environment_files_of_one_name_are_all_kept(half: Path) -> None:
    """What is taken again on resuming gets a number, and does not replace what was taken first."""
    with resume(half, options()) as folder:
        assert folder.write_environment("host", {"cpu": "again"}) == "environment/host.1.json"
        assert folder.write_environment("GPU 0", {"x": 1}).startswith("environment/gpu-0_")
    found = RunFolder.open(half, Mode.READ).read_environment()
    assert found["host"] == {"cpu": "example"}
    assert found["host.1"] == {"cpu": "again"}


def test_a_second_writer_is_refused_with_the_name_of_the_first(half: Path) -> None:
    """Pid, time and command of the holder are in the message; a reader is not kept out."""
    with resume(half, options()) as folder:
        with pytest.raises(
            FolderError, match=rf"in use by process {os.getpid()}, since 2030-.* UTC: bench run plan"
        ):
            resume(half, options())
        assert RunFolder.open(half, Mode.READ).sealed == folder.sealed
    resume(half, options()).close()


def test_the_syncing_thread_puts_entries_on_the_disk(tmp_path: Path) -> None:
    """Nobody needs to call `sync`: an entry that was appended is synced by itself."""
    disk = _WatchedDisk()
    quick = FolderOptions("x", 0, sync_interval_s=0.001, fs=disk, clock=FakeClock())
    with create(tmp_path / "run", quick) as folder:
        disk.synced.clear()
        folder.append(Warned("x", "y"))
        assert disk.synced.wait(timeout=30)
    assert threading.current_thread() not in disk.threads


def test_entries_of_many_threads_keep_one_order(tmp_path: Path) -> None:
    """Warnings may come from anywhere while cells end: the chain holds, and no seal is lost from the state."""
    with create(tmp_path / "run", options()) as folder:
        threads = [threading.Thread(target=_warn, args=(folder, number)) for number in range(4)]
        for thread in threads:
            thread.start()
        for number in range(20):
            folder.begin_cell(f"cell-{number}").seal()
        for thread in threads:
            thread.join()
        assert len(folder.sealed) == 20
        lines = RunFolder.open(folder.root, Mode.READ).lines
        assert len(lines) == 1 + 2 * 20 + 4 * 100


def _warn(folder: RunFolder, number: int) -> None:
    for count in range(100):
        folder.append(Warned("drift", f"{number}/{count}"))


def test_a_vanished_folder_is_noticed(tmp_path: Path) -> None:
    """Writing goes on to work in a folder that is gone: the syncing thread looks, and `check` raises."""
    root = tmp_path / "run"
    disk = _WatchedDisk()
    quick = FolderOptions("x", 0, sync_interval_s=0.001, fs=disk, clock=FakeClock())
    folder = create(root, quick)
    shutil.move(root, tmp_path / "elsewhere")
    assert disk.missed.wait(timeout=30)
    with pytest.raises(StorageError, match="resume the run"):
        _check_for_ever(folder)
    folder.close()


def _check_for_ever(folder: RunFolder) -> None:
    while True:
        folder.check()


class _WatchedDisk(CalmDisk):
    """Tells when the ledger is synced by another thread, and when its name leads nowhere."""

    def __init__(self) -> None:
        self.synced = threading.Event()
        self.missed = threading.Event()
        self.threads: set[threading.Thread] = set()

    def sync_data(self, descriptor: int) -> None:
        if threading.current_thread() is not threading.main_thread():
            self.threads.add(threading.current_thread())
            self.synced.set()
        super().sync_data(descriptor)

    def identity(self, path: Path) -> tuple[int, int]:
        try:
            return super().identity(path)
        except OSError:
            self.missed.set()
            raise


def test_the_archive_is_deterministic_and_unpacks_to_the_run(finished: Path, tmp_path: Path) -> None:
    """Equal runs give equal archives wherever they lie, and what is unpacked passes `verify`."""
    seal = pack(finished, tmp_path / "one.tar")
    moved = tmp_path / "another name"
    shutil.copytree(finished, moved)
    assert pack(moved, tmp_path / "two.tar").sha256 == seal.sha256
    assert seal.size_bytes == (tmp_path / "one.tar").stat().st_size
    with tarfile.open(tmp_path / "one.tar") as tar:
        tar.extractall(tmp_path / "unpacked", filter="data")
    assert verify(tmp_path / "unpacked" / "run") == ()
    with pytest.raises(FolderError, match="exists: give another name"):
        pack(finished, tmp_path / "one.tar")


def test_only_a_whole_run_is_packed(finished: Path, half: Path, tmp_path: Path) -> None:
    """An unfinished run and a damaged one are refused, and no archive is left."""
    with pytest.raises(FolderError, match="finish the run first"):
        pack(half, tmp_path / "x.tar")
    (finished / "run.json").write_text("{}")
    with pytest.raises(DamagedError, match=r"run\.json: changed"):
        pack(finished, tmp_path / "x.tar")
    assert not list(tmp_path.glob("*x.tar*"))


def test_equal_runs_give_equal_bytes(tmp_path: Path) -> None:
    """On the same clock two runs of the same plan differ in nothing."""
    archives = []
    for name in ("one", "two"):
        with create(tmp_path / name, options()) as folder:
            carry_out(folder)
        archives.append(pack(tmp_path / name, tmp_path / f"{name}.tar").sha256)
    assert archives[0] == archives[1]


def test_facts_that_json_cannot_say_are_refused(tmp_path: Path) -> None:
    """A NaN is no fact: it is refused before the file is made."""
    odd: list[Any] = [float("nan"), object(), {1: 2}]
    with create(tmp_path / "run", options()) as folder:
        for value in odd:
            with pytest.raises((ValueError, TypeError)):
                folder.write_environment("x", {"x": value})
        assert not (folder.root / "environment" / "x.json").exists()


def test_a_closed_run_keeps_no_reserve(tmp_path: Path) -> None:
    """The room for last words is held while somebody writes, and again once the run is resumed."""
    root = tmp_path / "run"
    reserve = root / ".reserve"
    with create(root, options()):
        assert reserve.stat().st_size == 4096
    assert not reserve.exists()
    with resume(root, options()):
        assert reserve.exists()
    assert not reserve.exists()
