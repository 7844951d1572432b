"""A small run for the tests of the run folder: three cells, one of which fails at first, on a fake clock."""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from kbtool.runner.folder import (
    CellFailed,
    CellSealed,
    Clock,
    Column,
    ColumnType,
    FolderOptions,
    LegStarted,
    Mode,
    RunFolder,
    Stamp,
    Table,
)
from kbtool.runner.folder.fs import FileSystem
from kbtool.runner.trace import ChunkKind, Chunks, Outcome, RequestTrace, Usage

__all__ = [
    "CELLS",
    "FINGERPRINT",
    "CalmDisk",
    "FakeClock",
    "carry_out",
    "create",
    "make_trace",
    "options",
    "resume",
]

FINGERPRINT: Final = {"accelerators": ["GPU-1", "GPU-2"], "engine": {"name": "fastserve", "version": "0.10"}}
CELLS: Final = ("c-1.prose", "c=16 code", "c-64.prose")
_PLAN: Final = b"plan: 1\n"


class FakeClock(Clock):
    """A clock that goes on by one ms with each look at it."""

    def __init__(self) -> None:
        self.looks = 0

    def stamp(self) -> Stamp:
        """Return the next moment."""
        self.looks += 1
        return Stamp(
            1_900_000_000_000_000_000 + self.looks * 1_000_000, self.looks * 1_000_000, self.looks * 1_000_000
        )


class CalmDisk(FileSystem):
    """The real disk without waiting for it: no test here pulls the plug of the machine."""

    def sync(self, descriptor: int) -> None:
        """Believe the disk."""

    def sync_data(self, descriptor: int) -> None:
        """Believe the disk."""


def options(fs: FileSystem | None = None, *, reserve_bytes: int = 4096) -> FolderOptions:
    """Return options under which nothing happens by itself: the syncing thread sleeps for an hour."""
    disk = fs or CalmDisk()
    return FolderOptions(
        "bench run plan.yaml", reserve_bytes, sync_interval_s=3600.0, fs=disk, clock=FakeClock()
    )


def make_trace(number: int, *, n_events: int = 5, cell: str = "c", round_number: int = 1) -> RequestTrace:
    """Return a request that looks like a real one; equal arguments give equal requests."""
    rng = random.Random(f"{cell}/{round_number}/{number}")
    sent_ns = 7_000_000_000_000 + round_number * 10**10 + rng.randrange(10**8)
    times, kinds, sizes, lengths, tokens = [], [], [], [], []
    t_ns, n_tok = sent_ns + 80_000_000, 0
    for _ in range(n_events):
        t_ns += int(rng.gauss(22e6, 0.5e6))
        step_tok = rng.choice((1, 1, 2, 3, 4))
        n_tok += step_tok
        n_chars = sum(rng.randrange(2, 6) for _ in range(step_tok))
        times.append(t_ns)
        kinds.append(ChunkKind.CONTENT)
        sizes.append(230 + n_chars)
        lengths.append(n_chars)
        tokens.append(n_tok)
    return RequestTrace(
        id=f"{cell}/{round_number}/{number}",
        endpoint="main",
        stream=number,
        turn=1,
        asked_model="kb-1",
        asked_output_tok=n_tok,
        output_tok_fixed=True,
        prompt_class="prose",
        prompt_salt=f"{rng.getrandbits(64):016x}",
        due_ns=None,
        connect_start_ns=sent_ns - 200_000,
        connected_ns=sent_ns - 50_000,
        sent_ns=sent_ns,
        sent_all_ns=sent_ns + 9_000,
        first_byte_ns=times[0] if times else None,
        done_ns=t_ns,
        outcome=Outcome.OK,
        status=200,
        headers=(("content-type", "text/event-stream"),),
        chunks=Chunks(tuple(times), tuple(kinds), tuple(sizes), tuple(lengths), tuple(tokens)),
        usage=Usage(prompt_tok=1000, completion_tok=n_tok, cached_tok=0),
        finish_reason="length",
        model="kb-1",
        n_body_bytes=sum(sizes),
    )


def create(root: Path, opts: FolderOptions) -> RunFolder:
    """Make the run of the scenario."""
    return RunFolder.create(
        root,
        run_id="20291130-014512-9f3a61c2",
        runner_version="1.0",
        plan=_PLAN,
        run={"command": "bench run plan.yaml"},
        environment={"host": {"cpu": "example"}},
        fingerprint=FINGERPRINT,
        options=opts,
    )


def resume(root: Path, opts: FolderOptions, fingerprint: Mapping[str, object] = FINGERPRINT) -> RunFolder:
    """Open the run of the scenario again, to go on."""
    return RunFolder.open(root, Mode.RESUME, runner_version="1.0", fingerprint=fingerprint, options=opts)


def carry_out(folder: RunFolder, *, sealed: list[str] | None = None) -> None:
    """Do what is left of the run, and finish it; keys are added to `sealed` once the disk has their seal."""
    if folder.finished:
        return
    folder.append(LegStarted("base", {"mtp": 3}))
    for key in CELLS:
        if key in folder.sealed:
            continue
        if key == CELLS[1] and not folder.state.failed:
            cell = folder.begin_cell(key, {"concurrency": 16})
            cell.write_round(1, [make_trace(0, cell=key)])
            cell.fail("engine_died", "exit status 137")
        cell = folder.begin_cell(key, {"concurrency": 16})
        for number in (1, 2) if key == CELLS[0] else (1,):
            cell.write_round(
                number, [make_trace(n, cell=key, round_number=number) for n in range(3)], {"lag_ns": 5}
            )
        cell.write_table("telemetry", _power())
        cell.seal({"warnings": []})
        if sealed is not None:
            sealed.append(key)
    folder.finish({"note": "done"})


def ended_cells(folder: RunFolder) -> list[tuple[str, int, str]]:
    """Return key, attempt and kind of every entry that ended a cell, in order."""
    found = []
    for line in folder.lines:
        if line.kind == CellSealed.kind:
            sealed = line.read(CellSealed)
            found.append((sealed.cell, sealed.attempt, line.kind))
        elif line.kind == CellFailed.kind:
            failed = line.read(CellFailed)
            found.append((failed.cell, failed.attempt, line.kind))
    return found


def _power() -> Table:
    times = Column("t_ns", ColumnType.INT64, "when it was sampled", (1, 2, 3), delta=True)
    power = Column("power_w", ColumnType.FLOAT64, "board power", (300.0, None, 301.5))
    return Table("telemetry", 1, (times, power), (("accelerator", "GPU-1"),))
