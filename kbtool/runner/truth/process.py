"""The truth server as a process of its own, ended with whoever started it."""

import json
import subprocess
import sys
from types import TracebackType
from typing import Any, Final, Self

from kbtool.errors import KbtoolError
from kbtool.runner.truth.spec import Spec

__all__ = ["TruthServer"]

_END_S: Final = 10.0


class TruthServer:
    """A running truth server. Use it in a `with` statement.

    The server reads from a pipe that only this process holds open: it ends when the pipe closes, even if this
    process is killed.
    """

    def __init__(self, *, default: Spec | None = None, realtime_priority: int = 0) -> None:
        self._default = default or Spec()
        self._priority = realtime_priority
        self._process: subprocess.Popen[bytes] | None = None
        self.host = "127.0.0.1"
        self.port = 0
        self.realtime = False
        """Whether it got the priority that was asked for."""

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "kbtool.runner.truth", "--port", "0", "--until-stdin-closes"]
        command += ["--spec", json.dumps(self._default.to_json()), "--priority", str(self._priority)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        said = self._process.stdout.readline()
        if not said:
            self.stop()
            raise KbtoolError(
                "the truth server ended before it listened: run `python -m kbtool.runner.truth` to see why"
            )
        ready: dict[str, Any] = json.loads(said)
        self.port, self.realtime = ready["port"], ready["realtime"]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """Return its process number."""
        assert self._process is not None
        return self._process.pid

    def stop(self) -> None:
        """End it and wait for its end."""
        process = self._process
        if process is None:
            return
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
        self._process = None
