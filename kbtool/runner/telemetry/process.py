"""The sampler as the runner sees it: started, watched, read, ended.

Whatever happens to it is a row of kind `event`; it never fails a request, and it never outlives the runner.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

from kbtool.runner.telemetry.sample import Event, Kind, TelemetrySample
from kbtool.runner.telemetry.sampler import NS_PER_S, Clock, SystemClock
from kbtool.runner.telemetry.stream import StreamReader

__all__ = ["SILENCE_NS", "SamplerProcess", "sampler_command", "sampler_environment"]

SILENCE_NS: Final = 5 * NS_PER_S
"""A sampler that has not written a beat for this long is silent; it writes one a second."""
_KEPT_VARIABLES: Final = (
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "LD_LIBRARY_PATH",
    "PYTHONPATH",
    "VIRTUAL_ENV",
    "TMPDIR",
)


def sampler_command(
    file: Path, *, interval_ms: int = 100, cards: Sequence[int] | None = None, with_cards: bool = True
) -> tuple[str, ...]:
    """Return the command that samples into `file` for the calling process.

    Args:
        file: The stream.
        interval_ms: Between two sweeps over the cards.
        cards: Numbers of the cards; None for all.
        with_cards: Whether to sample cards at all.
    """
    command = [sys.executable, "-P", "-m", "kbtool.runner.telemetry", os.fspath(file)]
    command += ["--interval-ms", str(interval_ms), "--runner-pid", str(os.getpid())]
    if not with_cards:
        command.append("--no-cards")
    elif cards is not None:
        command += ["--cards", ",".join(str(card) for card in cards)]
    return tuple(command)


def sampler_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what of an environment a sampler needs: it has no business with keys and tokens."""
    return {name: value for name, value in environment.items() if name in _KEPT_VARIABLES}


@dataclass(slots=True)
class SamplerProcess:
    """A sampler and its stream.

    Call `poll` about once a second and keep the rows that it returns.
    """

    command: Sequence[str]
    file: Path
    """The stream that `command` appends to."""
    errors: Path
    """Where its standard error goes."""
    clock: Clock = field(default_factory=SystemClock)
    restarts: int = 2
    """How often a sampler that died is started again."""
    pid: int | None = field(default=None, init=False)
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)
    _reader: StreamReader = field(init=False)
    _beat_ns: int | None = field(default=None, init=False)
    _started_ns: int = field(default=0, init=False)
    _silent: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        """Make the reader of the stream."""
        self._reader = StreamReader(self.file)

    @property
    def ready(self) -> bool:
        """Whether the sampler that runs now has written its first beat."""
        return self._beat_ns is not None and self._beat_ns >= self._started_ns

    def start(self) -> None:
        """Start the sampler in a session of its own, so that Ctrl-C does not reach it before the runner is done.

        Raises:
            OSError: The program cannot be started.
        """
        self._started_ns = self.clock.monotonic_ns()
        with self.errors.open("ab") as errors:
            self._process = self._popen(errors)
        self.pid = self._process.pid

    def _popen(self, errors: IO[bytes]) -> subprocess.Popen[bytes]:
        # Its standard input is our pipe: when we die, however we die, it reads the end and ends.
        return subprocess.Popen(
            list(self.command),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env=sampler_environment(os.environ),
            start_new_session=True,
        )

    def poll(self) -> list[TelemetrySample]:
        """Return the rows since the last call, those about the sampler itself included; restart a dead one."""
        rows = self._reader.poll()
        beats = [row.t_ns for row in rows if row.kind == Kind.BEAT]
        if beats:
            self._beat_ns = max(beats)
        if self._process is None:
            return rows
        code = self._process.poll()
        if code is not None:
            rows += self._reader.poll()
            rows += self._died(code)
        else:
            rows += self._silence()
        return rows

    def stop(self, patience_s: float = 5.0) -> list[TelemetrySample]:
        """End the sampler and return the last rows."""
        process, self._process = self._process, None
        if process is None:
            return self._reader.poll()
        assert process.stdin is not None
        process.stdin.close()
        detail = None
        try:
            process.wait(patience_s)
        except subprocess.TimeoutExpired:
            process.kill()
            detail = "did not end when asked and was killed"
            try:
                process.wait(patience_s)
            except subprocess.TimeoutExpired:
                detail = f"pid {process.pid} does not end even when killed: the driver holds it"
        rows = self._reader.poll()
        return rows if detail is None else [*rows, self._event(Event.DIED, detail)]

    def _died(self, code: int) -> list[TelemetrySample]:
        """Return the event of a death; start again while that makes sense."""
        process, self._process = self._process, None
        assert process is not None
        assert process.stdin is not None
        process.stdin.close()
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        if self.restarts <= 0:
            return [self._event(Event.DIED, f"{how}; not started again")]
        self.restarts -= 1
        rows = [self._event(Event.DIED, f"{how}; started again, {self.restarts} restarts left")]
        self._silent = False
        self.start()
        return rows

    def _silence(self) -> list[TelemetrySample]:
        """Return an event when the beats cease or come again."""
        last = max(self._started_ns, self._beat_ns or 0)
        silent = self.clock.monotonic_ns() - last > SILENCE_NS
        if silent == self._silent:
            return []
        self._silent = silent
        name = Event.SILENT if silent else Event.SPOKE
        return [self._event(name, f"last beat at {last} ns")]

    def _event(self, name: str, detail: str) -> TelemetrySample:
        return TelemetrySample(t_ns=self.clock.monotonic_ns(), kind=Kind.EVENT, event=name, detail=detail)
