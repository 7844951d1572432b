"""Run the `kbtool` program, in this process or in one of its own with limits."""

import contextlib
import io
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from unittest import mock

from kbtool.cli import main

__all__ = ["ROOT", "Finished", "run_apart", "run_here"]

ROOT: Final = Path(__file__).resolve().parent.parent.parent
MEMORY_BYTES: Final = 512 * 2**20
"""Address space, of which Python and its libraries take a third."""
CPU_S: Final = 30
WALL_S: Final = 120
"""Ends a program that waits for ever; no test depends on how long one takes."""

_LIMITED: Final = f"""
import resource, signal, sys
resource.setrlimit(resource.RLIMIT_AS, ({MEMORY_BYTES}, {MEMORY_BYTES}))
resource.setrlimit(resource.RLIMIT_CPU, ({CPU_S}, {CPU_S}))
signal.alarm({WALL_S})
from kbtool.cli import main
main()
"""


@dataclass(frozen=True)
class Finished:
    """How a program ended."""

    code: int
    out: str
    err: str
    cpu_s: float

    @property
    def crashed(self) -> bool:
        """Whether it ended in a way that no user may see."""
        return self.code not in {0, 1, 2} or "Traceback" in self.err or "Traceback" in self.out


def run_here(*arguments: str, cwd: Path) -> Finished:
    """Run `kbtool` in this process; what it prints is captured."""
    out, err = io.StringIO(), io.StringIO()
    before = os.times()
    with (
        mock.patch.object(sys, "argv", ["kbtool", *arguments]),
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
            code: object = 0
        except SystemExit as end:
            code = end.code
    after = os.times()
    cpu_s = after.user + after.system - before.user - before.system
    return Finished(int(code) if isinstance(code, int) else 1, out.getvalue(), err.getvalue(), cpu_s)


def run_apart(
    *arguments: str, cwd: Path, scratch: Path, environment: Mapping[str, str] | None = None
) -> Finished:
    """Run `kbtool` in a process of its own with little memory, and measure its CPU time."""
    streams = scratch / "stdout", scratch / "stderr"
    with streams[0].open("wb") as out, streams[1].open("wb") as err:
        process = subprocess.Popen(
            [sys.executable, "-c", _LIMITED, *arguments],
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = code = os.waitstatus_to_exitcode(status)
    assert code != -signal.SIGALRM, f"kbtool {' '.join(arguments)} waits for something that never comes"
    out_text, err_text = (stream.read_text(encoding="utf-8", errors="backslashreplace") for stream in streams)
    return Finished(code, out_text, err_text, usage.ru_utime + usage.ru_stime)
