"""Programs that bring a swept setting about, such as a power limit, and that put it back in any case."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from decimal import Decimal
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from kbtool.runner.target.environment import engine_environment
from kbtool.runner.target.errors import StartError
from kbtool.runner.target.secrets import Secrets

__all__ = ["SweepCommands", "filled", "unrestored"]

COMMAND_S: Final = 120.0
"""Longest that one command may take."""
_KEPT_BYTES: Final = 64 * 1024
_PENDING: Final = "restore.json"

Command = tuple[str, ...]


def filled(command: Command, value: str | int | bool | Decimal) -> Command:
    """Return a command with `{value}` replaced, and nothing else."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return tuple(each.replace("{value}", text) for each in command)


def unrestored(log_dir: Path) -> tuple[Command, ...]:
    """Return the commands that a run which was killed still owes; empty where it put everything back."""
    try:
        data = json.loads((log_dir / _PENDING).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return ()
    if not isinstance(data, list) or not all(isinstance(each, list) for each in data):
        return ()
    return tuple(tuple(str(part) for part in each) for each in data)


class SweepCommands:
    """Runs commands within `with`, and on leaving those that put settings back, whatever happened.

    What is owed stands in a file first, so that the next run can put it back where this one was killed.
    """

    def __init__(
        self,
        log_dir: Path,
        secrets: Secrets,
        own: Mapping[str, str] | None = None,
        limit_s: float = COMMAND_S,
    ) -> None:
        self._log_dir = log_dir
        self._secrets = secrets
        self._environment = engine_environment(os.environ if own is None else own, {}, ())
        self._limit_s = limit_s
        self._owed: list[Command] = list(unrestored(log_dir))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.restore()

    def apply(self, command: Command, restore: Command) -> None:
        """Run a command, having noted first what puts the setting back.

        Raises:
            StartError: It cannot be run, or says that it failed.
        """
        if restore not in self._owed:
            self._owed.append(restore)
            self._note()
        self._run(command)

    def restore(self) -> None:
        """Put everything back, the last change first; Ctrl-C waits until that is done.

        Raises:
            StartError: A command failed; the others were run all the same, and it stays owed.
        """
        failed: list[StartError] = []
        with _undisturbed():
            for command in reversed(self._owed.copy()):
                try:
                    self._run(command)
                except StartError as error:
                    failed.append(error)
                else:
                    self._owed.remove(command)
            self._note()
        if failed:
            raise StartError(
                "a setting could not be put back: " + "; ".join(str(each) for each in failed)
            ) from failed[0]

    def _note(self) -> None:
        path = self._log_dir / _PENDING
        if not self._owed:
            path.unlink(missing_ok=True)
            return
        with path.with_suffix(".new").open("w", encoding="utf-8") as file:
            json.dump([list(each) for each in self._owed], file)
            file.flush()
            os.fsync(file.fileno())
        path.with_suffix(".new").replace(path)

    def _run(self, command: Command) -> None:
        shown = " ".join(self._secrets.redact_arguments(command))[:300]
        try:
            started = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=self._environment,
                # Ctrl-C in the terminal must not end what puts a setting back.
                start_new_session=True,
            )
        except OSError as error:
            raise StartError(
                f"{shown!a} cannot be run ({error.strerror}): correct the command in the plan"
            ) from None
        try:
            data, _ = started.communicate(timeout=self._limit_s)
        except BaseException as error:
            with suppress(ProcessLookupError):
                os.killpg(started.pid, signal.SIGKILL)
            started.communicate()
            if isinstance(error, subprocess.TimeoutExpired):
                raise StartError(
                    f"{shown!a} has not ended within {self._limit_s:.0f} s: correct it"
                ) from None
            raise
        said = self._secrets.redact(data[-_KEPT_BYTES:].decode("utf-8", "replace"))
        with (self._log_dir / "commands.log").open("a", encoding="utf-8") as log:
            log.write(f"$ {shown}\n{said}")
        if started.returncode != 0:
            raise StartError(
                f"{shown!a} ended with exit code {started.returncode}; expected 0; it said {said[-300:]!a}: run it by "
                "hand, or correct it in the plan"
            )


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Keep signals that would interrupt us, and the commands, waiting until the work is done."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
