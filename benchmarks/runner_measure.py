"""One load tool, once, at one load: what it reports against what the server did, and what it used."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any, Final, Self

from benchmarks.runner_peers import Load, Peer, Reported, Start
from benchmarks.runner_watch import Tree
from kbtool.runner.calibrate.drive import LOG_BYTES, endpoint_of
from kbtool.runner.client import control
from kbtool.runner.truth import Spec, TrueRequest, TruthServer, read_log
from tests.engines.hf_model import hf_model

__all__ = ["CELLS", "SERVER_PRIORITY", "Cell", "Preloaded", "Row", "Setting", "measure"]

ROOT: Final = Path(__file__).resolve().parent.parent
ENOUGH_RATIO: Final = 0.99
"""Of the requests that a tool was told to send: inference-perf 0.7.0 leaves out two of many."""
CLIENT_PRIORITY: Final = 10
SERVER_PRIORITY: Final = 20


@dataclass(frozen=True, slots=True)
class Cell:
    """One load and the script of its answers."""

    name: str
    streams: int
    requests: int
    """Of each stream."""
    spec: Spec


def _spec(step_ms: float, **other: Any) -> Spec:
    return Spec(tokens=64, ttft_ms=200.0, step_ms=step_ms, **other)


MIXED: Final = Spec(tokens=180, pattern=(1, 3, 5, 2, 4), ttft_ms=200.0, step_ms=20.0)
CELLS: Final = (
    Cell("1", 1, 4, _spec(16)),
    Cell("16", 16, 4, _spec(20)),
    Cell("64", 64, 3, _spec(20)),
    Cell("256", 256, 3, _spec(40)),
    Cell("1024", 1024, 2, _spec(100)),
    Cell("16, 1-3-5-2-4", 16, 3, MIXED),
    Cell("16, hostile", 16, 2, _spec(20, role="early", reasoning=16, stall_at=32, stall_ms=1000)),
)


@dataclass(frozen=True, slots=True)
class Row:
    """One tool in one cell, once."""

    tool: str
    cell: str
    repeat: int
    realtime: bool
    ttft_true_ms: float
    """From the kernel's having the request to the first token's being handed over."""
    ttft_parsed_ms: float
    """From the server's having read it."""
    itl_true_ms: float
    gap_p99_true_ms: float
    output_tok_true: int
    tok_s_true: float
    """What the server delivered."""
    chunks: int
    """With tokens."""
    reported: Reported
    cpu_us_per_chunk: float
    """From the first request's arrival to the last token."""
    cpu_to_end_us_per_chunk: float
    """From the first request's arrival to the tool's end, its statistics included."""
    start_cpu_s: float
    """Up to the first request; without imports for tools that were preloaded."""
    peak_rss_mb: float
    wall_s: float
    load_average: float


@dataclass(frozen=True, slots=True)
class Setting:
    """What is the same for all tools."""

    peers: Path
    """Folder that they are installed in."""
    realtime: bool = False
    """Whether tools and server run before all ordinary processes."""


class Preloaded:
    """A tool that waits with its modules loaded; ended with the `with` block."""

    def __init__(self, one: Peer, peers: Path) -> None:
        assert one.entry is not None
        argv: list[str | Path] = [
            one.python(peers),
            ROOT / "benchmarks" / "runner_preload.py",
            one.entry,
            *one.preload,
        ]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        environment |= one.environment
        self._environment = dict(one.environment)
        self._process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, text=True
        )  # fmt: skip
        if "ready" not in self._line():
            raise RuntimeError(f"{one.name}: its modules do not load: run its program by hand")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()

    def fork(self, start: Start, folder: Path) -> int:
        """Start one job; return its process number."""
        job = {
            "argv": start.argv,
            "environment": {**self._environment, **start.environment},
            "folder": str(folder),
            "log": str(folder / "output.log"),
        }
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        return int(self._line()["pid"])

    def end(self) -> tuple[int, float]:
        """Wait for the job; return its exit status and CPU time in s."""
        said = self._line()
        return said["status"], said["cpu_s"]

    def _line(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        value: dict[str, Any] = json.loads(line) if line else {}
        return value


def _program(one: Peer, start: Start, peers: Path) -> list[str]:
    """Return the command of a tool that is started anew each time."""
    if one.entry is None:
        return [sys.executable, *start.argv[1:]]
    return [str(peers / one.folder / "bin" / start.argv[0]), *start.argv[1:]]


@dataclass(frozen=True, slots=True)
class _Ended:
    """What was seen of a tool's process tree."""

    tree: Tree
    status: int
    cpu_s: float


def _run(one: Peer, start: Start, folder: Path, setting: Setting, preloaded: Preloaded | None) -> _Ended:
    """Run a tool to its end."""
    if preloaded is not None:
        pid = preloaded.fork(start, folder)
        _prioritise(pid, setting)
        with Tree(pid) as tree:
            status, cpu_s = preloaded.end()
        return _Ended(tree, status, cpu_s)
    with (folder / "output.log").open("wb") as log:
        process = subprocess.Popen(
            _program(one, start, setting.peers), stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=ROOT,
            env={**os.environ, **one.environment, **start.environment},
        )  # fmt: skip
        _prioritise(process.pid, setting)
        with Tree(process.pid) as tree:
            _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return _Ended(tree, process.returncode, used.ru_utime + used.ru_stime)


def _prioritise(pid: int, setting: Setting) -> None:
    """Let a tool that has just been started, and all that it starts, run before ordinary processes."""
    if setting.realtime:
        os.sched_setscheduler(pid, os.SCHED_RR, os.sched_param(CLIENT_PRIORITY))


def measure(
    one: Peer, cell: Cell, server: TruthServer, setting: Setting, *, preloaded: Preloaded | None, repeat: int
) -> Row:
    """Let a tool put one load on the server.

    Raises:
        RuntimeError: It failed, or sent fewer requests than it was told to.
        OSError, KeyError, ValueError: It left no result, or one that cannot be read.
    """
    endpoint = endpoint_of(server)
    control.post_json(endpoint, "/truth/clear", {})
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="peer-") as scratch:
        folder = Path(scratch)
        load = Load(
            server.host, server.port, cell.streams, cell.requests, cell.spec.tokens, folder, hf_model()
        )
        ended = _run(one, one.start(setting.peers, load), folder, setting, preloaded)
        if ended.status != 0:
            said = (folder / "output.log").read_text("utf-8", "replace")[-600:]
            raise RuntimeError(f"exit status {ended.status}: {said}")
        reported = one.report(folder)
    wall_s = time.monotonic() - begun
    log = read_log(control.get(endpoint, "/truth/log", timeout_s=60, max_bytes=LOG_BYTES).body)
    return Row(
        tool=one.name,
        cell=cell.name,
        repeat=repeat,
        realtime=setting.realtime and server.realtime,
        reported=reported,
        peak_rss_mb=ended.tree.peak_rss_bytes / 1e6,
        wall_s=wall_s,
        load_average=os.getloadavg()[0],
        **_truth(_asked(log, cell), ended),
    )


def _asked(log: Sequence[TrueRequest], cell: Cell) -> list[TrueRequest]:
    """Return the requests of the load, without what a tool sent before it to see whether the server answers."""
    whole = [each for each in log if each.complete and each.token_sends]
    wanted = cell.streams * cell.requests
    if len(whole) < wanted * ENOUGH_RATIO:
        raise RuntimeError(f"the server saw {len(whole)} requests of {wanted}")
    return whole[-wanted:]


def _truth(requests: Sequence[TrueRequest], ended: _Ended) -> dict[str, Any]:
    """Return the members of a row that the server's log gives, and the CPU time between its first and last time."""
    sends = [each.token_sends for each in requests]
    arrived = [each.parsed_ns if each.arrived_ns is None else each.arrived_ns for each in requests]
    first_ns, last_ns = min(arrived), max(row[-1][0] for row in sends)
    gaps = sorted((b[0] - a[0]) / 1e6 for row in sends for a, b in pairwise(row))
    tokens, chunks = sum(each.tok for each in requests), sum(map(len, sends))
    later_tok = sum(each.tok - row[0][1] for each, row in zip(requests, sends, strict=True))
    before_ns = ended.tree.cpu_ns(first_ns)
    return {
        "ttft_true_ms": fmean(row[0][0] - at for row, at in zip(sends, arrived, strict=True)) / 1e6,
        "ttft_parsed_ms": fmean(r[0][0] - each.parsed_ns for r, each in zip(sends, requests, strict=True))
        / 1e6,
        "itl_true_ms": sum(row[-1][0] - row[0][0] for row in sends) / later_tok / 1e6,
        "gap_p99_true_ms": gaps[min(len(gaps) - 1, int(0.99 * len(gaps)))],
        "output_tok_true": tokens,
        "tok_s_true": tokens / (last_ns - first_ns) * 1e9,
        "chunks": chunks,
        "cpu_us_per_chunk": (ended.tree.cpu_ns(last_ns) - before_ns) / 1e3 / chunks,
        "cpu_to_end_us_per_chunk": max(0.0, ended.cpu_s * 1e6 - before_ns / 1e3) / chunks,
        "start_cpu_s": before_ns / 1e9,
    }
